package simulate_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
	"github.com/daemonplan/daemonplan/rollout/verify"
)

// A step that broke an invariant can be repeated from its case. The same planner breaks the same invariants, and the real planner
// breaks none.
func TestCaseReplaysAStep(t *testing.T) {
	old := kit.Spec("agent", kit.Image("agent:v1"))
	greedy := func(spec rollout.Spec) (simulate.PlanFunc, error) {
		kit.MaxUnavailable("3")(&spec)
		planner, err := rollout.New(spec)
		if err != nil {
			return nil, err
		}
		return planner.Plan, nil
	}
	scenario := simulate.Scenario{
		Seed: 7, Spec: kit.Spec("agent", kit.Image("agent:v2")), Planner: greedy,
		Fleet: simulate.Fleet{Pools: []simulate.Pool{{Name: "web", Nodes: 10}}, Running: &old},
		Model: simulate.Model{Kubelets: []simulate.Kubelet{{Start: simulate.LogNormal(4*time.Second, 20*time.Second)}}},
		// With this lag the step is at a fraction of a second.
		Controller: simulate.Controller{Lag: simulate.Fixed(1234567 * time.Microsecond)},
	}
	_, err := simulate.Run(scenario)
	failed, ok := errors.AsType[*simulate.StepError](err)
	if !ok || len(failed.Violations) == 0 {
		t.Fatalf("a planner that takes three places for one ends the run with %v", err)
	}
	text, err := failed.Case().Encode()
	if err != nil {
		t.Fatal(err)
	}
	c, err := simulate.ReadCase(text)
	if err != nil {
		t.Fatal(err)
	}
	violations := func(planner func(rollout.Spec) (simulate.PlanFunc, error)) []verify.Violation {
		t.Helper()
		plan, err := planner(c.Spec)
		if err != nil {
			t.Fatal(err)
		}
		made, err := plan(c.Snapshot)
		if err != nil {
			t.Fatal(err)
		}
		return verify.Plan(c.Spec, c.Snapshot, &made)
	}
	if diff := cmp.Diff(failed.Violations, violations(greedy)); diff != "" {
		t.Errorf("seen again, it breaks other invariants, -run +case:\n%s", diff)
	}
	sound := func(spec rollout.Spec) (simulate.PlanFunc, error) {
		planner, err := rollout.New(spec)
		if err != nil {
			return nil, err
		}
		return planner.Plan, nil
	}
	if got := violations(sound); len(got) > 0 {
		t.Errorf("the real planner breaks %v", got)
	}
}
