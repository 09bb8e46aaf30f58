package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
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
	return r.stops(none, writeHistory).by != nil && len(r.snapshot.Revisions) == 0 &&
		r.revision.Stable.Hash == r.revision.Update.Hash
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

// What several steps ask about whether something is in motion on a node by itself, or stands still until somebody acts. None of
// it writes anything.

// isFailing reports whether a pod has not come into service for longer than F1's deadline, which is ten minutes unless failures
// are watched with another, or cannot, because the API server refuses to go on with its update: nobody should wait for it any
// more. changes is when the clock makes it so; zero: never.
func (r *run) isFailing(j int32) (failing bool, changes time.Time) {
	p := &r.pods[j]
	switch t := p.traits; {
	case t.hasAny(marked|finished|unreadable|deleting) || r.isOnItsWay(p):
		return false, changes
	case t.hasAny(atGoal) && p.inService(), !t.hasAny(atGoal) && t.hasAny(ready):
		return false, changes
	case r.isCutShort(p):
		return true, changes
	}
	up := upSince(r.nodes[p.host].Object)
	since := failure.Series{Back: up, Up: up} // what follows a failed pod starts anew
	verdict := r.failing.Of(p.Object, since, r.snapshot.Now)
	crashing := r.failing.Crashing(p.Object, r.snapshot.Now)
	if verdict.Failed || crashing.Failed {
		return true, changes
	}
	return false, earlier(verdict.At, crashing.At)
}

// isOnItsWay reports whether the pod is ready and only waits to be available (B5), or waits for a hook (L2, L3) or for a grace
// period (I4). What its hook has let go waits for nobody but the planner.
func (r *run) isOnItsWay(p *pod) bool {
	t := p.traits
	switch {
	case t.hasAny(preparingDelete):
		return r.spec.Lifecycle.PreDelete.Matches(p.Object)
	case t.hasAny(finished) || r.isCutShort(p): // no hook makes it serve
		return false
	case t.hasAny(preparingUpdate):
		return r.spec.Lifecycle.InPlaceUpdate.Matches(p.Object) || p.Object.Annotations[inplace.GraceKey] != ""
	}
	hooked := false
	if t.hasAny(outOfService) {
		state := lifecycle.StateOf(p.Object)
		hooked = state == lifecycle.PreparingNormal || state == lifecycle.Updated
	}
	if !t.hasAny(ready) || t.hasAny(available) {
		return hooked
	}
	since, _ := lifecycle.ReadySince(p.Object)
	return hooked || !since.IsZero() // else the clock never makes it available
}

// isMoving reports whether something happens on the node by itself: a pod is on its way to serve, and has not failed to for too
// long, or is on its way out within its grace period. changes is when the clock ends that; zero: it does not.
func (r *run) isMoving(i int32) (moving bool, changes time.Time) {
	n := &r.nodes[i]
	if r.outcome(i) == placement.Leave {
		return false, changes // it is no part of the rollout
	}
	for j := n.first; j < n.end; j++ {
		p := &r.pods[j]
		if p.inService() && !p.traits.hasAny(preparingDelete|preparingUpdate) {
			continue // like most pods: nothing happens to it, and nothing has to
		}
		if deleted := p.Object.DeletionTimestamp; deleted != nil {
			if r.snapshot.Now.Before(deleted.Time) {
				moving, changes = true, earlier(changes, deleted.Time)
			}
			continue
		}
		failing, at := r.isFailing(j)
		moving = moving || r.isOnItsWay(p) || !failing && !at.IsZero()
		changes = earlier(changes, at)
	}
	return moving, changes
}

// isAnyMoving reports whether something happens on any node by itself. changes is when the clock first ends that on a node; zero:
// it does not.
func (r *run) isAnyMoving() (moving bool, changes time.Time) {
	for i := range r.nodes {
		moves, at := r.isMoving(int32(i))
		moving, changes = moving || moves, earlier(changes, at)
	}
	return moving, changes
}
