package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/inflight"
)

// atOnce is how many deletes run at a time, and for how many pods patches do.
const atOnce = 16

// execute sends the actions of a plan in its order. An action that fails stops no other action, with two exceptions. A batch with
// a create that fails stops the later batches (M6). A revision that cannot be created stops everything, and the next plan begins
// with the state of then.
func (r *Reconciler) execute(ctx context.Context, s *set, plan *rollout.Plan) error {
	e := r.execution(s)
	defer e.recount()
	var errs []error
	for _, action := range plan.Revisions {
		err := e.revise(ctx, action)
		errs = append(errs, err)
		if err != nil && action.Verb == rollout.CreateRevision { // all later actions refer to the revision
			plan.Memory = s.carry.Memory // this memory counts a collision of names
			return errors.Join(errs...)
		}
	}
	errs = append(errs,
		inParallel(atOnce, plan.PatchesByPod(), func(patches []rollout.Patch) error { return e.patch(ctx, patches) }),
		inParallel(atOnce, plan.Pulls, func(action rollout.Pull) error { return e.pull(ctx, action) }),
		inParallel(atOnce, plan.Deletes, func(action rollout.Delete) error { return e.delete(ctx, action) }),
	)
	for _, batch := range plan.Batches() {
		if err := inParallel(len(batch), batch, func(action rollout.Create) error { return e.create(ctx, action) }); err != nil {
			errs = append(errs, err)
			break
		}
	}
	return errors.Join(errs...)
}

func (r *Reconciler) execution(s *set) *execution {
	return &execution{Reconciler: r, set: s, deeds: map[deed][]*corev1.Pod{}}
}

// execution is the execution of one plan.
type execution struct {
	*Reconciler
	*set
	deeds map[deed][]*corev1.Pod // the pods that each deed was done to
}

// deed is what a plan has done to some pods for one reason. It makes one event, because an event for each pod would be half of
// all requests of a rollout.
type deed struct {
	reason, verb string
	why          rollout.Reason
}

// send sends a request. It notes the request before it sends it, because the watch may be faster than the answer.
func (e *execution) send(verb string, note func() *inflight.Request, object client.Object, call func() error) error {
	e.mutex.Lock()
	request := note()
	e.mutex.Unlock()
	err := call()
	e.mutex.Lock()
	e.tracker.LostAfter = e.LostAfter
	e.tracker.Answer(e.Clock.Now(), request, object, err)
	e.mutex.Unlock()
	return e.judge(verb, object, err)
}

// judge counts a request, and records an event if it failed for a reason that does not occur in a healthy cluster.
func (e *execution) judge(verb string, object client.Object, err error) error {
	actions.WithLabelValues(append(e.labels(), verb, outcome(err))...).Inc()
	if err == nil {
		return nil
	}
	if !isNormal(err) {
		e.warn(e.set, object, "Failed", verb, err)
	}
	return fmt.Errorf("%s: %w", verb, err)
}

// did keeps what was done to a pod until the events are recorded.
func (e *execution) did(reason, verb string, pod *corev1.Pod, why rollout.Reason) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	key := deed{reason, verb, why}
	e.deeds[key] = append(e.deeds[key], pod)
}

// recount records the events. A recorder combines events that differ in their text only, so each names one of its pods as
// related.
func (e *execution) recount() {
	for deed, pods := range e.deeds {
		var names []string
		for _, pod := range pods {
			names = append(names, pod.Name)
		}
		slices.Sort(names)
		names = slices.Compact(names) // a pod may get several patches
		text := fmt.Sprintf("%d, reason %s: %s", len(names), deed.why, strings.Join(names, ", "))
		e.Events.Eventf(e.object, pods[0], corev1.EventTypeNormal, deed.reason, deed.verb, "%s", note(text))
	}
}

// named is the metadata of an object in the set's namespace.
func (e *execution) named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: e.object.GetNamespace(), Name: name}
}

func (e *execution) create(ctx context.Context, action rollout.Create) error {
	pod, err := e.planner.Pod(action)
	if err != nil {
		return err
	}
	note := func() *inflight.Request { return e.tracker.Create(e.Clock.Now(), action) }
	err = e.send("CreatePod", note, pod, func() error { return e.Create(ctx, pod) })
	if err == nil {
		e.did("Created", "CreatePod", pod, action.Reason)
	}
	return err
}

func (e *execution) delete(ctx context.Context, action rollout.Delete) error {
	pod := &corev1.Pod{ObjectMeta: e.named(action.Pod)}
	note := func() *inflight.Request { return e.tracker.Delete(e.Clock.Now(), action) }
	err := e.send("DeletePod", note, pod, func() error { return e.Delete(ctx, pod, client.Preconditions{UID: &action.UID}) })
	if err == nil {
		e.did("Deleted", "DeletePod", pod, action.Reason)
	}
	return err
}

// patch sends the patches of one pod. If one fails, the later ones are not sent, because they assume that it was carried out.
func (e *execution) patch(ctx context.Context, patches []rollout.Patch) error {
	for _, action := range patches {
		pod := &corev1.Pod{ObjectMeta: e.named(action.Pod)}
		note := func() *inflight.Request { return e.tracker.Patch(e.Clock.Now(), action) }
		err := e.send("PatchPod", note, pod, func() error {
			data := client.RawPatch(action.Type, action.Data)
			if action.Subresource == "" {
				return e.Patch(ctx, pod, data)
			}
			return e.SubResource(action.Subresource).Patch(ctx, pod, data)
		})
		if err != nil {
			return err
		}
		e.did("Patched", "PatchPod", pod, action.Reason)
	}
	return nil
}

func (e *execution) revise(ctx context.Context, action rollout.RevisionAction) error {
	object := &appsv1.ControllerRevision{ObjectMeta: e.named(action.Name)}
	note := func() *inflight.Request { return e.tracker.Revise(e.Clock.Now(), action) }
	switch action.Verb {
	case rollout.CreateRevision:
		action.Object.DeepCopyInto(object)
		return e.send("CreateRevision", note, object, func() error {
			err := e.Create(ctx, object)
			if apierrors.IsAlreadyExists(err) {
				return e.existing(ctx, action, object)
			}
			return err
		})
	case rollout.DeleteRevision:
		return e.send("DeleteRevision", note, object, func() error {
			return e.Delete(ctx, object, client.Preconditions{UID: &action.UID})
		})
	default:
		return e.send("PatchRevision", note, object, func() error {
			return e.Patch(ctx, object, client.RawPatch(types.MergePatchType, action.Patch()))
		})
	}
}

// existing handles a revision whose name is taken. If the revision is the set's own, or one to adopt, with the same data, the
// cache is about to show it. Otherwise the planner must choose another name (R3).
func (e *execution) existing(ctx context.Context, action rollout.RevisionAction, live *appsv1.ControllerRevision) error {
	if err := e.Live.Get(ctx, client.ObjectKeyFromObject(action.Object), live); err != nil {
		return err
	}
	claims, err := rollout.ClaimRevisions(e.spec, []*appsv1.ControllerRevision{live})
	if err != nil {
		return err
	}
	mine := len(claims.Revisions) == 1 && live.DeletionTimestamp == nil
	if mine && equality.Semantic.DeepEqual(live.Data.Raw, action.Object.Data.Raw) {
		return nil
	}
	e.carry.Memory = e.carry.Memory.Collided()
	return apierrors.NewAlreadyExists(appsv1.Resource("controllerrevisions"), action.Name)
}

// isNormal reports whether all errors within an error occur in a healthy cluster, because another client was faster. The next
// plan then starts from the new state.
func isNormal(err error) bool {
	switch err := err.(type) { //nolint:errorlint // each level is looked at by itself
	case interface{ Unwrap() []error }:
		return !slices.ContainsFunc(err.Unwrap(), func(one error) bool { return !isNormal(one) })
	case *apierrors.StatusError:
		return inflight.IsGone(err) || apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || isAboutUID(err) ||
			apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
	case interface{ Unwrap() error }:
		return isNormal(err.Unwrap())
	default:
		return false
	}
}

// isAboutUID reports whether a patch was refused because an object with another UID has that name by now.
func isAboutUID(err *apierrors.StatusError) bool {
	if !apierrors.IsInvalid(err) || err.ErrStatus.Details == nil || len(err.ErrStatus.Details.Causes) == 0 {
		return false
	}
	other := func(c metav1.StatusCause) bool { return c.Field != "metadata.uid" }
	return !slices.ContainsFunc(err.ErrStatus.Details.Causes, other)
}

// inParallel calls do for all items, at most limit at a time.
func inParallel[T any](limit int, items []T, do func(T) error) error {
	var group errgroup.Group
	group.SetLimit(max(limit, 1))
	errs := make([]error, len(items))
	for i, item := range items {
		group.Go(func() error {
			errs[i] = do(item)
			return nil
		})
	}
	_ = group.Wait()
	return errors.Join(errs...)
}
