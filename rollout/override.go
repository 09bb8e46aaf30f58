package rollout

import (
	"slices"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout/internal/fleet"
)

// Overrides are part of steps 1 and 4. Step 1 evaluates them for the template of the update revision, and step 4 anew for the
// nodes whose goal is a stable revision with other containers or resources (P8).

// setEffect records what overrides give a node's containers, for the template that the overrides are compiled for.
func (r *run) setEffect(i int32, overrides *placement.Evaluator) {
	n := &r.nodes[i]
	n.effect = none
	if effect := overrides.Evaluate(n.Object); fleet.HasEffect(&effect) {
		n.effect = int32(len(r.effects))
		r.effects = append(r.effects, effect)
	}
}

// resourcesFor returns the resources of a pod of that revision to be created on the node. They are a copy, because all plans
// share those of the overrides.
func (r *run) resourcesFor(n *node, hash string) []placement.Resources {
	var resources []placement.Resources
	if effect := r.effectOn(n); effect != nil && hash == r.goalHash(n) {
		resources = effect.Resources
	} else if hash != r.goalHash(n) {
		resources = r.overridesFor(hash).Evaluate(n.Object).Resources
	}
	resources = slices.Clone(resources)
	for i := range resources {
		resources[i].Resources = *resources[i].Resources.DeepCopy()
	}
	return resources
}

// reportOverrides lists what is wrong with overrides: the conflicts once each, the malformed annotations by node.
func (r *run) reportOverrides() {
	if len(r.effects) == 0 {
		return
	}
	seen := make(map[placement.Conflict]int)
	for i := range r.nodes {
		effect := r.effectOn(&r.nodes[i])
		if effect == nil {
			continue
		}
		name := r.nodes[i].Name
		for _, conflict := range effect.Conflicts {
			at, ok := seen[conflict]
			if !ok {
				at = len(r.plan.OverrideConflicts)
				seen[conflict] = at
				r.plan.OverrideConflicts = append(r.plan.OverrideConflicts, OverrideConflict{Conflict: conflict, Node: name})
			}
			r.plan.OverrideConflicts[at].Nodes++
		}
		for _, malformed := range effect.Malformed {
			r.plan.MalformedOverrides = append(r.plan.MalformedOverrides, MalformedOverride{Node: name, Malformed: malformed})
		}
	}
}
