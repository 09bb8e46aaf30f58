package lifecycle_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/lifecycle"
)

// usual returns a running pod with the five conditions that a kubelet reports, Ready since t.
func usual(t time.Time) *corev1.Pod {
	return running(
		condition(corev1.PodReadyToStartContainers, corev1.ConditionTrue, t),
		condition(corev1.PodInitialized, corev1.ConditionTrue, t),
		ready(t),
		condition(corev1.ContainersReady, corev1.ConditionTrue, t),
		condition(corev1.PodScheduled, corev1.ConditionTrue, t),
	)
}

func BenchmarkEvaluate(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		pods := make([]*corev1.Pod, n)
		for i := range pods {
			pods[i] = usual(noon.Add(-time.Duration(i) * time.Second))
		}
		b.Run(fmt.Sprintf("pods=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			available := 0
			for b.Loop() {
				available = 0
				for _, p := range pods {
					if lifecycle.Evaluate(p, 30, noon).Available {
						available++
					}
				}
			}
			if available != n-30 {
				b.Fatalf("%d of %d pods available, want all but 30", available, n)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/pod")
		})
	}
}

// A fleet at rest, all of it hooked: what hooks cost a plan that has nothing to do.
func BenchmarkNext(b *testing.B) {
	hooks := lifecycle.Hooks{PreDelete: &lifecycle.Hook{Labels: map[string]string{"drain": "on"}, MarkPodNotReady: true}}
	for _, n := range []int{1_000, 10_000, 100_000} {
		pods := make([]*corev1.Pod, n)
		for i := range pods {
			pods[i] = usual(noon)
			pods[i].Labels = map[string]string{"app": "agent", "drain": "on"}
			pods[i].Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: lifecycle.PodReady}}
			setReadiness(pods[i], corev1.ConditionTrue, "[]")
		}
		b.Run(fmt.Sprintf("pods=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for _, p := range pods {
					if lifecycle.Unfinished(p) || hooks.Next(p, lifecycle.Keep, true).Changes() {
						b.Fatal("something is to be done")
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/pod")
		})
	}
}
