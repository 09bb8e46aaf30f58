package inflight

import (
	"cmp"
	"reflect"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/rollout"
)

const (
	// DefaultUnseenAfter is as long as kube-controller-manager waits for its expectations.
	DefaultUnseenAfter = 5 * time.Minute
	// DefaultLostAfter is longer than the API server works on any request of a controller.
	DefaultLostAfter = time.Minute
	// DefaultRefusedFor is long enough for the pod to be recreated, and short for a person who mends what was refused.
	DefaultRefusedFor = 10 * time.Minute
)

// Tracker holds the requests of one set that its caches do not show yet. The zero value is ready to use. A nil Tracker holds
// nothing.
type Tracker struct {
	// UnseenAfter is how long the tracker waits for a cache to show a request. After that the request counts as seen, because the
	// watch is broken. The time runs from the answer on, or without an answer from when the request was noted. If it is not
	// positive, it is DefaultUnseenAfter.
	UnseenAfter time.Duration
	// LostAfter is how long a request stays whose answer does not show whether it was executed. After that it counts as never
	// executed. The time runs from the answer on. If it is not positive, it is DefaultLostAfter.
	LostAfter time.Duration
	// RefusedFor is how long a patch of a pod counts as one that the API server would refuse again ([IsRefused]). After that the
	// update in place is tried once more, because somebody may have changed what the server refused it for. The time runs from
	// the answer on. If it is not positive, it is DefaultRefusedFor.
	RefusedFor time.Duration

	requests []*Request
	refused  []refusal
}

// refusal is a patch that the API server refused.
type refusal struct {
	rollout.RefusedPatch
	until time.Time
}

// Request is a request that was sent, or is about to be.
type Request struct {
	kind     kind
	node     string         // of a pod that is created
	revision string         // of a pod that is created or patched
	reason   rollout.Reason // of a patch
	name     string         // of a revision
	uid      types.UID      // of the object; empty until its creation is answered
	version  string         // of the object in the answer; empty without one
	until    time.Time      // when to stop waiting for the caches
}

// kind of a request.
type kind uint8

const (
	podCreated kind = iota
	podDeleted
	podPatched
	revisionCreated
	revisionPatched
	revisionDeleted
)

// Create notes that a pod is about to be asked for.
func (t *Tracker) Create(now time.Time, action rollout.Create) *Request {
	return t.add(now, &Request{kind: podCreated, node: action.Node, revision: action.Revision})
}

// Delete notes that the deletion of a pod is about to be asked for.
func (t *Tracker) Delete(now time.Time, action rollout.Delete) *Request {
	return t.add(now, &Request{kind: podDeleted, uid: action.UID})
}

// Patch notes that a patch of a pod is about to be sent.
func (t *Tracker) Patch(now time.Time, action rollout.Patch) *Request {
	return t.add(now, &Request{kind: podPatched, uid: action.UID, revision: action.Revision, reason: action.Reason})
}

// Revise notes that an action on a revision is about to be sent.
func (t *Tracker) Revise(now time.Time, action rollout.RevisionAction) *Request {
	r := &Request{kind: revisionPatched, name: action.Name, uid: action.UID}
	switch action.Verb {
	case rollout.CreateRevision:
		r.kind = revisionCreated
	case rollout.DeleteRevision:
		r.kind = revisionDeleted
	default:
	}
	return t.add(now, r)
}

func (t *Tracker) add(now time.Time, r *Request) *Request {
	if t == nil {
		return nil
	}
	r.until = now.Add(orDefault(t.UnseenAfter, DefaultUnseenAfter))
	t.requests = append(t.requests, r)
	return r
}

// Answer notes how a request ended. Without an error, object is what the API server returned. Its resource version is kept and,
// if it was created, its UID. Object is nil if the API server returned none, as for a delete; a create or a patch without an
// object stays until its time is over. If the error shows that the request was not executed ([MaybeExecuted]), the request is
// taken out. If the request may have been executed, it stays for LostAfter. But if a delete or a patch ended because its object
// is gone ([IsGone]), the request stays until the caches show that. A nil request, or one that is not of this tracker or was
// taken out, changes nothing. A patch of a pod that was refused ([IsRefused]) is remembered for RefusedFor.
func (t *Tracker) Answer(now time.Time, r *Request, object metav1.Object, err error) {
	if t == nil || !slices.Contains(t.requests, r) {
		return
	}
	if r.kind == podPatched && IsRefused(err) {
		patch := rollout.RefusedPatch{UID: r.uid, Revision: r.revision, Reason: r.reason, Message: err.Error()}
		t.refused = slices.DeleteFunc(t.refused, func(other refusal) bool {
			return other.UID == patch.UID && other.Revision == patch.Revision && other.Reason == patch.Reason
		})
		t.refused = append(t.refused, refusal{patch, now.Add(orDefault(t.RefusedFor, DefaultRefusedFor))})
	}
	switch {
	case err == nil:
		r.until = now.Add(orDefault(t.UnseenAfter, DefaultUnseenAfter))
		r.learn(object)
	case !r.creates() && IsGone(err):
		r.until = now.Add(orDefault(t.UnseenAfter, DefaultUnseenAfter))
	case MaybeExecuted(err):
		r.until = now.Add(orDefault(t.LostAfter, DefaultLostAfter))
	default:
		t.requests = slices.DeleteFunc(t.requests, func(other *Request) bool { return other == r })
	}
}

// learn takes from an answer the version, and for a create the UID, by which the caches show the request. The UID of any other
// object is known from the plan.
func (r *Request) learn(object metav1.Object) {
	if value := reflect.ValueOf(object); object == nil || value.Kind() == reflect.Pointer && value.IsNil() {
		return
	}
	r.version = object.GetResourceVersion()
	if r.creates() {
		r.uid = object.GetUID()
	}
}

func (r *Request) creates() bool { return r.kind == podCreated || r.kind == revisionCreated }

// Observe takes out the requests that the caches show, those that were waited for long enough, and refusals whose pod is gone or
// whose time is over. It returns the others in the form that a snapshot needs, and the first instant at which one of them will
// be given up, or zero if there is none. Pods and revisions are all that the caches have in the namespace of the set, those of
// others included: a version newer than an answer shows that the object was shown, even if it is gone by now. Nil elements are
// skipped.
func (t *Tracker) Observe(
	now time.Time, pods []*corev1.Pod, revisions []*appsv1.ControllerRevision,
) (rollout.InFlight, time.Time) {
	if t == nil || len(t.requests)+len(t.refused) == 0 {
		return rollout.InFlight{}, time.Time{}
	}
	shown := newCaches(pods, revisions)
	t.requests = slices.DeleteFunc(t.requests, func(r *Request) bool { return !now.Before(r.until) || shown.show(r) })
	if len(t.refused) > 0 {
		there := make(map[types.UID]bool, len(pods))
		for _, pod := range pods {
			if pod != nil {
				there[pod.UID] = true
			}
		}
		t.refused = slices.DeleteFunc(t.refused, func(r refusal) bool { return !now.Before(r.until) || !there[r.UID] })
	}
	var out rollout.InFlight
	for _, r := range t.refused {
		out.Refused = append(out.Refused, r.RefusedPatch)
	}
	for _, r := range t.requests {
		switch r.kind {
		case podCreated:
			out.Creates = append(out.Creates, rollout.InFlightCreate{Node: r.node, Revision: r.revision})
		case podDeleted:
			out.Deletes = append(out.Deletes, r.uid)
		case podPatched:
			out.Patches = append(out.Patches, r.uid)
		default:
			out.Revisions = append(out.Revisions, r.name)
		}
	}
	out.Patches, out.Revisions = distinct(out.Patches), distinct(out.Revisions) // one object may have several requests
	return out, t.GiveUp()
}

// GiveUp is the first instant at which the tracker will stop waiting for one of its present requests, or will forget a refusal,
// or zero if it has none. It includes the requests that were noted since [Tracker.Observe]. Plan again at that instant, if
// nothing else happens before.
func (t *Tracker) GiveUp() time.Time {
	if t == nil {
		return time.Time{}
	}
	var first time.Time
	for _, r := range t.requests {
		if first.IsZero() || r.until.Before(first) {
			first = r.until
		}
	}
	for _, r := range t.refused {
		if first.IsZero() || r.until.Before(first) {
			first = r.until
		}
	}
	return first
}

func distinct[T cmp.Ordered](items []T) []T {
	slices.Sort(items)
	return slices.Compact(items)
}

func orDefault(d, otherwise time.Duration) time.Duration {
	if d <= 0 {
		return otherwise
	}
	return d
}
