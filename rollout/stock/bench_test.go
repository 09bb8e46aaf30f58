package stock_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
	"github.com/daemonplan/daemonplan/rollout/stock"
)

// planners are those with a workspace and without.
func planners(tb testing.TB, spec rollout.Spec) map[string]simulate.PlanFunc {
	tb.Helper()
	planner, err := stock.NewKubernetes(spec, 1)
	if err != nil {
		tb.Fatal(err)
	}
	var w stock.Workspace
	return map[string]simulate.PlanFunc{
		"plain": planner.Plan, "workspace": func(s rollout.Snapshot) (rollout.Plan, error) { return w.Plan(planner, s) },
	}
}

// BenchmarkKubernetes plans in the middle of a rollout on 100,000 nodes, of which a hundred pods change from plan to plan.
func BenchmarkKubernetes(b *testing.B) {
	spec, s := outdated(100_000, kit.MaxUnavailable("10%"))
	changed := make([]*corev1.Pod, len(s.Pods))
	for i, p := range s.Pods {
		changed[i] = p.DeepCopy()
		kit.Unready()(changed[i])
	}
	for name, plan := range planners(b, spec) {
		b.Run(name, func(b *testing.B) {
			at := 0
			for b.Loop() {
				made, err := plan(s)
				if err != nil {
					b.Fatal(err)
				}
				s = s.After(made.Carry())
				for range 100 {
					s.Pods[at], changed[at] = changed[at], s.Pods[at]
					at = (at + 1) % len(s.Pods)
				}
			}
		})
	}
}

// TestWorkspaceSparesReading: a plan with a workspace takes over what the one before has read.
func TestWorkspaceSparesReading(t *testing.T) {
	spec, s := outdated(2000, kit.MaxUnavailable("10%"))
	allocated := make(map[string]float64)
	for name, plan := range planners(t, spec) {
		made, err := plan(s)
		if err != nil {
			t.Fatal(err)
		}
		next := s.After(made.Carry())
		allocated[name] = testing.AllocsPerRun(5, func() {
			if _, err := plan(next); err != nil {
				t.Fatal(err)
			}
		})
	}
	if allocated["workspace"] > allocated["plain"]/2 {
		t.Errorf("it allocates %v times, and %v times without", allocated["workspace"], allocated["plain"])
	}
}
