package rollout

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
)

// Steps 6 and 7 delete pods and update them in place through hooks (L rules). What step 8 changes of pods is a patch, too.

// patch adds patches of one pod to the plan, in the order in which they are to be sent.
func (r *run) patch(d *Decision, p *pod, revision string, reason Reason, patches ...lifecycle.Patch) {
	for _, patch := range patches {
		p.traits |= planPatches
		d.Patches++
		r.plan.Patches = append(r.plan.Patches, Patch{
			Node: d.Node, Pod: p.Name, UID: p.Object.UID,
			Type: patch.Type, Subresource: patch.Subresource, Data: patch.Data, Revision: revision, Reason: reason,
		})
	}
}

// prepareDelete labels a pod that a preDelete hook holds as PreparingDelete, once. From then on the pod waits for its hook to let
// it go (L2). prepareDelete reports whether this plan labels it.
func (r *run) prepareDelete(i, j int32, reason Reason) bool {
	p, d := &r.pods[j], r.decision(i)
	if stop := r.stops(i, deletePod); stop.by != nil && !p.traits.hasAny(preparingDelete|patchInFlight) {
		r.refuseDelete(i, j, stop.limit)
		return false
	}
	// known: repair or admit has asked for its deletion before, and this plan has patched it if needed.
	known := p.traits.hasAny(deleteDeferred)
	p.traits |= deleteDeferred
	switch {
	case p.traits.hasAny(preparingDelete):
		r.noteWait(i, ReasonPreDelete, p, LimitHook)
		if !known && !p.traits.hasAny(patchInFlight) {
			// The label may be there without the condition of markPodNotReady (L4).
			step := r.leaveStep(p)
			if step.Mark == lifecycle.SetMark && !r.takeRoom(i, p) {
				return false // a later plan marks it as not ready, when there is room
			}
			if patches := step.Patches(p.Object, r.snapshot.Now); len(patches) > 0 {
				r.note(i, VerbPatch, ReasonPreDelete, p)
				r.patch(d, p, r.hashes[p.hash].value, ReasonPreDelete, patches...)
			}
		}
		return false
	case p.traits.hasAny(patchInFlight):
		r.note(i, VerbWait, ReasonRequested, p)
		return false
	}
	p.traits |= preparingDelete
	r.note(i, VerbPrepare, reason, p)
	r.patch(d, p, r.hashes[p.hash].value, reason, r.leaveStep(p).Patches(p.Object, r.snapshot.Now)...)
	return true
}

// prepareDeleteStray is prepareDelete for a pod without a node of the snapshot, which has a decision of its own.
func (r *run) prepareDeleteStray(d *Decision, p *pod, reason Reason) {
	switch {
	case p.traits.hasAny(preparingDelete):
		d.Verb, d.Reason, d.Limit = VerbWait, ReasonPreDelete, LimitHook
		if p.traits.hasAny(patchInFlight) {
			return
		}
		if patches := r.leaveStep(p).Patches(p.Object, r.snapshot.Now); len(patches) > 0 {
			d.Verb = VerbPatch
			r.patch(d, p, r.hashes[p.hash].value, ReasonPreDelete, patches...)
		}
	case p.traits.hasAny(patchInFlight):
		d.Verb, d.Reason = VerbWait, ReasonRequested
	default:
		if stop := r.stops(none, deletePod); stop.by != nil {
			d.Verb, d.Reason, d.Limit = VerbWait, refusal(stop.limit), stop.limit
			return
		}
		d.Verb, d.Reason = VerbPrepare, reason
		r.patch(d, p, r.hashes[p.hash].value, reason, r.leaveStep(p).Patches(p.Object, r.snapshot.Now)...)
	}
}

// leaveStep returns the next step of a pod's way out through its hook. Frozen brings no deletion forward (T4), nor does a
// departing node (M8): the step then does not mark the pod as not ready, but may take such a mark off, where the hook asks for
// none any more (L4).
func (r *run) leaveStep(p *pod) lifecycle.Transition {
	step := r.spec.Lifecycle.Next(p.Object, lifecycle.Delete, false)
	if step.Mark == lifecycle.SetMark && r.stops(p.host, deletePod).by != nil {
		return lifecycle.Transition{}
	}
	return step
}

// continuePod goes on with what hooks and in-place updates have begun on a pod that stays: it begins the next batch, sets the
// condition of a complete update, takes the next state of a hook, or takes back a pod that was to leave or to be updated (I5,
// L2, L3, L4). It needs no budget and no burst, and frozen does not stop it. To a pod on which nothing was begun it does
// nothing. It sends nothing again that the API server has refused (I1), except to a new pod, for which nothing else could be
// done.
func (r *run) continuePod(i, j int32) {
	p := &r.pods[j]
	if !p.traits.hasAny(inTransition|preparingDelete) || p.traits.hasAny(deleting|deleteDeferred|planUpdates) {
		return
	}
	if p.traits.hasAny(patchInFlight) {
		r.note(i, VerbWait, ReasonRequested, p)
		return
	}
	hooks, now := r.spec.Lifecycle, r.snapshot.Now
	patches := hooks.Next(p.Object, lifecycle.Keep, inplace.Completed(p.Object).Done).Patches(p.Object, now)
	advance, cancels := inplace.Continue, inplace.Preparing(p.Object)
	if cancels {
		advance = inplace.Cancel
	}
	if step, err := advance(p.Object, now); err == nil && !r.disturbs(p, step) {
		patches = append(patches, step.Patches...)
		r.wake(step.Until)
	}
	if len(patches) == 0 {
		return
	}
	reason := ReasonInPlaceUnfinished
	switch {
	case p.traits.hasAny(preparingDelete|preparingUpdate) || cancels:
		reason = ReasonTakenBack
	case !p.traits.hasAny(ready) && fresh(p.Object):
		reason = ReasonNewPod
	}
	if reason != ReasonNewPod && r.isRefused(p, reason) {
		return
	}
	r.note(i, VerbPatch, reason, p)
	r.patch(r.decision(i), p, r.hashes[p.hash].value, reason, patches...)
}

// refuseDelete leaves the deletion of a pod to a later plan. Unless it is only burst that refuses it, that may be long, so that
// what was begun on the pod is finished or taken back in the meantime, as on a pod that stays (T4, M8).
func (r *run) refuseDelete(i, j int32, limit Limit) {
	p := &r.pods[j]
	r.refuse(i, p, limit)
	switch {
	case limit == LimitBurst || p.traits.hasAny(finished):
	case !p.traits.hasAny(preparingDelete):
		r.continuePod(i, j)
	default:
		if patches := r.unmarkNotReady(p); len(patches) > 0 {
			r.note(i, VerbPatch, refusal(limit), p)
			r.patch(r.decision(i), p, r.hashes[p.hash].value, refusal(limit), patches...)
		}
	}
	p.traits |= deleteDeferred
}

// unmarkNotReady returns the patches that make a pod ready again which its hook has let go (L4): what refuses its deletion may
// keep it for long.
func (r *run) unmarkNotReady(p *pod) []lifecycle.Patch {
	patches, _ := lifecycle.Unmark(p.Object, r.snapshot.Now) // none with an error: messages that cannot be read are left alone
	return patches
}

// disturbs reports whether a step would restart containers of a pod that is Ready and outdated: the next batch of an update that
// is no longer wanted (I5). When such a pod is disturbed next is up to the budget.
func (r *run) disturbs(p *pod, step inplace.Step) bool {
	return step.Begun && p.traits.hasAny(ready) && !p.traits.hasAny(atGoal)
}

// fresh reports whether the conditions of a pod's readiness gates were never set, so that the patch sets them first (I3, L4).
func fresh(object *corev1.Pod) bool {
	return !slices.ContainsFunc(object.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == lifecycle.InPlaceUpdateReady || c.Type == lifecycle.PodReady
	})
}
