package simulate

import (
	"cmp"
	"slices"
	"time"

	"github.com/daemonplan/daemonplan/rollout"
)

// Assumptions are what a forecast takes for granted about a cluster.
type Assumptions struct {
	Model      Model      `json:"model,omitzero"`
	Controller Controller `json:"controller,omitzero"`
	Events     []Event    `json:"events,omitempty"`
	// Seeds is how many runs are made, each with a seed of its own: Seed, Seed+1, and so on. Default (0, or less): 20.
	Seeds int    `json:"seeds,omitempty"`
	Seed  uint64 `json:"seed,omitempty"`
	// Limit of each run. Default 7 days of virtual time.
	Limit time.Duration `json:"limit,omitempty"`
}

// DefaultSeeds is how many runs a forecast makes by default.
const DefaultSeeds = 20

// Prediction is the distribution over runs of how a rollout goes.
type Prediction struct {
	// Runs that were made; Unfinished of them did not get every node updated within the limit.
	Runs       int `json:"runs"`
	Unfinished int `json:"unfinished"`
	// Duration of the rollout and Waves of nodes, over the runs that finished; Peak of unavailable nodes, over all. 0: there
	// was none.
	Duration Quantiles[time.Duration] `json:"duration"`
	Waves    Quantiles[int]           `json:"waves"`
	Peak     Quantiles[int]           `json:"peak"`
}

// Quantiles of a distribution over runs: the least value that at least that share of the runs does not exceed.
type Quantiles[T int | time.Duration] struct {
	P50 T `json:"p50"`
	P90 T `json:"p90"`
	Max T `json:"max"`
}

// Runs is the number of runs of a forecast, with the default.
func (a Assumptions) Runs() int {
	if a.Seeds <= 0 {
		return DefaultSeeds
	}
	return a.Seeds
}

// Scenario is that of the run of this number, counted from 0. A forecast in parallel is [Run] of each of them and [Predict]
// of their reports, in any order:
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

// Forecast simulates the rollout of spec from the snapshot under many seeds, one after the other. A run is finished if it
// has succeeded ([Report.Succeeded]). The error is that of [Run], which says what is wrong with the spec, the snapshot or
// the assumptions.
func Forecast(spec rollout.Spec, snapshot rollout.Snapshot, assume Assumptions) (Prediction, error) {
	return forecaster{run: noObservers}.forecast(spec, snapshot, assume)
}

// Predict sums up reports of runs that differ in their seeds only, in any order. Quantiles are by nearest rank, so each
// is the value of one of the runs.
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

// quantiles sorts the values.
func quantiles[T int | time.Duration](values []T) Quantiles[T] {
	slices.Sort(values)
	return Quantiles[T]{quantile(values, 50), quantile(values, 90), quantile(values, 100)}
}

// rank is the least number of n things that makes that share of them.
func rank(n, percent int) int {
	return (n*percent + 99) / 100
}

// quantile is the least of sorted values that at least that share of them does not exceed; 0 of none.
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
	// enough tells after each run whether that many unfinished ones are all that had to be known. Nil: all runs are made.
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
