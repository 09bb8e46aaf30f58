package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daemonplan/daemonplan/rollout"
)

// sight is what the caches show of a set.
type sight struct {
	rollout.Snapshot
	pulls    []attempt
	pullsDue time.Time      // when the first of the pulls should have ended
	reported []*corev1.Node // the nodes without the images that pulls are known to have brought
}

// observe reads the cluster from the caches, and adopts and releases objects as their labels require. The error notOurs is about
// objects that could not be adopted or released. It does not prevent a plan.
func (r *Reconciler) observe(ctx context.Context, s *set) (_ sight, notOurs, _ error) {
	// The planner does not write to the objects and does not keep them, so the objects of the cache need not be copied.
	shared, here := client.UnsafeDisableDeepCopy, client.InNamespace(s.object.GetNamespace())
	var nodes corev1.NodeList
	var pods corev1.PodList
	var revisions appsv1.ControllerRevisionList
	if err := r.Cache.List(ctx, &nodes, shared); err != nil {
		return sight{}, nil, err
	}
	if err := r.Cache.List(ctx, &pods, shared, here); err != nil {
		return sight{}, nil, err
	}
	if err := r.Cache.List(ctx, &revisions, shared, here); err != nil {
		return sight{}, nil, err
	}
	inNamespace := pointers(pods.Items)
	podClaims, err := rollout.Claim(s.spec, withoutPulls(inNamespace))
	if err != nil {
		return sight{}, nil, err
	}
	revisionClaims, err := rollout.ClaimRevisions(s.spec, pointers(revisions.Items))
	if err != nil {
		return sight{}, nil, err
	}
	notOurs, err = r.own(ctx, s, &podClaims, &revisionClaims)
	if err != nil {
		return sight{}, nil, err
	}
	seen := sight{Snapshot: rollout.Snapshot{
		Now: r.Clock.Now(), Memory: *s.memory,
		Nodes: pointers(nodes.Items), Pods: podClaims.Pods, Revisions: revisionClaims.Revisions,
	}}
	s.mutex.Lock()
	seen.InFlight, _ = s.tracker.Observe(seen.Now, inNamespace, pointers(revisions.Items))
	s.mutex.Unlock()
	err = r.observePulls(ctx, s, &seen, inNamespace)
	return seen, notOurs, err
}

func pointers[T any](items []T) []*T {
	out := make([]*T, len(items))
	for i := range items {
		out[i] = &items[i]
	}
	return out
}

// own writes controller references. A set that is being deleted must adopt nothing, so before an adoption the set is read once
// more, from the API server instead of the cache. An object whose adoption the API server refuses for good does not belong to the
// set: it is left out of the claims, and the error refused names it. It may also be unknown whether an object belongs to the set,
// because another client was faster, the API server was overloaded or the answer was lost. Then there is no plan, because the
// plan could add a pod beside one that belongs to the set after all.
func (r *Reconciler) own(
	ctx context.Context, s *set, pods *rollout.Claims, revisions *rollout.RevisionClaims,
) (refused, _ error) {
	if len(pods.Adopt)+len(revisions.Adopt) > 0 {
		live := r.Kind.New()
		if err := r.Live.Get(ctx, s.name(), live); err != nil {
			return nil, err
		}
		if live.GetUID() != s.object.GetUID() || live.GetDeletionTimestamp() != nil {
			return nil, fmt.Errorf("%s is going, or another one by now: it adopts nothing", s.name())
		}
	}
	e := r.execution(s)
	others := map[types.UID]bool{}
	write := func(verb string, object client.Object, patch []byte) error {
		err := client.IgnoreNotFound(r.Patch(ctx, copyOf(object), client.RawPatch(types.MergePatchType, patch)))
		if err = e.judge(verb, object, err); err != nil && !isNormal(err) && isRefused(err) {
			e.mutex.Lock()
			defer e.mutex.Unlock()
			others[object.GetUID()] = true
			refused = errors.Join(refused, err)
			return nil
		}
		return err
	}
	err := errors.Join(
		inParallel(atOnce, pods.Adopt, func(p *corev1.Pod) error {
			return write("AdoptPod", p, rollout.AdoptPatch(s.spec, &p.ObjectMeta))
		}),
		inParallel(atOnce, pods.Release, func(p *corev1.Pod) error {
			return write("ReleasePod", p, rollout.ReleasePatch(s.spec, &p.ObjectMeta))
		}),
		inParallel(atOnce, revisions.Adopt, func(a *appsv1.ControllerRevision) error {
			return write("AdoptRevision", a, rollout.AdoptPatch(s.spec, &a.ObjectMeta))
		}),
		inParallel(atOnce, revisions.Release, func(a *appsv1.ControllerRevision) error {
			return write("ReleaseRevision", a, rollout.ReleasePatch(s.spec, &a.ObjectMeta))
		}),
	)
	pods.Pods = slices.DeleteFunc(pods.Pods, func(p *corev1.Pod) bool { return others[p.UID] })
	revisions.Revisions = slices.DeleteFunc(revisions.Revisions, func(a *appsv1.ControllerRevision) bool { return others[a.UID] })
	return refused, err
}

// isRefused reports whether the API server would refuse the request the next time, too: for missing rights, or by an admission
// policy or a webhook.
func isRefused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)
}
