package rollout

import (
	"cmp"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout/failure"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// What several steps ask about the revision at which a lost pod comes back (T1, T6, T8), and about the base, which is what nodes
// get in parts that are not open. None of it writes anything but what was decoded once, to be remembered.

// revisionFor returns the revision of a pod to be created on the node: that of the node's goal (T6), but with holdRevision on a
// node that partition or node selector holds, and in a part of a stage that is not open, that of its lost pod (T1, T8), and so
// on a node where no pod of the update revision could run (T9). A node whose goal is the stable revision never gets the one on
// trial back.
func (r *run) revisionFor(i int32) string {
	n := &r.nodes[i]
	if n.closed != LimitNone {
		return r.revisionInClosed(i)
	}
	if n.heldBy == LimitUndeclared {
		return r.revisionThatRuns(i)
	}
	if !r.spec.Strategy.HoldRevision || n.heldBy != LimitPartition && n.heldBy != LimitNodeSelector {
		return r.goalHash(n)
	}
	if before := r.revisionBefore(i); n.goal == toUpdate || before != r.revision.Update.Hash {
		return before
	}
	return r.revision.Stable.Hash
}

// revisionInClosed returns the revision of a pod to be created in a part that is not open: that of the node's lost pod, unless it
// has failed, there or by its mark, or is on trial elsewhere, else the base. A failed pod that M2 has deleted counts as seen: its
// back-off tells of it. Where nothing is left of the time before the update revision, that is what there is.
func (r *run) revisionInClosed(i int32) string {
	n, update := &r.nodes[i], r.revision.Update.Hash
	before := r.lostRevision(i)
	if n.goal == toUpdate && r.backoffs.knows(n.Name, update) {
		before = update
	}
	fails := false
	if n.closed != LimitFailures { // where too many have failed, nothing is begun, and nothing goes back either
		fails, _ = r.failsThere(n, before)
	}
	switch {
	case n.goal == toUpdate && before == update && !fails:
		return update
	case before != "" && before != update && !r.hasFailed(before) && !fails:
		return before
	case r.revision.Base.Hash == "" || r.revision.Base.Hash == update:
		return r.goalHash(n) // during a trial that is not the revision on trial (T6)
	default:
		return r.revision.Base.Hash
	}
}

// hasFailed reports whether another revision than the update revision carries the mark of a fail. What that mark means for the
// update revision is for the spec to say (F3, C7).
func (r *run) hasFailed(hash string) bool {
	isFailed := func(revision *appsv1.ControllerRevision) bool {
		return history.HashOf(revision) == hash && history.Failed(revision)
	}
	return hash != r.revision.Update.Hash && slices.ContainsFunc(r.snapshot.Revisions, isFailed)
}

// revisionThatRuns returns the revision at which a lost pod comes back on a node where no pod of the update revision could run:
// that of the lost pod or the stable one, if such a pod can run there (T9). If none can, it makes no difference.
func (r *run) revisionThatRuns(i int32) string {
	n := &r.nodes[i]
	before := r.revisionBefore(i)
	template := r.templateOf(before)
	if template == nil || placement.Undeclared(placement.Features(&template.Spec), n.Object) != "" {
		return r.goalHash(n)
	}
	return before
}

// revisionBefore returns the revision of the pod that the node has lost. If that is not seen, it is the stable revision, or once
// that is the update revision, the highest older one (T1).
func (r *run) revisionBefore(i int32) string {
	stable := r.revision.Stable.Hash
	if stable == r.revision.Update.Hash {
		stable = r.revision.Fallback.Hash
	}
	return cmp.Or(r.lostRevision(i), stable)
}

// lostRevision returns the revision of the node's youngest pod object whose revision can be read from the history; "" if there
// is none. Finished pods that are marked for deletion count here, although M1 ignores them.
func (r *run) lostRevision(i int32) string {
	n := &r.nodes[i]
	var youngest time.Time
	found := ""
	look := func(p *pod) {
		if created := p.Object.CreationTimestamp.Time; found == "" || created.After(youngest) {
			if r.isUpdate(p) {
				found, youngest = r.revision.Update.Hash, created
			} else if value := r.hashes[p.hash].value; r.templateOf(value) != nil {
				found, youngest = value, created
			}
		}
	}
	for j := n.first; j < n.end; j++ {
		look(&r.pods[j])
	}
	ignored := r.ignoredOn(i)
	for j := range ignored {
		look(&ignored[j])
	}
	return found
}

// hasBase reports whether there is a revision to go back to, and pods can be made of it.
func (r *run) hasBase() bool {
	base := r.revision.Base
	return base.Existing != nil && base.Hash != r.revision.Update.Hash && r.templateOf(base.Hash) != nil
}

// isGood reports whether nodes in parts that are not open may keep a revision even if it does not work there: the base, and what
// was rolled out everywhere.
func (r *run) isGood(hash string) bool {
	isMarked := func(revision *appsv1.ControllerRevision) bool {
		return history.HashOf(revision) == hash && history.Completed(revision) && !history.Failed(revision)
	}
	return hash == r.revision.Base.Hash || slices.ContainsFunc(r.snapshot.Revisions, isMarked)
}

// failsThere reports whether pods of a revision that is not good have failed on the node one after the other for longer than F1's
// deadline. changes is when the clock may change that; zero: never.
func (r *run) failsThere(n *node, hash string) (fails bool, changes time.Time) {
	if hash == "" || r.isGood(hash) || !r.hasBase() {
		return false, changes
	}
	verdict := r.failing.Of(nil, r.seriesOf(n, hash), r.snapshot.Now)
	return verdict.Failed, verdict.At
}

// seriesOf returns what is remembered of failed pods of a revision on the node (F1).
func (r *run) seriesOf(n *node, hash string) failure.Series {
	series := r.backoffs.series(n.Name, hash)
	series.Up = upSince(n.Object)
	if hash == r.revision.Update.Hash {
		series.Retried = r.retriedAt()
	}
	return series
}
