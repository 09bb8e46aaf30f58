package stock_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
	"github.com/daemonplan/daemonplan/rollout/stock"
)

// comparing plans with a workspace and without one, and fails if the plans differ. Reused counts the plans that were made with what
// an earlier one has read.
func comparing(t interface{ Fatalf(string, ...any) }, kruise bool) func(rollout.Spec) (simulate.PlanFunc, error) {
	return func(spec rollout.Spec) (simulate.PlanFunc, error) {
		var w stock.Workspace
		var plain, lent simulate.PlanFunc
		if kruise {
			planner, err := stock.NewKruise(spec, 1)
			if err != nil {
				return nil, err
			}
			plain, lent = planner.Plan, func(s rollout.Snapshot) (rollout.Plan, error) { return w.Plan(planner, s) }
		} else {
			planner, err := stock.NewKubernetes(spec, 1)
			if err != nil {
				return nil, err
			}
			plain, lent = planner.Plan, func(s rollout.Snapshot) (rollout.Plan, error) { return w.Plan(planner, s) }
		}
		return func(s rollout.Snapshot) (rollout.Plan, error) {
			want, wantErr := plain(s)
			got, err := lent(s)
			if fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Fatalf("error %v, want %v", err, wantErr)
			}
			// The words of blockers are those of the causes.
			ignored := cmpopts.IgnoreFields(rollout.Plan{}, "Causes", "Blockers", "Reading")
			if diff := cmp.Diff(want, got, ignored, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("at %v (-without +with a workspace):\n%s", s.Now, diff)
			}
			got.Decisions = slices.Clone(got.Decisions)
			return got, err
		}, nil
	}
}

// TestWorkspacePlansAlike: in whole rollouts with all kinds of trouble a plan is the same with a workspace and without.
func TestWorkspacePlansAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		budget := rapid.SampledFrom([]kit.SpecOption{kit.MaxUnavailable("2"), kit.MaxUnavailable("30%"), kit.MaxSurge("2")}).Draw(t, "budget")
		ready := rapid.SampledFrom([]int32{0, 5}).Draw(t, "minReadySeconds")
		kruise := rapid.Bool().Draw(t, "kruise")
		options := []kit.SpecOption{budget, func(s *rollout.Spec) { s.MinReadySeconds = ready }}
		old := kit.Spec("agent", options...)
		nodes := rapid.IntRange(1, 12).Draw(t, "nodes")
		scenario := simulate.Scenario{
			Spec: kit.Spec("agent", append(options, kit.Image("agent:v2"))...), Fleet: kit.Fleet(nodes, kit.Running(old)),
			Seed: rapid.Uint64().Draw(t, "seed"), Unverified: true, Limit: 20 * time.Minute, Planner: comparing(t, kruise),
			Controller: simulate.Controller{Interval: time.Second, CallsPerSecond: 2, CallBurst: 3},
			Model: simulate.Model{Kubelets: []simulate.Kubelet{
				{Start: simulate.Uniform(time.Second, 20*time.Second), Stop: simulate.Uniform(time.Second, 5*time.Second)},
				{Image: "agent:v2", Share: 0.2, Crash: simulate.Fixed(3 * time.Second), Crashes: 2},
				{Image: "agent:v2", Share: 0.1, Fail: simulate.Fixed(2 * time.Second)},
			}},
		}
		for i := range rapid.IntRange(0, 4).Draw(t, "events") {
			event := rapid.SampledFrom([]simulate.Event{
				{What: simulate.NodeNotReady, For: simulate.Fixed(time.Minute)}, {What: simulate.NodeNotReady},
				{What: simulate.CordonNode, For: simulate.Fixed(30 * time.Second)}, {What: simulate.EvictPod}, {What: simulate.DeletePod},
				{What: simulate.RemoveNode}, {What: simulate.AddNodes, Join: simulate.Pool{Name: "more", Nodes: 1}},
			}).Draw(t, fmt.Sprint("event ", i))
			event.At = time.Duration(rapid.IntRange(0, 120).Draw(t, fmt.Sprint("at ", i))) * time.Second
			scenario.Events = append(scenario.Events, event)
		}
		if _, err := simulate.Run(scenario); err != nil {
			t.Fatal(err)
		}
	})
}

func TestWorkspaceRefuses(t *testing.T) {
	var w stock.Workspace
	for _, planner := range []*stock.Kubernetes{nil, new(stock.Kubernetes)} {
		if _, err := w.Plan(planner, rollout.Snapshot{Now: kit.Noon()}); err == nil {
			t.Error("a planner plans that was not made")
		}
	}
	if _, err := w.Plan((*stock.Kruise)(nil), rollout.Snapshot{Now: kit.Noon()}); err == nil {
		t.Error("a nil planner plans")
	}
	spec, s := outdated(3, kit.MaxUnavailable("1"))
	planner, err := stock.NewKubernetes(spec, 1)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // also after a plan that went well
		if _, err := w.Plan(planner, s); err != nil {
			t.Fatal(err)
		}
		broken := s
		broken.Pods = append(slices.Clone(s.Pods), s.Pods[0])
		_, err := w.Plan(planner, broken)
		_, want := planner.Plan(broken)
		if fmt.Sprint(err) != fmt.Sprint(want) || err == nil {
			t.Errorf("a pod that is there twice: %v, want %v", err, want)
		}
	}
}
