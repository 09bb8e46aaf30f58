package rollout

import "github.com/daemonplan/daemonplan/rollout/canary"

// What several steps ask about what holds a node at the pod that it has. None of it writes anything but what was compared once,
// to be remembered.
//
// There are two kinds of limits. What holds a node says where it is to stay: frozen, paused, a canary that is paused or has
// failed, and node.heldBy. What gates it says only that its turn has not come: it is departing or draining, or node.closed. The
// questions differ in which limits they look at, and in whether these stop an update that was begun:
//
//   - beginHeldBy: frozen, paused, canary, heldBy
//   - updateHeldBy: the same, but paused does not stop an update that was begun
//   - heldEvenIfBegun: canary, heldBy
//   - gatedBy: departing, and draining and closed, which do not stop an update that was begun
//   - closedBy: closed alone, likewise
//   - handsOff: frozen, departing; for what is created and deleted

// beginHeldBy returns what keeps the node's update from being begun; LimitNone: nothing does. What stops the whole rollout
// counts before what holds the node (T4).
func (r *run) beginHeldBy(n *node) Limit {
	switch strategy := r.spec.Strategy; {
	case strategy.Frozen:
		return LimitFrozen
	case strategy.Paused:
		return LimitPaused
	default:
		return r.heldEvenIfBegun(n)
	}
}

// heldEvenIfBegun returns what holds the node even if its update was begun; LimitNone: nothing does. Paused does not (T4).
func (r *run) heldEvenIfBegun(n *node) Limit {
	switch {
	case r.trial.Phase == canary.Paused && n.goal == toUpdate:
		return LimitCanary // a paused canary replaces nothing (C7)
	case r.trial.Phase == canary.Failed && n.goal == toUpdate:
		return LimitCanary // the revision has failed, and there is none to go back to (C6)
	default:
		return n.heldBy
	}
}

// updateHeldBy is beginHeldBy for the update of the node's outdated pod: paused does not hold an update that was begun (T4). It
// also returns what it found about the pod.
func (r *run) updateHeldBy(i int32) (Limit, inPlace) {
	n := &r.nodes[i]
	limit := r.beginHeldBy(n)
	if limit != LimitPaused || n.outdatedPod == none {
		return limit, inPlace{}
	}
	begun, found := r.isBegunInPlace(i)
	if begun {
		limit = r.heldEvenIfBegun(n)
	}
	return limit, found
}

// gatedBy returns what keeps the update of the node's outdated pod from being begun although nothing holds it: the node is
// departing or draining (M8), or the part of the stage that it is in is not open (T8). LimitNone: nothing does, or the update in
// place was begun, and goes on. It also returns what it found about the pod.
func (r *run) gatedBy(i int32) (Limit, inPlace) {
	switch n := &r.nodes[i]; {
	case n.departing:
		return LimitDeparting, inPlace{}
	case n.closed != LimitNone:
		return r.unlessBegun(i, n.closed)
	case n.draining:
		return r.unlessBegun(i, LimitDraining)
	default:
		return LimitNone, inPlace{}
	}
}

// closedBy returns why the part of the stage that the node is in is not open to its update (T8). LimitNone: it is open, or the
// update in place was begun, and goes on. It also returns what it found about the pod.
func (r *run) closedBy(i int32) (Limit, inPlace) { return r.unlessBegun(i, r.nodes[i].closed) }

// unlessBegun returns the limit, unless the update of the node's outdated pod in place was begun. It also returns what it found
// about the pod.
func (r *run) unlessBegun(i int32, limit Limit) (Limit, inPlace) {
	if limit == LimitNone || r.nodes[i].outdatedPod == none { // if only a create is in flight, nothing was begun
		return limit, inPlace{}
	}
	begun, found := r.isBegunInPlace(i)
	if begun {
		return LimitNone, inPlace{}
	}
	return limit, found
}

// isHeldByStages reports whether only the stages keep the outdated pod of a node at its revision (T8).
func (r *run) isHeldByStages(i int32) bool {
	n := &r.nodes[i]
	return n.closed != LimitNone && r.beginHeldBy(n) == LimitNone && r.decision(i).Limit != LimitInPlaceOnly
}

// handsOff returns what keeps every pod from being created or deleted on node i; of a pod without a node i is none. The set
// is frozen (T4), or the node is departing (M8). LimitNone: nothing does. What was begun on the node is finished or taken back
// as under frozen, because either may last.
func (r *run) handsOff(i int32) Limit {
	switch {
	case r.spec.Strategy.Frozen:
		return LimitFrozen
	case i != none && r.nodes[i].departing:
		return LimitDeparting
	default:
		return LimitNone
	}
}
