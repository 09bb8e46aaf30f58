package manifest_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/internal/conformance"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/manifest"
)

// setting is a value of a manifest, and the same value in a Spec. Absent is the zero value in both.
type setting struct {
	path []string
	of   func(*rollout.Spec) any
}

// settings returns those of an Advanced DaemonSet whose value a Spec has as it is.
func settings() []setting {
	rolling := func(name string) []string { return []string{"spec", "updateStrategy", "rollingUpdate", name} }
	list := []setting{
		{[]string{"apiVersion"}, func(s *rollout.Spec) any { return s.APIVersion }},
		{[]string{"kind"}, func(s *rollout.Spec) any { return s.Kind }},
		{[]string{"metadata", "name"}, func(s *rollout.Spec) any { return s.Name }},
		{[]string{"metadata", "namespace"}, func(s *rollout.Spec) any { return s.Namespace }},
		{[]string{"metadata", "uid"}, func(s *rollout.Spec) any { return s.UID }},
		{[]string{"metadata", "generation"}, func(s *rollout.Spec) any { return s.Generation }},
		{[]string{"spec", "selector"}, func(s *rollout.Spec) any { return s.Selector }},
		{[]string{"spec", "template"}, func(s *rollout.Spec) any { return s.Template }},
		{[]string{"spec", "minReadySeconds"}, func(s *rollout.Spec) any { return s.MinReadySeconds }},
		{[]string{"spec", "revisionHistoryLimit"}, func(s *rollout.Spec) any { return s.RevisionHistoryLimit }},
		{[]string{"spec", "burstReplicas"}, func(s *rollout.Spec) any { return s.Burst }},
		{[]string{"spec", "updateStrategy", "type"}, func(s *rollout.Spec) any { return s.Strategy.Type }},
		{rolling("maxUnavailable"), func(s *rollout.Spec) any { return s.Strategy.MaxUnavailable }},
		{rolling("maxSurge"), func(s *rollout.Spec) any { return s.Strategy.MaxSurge }},
		{rolling("partition"), func(s *rollout.Spec) any { return s.Strategy.Partition }},
		{rolling("selector"), func(s *rollout.Spec) any { return s.Strategy.NodeSelector }},
		{rolling("paused"), func(s *rollout.Spec) any { return s.Strategy.Paused }},
		{rolling("rollingUpdateType"), func(s *rollout.Spec) any {
			return strings.Replace(string(s.Strategy.Method), string(inplace.Recreate), "Standard", 1)
		}},
		{[]string{"spec", "scaleStrategy", "partitionedScaling"}, func(s *rollout.Spec) any { return s.Strategy.PartitionedScaling }},
	}
	for _, hook := range []struct {
		name string
		of   func(*rollout.Spec) *lifecycle.Hook
	}{
		{"preDelete", func(s *rollout.Spec) *lifecycle.Hook { return s.Lifecycle.PreDelete }},
		{"inPlaceUpdate", func(s *rollout.Spec) *lifecycle.Hook { return s.Lifecycle.InPlaceUpdate }},
		{"preNormal", func(s *rollout.Spec) *lifecycle.Hook { return s.Lifecycle.PreNormal }},
	} {
		part := func(field string, of func(lifecycle.Hook) any) {
			list = append(list, setting{[]string{"spec", "lifecycle", hook.name, field}, func(s *rollout.Spec) any {
				if h := hook.of(s); h != nil {
					return of(*h)
				}
				return of(lifecycle.Hook{})
			}})
		}
		part("labelsHandler", func(h lifecycle.Hook) any { return h.Labels })
		part("finalizersHandler", func(h lifecycle.Hook) any { return h.Finalizers })
		part("markPodNotReady", func(h lifecycle.Hook) any { return h.MarkPodNotReady })
	}
	return list
}

// settingsError returns the property: every setting of the object is in the spec, and the spec has no other. The object is
// of v1beta1.
func settingsError(object map[string]any, spec rollout.Spec) error {
	strategy, _ := lookUp(object, []string{"spec", "updateStrategy", "type"}).(string)
	for _, s := range settings() {
		got := s.of(&spec)
		value := lookUp(object, s.path)
		if strategy == "OnDelete" && slices.Contains(s.path, "rollingUpdate") {
			value = nil
		}
		text, err := json.Marshal(value)
		if err != nil {
			return err
		}
		want := reflect.New(reflect.TypeOf(got))
		if err := json.Unmarshal(text, want.Interface()); err != nil {
			return err
		}
		if diff := cmp.Diff(want.Elem().Interface(), got); diff != "" {
			return fmt.Errorf("%s (-manifest +spec):\n%s", strings.Join(s.path, "."), diff)
		}
	}
	return nil
}

// lookUp returns the value at path, nil if there is none.
func lookUp(object any, path []string) any {
	for _, key := range path {
		fields, _ := object.(map[string]any)
		object = fields[key]
	}
	return object
}

// put makes value the one at path.
func put(object map[string]any, path []string, value any) {
	for _, key := range path[:len(path)-1] {
		if object[key] == nil {
			object[key] = make(map[string]any)
		}
		object = object[key].(map[string]any)
	}
	object[path[len(path)-1]] = value
}

// genKruise draws an object of v1beta1 with any of the settings.
func genKruise() *rapid.Generator[map[string]any] {
	word := rapid.StringMatching(`[a-z]{1,4}`)
	values := map[reflect.Type]*rapid.Generator[any]{
		reflect.TypeFor[string]():               word.AsAny(),
		reflect.TypeFor[types.UID]():            word.AsAny(),
		reflect.TypeFor[rollout.StrategyType](): rapid.SampledFrom([]any{"RollingUpdate", "OnDelete", "RollingUpdate"}),
		reflect.TypeFor[bool]():                 rapid.Bool().AsAny(),
		reflect.TypeFor[int32]():                rapid.Int32Range(0, 5).AsAny(),
		reflect.TypeFor[int64]():                rapid.Int64Range(0, 5).AsAny(),
		reflect.TypeFor[*int32]():               rapid.Int32Range(0, 5).AsAny(),
		reflect.TypeFor[*intstr.IntOrString]():  rapid.OneOf(rapid.Int32Range(1, 5).AsAny(), rapid.StringMatching(`[1-9]%`).AsAny()),
		reflect.TypeFor[map[string]string]():    rapid.MapOfN(word, word, 1, 2).AsAny(),
		reflect.TypeFor[[]string]():             rapid.SliceOfN(word, 1, 2).AsAny(),
		reflect.TypeFor[*metav1.LabelSelector](): rapid.Custom(func(t *rapid.T) any {
			return map[string]any{"matchLabels": rapid.MapOfN(word, word, 1, 2).Draw(t, "labels")}
		}),
		reflect.TypeFor[corev1.PodTemplateSpec](): rapid.Custom(func(t *rapid.T) any {
			return map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "a", "image": word.Draw(t, "image")}}}}
		}),
	}
	return rapid.Custom(func(t *rapid.T) map[string]any {
		object := make(map[string]any)
		for _, s := range settings() {
			if name := s.path[len(s.path)-1]; name == "rollingUpdateType" {
				put(object, s.path, rapid.SampledFrom([]string{"", "Standard", "InPlaceIfPossible"}).Draw(t, name))
			} else if rapid.Bool().Draw(t, name) {
				put(object, s.path, values[reflect.TypeOf(s.of(new(rollout.Spec)))].Draw(t, name))
			}
		}
		put(object, []string{"apiVersion"}, beta)
		put(object, []string{"kind"}, "DaemonSet")
		return object
	})
}

// toAlpha is what OpenKruise stores of the object under v1alpha1.
func toAlpha(object map[string]any) {
	object["apiVersion"] = alpha
	if lookUp(object, []string{"spec", "scaleStrategy", "partitionedScaling"}) == true {
		put(object, []string{"metadata", "annotations"}, map[string]any{"daemonset.kruise.io/progressive-create-pod": "true"})
	}
	if spec, ok := object["spec"].(map[string]any); ok {
		delete(spec, "scaleStrategy")
	}
}

func decodeObject(t interface{ Fatal(...any) }, object map[string]any, asYAML bool) manifest.Set {
	marshal := json.Marshal
	if asYAML {
		marshal = yaml.Marshal
	}
	data, err := marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	set, err := manifest.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Unknown) > 0 {
		t.Fatal("unknown fields", set.Unknown)
	}
	return set
}

func TestKruiseSettings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		object := genKruise().Draw(t, "object")
		inBeta := decodeObject(t, object, rapid.Bool().Draw(t, "yaml"))
		if err := settingsError(object, inBeta.Spec); err != nil {
			t.Fatal(err)
		}
		toAlpha(object)
		inAlpha := decodeObject(t, object, false)
		inAlpha.Spec.APIVersion = beta
		if diff := cmp.Diff(inBeta, inAlpha); diff != "" {
			t.Fatalf("the versions mean different things (-v1beta1 +v1alpha1):\n%s", diff)
		}
	})
}

// TestKruiseRecorded decodes what the controller was recorded with.
func TestKruiseRecorded(t *testing.T) {
	for _, file := range []string{"kruise/decisions.jsonl", "kruise/varying.jsonl", "kruise/surprises.jsonl"} {
		t.Run(file, func(t *testing.T) {
			for name, line := range conformance.Lines(t, file) {
				var c struct{ DaemonSet map[string]any }
				if err := json.Unmarshal(line, &c); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if err := settingsError(c.DaemonSet, decodeObject(t, c.DaemonSet, false).Spec); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}
