package placement_test

import (
	"fmt"
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
