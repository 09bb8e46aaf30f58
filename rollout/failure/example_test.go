package failure_test

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/rollout/failure"
)

// A pod of the new revision that is not available fails its node ten minutes after it was created.
func ExampleOptions_Of() {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(now.Add(-4 * time.Minute))}}
	options := failure.Options{}.Default()

	verdict := options.Of(pod, failure.Series{}, now)
	fmt.Println(verdict.Failed, verdict.At.Format(time.TimeOnly))
	verdict = options.Of(pod, failure.Series{First: now.Add(-time.Hour), Deleted: 6}, now) // it is the seventh in an hour
	fmt.Println(verdict.Failed)
	// Output:
	// false 12:06:00
	// true
}
