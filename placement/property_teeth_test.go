//go:build teeth

package placement_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/placement"
)

// TestGeneratorsReachEverything keeps the property from becoming vacuous.
func TestGeneratorsReachEverything(t *testing.T) {
	reached := map[placement.Verdict]int{}
	invalid := 0
	for seed := range 3000 {
		template, node := templateGen().Example(seed), nodeGen().Example(seed)
		verdict := oracle(template, node)
		reached[placement.Verdict{Outcome: verdict.Outcome, Test: verdict.Test, Field: verdict.Field}]++
		if len(placement.Validate(template, nil)) > 0 {
			invalid++
		}
	}
	for _, want := range []placement.Verdict{
		{Outcome: placement.Run},
		{Outcome: placement.Keep, Test: placement.TestTaint},
		{Outcome: placement.Leave, Test: placement.TestTaint},
		{Outcome: placement.Leave, Test: placement.TestNodeName},
		{Outcome: placement.Leave, Test: placement.TestNodeSelector},
		{Outcome: placement.Leave, Test: placement.TestNodeAffinity},
		{Outcome: placement.Leave, Test: placement.TestNodeAffinity, Field: true},
	} {
		if reached[want] < 10 {
			t.Errorf("%v by %v (field %v): %d of 3000 cases, want 10", want.Outcome, want.Test, want.Field, reached[want])
		}
	}
	if invalid < 200 || invalid > 2000 {
		t.Errorf("%d of 3000 templates are invalid", invalid)
	}
}

// TestTermsReachEverything: of the terms that TestValidateAgreesWithHelpers draws the helpers drop some, and keep some that have
// mistakes.
func TestTermsReachEverything(t *testing.T) {
	dropped, kept := 0, 0
	for seed := range 1000 {
		found := mistakesIn([]corev1.NodeSelectorTerm{termGen().Example(seed)})[0]
		if found.fatal > 0 {
			dropped++
		} else if found.harmless > 0 {
			kept++
		}
	}
	if dropped < 10 || kept < 10 {
		t.Errorf("of 1000 terms %d are dropped, and %d kept that have harmless mistakes", dropped, kept)
	}
}

// TestEvaluatePropertyRejects shows that the property can fail: each planted bug is found.
func TestEvaluatePropertyRejects(t *testing.T) {
	// after changes the verdict, before the template or the node.
	after := func(change func(*placement.Verdict, *corev1.Node)) evaluator {
		return func(template *corev1.PodTemplateSpec, node *corev1.Node) placement.Verdict {
			verdict := compiled(template, node)
			change(&verdict, node)
			return verdict
		}
	}
	before := func(change func(*corev1.PodTemplateSpec, *corev1.Node)) evaluator {
		return func(template *corev1.PodTemplateSpec, node *corev1.Node) placement.Verdict {
			template, node = template.DeepCopy(), node.DeepCopy()
			change(template, node)
			return compiled(template, node)
		}
	}
	onTerms := func(change func([]corev1.NodeSelectorTerm) []corev1.NodeSelectorTerm) evaluator {
		return before(func(template *corev1.PodTemplateSpec, _ *corev1.Node) {
			if selector := termsOf(template); selector != nil {
				selector.NodeSelectorTerms = change(selector.NodeSelectorTerms)
			}
		})
	}
	onExpressions := func(change func(*corev1.NodeSelectorRequirement)) evaluator {
		return onTerms(func(terms []corev1.NodeSelectorTerm) []corev1.NodeSelectorTerm {
			for i := range terms {
				for j := range terms[i].MatchExpressions {
					change(&terms[i].MatchExpressions[j])
				}
			}
			return terms
		})
	}
	mutants := []struct {
		name, why string
		evaluate  evaluator
	}{
		{"nodeName ignored", "P2", before(func(template *corev1.PodTemplateSpec, _ *corev1.Node) {
			template.Spec.NodeName = ""
		})},
		{"nodeSelector ignored", "P2", before(func(template *corev1.PodTemplateSpec, _ *corev1.Node) {
			template.Spec.NodeSelector = nil
		})},
		{"missing label equals empty value", "P2", before(func(template *corev1.PodTemplateSpec, node *corev1.Node) {
			for key, value := range template.Spec.NodeSelector {
				if _, found := node.Labels[key]; !found && value == "" {
					delete(template.Spec.NodeSelector, key)
				}
			}
		})},
		{"first term only", "P4: terms are ORed", onTerms(func(terms []corev1.NodeSelectorTerm) []corev1.NodeSelectorTerm {
			return terms[:min(len(terms), 1)]
		})},
		{"terms ANDed", "P4: terms are ORed", onTerms(func(terms []corev1.NodeSelectorTerm) []corev1.NodeSelectorTerm {
			var all corev1.NodeSelectorTerm
			for _, term := range terms {
				all.MatchExpressions = append(all.MatchExpressions, term.MatchExpressions...)
				all.MatchFields = append(all.MatchFields, term.MatchFields...)
			}
			return []corev1.NodeSelectorTerm{all}
		})},
		{"empty term matches", "P4", onTerms(func(terms []corev1.NodeSelectorTerm) []corev1.NodeSelectorTerm {
			for i := range terms {
				if len(terms[i].MatchExpressions)+len(terms[i].MatchFields) == 0 {
					terms[i].MatchExpressions = []corev1.NodeSelectorRequirement{
						{Key: "absent", Operator: corev1.NodeSelectorOpDoesNotExist},
					}
				}
			}
			return terms
		})},
		{"an invalid term spoils the others", "P4", onTerms(func(terms []corev1.NodeSelectorTerm) []corev1.NodeSelectorTerm {
			for _, term := range terms {
				if len(parseErrors(term)) > 0 {
					return nil
				}
			}
			return terms
		})},
		{"an invalid requirement is skipped", "P4: the whole term matches nothing", onTerms(
			func(terms []corev1.NodeSelectorTerm) []corev1.NodeSelectorTerm {
				for i := range terms {
					var valid []corev1.NodeSelectorRequirement
					for _, expression := range terms[i].MatchExpressions {
						one := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{expression}}
						if len(parseErrors(one)) == 0 {
							valid = append(valid, expression)
						}
					}
					terms[i].MatchExpressions = valid
				}
				return terms
			})},
		{"matchFields ignored", "P4", onTerms(func(terms []corev1.NodeSelectorTerm) []corev1.NodeSelectorTerm {
			for i := range terms {
				terms[i].MatchFields = nil
			}
			return terms
		})},
		{"Gt includes the bound", "7 is not above 7", onExpressions(func(expression *corev1.NodeSelectorRequirement) {
			if expression.Operator == corev1.NodeSelectorOpGt && slices.Equal(expression.Values, []string{"8"}) {
				expression.Values[0] = "7"
			}
		})},
		{"last value forgotten", "In and NotIn look at all values", onExpressions(func(expression *corev1.NodeSelectorRequirement) {
			if len(expression.Values) > 1 {
				expression.Values = expression.Values[:len(expression.Values)-1]
			}
		})},
		{"host network ignored", "P1", before(func(template *corev1.PodTemplateSpec, _ *corev1.Node) {
			template.Spec.HostNetwork = false
		})},
		{"own tolerations ignored", "P1", before(func(template *corev1.PodTemplateSpec, _ *corev1.Node) {
			template.Spec.Tolerations = nil
		})},
		{"Gt tolerates", "the gate is off", before(func(template *corev1.PodTemplateSpec, _ *corev1.Node) {
			for i := range template.Spec.Tolerations {
				if template.Spec.Tolerations[i].Operator == corev1.TolerationOpGt {
					template.Spec.Tolerations[i].Operator = corev1.TolerationOpExists
				}
			}
		})},
		{"PreferNoSchedule counts", "P2", before(func(_ *corev1.PodTemplateSpec, node *corev1.Node) {
			for i := range node.Spec.Taints {
				if node.Spec.Taints[i].Effect == corev1.TaintEffectPreferNoSchedule {
					node.Spec.Taints[i].Effect = corev1.TaintEffectNoSchedule
				}
			}
		})},
		{"cordoned is left", "spec.unschedulable without the taint counts for nothing", after(
			func(verdict *placement.Verdict, node *corev1.Node) {
				if node.Spec.Unschedulable {
					verdict.Outcome = placement.Leave
				}
			})},
		{"keep becomes leave", "P3", after(func(verdict *placement.Verdict, _ *corev1.Node) {
			if verdict.Outcome == placement.Keep {
				verdict.Outcome = placement.Leave
			}
		})},
		{"NoExecute keeps", "P3", after(func(verdict *placement.Verdict, _ *corev1.Node) {
			if verdict.Test == placement.TestTaint {
				verdict.Outcome = placement.Keep
			}
		})},
		{"wrong selector keeps", "P3: only taints let a pod stay", after(func(verdict *placement.Verdict, _ *corev1.Node) {
			if verdict.Test == placement.TestNodeSelector {
				verdict.Outcome = placement.Keep
			}
		})},
		{"reason lost", "P5", after(func(verdict *placement.Verdict, _ *corev1.Node) { verdict.Key = "" })},
	}
	for _, mutant := range mutants {
		t.Run(mutant.name, func(t *testing.T) {
			if mutant.why == "" {
				t.Fatal("a mutant needs a why")
			}
			for seed := range 20_000 {
				if disagreement(mutant.evaluate, templateGen().Example(seed), nodeGen().Example(seed+1)) != "" {
					return
				}
			}
			t.Errorf("the property accepts the bug: %s", mutant.why)
		})
	}
}
