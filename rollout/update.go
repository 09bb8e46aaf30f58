package rollout

import (
	"errors"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
)

// Replacing a pod and updating it in place are part of step 8 (I rules).

// obstruct tells whether something keeps the node's outdated pod from being updated in place, and notes what (I2, I3).
// With recreate nobody asks.
func (r *run) obstruct(i int32) bool {
	if r.spec.Strategy.Method == inplace.Recreate {
		return false
	}
	p, d := &r.pods[r.nodes[i].other], r.decision(i)
	if d.Obstruction = inplace.Obstruct(p.object); d.Obstruction != 0 {
		return true
	}
	n := &r.nodes[i]
	diff := r.diff(p.hash, n.goal)
	update := r.plan.Diffs[diff-1].Update
	if !update.InPlace() {
		d.Diff = diff
		return true
	}
	if !r.hasResources(n, p) || len(update.Resources) > 0 && p.traits.has(digested) {
		d.Obstruction = inplace.Overridden // I2 is about what the template says
		return true
	}
	return false
}

// underWay tells whether an update in place of the node's outdated pod was begun by an earlier plan, has not changed the
// pod yet, and can go on: it waits for its hook, or for the grace period.
func (r *run) underWay(i int32) bool {
	p := &r.pods[r.nodes[i].other]
	if r.spec.Strategy.Method == inplace.Recreate || !p.traits.has(moving) {
		return false
	}
	if !p.traits.has(preparing) && (p.traits.has(ready) || !inplace.Preparing(p.object)) || r.obstruct(i) {
		return false
	}
	_, err := r.beginning(i, inplace.Metadata{})
	return !errors.Is(err, inplace.ErrObstacle)
}

// beginning asks for the next step of the update in place of the node's outdated pod, and notes if only that shows that the
// pod cannot take it. Nobody asks for it of a pod whose turn has not come: it costs more than obstruct.
func (r *run) beginning(i int32, metadata inplace.Metadata) (inplace.Step, error) {
	n := &r.nodes[i]
	p, target := &r.pods[n.other], inplace.Target{Revision: r.goalHash(n)}
	step, err := r.plan.Diffs[r.diff(p.hash, n.goal)-1].Update.Begin(p.object, target, metadata, r.snapshot.Now)
	if errors.Is(err, inplace.ErrObstacle) {
		r.decision(i).Obstruction = inplace.Unlike
	}
	return step, err
}

// updateInPlace takes the next step of an in-place update of the node's outdated pod: its hook first, then the pod made
// unready, then, after the grace period, the change itself (I4, L3). Nothing is spent on a pod that turns out to be
// unlike its revision, or whose last update cannot be understood.
func (r *run) updateInPlace(i int32, reason Reason) outcome {
	p, d := &r.pods[r.nodes[i].other], r.decision(i)
	isNew := !r.underWay(i)
	switch {
	case d.obstructed():
		return cannot // what was begun cannot go on
	case isNew && r.left.updates == 0:
		r.refuse(i, p, LimitBurst)
		return waits
	}
	hooks, now := r.spec.Lifecycle, r.snapshot.Now
	transition := hooks.Next(p.object, lifecycle.Update, inplace.Completed(p.object).Done)
	var metadata inplace.Metadata
	metadata.Labels, metadata.Annotations = transition.Metadata(now)
	goal := r.goalHash(&r.nodes[i])
	step, err := r.beginning(i, metadata)
	switch {
	case d.obstructed():
		return cannot
	case err != nil:
		r.note(i, VerbWait, ReasonInPlaceUnreadable, p)
		return cannot
	}
	patches := transition.Patches(p.object, now)
	if transition.Proceed && len(patches) > 0 {
		// Both may be for this very version of the pod, which the first of them changes: the update waits for the next plan.
		r.note(i, VerbPatch, ReasonInPlaceUnfinished, p)
		r.patch(d, p, r.hashes[p.hash].value, ReasonInPlaceUnfinished, patches...)
		if isNew {
			r.wait(i)
		}
		return cannot
	}
	if (transition.Proceed || transition.Mark == lifecycle.SetMark) && !r.takes(i, p) {
		r.waitForRoom(i, p)
		return cannot
	}
	if isNew {
		r.left.updates-- // frozen holds the node, so that it does not come here
		r.slow.replaced(&r.nodes[i])
	} else {
		reason = ReasonBegun
	}
	p.traits |= begun
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
		r.note(i, VerbWait, ReasonUpdateHook, p)
		d.Limit = LimitHook
	}
	return begins
}

// diff is the ordinal in the plan's Diffs, plus 1, of what an update in place would change of the pods of a revision.
// They are compared once per plan. An unknown revision has nothing to compare, which is an obstacle (I3).
func (r *run) diff(hash int32, to goal) int32 {
	h := &r.hashes[hash]
	if h.diff[to] == 0 {
		target := node{goal: to}
		update := inplace.Diff(r.templateOf(h.value), r.goalTemplate(&target), r.spec.Strategy.InPlace)
		r.plan.Diffs = append(r.plan.Diffs, Diff{From: h.value, To: r.goalHash(&target), Update: update})
		h.diff[to] = int32(len(r.plan.Diffs))
	}
	return h.diff[to]
}
