package verify

import (
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/domain"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// terms are a spec and what follows from it alone.
type terms struct {
	spec     rollout.Spec // with defaults
	template []byte       // as revisions store it (R1)
	problems []string     // that make it no spec; nothing below is set then
	place    placer
	// nodeSelector is the strategy's (T3).
	nodeSelector labels.Selector
	// features are those that a node has to declare (T9).
	features []string
	// predecessor reports whether a pod is of the set that this one takes over from.
	predecessor func(*corev1.Pod) bool
	overrides   overrides
	domains     domainTerms
	stages      stageTerms
	// given is another copy of spec, which is compared with the spec of the next plan and used for nothing else.
	given rollout.Spec
}

// termsOf returns the terms of the spec: those of the plan before, if its spec was spelled the same; nil: there is none.
func termsOf(spec rollout.Spec, before *terms) *terms {
	given := spec.Default()
	if before != nil && reflect.DeepEqual(before.given, given) {
		return before
	}
	t := &terms{spec: spec.Default(), given: given}
	for _, err := range t.spec.Validate(field.NewPath("spec")) {
		t.problems = append(t.problems, err.Error())
	}
	var err error
	if t.template, err = history.Data(&t.spec.Template); err != nil {
		t.problems = append(t.problems, fmt.Sprintf("spec.template: %v", err))
	}
	if len(t.problems) > 0 {
		return t
	}
	t.place = placerOf(&t.spec.Template)
	t.nodeSelector, t.features = labels.Everything(), needsOf(&t.spec.Template)
	if t.spec.Strategy.NodeSelector != nil {
		// That it can be read is part of the validation of the spec.
		t.nodeSelector, _ = metav1.LabelSelectorAsSelector(t.spec.Strategy.NodeSelector)
	}
	t.predecessor = predecessors(&t.spec)
	t.overrides = compileOverrides(&t.spec)
	t.stages = stagesOf(&t.spec)
	if t.spec.Strategy.Type == rollout.RollingUpdate { // OnDelete does not use policies
		for _, d := range t.spec.Strategy.Policy.Domains {
			selector := labels.Everything()
			if d.Selector != nil {
				selector, _ = metav1.LabelSelectorAsSelector(d.Selector) // that it can be read is part of the validation
			}
			t.domains = append(t.domains, struct {
				domain.Domain
				selector labels.Selector
			}{d, selector})
		}
	}
	return t
}
