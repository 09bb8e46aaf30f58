package controller

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daemonplan/daemonplan/rollout"
)

// atOnce is how many deletes, and how many patches, are sent at a time.
const atOnce = 16

// execute sends the actions of a plan in its order. What fails keeps nothing else back, but for creates (M6) and for a revision
// that cannot be created: the next plan begins with what is then. The error holds what does not happen in a healthy cluster.
func (r *Reconciler) execute(ctx context.Context, s *set, plan rollout.Plan) error {
	e := &execution{Reconciler: r, set: s}
	var errs []error
	for _, action := range plan.Revisions {
		made, err := e.revise(ctx, action)
		if !made && action.Verb == rollout.CreateRevision { // all that follows refers to it
			return errors.Join(append(errs, err)...)
		}
		errs = append(errs, err)
	}
	errs = append(errs, e.patch(ctx, plan.Patches),
		inParallel(atOnce, plan.Deletes, func(action rollout.Delete) error { return e.delete(ctx, action) }))
	for _, batch := range plan.Batches() {
		if err := inParallel(len(batch), batch, func(action rollout.Create) error { return e.create(ctx, action) }); err != nil {
			errs = append(errs, err)
			break
		}
	}
	return errors.Join(errs...)
}

// execution of one plan.
type execution struct {
	*Reconciler
	set *set
}

// send carries a request out: it is in flight until the caches show it, and not if it failed.
func (e *execution) send(q *request, verb string, call func() (client.Object, error)) error {
	q = e.set.requests.add(q, e.Clock.Now())
	object, err := call()
	actions.WithLabelValues(e.set.object.GetNamespace(), e.set.object.GetName(), verb, outcome(err)).Inc()
	if err != nil {
		e.set.requests.failed(q, err, e.Clock.Now().Add(cmp.Or(e.LostAfter, LostAfter)))
		if isNormal(err) {
			return nil
		}
		e.Events.Eventf(e.set.object, nil, corev1.EventTypeWarning, "Failed", verb, "%v", err)
		return fmt.Errorf("%s: %w", verb, err)
	}
	if object != nil {
		e.set.requests.answered(q, object.GetUID(), object.GetResourceVersion())
	}
	return nil
}

// did records an action on a pod as an event.
func (e *execution) did(reason, verb string, pod *corev1.Pod, node string, why rollout.Reason) {
	e.Events.Eventf(e.set.object, pod, corev1.EventTypeNormal, reason, verb, "%s on node %s: %s", pod.Name, node, why)
}

// named is the metadata of an object of the set.
func (e *execution) named(name string, uid types.UID) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: e.set.object.GetNamespace(), Name: name, UID: uid}
}

func (e *execution) create(ctx context.Context, action rollout.Create) error {
	pod, err := e.set.pod(action)
	if err != nil {
		return err
	}
	q := &request{kind: podCreated, node: action.Node, revision: action.Revision}
	return e.send(q, "CreatePod", func() (client.Object, error) {
		if err := e.Create(ctx, pod); err != nil {
			return nil, err
		}
		e.did("Created", "CreatePod", pod, action.Node, action.Reason)
		return pod, nil
	})
}

func (e *execution) delete(ctx context.Context, action rollout.Delete) error {
	pod := &corev1.Pod{ObjectMeta: e.named(action.Pod, action.UID)}
	return e.send(&request{kind: podDeleted, uid: action.UID}, "DeletePod", func() (client.Object, error) {
		if err := e.Delete(ctx, pod, client.Preconditions{UID: &action.UID}); err != nil {
			return nil, err
		}
		e.did("Deleted", "DeletePod", pod, action.Node, action.Reason)
		return pod, nil
	})
}

// patch sends the patches of a pod one after the other, and those of different pods at the same time. A patch that fails, for
// whatever reason, keeps the later ones of its pod back: they say that it was made.
func (e *execution) patch(ctx context.Context, patches []rollout.Patch) error {
	var pods [][]rollout.Patch
	index := map[types.UID]int{}
	for _, p := range patches {
		i, ok := index[p.UID]
		if !ok {
			i, pods = len(pods), append(pods, nil)
			index[p.UID] = i
		}
		pods[i] = append(pods[i], p)
	}
	return inParallel(atOnce, pods, func(ofPod []rollout.Patch) error {
		for _, p := range ofPod {
			made := false
			err := e.send(&request{kind: podPatched, uid: p.UID}, "PatchPod", func() (client.Object, error) {
				pod := &corev1.Pod{ObjectMeta: e.named(p.Pod, "")}
				err := e.patchPod(ctx, pod, p)
				if err == nil {
					made = true
					e.did("Patched", "PatchPod", pod, p.Node, p.Reason)
				}
				return pod, err
			})
			if err != nil || !made {
				return err
			}
		}
		return nil
	})
}

func (e *execution) patchPod(ctx context.Context, pod *corev1.Pod, p rollout.Patch) error {
	data := client.RawPatch(p.Type, p.Data)
	if p.Subresource == "" {
		return e.Patch(ctx, pod, data)
	}
	return e.SubResource(p.Subresource).Patch(ctx, pod, data)
}

// revise tells whether the action was carried out.
func (e *execution) revise(ctx context.Context, action rollout.RevisionAction) (made bool, err error) {
	object := &appsv1.ControllerRevision{ObjectMeta: e.named(action.Name, action.UID)}
	written := &request{kind: revisionWritten, name: action.Name}
	switch action.Verb {
	case rollout.CreateRevision:
		object = action.Object.DeepCopy()
		err = e.send(written, "CreateRevision", func() (client.Object, error) {
			err := e.Create(ctx, object)
			if apierrors.IsAlreadyExists(err) {
				var there client.Object
				there, err = e.existing(ctx, action)
				made = err == nil
				return there, err
			}
			made = err == nil
			return object, err
		})
		return made, err
	case rollout.DeleteRevision:
		err = e.send(&request{kind: revisionDeleted, name: action.Name}, "DeleteRevision", func() (client.Object, error) {
			err := e.Delete(ctx, object, client.Preconditions{UID: &action.UID})
			made = err == nil
			return nil, err
		})
		return made, err
	default:
		data, err := json.Marshal(revisionPatch(action))
		if err != nil {
			return false, err
		}
		err = e.send(written, "PatchRevision", func() (client.Object, error) {
			err := e.Patch(ctx, object, client.RawPatch(types.MergePatchType, data))
			made = err == nil
			return object, err
		})
		return made, err
	}
}

// existing looks at a revision whose name is taken: it is the set's own, and the cache has yet to show it, or the planner has to
// choose another name (R3).
func (e *execution) existing(ctx context.Context, action rollout.RevisionAction) (client.Object, error) {
	live := &appsv1.ControllerRevision{ObjectMeta: e.named(action.Name, "")}
	if err := e.Live.Get(ctx, client.ObjectKeyFromObject(live), live); err != nil {
		return nil, err
	}
	if metav1.IsControlledBy(live, e.set.object) && equality.Semantic.DeepEqual(live.Data.Raw, action.Object.Data.Raw) {
		return live, nil
	}
	collided := e.set.remembered.Collided()
	e.set.remembered = &collided
	return nil, fmt.Errorf("revision %s belongs to somebody else, so the next plan takes another name", action.Name)
}

// revisionPatch renumbers or annotates a revision.
func revisionPatch(action rollout.RevisionAction) map[string]any {
	metadata := map[string]any{"uid": action.UID}
	if action.Verb == rollout.RenumberRevision {
		return map[string]any{"metadata": metadata, "revision": action.Number}
	}
	annotations := map[string]any{}
	for key, value := range action.Annotations {
		annotations[key] = value
	}
	for _, key := range action.RemoveAnnotations {
		annotations[key] = nil
	}
	metadata["annotations"] = annotations
	return map[string]any{"metadata": metadata}
}

// inParallel does something with all items, so many at a time.
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
