package apiserver_test

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/apiserver"
	_ "github.com/daemonplan/daemonplan/internal/fixedseed"
	"github.com/daemonplan/daemonplan/internal/fuzzing"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

type patchFunc func(*corev1.Pod, *rollout.Patch) (*corev1.Pod, error)

// samePatches is the property that patchPod returns what the naive way returns, and does not write to the pod.
func samePatches(t *rapid.T, patchPod patchFunc) {
	pod := patchedPod()
	patch := anyPatch().Draw(t, "patch")
	before := pod.DeepCopy()
	got, err := patchPod(pod, patch)
	if !apiequality.Semantic.DeepEqual(pod, before) {
		t.Fatalf("the pod was written to by %s", patch.Data)
	}
	want, wantErr := naivePatch(pod, patch)
	switch {
	case errors.Is(wantErr, apiserver.ErrConflict) && !errors.Is(err, apiserver.ErrConflict):
		t.Fatalf("%s: got the error %v, want a conflict", patch.Data, err)
	case (err == nil) != (wantErr == nil):
		t.Fatalf("%s %s: got the error %v, want %v", patch.Subresource, patch.Data, err, wantErr)
	case err == nil && !apiequality.Semantic.DeepEqual(got, want):
		t.Fatalf("%s %s: got\n%v\nwant\n%v", patch.Subresource, patch.Data, got, want)
	}
}

func TestPatchIsTheNaiveOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { samePatches(t, apiserver.Patch) })
}

func FuzzPatchIsTheNaiveOne(f *testing.F) {
	fuzzing.Property(f, rapid.MakeFuzz(func(t *rapid.T) { samePatches(t, apiserver.Patch) }))
}

// patchedPod has two containers, an init container, resources, gates and conditions, and instants in whole seconds.
func patchedPod() *corev1.Pod {
	pod := rollouttest.Pod("p", rollouttest.Of(rollouttest.Spec("agent", rollouttest.InPlaceIfPossible(), rollouttest.Requests("cpu", "100m"),
		rollouttest.Limits("memory", "1Gi"))), rollouttest.OnNode("a"), objects.Finalizer("x/y"))
	pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{
		Name: "side", Image: "side:v1", Env: []corev1.EnvVar{{Name: "A", Value: "1"}},
	})
	pod.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "init:v1"}}
	pod.ResourceVersion = "7"
	return pod
}

// object draws an object with up to three of the members. A member is drawn by its generator, or is null.
func object(members map[string]*rapid.Generator[any]) *rapid.Generator[any] {
	keys := slices.Sorted(maps.Keys(members))
	if len(keys) == 0 {
		return rapid.Just[any](map[string]any{})
	}
	return rapid.Custom(func(t *rapid.T) any {
		drawn := map[string]any{}
		for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom(keys), 0, min(3, len(keys)), rapid.ID[string]).Draw(t, "keys") {
			if rapid.IntRange(0, 15).Draw(t, "null") == 0 {
				drawn[key] = nil
			} else {
				drawn[key] = members[key].Draw(t, key)
			}
		}
		return drawn
	})
}

func oneOf(values ...any) *rapid.Generator[any] { return rapid.SampledFrom(values) }

// listOf draws lists of objects with distinct keys.
func listOf(key string, keys []any, members map[string]*rapid.Generator[any]) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		list := []any{}
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(keys), 0, len(keys), rapid.ID[any]).Draw(t, "names") {
			element := map[string]any{key: name}
			if drawn, ok := object(members).Draw(t, "element").(map[string]any); ok {
				maps.Copy(element, drawn)
			}
			list = append(list, element)
		}
		return list
	})
}

func anyPatch() *rapid.Generator[*rollout.Patch] {
	amounts := object(map[string]*rapid.Generator[any]{
		"cpu": oneOf("100m", "200m", 1, "x"), "memory": oneOf("1Gi", "2Gi"), "ephemeral-storage": oneOf("1Gi"),
	})
	container := map[string]*rapid.Generator[any]{
		"image": oneOf("agent:v2", "side:v1", "", 7),
		"env":   listOf("name", []any{"A", "B"}, map[string]*rapid.Generator[any]{"value": oneOf("1", "2")}),
		"resources": object(map[string]*rapid.Generator[any]{
			"requests": amounts, "limits": amounts,
		}),
		"unknown": oneOf("x"),
	}
	onlyImage := map[string]*rapid.Generator[any]{"image": container["image"]}
	metadata := object(map[string]*rapid.Generator[any]{
		"labels":          object(map[string]*rapid.Generator[any]{"app": oneOf("x", "y"), "x": oneOf("y", 7)}),
		"annotations":     object(map[string]*rapid.Generator[any]{"a": oneOf("x"), "b": oneOf("y")}),
		"finalizers":      oneOf([]any{}, []any{"x/y"}, []any{"x/z", "x/y"}, []any{"x/z"}, "x"),
		"ownerReferences": listOf("uid", []any{"u", "v"}, map[string]*rapid.Generator[any]{"name": oneOf("n")}),
		"uid":             oneOf("pod-p", "", "other"),
		"resourceVersion": oneOf("7", "6", ""),
		"name":            oneOf("p", "q"),
		"generation":      oneOf(7),
		"unknown":         oneOf("x"),
	})
	containers := rapid.OneOf(
		listOf("name", []any{"main", "side"}, onlyImage), listOf("name", []any{"main", "side"}, onlyImage),
		listOf("name", []any{"main", "side", "new"}, container),
	)
	spec := object(map[string]*rapid.Generator[any]{
		"containers":     containers,
		"initContainers": listOf("name", []any{"init"}, onlyImage),
		"nodeName":       oneOf("a", "b"),
		"readinessGates": listOf("conditionType", []any{"x", "InPlaceUpdateReady"}, nil),
	})
	status := object(map[string]*rapid.Generator[any]{
		"phase": oneOf("Failed", "Running"), "reason": oneOf("x"), "startTime": oneOf("2026-01-01T12:00:00Z", "x"),
		"conditions": listOf("type", []any{"Ready", "InPlaceUpdateReady", "x", "y"}, map[string]*rapid.Generator[any]{
			"status": oneOf("True", "False"), "reason": oneOf("x"), "lastTransitionTime": oneOf("2026-01-01T12:00:00Z"),
		}),
		"containerStatuses": oneOf([]any{}, []any{map[string]any{"name": "main", "image": "x"}}),
	})
	body := object(map[string]*rapid.Generator[any]{
		"metadata": metadata, "spec": spec, "status": status, "kind": oneOf("Pod"), "unknown": oneOf("x"),
	})
	return rapid.Custom(func(t *rapid.T) *rollout.Patch {
		data, err := json.Marshal(body.Draw(t, "body"))
		if err != nil {
			t.Fatal(err)
		}
		return &rollout.Patch{
			Type: rapid.SampledFrom([]types.PatchType{
				types.StrategicMergePatchType, types.StrategicMergePatchType, types.MergePatchType,
			}).Draw(t, "type"),
			Subresource: rapid.SampledFrom([]string{"", "", "status", "resize"}).Draw(t, "subresource"),
			Data:        data,
		}
	})
}
