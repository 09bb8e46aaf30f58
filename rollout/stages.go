package rollout

import (
	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/stage"
	"github.com/daemonplan/daemonplan/status"
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
		r.findFailed()
		r.judgeParts()
		if r.quarantine = r.quarantineLimit.RoundDown(r.openRuns()); r.quarantine > 0 {
			r.judgeParts() // with the nodes left out that may be (F4)
		}
		r.wake(r.stages.Wake)
		// When a series of failed pods is forgotten, its node gets another revision back, or has not failed any more.
		r.wake(r.backoffs.forgotten(r.revision.Update.Hash))
		r.closeParts()
		r.countFailed(r.openRuns())
	}
}

// judgeParts counts how the nodes of each part stand, and finds which parts are open.
func (r *run) judgeParts() {
	parts := r.parts()
	r.countParts(parts)
	r.stages = stage.Judge(parts, stage.Input{
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
		if limit := closed[r.nodes[i].Part]; limit != LimitNone {
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
		n.nodeState = nodeState{goalPod: none, outdatedPod: none, closed: limit, failed: n.failed}
		r.classifyNode(i)
	}
}

// countParts counts how the nodes of each part stand before this plan's actions.
func (r *run) countParts(parts *stage.Parts) {
	r.partCounts = make([]stage.Count, parts.Len())
	copy(r.partCounts, r.asideByPart)
	spare := r.newSpare()
	for i := range r.nodes {
		n := &r.nodes[i]
		r.countInPart(int32(i), &r.partCounts[n.Part], &spare)
	}
}

// countInPart counts a node in its part.
func (r *run) countInPart(i int32, c *stage.Count, spare *spare) {
	n := &r.nodes[i]
	run := r.outcome(i) == placement.Run
	unavailable, _ := r.budgetUse(i)
	exemption, changes := r.exemptNow(i, *spare)
	r.wake(changes)
	*spare = spare.without(exemption)
	if run {
		c.Nodes++
	}
	switch at := r.standing(i); {
	case run && n.Unselected:
		c.Held++
	case exemption != ExemptionNone:
		c.Exempt++
	case run && at == behind && r.isStuckInPlace(i, c):
		c.Held++
	case run && at == settled:
		c.Settled++
	case run && at == behind:
		c.Behind++
	case run || unavailable:
		c.Unavailable++
	}
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
		case !p.traits.has(atGoal) || p.traits.has(marked):
		case p.inService() && !p.traits.has(finished):
			return settled
		default:
			at = arrived
		}
	}
	return at
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

// reportParts lists how each part stands, and makes places in that list of the parts that nodes wait for.
func (r *run) reportParts() {
	if len(r.stages.States) == 0 || r.rules.Stages.Len() == 0 {
		return
	}
	parts := r.parts()
	places := make([]int32, parts.Len()) // from 1; 0: not listed
	for _, s := range r.stages.States {
		part, c := parts.Part(s.Part), r.partCounts[s.Part]
		state := PartState{
			Value: part.Value, Phase: s.Phase, Nodes: c.Nodes, Settled: c.Settled, Unavailable: c.Unavailable, Behind: c.Behind,
			Exempt: c.Exempt, Held: c.Held, Done: s.Done, Until: s.Until,
		}
		if stages := r.spec.Strategy.Policy.Stages; int(part.Stage) < len(stages) {
			state.Stage, state.Key = stages[part.Stage].Name, stages[part.Stage].Key
		}
		empty := c == stage.Count{}
		if empty && (state.Stage == "" || state.Key != "") {
			continue // nobody named it
		}
		r.plan.Parts = append(r.plan.Parts, state)
		places[s.Part] = int32(len(r.plan.Parts))
	}
	r.plan.StaleApprovals = r.stages.Stale
	for i := range r.nodes {
		n, d := &r.nodes[i], r.decision(int32(i))
		place := places[n.Part]
		if d.Reason == ReasonGated && d.Limit == n.closed && n.closed != LimitFailures && place > 0 {
			d.Part = place
		}
		if place > 0 && r.keepsPart(int32(i), r.plan.Parts[place-1].Phase) {
			state := &r.plan.Parts[place-1]
			state.Blocking = appendUser(state.Blocking, n.Name)
		}
	}
}

// gate returns what the next part waits for.
func (r *run) gate() status.Gate {
	for _, s := range r.stages.States {
		switch {
		case s.Phase == stage.Approving:
			return status.GateApproval
		case s.Phase == stage.NoEvidence:
			return status.GateEvidence
		case s.Phase == stage.Waiting && !s.Until.IsZero():
			return status.GateSoak
		case s.Phase == stage.Open:
			return status.GateNone
		}
	}
	return status.GateNone
}

// onlyFailedLeft reports whether all that is left of the rollout, as far as it may go, are nodes that have failed: nothing
// else will bring it forward.
func (r *run) onlyFailedLeft() bool {
	if r.failed == 0 || r.gate() != status.GateNone {
		return false
	}
	for i := range r.nodes {
		n, d := &r.nodes[i], r.decision(int32(i))
		left := d.Placement.Outcome == placement.Run && n.closed == LimitNone && n.heldBy == LimitNone && !d.Exempt()
		if left && !d.Failed && r.standing(int32(i)) != settled {
			return false
		}
	}
	return true
}

// keepsPart reports whether the node keeps its part, which is in that phase, from being done.
func (r *run) keepsPart(i int32, phase stage.Phase) bool {
	d := r.decision(i)
	switch {
	case phase != stage.Open && phase != stage.NoEvidence:
		return false
	case d.Exempt():
		return phase == stage.NoEvidence
	case d.Placement.Outcome == placement.Run:
		return !r.nodes[i].Unselected && r.standing(i) != settled && d.Limit != LimitInPlaceOnly
	default:
		return d.Unavailable
	}
}

// completeMarks adds the marks of rollouts that came to their end (T8): that of the update revision, and as long as no
// revision has one, that of the base.
func (r *run) completeMarks(marks []marking) []marking {
	mark := map[string]string{history.CompletedAnnotation: r.stamp()}
	update, base := r.revision.Update, r.revision.Base
	if (r.stages.Completed || r.revision.Completed) && !history.Completed(update.Existing) {
		var remove []string
		if history.Failed(update.Existing) { // a revision has one verdict
			remove = []string{history.FailedAnnotation, history.FailedMessageAnnotation}
		}
		return addMarks(marks, update, mark, remove)
	}
	if !r.revision.AnyCompleted && base.Existing != nil && base.Hash != update.Hash {
		return addMarks(marks, base, mark, nil)
	}
	return marks
}

// frontier returns what to remember of the stages. It ends when the revision is marked.
func (r *run) frontier() stage.Frontier {
	switch {
	case r.revision.Completed:
		return stage.Frontier{}
	case len(r.stages.States) > 0:
		return r.stages.Frontier
	default:
		return r.record.Frontier
	}
}
