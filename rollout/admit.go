package rollout

import (
	"errors"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
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

// tryUpdate begins one candidate, if nothing holds it and the budget and the domains allow it (B3, B4, B10). A candidate
// whose pod is not Ready needs no room in the budget.
func (r *run) tryUpdate(i int32) {
	n := &r.nodes[i]
	outdated := &r.pods[n.outdatedPod]
	if outdated.traits.hasAny(patchInFlight) {
		r.note(i, VerbWait, ReasonRequested, outdated)
		return
	}
	stop := r.stopsUpdate(i, beginUpdate)
	var found inPlace
	if stop.by == nil || stop.by.reason == ReasonGated || stop.limit == LimitInPlaceOnly {
		found = r.findInPlace(i) // what the spec holds is not asked whether it could be updated in place
		r.noteInPlace(i, found)
	}
	r.noteInPlace(i, stop.found)
	if stop.by != nil {
		r.turnAway(i, stop)
		return
	}
	isReady := outdated.traits.hasAny(ready)
	if limit := r.noRoomToBegin(i, isReady); limit != LimitNone {
		r.waitForBudget(i, limit)
		return
	}
	reason := ReasonOutdatedNotReady
	if isReady {
		reason = ReasonOutdated
	}
	switch r.begin(i, reason, found) {
	case updateBegun:
		r.spend(i)
	case updateDeferred:
		r.countWaiting(i)
		r.continuePod(i, n.outdatedPod)
	case updateContinued, updateWaits, updateNotInPlace:
	}
}

// turnAway leaves the node's outdated pod as it is because a gate is shut, and takes back what was begun, as nobody knows how
// long that lasts.
func (r *run) turnAway(i int32, stop stop) {
	outdated := &r.pods[r.nodes[i].outdatedPod]
	switch reason := stop.by.reason; {
	case reason == ReasonHeld:
		r.holdBack(i, stop.limit)
		return
	case stop.limit == LimitNone:
		r.note(i, VerbWait, reason, nil)
	default:
		_, _, until := stop.by.shut(r, i)
		r.waitUntil(i, outdated, reason, stop.limit, until)
	}
	r.continuePod(i, r.nodes[i].outdatedPod)
}

// waitForBudget leaves a candidate to a later plan, because a limit leaves no room for it.
func (r *run) waitForBudget(i int32, limit Limit) {
	j := r.nodes[i].outdatedPod
	if limit == LimitSlowStart {
		_, found := r.isBegunInPlace(i)
		r.noteInPlace(i, found)
		r.slowed()
	}
	r.countWaiting(i)
	r.noteWait(i, ReasonBudget, &r.pods[j], limit)
	if !r.surges() {
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
	// updateBegun: the update is begun.
	updateBegun attempt = iota
	// updateContinued: it was begun by an earlier plan, and goes on.
	updateContinued
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
	if r.surges() && r.alone(&r.nodes[i]) {
		if !r.create(i, VerbSurge, reason) {
			return updateDeferred
		}
		return updateBegun
	}
	if r.spec.Strategy.Method != inplace.Recreate && !r.surges() && !found.obstructed() {
		if outcome := r.updateInPlace(i, reason, found.change); outcome != updateNotInPlace {
			return outcome
		}
		if r.spec.Strategy.Method == inplace.Only {
			r.holdBack(i, LimitInPlaceOnly)
			return updateWaits
		}
	}
	if !r.delete(i, r.nodes[i].outdatedPod, VerbReplace, reason) {
		return updateDeferred
	}
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

// Updating a pod in place is part of step 7 (I rules).

// updateInPlace takes the next step of an in-place update of the node's outdated pod. First the hook has to let it go (L3), then
// the pod is made unready, and after the grace period it is changed (I4). Nothing is spent on a pod that turns out to differ
// from its revision, or whose record of its last update cannot be read.
func (r *run) updateInPlace(i int32, reason Reason, change *change) attempt {
	p, d := &r.pods[r.nodes[i].outdatedPod], r.decision(i)
	wasBegun, found := r.isBegunInPlace(i)
	r.noteInPlace(i, found)
	isNew, outcome := !wasBegun, updateBegun
	switch {
	case found.obstructed():
		return updateNotInPlace // what was begun cannot go on
	case isNew && r.allowance.updates == 0:
		r.refuse(i, p, LimitBurst)
		return updateDeferred
	}
	if p.traits.hasAny(preparingDelete) { // its deletion is taken back first (L2), so that the hook of updates is asked then (L3)
		if isNew {
			r.countWaiting(i)
		}
		r.continuePod(i, r.nodes[i].outdatedPod)
		return updateWaits
	}
	hooks, now := r.spec.Lifecycle, r.snapshot.Now
	transition := hooks.Next(p.Object, lifecycle.Update, inplace.Completed(p.Object).Done)
	var metadata inplace.Metadata
	metadata.Labels, metadata.Annotations = transition.Metadata(now)
	goal := r.goalHash(&r.nodes[i])
	step, err := r.nextStep(i, change, metadata)
	switch {
	case errors.Is(err, inplace.ErrObstacle):
		r.noteInPlace(i, inPlace{obstruction: inplace.Unlike, change: change})
		return updateNotInPlace
	case err != nil:
		r.note(i, VerbWait, ReasonInPlaceUnreadable, p)
		return updateWaits
	}
	patches := transition.Patches(p.Object, now)
	if transition.Proceed && len(patches) > 0 {
		// The hook's patches and those of the update may both require this version of the pod, which the first of them changes.
		// So the update waits for the next plan.
		r.note(i, VerbPatch, ReasonInPlaceUnfinished, p)
		r.patch(d, p, r.hashes[p.hash].value, ReasonInPlaceUnfinished, patches...)
		if isNew {
			r.countWaiting(i)
		}
		return updateWaits
	}
	if (transition.Proceed || transition.Mark == lifecycle.SetMark) && !r.takeRoom(i, p) {
		r.waitForRoom(i, p)
		return updateWaits
	}
	if isNew {
		r.allowance.updates--
	} else {
		reason, outcome = ReasonBegun, updateContinued
	}
	p.traits |= planUpdates
	if transition.Proceed {
		patches = step.Patches
	}
	switch {
	case transition.Proceed && step.Begun:
		r.note(i, VerbUpdate, reason, p)
		r.patch(d, p, goal, reason, patches...)
	case len(patches) > 0: // a grace period begins when this plan's patch is seen
		r.note(i, VerbPrepare, reason, p)
		r.patch(d, p, r.hashes[p.hash].value, reason, patches...)
	case transition.Proceed:
		r.waitUntil(i, p, ReasonGracePeriod, LimitGracePeriod, step.Until)
	default:
		r.noteWait(i, ReasonUpdateHook, p, LimitHook)
	}
	return outcome
}
