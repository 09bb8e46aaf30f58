package controller

import (
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/daemonplan/daemonplan/rollout"
)

const (
	// unseenAfter is when a request counts as seen although no cache shows it: its pod came and went in between, or the
	// watch is broken. kube-controller-manager waits as long.
	unseenAfter = 5 * time.Minute
	// LostAfter is when a request without an answer counts as never received, unless a Reconciler says otherwise. The API server
	// works on none for longer.
	LostAfter = time.Minute
)

// kind of a request.
type kind int

const (
	podCreated kind = iota
	podDeleted
	podPatched
	revisionWritten
	revisionDeleted
)

// request was sent to the API server, and may not be in the caches yet.
type request struct {
	kind           kind
	node, revision string    // of a pod that is created
	name           string    // of a revision
	uid            types.UID // of a pod; empty until its creation is answered
	version        string    // of the object in the answer; empty without one
	until          time.Time // when to stop waiting for the caches
}

// requests of one set. One reconcile runs at a time for a set, but it sends several requests at a time.
type requests struct {
	mutex sync.Mutex
	list  []*request
}

// add notes a request before it is sent: if the process that sends it did so afterwards, a quick watch could outrun it.
func (r *requests) add(q *request, now time.Time) *request {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	q.until = now.Add(unseenAfter)
	r.list = append(r.list, q)
	return q
}

// answered notes what the answer says about the object.
func (r *requests) answered(q *request, uid types.UID, version string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	q.uid, q.version = uid, version
}

// failed takes the request out, or at the instant lost if it may have been executed all the same.
func (r *requests) failed(q *request, err error, lost time.Time) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if maybeExecuted(err) {
		q.until = lost
		return
	}
	r.list = slices.DeleteFunc(r.list, func(other *request) bool { return other == q })
}

// observe takes out what the caches show, and returns the rest as the planner wants it, with the first instant at which one
// of them is given up.
func (r *requests) observe(
	now time.Time, pods []*corev1.Pod, revisions []*appsv1.ControllerRevision,
) (rollout.InFlight, time.Time) {
	podByUID := make(map[types.UID]*corev1.Pod, len(pods))
	for _, p := range pods {
		podByUID[p.UID] = p
	}
	revisionByName := make(map[string]*appsv1.ControllerRevision, len(revisions))
	for _, object := range revisions {
		revisionByName[object.Name] = object
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.list = slices.DeleteFunc(r.list, func(q *request) bool {
		return !now.Before(q.until) || q.seen(podByUID[q.uid], revisionByName[q.name])
	})
	var out rollout.InFlight
	var first time.Time
	for _, q := range r.list {
		switch q.kind {
		case podCreated:
			out.Creates = append(out.Creates, rollout.InFlightCreate{Node: q.node, Revision: q.revision})
		case podDeleted:
			out.Deletes = append(out.Deletes, q.uid)
		case podPatched:
			out.Patches = append(out.Patches, q.uid)
		case revisionWritten, revisionDeleted:
			out.Revisions = append(out.Revisions, q.name)
		}
		if first.IsZero() || q.until.Before(first) {
			first = q.until
		}
	}
	return out, first
}

// seen tells whether the caches show that the request was executed, by the object it is about; nil: there is none.
func (q *request) seen(pod *corev1.Pod, revision *appsv1.ControllerRevision) bool {
	switch q.kind {
	case podCreated:
		return pod != nil
	case podDeleted:
		return pod == nil || pod.DeletionTimestamp != nil
	case podPatched:
		return pod == nil || atLeast(pod.ResourceVersion, q.version)
	case revisionWritten:
		return revision != nil && atLeast(revision.ResourceVersion, q.version)
	default:
		return revision == nil || revision.DeletionTimestamp != nil
	}
}

// atLeast tells whether a version of an object is as new as that of an answer. Without an answer nobody knows.
func atLeast(version, answer string) bool {
	if answer == "" {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(version, answer)
	return err == nil && order >= 0
}
