package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daemonplan/daemonplan/examples/controller/api/v1alpha1"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/manifest"
)

// Kind of the objects that sets are written in.
type Kind interface {
	// New is an object for the cache to fill.
	New() client.Object
	// Selects reports whether a set is written in the object.
	Selects(client.Object) bool
	// Read the set, and the memory of its last plan.
	Read(client.Object) (rollout.Spec, rollout.Memory, error)
	// Repairs reports whether pods that are lost are replaced here. Then they are also while the spec is invalid.
	Repairs() bool
	// Restrict takes out of a plan what somebody else does. It may look at the object past the caches.
	Restrict(ctx context.Context, live client.Reader, object client.Object, plan *rollout.Plan) error
	// Write into the object what the plan says, if there is one, and what of its spec is invalid, if anything is.
	Write(object client.Object, plan *rollout.Plan, invalid error) error
	// Send what was written, to the object of that UID and no namesake.
	Send(context.Context, client.Client, client.Object) error
}

// Planned are PlannedDaemonSets. They are cached as they come: of typed ones a single object that cannot be decoded would stop
// the watch for all.
type Planned struct{}

// New has only a kind.
func (Planned) New() client.Object {
	return ofKind(v1alpha1.GroupVersion.WithKind(v1alpha1.Kind))
}

func ofKind(kind schema.GroupVersionKind) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	return object
}

// Selects all.
func (Planned) Selects(client.Object) bool { return true }

// Read fails with all fields that are unknown or of the wrong type: a field of a template that got lost would be missed in pods.
func (Planned) Read(object client.Object) (rollout.Spec, rollout.Memory, error) {
	var set v1alpha1.PlannedDaemonSet
	data, err := json.Marshal(object)
	if err == nil {
		err = manifest.Object{JSON: data}.DecodeStrict(&set)
	}
	if err != nil {
		return rollout.Spec{}, rollout.Memory{}, err
	}
	return set.RolloutSpec(), set.Status.RolloutMemory(), nil
}

// typed is an object of a kind, which New has made.
func typed[T client.Object](object client.Object) T {
	t, _ := object.(T)
	return t
}

// copyOf an object of the caches, for a client to write an answer into.
func copyOf(object client.Object) client.Object {
	object, _ = object.DeepCopyObject().(client.Object)
	return object
}

// Repairs what is lost.
func (Planned) Repairs() bool { return true }

// Restrict leaves the plan as it is.
func (Planned) Restrict(context.Context, client.Reader, client.Object, *rollout.Plan) error {
	return nil
}

// Write into the status.
func (Planned) Write(object client.Object, plan *rollout.Plan, invalid error) error {
	content := typed[*unstructured.Unstructured](object).UnstructuredContent()
	var status v1alpha1.PlannedDaemonSetStatus
	if stored, ok := content["status"].(map[string]any); ok { // what cannot be read is written anew
		_ = runtime.DefaultUnstructuredConverter.FromUnstructured(stored, &status)
	}
	if plan == nil {
		status.Forget()
	} else if err := status.Report(*plan); err != nil {
		return err
	}
	status.Judge(invalid, object.GetGeneration())
	written, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&status)
	content["status"] = written
	return err
}

// Send the status.
func (Planned) Send(ctx context.Context, c client.Client, object client.Object) error {
	data, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": object.GetUID()},
		{"op": "add", "path": "/status", "value": typed[*unstructured.Unstructured](object).Object["status"]},
	})
	if err != nil {
		return err
	}
	return c.Status().Patch(ctx, object, client.RawPatch(types.JSONPatchType, data))
}

// Annotations of the DaemonSets of apps/v1 that this controller rolls out.
const (
	// StrategyAnnotation holds a v1alpha1.UpdateStrategy in JSON, and says that the DaemonSet is to be rolled out so.
	StrategyAnnotation = "daemonplan.io/update-strategy"
	// StateAnnotation and MemoryAnnotation are the controller's.
	StateAnnotation  = "daemonplan.io/state"
	MemoryAnnotation = "daemonplan.io/memory"
)

// Annotated are the DaemonSets of apps/v1 with a StrategyAnnotation. Their updateStrategy has to be OnDelete: then the
// DaemonSet controller creates pods, always of the newest template, writes revisions, and replaces nothing. What is left is to
// delete outdated pods, or update them in place. That, and to adopt and release what the selector says, as the DaemonSet
// controller does, is all that is done here.
type Annotated struct{}

// New is an empty DaemonSet.
func (Annotated) New() client.Object { return &appsv1.DaemonSet{} }

// Selects those with the annotation, also an empty one: that is a mistake to tell about.
func (Annotated) Selects(object client.Object) bool {
	_, annotated := object.GetAnnotations()[StrategyAnnotation]
	return annotated
}

// Read fails if the DaemonSet controller would replace pods too, and on what cannot be promised while it creates all pods.
func (Annotated) Read(object client.Object) (rollout.Spec, rollout.Memory, error) {
	ds := typed[*appsv1.DaemonSet](object)
	var memory rollout.Memory
	var strategy v1alpha1.UpdateStrategy
	if err := (manifest.Object{JSON: []byte(ds.Annotations[StrategyAnnotation])}).DecodeStrict(&strategy); err != nil {
		return rollout.Spec{}, memory, fmt.Errorf("metadata.annotations[%s]: %w", StrategyAnnotation, err)
	}
	spec, err := manifest.FromDaemonSet(ds)
	if err != nil {
		return rollout.Spec{}, memory, err
	}
	var refused []error // in an order of its own, because it is written into the object
	if ds.Spec.UpdateStrategy.Type != appsv1.OnDeleteDaemonSetStrategyType {
		refused = append(refused, fmt.Errorf("spec.updateStrategy.type: must be OnDelete with the annotation %s: "+
			"otherwise two controllers replace the same pods", StrategyAnnotation))
	}
	for _, field := range []struct {
		name string
		set  bool
	}{
		{"maxSurge", strategy.MaxSurge != nil}, {"canary", strategy.Canary != nil}, {"frozen", strategy.Frozen},
		{"holdRevision", strategy.HoldRevision}, {"partitionedScaling", strategy.PartitionedScaling},
	} {
		if field.set {
			refused = append(refused, fmt.Errorf("metadata.annotations[%s].%s: cannot be had with a DaemonSet, "+
				"whose controller creates all pods, at once and at the newest revision", StrategyAnnotation, field.name))
		}
	}
	if err := errors.Join(refused...); err != nil {
		return rollout.Spec{}, memory, err
	}
	spec.Strategy = strategy.RolloutStrategy()
	_ = json.Unmarshal([]byte(ds.Annotations[MemoryAnnotation]), &memory) // none is always safe
	memory.CollisionCount = ds.Status.CollisionCount
	return spec, memory, nil
}

// Repairs nothing: the DaemonSet controller does.
func (Annotated) Repairs() bool { return false }

// Restrict leaves updates, and these only when the DaemonSet controller has seen the template and written its revision. It may
// have seen a newer one, of which it has made pods, while our cache is late: these are not outdated.
func (Annotated) Restrict(ctx context.Context, live client.Reader, object client.Object, plan *rollout.Plan) error {
	ds := typed[*appsv1.DaemonSet](object)
	unwritten := func(a rollout.RevisionAction) bool {
		return a.Verb == rollout.CreateRevision || a.Verb == rollout.RenumberRevision
	}
	seen := ds.Status.ObservedGeneration == ds.Generation && !slices.ContainsFunc(plan.Revisions, unwritten)
	if seen && len(plan.Patches)+len(plan.Deletes) > 0 {
		now := &appsv1.DaemonSet{}
		if err := live.Get(ctx, client.ObjectKeyFromObject(ds), now); err != nil {
			return err
		}
		seen = now.UID == ds.UID && now.Generation == ds.Generation
	}
	if !seen {
		plan.Patches, plan.Pulls, plan.Deletes = nil, nil, nil
	}
	plan.Revisions, plan.Creates = nil, nil
	plan.Patches = slices.DeleteFunc(plan.Patches, func(p rollout.Patch) bool {
		return p.Reason == rollout.ReasonDuplicateRevision
	})
	replaces := []rollout.Reason{rollout.ReasonOutdated, rollout.ReasonOutdatedNotReady, rollout.ReasonReleased}
	plan.Deletes = slices.DeleteFunc(plan.Deletes, func(d rollout.Delete) bool { return !slices.Contains(replaces, d.Reason) })
	return nil
}

// Write into annotations: the status is the DaemonSet controller's.
func (Annotated) Write(object client.Object, plan *rollout.Plan, invalid error) error {
	annotations := object.GetAnnotations()
	if plan == nil {
		annotations[StateAnnotation] = "Invalid: " + note(invalid.Error())
		return nil
	}
	kept := plan.Memory
	kept.Backoffs = nil // of failed pods, which the DaemonSet controller deletes; annotations have room for 256 KiB
	memory, err := json.Marshal(kept)
	annotations[StateAnnotation], annotations[MemoryAnnotation] = summary(plan), string(memory)
	return err
}

// Send the annotations.
func (Annotated) Send(ctx context.Context, c client.Client, object client.Object) error {
	annotations := map[string]string{}
	for _, key := range []string{StateAnnotation, MemoryAnnotation} {
		if value, ok := object.GetAnnotations()[key]; ok {
			annotations[key] = value
		}
	}
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": object.GetUID(), "annotations": annotations}})
	if err != nil {
		return err
	}
	return c.Patch(ctx, object, client.RawPatch(types.MergePatchType, data))
}
