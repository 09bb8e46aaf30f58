package rollout

import "github.com/daemonplan/daemonplan/placement"

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
