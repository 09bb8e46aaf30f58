package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/failure"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/stage"
)

// What several steps ask about the rollout as a whole: whether the update revision is on trial (C rules), was given up (F3), or
// comes part by part (T8), whether users have stopped it (T4), and where it begins and ends. None of it writes anything.

// hasTwoGoals reports whether the update revision is on trial, has failed one, or was given up (F3), so that nodes end at two
// revisions.
func (r *run) hasTwoGoals() bool { return r.trial.Phase != canary.Idle }

// followsParts reports whether the plan has to know how the parts of stages stand: until the update revision is marked as
// rolled out everywhere (T8). Without stages that is so while any revision has such a mark, and the whole fleet is one part.
func (r *run) followsParts() bool {
	return r.spec.Strategy.Type == RollingUpdate && !r.hasTwoGoals() && !r.revision.Completed &&
		(r.rules.Stages.Len() > 0 || r.failures != nil || r.revision.AnyCompleted)
}

// watchesFailures reports whether nodes are counted that the update revision has failed on (F2).
func (r *run) watchesFailures() bool { return r.failures != nil && r.followsParts() }

// isGivenUp reports whether an earlier plan gave the update revision up because too many nodes failed (F3). Only a retry
// revives it.
func (r *run) isGivenUp() bool { return r.wasGivenUp() && !r.retriesFailed() }

// wasGivenUp reports whether the update revision was given up, retried or not. The memory knows it until the mark is seen.
func (r *run) wasGivenUp() bool {
	update, record := r.revision.Update, &r.remembered.Rollout
	return r.failures != nil && !r.revision.Completed &&
		(isMarkedGivenUp(update.Existing) || record.Revision == update.Hash && record.GaveUp != "")
}

// isMarkedGivenUp reports whether a revision carries the mark that too many nodes failed. It is false for nil.
func isMarkedGivenUp(revision *appsv1.ControllerRevision) bool {
	return revision != nil && revision.Annotations[history.FailedAnnotation] == failure.Reason
}

// retriesFailed reports whether the revision was given up, and is to be rolled out once more by a command that was not obeyed
// yet (F3).
func (r *run) retriesFailed() bool {
	if !r.wasGivenUp() {
		return false
	}
	update, retry := r.revision.Update, r.failures.Retry
	if update.Existing != nil && update.Existing.Annotations[history.RetriedAnnotation] == retry {
		return false
	}
	name, _, _ := strings.Cut(retry, "/")
	return name == canary.Any || name != "" && (name == update.Hash || name == update.Name)
}

// retriedAt returns when the update revision came again after it was given up (F3); zero: it was not given up.
func (r *run) retriedAt() time.Time {
	update := r.revision.Update.Existing
	if r.retriesFailed() || update != nil && update.Annotations[history.RetriedAnnotation] != "" {
		return r.record.Began
	}
	return time.Time{}
}

// gaveUpBefore says why an earlier plan gave the update revision up.
func (r *run) gaveUpBefore() string {
	if existing := r.revision.Update.Existing; isMarkedGivenUp(existing) {
		return cmp.Or(existing.Annotations[history.FailedMessageAnnotation], "too many nodes failed")
	}
	return r.remembered.Rollout.GaveUp
}

// allPartsOpen reports whether no stage keeps any node waiting: there are none, or nothing was rolled out before, or the
// revision is expedited (T8).
func (r *run) allPartsOpen() bool {
	order, update := r.spec.Strategy.Policy.Expedite, r.revision.Update
	expedited := order == canary.Any || order != "" && (order == update.Hash || order == update.Name)
	return r.rules.Stages.Len() == 0 || expedited || r.isFirstInstallation()
}

// isFirstInstallation reports whether nothing was rolled out before: neither the history nor a pod shows another revision, as
// those of a predecessor do.
func (r *run) isFirstInstallation() bool {
	isOther := func(p pod) bool { return !p.traits.hasAny(marked|finished) && !r.isUpdate(&p) }
	return r.revision.First && !slices.ContainsFunc(r.pods, isOther)
}

// closesStable reports whether the stable revision was still rolled out in stages when the revision came that is tried now,
// or has failed. T6 would then give it to all nodes at once, so that they keep what they have instead (T8).
func (r *run) closesStable() bool {
	stable := r.revision.Stable
	return r.rules.Stages.Len() > 0 && r.hasTwoGoals() && stable.Hash != r.revision.Update.Hash &&
		stable.Hash != r.revision.Base.Hash && !history.Completed(stable.Existing)
}

// parts returns the parts of stages; without stages, the whole fleet.
func (r *run) parts() *stage.Parts {
	if r.nodeFacts.Parts == nil {
		return (*stage.Stages)(nil).NewParts()
	}
	return r.nodeFacts.Parts
}

// halted reports whether users have stopped the rollout as a whole (T4).
func (r *run) halted() bool { return r.spec.Strategy.Paused || r.spec.Strategy.Frozen }

// beginsAnew reports whether the rollout begins with this plan, as another revision was rolled out before, or it is retried
// after it was given up.
func (r *run) beginsAnew() bool {
	before := r.remembered.Rollout.Revision
	return before != "" && before != r.revision.Update.Hash || r.retriesFailed()
}

// unwritten reports whether the first revision of all is not written because the set is frozen (T4). If it were remembered as the
// stable revision, no object would hold its template. After the next change of the template, nodes that are to get the stable
// revision would then stay empty.
func (r *run) unwritten() bool {
	return r.spec.Strategy.Frozen && len(r.snapshot.Revisions) == 0 && r.revision.Stable.Hash == r.revision.Update.Hash
}

// completedRevision returns the hash of the revision of the last rollout if every node has been at it (S3); empty: not yet.
func (r *run) completedRevision() string {
	if rollout := r.remembered.Rollout; rollout.Completed {
		return rollout.Revision
	}
	return ""
}

// standing is how a run node stands on its way to the update revision (T8).
type standing uint8

const (
	behind standing = iota
	arrived
	settled
)

// standing tells how a run node stands: behind without a pod of the update revision, arrived with one that is not available, and
// settled with one that is.
func (r *run) standing(i int32) standing {
	n, at := &r.nodes[i], behind
	if n.expects == expectsGoalPod {
		at = arrived
	}
	for j := n.first; j < n.end; j++ {
		switch p := &r.pods[j]; {
		case !p.traits.hasAny(atGoal) || p.traits.hasAny(marked):
		case p.inService() && !p.traits.hasAny(finished):
			return settled
		default:
			at = arrived
		}
	}
	return at
}

// failedText says how many nodes have failed, and which.
func (r *run) failedText() string {
	var names []string
	for i := range r.nodes {
		if r.decision(int32(i)).Failed {
			names = appendUser(names, r.nodes[i].Name)
		}
	}
	return fmt.Sprintf("%s failed, at most %d may: %s", counted(r.failed, "node"), r.maxFailed, list(names, int(r.failed)))
}
