// Package controller runs PlannedDaemonSets: it observes, plans, executes, reports, and comes back when the plan says so.
package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	crcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/daemonplan/daemonplan/examples/controller/api/v1alpha1"
	"github.com/daemonplan/daemonplan/rollout"
)

// soon is when to look again at what the cache does not show yet.
const soon = 200 * time.Millisecond

// Reconciler plans for one PlannedDaemonSet at a time, and does what the plan says.
type Reconciler struct {
	// Client reads from the caches and writes to the API server.
	client.Client
	// Live reads from the API server, past the caches.
	Live client.Reader
	// Events are recorded on the set.
	Events events.EventRecorder
	// Clock tells the planner the time.
	Clock clock.PassiveClock
	// Guard, if there is one, has to agree with a plan before it is executed: see rollout.Verify.
	Guard func(rollout.Spec, rollout.Snapshot, rollout.Plan) error

	// LostAfter is when a request without an answer counts as never received; until then its node waits. 0: the constant
	// LostAfter.
	LostAfter time.Duration

	sets sets
}

// SetupWithManager watches what a plan depends on.
func (r *Reconciler) SetupWithManager(manager ctrl.Manager) error {
	all := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, _ client.Object) []reconcile.Request {
		var list v1alpha1.PlannedDaemonSetList
		if err := r.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "a node has changed, and the sets cannot be listed")
		}
		var requests []reconcile.Request
		for i := range list.Items {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
		return requests
	})
	return ctrl.NewControllerManagedBy(manager).
		For(&v1alpha1.PlannedDaemonSet{}).
		Owns(&corev1.Pod{}).
		Owns(&appsv1.ControllerRevision{}).
		Watches(&corev1.Node{}, all).
		WithOptions(crcontroller.Options{
			// An action that fails for good must not keep what the clock has to do for long.
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](
				5*time.Millisecond, 30*time.Second,
			),
		}).
		Complete(r)
}

// Reconcile is the whole loop. It ends with the instant of the next plan; what fails is tried again with a back-off.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var object v1alpha1.PlannedDaemonSet
	if err := r.Get(ctx, request.NamespacedName, &object); err != nil {
		if apierrors.IsNotFound(err) {
			r.sets.forget(request.NamespacedName)
			forgetMetrics(request.NamespacedName)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if object.DeletionTimestamp != nil { // the garbage collector sees to its pods
		return reconcile.Result{}, nil
	}
	s, before := r.sets.of(&object), object.DeepCopy()
	err := s.compile(&object, v1alpha1.GroupVersion.WithKind(v1alpha1.Kind), object.RolloutSpec(), object.Status.RolloutMemory())
	object.Status.Judge(err, object.Generation)
	if err != nil {
		if unwritten := r.writeStatus(ctx, before, &object); unwritten != nil {
			return reconcile.Result{}, unwritten
		}
		return reconcile.Result{}, reconcile.TerminalError(err) // no later attempt will fare better: what helps is another spec
	}
	now := r.Clock.Now()
	snapshot, err := r.observe(ctx, s, now)
	if apierrors.IsConflict(err) { // the cache is about to show what is right
		return reconcile.Result{RequeueAfter: soon}, nil
	} else if err != nil {
		return reconcile.Result{}, err
	}
	begun := time.Now()
	plan, err := s.planner.Plan(snapshot)
	if err != nil {
		return reconcile.Result{}, err
	}
	planSeconds.WithLabelValues(object.Namespace, object.Name).Observe(time.Since(begun).Seconds())
	if r.Guard != nil {
		if err := r.Guard(s.spec, snapshot, plan); err != nil {
			return reconcile.Result{}, fmt.Errorf("the plan is not executed: %w", err)
		}
	}
	s.remembered, s.failedPulls = &plan.Memory, plan.FailedPulls
	failed := r.execute(ctx, s, plan)
	r.tell(s, plan)
	if err := object.Status.Report(plan); err != nil {
		return reconcile.Result{}, err
	}
	if err := errors.Join(failed, r.writeStatus(ctx, before, &object)); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: until(now, plan.NextWake, s.wake)}, nil
}

func (r *Reconciler) writeStatus(ctx context.Context, before, after *v1alpha1.PlannedDaemonSet) error {
	if equality.Semantic.DeepEqual(before.Status, after.Status) {
		return nil
	}
	return client.IgnoreNotFound(r.Status().Patch(ctx, after, client.MergeFrom(before)))
}

// until is how long it is to the earliest of some instants; zero ones are never. 0: all are.
func until(now time.Time, instants ...time.Time) time.Duration {
	var wait time.Duration
	for _, at := range instants {
		if d := max(at.Sub(now), time.Millisecond); !at.IsZero() && (wait == 0 || d < wait) {
			wait = d
		}
	}
	return wait
}
