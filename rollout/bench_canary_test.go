package rollout_test

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// BenchmarkCanary is a plan on 15,000 nodes while a revision is tried on 5% of them, against the plan that has no canary and
// rolls on. The fleet is the same throughout: the canary's nodes have the update revision, all others the one before.
func BenchmarkCanary(b *testing.B) {
	const n, tried = 15_000, 750
	trial := func(s *rollout.Spec) {
		s.Strategy.Canary = &canary.Options{Replicas: new(intstr.FromString("5%")), NodeAntiAffinityKeys: []string{"topology.kubernetes.io/zone"}}
	}
	for _, bench := range []struct {
		name string
		spec func(*rollout.Spec)
		set  func(*rollout.Snapshot, []string)
	}{
		{"plain", func(*rollout.Spec) {}, nil},
		{"running", trial, func(s *rollout.Snapshot, nodes []string) {
			s.Memory.Version = rollout.MemoryVersion
			s.Memory.Canary = canary.Record{
				Revision: history.HashOf(s.Revisions[1]), Began: s.Now.Add(-time.Minute), Since: s.Now.Add(-time.Minute), Nodes: nodes,
			}
		}},
		{"choosing", trial, nil},
		{"failed", trial, func(s *rollout.Snapshot, _ []string) {
			s.Revisions[1] = objects.Marked(s.Revisions[1], map[string]string{history.FailedAnnotation: "TimedOut"})
		}},
		{"slowstart", kit.SlowStart(time.Minute, "1%", "10%"), nil},
		{"overrides", func(s *rollout.Spec) {
			s.Overrides = []placement.Override{{
				Name:         "arm",
				NodeSelector: metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/arch": "arm64"}},
				Containers:   map[string]corev1.ResourceRequirements{s.Template.Spec.Containers[0].Name: limits("1")},
			}}
		}, nil},
	} {
		b.Run(bench.name, func(b *testing.B) {
			spec := benchSpec()
			snapshot := benchSnapshot(b, spec, n)
			var nodes []string
			for i, p := range snapshot.Pods {
				if i < tried {
					nodes = append(nodes, p.Spec.NodeName)
					p.Labels[rollout.CanaryLabel] = "true"
				} else {
					p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = history.HashOf(snapshot.Revisions[0])
				}
			}
			bench.spec(&spec)
			if bench.set != nil {
				bench.set(&snapshot, nodes)
			}
			planner, err := rollout.New(spec)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for b.Loop() {
				if _, err := planner.Plan(snapshot); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/node")
		})
	}
}
