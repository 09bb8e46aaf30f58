package main

import (
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// factory makes planners.
type factory = func(rollout.Spec) (simulate.PlanFunc, error)

// under plans for another spec than the one in force.
func under(change func(*rollout.Spec), mend func(rollout.Spec, *rollout.Plan)) func() factory {
	return func() factory {
		return func(spec rollout.Spec) (simulate.PlanFunc, error) {
			other := spec.Default()
			change(&other)
			planner, err := rollout.New(other)
			if err != nil {
				return nil, err
			}
			return func(s rollout.Snapshot) (rollout.Plan, error) {
				plan, err := planner.Plan(s)
				if mend != nil {
					mend(spec, &plan)
				}
				return plan, err
			}, nil
		}
	}
}

// TestPlantedBugsAreFound: each of these bugs is found within 200 seeds.
func TestPlantedBugsAreFound(t *testing.T) {
	tests := []struct {
		name, why string
		bug       func() factory
	}{
		{
			name: "budget off by one", why: "one node more is down than the user allows; the plan says that it keeps to the budget",
			bug: under(func(s *rollout.Spec) {
				if s.Strategy.MaxUnavailable.Type == intstr.Int && s.Strategy.MaxUnavailable.IntVal > 0 {
					s.Strategy.MaxUnavailable.IntVal++
				}
			}, func(spec rollout.Spec, plan *rollout.Plan) {
				if of := spec.Default().Strategy.MaxUnavailable; of.Type == intstr.Int {
					plan.Budget.MaxUnavailable = of.IntVal
				}
			}),
		},
		{
			name: "held node updated", why: "partition and selector are forgotten, as if the user had not set them",
			bug: under(func(s *rollout.Spec) { s.Strategy.Partition, s.Strategy.NodeSelector = nil, nil }, nil),
		},
		{
			name: "duplicate create on a stale view", why: "what was asked for and is not seen is asked for again",
			bug: func() factory {
				return func(spec rollout.Spec) (simulate.PlanFunc, error) {
					planner, err := rollout.New(spec)
					if err != nil {
						return nil, err
					}
					return func(s rollout.Snapshot) (rollout.Plan, error) {
						s.InFlight = rollout.InFlight{}
						return planner.Plan(s)
					}, nil
				}
			},
		},
		{
			name: "canary skipped on lost memory", why: "a controller that comes back with nothing takes the revision on trial for good",
			bug: func() factory {
				had := false
				return func(spec rollout.Spec) (simulate.PlanFunc, error) {
					planner, err := rollout.New(spec)
					if err != nil {
						return nil, err
					}
					bare := spec
					bare.Strategy.Canary = nil
					skipping, err := rollout.New(bare)
					if err != nil {
						return nil, err
					}
					return func(s rollout.Snapshot) (rollout.Plan, error) {
						lost := reflect.DeepEqual(s.Memory, rollout.Memory{})
						if had = had || !lost; had && lost {
							return skipping.Plan(s)
						}
						return planner.Plan(s)
					}, nil
				}
			},
		},
		{
			name: "hook ignored", why: "pods are deleted before their hook lets them go",
			bug: under(func(s *rollout.Spec) { s.Lifecycle.PreDelete = nil }, nil),
		},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		if test.name == "" || test.why == "" || seen[test.name] {
			t.Errorf("%q: a test needs a name of its own and a why", test.name)
		}
		seen[test.name] = true
		t.Run(test.name, func(t *testing.T) {
			const most = 200
			for seed := range uint64(most) {
				s := scenario(seed)
				s.Planner = test.bug()
				if out := check(s, checkOptions{}); out.failure != nil {
					t.Logf("found by seed no. %d: %s at step %d", seed+1, out.failure.kind, out.failure.step.Number)
					return
				}
			}
			t.Errorf("not found within %d seeds", most)
		})
	}
}
