package rollout

import (
	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/placement"
)

// admit is step 7: spend the budget on update candidates, after this plan's own repairs (M7): those that are not
// Ready first, then the others, each by descending node name (B6).
func (r *run) admit() {
	budget := &r.plan.Budget
	for i := range r.nodes {
		d := &r.plan.Decisions[i]
		d.Unavailable, d.Surging = r.spends(int32(i))
		r.exempt(int32(i))
		if d.Unavailable {
			budget.Unavailable++
		}
		if d.Surging {
			budget.Surging++
		}
	}
	for _, wantReady := range [...]bool{false, true} {
		for i := int32(len(r.nodes)) - 1; i >= 0; i-- {
			if r.candidate(i) && r.pods[r.nodes[i].other].traits.has(ready) == wantReady {
				r.update(i, wantReady)
			}
		}
	}
}

// spent tells whether the budget is used up, and which one that is.
func (r *run) spent() (bool, Limit) {
	budget := &r.plan.Budget
	if r.surge() {
		return budget.Surging >= budget.MaxSurge, LimitMaxSurge
	}
	return budget.Unavailable >= budget.MaxUnavailable, LimitMaxUnavailable
}

// spends tells whether a node counts as unavailable (B2), and whether it holds a place of maxSurge (B4).
func (r *run) spends(i int32) (unavailable, surging bool) {
	good, bad := r.newPods(i)
	switch r.outcome(i) {
	case placement.Run:
		return !r.serving(&r.nodes[i]), bad && r.surge()
	case placement.Keep:
		return bad && !good, bad && r.surge()
	default:
		return false, false
	}
}

// candidate tells whether the node waits for an update: its pod is of another revision, and nothing else is there
// or on its way.
//
// A pod that could not be deleted now (a Failed one in its back-off, a surplus one beyond burst) keeps the node from
// being begun. Under surge the new pod would stand beside it (M1, V3); otherwise none could follow the Ready pod that
// was deleted (M1). A pod that is not Ready does not wait for that: it disturbs nobody.
func (r *run) candidate(i int32) bool {
	n := &r.nodes[i]
	if r.outcome(i) != placement.Run || n.other == none || n.current != none ||
		n.requested != requestedNothing {
		return false
	}
	if r.surge() {
		return !n.finished && r.alone(n)
	}
	return r.alone(n) || !r.pods[n.other].traits.has(ready)
}

// alone tells whether the outdated pod is the only live one of its node after this plan's repairs.
func (r *run) alone(n *node) bool {
	for j := n.first; j < n.end; j++ {
		if j != n.other && !r.pods[j].traits.has(gone) {
			return false
		}
	}
	return true
}

// update begins one candidate, if nothing holds it and the budget allows it (B3, B4). One whose pod is not Ready, or
// whose node is unavailable already, needs no room in the budget.
func (r *run) update(i int32, wasReady bool) {
	n, d := &r.nodes[i], r.decision(i)
	other := &r.pods[n.other]
	if other.traits.has(patched) {
		r.note(i, VerbWait, ReasonRequested, other)
		return
	}
	limit, found := r.holdsUpdate(i)
	r.noteInPlace(i, found)
	if limit != LimitNone {
		r.hold(i, limit)
		return
	}
	if !r.isReadable(r.goalHash(n)) {
		r.note(i, VerbWait, ReasonRevisionUnreadable, nil) // nothing could follow the pod
		r.finish(i, n.other)
		return
	}
	found = r.findInPlace(i)
	r.noteInPlace(i, found)
	if found.obstructed() && r.spec.Strategy.Method == inplace.Only {
		r.hold(i, LimitInPlaceOnly)
		return
	}
	reason := ReasonOutdatedNotReady
	if wasReady {
		reason = ReasonOutdated
		if full, limit := r.spent(); full && !d.Exempt && (r.surge() || !d.Unavailable) {
			r.wait(i)
			r.note(i, VerbWait, ReasonBudget, other)
			d.Limit = limit
			r.finish(i, n.other)
			return
		}
	}
	if !r.slow.replaces() {
		begun, beginning := r.isBegunInPlace(i)
		r.noteInPlace(i, beginning)
		if !begun {
			r.wait(i)
			r.note(i, VerbWait, ReasonBudget, other)
			d.Limit = LimitSlowStart
			r.slowed()
			r.finish(i, n.other)
			return
		}
	}
	switch r.begin(i, reason, found) {
	case begins:
		if !r.surge() && !d.Unavailable && !d.Exempt {
			d.Unavailable = true
			r.plan.Budget.Unavailable++
			r.down++
		}
	case waits:
		r.wait(i)
		r.finish(i, n.other)
	case cannot, notInPlace:
	}
}

func (r *run) wait(i int32) {
	r.nodes[i].waits = true
	r.plan.Budget.Waiting++
}

// hold leaves the node's outdated pod as it is, and undoes what was begun to update it.
func (r *run) hold(i int32, limit Limit) {
	n := &r.nodes[i]
	r.note(i, VerbHold, ReasonHeld, &r.pods[n.other])
	d := r.decision(i)
	d.Limit, d.Target = limit, TargetHeld
	r.finish(i, n.other)
}

// outcome of an attempt to begin an update.
type outcome uint8

const (
	// begins: it is begun, or goes on.
	begins outcome = iota
	// waits: a limit of this plan refused it.
	waits
	// cannot: the pod cannot be updated.
	cannot
	// notInPlace: the pod cannot be updated in place.
	notInPlace
)

// begin replaces the node's pod, updates it in place, or sets a new one beside it. It is told what was found about the pod.
func (r *run) begin(i int32, reason Reason, found inPlace) outcome {
	d := r.decision(i)
	if r.surge() {
		if !r.create(i, VerbSurge, reason) {
			return waits
		}
		r.slow.replaced(&r.nodes[i])
		if !d.Exempt {
			d.Surging = true
			r.plan.Budget.Surging++
		}
		return begins
	}
	if r.spec.Strategy.Method != inplace.Recreate && !found.obstructed() {
		if outcome := r.updateInPlace(i, reason, found.change); outcome != notInPlace {
			return outcome
		}
		if r.spec.Strategy.Method == inplace.Only {
			r.hold(i, LimitInPlaceOnly)
			return cannot
		}
	}
	other := r.nodes[i].other
	if p := &r.pods[other]; r.left.deletes > 0 && !r.takeRoom(i, p) { // it was prepared to be updated in place
		r.note(i, VerbWait, ReasonBudget, p)
		d.Limit = LimitMaxUnavailable
		return waits
	}
	if !r.delete(i, other, VerbReplace, reason) {
		return waits
	}
	r.slow.replaced(&r.nodes[i])
	return begins
}
