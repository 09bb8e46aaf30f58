package inflight_test

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/inflight"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// The cache of a controller does not show yet what the controller asked for. Without the tracker the second plan would ask for
// the same pods again.
func Example() {
	planner, err := rollout.New(rollouttest.Spec("agent"))
	if err != nil {
		panic(err)
	}
	var tracker inflight.Tracker
	var cache []*corev1.Pod // what the watch has shown
	snapshot := rollout.Snapshot{Now: rollouttest.Noon(), Nodes: rollouttest.Nodes("n1", "n2")}
	reconcile := func() {
		snapshot.InFlight, _ = tracker.Observe(snapshot.Now, cache, nil)
		plan, err := planner.Plan(snapshot)
		if err != nil {
			panic(err)
		}
		for _, action := range plan.Revisions {
			request := tracker.Revise(snapshot.Now, action)
			tracker.Answer(snapshot.Now, request, action.Object, nil) // as if it were sent
		}
		for i, action := range plan.Creates {
			request := tracker.Create(snapshot.Now, action)
			created := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u", ResourceVersion: fmt.Sprint(7 + i)}}
			tracker.Answer(snapshot.Now, request, created, nil)
		}
		fmt.Printf("%d in flight, %d creates\n", len(snapshot.InFlight.Creates), len(plan.Creates))
	}
	reconcile()
	reconcile()
	// Output:
	// 0 in flight, 2 creates
	// 2 in flight, 0 creates
}

// The answer has the version of the pod. A cache that shows that version, or a later one of any pod, has shown the pod.
func ExampleTracker_Observe() {
	var tracker inflight.Tracker
	now := rollouttest.Noon()
	request := tracker.Create(now, rollout.Create{Node: "n1", Revision: "84b74"})
	created := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u1", ResourceVersion: "101"}}
	tracker.Answer(now, request, created, nil)

	other := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u0", ResourceVersion: "99"}}
	waiting, giveUp := tracker.Observe(now, []*corev1.Pod{other}, nil)
	fmt.Println(waiting.Creates, giveUp.Sub(now))

	waiting, giveUp = tracker.Observe(now, []*corev1.Pod{other, created}, nil)
	fmt.Println(waiting.Creates, giveUp.IsZero())
	// Output:
	// [{n1 84b74}] 5m0s
	// [] true
}

// A conflict shows that nothing was done. When the connection breaks, nobody knows whether the request was executed, so the pod
// is left alone for a while.
func ExampleTracker_Answer() {
	var tracker inflight.Tracker
	now := rollouttest.Noon()
	cache := []*corev1.Pod{{ObjectMeta: metav1.ObjectMeta{UID: "u1"}}, {ObjectMeta: metav1.ObjectMeta{UID: "u2"}}}
	first := tracker.Delete(now, rollout.Delete{UID: "u1"})
	second := tracker.Delete(now, rollout.Delete{UID: "u2"})

	tracker.Answer(now, first, nil, apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "p", errors.New("another UID")))
	tracker.Answer(now, second, nil, syscall.ECONNRESET)
	for _, after := range []time.Duration{0, time.Minute} {
		waiting, _ := tracker.Observe(now.Add(after), cache, nil)
		fmt.Println(waiting.Deletes)
	}
	// Output:
	// [u2]
	// []
}

// A request is noted before it is sent: the watch may be faster than the answer.
func ExampleTracker_Create() {
	var tracker inflight.Tracker
	tracker.Create(rollouttest.Noon(), rollout.Create{Node: "n1", Revision: "84b74"})
	waiting, _ := tracker.Observe(rollouttest.Noon(), nil, nil)
	fmt.Println(waiting.Creates)
	// Output: [{n1 84b74}]
}

// A pod that is marked for deletion, or gone, was deleted, whatever the answer was.
func ExampleTracker_Delete() {
	var tracker inflight.Tracker
	now := rollouttest.Noon()
	tracker.Delete(now, rollout.Delete{UID: "u1"})
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u1"}}
	for range 2 {
		waiting, _ := tracker.Observe(now, []*corev1.Pod{pod}, nil)
		fmt.Println(waiting.Deletes)
		pod.DeletionTimestamp = &metav1.Time{Time: now}
	}
	// Output:
	// [u1]
	// []
}

// A patched pod is shown in the version of the answer, or in a later one.
func ExampleTracker_Patch() {
	var tracker inflight.Tracker
	now := rollouttest.Noon()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u1", ResourceVersion: "9"}}
	patched := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u1", ResourceVersion: "10"}}
	tracker.Answer(now, tracker.Patch(now, rollout.Patch{UID: "u1"}), patched, nil)
	for _, shown := range []*corev1.Pod{pod, patched} {
		waiting, _ := tracker.Observe(now, []*corev1.Pod{shown}, nil)
		fmt.Println(waiting.Patches)
	}
	// Output:
	// [u1]
	// []
}

// The planner knows revisions in flight by name.
func ExampleTracker_Revise() {
	var tracker inflight.Tracker
	now := rollouttest.Noon()
	tracker.Revise(now, rollout.RevisionAction{Verb: rollout.CreateRevision, Name: "agent-84b74"})
	waiting, _ := tracker.Observe(now, nil, nil)
	fmt.Println(waiting.Revisions)
	// Output: [agent-84b74]
}

// GiveUp, after the requests of a plan were sent, is the latest instant at which to plan again.
func ExampleTracker_GiveUp() {
	var tracker inflight.Tracker
	fmt.Println(tracker.GiveUp().IsZero())
	tracker.Create(rollouttest.Noon(), rollout.Create{Node: "n1", Revision: "84b74"})
	fmt.Println(tracker.GiveUp().Sub(rollouttest.Noon()))
	// Output:
	// true
	// 5m0s
}

func ExampleMaybeExecuted() {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "p", errors.New("another version"))
	fmt.Println(inflight.MaybeExecuted(conflict))
	fmt.Println(inflight.MaybeExecuted(syscall.ECONNREFUSED))
	fmt.Println(inflight.MaybeExecuted(syscall.ECONNRESET))
	// Output:
	// false
	// false
	// true
}
