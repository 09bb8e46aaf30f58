package simulate_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// keptSteps are what somebody keeps of a run: the lists as he got them, and what was in them at that time.
type keptSteps struct {
	got, then []simulate.Step
}

func (k *keptSteps) keep(step *simulate.Step) {
	then := *step
	then.Plan.Decisions = slices.Clone(step.Plan.Decisions)
	then.Snapshot.Nodes, then.Snapshot.Pods = slices.Clone(step.Snapshot.Nodes), slices.Clone(step.Snapshot.Pods)
	k.got, k.then = append(k.got, *step), append(k.then, then)
}

func (k *keptSteps) check(t *testing.T) {
	t.Helper()
	for i := range k.got {
		got, then := &k.got[i], &k.then[i]
		if !slices.Equal(got.Plan.Decisions, then.Plan.Decisions) {
			t.Errorf("the decisions of plan %d changed after they were handed out", i+1)
		}
		if !slices.Equal(got.Snapshot.Nodes, then.Snapshot.Nodes) || !slices.Equal(got.Snapshot.Pods, then.Snapshot.Pods) {
			t.Errorf("the snapshot of plan %d changed after it was handed out", i+1)
		}
	}
}

// TestStepsStay: whoever gets steps may keep them. A run that nobody looks at works in the same memory again and again, and comes
// to the same report.
func TestStepsStay(t *testing.T) {
	_, want := simHistory(t, simEverything(3)) // nobody looks
	for _, way := range []struct {
		name string
		run  func(*simulate.Simulation, *keptSteps) (simulate.Report, error)
	}{
		{"an observer", func(s *simulate.Simulation, k *keptSteps) (simulate.Report, error) {
			return s.Run(nil, func(_ *simulate.Simulation, step *simulate.Step) error {
				k.keep(step)
				return nil
			})
		}},
		{"a condition", func(s *simulate.Simulation, k *keptSteps) (simulate.Report, error) {
			return s.Run(func(_ *simulate.Simulation, step *simulate.Step) bool {
				k.keep(step)
				return false
			})
		}},
		{"step by step, and then on", func(s *simulate.Simulation, k *keptSteps) (simulate.Report, error) {
			for range 20 {
				step, err := s.Step()
				if err != nil {
					return simulate.Report{}, err
				}
				k.keep(step)
			}
			return s.Run(nil)
		}},
		{"a planner of its own", func(s *simulate.Simulation, _ *keptSteps) (simulate.Report, error) { return s.Run(nil) }},
	} {
		t.Run(way.name, func(t *testing.T) {
			var kept keptSteps
			scenario := simEverything(3)
			if way.name == "a planner of its own" {
				scenario.Planner = func(spec rollout.Spec) (simulate.PlanFunc, error) {
					planner, err := rollout.New(spec)
					if err != nil {
						return nil, err
					}
					return func(snapshot rollout.Snapshot) (rollout.Plan, error) {
						plan, err := planner.Plan(snapshot)
						kept.keep(&simulate.Step{Snapshot: snapshot, Plan: plan})
						return plan, err
					}, nil
				}
			}
			s, err := simulate.New(scenario)
			if err != nil {
				t.Fatal(err)
			}
			report, err := way.run(s, &kept)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, report); diff != "" {
				t.Errorf("the report differs from that of a run that nobody looks at:\n%s", diff)
			}
			if len(kept.got) < 20 {
				t.Errorf("%d steps were kept: want 20 and more", len(kept.got))
			}
			kept.check(t)
		})
	}
}
