package rollout

import (
	"time"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout/failure"
)

// Parts that are not open hold what was good (T8). A pod there whose revision was never rolled out everywhere, and that does not
// serve, goes back to the base: it stands in the way of the revision that is to mend it, and mending it disturbs nobody. That is
// part of step 5, once it is known which parts are open. Which revision a lost pod comes back at is in revisionInClosed.

// goesBack reports whether a node in a part that is not open goes back to the base: its only pod, or the one beside a pod of the
// base, has failed there by F1's measure, or is of a revision that was given up. changes is when the clock may change that; zero:
// never.
func (r *run) goesBack(i int32) (back bool, changes time.Time) {
	n := &r.nodes[i]
	if r.outcome(i) != placement.Run || n.expects != expectsNothing || !r.hasBase() {
		return false, changes
	}
	j := max(n.goalPod, n.outdatedPod)
	if n.goalPod != none && n.outdatedPod != none { // with surge its way back may have begun
		if j = n.goalPod; r.revisionOf(&r.pods[n.outdatedPod]) != r.revision.Base.Hash {
			return false, changes
		}
	}
	if j == none {
		j = r.leavingPod(n) // its way back may have begun
	}
	if j == none { // what comes back there is for revisionInClosed to say
		lost := r.lostRevision(i)
		_, changes = r.failsThere(n, lost)
		return false, earlier(changes, r.backoffs.forgotten(n.Name, lost))
	}
	p := &r.pods[j]
	hash := r.revisionOf(p)
	switch outOfReach, _ := r.outOfReach(n); {
	case r.isGood(hash) || p.traits.hasAny(patchInFlight):
		return false, changes
	case r.hasFailed(hash):
		return true, changes
	case p.traits.hasAny(ready) || n.heldBy != LimitNone || outOfReach: // nothing that is done out of reach helps
		return false, changes
	default:
		series := r.seriesOf(n, hash)
		series.Back = failure.BackSince(n.Object) // what was down with its node may come up with it
		verdict := r.failing.Of(p.Object, series, r.snapshot.Now)
		return verdict.Failed, earlier(verdict.At, r.backoffs.forgotten(n.Name, hash))
	}
}

// leavingPod returns the pod that leaves the node through its hook, of several one that is ready, by name; none: there is none.
func (r *run) leavingPod(n *node) int32 {
	best := int32(none)
	for j := n.first; j < n.end && n.leavesByHook; j++ {
		p := &r.pods[j]
		if !p.traits.hasAny(preparingDelete) || p.traits.hasAny(deleting|finished) {
			continue
		}
		if best == none {
			best = j
			continue
		}
		other := &r.pods[best]
		switch isReady := p.traits.hasAny(ready); {
		case isReady != other.traits.hasAny(ready):
			if isReady {
				best = j
			}
		case p.Object.Name < other.Object.Name:
			best = j
		}
	}
	return best
}

// sendBack gives the node the base as its goal. Where the pod's revision was given up, the way back goes on past what holds the
// node (C7), while another revision comes to the open parts (F3).
func (r *run) sendBack(i int32) {
	n := &r.nodes[i]
	n.goal, n.heldBy = toBase, LimitNone
	r.setEffect(i, r.overridesFor(r.revision.Base.Hash).Evaluator())
	for j := n.first; j < n.end; j++ {
		p := &r.pods[j]
		p.traits &^= atGoal
		if r.hasGoalRevision(n, p) && r.hasResources(n, p) {
			p.traits |= atGoal
		}
	}
	n.nodeFindings = nodeFindings{goalPod: none, outdatedPod: none, failed: n.failed}
	r.classifyNode(i)
}
