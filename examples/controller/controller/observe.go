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
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
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

// observe reads the cluster from the caches. The planner does not write to the objects, so they need not be copied; and as they
// are the very objects of the caches, it tells by their addresses which of them it has read before.
func (r *Reconciler) observe(ctx context.Context, s *set) (sight, error) {
	namespace := s.object.GetNamespace()
	nodes, err := cached(ctx, r.Cache, "", &corev1.Node{})
	if err != nil {
		return sight{}, err
	}
	pods, err := cached(ctx, r.Cache, namespace, &corev1.Pod{})
	if err != nil {
		return sight{}, err
	}
	revisions, err := cached(ctx, r.Cache, namespace, &appsv1.ControllerRevision{})
	if err != nil {
		return sight{}, err
	}
	seen := sight{Snapshot: rollout.Snapshot{
		Now: r.Clock.Now(), Memory: *s.memory, Reading: s.reading, Nodes: nodes, Pods: withoutPulls(pods), Revisions: revisions,
	}}
	s.mutex.Lock()
	seen.InFlight, _ = s.tracker.Observe(seen.Now, pods, revisions)
	s.mutex.Unlock()
	err = r.observePulls(ctx, s, &seen, pods)
	return seen, err
}

// cached lists the objects of the kind of one of them in the namespace, or in all of them without one. A cache.Reader would copy
// each object, to another address every time.
func cached[T client.Object](ctx context.Context, caches cache.Informers, namespace string, one T) ([]T, error) {
	informer, err := caches.GetInformer(ctx, one)
	if err != nil {
		return nil, err
	}
	shared, ok := informer.(toolscache.SharedIndexInformer)
	if !ok { // as that of a cache of some namespaces, or of metadata only
		return nil, fmt.Errorf("the cache of %T has no list of pointers: right is one of whole objects in all namespaces", one)
	}
	var objects []T
	err = toolscache.ListAllByNamespace(shared.GetIndexer(), namespace, labels.Everything(), func(object any) {
		if object, ok := object.(T); ok {
			objects = append(objects, object)
		}
	})
	return objects, err
}

// plan makes a plan with the pods and revisions that belong to the set, and adopts and releases objects as their labels require.
// Afterwards seen holds those that belong to it. The error notOurs is about objects that could not be adopted or released: there
// is a plan without them.
func (r *Reconciler) plan(ctx context.Context, s *set, seen *sight) (plan rollout.Plan, notOurs, _ error) {
	claimed, err := r.claimAndPlan(s, seen.Snapshot)
	if err != nil {
		return rollout.Plan{}, nil, err
	}
	others, notOurs, err := r.own(ctx, s, &claimed.Pods, &claimed.Revisions)
	if err != nil {
		return rollout.Plan{}, nil, err
	}
	if len(others) > 0 {
		isOther := func(object client.Object) bool { return others[object.GetUID()] }
		seen.Pods = slices.DeleteFunc(seen.Pods, func(p *corev1.Pod) bool { return isOther(p) })
		seen.Revisions = slices.DeleteFunc(seen.Revisions, func(a *appsv1.ControllerRevision) bool { return isOther(a) })
		if claimed, err = r.claimAndPlan(s, seen.Snapshot); err != nil {
			return rollout.Plan{}, nil, err
		}
	}
	seen.Pods, seen.Revisions = claimed.Pods.Pods, claimed.Revisions.Revisions
	if r.Verify {
		if violations := s.verifier.Plan(s.spec, seen.Snapshot, &claimed.Plan); len(violations) > 0 {
			return rollout.Plan{}, nil, r.notPlanned(s, fmt.Errorf("the plan is wrong: %v", violations))
		}
	}
	return claimed.Plan, notOurs, nil
}

func (r *Reconciler) claimAndPlan(s *set, snapshot rollout.Snapshot) (rollout.Claimed, error) {
	begun := time.Now()
	claimed, err := s.planner.ClaimAndPlan(snapshot)
	planSeconds.WithLabelValues(s.labels()...).Observe(time.Since(begun).Seconds())
	if err != nil {
		return claimed, r.notPlanned(s, err)
	}
	return claimed, nil
}

func (r *Reconciler) notPlanned(s *set, err error) error {
	r.warn(s, nil, "NotPlanned", "Plan", err)
	return fmt.Errorf("nothing is done: %w", err)
}

// own writes controller references. A set that is being deleted must adopt nothing, so before an adoption the set is read once
// more, from the API server instead of the cache. An object whose adoption the API server refuses for good does not belong to
// the set: it is one of the others, by UID, and the error refused names it. It may also be unknown whether an object belongs to
// the set, because another client was faster, the API server was overloaded or the answer was lost. Then there is no plan,
// because the plan could add a pod beside one that belongs to the set after all.
func (r *Reconciler) own(
	ctx context.Context, s *set, pods *rollout.Claims, revisions *rollout.RevisionClaims,
) (others map[types.UID]bool, refused, _ error) {
	if len(pods.Adopt)+len(revisions.Adopt) > 0 {
		live := r.Kind.New()
		if err := r.Live.Get(ctx, s.name(), live); err != nil {
			return nil, nil, err
		}
		if live.GetUID() != s.object.GetUID() || live.GetDeletionTimestamp() != nil {
			return nil, nil, fmt.Errorf("%s is going, or another one by now: it adopts nothing", s.name())
		}
	}
	e := r.execution(s)
	others = map[types.UID]bool{}
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
	return others, refused, err
}

// isRefused reports whether the API server would refuse the request the next time, too: for missing rights, or by an admission
// policy or a webhook.
func isRefused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)
}
