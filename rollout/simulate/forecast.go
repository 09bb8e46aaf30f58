package simulate

import (
	"cmp"
	"slices"
	"time"

	"github.com/daemonplan/daemonplan/rollout"
)

// Assumptions are what a forecast assumes about a cluster. Model, Controller and Events are as in [Scenario].
type Assumptions struct {
	Model      Model      `json:"model,omitzero"`
	Controller Controller `json:"controller,omitzero"`
	Events     []Event    `json:"events,omitempty"`
	// Seeds is how many runs are made, each with a seed of its own: Seed, Seed+1, and so on. Default (0 or less): 20.
	Seeds int    `json:"seeds,omitempty"`
	Seed  uint64 `json:"seed,omitempty"`
	// Limit is that of each run, in virtual time. Default (0): 7 days.
	Limit time.Duration `json:"limit,omitempty"`
}

// DefaultSeeds is how many runs a forecast makes by default.
const DefaultSeeds = 20

// Prediction says how a rollout goes, as quantiles over runs.
type Prediction struct {
	// Runs is the number of runs that were made. Unfinished of them did not succeed ([Report.Succeeded]).
	Runs       int `json:"runs"`
	Unfinished int `json:"unfinished"`
	// Duration is Report.Finished and Waves is Report.Waves, over the runs that succeeded. Peak is the peak of unavailable
	// nodes, over all runs. The values are 0 if there was no such run.
	Duration Quantiles[time.Duration] `json:"duration"`
	Waves    Quantiles[int]           `json:"waves"`
	Peak     Quantiles[int]           `json:"peak"`
}

// Quantiles are those of a value over runs. Each is the least value of a run that at least that share of the runs does not
// exceed.
type Quantiles[T int | time.Duration] struct {
	P50 T `json:"p50"`
	P90 T `json:"p90"`
	Max T `json:"max"`
}

// Runs is the number of runs of a forecast: Seeds, or its default.
func (a Assumptions) Runs() int {
	if a.Seeds <= 0 {
		return DefaultSeeds
	}
	return a.Seeds
}

// Scenario is the scenario of run i of a forecast, counted from 0. To make a forecast in parallel, [Run] each of them and
// [Predict] from their reports, in any order:
//
//	for i := range assume.Runs() {
//		group.Go(func() (err error) {
//			reports[i], err = simulate.Run(assume.Scenario(spec, snapshot, i))
//			return err
//		})
//	}
func (a Assumptions) Scenario(spec rollout.Spec, snapshot rollout.Snapshot, i int) Scenario {
	return Scenario{
		Seed: a.Seed + uint64(i), Spec: spec, Fleet: Fleet{Snapshot: &snapshot},
		Model: a.Model, Controller: a.Controller, Events: a.Events, Limit: a.Limit,
	}
}

// Forecast simulates the rollout of spec from the snapshot under many seeds, one after the other. A run counts as finished if
// it succeeded ([Report.Succeeded]). The error is the first that [Run] returns: it says what is wrong with the spec, the
// snapshot or the assumptions, or is a [*StepError].
func Forecast(spec rollout.Spec, snapshot rollout.Snapshot, assume Assumptions) (Prediction, error) {
	return forecaster{run: noObservers}.forecast(spec, snapshot, assume)
}

// Predict sums up the reports of runs that differ only in their seeds, in any order. Quantiles are by nearest rank, so each
// is the value of one of the runs. Without reports the prediction is the zero value.
func Predict(reports []Report) Prediction {
	prediction := Prediction{Runs: len(reports)}
	var durations []time.Duration
	var waves, peaks []int
	for i := range reports {
		r := &reports[i]
		peaks = append(peaks, r.Unavailable.Peak)
		if !r.Succeeded() {
			prediction.Unfinished++
			continue
		}
		durations = append(durations, r.Finished)
		waves = append(waves, r.Waves)
	}
	prediction.Duration = quantiles(durations)
	prediction.Waves = quantiles(waves)
	prediction.Peak = quantiles(peaks)
	return prediction
}

// quantiles returns the quantiles of the values. It sorts them in place.
func quantiles[T int | time.Duration](values []T) Quantiles[T] {
	slices.Sort(values)
	return Quantiles[T]{quantile(values, 50), quantile(values, 90), quantile(values, 100)}
}

// rank is the least number of n things that is at least that percentage of them.
func rank(n, percent int) int {
	return (n*percent + 99) / 100
}

// quantile is the least of the sorted values that at least that percentage of them does not exceed; 0 if there are none.
func quantile[T cmp.Ordered](sorted []T, percent int) T {
	var none T
	if len(sorted) == 0 {
		return none
	}
	return sorted[rank(len(sorted), percent)-1]
}

// forecaster makes runs.
type forecaster struct {
	run func(Scenario) (Report, error)
	// enough is asked after each run, and reports whether no more runs are needed, given how many are unfinished. Nil: all
	// runs are made.
	enough func(unfinished int) bool
}

func noObservers(s Scenario) (Report, error) { return Run(s) }

func (f forecaster) forecast(spec rollout.Spec, snapshot rollout.Snapshot, assume Assumptions) (Prediction, error) {
	var reports []Report
	unfinished := 0
	for i := range assume.Runs() {
		report, err := f.run(assume.Scenario(spec, snapshot, i))
		if err != nil {
			return Prediction{}, err
		}
		reports = append(reports, report)
		if !report.Succeeded() {
			unfinished++
		}
		if f.enough != nil && f.enough(unfinished) {
			break
		}
	}
	return Predict(reports), nil
}
