package rollout_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout/history"
)

// BenchmarkFloor only looks at what no planner can do without: of each node its name, its taints and as many labels as the
// template of the other benchmarks asks for, of each pod its UID, its deletion mark, its phase, its conditions, its node and its
// revision. Nothing is joined, sorted or kept. What a plan takes beyond that is what a planner costs.
//
// Whoever tells names and UIDs apart has to read them: here they are searched for a byte that none of them has.
func BenchmarkFloor(b *testing.B) {
	for _, n := range benchSizes {
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			snapshot := benchSnapshot(b, benchSpec(), n)
			hash := history.HashOf(snapshot.Revisions[1])
			b.ReportAllocs()
			b.ResetTimer()
			for b.Loop() {
				eligible, available := 0, 0
				for _, node := range snapshot.Nodes {
					if looksEligible(node) {
						eligible++
					}
				}
				for _, pod := range snapshot.Pods {
					if looksAvailable(pod, hash) {
						available++
					}
				}
				if eligible != n || available != n {
					b.Fatalf("%d nodes are eligible and %d pods available, want %d", eligible, available, n)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/node")
		})
	}
}

// nothing is in no name and no UID.
const nothing = '!'

func looksEligible(node *corev1.Node) bool {
	if strings.IndexByte(node.Name, nothing) >= 0 {
		return false
	}
	for i := range node.Spec.Taints {
		if taint := &node.Spec.Taints[i]; taint.Effect == corev1.TaintEffectNoSchedule && taint.Key != "dedicated" {
			return false
		}
	}
	if _, excluded := node.Labels["node.kubernetes.io/exclude-agent"]; excluded || node.Labels["kubernetes.io/os"] != "linux" {
		return false
	}
	arch := node.Labels["kubernetes.io/arch"]
	return arch == "amd64" || arch == "arm64"
}

func looksAvailable(pod *corev1.Pod, hash string) bool {
	if strings.IndexByte(string(pod.UID), nothing) >= 0 || strings.IndexByte(pod.Spec.NodeName, nothing) >= 0 ||
		pod.DeletionTimestamp != nil || pod.Status.Phase != corev1.PodRunning {
		return false
	}
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Type == corev1.PodReady {
			ready := c.Status == corev1.ConditionTrue && c.LastTransitionTime.Add(30*time.Second).Before(benchNow)
			return ready && pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] == hash
		}
	}
	return false
}
