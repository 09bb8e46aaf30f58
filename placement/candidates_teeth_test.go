//go:build teeth

package placement_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/placement"
)

// TestManyRejects shows that the properties can fail: each thing that a lookup may get wrong is found.
func TestManyRejects(t *testing.T) {
	named := func(expressions []corev1.NodeSelectorRequirement) bool {
		return slices.ContainsFunc(expressions, func(r corev1.NodeSelectorRequirement) bool { return r.Operator == corev1.NodeSelectorOpIn })
	}
	for _, mutant := range []struct {
		name, why string
		change    func(terms []corev1.NodeSelectorTerm, node *corev1.Node) []corev1.NodeSelectorTerm
	}{
		{"without a value, no candidate", "P4: terms are ORed, all of them", func(terms []corev1.NodeSelectorTerm, _ *corev1.Node) []corev1.NodeSelectorTerm {
			return slices.DeleteFunc(terms, func(term corev1.NodeSelectorTerm) bool {
				return len(term.MatchFields) == 0 && !named(term.MatchExpressions)
			})
		}},
		{"one value each", "a label may have any of them", func(terms []corev1.NodeSelectorTerm, _ *corev1.Node) []corev1.NodeSelectorTerm {
			for i := range terms {
				for j := range terms[i].MatchExpressions {
					if e := &terms[i].MatchExpressions[j]; e.Operator == corev1.NodeSelectorOpIn {
						e.Values = e.Values[:min(len(e.Values), 1)]
					}
				}
			}
			return terms
		}},
		{"candidates match", "a candidate has to meet the rest, too", func(terms []corev1.NodeSelectorTerm, _ *corev1.Node) []corev1.NodeSelectorTerm {
			for i := range terms {
				if named(terms[i].MatchExpressions) {
					terms[i].MatchFields = nil
					terms[i].MatchExpressions = slices.DeleteFunc(terms[i].MatchExpressions, func(r corev1.NodeSelectorRequirement) bool {
						return r.Operator != corev1.NodeSelectorOpIn
					})
				}
			}
			return terms
		}},
		{"without a name, no candidate", "such a node passes every field", func(terms []corev1.NodeSelectorTerm, node *corev1.Node) []corev1.NodeSelectorTerm {
			if node.Name == "" {
				terms = slices.DeleteFunc(terms, func(term corev1.NodeSelectorTerm) bool { return len(term.MatchFields) > 0 })
			}
			return terms
		}},
	} {
		wrong := func(template *corev1.PodTemplateSpec, node *corev1.Node) placement.Verdict {
			template = template.DeepCopy()
			if terms := termsOf(template); len(terms.NodeSelectorTerms) > 1 {
				terms.NodeSelectorTerms = append(terms.NodeSelectorTerms[:1:1], mutant.change(terms.NodeSelectorTerms[1:], node)...)
			}
			return compiled(template, node)
		}
		found := false
		for seed := 0; seed < 3000 && !found; seed++ {
			found = disagreement(wrong, manyTermsGen().Example(seed), nodeGen().Example(seed)) != ""
		}
		if !found {
			t.Errorf("terms, %s: %s, and the property holds", mutant.name, mutant.why)
		}
	}
	for _, mutant := range []struct {
		name, why string
		wrong     overrideEvaluator
	}{
		{"without a value, no candidate", "P8: every override counts", func(template *corev1.PodTemplateSpec, overrides []placement.Override, node *corev1.Node) placement.Overridden {
			return compiledOverrides(template, slices.DeleteFunc(slices.Clone(overrides), func(o placement.Override) bool {
				return len(o.NodeSelector.MatchLabels) == 0 && !slices.ContainsFunc(o.NodeSelector.MatchExpressions,
					func(r metav1.LabelSelectorRequirement) bool { return r.Operator == metav1.LabelSelectorOpIn })
			}), node)
		}},
		{"candidates match", "a candidate has to meet the rest, too", func(template *corev1.PodTemplateSpec, overrides []placement.Override, node *corev1.Node) placement.Overridden {
			overrides = slices.Clone(overrides)
			for i := range overrides {
				if len(overrides[i].NodeSelector.MatchLabels) > 0 {
					overrides[i].NodeSelector.MatchExpressions = nil
				}
			}
			return compiledOverrides(template, overrides, node)
		}},
		{"the first label that is found", "a node has candidates by each of its labels", func(template *corev1.PodTemplateSpec, overrides []placement.Override, node *corev1.Node) placement.Overridden {
			node = node.DeepCopy()
			if _, found := node.Labels["zone"]; found {
				delete(node.Labels, "pool")
			}
			return compiledOverrides(template, overrides, node)
		}},
		{"an override that is found twice", "it is in no conflict with itself", func(template *corev1.PodTemplateSpec, overrides []placement.Override, node *corev1.Node) placement.Overridden {
			got := compiledOverrides(template, overrides, node)
			for _, resources := range got.Resources {
				got.Conflicts = append(got.Conflicts, placement.Conflict{Container: "agent", Winner: resources.Source, Loser: resources.Source})
			}
			return got
		}},
	} {
		found := false
		for seed := 0; seed < 3000 && !found; seed++ {
			found = overrideDisagreement(manyOverridesGen().Example(seed), mutant.wrong) != ""
		}
		if !found {
			t.Errorf("overrides, %s: %s, and the property holds", mutant.name, mutant.why)
		}
	}
}
