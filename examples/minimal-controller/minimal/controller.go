// Package minimal is a daemon controller: it runs the DaemonSet whose manifest is in a ConfigMap.
package minimal

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/inflight"
	"github.com/daemonplan/daemonplan/rollout/manifest"
)

// reconciler keeps what no object shows between two plans. It is safe to lose.
type reconciler struct {
	client.Client
	set     types.NamespacedName // of the ConfigMap
	planner *rollout.Planner     // of its manifest, as it was last read
	carry   rollout.Carry        // what the last plan hands to the next one
	tracker inflight.Tracker
}

// Run runs the set of one ConfigMap. A change of anything that a plan depends on leads to the same single request.
func Run(ctx context.Context, manager ctrl.Manager, namespace, name string) error {
	r := &reconciler{Client: manager.GetClient(), set: types.NamespacedName{Namespace: namespace, Name: name}}
	look := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: r.set}}
	})
	err := ctrl.NewControllerManagedBy(manager).Named("minimal").Watches(&corev1.ConfigMap{}, look).Watches(&corev1.Node{}, look).
		Watches(&corev1.Pod{}, look).Watches(&appsv1.ControllerRevision{}, look).Complete(r)
	if err != nil {
		return err
	}
	return manager.Start(ctx)
}

// Reconcile observes, plans and executes. It returns when to plan again.
func (r *reconciler) Reconcile(ctx context.Context, _ reconcile.Request) (result reconcile.Result, err error) {
	var object corev1.ConfigMap
	if err = r.Get(ctx, r.set, &object); err != nil || object.DeletionTimestamp != nil {
		return result, client.IgnoreNotFound(err) // the garbage collector sees to the pods
	}
	decoded, err := manifest.Decode([]byte(object.Data["daemonset.yaml"]))
	if err == nil && (decoded.Spec.APIVersion != "apps/v1" || len(decoded.Unknown) > 0) {
		err = fmt.Errorf("only apps/v1 is supported here: this is %s, unknown are %q", decoded.Spec.APIVersion, decoded.Unknown)
	}
	if err != nil { // only another manifest helps, not another attempt
		return result, reconcile.TerminalError(fmt.Errorf("daemonset.yaml of the ConfigMap: %w", err))
	}
	spec := decoded.Spec
	spec.APIVersion, spec.Kind, spec.Namespace, spec.Name, spec.UID = "v1", "ConfigMap", object.Namespace, object.Name, object.UID
	plan, err := r.plan(ctx, spec)
	if err != nil {
		return result, err
	}
	if r.carry = plan.Carry(); !plan.Empty() {
		ctrl.LoggerFrom(ctx).Info(plan.Status.State.String(), "creates", len(plan.Creates), "deletes", len(plan.Deletes))
	}
	if err := r.execute(ctx, plan); err != nil {
		return result, err
	}
	return reconcile.Result{RequeueAfter: plan.RequeueAfter(time.Now(), r.tracker.GiveUp())}, nil
}

// plan makes a plan from the caches, which are late, and from the requests that they do not show yet.
func (r *reconciler) plan(ctx context.Context, spec rollout.Spec) (plan rollout.Plan, err error) {
	var nodes corev1.NodeList
	var pods corev1.PodList
	var revisions appsv1.ControllerRevisionList
	in, now := client.InNamespace(spec.Namespace), time.Now()
	if r.planner, err = rollout.New(spec); err != nil {
		return plan, reconcile.TerminalError(err)
	}
	if err := errors.Join(r.List(ctx, &nodes), r.List(ctx, &pods, in), r.List(ctx, &revisions, in)); err != nil {
		return plan, err
	}
	all, past := pointers(pods.Items), pointers(revisions.Items)
	asked, _ := r.tracker.Observe(now, all, past)
	claimed, err := r.planner.ClaimAndPlan(rollout.Snapshot{
		Now: now, Nodes: pointers(nodes.Items), Pods: all, Revisions: past, InFlight: asked,
	}.After(r.carry))
	return claimed.Plan, err
}

func pointers[T any](items []T) (out []*T) {
	for i := range items {
		out = append(out, &items[i])
	}
	return out
}

// execute sends the plan's actions in order. Go evaluates arguments from left to right: a request is noted, sent, then answered.
func (r *reconciler) execute(ctx context.Context, plan rollout.Plan) (errs error) {
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: r.set.Namespace, Name: name} }
	answer := func(request *inflight.Request, object client.Object, err error) {
		r.tracker.Answer(time.Now(), request, object, err)
		errs = errors.Join(errs, err)
	}
	for _, a := range plan.Revisions {
		object, request := &appsv1.ControllerRevision{ObjectMeta: named(a.Name)}, r.tracker.Revise(time.Now(), a)
		switch a.Verb {
		case rollout.CreateRevision:
			answer(request, a.Object, r.Create(ctx, a.Object))
		case rollout.DeleteRevision:
			answer(request, object, r.Delete(ctx, object, client.Preconditions{UID: &a.UID}))
		default:
			answer(request, object, r.Patch(ctx, object, client.RawPatch(types.MergePatchType, a.Patch())))
		}
		if errs != nil {
			return errs // the pods refer to the revisions
		}
	}
	for _, a := range plan.Patches {
		if a.Subresource != "" {
			return errors.Join(errs, fmt.Errorf("pod %s: no plan for apps/v1 has a patch of its %s", a.Pod, a.Subresource))
		}
		pod := &corev1.Pod{ObjectMeta: named(a.Pod)}
		answer(r.tracker.Patch(time.Now(), a), pod, r.Patch(ctx, pod, client.RawPatch(a.Type, a.Data)))
	}
	for _, a := range plan.Deletes {
		pod := &corev1.Pod{ObjectMeta: named(a.Pod)}
		answer(r.tracker.Delete(time.Now(), a), nil, r.Delete(ctx, pod, client.Preconditions{UID: &a.UID}))
	}
	for _, batch := range plan.Batches() {
		for _, a := range batch {
			pod, err := r.planner.Pod(a)
			if err != nil {
				return errors.Join(errs, err)
			}
			answer(r.tracker.Create(time.Now(), a), pod, r.Create(ctx, pod))
		}
		if errs != nil {
			break // if a quota refuses some, a batch twice as large would fail, too
		}
	}
	return errs
}
