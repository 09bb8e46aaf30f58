package rollout

import (
	"cmp"
	"slices"

	"github.com/daemonplan/daemonplan/placement"
)

// repairStrays gives a decision to each pod whose node is gone (M5) or cannot be read off the pod (P7). It deletes those that are
// pinned to a node that is gone, but not bound to it.
func (r *run) repairStrays() {
	slices.SortFunc(r.strays, func(a, b pod) int {
		nodeA, _ := placement.TargetNode(a.Object)
		nodeB, _ := placement.TargetNode(b.Object)
		return cmp.Or(cmp.Compare(nodeA, nodeB), byName(a.Object, b.Object))
	})
	for i := range r.strays {
		r.plan.Decisions = append(r.plan.Decisions, r.repairStray(&r.strays[i]))
	}
}

func (r *run) repairStray(p *pod) Decision {
	node, ok := placement.TargetNode(p.Object)
	d := Decision{Node: node, Pod: p.Name, State: StateVanished}
	switch {
	case !ok:
		d.State, d.Reason = StateUnattributed, ReasonUnattributable
	case p.traits.hasAny(bound):
		d.Reason = ReasonVanished
	case p.traits.hasAny(marked):
		d.Verb, d.Reason = VerbWait, ReasonTerminating
	default:
		r.deleteStray(&d, p, ReasonNodeGone)
	}
	return d
}
