package main

import (
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// engine makes one run, until it is done or stop says that enough is known. The trace is shown what no record tells; nil: nobody
// wants to know.
type engine func(scenario simulate.Scenario, t *trace, stop func() bool) (simulate.Report, error)

// simulation runs the scenario in package simulate.
func simulation(scenario simulate.Scenario, t *trace, stop func() bool) (simulate.Report, error) {
	s, err := simulate.New(scenario)
	if err != nil {
		return simulate.Report{}, err
	}
	if t == nil {
		t = newTrace(false)
	}
	s.Watch(func(s *simulate.Simulation) error {
		t.sample(s.Elapsed(), s.Pulled)
		return nil
	})
	report, err := s.Run(func(s *simulate.Simulation, step *simulate.Step) bool {
		t.sample(s.Elapsed(), s.Pulled)
		t.plan(step.At, &step.Plan.Budget)
		return stop()
	})
	t.ended(s.Elapsed(), s.Pulled)
	return report, err
}
