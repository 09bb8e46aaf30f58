package placement_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/placement"
)

// Terms and overrides of which there are many are not tried one after the other. These properties compare with oracles that do.

func TestManyTermsP4AgreeWithOracle(t *testing.T) {
	for range 10 {
		rapid.Check(t, func(t *rapid.T) {
			if diff := disagreement(compiled, manyTermsGen().Draw(t, "template"), nodeGen().Draw(t, "node")); diff != "" {
				t.Fatalf("P4, P5: verdict (-oracle +got):\n%s", diff)
			}
		})
	}
}

func TestManyOverridesP8AgreeWithOracle(t *testing.T) {
	for range 5 {
		rapid.Check(t, func(t *rapid.T) {
			in := manyOverridesGen().Draw(t, "input")
			if differs := overrideDisagreement(in, compiledOverrides); differs != "" {
				t.Fatal("P8: " + differs)
			}
		})
	}
}

// manyTermsGen draws terms, mostly without mistakes, few of which match a node.
func manyTermsGen() *rapid.Generator[*corev1.PodTemplateSpec] {
	return rapid.Custom(func(t *rapid.T) *corev1.PodTemplateSpec {
		template := &corev1.PodTemplateSpec{}
		template.Spec.Affinity = required(rapid.SliceOfN(termGen(), 2, 14).Draw(t, "terms")...)
		return template
	})
}

// manyOverridesGen draws overrides that pick nodes by one label or several, by one value or several, by name or by what a node
// has not, and nodes with some of these labels, and up to twenty more.
func manyOverridesGen() *rapid.Generator[overrideInput] {
	keys, values := []string{"zone", "pool", corev1.LabelHostname}, []string{"a", "b", "c", ""}
	return rapid.Custom(func(t *rapid.T) overrideInput {
		in := overrideInput{template: agent()}
		for i := range rapid.IntRange(2, 14).Draw(t, "overrides") {
			override := placement.Override{
				Name:       fmt.Sprint(i * 7 % 15),
				Created:    time.Date(2026, 1, 1, rapid.IntRange(0, 2).Draw(t, "hour"), 0, 0, 0, time.UTC),
				Containers: byContainer{"agent": resourcesGen(false).Draw(t, "resources")},
			}
			for _, key := range keys {
				value := rapid.SampledFrom(values).Draw(t, "value")
				expression := metav1.LabelSelectorRequirement{Key: key}
				switch rapid.IntRange(0, 6).Draw(t, key) {
				case 0:
					override.NodeSelector.MatchLabels = withEntries(override.NodeSelector.MatchLabels, key, value)
					continue
				case 1:
					expression.Operator = metav1.LabelSelectorOpIn
					expression.Values = rapid.SliceOfN(rapid.SampledFrom(values), 1, 3).Draw(t, "values")
				case 2:
					expression.Operator, expression.Values = metav1.LabelSelectorOpNotIn, []string{value}
				case 3:
					expression.Operator = metav1.LabelSelectorOpExists
				default:
					continue
				}
				override.NodeSelector.MatchExpressions = append(override.NodeSelector.MatchExpressions, expression)
			}
			in.overrides = append(in.overrides, override)
		}
		for range rapid.IntRange(1, 3).Draw(t, "nodes") {
			node := &corev1.Node{}
			for _, key := range keys {
				if !rarely(t, 4, "without "+key) {
					metav1.SetMetaDataLabel(&node.ObjectMeta, key, rapid.SampledFrom(values).Draw(t, key))
				}
			}
			if rapid.Bool().Draw(t, "more labels") {
				for i := range 4 {
					metav1.SetMetaDataLabel(&node.ObjectMeta, fmt.Sprint("more", i), "a")
				}
			}
			in.nodes = append(in.nodes, node)
		}
		return in
	})
}

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
