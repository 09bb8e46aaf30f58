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
	// KnobMaxUnavailable is strategy.maxUnavailable in nodes. It sets maxSurge to 0.
	KnobMaxUnavailable Knob = iota + 1
	// KnobMaxSurge is strategy.maxSurge in nodes. It sets maxUnavailable to 0.
	KnobMaxSurge
	// KnobSlowStart is strategy.slowStart.increase in nodes. The interval and maxParallel of the slow start are those of the
	// spec, or their defaults.
	KnobSlowStart
	knobs
)

// Suggestion is the answer of [Suggest].
type Suggestion struct {
	// Value is that of the knob, in nodes. 0: no value meets the deadline.
	Value int `json:"value"`
	// Prediction is the forecast with that value, or with the largest one if none meets the deadline. A run is ended once a node
	// gets to its place after the deadline, so the unfinished runs are those that miss it.
	Prediction Prediction `json:"prediction"`
}

// Set returns the spec with the knob at that number of nodes. It shares with the given spec what the knob does not change. The
// error says why the spec cannot have the knob, or what else is wrong with the spec.
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

// Suggest finds the smallest value of the knob, from 1 to the number of nodes that are to run the pod at the beginning, with
// which at least nine of ten runs finish by the deadline. A run does so if it succeeds ([Report.Succeeded]) and
// Report.Finished is not after the deadline.
//
// Suggest tries 1, 2, 4 and so on, and then halves the interval between the last value that failed and the first that did
// not. So it makes about 2 log2(nodes) forecasts, of which those that fail are short. The value that it returns was tried, and
// so was the value one below, which failed. It is the smallest value if a greater value never makes a rollout slower. A greater
// one may do so where nodes share what they wait for, such as the bandwidth of a registry. Then a smaller value may meet the
// deadline that was not tried.
//
// The error says what is wrong with the spec, the snapshot, the assumptions, the knob, or a deadline that is not positive.
func Suggest(
	spec rollout.Spec, snapshot rollout.Snapshot, assume Assumptions, knob Knob, deadline time.Duration,
) (Suggestion, error) {
	return suggester{runUntil, spec, snapshot, assume, knob, deadline}.suggest()
}

// runUntil runs the scenario, but ends the run once it is late.
func runUntil(s Scenario, deadline time.Duration) (Report, error) {
	simulation, err := New(s)
	if err != nil {
		return Report{}, err
	}
	return simulation.run(func(s *Simulation, _ *Step) bool { return s.tally.finished > deadline }, nil, false)
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
	// All values that were tried have failed: failed is the greatest of them, and value is the next to try.
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

// between searches for the smallest value that meets the deadline, failed < value <= met, by halving the interval.
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

// most is the largest value worth trying: the number of nodes that are to run the pod, which bounds those under way.
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

// try makes the forecast with a value. Unless all runs are asked for, it stops once too many are late.
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

// once runs a scenario. A rollout that was done after the deadline counts as not done.
func (s suggester) once(scenario Scenario) (Report, error) {
	report, err := s.run(scenario, s.deadline)
	if report.End == EndDone && report.Finished > s.deadline {
		report.End = EndCondition
	}
	return report, err
}

// meets reports whether at least nine of ten runs finished. If a forecast was stopped early, the runs that were made cannot
// meet this, because too many are late even of all runs.
func meets(p Prediction) bool { return !tooMany(p.Unfinished, p.Runs) }

func tooMany(unfinished, runs int) bool { return 10*unfinished > runs }
