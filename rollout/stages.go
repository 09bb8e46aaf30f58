package rollout

import (
	"slices"
	"time"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout/failure"
	"github.com/daemonplan/daemonplan/rollout/stage"
)

// Opening the parts of stages belongs to step 5 (T8). Package stage judges them; this file gives it what it needs and applies the
// result.

// openParts finds which parts of the fleet are open to the update revision, and closes the nodes of all others. During a
// trial, and after one that failed, no part is judged: T6 says where each node is to end.
func (r *run) openParts() {
	switch {
	case r.closesStable():
		for i := range r.nodes {
			if n := &r.nodes[i]; n.goal == toStable && !r.hasUpdate(n) {
				r.closeNode(int32(i), LimitStage)
			}
		}
	case r.followsParts():
		r.endSeries()
		r.findFailed()
		aside := r.countAside()
		r.judgeParts(aside)
		if r.maxQuarantined = r.quarantineLimit.RoundDown(r.openRuns()); r.maxQuarantined > 0 {
			r.judgeParts(aside) // with the nodes left out that may be (F4)
		}
		r.wake(r.stages.Wake)
		// When a series of failed pods is forgotten, its node gets another revision back, or has not failed any more.
		r.wake(r.backoffs.forgotten("", r.revision.Update.Hash))
		r.closeParts()
		r.countFailed(r.openRuns())
	}
}

// judgeParts counts how the nodes of each part stand, and finds which parts are open. aside counts those that were set aside.
func (r *run) judgeParts(aside []stage.Count) {
	r.countParts(aside)
	r.stages = stage.Judge(r.parts(), stage.Input{
		Now: r.snapshot.Now, Revision: r.revision.Update.Hash, Name: r.revision.Update.Name, Counts: r.partCounts,
		Approved: r.spec.Strategy.Policy.Approved, Frontier: r.record.Frontier, AllOpen: r.allPartsOpen(),
	})
}

// openRuns is how many nodes are to run the pod in the parts that are open.
func (r *run) openRuns() int32 {
	runs := int32(0)
	for _, s := range r.stages.States {
		if s.Phase.IsOpen() {
			runs += r.partCounts[s.Part].Nodes
		}
	}
	return runs
}

// closeParts closes the nodes of the parts that are not open.
func (r *run) closeParts() {
	closed := make([]Limit, len(r.partCounts)) // by ordinal of the part
	for _, s := range r.stages.States {
		switch {
		case s.Phase.IsOpen():
		case s.Phase == stage.Approving:
			closed[s.Part] = LimitApproval
		case !s.Until.IsZero():
			closed[s.Part] = LimitSoak
		default:
			closed[s.Part] = LimitStage
		}
	}
	for i := range r.nodes {
		limit := closed[r.nodes[i].Part]
		if limit == LimitNone {
			continue
		}
		back, changes := r.goesBack(int32(i))
		r.wake(changes)
		if back {
			r.sendBack(int32(i))
		} else {
			r.closeNode(int32(i), limit)
		}
	}
}

// closeNode records why a run node's part is not open. A pod that leaves through its hook is taken back there: it would come back
// as it was.
func (r *run) closeNode(i int32, limit Limit) {
	if r.outcome(i) != placement.Run {
		return
	}
	n := &r.nodes[i]
	n.closed = limit
	if n.leavesByHook {
		n.nodeFindings = nodeFindings{goalPod: none, outdatedPod: none, closed: limit, failed: n.failed}
		r.classifyNode(i)
	}
}

// countAside counts the nodes of each part that were set aside. Idle ones matter only to parts that are opened one after the
// other.
func (r *run) countAside() []stage.Count {
	counts := make([]stage.Count, r.parts().Len())
	for n := range r.settledNodes() {
		c := &counts[n.Part]
		c.Nodes++
		switch {
		case n.Unselected:
			c.Held++ // of such nodes nothing is to be learned about the rollout (T3)
		case r.isDeparting(n):
			c.Away++
		default:
			c.Settled++
		}
	}
	if r.rules.Stages.Len() > 0 {
		for n, d := range r.idleNodes() {
			if d.Placement.Test == placement.TestTaint && !n.Unselected {
				counts[n.Part].Barred++
			}
		}
	}
	return counts
}

// countParts counts how the nodes of each part stand before this plan's actions. aside counts those that were set aside.
func (r *run) countParts(aside []stage.Count) {
	r.partCounts = slices.Clone(aside)
	spare := r.newSpare()
	for i := range r.nodes {
		n := &r.nodes[i]
		r.countInPart(int32(i), &r.partCounts[n.Part], &spare)
	}
}

// countInPart counts a node in its part.
func (r *run) countInPart(i int32, c *stage.Count, spare *spare) {
	n, d := &r.nodes[i], r.decision(i)
	runs := d.Placement.Outcome == placement.Run
	unavailable, _ := r.budgetUse(i)
	exemption, changes := r.exemptNow(i, *spare)
	r.wake(changes)
	*spare = spare.without(exemption)
	if runs {
		c.Nodes++
	}
	tainted := d.Placement.Test == placement.TestTaint && !n.Unselected
	at, outOfReach := r.standing(i), false
	if runs && at == behind && r.rules.Stages.Len() > 0 {
		var changes time.Time
		outOfReach, changes = r.outOfReach(n)
		r.wake(changes)
	}
	switch {
	case runs && n.Unselected:
		c.Held++
	case tainted && n.first == n.end:
		c.Barred++
	case n.departing && (runs || tainted || unavailable):
		c.Away++
	case n.draining && runs && at == behind && !outOfReach:
		c.Away++
	case exemption != ExemptionNone:
		c.Exempt++
	case outOfReach:
		// It is not behind, so that a part's tolerance is for it, too (T8).
		c.Unavailable++
	case runs && at == behind && (n.heldBy == LimitUndeclared || r.isStuckInPlace(i, c)):
		c.Obstructed++
	case runs && at == settled:
		c.Settled++
	case runs && at == behind:
		c.Behind++
	case runs || unavailable:
		c.Unavailable++
	case tainted:
		c.Away++
	}
}

// isStuckInPlace reports whether the method is InPlaceOnly and the node's outdated pod cannot be updated in place (I1), so
// that nothing will ever update the node. Whether the pod differs from what its revision says is costly to find out. So it is
// not asked any more once another node of the part is behind, which keeps the part from being done or skipped anyway.
func (r *run) isStuckInPlace(i int32, c *stage.Count) bool {
	if r.spec.Strategy.Method != inplace.Only || r.nodes[i].outdatedPod == none {
		return false
	}
	found := r.findInPlace(i)
	if found.obstructed() || c.Behind > 0 {
		return found.obstructed()
	}
	return r.isUnlike(i, found.change)
}

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
		if r.hasGoalRevision(n, p) && r.isWhole(n, p) {
			p.traits |= atGoal
		}
	}
	n.nodeFindings = nodeFindings{goalPod: none, outdatedPod: none, failed: n.failed}
	r.classifyNode(i)
}
