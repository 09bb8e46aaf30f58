package placement_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/fuzzing"
	"github.com/daemonplan/daemonplan/placement"
)

func propertyOverrides(t *rapid.T) {
	in := overrideInputGen().Draw(t, "input")
	before := asJSON([]any{in.template, in.overrides, in.nodes})
	if differs := overrideDisagreement(in, compiledOverrides); differs != "" {
		t.Fatal(differs)
	}
	overrides, _ := placement.CompileOverrides("ns", "set", in.template, in.overrides)
	shuffled, _ := placement.CompileOverrides("ns", "set", in.template, rapid.Permutation(in.overrides).Draw(t, "shuffled"))
	evaluator := overrides.Evaluator()
	for range 2 {
		for _, node := range in.nodes {
			want := overrides.Evaluate(node)
			if diff := cmp.Diff(want, evaluator.Evaluate(node)); diff != "" {
				t.Fatalf("what the evaluator remembers (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want, shuffled.Evaluate(node)); diff != "" {
				t.Fatalf("in another order (-want +got):\n%s", diff)
			}
			pod := placement.Pod(in.template, "n")
			want.Apply(pod)
			if got := pod.Annotations[placement.DigestAnnotation]; got != want.Digest {
				t.Fatalf("a new pod has the digest %q, not %q", got, want.Digest)
			}
			if _, has := pod.Annotations[placement.DigestAnnotation]; has != (want.Digest != "") {
				t.Fatal("a new pod has an empty digest")
			}
			given := map[string]corev1.ResourceRequirements{}
			for _, container := range append(slices.Clone(pod.Spec.InitContainers), pod.Spec.Containers...) {
				given[container.Name] = container.Resources
			}
			for _, container := range append(slices.Clone(in.template.Spec.InitContainers), in.template.Spec.Containers...) {
				wanted := container.Resources
				for _, resources := range want.Resources {
					if resources.Container == container.Name {
						wanted = resources.Resources
					}
				}
				if diff := cmp.Diff(wanted, given[container.Name]); diff != "" {
					t.Fatalf("%s of a new pod (-want +got):\n%s", container.Name, diff)
				}
			}
		}
	}
	if diff := cmp.Diff(before, asJSON([]any{in.template, in.overrides, in.nodes})); diff != "" {
		t.Fatalf("the input was written (-before +after):\n%s", diff)
	}
}

func TestOverridesAgreeWithOracle(t *testing.T) {
	for range 10 {
		rapid.Check(t, propertyOverrides)
	}
}

func FuzzOverrides(f *testing.F) { fuzzing.Property(f, rapid.MakeFuzz(propertyOverrides)) }

// FuzzOverrideAnnotation: whatever an annotation says, it is either reported, or obeyed as a JSON decoder of Kubernetes
// reads it, and gives resources that ValidateOverrides takes.
func FuzzOverrideAnnotation(f *testing.F) {
	for _, text := range append(slices.Clone(malformedTexts), oddTexts...) {
		f.Add(text)
	}
	f.Add(`{"limits":{"cpu":"1.5","memory":1e3},"requests":{"cpu":"500m"},"claims":[{"name":"gpu","request":"r"}]}`)
	f.Add(`{"limits":{"example.com/gpu":"2","hugepages-2Mi":"4Mi"}}`)
	f.Add(`{"limits":{"cpu":"1e-9999","memory":1E99999,"cp\u0075":"9e99"}}`)
	f.Add(`{"requests":{"\ud800":"1"},"limits":{"a/b":` + strings.Repeat("9", 120) + `}}`)
	f.Fuzz(func(t *testing.T, text string) {
		overrides, err := placement.CompileOverrides("ns", "set", agent(), nil)
		if err != nil {
			t.Fatal(err)
		}
		got := overrides.Evaluate(annotatedNode("agent", text))
		if len(got.Malformed) > 0 {
			if len(got.Resources) > 0 || got.Digest != "" || got.Malformed[0].Problem == "" {
				t.Errorf("malformed, and yet: %s", sketch(got))
			}
			return
		}
		var plain corev1.ResourceRequirements
		if err := json.Unmarshal([]byte(text), &plain); err != nil {
			t.Fatalf("taken, but a decoder says: %v", err)
		}
		if len(got.Resources) == 0 {
			got.Resources = []placement.Resources{{Container: "agent", Resources: agent().Spec.Containers[0].Resources}}
		}
		if !sameAmounts(plain, got.Resources[0].Resources) {
			t.Errorf("%s, a decoder says %s", sketch(got), asJSON(plain))
		}
		again, err := placement.CompileOverrides("ns", "set", agent(), []placement.Override{{Name: "a", Containers: byContainer{"agent": plain}}})
		if err != nil {
			t.Fatalf("taken, but as an override: %v", err)
		}
		if digest := again.Evaluate(annotatedNode()).Digest; digest != overrides.Evaluate(annotatedNode("agent", text)).Digest {
			t.Errorf("as an override it has the digest %q", digest)
		}
	})
}
