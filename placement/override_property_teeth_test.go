//go:build teeth

package placement_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/placement"
)

// TestOverrideGeneratorsReachEverything keeps the property from becoming vacuous.
func TestOverrideGeneratorsReachEverything(t *testing.T) {
	reached := map[string]int{}
	for seed := range 1000 {
		in := overrideInputGen().Example(seed)
		for _, node := range in.nodes {
			got := overrideOracle(in, node)
			if len(got.Resources) == 0 {
				reached["nothing"]++
			}
			reached["conflict"] += len(got.Conflicts)
			reached["malformed"] += len(got.Malformed)
			for _, resources := range got.Resources {
				if resources.Container == "init" {
					reached["init container"]++
				}
				if resources.Source == "" {
					reached["annotation"]++
				} else {
					reached["override"]++
				}
			}
		}
		if len(placement.ValidateOverrides(in.overrides, nil)) > 0 {
			reached["invalid"]++
		}
	}
	for _, what := range []string{"nothing", "conflict", "malformed", "init container", "annotation", "override", "invalid"} {
		if reached[what] < 50 {
			t.Errorf("%s: %d times in 1000 inputs, want 50", what, reached[what])
		}
	}
}

// TestOverridePropertyRejects shows that the property can fail: each planted bug is found.
func TestOverridePropertyRejects(t *testing.T) {
	before := func(change func(*corev1.PodTemplateSpec, []placement.Override, *corev1.Node)) overrideEvaluator {
		return func(template *corev1.PodTemplateSpec, overrides []placement.Override, node *corev1.Node) placement.Overridden {
			template, node = template.DeepCopy(), node.DeepCopy()
			overrides = slices.Clone(overrides)
			for i := range overrides {
				overrides[i].Containers = maps.Clone(overrides[i].Containers)
			}
			change(template, overrides, node)
			return compiledOverrides(template, overrides, node)
		}
	}
	after := func(change func(*placement.Overridden, *corev1.PodTemplateSpec)) overrideEvaluator {
		return func(template *corev1.PodTemplateSpec, overrides []placement.Override, node *corev1.Node) placement.Overridden {
			got := compiledOverrides(template, overrides, node)
			got.Resources, got.Conflicts = slices.Clone(got.Resources), slices.Clone(got.Conflicts)
			change(&got, template)
			return got
		}
	}
	epoch := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	mutants := []struct {
		name, why string
		evaluate  overrideEvaluator
	}{
		{"oldest wins", "P8", before(func(_ *corev1.PodTemplateSpec, overrides []placement.Override, _ *corev1.Node) {
			for i := range overrides {
				overrides[i].Created = epoch.Add(-overrides[i].Created.Sub(epoch))
			}
		})},
		{"age ignored", "P8", before(func(_ *corev1.PodTemplateSpec, overrides []placement.Override, _ *corev1.Node) {
			for i := range overrides {
				overrides[i].Created = epoch
			}
		})},
		{"first in the list wins", "P8: the order of the input means nothing", before(func(_ *corev1.PodTemplateSpec, overrides []placement.Override, _ *corev1.Node) {
			for i := range overrides {
				overrides[i].Created = epoch.Add(-time.Duration(i))
			}
		})},
		{"override beats annotation", "P8", before(func(_ *corev1.PodTemplateSpec, overrides []placement.Override, node *corev1.Node) {
			for _, override := range overrides {
				for container := range override.Containers {
					delete(node.Annotations, placement.OverrideAnnotationPrefix+"ns.set."+container)
				}
			}
		})},
		{"annotations ignored", "P8", before(func(_ *corev1.PodTemplateSpec, _ []placement.Override, node *corev1.Node) { node.Annotations = nil })},
		{"annotation of another set", "P8", before(func(_ *corev1.PodTemplateSpec, _ []placement.Override, node *corev1.Node) {
			for key, text := range node.Annotations {
				node.Annotations[strings.Replace(key, "ns.other.", "ns.set.", 1)] = text
			}
		})},
		{"malformed annotation is an empty one", "P8: what is below it counts", before(func(_ *corev1.PodTemplateSpec, _ []placement.Override, node *corev1.Node) {
			for key, text := range node.Annotations {
				if slices.Contains(malformedTexts, text) {
					node.Annotations[key] = "{}"
				}
			}
		})},
		{"malformed annotation not reported", "P8", after(func(o *placement.Overridden, _ *corev1.PodTemplateSpec) { o.Malformed = nil })},
		{"malformed annotation without a problem", "it must be told", func(template *corev1.PodTemplateSpec, overrides []placement.Override, node *corev1.Node) placement.Overridden {
			got := compiledOverrides(template, overrides, node)
			for i := range got.Malformed {
				got.Malformed[i].Problem = ""
			}
			return got
		}},
		{"conflict not reported", "P8", after(func(o *placement.Overridden, _ *corev1.PodTemplateSpec) { o.Conflicts = nil })},
		{"only the first conflict", "P8", after(func(o *placement.Overridden, _ *corev1.PodTemplateSpec) {
			o.Conflicts = o.Conflicts[:min(len(o.Conflicts), 1)]
		})},
		{"conflict the wrong way round", "P8", after(func(o *placement.Overridden, _ *corev1.PodTemplateSpec) {
			for i, c := range o.Conflicts {
				o.Conflicts[i].Winner, o.Conflicts[i].Loser = c.Loser, c.Winner
			}
		})},
		{"merged into the template's", "P8: whole", after(func(o *placement.Overridden, template *corev1.PodTemplateSpec) {
			for i := range o.Resources {
				for _, container := range template.Spec.Containers {
					if container.Name == o.Resources[i].Container {
						o.Resources[i].Resources = modelMerged(container.Resources, o.Resources[i].Resources)
					}
				}
			}
		})},
		{"init containers left out", "they are containers", before(func(template *corev1.PodTemplateSpec, _ []placement.Override, _ *corev1.Node) {
			template.Spec.InitContainers = nil
		})},
		{"init containers last", "the order of the doc", before(func(template *corev1.PodTemplateSpec, _ []placement.Override, _ *corev1.Node) {
			template.Spec.Containers = append(template.Spec.Containers, template.Spec.InitContainers...)
			template.Spec.InitContainers = nil
		})},
		{"what the template has is an override", "it restarts nothing", before(func(template *corev1.PodTemplateSpec, _ []placement.Override, _ *corev1.Node) {
			for i := range template.Spec.Containers {
				template.Spec.Containers[i].Resources = amounts("example.com/x", "1")
			}
		})},
		{"empty selector picks none", "P8", before(func(_ *corev1.PodTemplateSpec, overrides []placement.Override, _ *corev1.Node) {
			for i := range overrides {
				if s := overrides[i].NodeSelector; len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
					overrides[i].NodeSelector = metav1.LabelSelector{MatchLabels: map[string]string{"no": "node"}}
				}
			}
		})},
		{"selector ignored", "P8", before(func(_ *corev1.PodTemplateSpec, overrides []placement.Override, _ *corev1.Node) {
			for i := range overrides {
				overrides[i].NodeSelector = metav1.LabelSelector{}
			}
		})},
		{"one container at most", "P8", after(func(o *placement.Overridden, _ *corev1.PodTemplateSpec) {
			o.Resources = o.Resources[:min(len(o.Resources), 1)]
			o.Digest = placement.Digest(o.Resources)
		})},
		{"digest of spellings", "1 is 1000m", after(func(o *placement.Overridden, _ *corev1.PodTemplateSpec) {
			if len(o.Resources) > 0 {
				for i := range o.Resources {
					o.Resources[i].Source = ""
				}
				o.Digest = asJSON(o.Resources)
			}
		})},
		{"digest of names", "amounts count", after(func(o *placement.Overridden, _ *corev1.PodTemplateSpec) {
			for _, resources := range o.Resources {
				o.Digest = resources.Container
			}
		})},
		{"digest of sources", "who says it restarts nothing", after(func(o *placement.Overridden, _ *corev1.PodTemplateSpec) {
			for _, resources := range o.Resources {
				o.Digest += resources.Source
			}
		})},
		{"digest of nothing", "P8: none", after(func(o *placement.Overridden, _ *corev1.PodTemplateSpec) { o.Digest += "x" })},
	}
	seen := map[string]bool{}
	for _, mutant := range mutants {
		if mutant.why == "" || seen[mutant.name] {
			t.Fatalf("row %q needs a reason and a name of its own", mutant.name)
		}
		seen[mutant.name] = true
		t.Run(mutant.name, func(t *testing.T) {
			for seed := range 3000 {
				if overrideDisagreement(overrideInputGen().Example(seed), mutant.evaluate) != "" {
					return
				}
			}
			t.Error("the property holds for the mutant")
		})
	}
}
