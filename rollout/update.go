package rollout

import (
	"errors"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
)

// Updating a pod in place is part of step 8 (I rules).

// inPlace is what is known about updating a node's outdated pod in place. The zero value stands for nothing known: nobody has
// looked.
type inPlace struct {
	// obstruction is what about the pod itself is in the way, whatever the change (I3); 0: nothing.
	obstruction inplace.Obstruction
	// change between the pod's revision and that of its node's goal; nil: the two were not compared, because of the
	// obstruction.
	change *change
}

// obstructed reports whether something keeps the pod from being updated in place.
func (f inPlace) obstructed() bool {
	return f.obstruction != 0 || f.change != nil && !f.change.update.InPlace()
}

// change is what an update in place of the pods of one revision to a goal would change.
type change struct {
	// update is nil until the two are compared.
	update *inplace.Update
	// listed is the element of Plan.Diffs that shows it; nil: no decision has needed it so far.
	listed *RevisionDiff
}

// findInPlace finds what keeps the node's outdated pod from being updated in place: the pod itself (I3) or the change (I2). With
// the method Recreate it returns the zero value.
func (r *run) findInPlace(i int32) inPlace {
	if r.spec.Strategy.Method == inplace.Recreate {
		return inPlace{}
	}
	n := &r.nodes[i]
	p := &r.pods[n.outdatedPod]
	if obstruction := inplace.Obstruct(p.Object); obstruction != 0 {
		return inPlace{obstruction: obstruction}
	}
	found := inPlace{change: r.changeTo(n.goal, p.hash)}
	update := found.change.update
	if update.InPlace() && (!r.hasResources(n, p) || len(update.Resources) > 0 && p.traits.has(digested)) {
		found.obstruction = inplace.Overridden // only what the template says changes in place (I2), not overrides
	}
	return found
}

// isBegunInPlace reports whether an earlier plan began an update in place of the node's outdated pod, which has not changed the
// pod yet and can go on: it waits for its hook, or for the grace period. It also returns what it found about the pod.
func (r *run) isBegunInPlace(i int32) (bool, inPlace) {
	p := &r.pods[r.nodes[i].outdatedPod]
	if r.spec.Strategy.Method == inplace.Recreate || !p.traits.has(inTransition) {
		return false, inPlace{}
	}
	if !p.traits.has(preparingUpdate) && (p.traits.has(ready) || !inplace.Preparing(p.Object)) {
		return false, inPlace{}
	}
	found := r.findInPlace(i)
	if found.obstructed() {
		return false, found
	}
	if _, err := r.nextStep(i, found.change, inplace.Metadata{}); errors.Is(err, inplace.ErrObstacle) {
		found.obstruction = inplace.Unlike
		return false, found
	}
	return true, found
}

// nextStep returns the next step of the update in place of the node's outdated pod. The error is inplace.ErrObstacle if the pod
// differs from what its revision says and cannot take the change. The step is computed only for pods whose turn has come,
// because it costs more than findInPlace.
func (r *run) nextStep(i int32, change *change, metadata inplace.Metadata) (inplace.Step, error) {
	n := &r.nodes[i]
	target := inplace.Target{Revision: r.goalHash(n)}
	return change.update.Begin(r.pods[n.outdatedPod].Object, target, metadata, r.snapshot.Now)
}

// noteInPlace records in the node's decision, and in the plan's Diffs, what was found about its outdated pod.
func (r *run) noteInPlace(i int32, found inPlace) {
	if found == (inPlace{}) {
		return
	}
	d := r.decision(i)
	d.Obstruction = found.obstruction
	if found.change == nil {
		return
	}
	if found.change.listed == nil {
		n := &r.nodes[i]
		found.change.listed = &RevisionDiff{
			From: r.hashes[r.pods[n.outdatedPod].hash].value, To: r.goalHash(n), Update: found.change.update,
		}
		r.plan.Diffs = append(r.plan.Diffs, found.change.listed)
	}
	if !found.change.update.InPlace() {
		d.Diff = found.change.listed
	}
}

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

// changeTo returns what an update in place to a goal would change of the pods with that hash. The two templates are compared once
// per plan. If a template is not known, that is an obstacle of the change (I3).
func (r *run) changeTo(to goal, hash int32) *change {
	h := &r.hashes[hash]
	c := &h.changes[to]
	if c.update == nil {
		c.update = inplace.Compare(r.templateOf(h.value), r.templateAt(to), r.spec.Strategy.InPlace)
	}
	return c
}
