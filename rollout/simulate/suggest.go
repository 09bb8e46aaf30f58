package simulate

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/rollout"
)

// Knob is a setting that makes a rollout faster.
type Knob uint8

const (
	// KnobMaxUnavailable is strategy.maxUnavailable in nodes, with a maxSurge of 0.
	KnobMaxUnavailable Knob = iota + 1
	// KnobMaxSurge is strategy.maxSurge in nodes, with a maxUnavailable of 0.
	KnobMaxSurge
	// KnobSlowStart is strategy.slowStart.increase in nodes; its interval and maxParallel are those of the spec, or the
	// defaults.
	KnobSlowStart
	knobs
)

// Suggestion is the answer of [Suggest].
type Suggestion struct {
	// Value of the knob, in nodes. 0: no value meets the deadline.
	Value int `json:"value"`
	// Prediction with that value, or if none meets the deadline with the largest one. A run ends once a node gets to its
	// place after the deadline, so those that miss it are the unfinished ones.
	Prediction Prediction `json:"prediction"`
}

// Set returns the spec with the knob at that number of nodes, which shares with the given one what the knob does not
// change. The error says why the spec cannot have the knob, or what else is wrong with it.
func (k Knob) Set(spec rollout.Spec, nodes int32) (rollout.Spec, error) {
	s := &spec.Strategy
	if s.Type == rollout.OnDelete {
		return rollout.Spec{}, fmt.Errorf("%s decides nothing: with OnDelete no node is updated by the rollout", k)
	}
	value, zero := intstr.FromInt32(nodes), intstr.FromInt32(0)
	switch k {
	case KnobMaxUnavailable:
		s.MaxUnavailable, s.MaxSurge = &value, &zero
	case KnobMaxSurge:
		s.MaxUnavailable, s.MaxSurge = &zero, &value
	case KnobSlowStart:
		slow := rollout.SlowStart{}
		if s.SlowStart != nil {
			slow = *s.SlowStart
		}
		slow.Increase = &value
		s.SlowStart = &slow
	default:
		return rollout.Spec{}, fmt.Errorf("%s: no such knob", k)
	}
	if _, err := rollout.New(spec); err != nil {
		return rollout.Spec{}, fmt.Errorf("with %s %d: %w", k, nodes, err)
	}
	return spec, nil
}

// Suggest finds the smallest value of the knob, from 1 to the number of nodes that are to run the pod at the beginning,
// with which nine of ten runs finish by the deadline: they have succeeded ([Report.Succeeded]), and Report.Finished is not
// after it.
//
// It tries 1, 2, 4 and so on, and then halves the interval between the last value that failed and the first that did
// not, so it makes about 2 log2(nodes) forecasts, those that fail short ones. What it returns was tried, and so was one
// less, which failed. That is the smallest value if more never makes a rollout slower. It may do so where nodes share what
// they wait for, such as the bandwidth of a registry; then a smaller value may do that was not tried.
//
// The error says what is wrong with the spec, the snapshot, the assumptions, the knob, or a deadline that is not positive.
func Suggest(
	spec rollout.Spec, snapshot rollout.Snapshot, assume Assumptions, knob Knob, deadline time.Duration,
) (Suggestion, error) {
	return suggester{runUntil, spec, snapshot, assume, knob, deadline}.suggest()
}

// runUntil ends a run that is late, instead of waiting for all of it.
func runUntil(s Scenario, deadline time.Duration) (Report, error) {
	simulation, err := New(s)
	if err != nil {
		return Report{}, err
	}
	return simulation.Run(func(s *Simulation, _ *Step) bool { return s.tally.finished > deadline })
}

// suggester tries values of a knob.
type suggester struct {
	run      func(s Scenario, deadline time.Duration) (Report, error)
	spec     rollout.Spec
	snapshot rollout.Snapshot
	assume   Assumptions
	knob     Knob
	deadline time.Duration
}

func (s suggester) suggest() (Suggestion, error) {
	if s.deadline <= 0 {
		return Suggestion{}, fmt.Errorf("deadline %v: must be positive", s.deadline)
	}
	most, err := s.most()
	if err != nil {
		return Suggestion{}, err
	}
	// Below value all failed that were tried, and at value one did not.
	failed, value := 0, 1
	for {
		prediction, err := s.try(value, value == most)
		if err != nil {
			return Suggestion{}, err
		}
		if meets(prediction) {
			return s.between(failed, value, prediction)
		}
		if value == most {
			return Suggestion{Prediction: prediction}, nil
		}
		failed, value = value, min(2*value, most)
	}
}

// between searches failed < value <= met.
func (s suggester) between(failed, met int, prediction Prediction) (Suggestion, error) {
	for failed+1 < met {
		value := failed + (met-failed)/2
		tried, err := s.try(value, false)
		if err != nil {
			return Suggestion{}, err
		}
		if meets(tried) {
			met, prediction = value, tried
		} else {
			failed = value
		}
	}
	return Suggestion{Value: met, Prediction: prediction}, nil
}

// most is the largest value: no more nodes than there are can be under way.
func (s suggester) most() (int, error) {
	spec, err := s.knob.Set(s.spec, 1)
	if err != nil {
		return 0, err
	}
	planner, err := rollout.New(spec)
	if err != nil {
		return 0, err
	}
	snapshot := s.snapshot
	snapshot.Now = Fleet{Snapshot: &snapshot}.begin()
	plan, err := planner.Plan(snapshot)
	if err != nil {
		return 0, err
	}
	return max(int(plan.Budget.Desired), 1), nil
}

// try a value. Unless all runs are asked for, it stops once too many are late.
func (s suggester) try(value int, all bool) (Prediction, error) {
	spec, err := s.knob.Set(s.spec, int32(value))
	if err != nil {
		return Prediction{}, err
	}
	f := forecaster{run: s.once}
	if !all {
		f.enough = func(unfinished int) bool { return tooMany(unfinished, s.assume.Runs()) }
	}
	return f.forecast(spec, s.snapshot, s.assume)
}

// once runs a scenario. What was done too late was not.
func (s suggester) once(scenario Scenario) (Report, error) {
	report, err := s.run(scenario, s.deadline)
	if report.End == EndDone && report.Finished > s.deadline {
		report.End = EndCondition
	}
	return report, err
}

// meets reports whether nine of ten runs finished. Of runs that were stopped early too many were late of all.
func meets(p Prediction) bool { return !tooMany(p.Unfinished, p.Runs) }

func tooMany(unfinished, runs int) bool { return 10*unfinished > runs }
