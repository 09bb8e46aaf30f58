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
	"github.com/daemonplan/daemonplan/rollout/failure"
	"github.com/daemonplan/daemonplan/rollout/manifest"
)

// Kind of the objects that sets are written in.
type Kind interface {
	// New is an object for the cache to fill.
	New() client.Object
	// Selects reports whether a set is written in the object.
	Selects(client.Object) bool
	// Read returns the set, and the memory of its last plan.
	Read(client.Object) (rollout.Spec, rollout.Memory, error)
	// Repairs reports whether this controller replaces pods that are lost. If it does, it also replaces them while the spec is
	// invalid.
	Repairs() bool
	// Restrict removes from a plan what another controller does. It may read the object from the API server.
	Restrict(ctx context.Context, live client.Reader, object client.Object, plan *rollout.Plan) error
	// Write writes into the object what the plan shows, if there is a plan, and what is invalid in its spec, if anything is.
	Write(object client.Object, plan *rollout.Plan, invalid error) error
	// Send sends what was written. It must not change another object of that name, with another UID.
	Send(context.Context, client.Client, client.Object) error
}

// Planned are PlannedDaemonSets. They are cached untyped. With typed objects a single one that cannot be decoded would stop the
// watch for all.
type Planned struct{}

// New returns an object that has only a kind.
func (Planned) New() client.Object {
	return ofKind(v1alpha1.GroupVersion.WithKind(v1alpha1.Kind))
}

func ofKind(kind schema.GroupVersionKind) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	return object
}

// Selects selects all objects.
func (Planned) Selects(client.Object) bool { return true }

// Read fails with all fields that are unknown or of the wrong type. If it dropped a field of a template, the pods would lack that
// field.
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

// typed is the object as the type that New has made.
func typed[T client.Object](object client.Object) T {
	t, _ := object.(T)
	return t
}

// copyOf is a copy of an object of the caches, for a client to write an answer into.
func copyOf(object client.Object) client.Object {
	object, _ = object.DeepCopyObject().(client.Object)
	return object
}

// Repairs is true: this controller replaces pods that are lost.
func (Planned) Repairs() bool { return true }

// Restrict leaves the plan as it is.
func (Planned) Restrict(context.Context, client.Reader, client.Object, *rollout.Plan) error {
	return nil
}

// Write writes into the status.
func (Planned) Write(object client.Object, plan *rollout.Plan, invalid error) error {
	content := typed[*unstructured.Unstructured](object).UnstructuredContent()
	var status v1alpha1.PlannedDaemonSetStatus
	if stored, ok := content["status"].(map[string]any); ok { // a status that cannot be read is replaced
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

// Send sends the status.
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

// These are annotations of the DaemonSets of apps/v1 that this controller rolls out.
const (
	// StrategyAnnotation holds a v1alpha1.UpdateStrategy in JSON. A DaemonSet with it is rolled out by that strategy.
	StrategyAnnotation = "daemonplan.io/update-strategy"
	// StateAnnotation and MemoryAnnotation are written by this controller.
	StateAnnotation  = "daemonplan.io/state"
	MemoryAnnotation = "daemonplan.io/memory"
)

// Annotated are the DaemonSets of apps/v1 with a StrategyAnnotation. Their updateStrategy must be OnDelete. Then the DaemonSet
// controller creates pods, always from the newest template, and writes revisions, but replaces no pod. This controller deletes
// outdated pods, or updates them in place. It also adopts and releases pods and revisions by the selector, as the DaemonSet
// controller does. It does nothing else.
type Annotated struct{}

// New returns an empty DaemonSet.
func (Annotated) New() client.Object { return &appsv1.DaemonSet{} }

// Selects selects DaemonSets with the annotation. It selects an empty one, too, because that is a mistake to report.
func (Annotated) Selects(object client.Object) bool {
	_, annotated := object.GetAnnotations()[StrategyAnnotation]
	return annotated
}

// Read fails if the DaemonSet controller would replace pods too, and on fields that cannot be kept while it creates all pods.
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
	var refused []error // always in the same order, because it is written into the object
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
	if _, found := ds.Annotations[manifest.PolicyAnnotation]; found && strategy.Policy != nil {
		refused = append(refused, fmt.Errorf("metadata.annotations[%s].policy: must be unset with the annotation %s",
			StrategyAnnotation, manifest.PolicyAnnotation))
	}
	policy := spec.Strategy.Policy
	if spec.Strategy = strategy.RolloutStrategy(); strategy.Policy == nil {
		spec.Strategy.Policy = policy
	}
	if failures := spec.Strategy.Policy.Failures; failures != nil && failures.Action == failure.Rollback {
		refused = append(refused, errors.New("policy.failures.action: cannot be Rollback with a DaemonSet, whose controller "+
			"creates all pods at the newest revision, also in the place of those that go back; Pause can be had"))
	}
	if err := errors.Join(refused...); err != nil {
		return rollout.Spec{}, memory, err
	}
	_ = json.Unmarshal([]byte(ds.Annotations[MemoryAnnotation]), &memory) // to plan without a memory is always safe
	memory.CollisionCount = ds.Status.CollisionCount
	return spec, memory, nil
}

// Repairs is false: the DaemonSet controller replaces pods that are lost.
func (Annotated) Repairs() bool { return false }

// Restrict leaves only updates in the plan. It leaves them only if the DaemonSet controller has observed the present template and
// written its revision. While the cache is late, the DaemonSet controller may have made pods of a newer template. Those pods are
// not outdated, so the generation is read from the API server.
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

// Write writes into annotations, because the status belongs to the DaemonSet controller.
func (Annotated) Write(object client.Object, plan *rollout.Plan, invalid error) error {
	annotations := object.GetAnnotations()
	if plan == nil {
		annotations[StateAnnotation] = "Invalid: " + note(invalid.Error())
		return nil
	}
	kept := plan.Memory
	kept.Backoffs = nil // these are of failed pods, which the DaemonSet controller deletes; annotations have room for 256 KiB
	memory, err := json.Marshal(kept)
	annotations[StateAnnotation], annotations[MemoryAnnotation] = summary(plan), string(memory)
	return err
}

// Send sends the annotations.
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
