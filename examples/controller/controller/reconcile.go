// Package controller runs daemon sets: for each set it observes, plans, executes, reports, and waits for the instant that the
// plan names.
package controller

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/daemonplan/daemonplan/rollout"
)

// soon is how long to wait after an error that a healthy cluster returns now and then, such as a conflict.
const soon = 500 * time.Millisecond

// Reconciler plans for one set at a time, and does what the plan says.
type Reconciler struct {
	// Client writes to the API server.
	client.Client
	// Cache reads from the caches, which must not be limited to namespaces, and Live from the API server. A manager's client is
	// neither: it reads untyped objects from the API server, and all others from the caches.
	Cache cache.Cache
	Live  client.Reader
	// Events are recorded on the set.
	Events events.EventRecorder
	// Clock tells the planner the time.
	Clock clock.PassiveClock
	// Kind of the objects that sets are written in: [Planned] or [Annotated].
	Kind Kind
	// Verify reports whether a verify.Verifier must agree with a plan before the plan is executed.
	Verify bool
	// ImagePullJobs reports whether OpenKruise pulls the images, by ImagePullJobs, and not pods. The cluster must have
	// ImagePullJobs.
	ImagePullJobs bool
	// LostAfter is that of inflight.Tracker. Until then the node of a request without an answer waits.
	LostAfter time.Duration

	stores stores
	sets   sets
}

// Reconcile makes and executes one plan. It returns the instant of the next plan. What fails is tried again with a back-off.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	object := r.Kind.New()
	err := r.Cache.Get(ctx, request.NamespacedName, object)
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, err
	}
	if err != nil || object.GetDeletionTimestamp() != nil || !r.Kind.Selects(object) { // the garbage collector deletes its pods
		if known := r.sets.forget(request.NamespacedName); known != nil {
			forgetMetrics(known)
		}
		return reconcile.Result{}, nil
	}
	kind, err := r.GroupVersionKindFor(object)
	if err != nil {
		return reconcile.Result{}, err
	}
	s := r.sets.of(object, kind.Kind)
	spec, stored, invalid := r.Kind.Read(object)
	if invalid == nil {
		invalid = r.sets.compile(s, spec)
	}
	r.tellValid(s, invalid)
	if invalid != nil {
		if s.planner == nil || !r.Kind.Repairs() {
			forgetNodes(s)
			if unsaid := r.report(ctx, s, nil, invalid); unsaid != nil {
				return again(unsaid)
			}
			return reconcile.Result{}, reconcile.TerminalError(invalid) // only another spec helps, not another attempt
		}
		if err := r.sets.pause(s); err != nil {
			return reconcile.Result{}, err
		}
	}
	if !s.resumed {
		s.carry.Memory, s.resumed = stored, true
	}
	seen, err := r.observe(ctx, s)
	if err != nil {
		return again(err)
	}
	plan, notOurs, err := r.plan(ctx, s, seen.Snapshot)
	if err != nil {
		return again(err)
	}
	s.carry = plan.Carry()
	if err := r.Kind.Restrict(ctx, r.Live, object, &plan); err != nil {
		return again(err)
	}
	failed := errors.Join(notOurs, r.execute(ctx, s, &plan), r.tidyPulls(ctx, s, seen, &plan))
	r.tell(s, &plan, invalid != nil)
	if err := errors.Join(failed, r.report(ctx, s, &plan, invalid)); err != nil {
		return again(err)
	}
	return reconcile.Result{RequeueAfter: plan.RequeueAfter(r.Clock.Now(), s.giveUp(), seen.pullsDue)}, nil
}

// again tries soon again after errors that are normal, and with a growing back-off after all others. In a namespace that is being
// deleted it does not try again, because no attempt can succeed.
func again(err error) (reconcile.Result, error) {
	switch {
	case !isNormal(err):
		return reconcile.Result{}, err
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return reconcile.Result{}, nil
	default:
		return reconcile.Result{RequeueAfter: soon}, nil
	}
}

// report writes into the object what the plan shows, and what is invalid, if that has changed. It replaces the status or the
// annotations as a whole. The object in the cache may be older than what was written last, and a patch of the differences would
// mix the two.
func (r *Reconciler) report(ctx context.Context, s *set, plan *rollout.Plan, invalid error) error {
	after := copyOf(s.object)
	if err := r.Kind.Write(after, plan, invalid); err != nil {
		return err
	}
	if change, err := client.MergeFrom(s.object).Data(after); err != nil || string(change) == "{}" {
		return err
	}
	return client.IgnoreNotFound(r.Kind.Send(ctx, r.Client, after))
}

// SetupWithManager watches everything that a plan depends on.
func (r *Reconciler) SetupWithManager(manager ctrl.Manager) (err error) {
	if r.stores, err = openStores(context.Background(), r.Cache); err != nil {
		return err
	}
	return r.watch(ctrl.NewControllerManagedBy(manager)).Complete(r)
}

func (r *Reconciler) warn(s *set, about runtime.Object, reason, action string, err error) {
	r.Events.Eventf(s.object, about, corev1.EventTypeWarning, reason, action, "%s", note(err.Error()))
}
