package controller

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/daemonplan/daemonplan/predownload"
	"github.com/daemonplan/daemonplan/rollout"
)

// notSeen is how long a pull that was asked for may take to appear in the caches.
const notSeen = time.Minute

// started is a pull that the caches do not show yet.
type started struct {
	predownload.Request
	uid   types.UID // the UID of its object; empty: an object of that name was there already
	until time.Time
}

// attempt is a pull that the caches show.
type attempt struct {
	predownload.Attempt
	object client.Object
}

// isPullOf reports whether an object pulls an image for a set.
func isPullOf(set types.UID, object client.Object) bool {
	a, ok := predownload.AttemptOf(object)
	return ok && a.Set == set
}

// observePulls adds the pulls of the set to the sight. The objects are the pods that pull.
func (r *Reconciler) observePulls(ctx context.Context, s *set, seen *sight, objects []client.Object) error {
	if r.ImagePullJobs {
		jobs := &unstructured.UnstructuredList{}
		jobs.SetGroupVersionKind(predownload.PullJobKind())
		if err := r.Cache.List(ctx, jobs, client.InNamespace(s.object.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
			return err
		}
		for i := range jobs.Items {
			objects = append(objects, &jobs.Items[i])
		}
	}
	var attempts []predownload.Attempt
	for _, object := range objects {
		if a, ok := predownload.AttemptOf(object); ok && a.Set == s.object.GetUID() {
			if uid := s.pulls[object.GetName()].uid; uid == "" || uid == object.GetUID() { // any other one is being deleted
				delete(s.pulls, object.GetName())
			}
			attempts, seen.pulls = append(attempts, a), append(seen.pulls, attempt{a, object})
		}
	}
	progress := predownload.Track(seen.Now, attempts, s.carry.FailedPulls, s.counted)
	s.carry.FailedPulls, s.counted, seen.reported = progress.Failures, progress.Counted, seen.Nodes
	seen.FailedPulls, seen.InFlight.Pulls, seen.Nodes = progress.Failures, progress.InFlight, progress.WithImages(seen.Nodes)
	seen.pullsDue = progress.Wake
	for name, started := range s.pulls {
		if seen.Now.Before(started.until) {
			seen.InFlight.Pulls = append(seen.InFlight.Pulls, started.Request)
		} else {
			delete(s.pulls, name)
		}
	}
	return nil
}

// pull starts a pull. The name of its object is derived from what it pulls, so that no pull is started twice.
func (e *execution) pull(ctx context.Context, p rollout.Pull) error {
	owner := metav1.OwnerReference{APIVersion: e.spec.APIVersion, Kind: e.spec.Kind, Name: e.spec.Name, UID: e.spec.UID}
	object := client.Object(predownload.PullPod(p.Pull, e.spec.Namespace, owner, e.spec.Template.Spec.Tolerations))
	if e.ImagePullJobs {
		object = predownload.PullJob(p.Pull, e.spec.Namespace, owner)
	}
	name := object.GetName()
	err := e.Create(ctx, object)
	if err == nil || apierrors.IsAlreadyExists(err) {
		e.mutex.Lock()
		e.pulls[name] = started{predownload.Request{Node: p.Node, Image: p.Image}, object.GetUID(), e.Clock.Now().Add(notSeen)}
		e.mutex.Unlock()
	}
	return e.judge("PullImage", object, client.IgnoreAlreadyExists(err))
}

// tidyPulls deletes the objects of pulls that are no longer needed: those that failed and are counted, those whose image the
// kubelet reports by now, those of nodes that are gone, and all of them once no node waits for its update.
func (r *Reconciler) tidyPulls(ctx context.Context, s *set, seen sight, plan *rollout.Plan) error {
	if len(seen.pulls) == 0 {
		return nil
	}
	nodes := make(map[string]*corev1.Node, len(seen.reported))
	for _, node := range seen.reported {
		nodes[node.Name] = node
	}
	old := slices.DeleteFunc(slices.Clone(seen.pulls), func(p attempt) bool {
		node := nodes[p.Node]
		ended := node == nil || len(plan.PullWaits) == 0 || p.At(seen.Now) == predownload.Failed ||
			predownload.Reported(node.Status.Images, p.Image)
		return p.object.GetDeletionTimestamp() != nil || !ended
	})
	return inParallel(atOnce, old, func(p attempt) error {
		object := copyOf(p.object)
		err := client.IgnoreNotFound(r.Delete(ctx, object, client.Preconditions{UID: &p.UID}))
		return r.execution(s).judge("DeletePull", object, err)
	})
}

// apart takes the pods that pull images, for any set, out of the pods.
func apart(all []*corev1.Pod) (pods []*corev1.Pod, pulls []client.Object) {
	pods = make([]*corev1.Pod, 0, len(all))
	for _, pod := range all {
		if _, ok := predownload.AttemptOf(pod); ok {
			pulls = append(pulls, pod)
		} else {
			pods = append(pods, pod)
		}
	}
	return pods, pulls
}
