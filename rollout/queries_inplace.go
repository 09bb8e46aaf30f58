package rollout

import (
	"errors"

	"github.com/daemonplan/daemonplan/inplace"
)

// What several steps ask about updating a node's outdated pod in place (I rules). None of it writes anything but what was
// compared once, to be remembered. updateInPlace in admit.go takes the steps of an update.

// inPlace is what is known about updating a node's outdated pod in place. The zero value stands for nothing known: nobody has
// looked.
type inPlace struct {
	// obstruction is what about the pod itself is in the way, whatever the change (I3); 0: nothing.
	obstruction inplace.Obstruction
	// change between the pod's revision and that of its node's goal; nil: the two were not compared, because of the
	// obstruction.
	change *change
	// detail is what the obstruction does not say, for readers: what the node lacks, or the words of the API server.
	detail string
}

// obstructed reports whether something keeps the pod from being updated in place.
func (f inPlace) obstructed() bool {
	return f.obstruction != 0 || f.change != nil && !f.change.update.InPlace()
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
	switch {
	case !update.InPlace():
	case !r.hasResources(n, p) || len(update.Resources) > 0 && p.traits.hasAny(digested):
		found.obstruction = inplace.Overridden // only what the template says changes in place (I2), not overrides
	default:
		if refused := r.refusalOf(p, r.goalHash(n)); refused != nil {
			found.obstruction, found.detail = inplace.Refused, refused.Message
		} else if found.detail = update.Lacks(n.Object); found.detail != "" {
			found.obstruction = inplace.NodeLacks
		}
	}
	return found
}

// refusalOf returns a patch of the update of the pod to a revision that the API server refused; nil: none. One that was to leave
// the pod where it is belongs to the update, too: it was to make the pod not ready.
func (r *run) refusalOf(p *pod, to string) *RefusedPatch {
	return r.leastRefused(p, func(patch *RefusedPatch) bool {
		return patch.Revision == to || patch.Revision == r.hashes[p.hash].value
	})
}

// isRefused reports whether the API server has refused a patch that leaves the pod where it is, for that reason.
func (r *run) isRefused(p *pod, reason Reason) bool {
	return r.leastRefused(p, func(patch *RefusedPatch) bool {
		return patch.Revision == r.hashes[p.hash].value && (patch.Reason == reason || patch.Reason == ReasonNone)
	}) != nil
}

// leastRefused returns the refused patch of the pod with the least message, so that their order does not matter; nil: none.
func (r *run) leastRefused(p *pod, is func(*RefusedPatch) bool) *RefusedPatch {
	var least *RefusedPatch
	refused := r.snapshot.InFlight.Refused
	for i := range refused {
		patch := &refused[i]
		if patch.UID == p.Object.UID && is(patch) && (least == nil || patch.Message < least.Message) {
			least = patch
		}
	}
	return least
}

// isWhole reports whether a pod that carries the revision of its node's goal is what the node is to have: it has the resources
// that are wanted there (P8), and its update in place was not cut short (I1).
func (r *run) isWhole(n *node, p *pod) bool { return r.hasResources(n, p) && !r.isCutShort(p) }

// isCutShort reports whether the API server has refused to go on with the update in place to the revision that the pod carries:
// a later batch, or its end. What the pod runs is then of two revisions, or out of service, and stays so (I1).
func (r *run) isCutShort(p *pod) bool {
	begun := p.traits.hasAny(inTransition) && !p.traits.hasAny(marked|finished|preparingUpdate)
	if !begun || !r.isRefused(p, ReasonInPlaceUnfinished) {
		return false
	}
	state, err := inplace.StateOf(p.Object)
	return err == nil && state != nil // a pod that was never updated is no better when it is made anew
}

// isBegunInPlace reports whether an earlier plan began an update in place of the node's outdated pod, which has not changed the
// pod yet and can go on: it waits for its hook, or for the grace period. It also returns what it found about the pod.
func (r *run) isBegunInPlace(i int32) (bool, inPlace) {
	p := &r.pods[r.nodes[i].outdatedPod]
	if r.spec.Strategy.Method == inplace.Recreate || !p.traits.hasAny(inTransition) {
		return false, inPlace{}
	}
	if !p.traits.hasAny(preparingUpdate) && (p.traits.hasAny(ready) || !inplace.Preparing(p.Object)) {
		return false, inPlace{}
	}
	found := r.findInPlace(i)
	if found.obstructed() {
		return false, found
	}
	if r.isUnlike(i, found.change) {
		found.obstruction = inplace.Unlike
		return false, found
	}
	return true, found
}

// isUnlike reports whether the node's outdated pod differs from what its revision says, and cannot take the change.
func (r *run) isUnlike(i int32, change *change) bool {
	_, err := r.nextStep(i, change, inplace.Metadata{})
	return errors.Is(err, inplace.ErrObstacle)
}

// nextStep returns the next step of the update in place of the node's outdated pod. The error is inplace.ErrObstacle if the pod
// differs from what its revision says and cannot take the change. The step is computed only for pods whose turn has come,
// because it costs more than findInPlace.
func (r *run) nextStep(i int32, change *change, metadata inplace.Metadata) (inplace.Step, error) {
	n := &r.nodes[i]
	target := inplace.Target{Revision: r.goalHash(n), Node: n.Object}
	return change.update.Begin(r.pods[n.outdatedPod].Object, target, metadata, r.snapshot.Now)
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
