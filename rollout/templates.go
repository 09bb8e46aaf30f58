package rollout

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/internal/fleet"
)

// The templates of the revisions, which several steps ask for. Each is decoded when it is first needed, and then remembered for
// the plan.

// templateOf returns the template of the revision with that hash. It is nil if there is no such revision, or two, or if it cannot
// be read. Each is decoded once per plan.
func (r *run) templateOf(hash string) *corev1.PodTemplateSpec {
	if r.templates == nil {
		r.templates = make(map[string]*olderTemplate, len(r.snapshot.Revisions))
		for _, revision := range r.snapshot.Revisions {
			hash := history.HashOf(revision)
			if r.templates[hash] != nil {
				revision = nil
			}
			r.templates[hash] = &olderTemplate{revision: revision}
		}
	}
	t := r.templates[hash]
	if t == nil {
		return nil
	}
	if t.revision != nil {
		t.template, _ = history.Template(t.revision)
		t.revision = nil
	}
	return t.template
}

// templateAt returns the template of the revision that a goal stands for; nil if it cannot be read.
func (r *run) templateAt(to goal) *corev1.PodTemplateSpec {
	switch to {
	case toStable:
		return r.templateOf(r.revision.Stable.Hash)
	case toBase:
		return r.templateOf(r.revision.Base.Hash)
	default:
		return &r.spec.Template
	}
}

// overridesFor returns the spec's overrides compiled for the template of an older revision (P8), nil if it cannot be read.
func (r *run) overridesFor(hash string) *placement.Overrides {
	template := r.templateOf(hash)
	if template == nil {
		return nil
	}
	t := r.templates[hash]
	if t.overrides == nil {
		// New has validated the overrides.
		t.overrides, _ = placement.CompileOverrides(r.spec.Namespace, r.spec.Name, template, r.spec.Overrides)
	}
	return t.overrides
}

// setEffect records what overrides give a node's containers, for the template that the overrides are compiled for.
func (r *run) setEffect(i int32, overrides *placement.Evaluator) {
	n := &r.nodes[i]
	n.effect = none
	if effect := overrides.Evaluate(n.Object); fleet.HasEffect(&effect) {
		n.effect = int32(len(r.effects))
		r.effects = append(r.effects, effect)
	}
}
