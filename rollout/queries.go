package rollout

import (
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout/canary"
)

// These are the questions that several steps ask of what was found out before. None of them writes anything
// (TestQueriesDoNotWrite).

// inService reports whether the pod is available, and neither an update in place nor a hook keeps it out of service (I5, L3).
func (p *pod) inService() bool { return p.traits.has(available) && !p.traits.has(outOfService) }

// serves reports whether the pod serves (B2): it does the daemon's work, and nothing that was begun will stop it. A pod that is
// prepared for an in-place update does not serve, nor does one with a patch in flight, which may prepare it: it may stop
// working as soon as its hook lets it go, or the watch shows the patch.
func (p *pod) serves() bool {
	switch t := p.traits; {
	case t.has(deleting | preparingDelete | planUpdates | patchInFlight):
		return false
	case t.has(atGoal):
		return p.inService()
	default:
		return t.has(ready) && !t.has(preparingUpdate)
	}
}

// serving reports whether any pod of the node serves.
func (r *run) serving(n *node) bool {
	for i := n.first; i < n.end; i++ {
		if r.pods[i].serves() {
			return true
		}
	}
	return false
}

// newPodsInService looks at the pods of its goal's revision that the node holds or is about to get. some reports whether one is
// in service, notYet whether one is not; Failed ones are not (B2 on keep nodes, B4). On a keep node a pod that is not bound does
// not count. It never ran and cannot be bound now, so that it says nothing about the revision; counting it would stop the
// rollout for as long as the taint is there.
func (r *run) newPodsInService(i int32) (some, notYet bool) {
	n := &r.nodes[i]
	keep := r.outcome(i) == placement.Keep
	notYet = n.creating || n.expects == expectsGoalPod && !keep
	for j := n.first; j < n.end; j++ {
		switch t := r.pods[j].traits; {
		case !t.has(atGoal) || t.has(deleting) || keep && !t.has(bound):
		case r.pods[j].inService():
			some = true
		default:
			notYet = true
		}
	}
	return some, notYet
}

// isPrepared reports whether an earlier plan has prepared the outdated pod for its update in place or its deletion, and the pod
// is still Ready and does the daemon's work. A pod that this plan patches, updates or deletes is no longer prepared: its room
// was asked for.
func (p *pod) isPrepared() bool {
	t := p.traits
	return t.has(ready) && t.has(preparingUpdate|preparingDelete) && !t.has(deleting|atGoal|patchInFlight|planUpdates|planPatches)
}

// isUpdate reports whether the pod carries the update revision, with whatever resources.
func (r *run) isUpdate(p *pod) bool { return r.hashes[p.hash].update || p.traits.has(byGeneration) }

// goalHash returns the revision where the node is to end (T6).
func (r *run) goalHash(n *node) string {
	if n.goal == toStable {
		return r.revision.Stable.Hash
	}
	return r.revision.Update.Hash
}

// isReadable reports whether pods can be made of the revision with that hash.
func (r *run) isReadable(hash string) bool {
	return hash == r.revision.Update.Hash || r.templateOf(hash) != nil
}

// effectOn returns the effect of overrides on a node, nil if there is none.
func (r *run) effectOn(n *node) *placement.Overridden {
	if n.effect == none {
		return nil
	}
	return &r.effects[n.effect]
}

// hasResources reports whether a pod at the revision of its node's goal has the resources that are wanted there. On a node with
// a malformed annotation it always has: such an annotation makes no running pod outdated (P8).
func (r *run) hasResources(n *node, p *pod) bool {
	effect := r.effectOn(n)
	if effect == nil {
		return !p.traits.has(digested)
	}
	return len(effect.Malformed) > 0 || p.Object.Annotations[placement.DigestAnnotation] == effect.Digest
}

// beginHeldBy returns what keeps the node's update from being begun; LimitNone: nothing does. What stops the whole rollout
// counts before what holds the node (T4).
func (r *run) beginHeldBy(n *node) Limit {
	switch strategy := r.spec.Strategy; {
	case strategy.Frozen:
		return LimitFrozen
	case strategy.Paused:
		return LimitPaused
	default:
		return r.begunHeldBy(n)
	}
}

// begunHeldBy returns what holds the node even if its update was begun; LimitNone: nothing does. Paused does not (T4).
func (r *run) begunHeldBy(n *node) Limit {
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
		limit = r.begunHeldBy(n)
	}
	return limit, found
}
