package placement_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/placement"
)

// overrideInput is what a property of overrides is about: the set ns/set, its template and overrides, and nodes.
type overrideInput struct {
	template  *corev1.PodTemplateSpec
	overrides []placement.Override
	nodes     []*corev1.Node
}

// overrideEvaluator is anything that evaluates overrides: the library, a planted bug.
type overrideEvaluator func(template *corev1.PodTemplateSpec, overrides []placement.Override, node *corev1.Node) placement.Overridden

// compiledOverrides returns the code under test. Its errors are judged by other tests.
func compiledOverrides(template *corev1.PodTemplateSpec, overrides []placement.Override, node *corev1.Node) placement.Overridden {
	compiled, _ := placement.CompileOverrides("ns", "set", template, overrides)
	return compiled.Evaluate(node)
}

// malformedTexts are annotations that cannot be read. All others that are generated are JSON resources.
var malformedTexts = []string{
	"", "{", "1", "[]", `{"limit":{}}`, `{"limits":{"cpu":"1e-30000000"}}`, `{"Limits":{"cpu":"1","cpu":"x"}}`,
	`{"limits":{"cpu":"1"},"requests":{"cpu":"2"}}`, `{"limits":{"pods":"1"}}`, `{"limits":{"cpu":"-1"}}`,
}

// oddTexts can be read, as encoding/json does.
var oddTexts = []string{
	"null", `{"Limits":{"cpu":"3"}}`, `{"LIMITS":{"cpu":"3"},"limits":{"memory":"1Gi"}}`, `{"limits":{"cpu":"1","cpu":"2"}}`,
	`{"requests":null,"note":[{}]}`, `{"limits":{"cpu":null}}`, `{"limits":{"cpu":"1"},"limits":null}`,
}

// overrideOracle decides container by container, looking at everything each time.
func overrideOracle(in overrideInput, node *corev1.Node) placement.Overridden {
	var result placement.Overridden
	for _, container := range append(slices.Clone(in.template.Spec.InitContainers), in.template.Spec.Containers...) {
		var matching []placement.Override
		for _, override := range in.overrides {
			resources, has := override.Containers[container.Name]
			selector, err := metav1.LabelSelectorAsSelector(&override.NodeSelector)
			if has && err == nil && selector.Matches(labels.Set(node.Labels)) && oracleTakes(in, override.Name) && !oracleRefuses(resources) {
				matching = append(matching, override)
			}
		}
		// Bubbles the winners up.
		for range matching {
			for i := 0; i+1 < len(matching); i++ {
				a, b := matching[i], matching[i+1]
				if b.Created.After(a.Created) || b.Created.Equal(a.Created) && b.Name > a.Name {
					matching[i], matching[i+1] = b, a
				}
			}
		}
		effective, source := container.Resources, ""
		for i, override := range matching {
			if i == 0 {
				effective, source = override.Containers[container.Name], override.Name
				continue
			}
			result.Conflicts = append(result.Conflicts, placement.Conflict{Container: container.Name, Winner: matching[0].Name, Loser: override.Name})
		}
		if text, ok := node.Annotations["resources.extendeddaemonset.datadoghq.com/ns.set."+container.Name]; ok {
			var resources corev1.ResourceRequirements
			if slices.Contains(malformedTexts, text) {
				result.Malformed = append(result.Malformed, placement.Malformed{Container: container.Name})
			} else if json.Unmarshal([]byte(text), &resources) == nil {
				effective, source = resources, ""
			}
		}
		if !sameAmounts(effective, container.Resources) {
			result.Resources = append(result.Resources, placement.Resources{Container: container.Name, Resources: effective, Source: source})
		}
	}
	return result
}

func oracleTakes(in overrideInput, name string) bool {
	uses := 0
	for _, override := range in.overrides {
		if override.Name == name {
			uses++
		}
	}
	return name != "" && uses == 1
}

func oracleRefuses(resources corev1.ResourceRequirements) bool {
	_, unknown := resources.Limits["pods"]
	return unknown || overcommitted(resources)
}

// overrideDisagreement returns the property of every evaluator: the oracle's effects on each node, and digests that are equal
// exactly where the effects are.
func overrideDisagreement(in overrideInput, evaluate overrideEvaluator) string {
	var got, want []placement.Overridden
	for _, node := range in.nodes {
		got = append(got, evaluate(in.template, in.overrides, node))
		want = append(want, overrideOracle(in, node))
	}
	for i := range got {
		for j := range got[i].Malformed {
			if got[i].Malformed[j].Problem == "" {
				return "a problem is not told"
			}
			got[i].Malformed = slices.Clone(got[i].Malformed)
			got[i].Malformed[j].Problem = ""
		}
		if g, w := sketch(got[i]), sketch(want[i]); !sameResources(got[i], want[i], true) ||
			!equality.Semantic.DeepEqual(got[i].Conflicts, want[i].Conflicts) || !equality.Semantic.DeepEqual(got[i].Malformed, want[i].Malformed) {
			return fmt.Sprintf("node %d: %s, the oracle says %s", i, g, w)
		}
		if (got[i].Digest == "") != (len(want[i].Resources) == 0) {
			return fmt.Sprintf("node %d: digest %q of %d resources", i, got[i].Digest, len(want[i].Resources))
		}
		if same := got[i].Digest == got[0].Digest; same != sameResources(want[i], want[0], false) {
			return fmt.Sprintf("digests %q and %q of %s and %s", got[i].Digest, got[0].Digest, sketch(want[i]), sketch(want[0]))
		}
	}
	return ""
}

// sameResources compares effects by their amounts, and if need be by their sources and spellings.
func sameResources(a, b placement.Overridden, exactly bool) bool {
	return slices.EqualFunc(a.Resources, b.Resources, func(a, b placement.Resources) bool {
		return a.Container == b.Container && sameAmounts(a.Resources, b.Resources) &&
			(!exactly || a.Source == b.Source && equality.Semantic.DeepEqual(a.Resources, b.Resources))
	})
}

func overrideInputGen() *rapid.Generator[overrideInput] {
	return rapid.Custom(func(t *rapid.T) overrideInput {
		in := overrideInput{template: &corev1.PodTemplateSpec{}}
		for _, name := range rapid.SampledFrom([][]string{{"agent"}, {"agent", "trace"}, {"trace", "agent"}}).Draw(t, "containers") {
			in.template.Spec.Containers = append(in.template.Spec.Containers, corev1.Container{Name: name, Resources: resourcesGen(false).Draw(t, name)})
		}
		if rapid.Bool().Draw(t, "init") {
			in.template.Spec.InitContainers = []corev1.Container{{Name: "init", Resources: resourcesGen(false).Draw(t, "init resources")}}
		}
		in.overrides = rapid.SliceOfN(overrideGen(), 0, 4).Draw(t, "overrides")
		for i := range in.overrides {
			if !rarely(t, 20, "same name") {
				in.overrides[i].Name = string("dbca"[i])
			}
		}
		in.nodes = rapid.SliceOfN(overriddenNodeGen(), 1, 3).Draw(t, "nodes")
		return in
	})
}

func overrideGen() *rapid.Generator[placement.Override] {
	return rapid.Custom(func(t *rapid.T) placement.Override {
		override := placement.Override{
			Name:       either(t, 10, []string{"a", "b"}, []string{""}, "name"),
			Created:    time.Date(2026, 1, 1, rapid.IntRange(0, 2).Draw(t, "hour"), 0, 0, 0, time.UTC),
			Containers: map[string]corev1.ResourceRequirements{},
		}
		switch rapid.IntRange(0, 9).Draw(t, "selector") {
		case 0, 1, 2, 3:
		case 4:
			override.NodeSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "zone", Operator: metav1.LabelSelectorOpDoesNotExist}}
		case 5:
			override.NodeSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "zone", Operator: "Bad"}}
		default:
			override.NodeSelector.MatchLabels = map[string]string{"zone": rapid.SampledFrom([]string{"a", "b"}).Draw(t, "zone")}
		}
		for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"agent", "trace", "init", "none"}), rapid.ID).Draw(t, "containers") {
			override.Containers[name] = resourcesGen(rarely(t, 10, "refused")).Draw(t, name)
		}
		return override
	})
}

func overriddenNodeGen() *rapid.Generator[*corev1.Node] {
	return rapid.Custom(func(t *rapid.T) *corev1.Node {
		node := &corev1.Node{}
		if zone := rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "zone"); zone != "" {
			node.Labels = map[string]string{"zone": zone}
		}
		for _, container := range []string{"agent", "trace", "init"} {
			switch rapid.IntRange(0, 5).Draw(t, container) {
			case 0:
				node.Annotations = withEntries(node.Annotations, placement.OverrideAnnotationPrefix+"ns.set."+container, asJSON(resourcesGen(false).Draw(t, "resources")))
			case 1:
				text := rapid.SampledFrom(append(slices.Clone(malformedTexts), oddTexts...)).Draw(t, "text")
				node.Annotations = withEntries(node.Annotations, placement.OverrideAnnotationPrefix+"ns.set."+container, text)
			case 2:
				node.Annotations = withEntries(node.Annotations, placement.OverrideAnnotationPrefix+"ns.other."+container, "{}")
			}
		}
		return node
	})
}

// resourcesGen draws from few amounts, some of them spelt in two ways, so that equal ones meet.
func resourcesGen(refused bool) *rapid.Generator[corev1.ResourceRequirements] {
	return rapid.Custom(func(t *rapid.T) corev1.ResourceRequirements {
		if refused {
			return rapid.SampledFrom([]corev1.ResourceRequirements{amounts("pods", "1"), amounts("cpu", "1", "+cpu", "2")}).Draw(t, "refused")
		}
		return amounts(strings.Fields(rapid.SampledFrom([]string{
			"", "cpu 1", "cpu 1000m", "cpu 1 +cpu 1", "cpu 1 +cpu 500m", "+cpu 1", "cpu 2", "memory 1Ki", "memory 1024", "cpu 1 memory 1Ki", "cpu 0",
		}).Draw(t, "amounts"))...)
	})
}
