package stock_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/stock"
)

// BenchmarkKubernetes plans in the middle of a rollout on 100,000 nodes, with what earlier plans have read. A hundred pods change
// from plan to plan.
func BenchmarkKubernetes(b *testing.B) {
	spec, s := outdated(100_000, kit.MaxUnavailable("10%"))
	planner, err := stock.NewKubernetes(spec, 1)
	if err != nil {
		b.Fatal(err)
	}
	changed := make([]*corev1.Pod, len(s.Pods))
	for i, p := range s.Pods {
		changed[i] = p.DeepCopy()
		kit.Unready()(changed[i])
	}
	at := 0
	for b.Loop() {
		plan, err := planner.Plan(s)
		if err != nil {
			b.Fatal(err)
		}
		s = s.After(plan.Carry())
		for range 100 {
			s.Pods[at], changed[at] = changed[at], s.Pods[at]
			at = (at + 1) % len(s.Pods)
		}
	}
}
