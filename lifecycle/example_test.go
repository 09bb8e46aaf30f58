package lifecycle_test

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/lifecycle"
)

// readySince returns a pod that has been ready since t.
func readySince(t time.Time) *corev1.Pod {
	return &corev1.Pod{Status: corev1.PodStatus{
		Phase: corev1.PodRunning,
		Conditions: []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(t)},
		},
	}}
}

// When to look again at a pod that is ready but not yet available.
func Example() {
	now := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	pod := readySince(now.Add(-20 * time.Second))

	r := lifecycle.Evaluate(pod, 30, now)
	fmt.Println(r.Ready, r.Available, r.AvailableAt.Sub(now))

	r = lifecycle.Evaluate(pod, 30, r.AvailableAt)
	fmt.Println(r.Ready, r.Available, r.AvailableAt.IsZero())
	// Output:
	// true false 10s
	// true true true
}

// An in-place update that is not complete outranks the Ready condition.
func ExampleEvaluate() {
	now := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	pod := readySince(now.Add(-time.Hour))
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
		Type: lifecycle.InPlaceUpdateReady, Status: corev1.ConditionFalse,
	})

	r := lifecycle.Evaluate(pod, 0, now)
	fmt.Println(r.Ready, r.Available)
	// Output: false false
}

func ExampleReady() {
	pod := readySince(time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC))
	fmt.Println(lifecycle.Ready(pod))

	pod.Status.Phase = corev1.PodFailed // evicted: its conditions are stale
	fmt.Println(lifecycle.Ready(pod))
	// Output:
	// true
	// false
}

func ExampleAvailable() {
	now := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	pod := readySince(now.Add(-30 * time.Second))
	fmt.Println(lifecycle.Available(pod, 30, now))
	fmt.Println(lifecycle.Available(pod, 31, now))
	// Output:
	// true
	// false
}

func ExampleTerminal() {
	pod := &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodSucceeded}}
	fmt.Println(lifecycle.Terminal(pod))
	// Output: true
}
