package inflight_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/inflight"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

var noon = rollouttest.Noon()

// These are errors of requests. A lost request may have been executed, a refused one was not.
var (
	errLost     error = &net.OpError{Op: "read", Err: syscall.ECONNRESET}
	errRefused  error = apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "p", errors.New("another version"))
	errNotFound error = apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "p")
	// errUnknown is what clients make of the answer of an API server that does not know the path.
	errUnknown error = apierrors.NewGenericServerResponse(
		404, "PATCH", schema.GroupResource{Resource: "pods"}, "p", "404 page not found", 0, true)
)

func pod(uid types.UID, version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid, ResourceVersion: version}}
}

func revision(name string, uid types.UID, version string) *appsv1.ControllerRevision {
	return &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid, ResourceVersion: version}}
}

// going marks the object for deletion and returns it.
func going[T metav1.Object](object T) T {
	object.SetDeletionTimestamp(&metav1.Time{Time: noon})
	return object
}

// text lists requests as "create node@revision", "delete uid", "patch uid" and "revision name".
func text(f rollout.InFlight) string {
	var words []string
	for _, c := range f.Creates {
		words = append(words, "create "+c.Node+"@"+c.Revision)
	}
	for _, uid := range f.Deletes {
		words = append(words, "delete "+string(uid))
	}
	for _, uid := range f.Patches {
		words = append(words, "patch "+string(uid))
	}
	for _, name := range f.Revisions {
		words = append(words, "revision "+name)
	}
	return strings.Join(words, ", ")
}

// uniqueRows refuses rows without a name of their own or without a reason.
type uniqueRows map[string]bool

func (r uniqueRows) check(t *testing.T, name, why string) {
	t.Helper()
	if name == "" || why == "" || r[name] {
		t.Fatalf("row %q needs a unique name and a why", name)
	}
	r[name] = true
}

// These are the requests of the tables, as text shows what Observe returns. Spaces at the end tell requests for one revision
// apart.
const (
	creating        = "create n1@6f"
	deleting        = "delete u1"
	patching        = "patch u1"
	revising        = "revision agent-6f"
	writingRevision = "revision agent-6f " // of a revision that exists
	endingRevision  = "revision agent-6f  "
)

// ask notes one of the requests above.
func ask(t *inflight.Tracker, what string) *inflight.Request {
	switch what {
	case creating:
		return t.Create(noon, rollout.Create{Node: "n1", Revision: "6f"})
	case deleting:
		return t.Delete(noon, rollout.Delete{Node: "n1", Pod: "p", UID: "u1"})
	case patching:
		return t.Patch(noon, rollout.Patch{Node: "n1", Pod: "p", UID: "u1"})
	case revising:
		return t.Revise(noon, rollout.RevisionAction{Verb: rollout.CreateRevision, Name: "agent-6f"})
	case writingRevision:
		return t.Revise(noon, rollout.RevisionAction{Verb: rollout.AnnotateRevision, Name: "agent-6f", UID: "r1"})
	default:
		return t.Revise(noon, rollout.RevisionAction{Verb: rollout.DeleteRevision, Name: "agent-6f", UID: "r1"})
	}
}

func TestTracker(t *testing.T) {
	var none *corev1.Pod
	pods := func(list ...*corev1.Pod) []*corev1.Pod { return list }
	revisions := func(list ...*appsv1.ControllerRevision) []*appsv1.ControllerRevision { return list }
	silence := errors.New("no answer yet")
	tests := []struct {
		name, why string
		ask       string
		answer    metav1.Object
		err       error // silence: there is no answer
		after     time.Duration
		pods      []*corev1.Pod
		revisions []*appsv1.ControllerRevision
		gone      bool
	}{
		{name: "create without an answer", why: "it may be executed at any moment", ask: creating, err: silence, pods: pods(pod("u0", "7"))},
		{name: "create without an answer, pod without a UID", why: "no pod is the one that is created, least of all such a one",
			ask: creating, err: silence, pods: pods(pod("", "7"))},
		{name: "create without an answer for long", why: "nobody will answer any more: the wait has an end",
			ask: creating, err: silence, after: inflight.DefaultUnseenAfter, gone: true},
		{name: "created, not shown", why: "all that the cache shows is older", ask: creating, answer: pod("u1", "10"), pods: pods(pod("u0", "9"))},
		{name: "created, in an empty cache", why: "an empty cache shows nothing", ask: creating, answer: pod("u1", "10")},
		{name: "created and shown", why: "the cache has the pod", ask: creating, answer: pod("u1", "10"), pods: pods(pod("u1", "10")), gone: true},
		{name: "created and changed since", why: "it is that pod all the same", ask: creating, answer: pod("u1", "10"),
			pods: pods(pod("u1", "12")), gone: true},
		{name: "created, then gone unseen", why: "the cache shows what came later, so it has shown the pod and its end",
			ask: creating, answer: pod("u1", "10"), pods: pods(pod("u0", "11")), gone: true},
		{name: "created, another of that very version", why: "versions are of the whole kind; whoever shows it has shown the pod",
			ask: creating, answer: pod("u1", "10"), pods: pods(pod("u0", "10")), gone: true},
		{name: "created, versions of different length", why: "they are numbers: 9 is older than 10", ask: creating, answer: pod("u1", "10"),
			pods: pods(pod("u0", "9"), pod("u2", "8"))},
		{name: "created, a pod without a version is shown", why: "what cannot be read is older than any", ask: creating,
			answer: pod("u1", "10"), pods: pods(pod("u0", ""), pod("u2", "x9"))},
		{name: "created, the newest is not the first", why: "one that is new enough is enough", ask: creating, answer: pod("u1", "10"),
			pods: pods(pod("u0", "x"), pod("u2", "11"), pod("u3", "3"), nil), gone: true},
		{name: "created, versions that cannot be read", why: "then only the pod itself tells", ask: creating,
			answer: pod("u1", "v10"), pods: pods(pod("u0", "v11"))},
		{name: "created and shown, versions that cannot be read", why: "its UID is enough", ask: creating,
			answer: pod("u1", "v10"), pods: pods(pod("u1", "v10")), gone: true},
		{name: "created, revisions are newer", why: "they come by another watch, which may be ahead", ask: creating,
			answer: pod("u1", "10"), revisions: revisions(revision("agent-6f", "r1", "20"))},
		{name: "create answered without an object", why: "then nothing tells that it is shown", ask: creating, pods: pods(pod("u1", "10"))},
		{name: "create answered with a nil pod", why: "which is no object either", ask: creating, answer: none, pods: pods(pod("u1", "10"))},
		{name: "created, the watch is broken", why: "it says nothing for too long", ask: creating, answer: pod("u1", "10"),
			after: inflight.DefaultUnseenAfter, gone: true},
		{name: "created, the watch is slow", why: "but not yet", ask: creating, answer: pod("u1", "10"), after: inflight.DefaultUnseenAfter - 1},
		{name: "create refused", why: "it was not executed, so it may be asked for anew", ask: creating, err: errRefused, gone: true},
		{name: "create in no namespace", why: "not found: refused like any other", ask: creating, err: errNotFound, gone: true},
		{name: "create lost", why: "it may have been executed", ask: creating, err: errLost},
		{name: "create lost, a pod is shown", why: "nobody knows its UID", ask: creating, err: errLost, pods: pods(pod("u1", "10"))},
		{name: "create lost a while ago", why: "just not over", ask: creating, err: errLost, after: inflight.DefaultLostAfter - 1},
		{name: "create lost long ago", why: "the API server works on nothing for so long", ask: creating, err: errLost,
			after: inflight.DefaultLostAfter, gone: true},

		{name: "delete without an answer", why: "the cache still shows the pod", ask: deleting, err: silence, pods: pods(pod("u1", "5"))},
		{name: "deleted, not shown", why: "the same with an answer", ask: deleting, pods: pods(pod("u1", "5"))},
		{name: "deleted, with an answer that names nobody", why: "the plan said which pod", ask: deleting, answer: &corev1.Pod{},
			pods: pods(pod("u1", "5"))},
		{name: "deleted, newer versions are shown", why: "the pod itself is what counts", ask: deleting, pods: pods(pod("u1", "5"), pod("u0", "99"))},
		{name: "deleted and marked", why: "the cache shows it going", ask: deleting, pods: pods(going(pod("u1", "6"))), gone: true},
		{name: "deleted and gone", why: "the cache does not have it any more", ask: deleting, pods: pods(pod("u0", "5")), gone: true},
		{name: "deleted and gone before any answer", why: "whoever did it", ask: deleting, err: silence, gone: true},
		{name: "delete of what is not there", why: "the cache has yet to show that; until then it would be deleted again and again",
			ask: deleting, err: errNotFound, pods: pods(pod("u1", "5"))},
		{name: "delete of what is not there, and shown", why: "the cache has caught up", ask: deleting, err: errNotFound, gone: true},
		{name: "delete of what is not there, for long", why: "not even that wait is for ever", ask: deleting, err: errNotFound,
			after: inflight.DefaultUnseenAfter, pods: pods(pod("u1", "5")), gone: true},
		{name: "delete refused", why: "it may be asked for anew", ask: deleting, err: errRefused, pods: pods(pod("u1", "5")), gone: true},
		{name: "delete lost", why: "it may have been executed", ask: deleting, err: errLost, pods: pods(pod("u1", "5"))},
		{name: "delete lost long ago", why: "it was not", ask: deleting, err: errLost, after: inflight.DefaultLostAfter,
			pods: pods(pod("u1", "5")), gone: true},

		{name: "patch without an answer", why: "any version may be the one after it", ask: patching, err: silence, pods: pods(pod("u1", "50"))},
		{name: "patched, not shown", why: "an older version", ask: patching, answer: pod("u1", "10"), pods: pods(pod("u1", "9"))},
		{name: "patched, newer versions of others", why: "no watch shows that, so nothing is concluded from it",
			ask: patching, answer: pod("u1", "10"), pods: pods(pod("u1", "9"), pod("u0", "11"))},
		{name: "patched and shown", why: "that very version", ask: patching, answer: pod("u1", "10"), pods: pods(pod("u1", "10")), gone: true},
		{name: "patched and changed since", why: "a later version has the patch, too", ask: patching, answer: pod("u1", "10"),
			pods: pods(pod("u1", "11")), gone: true},
		{name: "patched, pod gone", why: "there is nothing to wait for", ask: patching, answer: pod("u1", "10"), pods: pods(pod("u2", "11")), gone: true},
		{name: "patched, version that cannot be read", why: "nobody knows", ask: patching, answer: pod("u1", "v10"), pods: pods(pod("u1", "v10"))},
		{name: "patched, the answer names another", why: "the plan said which pod", ask: patching, answer: pod("u2", "10"),
			pods: pods(pod("u1", "9"), pod("u2", "10"))},
		{name: "patch by a subresource that there is not", why: "refused: the pod is there", ask: patching, err: errUnknown, gone: true,
			pods: pods(pod("u1", "5"))},
		{name: "patch of what is not there", why: "the cache has yet to show that", ask: patching, err: errNotFound, pods: pods(pod("u1", "5"))},
		{name: "patch refused", why: "a conflict: look again", ask: patching, err: errRefused, pods: pods(pod("u1", "5")), gone: true},
		{name: "patch lost", why: "it may have been executed", ask: patching, err: errLost, pods: pods(pod("u1", "5"))},

		{name: "revision without an answer", why: "it may be executed at any moment", ask: revising, err: silence,
			revisions: revisions(revision("agent-5e", "r0", "50"))},
		{name: "revision without an answer, one without a UID", why: "no revision is the one that is created, least of all such a one",
			ask: revising, err: silence, revisions: revisions(revision("agent-6f", "", "7"))},
		{name: "revision created, the newest is not the last", why: "one that is new enough is enough", ask: revising,
			answer: revision("agent-6f", "r1", "10"), revisions: revisions(revision("a", "r2", "11"), revision("b", "r3", "3")), gone: true},
		{name: "revision created, not shown", why: "all that is shown is older", ask: revising, answer: revision("agent-6f", "r1", "10"),
			revisions: revisions(revision("agent-5e", "r0", "9"))},
		{name: "revision created, a namesake is shown", why: "an earlier one, which has gone since", ask: revising,
			answer: revision("agent-6f", "r1", "10"), revisions: revisions(revision("agent-6f", "r0", "8"))},
		{name: "revision created and shown", why: "the cache has it", ask: revising, answer: revision("agent-6f", "r1", "10"),
			revisions: revisions(revision("agent-6f", "r1", "10")), gone: true},
		{name: "revision created and shown, versions that cannot be read", why: "its UID is enough", ask: revising,
			answer: revision("agent-6f", "r1", "x"), revisions: revisions(revision("agent-6f", "r1", "x")), gone: true},
		{name: "revision created, then gone unseen", why: "the cache shows what came later", ask: revising,
			answer: revision("agent-6f", "r1", "10"), revisions: revisions(nil, revision("agent-5e", "r0", "11")), gone: true},
		{name: "revision created, pods are newer", why: "they come by another watch", ask: revising,
			answer: revision("agent-6f", "r1", "10"), pods: pods(pod("u1", "20"))},
		{name: "revision created in no namespace", why: "refused like any other", ask: revising, err: errNotFound, gone: true},
		{name: "revision patched, not shown", why: "an older version", ask: writingRevision, answer: revision("agent-6f", "r1", "10"),
			revisions: revisions(revision("agent-6f", "r1", "9"))},
		{name: "revision patched and shown", why: "that very version", ask: writingRevision, answer: revision("agent-6f", "r1", "10"),
			revisions: revisions(revision("agent-6f", "r1", "10")), gone: true},
		{name: "revision patched and gone", why: "nothing to wait for", ask: writingRevision, answer: revision("agent-6f", "r1", "10"), gone: true},
		{name: "patch of a revision that is not there", why: "as of a pod", ask: writingRevision, err: errNotFound,
			revisions: revisions(revision("agent-6f", "r1", "9"))},
		{name: "revision deleted, not shown", why: "the cache still has it", ask: endingRevision, revisions: revisions(revision("agent-6f", "r1", "9"))},
		{name: "revision deleted and marked", why: "the cache shows it going", ask: endingRevision,
			revisions: revisions(going(revision("agent-6f", "r1", "9"))), gone: true},
		{name: "revision deleted and gone", why: "the cache does not have it any more", ask: endingRevision, gone: true},
		{name: "revision deleted, a namesake is shown", why: "another one has taken its place", ask: endingRevision,
			revisions: revisions(revision("agent-6f", "r2", "12")), gone: true},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			var tracker inflight.Tracker
			request := ask(&tracker, tt.ask)
			if !errors.Is(tt.err, silence) {
				tracker.Answer(noon, request, tt.answer, tt.err)
			}
			got, giveUp := tracker.Observe(noon.Add(tt.after), tt.pods, tt.revisions)
			want := strings.TrimSpace(tt.ask)
			if tt.gone {
				want = ""
			}
			if text(got) != want {
				t.Errorf("waits for %q, want %q: %s", text(got), want, tt.why)
			}
			if forgotten := tt.gone && !inflight.IsRefused(tt.err); giveUp.IsZero() != forgotten || !giveUp.Equal(tracker.GiveUp()) {
				t.Errorf("gives up at %v, and then at %v", giveUp, tracker.GiveUp())
			}
		})
	}
}

// A request that Observe has taken out stays out, whatever the caches show later.
func TestTrackerForgets(t *testing.T) {
	var tracker inflight.Tracker
	request := ask(&tracker, deleting)
	if left, _ := tracker.Observe(noon, nil, nil); text(left) != "" {
		t.Fatal(text(left))
	}
	tracker.Answer(noon, request, nil, errLost)
	if left, giveUp := tracker.Observe(noon, []*corev1.Pod{pod("u1", "5")}, nil); text(left) != "" || !giveUp.IsZero() {
		t.Errorf("waits for %s again", text(left))
	}
}

func TestTrackerWaits(t *testing.T) {
	const second = time.Second
	type answer struct {
		at  time.Duration
		err error
	}
	tests := []struct {
		name, why    string
		unseen, lost time.Duration
		answers      []answer
		want         time.Duration
	}{
		{"no answer", "counted from when it was noted", 10 * second, 5 * second, nil, 10 * second},
		{"answer", "a request that waited for its turn has as long from then on", 10 * second, 5 * second, []answer{{8 * second, nil}}, 18 * second},
		{"answer after its time", "the request is still known, because nobody looked", 10 * second, 5 * second,
			[]answer{{20 * second, nil}}, 30 * second},
		{"lost", "counted from the end of the request", 10 * second, 5 * second, []answer{{8 * second, errLost}}, 13 * second},
		{"lost, longer than unseen", "each has its own length", 10 * second, 50 * second, []answer{{8 * second, errLost}}, 58 * second},
		{"not found", "the caches have as long as for anything else", 10 * second, 5 * second, []answer{{8 * second, errNotFound}}, 18 * second},
		{"lost, then answered", "the last word counts", 10 * second, 5 * second, []answer{{second, errLost}, {2 * second, nil}}, 12 * second},
		{"defaults", "those of the constants", 0, 0, nil, inflight.DefaultUnseenAfter},
		{"default for lost", "those of the constants", 0, 0, []answer{{second, errLost}}, second + inflight.DefaultLostAfter},
		{"shortest", "is positive", 1, 5 * second, nil, 1},
		{"negative", "means the default", -1, -1, nil, inflight.DefaultUnseenAfter},
		{"negative for lost", "means the default", -1, -1, []answer{{second, errLost}}, second + inflight.DefaultLostAfter},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			tracker := inflight.Tracker{UnseenAfter: tt.unseen, LostAfter: tt.lost}
			request := ask(&tracker, deleting)
			for _, a := range tt.answers {
				tracker.Answer(noon.Add(a.at), request, nil, a.err)
			}
			caches := []*corev1.Pod{pod("u1", "5")}
			if got := tracker.GiveUp().Sub(noon); got != tt.want {
				t.Fatalf("gives up after %v, want %v: %s", got, tt.want, tt.why)
			}
			if left, _ := tracker.Observe(noon.Add(tt.want-1), caches, nil); text(left) != deleting {
				t.Error("gives up too early")
			}
			if left, _ := tracker.Observe(noon.Add(tt.want), caches, nil); text(left) != "" {
				t.Error("does not give up")
			}
		})
	}
}

// GiveUp is the first instant at which a request is given up, whatever the order in which the requests were noted.
func TestTrackerGiveUp(t *testing.T) {
	var tracker inflight.Tracker
	if !tracker.GiveUp().IsZero() {
		t.Error("waits for something")
	}
	created, patched := ask(&tracker, creating), ask(&tracker, patching)
	tracker.Answer(noon.Add(time.Second), patched, nil, errLost)
	if got := tracker.GiveUp(); !got.Equal(noon.Add(time.Second + inflight.DefaultLostAfter)) {
		t.Errorf("gives up at %v", got)
	}
	tracker.Answer(noon, created, nil, errLost)
	if got := tracker.GiveUp(); !got.Equal(noon.Add(inflight.DefaultLostAfter)) {
		t.Errorf("gives up at %v", got)
	}
}

// Several requests for one object are one entry, as long as any of them is in flight. Requests for different objects are one
// entry each.
func TestTrackerSeveral(t *testing.T) {
	var tracker inflight.Tracker
	first, second := ask(&tracker, patching), ask(&tracker, patching)
	ask(&tracker, writingRevision)
	ask(&tracker, endingRevision)
	tracker.Patch(noon, rollout.Patch{UID: "u0"})
	tracker.Create(noon, rollout.Create{Node: "n2", Revision: "6f"})
	tracker.Create(noon, rollout.Create{Node: "n1", Revision: "6f"})
	tracker.Create(noon, rollout.Create{Node: "n1", Revision: "5e"})
	tracker.Answer(noon, second, pod("u1", "11"), nil)
	tracker.Answer(noon, first, pod("u1", "10"), nil)
	revisions := []*appsv1.ControllerRevision{revision("agent-6f", "r1", "9")}
	for _, tt := range []struct{ version, want string }{
		{"9", "create n2@6f, create n1@6f, create n1@5e, patch u0, patch u1, revision agent-6f"},
		{"10", "create n2@6f, create n1@6f, create n1@5e, patch u0, patch u1, revision agent-6f"},
		{"11", "create n2@6f, create n1@6f, create n1@5e, patch u0, revision agent-6f"},
	} {
		left, _ := tracker.Observe(noon, []*corev1.Pod{pod("u1", tt.version), pod("u0", "5")}, revisions)
		if text(left) != tt.want {
			t.Errorf("at version %s it waits for\n%s, want\n%s", tt.version, text(left), tt.want)
		}
	}
}

// An answer to a nil request, to a request of another tracker or to one that was taken out changes nothing in either tracker.
func TestTrackerAnswersItsOwn(t *testing.T) {
	caches := []*corev1.Pod{pod("u1", "5"), pod("u2", "20")}
	tests := []struct {
		name, why string
		request   func(own, other *inflight.Tracker) *inflight.Request
	}{
		{"nil", "there is none", func(_, _ *inflight.Tracker) *inflight.Request { return nil }},
		{"zero", "one that no tracker made", func(_, _ *inflight.Tracker) *inflight.Request { return new(inflight.Request) }},
		{"of another tracker", "that is another set's", func(_, other *inflight.Tracker) *inflight.Request { return ask(other, creating) }},
		{"taken out", "it was refused, and is not asked for any more", func(own, _ *inflight.Tracker) *inflight.Request {
			request := own.Create(noon, rollout.Create{Node: "n9"})
			own.Answer(noon, request, nil, errRefused)
			return request
		}},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		for _, err := range []error{nil, errLost, errRefused, errNotFound} {
			t.Run(fmt.Sprint(tt.name, " ", err), func(t *testing.T) {
				var own, other inflight.Tracker
				ask(&own, deleting)
				request := tt.request(&own, &other)
				before, _ := other.Observe(noon, caches, nil)
				own.Answer(noon.Add(-time.Hour), request, pod("u2", "20"), err)
				if left, giveUp := own.Observe(noon, caches, nil); text(left) != deleting || !giveUp.Equal(noon.Add(inflight.DefaultUnseenAfter)) {
					t.Errorf("waits for %q until %v: %s", text(left), giveUp, tt.why)
				}
				if after, _ := other.Observe(noon, caches, nil); text(after) != text(before) {
					t.Errorf("the other one waited for %q, and now for %q: %s", text(before), text(after), tt.why)
				}
			})
		}
	}
}

// A nil tracker accepts every call, and holds nothing.
func TestNilTracker(t *testing.T) {
	var tracker *inflight.Tracker
	for _, what := range []string{creating, deleting, patching, revising, writingRevision, endingRevision} {
		tracker.Answer(noon, ask(tracker, what), pod("u1", "5"), nil)
	}
	if left, giveUp := tracker.Observe(noon, nil, nil); text(left) != "" || !giveUp.IsZero() || !tracker.GiveUp().IsZero() {
		t.Errorf("waits for %s until %v", text(left), giveUp)
	}
}

func TestMaybeExecuted(t *testing.T) {
	status := func(code int32) error { return &apierrors.StatusError{ErrStatus: metav1.Status{Code: code}} }
	pods := schema.GroupResource{Resource: "pods"}
	tests := []struct {
		name, why string
		err       error
		want      bool
	}{
		{"no error", "it was", nil, true},
		{"connection reset", "the answer was lost", errLost, true},
		{"end of the connection", "the answer was lost", fmt.Errorf("post: %w", io.EOF), true},
		{"deadline", "the client did not wait for the answer", fmt.Errorf("post: %w", context.DeadlineExceeded), true},
		{"connection refused", "nobody received it", &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, false},
		{"wrapped connection refused", "nobody received it", fmt.Errorf("post: %w", syscall.ECONNREFUSED), false},
		{"some error", "who knows", errors.New("some error"), true},
		{"conflict", "refused", errRefused, false},
		{"wrapped conflict", "refused, whoever says so", fmt.Errorf("create: %w", errRefused), false},
		{"joined conflict", "refused, among other things", errors.Join(errors.New("create"), errRefused), false},
		{"already exists", "refused", apierrors.NewAlreadyExists(pods, "p"), false},
		{"forbidden", "refused", apierrors.NewForbidden(pods, "p", errors.New("quota")), false},
		{"invalid", "refused", status(422), false},
		{"not found", "refused", errNotFound, false},
		{"unknown path", "refused", errUnknown, false},
		{"too many requests", "refused, to be tried later", apierrors.NewTooManyRequests("later", 1), false},
		{"bad request", "the first of the refusals", status(400), false},
		{"last of the refusals", "all of 4xx are", status(499), false},
		{"internal error", "it may have failed after it was executed", apierrors.NewInternalError(errors.New("etcd")), true},
		{"server timeout", "it gave up waiting for itself", apierrors.NewServerTimeout(pods, "create", 1), true},
		{"timeout", "it gave up waiting for itself", apierrors.NewTimeoutError("late", 1), true},
		{"service unavailable", "nobody knows since when", apierrors.NewServiceUnavailable("down"), true},
		{"status without a code", "it says nothing", status(0), true},
		{"redirect", "that is no refusal", status(399), true},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		if got := inflight.MaybeExecuted(tt.err); got != tt.want {
			t.Errorf("%s: %v, want %v: %s", tt.name, got, tt.want, tt.why)
		}
	}
}

func TestIsGone(t *testing.T) {
	tests := []struct {
		name, why string
		err       error
		want      bool
	}{
		{"no error", "it is there", nil, false},
		{"not found", "the API server says so", errNotFound, true},
		{"wrapped", "whoever says so", fmt.Errorf("delete: %w", errNotFound), true},
		{"unknown path", "that says nothing of the pod", errUnknown, false},
		{"conflict", "it is there", errRefused, false},
		{"connection reset", "who knows", errLost, false},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		if got := inflight.IsGone(tt.err); got != tt.want {
			t.Errorf("%s: %v, want %v: %s", tt.name, got, tt.want, tt.why)
		}
	}
}

// Observe returns slices that the caller may write to.
func TestTrackerOwnsWhatItKeeps(t *testing.T) {
	var tracker inflight.Tracker
	for _, what := range []string{creating, deleting, patching, revising} {
		ask(&tracker, what)
	}
	caches := []*corev1.Pod{pod("u1", "5")}
	first, _ := tracker.Observe(noon, caches, nil)
	want := text(first)
	first.Creates[0].Node, first.Deletes[0], first.Patches[0], first.Revisions[0] = "written", "written", "written", "written"
	_ = slices.Insert(first.Patches, 0, "written")
	if second, _ := tracker.Observe(noon, caches, nil); text(second) != want {
		t.Errorf("waits for %s, want %s", text(second), want)
	}
}
