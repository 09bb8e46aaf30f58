package rollout

import (
	"errors"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
)

// Updating a pod in place is part of step 7 (I rules).

// updateInPlace takes the next step of an in-place update of the node's outdated pod. First the hook has to let it go (L3), then
// the pod is made unready, and after the grace period it is changed (I4). Nothing is spent on a pod that turns out to differ
// from its revision, or whose record of its last update cannot be read.
func (r *run) updateInPlace(i int32, reason Reason, change *change) attempt {
	p, d := &r.pods[r.nodes[i].outdatedPod], r.decision(i)
	wasBegun, found := r.isBegunInPlace(i)
	r.noteInPlace(i, found)
	isNew := !wasBegun
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
		r.allowance.updates-- // frozen is not asked for, because it holds the node before it comes here
		r.slow.takePlace(&r.nodes[i])
	} else {
		reason = ReasonBegun
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
	return updateBegun
}
