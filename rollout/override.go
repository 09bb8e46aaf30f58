package rollout

import (
	"slices"

	"github.com/daemonplan/daemonplan/placement"
)

// Overrides are part of steps 1 and 4: what a node's containers get belongs to where the node is to end (P8).

// setEffect notes what overrides give a node's containers, for the template that the overrides are compiled for.
func (r *run) setEffect(i int32, overrides *placement.Evaluator) {
	n := &r.nodes[i]
	n.effect = 0
	effect := overrides.Evaluate(n.object)
	if len(effect.Resources) == 0 && len(effect.Malformed) == 0 && len(effect.Conflicts) == 0 {
		return
	}
	r.effects = append(r.effects, effect)
	n.effect = int32(len(r.effects))
}

// effectOn is the effect of overrides on a node, nil if there is none.
func (r *run) effectOn(n *node) *placement.Overridden {
	if n.effect == 0 {
		return nil
	}
	return &r.effects[n.effect-1]
}

// hasResources reports whether a pod that carries the node's target revision has the resources that the node gives it. A
// malformed annotation says nothing of pods that run.
func (r *run) hasResources(n *node, p *pod) bool {
	effect := r.effectOn(n)
	if effect == nil {
		return !p.traits.has(digested)
	}
	return len(effect.Malformed) > 0 || p.object.Annotations[placement.DigestAnnotation] == effect.Digest
}

// resourcesFor are the resources of a pod of that revision to be created on the node. They are a copy: those of the
// overrides serve all plans.
func (r *run) resourcesFor(n *node, hash string) []placement.Resources {
	var resources []placement.Resources
	if effect := r.effectOn(n); effect != nil && hash == r.goalHash(n) {
		resources = effect.Resources
	} else if hash != r.goalHash(n) {
		resources = r.overridesFor(hash).Evaluate(n.object).Resources
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
		name := r.nodes[i].object.Name
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
