package rollout_test

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/predownload"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/domain"
	"github.com/daemonplan/daemonplan/rollout/failure"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/outage"
	"github.com/daemonplan/daemonplan/rollout/stage"
)

// BenchmarkFeatures is a plan in the middle of a rollout on 15,000 nodes, with one feature after another, and with all of
// them. The fleet is the same throughout.
func BenchmarkFeatures(b *testing.B) {
	const n = 15_000
	partition := func(s *rollout.Spec) { s.Strategy.Partition = new(intstr.FromString("20%")) }
	selector := func(s *rollout.Spec) {
		s.Strategy.NodeSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "kubernetes.io/arch", Operator: metav1.LabelSelectorOpIn, Values: []string{"amd64", "arm64"}},
		}}
	}
	inPlace := func(s *rollout.Spec) { s.Strategy.Method = inplace.IfPossible }
	preDownload := func(s *rollout.Spec) {
		s.PreDownload = &predownload.Options{Parallelism: new(intstr.FromString("10%"))}
	}
	hooks := func(s *rollout.Spec) {
		s.Lifecycle.PreDelete = &lifecycle.Hook{Labels: map[string]string{"drain": "wanted"}, MarkPodNotReady: true}
	}
	outages := func(s *rollout.Spec) {
		s.Strategy.Policy.Outages = &outage.Options{MaxExempt: new(intstr.FromString("5%"))}
	}
	domains := func(s *rollout.Spec) {
		s.Strategy.Policy.Domains = []domain.Domain{
			{Key: corev1.LabelTopologyZone, AtOnce: 1}, {Key: "example.com/rack", Max: new(intstr.FromInt32(2))},
		}
	}
	stages := func(s *rollout.Spec) {
		pool := func(name string) *metav1.LabelSelector {
			return &metav1.LabelSelector{MatchLabels: map[string]string{"pool": name}}
		}
		s.Strategy.Policy.Stages = []stage.Stage{
			{Name: "first", Selector: pool("pool-0"), Tolerance: new(intstr.FromString("50%"))},
			{Name: "second", Selector: pool("pool-1"), Tolerance: new(intstr.FromString("50%"))},
			{Name: "zones", Selector: pool("pool-2"), Key: corev1.LabelTopologyZone},
			{Name: "rest"},
		}
		s.Strategy.Policy.Expedite = canary.Any // so that as many nodes are begun as without stages
	}
	failures := func(s *rollout.Spec) {
		s.Strategy.Policy.Failures = &failure.Options{MaxFailed: new(intstr.FromString("5%")), Quarantine: new(intstr.FromInt32(1))}
	}
	for _, bench := range []struct {
		name     string
		features []func(*rollout.Spec)
	}{
		{"plain", nil},
		{"partition", []func(*rollout.Spec){partition}},
		{"selector", []func(*rollout.Spec){selector}},
		{"inplace", []func(*rollout.Spec){inPlace}},
		{"predownload", []func(*rollout.Spec){preDownload}},
		{"hooks", []func(*rollout.Spec){hooks}},
		{"outages", []func(*rollout.Spec){outages}},
		{"domains", []func(*rollout.Spec){domains}},
		{"stages", []func(*rollout.Spec){stages}},
		{"failures", []func(*rollout.Spec){failures}},
		{"policies", []func(*rollout.Spec){stages, domains, failures}},
		{"all", []func(*rollout.Spec){partition, selector, inPlace, preDownload, hooks}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			spec := benchSpec()
			snapshot := benchSnapshot(b, spec, n)
			for i, node := range snapshot.Nodes {
				node.Status.Images = benchImages()
				node.Labels["example.com/rack"] = fmt.Sprintf("r%03d", i/40)
			}
			for i, p := range snapshot.Pods {
				updatableBench(p)
				if i%2 == 0 {
					p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = history.HashOf(snapshot.Revisions[0])
				} else {
					p.Annotations[inplace.StateKey] = `{"revision":"new","updateTimestamp":"2026-01-15T11:00:00Z",` +
						`"lastContainerStatuses":{"agent":{"imageID":"sha256:1"}},"updateImages":true}`
				}
			}
			for _, feature := range bench.features {
				feature(&spec)
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

// benchImages returns as many as a kubelet reports.
func benchImages() []corev1.ContainerImage {
	images := make([]corev1.ContainerImage, 50)
	for i := range images {
		name := fmt.Sprintf("registry.example/team-%d/service-%d", i%7, i)
		images[i] = corev1.ContainerImage{Names: []string{
			fmt.Sprintf("%s@sha256:%064d", name, i), fmt.Sprintf("%s:v1.%d.0", name, i),
		}}
	}
	return images
}

// updatableBench makes a pod one that can be updated in place, as Kruise leaves them behind.
func updatableBench(p *corev1.Pod) {
	p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: lifecycle.InPlaceUpdateReady}}
	p.Spec.Containers = []corev1.Container{{Name: "agent", Image: "registry.example/agent:v1"}}
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
		Type: lifecycle.InPlaceUpdateReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(benchNow),
	})
	if p.Annotations == nil {
		p.Annotations = map[string]string{}
	}
}
