// Package controller runs daemon sets: it observes, plans, executes, reports, and comes back when the plan says so.
package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/verify"
)

// soon is when to go on after something that a healthy cluster answers now and then, such as a conflict.
const soon = 500 * time.Millisecond

// Reconciler plans for one set at a time, and does what the plan says.
type Reconciler struct {
	// Client writes to the API server.
	client.Client
	// Cache is what to read, and Live the API server itself. A manager's client is neither: it reads objects without a type past
	// the cache.
	Cache, Live client.Reader
	// Events are recorded on the set.
	Events events.EventRecorder
	// Clock tells the planner the time.
	Clock clock.PassiveClock
	// Kind of the objects that sets are written in: [Planned] or [Annotated].
	Kind Kind
	// Guard, if there is one, has to agree with a plan before it is executed: see [Verify].
	Guard func(rollout.Spec, rollout.Snapshot, rollout.Plan) error
	// ImagePullJobs says that images are pulled by OpenKruise, whose ImagePullJobs this cluster has, and not by pods.
	ImagePullJobs bool
	// LostAfter is as in inflight.Tracker; until then the node of a request without an answer waits.
	LostAfter time.Duration

	sets sets
}

// Reconcile is the whole loop. It ends with the instant of the next plan; what fails is tried again with a back-off.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	object := r.Kind.New()
	err := r.Cache.Get(ctx, request.NamespacedName, object)
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, err
	}
	if err != nil || object.GetDeletionTimestamp() != nil || !r.Kind.Selects(object) { // the garbage collector sees to its pods
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
			return reconcile.Result{}, reconcile.TerminalError(invalid) // what helps is another spec, and no later attempt
		}
		if err := r.sets.pause(s); err != nil {
			return reconcile.Result{}, err
		}
	}
	if s.memory == nil {
		s.memory = &stored
	}
	seen, notOurs, err := r.observe(ctx, s)
	if err != nil {
		return again(err)
	}
	begun := time.Now()
	plan, err := s.planner.Plan(seen.Snapshot)
	planSeconds.WithLabelValues(s.labels()...).Observe(time.Since(begun).Seconds())
	if err == nil && r.Guard != nil {
		err = r.Guard(s.spec, seen.Snapshot, plan)
	}
	if err != nil {
		r.warn(s, nil, "NotPlanned", "Plan", err)
		return reconcile.Result{}, fmt.Errorf("nothing is done: %w", err)
	}
	s.memory, s.failedPulls = &plan.Memory, plan.FailedPulls
	if err := r.Kind.Restrict(ctx, r.Live, object, &plan); err != nil {
		return again(err)
	}
	failed := errors.Join(notOurs, r.execute(ctx, s, &plan), r.tidyPulls(ctx, s, seen, &plan))
	r.tell(s, &plan, invalid != nil)
	if err := errors.Join(failed, r.report(ctx, s, &plan, invalid)); err != nil {
		return again(err)
	}
	return reconcile.Result{RequeueAfter: plan.Sleep(r.Clock.Now(), s.giveUp(), seen.pullsDue)}, nil
}

// again tries soon again after what is normal, and with a growing back-off after everything else. In a namespace that is going no
// attempt will fare better.
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

// report writes into the object what the plan says, and what is invalid, if it says something new. What it replaces it
// replaces whole, because the object in the cache may be older than what was written last: a patch of what differs from it
// would mix the two.
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

// Verify is a Guard that lets no plan pass that verify.Plan objects to.
func Verify(spec rollout.Spec, snapshot rollout.Snapshot, plan rollout.Plan) error {
	var errs []error
	for _, violation := range verify.Plan(spec, snapshot, &plan) {
		errs = append(errs, fmt.Errorf("%v", violation))
	}
	return errors.Join(errs...)
}

// SetupWithManager watches what a plan depends on.
func (r *Reconciler) SetupWithManager(manager ctrl.Manager) error {
	return r.watch(ctrl.NewControllerManagedBy(manager)).Complete(r)
}

func (r *Reconciler) warn(s *set, about runtime.Object, reason, action string, err error) {
	r.Events.Eventf(s.object, about, corev1.EventTypeWarning, reason, action, "%s", note(err.Error()))
}
