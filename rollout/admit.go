package rollout

import (
	"github.com/daemonplan/daemonplan/inplace"
)

// admit is step 7. It counts what the budgets have spent after this plan's own repairs (M7), and spends the rest on update
// candidates: first those whose pod is not Ready, then the others, each group by descending node name (B6).
func (r *run) admit() {
	budget, spare := &r.plan.Budget, r.newSpare()
	for i := range r.nodes {
		d := r.decision(int32(i))
		d.Unavailable, d.Surging = r.budgetUse(int32(i))
		r.leaveOut(int32(i), &spare)
		if d.Unavailable {
			budget.Unavailable++
		}
		if d.Surging {
			budget.Surging++
		}
		if r.takesBudget(d) {
			r.addDisturbed(int32(i), &r.domains)
		}
	}
	for _, wantReady := range [...]bool{false, true} {
		for i := int32(len(r.nodes)) - 1; i >= 0; i-- {
			if r.candidate(i) && r.pods[r.nodes[i].outdatedPod].traits.hasAny(ready) == wantReady {
				r.tryUpdate(i)
			}
		}
	}
}

// fullBudget returns the limit that leaves no room for a candidate whose pod is Ready: that of the budget in use (B3, B4), or a
// domain (B10). LimitNone: there is room, or none is needed, because the node is left out of the budgets (B8, B9, F4), or without
// surge because it is unavailable already.
func (r *run) fullBudget(i int32) Limit {
	d := r.decision(i)
	if d.Exempt() {
		return LimitNone
	}
	full, limit := r.isBudgetFull()
	switch {
	case full && (r.surge() || !d.Unavailable):
		return limit
	case r.isBeginningFull(i) && !r.takesBudget(d):
		return LimitDomain
	default:
		return LimitNone
	}
}

// isBeginningFull reports whether a domain has no room for one more node that is begun (B10), for the same reasons as the budget.
func (r *run) isBeginningFull(i int32) bool {
	return r.isDomainFull(i, &r.domains) || !r.surge() && r.areDomainsFull(i)
}

// isBudgetFull reports whether the budget in use is used up, and returns the limit that stands for it. Without surge it is also
// used up if as many nodes are down: a node that is left out of the budget takes room when this plan takes its last serving pod.
func (r *run) isBudgetFull() (bool, Limit) {
	budget := &r.plan.Budget
	if r.surge() {
		return budget.Surging >= budget.MaxSurge, LimitMaxSurge
	}
	return budget.Unavailable >= budget.MaxUnavailable || r.downIsFull(), LimitMaxUnavailable
}

// tryUpdate begins one candidate, if nothing holds it and the budget and the domains allow it (B3, B4, B10). A candidate
// whose pod is not Ready needs no room in the budget.
func (r *run) tryUpdate(i int32) {
	n, d := &r.nodes[i], r.decision(i)
	outdated := &r.pods[n.outdatedPod]
	if outdated.traits.hasAny(patchInFlight) {
		r.note(i, VerbWait, ReasonRequested, outdated)
		return
	}
	limit, found := r.updateHeldBy(i)
	r.noteInPlace(i, found)
	if limit != LimitNone {
		r.holdBack(i, limit)
		return
	}
	if !r.isReadable(r.goalHash(n)) {
		r.note(i, VerbWait, ReasonRevisionUnreadable, nil) // nothing could follow the pod
		r.continuePod(i, n.outdatedPod)
		return
	}
	found = r.findInPlace(i)
	r.noteInPlace(i, found)
	if found.obstructed() && r.spec.Strategy.Method == inplace.Only {
		r.holdBack(i, LimitInPlaceOnly)
		return
	}
	if limit, found := r.gatedBy(i); limit != LimitNone {
		r.noteInPlace(i, found)
		r.noteWait(i, ReasonGated, outdated, limit)
		r.continuePod(i, n.outdatedPod) // what was begun is taken back, as nobody knows how long the gate stays shut
		return
	}
	reason := ReasonOutdatedNotReady
	if outdated.traits.hasAny(ready) {
		reason = ReasonOutdated
		if limit := r.fullBudget(i); limit != LimitNone {
			r.waitForBudget(i, limit)
			return
		}
	}
	if !r.slow.hasPlace(n) {
		begun, beginning := r.isBegunInPlace(i) // an update that was begun holds a place already
		r.noteInPlace(i, beginning)
		if !begun {
			r.slowed()
			r.waitForBudget(i, LimitSlowStart)
			return
		}
	}
	switch r.begin(i, reason, found) {
	case updateBegun:
		if !r.surge() && !d.Unavailable && !d.Exempt() {
			d.Unavailable = true
			r.plan.Budget.Unavailable++
			r.domains.Add(n.Cell)
			r.goesDown(i)
		}
	case updateDeferred:
		r.countWaiting(i)
		r.continuePod(i, n.outdatedPod)
	case updateWaits, updateNotInPlace:
	}
}

// waitForBudget leaves a candidate to a later plan, because a limit leaves no room for it.
func (r *run) waitForBudget(i int32, limit Limit) {
	j := r.nodes[i].outdatedPod
	r.countWaiting(i)
	r.noteWait(i, ReasonBudget, &r.pods[j], limit)
	if !r.surge() {
		r.noteDomain(i, &r.domainsNow)
	}
	r.noteDomain(i, &r.domains)
	r.continuePod(i, j)
}

// countWaiting counts a node that could be updated now if the budget, slow start or burst let it.
func (r *run) countWaiting(i int32) {
	r.nodes[i].waiting = true
	r.plan.Budget.Waiting++
}

// holdBack leaves the node's outdated pod as it is, and undoes what was begun to update it.
func (r *run) holdBack(i int32, limit Limit) {
	n := &r.nodes[i]
	r.note(i, VerbHold, ReasonHeld, &r.pods[n.outdatedPod])
	d := r.decision(i)
	d.Limit, d.Target = limit, TargetHeld
	r.continuePod(i, n.outdatedPod)
}

// attempt is what became of an attempt to begin an update.
type attempt uint8

const (
	// updateBegun: the update is begun, or goes on.
	updateBegun attempt = iota
	// updateDeferred: a limit of this plan refused it.
	updateDeferred
	// updateWaits: the pod cannot be updated now: it has no room, waits for the next plan, or cannot be read. Its decision says
	// why.
	updateWaits
	// updateNotInPlace: the pod cannot be updated in place.
	updateNotInPlace
)

// begin replaces the node's outdated pod, updates it in place, or creates a new one beside it. found is what was found about
// updating the pod in place.
func (r *run) begin(i int32, reason Reason, found inPlace) attempt {
	d := r.decision(i)
	if r.surge() && r.alone(&r.nodes[i]) {
		if !r.create(i, VerbSurge, reason) {
			return updateDeferred
		}
		r.slow.takePlace(&r.nodes[i])
		if !d.Exempt() {
			d.Surging = true
			r.domains.Add(r.nodes[i].Cell)
			r.plan.Budget.Surging++
		}
		return updateBegun
	}
	if r.spec.Strategy.Method != inplace.Recreate && !r.surge() && !found.obstructed() {
		if outcome := r.updateInPlace(i, reason, found.change); outcome != updateNotInPlace {
			return outcome
		}
		if r.spec.Strategy.Method == inplace.Only {
			r.holdBack(i, LimitInPlaceOnly)
			return updateWaits
		}
	}
	outdated := r.nodes[i].outdatedPod
	p := &r.pods[outdated]
	if r.goesNow(p) && !r.takeRoom(i, p) { // the pod may be prepared to be updated in place
		r.noteWait(i, ReasonBudget, p, r.noRoom(i))
		r.noteDomain(i, &r.domainsNow)
		return updateDeferred
	}
	if !r.delete(i, outdated, VerbReplace, reason) {
		return updateDeferred
	}
	r.slow.takePlace(&r.nodes[i])
	return updateBegun
}

// leaveOut leaves a node out of the budgets that would count, if B8, B9 or F4 allows it.
func (r *run) leaveOut(i int32, spare *spare) {
	budget, d := &r.plan.Budget, r.decision(i)
	if !d.Unavailable && !d.Surging {
		return
	}
	exemption, changes := r.exemption(i, *spare)
	r.wake(changes)
	if exemption == ExemptionNone {
		return
	}
	*spare = spare.without(exemption)
	budget.Exempt++
	switch exemption {
	case ExemptionOut:
		budget.ExemptOut++
	case ExemptionQuarantined:
		budget.Quarantined++
	default: // B8 has no figure of its own
	}
	d.Exemption, d.Unavailable, d.Surging = exemption, false, false
}
