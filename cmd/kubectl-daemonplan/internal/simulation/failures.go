package simulation

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// failures adds lines with on how many nodes the new version had failed, and when it was given up (F1 to F4). It adds none if no
// run has a failed node.
func (t *comparison) failures() {
	if !slices.ContainsFunc(t.outcomes, func(o *outcome) bool { return o.anyFailed() }) {
		return
	}
	t.line("nodes that failed", func(o *outcome) string {
		if !o.anyFailed() {
			return "-"
		}
		most := o.over(func(f *simulate.FailureReport) float64 { return float64(f.Peak) })
		return fmt.Sprintf("at most %s at once", spread(most, counted("node", "nodes")))
	})
	t.optional("  in quarantine", counted("node", "nodes"), func(r *simulate.Report) float64 {
		if r.Failures == nil {
			return 0
		}
		return float64(r.Failures.Quarantined)
	})
	t.line("given up", (*outcome).givenUpText)
}

func (o *outcome) anyFailed() bool {
	return slices.ContainsFunc(o.Reports, func(r simulate.Report) bool { return r.Failures != nil })
}

// over are the values of all runs, in ascending order. A run in which no node failed has 0 of everything.
func (o *outcome) over(of func(f *simulate.FailureReport) float64) []float64 {
	var list []float64
	for i := range o.Reports {
		f := o.Reports[i].Failures
		if f == nil {
			f = new(simulate.FailureReport)
		}
		list = append(list, of(f))
	}
	slices.Sort(list)
	return list
}

// givenUpText says when the new version was given up because of failures, and in how many of the runs if not in all.
func (o *outcome) givenUpText() string {
	var after []float64
	for i := range o.Reports {
		if failedTooOften(&o.Reports[i]) {
			after = append(after, float64(o.Reports[i].Failures.GaveUpAt))
		}
	}
	if len(after) == 0 {
		return "-"
	}
	slices.Sort(after)
	when := "after " + spread(after, asDuration)
	if n := len(o.Reports); len(after) < n {
		return fmt.Sprintf("in %d of %s %s", len(after), text.Counted(n, "run"), when)
	}
	return when
}

// failures adds what failed, if anything did.
func (a *specAnswer) failures(o *outcome) {
	if !o.anyFailed() {
		return
	}
	over := func(of func(f *simulate.FailureReport) float64) *quantiles { return new(quantilesIn(o.over(of))) }
	a.FailedNodes = over(func(f *simulate.FailureReport) float64 { return float64(f.Peak) })
	a.QuarantinedNodes = over(func(f *simulate.FailureReport) float64 { return float64(f.Quarantined) })
	a.GivenUpSeconds = over(func(f *simulate.FailureReport) float64 {
		if f.GaveUp == "" {
			return math.Inf(1)
		}
		return float64(f.GaveUpAt) / float64(time.Second)
	})
	a.BackSeconds = new(quantilesOf(o, func(seed int) float64 { return o.Traces[seed].back / float64(time.Second) }))
}
