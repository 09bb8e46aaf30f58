package simulation

import (
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// engine makes one run, until the run is done or stop returns true. It passes to the trace what the records do not have; nil: to
// none.
type engine func(scenario simulate.Scenario, t *trace, stop func() bool) (simulate.Report, error)

// simulation runs the scenario in package simulate.
func simulation(scenario simulate.Scenario, t *trace, stop func() bool) (simulate.Report, error) {
	if scenario.Planner == nil {
		scenario.Planner = inOneWorkspace()
	}
	s, err := simulate.New(scenario)
	if err != nil {
		return simulate.Report{}, err
	}
	if t == nil {
		t = newTrace(false)
	}
	s.Watch(func(s *simulate.Simulation) error {
		t.look(s)
		return nil
	})
	var last rollout.Plan
	report, err := s.Run(func(s *simulate.Simulation, step *simulate.Step) bool {
		t.look(s)
		t.plan(step.At, &step.Plan)
		last = step.Plan
		return stop()
	})
	t.ended(s.Elapsed(), s.Pulled)
	if report.End == simulate.EndStuck || report.End == simulate.EndLimit {
		t.Left = leftOver(s, &last)
	}
	return report, err
}

// inOneWorkspace makes planners whose plans are good until the next one: of the plans of a run only the last is looked at later.
func inOneWorkspace() func(rollout.Spec) (simulate.PlanFunc, error) {
	var workspace rollout.Workspace
	return func(spec rollout.Spec) (simulate.PlanFunc, error) {
		planner, err := rollout.New(spec)
		if err != nil {
			return nil, err
		}
		return func(snapshot rollout.Snapshot) (rollout.Plan, error) { return workspace.Plan(planner, snapshot) }, nil
	}
}
