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
	"github.com/daemonplan/daemonplan/rollout/verify"
)

// sight is what the caches show of a set.
type sight struct {
	rollout.Snapshot
	pulls    []attempt
	pullsDue time.Time      // when the first of the pulls should have ended
	reported []*corev1.Node // the nodes without the images that pulls are known to have brought
}

// stores are those of the informers, with the objects that a plan reads.
type stores struct{ nodes, pods, revisions toolscache.Indexer }

// openStores finds the stores. The cache itself lists copies, at other addresses each time. An object of a store stays where it
// is until another one takes its place: so the planner and the verifier know which objects they have read before.
func openStores(ctx context.Context, informers cache.Informers) (stores, error) {
	of := func(kind client.Object) (toolscache.Indexer, error) {
		informer, err := informers.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
		if err != nil {
			return nil, err
		}
		shared, ok := informer.(toolscache.SharedIndexInformer)
		if !ok {
			return nil, fmt.Errorf("the cache has no informer of all %T objects: cache.Options must not name namespaces", kind)
		}
		return shared.GetIndexer(), nil
	}
	nodes, err := of(&corev1.Node{})
	pods, err2 := of(&corev1.Pod{})
	revisions, err3 := of(&appsv1.ControllerRevision{})
	return stores{nodes, pods, revisions}, errors.Join(err, err2, err3)
}

// listed are the objects of a store in the namespace, or all of them without one. They are shared, and must not be written to.
func listed[T any](store toolscache.Indexer, namespace string) (objects []T, err error) {
	err = toolscache.ListAllByNamespace(store, namespace, labels.Everything(), func(object any) {
		if object, ok := object.(T); ok {
			objects = append(objects, object)
		}
	})
	return objects, err
}

// observe reads the cluster from the caches.
func (r *Reconciler) observe(ctx context.Context, s *set) (sight, error) {
	nodes, err := listed[*corev1.Node](r.stores.nodes, "")
	all, err2 := listed[*corev1.Pod](r.stores.pods, s.object.GetNamespace())
	revisions, err3 := listed[*appsv1.ControllerRevision](r.stores.revisions, s.object.GetNamespace())
	if err := errors.Join(err, err2, err3); err != nil {
		return sight{}, err
	}
	pods, pulls := apart(all)
	seen := sight{Snapshot: rollout.Snapshot{
		Now: r.Clock.Now(), Nodes: nodes, Pods: pods, Revisions: revisions,
	}.After(s.carry)}
	s.mutex.Lock()
	seen.InFlight, _ = s.tracker.Observe(seen.Now, all, revisions)
	s.mutex.Unlock()
	err = r.observePulls(ctx, s, &seen, pulls)
	return seen, err
}

// plan makes a plan with the pods and revisions that belong to the set, and adopts and releases objects as their labels require.
// The error notOurs is about objects that could not be adopted or released: there is a plan without them.
func (r *Reconciler) plan(ctx context.Context, s *set, seen rollout.Snapshot) (plan rollout.Plan, notOurs, _ error) {
	claimed, err := r.claimAndPlan(s, seen)
	if err != nil {
		return plan, nil, err
	}
	others, notOurs, err := r.own(ctx, s, &claimed.Pods, &claimed.Revisions)
	if err != nil {
		return plan, nil, err
	}
	if len(others) > 0 {
		seen.Pods, seen.Revisions = without(seen.Pods, others), without(seen.Revisions, others)
		if claimed, err = r.claimAndPlan(s, seen); err != nil {
			return plan, nil, err
		}
	}
	if r.Verify {
		if violations := s.verifier.Claimed(s.spec, seen, &claimed); len(violations) > 0 {
			s.carry.Reading, s.verifier = nil, verify.Verifier{} // the next plan trusts nothing that was read before
			return plan, nil, r.notPlanned(s, fmt.Errorf("the plan is wrong: %v", violations))
		}
	}
	return claimed.Plan, notOurs, nil
}

// claimAndPlan keeps what was read, whatever becomes of the plan.
func (r *Reconciler) claimAndPlan(s *set, seen rollout.Snapshot) (rollout.Claimed, error) {
	seen.Reading = s.carry.Reading
	begun := time.Now()
	claimed, err := s.workspace.ClaimAndPlan(s.planner, seen)
	planSeconds.WithLabelValues(s.labels()...).Observe(time.Since(begun).Seconds())
	if err != nil {
		return claimed, r.notPlanned(s, err)
	}
	s.carry.Reading = claimed.Plan.Reading
	return claimed, nil
}

func (r *Reconciler) notPlanned(s *set, err error) error {
	r.warn(s, nil, "NotPlanned", "Plan", err)
	return fmt.Errorf("nothing is done: %w", err)
}

// without are the objects but for those with these UIDs.
func without[T client.Object](objects []T, uids map[types.UID]bool) []T {
	return slices.DeleteFunc(slices.Clone(objects), func(object T) bool { return uids[object.GetUID()] })
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
