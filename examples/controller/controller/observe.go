package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daemonplan/daemonplan/rollout"
)

// observe reads the cluster from the caches, and adopts and releases what its labels say.
func (r *Reconciler) observe(ctx context.Context, s *set, now time.Time) (rollout.Snapshot, error) {
	// The planner writes and keeps nothing, so the objects of the cache need not be copied.
	shared := client.UnsafeDisableDeepCopy
	var nodes corev1.NodeList
	var pods corev1.PodList
	var revisions appsv1.ControllerRevisionList
	for _, list := range []client.ObjectList{&nodes, &pods, &revisions} {
		options := []client.ListOption{shared}
		if list != client.ObjectList(&nodes) {
			options = append(options, client.InNamespace(s.object.GetNamespace()))
		}
		if err := r.List(ctx, list, options...); err != nil {
			return rollout.Snapshot{}, err
		}
	}
	podClaims, err := rollout.Claim(s.spec, pointers(pods.Items))
	if err != nil {
		return rollout.Snapshot{}, err
	}
	revisionClaims, err := rollout.ClaimRevisions(s.spec, pointers(revisions.Items))
	if err != nil {
		return rollout.Snapshot{}, err
	}
	if err := r.own(ctx, s, podClaims, revisionClaims); err != nil {
		return rollout.Snapshot{}, err
	}
	inFlight, giveUp := s.requests.observe(now, podClaims.Pods, revisionClaims.Revisions)
	s.wake = giveUp
	return rollout.Snapshot{
		Now: now, Nodes: pointers(nodes.Items), Pods: podClaims.Pods, Revisions: revisionClaims.Revisions,
		InFlight: inFlight, Memory: s.memory(), FailedPulls: s.failedPulls,
	}, nil
}

func pointers[T any](items []T) []*T {
	out := make([]*T, len(items))
	for i := range items {
		out[i] = &items[i]
	}
	return out
}

// own writes controller references: a set that is about to go adopts nothing, so before it adopts it looks at itself once
// more, past the cache.
func (r *Reconciler) own(ctx context.Context, s *set, pods rollout.Claims, revisions rollout.RevisionClaims) error {
	var adopt, release []client.Object
	for _, p := range pods.Adopt {
		adopt = append(adopt, p)
	}
	for _, object := range revisions.Adopt {
		adopt = append(adopt, object)
	}
	for _, p := range pods.Release {
		release = append(release, p)
	}
	for _, object := range revisions.Release {
		release = append(release, object)
	}
	if len(adopt) > 0 {
		live := &metav1.PartialObjectMetadata{}
		live.SetGroupVersionKind(s.kind)
		if err := r.Live.Get(ctx, client.ObjectKeyFromObject(s.object), live); err != nil {
			return err
		}
		if live.GetUID() != s.object.GetUID() || live.GetDeletionTimestamp() != nil {
			return fmt.Errorf("%s is going, or another one by now: it adopts nothing", s.object.GetName())
		}
	}
	for _, object := range adopt {
		owner := metav1.NewControllerRef(s.object, s.kind)
		references := append(append([]metav1.OwnerReference(nil), object.GetOwnerReferences()...), *owner)
		if err := r.refer(ctx, object, references); err != nil {
			return err
		}
	}
	for _, object := range release {
		var references []metav1.OwnerReference
		for _, reference := range object.GetOwnerReferences() {
			if reference.UID != s.object.GetUID() {
				references = append(references, reference)
			}
		}
		if err := r.refer(ctx, object, references); err != nil {
			return err
		}
	}
	return nil
}

// refer replaces the owner references of an object, if nobody has changed it since. A conflict is an error: another set may
// have been faster, and then the object is not to be planned for.
func (r *Reconciler) refer(ctx context.Context, object client.Object, references []metav1.OwnerReference) error {
	kind, err := r.GroupVersionKindFor(object)
	if err != nil {
		return err
	}
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": object.GetUID(), "resourceVersion": object.GetResourceVersion(), "ownerReferences": references,
	}})
	if err != nil {
		return err
	}
	target := &metav1.PartialObjectMetadata{}
	target.SetGroupVersionKind(kind)
	target.SetNamespace(object.GetNamespace())
	target.SetName(object.GetName())
	return client.IgnoreNotFound(r.Patch(ctx, target, client.RawPatch(types.MergePatchType, data)))
}
