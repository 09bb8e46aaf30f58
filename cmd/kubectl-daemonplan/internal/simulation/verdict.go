package simulation

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
)

// headlines say what happened to the new version, a line for each candidate and one for each cause for which nodes do not
// have it, and then which candidate is better at what.
func headlines(outcomes []*outcome) []string {
	var lines []string
	why := causesOnce(outcomes)
	for i, o := range outcomes {
		lines = append(lines, o.Label+": "+o.story())
		lines = append(lines, indented(why[i])...)
	}
	return append(lines, contrasts(outcomes)...)
}

// causesOnce are the causes for which nodes do not have the new version, by candidate. What is the same with several candidates
// is told with the first of them.
func causesOnce(outcomes []*outcome) [][]string {
	with := make(map[string][]string)
	lists := make([][]string, len(outcomes))
	for i, o := range outcomes {
		for _, line := range o.whyLeft() {
			if with[line] == nil {
				lists[i] = append(lists[i], line)
			}
			with[line] = append(with[line], o.Label)
		}
	}
	for _, list := range lists {
		for i, line := range list {
			if others := with[line][1:]; len(others) > 0 {
				list[i] += " (the same with " + strings.Join(others, ", ") + ")"
			}
		}
	}
	return lists
}

func indented(lines []string) []string {
	for i := range lines {
		lines[i] = "  " + lines[i]
	}
	return lines
}

// story says in one sentence what became of the new version in all runs of the candidate.
func (o *outcome) story() string {
	if o.Traces[0].Releases.many() {
		return o.releasesStory() + "."
	}
	var parts []string
	for _, end := range endings {
		n := o.count(end)
		if n == 0 {
			continue
		}
		text := o.storyOf(end)
		if n < len(o.Reports) {
			text = fmt.Sprintf("in %d of %d runs %s", n, len(o.Reports), text)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ") + "."
}

// storyOf is the story of the runs that ended in one way.
func (o *outcome) storyOf(end ending) string {
	var seeds []int
	for i := range o.Reports {
		if o.ending(i) == end {
			seeds = append(seeds, i)
		}
	}
	first, all := seeds[0], len(seeds)
	r, v := &o.Reports[first], &o.Traces[first].Version
	times := func(of func(seed int) time.Duration) string {
		list := make([]float64, all)
		for i, seed := range seeds {
			list[i] = float64(of(seed))
		}
		slices.Sort(list)
		text := asDuration(quantile(list, 0.5))
		if all > 1 {
			text += fmt.Sprintf(" in half of the runs and %s in nine of ten", asDuration(quantile(list, 0.9)))
		}
		return text
	}
	// between is a range if it is not known how long pods take to stop.
	between := func(of func(seed int) time.Duration) string {
		if o.AtOnce == nil {
			return times(of)
		}
		least := quantilesOf(o.AtOnce, o.AtOnce.reachable).P50
		if least == nil {
			return times(of)
		}
		return fmt.Sprintf("%s if pods stop at once, and %s if each takes its grace period of %s", asDuration(*least), times(of),
			asDuration(float64(o.Derived.Grace)))
	}
	finished := func(seed int) time.Duration { return o.Reports[seed].Finished }
	switch end {
	case endDone:
		return fmt.Sprintf("the new version is on %s after %s%s", share(v.Now, r.Desired), between(finished),
			others(v.Now, r.Desired))
	case endBut:
		n := sum(o.Traces[first].Left)
		return fmt.Sprintf("complete but for %s down before: the new version is on %s after %s",
			text.Agree(n, "node that was", "nodes that were"), share(v.Now, r.Desired),
			between(func(seed int) time.Duration { return o.Traces[seed].reached }))
	case endGivenUp:
		given := fmt.Sprintf("%s of %s were given it, %s never", asCount(float64(v.Given)), text.Counted(r.Desired, "node"),
			asCount(float64(max(r.Desired-v.Given, 0))))
		if failedTooOften(r) {
			failed := times(func(seed int) time.Duration { return o.Reports[seed].Failures.GaveUpAt })
			return fmt.Sprintf("the new version was given up after %s, because it had failed on %s, and %d might: %s%s", failed,
				text.Counted(r.Failures.Peak, "node"), r.Failures.MaxFailed, given, o.wayBack(seeds))
		}
		failed := times(func(seed int) time.Duration { return o.Reports[seed].Canary.Failed })
		return fmt.Sprintf("the canary gave the new version up after %s (%s): %s", failed, r.Canary.Reason, given)
	case endReplaced:
		at := times(func(seed int) time.Duration { return o.Traces[seed].Version.ReplacedAt })
		text := fmt.Sprintf("another version replaced the new one after %s: %s of %s had been given it by then", at,
			asCount(float64(v.Given)), text.Counted(r.Desired, "node"))
		if after, ok := o.reached(first, 100); ok {
			text += ", all after " + asDuration(float64(after))
		}
		return text
	case endStuck:
		left := o.Traces[first].Left
		why := []string{countLeft(left).String()}
		if why[0] == "" { // all are where the spec holds them
			why[0] = fmt.Sprintf("the state is %s (%s)", r.State, r.Reason)
		} else if held := r.Desired - v.Now - sum(left); held > 0 {
			why = append(why, text.Agree(held, "node is", "nodes are")+" held by the spec")
		}
		return fmt.Sprintf("stuck: %s of %s have the new version; %s", asCount(float64(v.Now)), text.Counted(r.Desired, "node"),
			strings.Join(why, ", "))
	case endLimit:
		return fmt.Sprintf("not done after %s: %s of %s have the new version", asDuration(float64(r.Elapsed)),
			asCount(float64(v.Now)), text.Counted(r.Desired, "node"))
	default:
		return string(end)
	}
}

// wayBack says how long it took until no node had the new version any more and every one had a serving pod; empty: that was not
// so in each of the runs.
func (o *outcome) wayBack(seeds []int) string {
	var list []float64
	for _, seed := range seeds {
		back := o.Traces[seed].back
		if math.IsInf(back, 0) {
			return ""
		}
		list = append(list, back-float64(o.Reports[seed].Failures.GaveUpAt))
	}
	slices.Sort(list)
	return fmt.Sprintf("; all were back after %s more", spread(list, asDuration))
}

// share is how many of the nodes, in words if they are all.
func share(n, of int) string {
	if n >= of {
		return "all " + text.Counted(of, "node")
	}
	return fmt.Sprintf("%s of %s", asCount(float64(n)), text.Counted(of, "node"))
}

// leavesNodes reports whether a run was done although nodes did not have the new version: the spec holds them.
func (o *outcome) leavesNodes() bool {
	for i := range o.Reports {
		if o.ending(i) == endDone && o.Traces[i].Version.Now < o.Reports[i].Desired {
			return true
		}
	}
	return false
}

// others says that nodes without the new version are not to have it.
func others(n, of int) string {
	if n >= of {
		return ""
	}
	return ", and the spec leaves the others as they are"
}

// left are the nodes that are left in the first run in which any is; nil: there is no such run.
func (o *outcome) left() []leftNodes {
	for i := range o.Reports {
		if end := o.ending(i); (end == endBut || end == endStuck || end == endLimit) && len(o.Traces[i].Left) > 0 {
			return o.Traces[i].Left
		}
	}
	return nil
}

// whyLeft says in one line for each cause which nodes are left.
func (o *outcome) whyLeft() []string { return causes(o.left()) }

// measure is something at which candidates are compared, and less of it is better.
type measure struct {
	name string
	show func(float64) string
	of   func(o *outcome) float64 // NaN: the candidate is left out
	// refines means that it is of interest only if the candidates are equal in the measure before, and differ in this one.
	refines bool
	// taken means that nodes which were down before the run do not count.
	taken bool
	// lasts means that it goes on where nodes are still down at the end of a run, so that it is at least so much.
	lasts bool
}

// measures are what candidates are compared at. The time counts only for those that bring the new version to every node.
var measures = []measure{
	{name: "time until every node is updated", show: asDuration, of: func(o *outcome) float64 {
		if o.count(endDone) < len(o.Reports) {
			return math.NaN()
		}
		return o.median(func(seed int) float64 { return float64(o.Reports[seed].Finished) })
	}},
	{name: "time until 90 % of the nodes are updated", show: asDuration, of: func(o *outcome) float64 {
		if o.count(endDone) < len(o.Reports) {
			return math.NaN()
		}
		return o.median(func(seed int) float64 {
			after, _ := o.reached(seed, 90)
			return float64(after)
		})
	}, refines: true},
	{name: "most nodes down at once", show: counted("node", "nodes"), of: func(o *outcome) float64 {
		return o.median(func(seed int) float64 { return float64(o.Reports[seed].Taken.Peak) })
	}, taken: true},
	{name: "time without a serving pod, summed over nodes", show: asNodeMinutes, of: func(o *outcome) float64 {
		return o.median(func(seed int) float64 { return o.Reports[seed].Taken.NodeTime.Minutes() })
	}, taken: true, lasts: true},
}

// median is the median over the runs.
func (o *outcome) median(of func(seed int) float64) float64 {
	values := make([]float64, len(o.Reports))
	for seed := range values {
		values[seed] = of(seed)
	}
	slices.Sort(values)
	return quantile(values, 0.5)
}

// contrasts compare the candidates, in one line for each measure. Differences of less than 5 % are called so. Candidates whose
// rollout does not end are not compared with others whose rollout does: what did less took less.
func contrasts(outcomes []*outcome) []string {
	someEnd := slices.ContainsFunc(outcomes, func(o *outcome) bool { return o.count(endStuck, endLimit) == 0 })
	type entry struct {
		label string
		value float64
		shown string
	}
	var lines []string
	tie := false // in the measure before
	for _, m := range measures {
		var list []entry
		for _, o := range outcomes {
			if someEnd && o.count(endStuck, endLimit) > 0 {
				continue
			}
			if value := m.of(o); !math.IsNaN(value) {
				shown := m.show(value)
				if m.lasts {
					shown = o.atLeast(takenDown) + shown
				}
				list = append(list, entry{o.Label, value, shown})
			}
		}
		if len(list) < 2 {
			continue
		}
		slices.SortStableFunc(list, func(a, b entry) int { return cmp.Compare(a.value, b.value) })
		least, most := list[0], list[len(list)-1]
		before := tie
		if tie = about(least.value, most.value); m.refines && (!before || tie) {
			continue
		}
		var best []string
		for _, e := range list {
			if about(least.value, e.value) {
				best = append(best, e.label)
			}
		}
		var text string
		switch {
		case least.shown == most.shown:
			text = fmt.Sprintf("the same with all (%s)", least.shown)
		case len(best) == len(list):
			text = fmt.Sprintf("less than 5 %% apart (%s with %s, %s with %s)", least.shown, least.label,
				most.shown, most.label)
		case len(best) > 1:
			text = fmt.Sprintf("least with %s (from %s on, less than 5 %% apart), most with %s (%s)", strings.Join(best, " and "),
				least.shown, most.label, most.shown)
		default:
			text = fmt.Sprintf("least with %s (%s), most with %s (%s)", least.label, least.shown,
				most.label, most.shown)
		}
		name := m.name
		if m.taken && slices.ContainsFunc(outcomes, (*outcome).hadNodesDown) {
			name += ", beside those that were down before"
		}
		lines = append(lines, capital(name)+": "+text+".")
	}
	return lines
}

func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
