package simulation

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/controllers"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// simulateAnswer is what simulate and forecast print with -o json. Names of fields have the unit. New fields may be added;
// those that are there keep their names and meanings.
type simulateAnswer struct {
	// Command is the subcommand: simulate, forecast or suggest.
	Command string `json:"command"`
	// Seed is the first seed, Runs how many runs were made of each spec.
	Seed uint64 `json:"seed"`
	Runs int    `json:"runs"`
	// Notes are what standard error says, too: where the world comes from, and what had no effect.
	Notes []string `json:"notes"`
	// Specs has the results, in the order of the arguments.
	Specs []specAnswer `json:"specs"`
	// Failures are the reasons for exit code 1: runs that got stuck, and conditions of --fail-if that hold. Empty: exit
	// code 0.
	Failures []string `json:"failures"`
}

// specAnswer is the result of one spec over all runs. Quantities over runs are null where they are never reached.
type specAnswer struct {
	Label string `json:"label"`
	File  string `json:"file"`
	// Controller is whose behaviour it is: kubernetes, the DaemonSet controller of Kubernetes, kruise, that of OpenKruise, or
	// daemonplan.
	Controller controllers.Name `json:"controller"`
	// Headline says in a sentence what became of the new version.
	Headline string `json:"headline"`
	// Endings is how many runs ended in which way.
	Endings endingCounts `json:"endings"`
	// DesiredNodes are to run the pod, and NewVersionNodes of them have the new version in the end, in the run with most nodes
	// that do not. EverGivenNodes is how many nodes were given a pod of it at any time, in that run.
	DesiredNodes    int `json:"desiredNodes"`
	NewVersionNodes int `json:"newVersionNodes"`
	EverGivenNodes  int `json:"everGivenNodes"`
	// DurationSeconds is the time until every node is updated; a run in which that does not happen counts as longer than any.
	DurationSeconds quantiles `json:"durationSeconds"`
	// ReachableDurationSeconds is the time until every node that can be reached is updated.
	ReachableDurationSeconds quantiles `json:"reachableDurationSeconds"`
	// AtOnceDurationSeconds is the same if pods stop at once, beside which the other times are for pods of which each uses up its
	// grace period. Absent if it is known how long pods take to stop.
	AtOnceDurationSeconds  *quantiles `json:"atOnceDurationSeconds,omitempty"`
	PeakUnavailableNodes   quantiles  `json:"peakUnavailableNodes"`
	PeakUnavailablePercent quantiles  `json:"peakUnavailablePercent"`
	UnavailableNodeSeconds quantiles  `json:"unavailableNodeSeconds"`
	// StillUnavailableNodes are unavailable at the end of the run: with such nodes, the sums of times are at least so much.
	StillUnavailableNodes quantiles `json:"stillUnavailableNodes"`
	// PeakTakenNodes and TakenNodeSeconds are without the nodes that were down before the run, as long as they stay so.
	PeakTakenNodes   quantiles `json:"peakTakenNodes"`
	TakenNodeSeconds quantiles `json:"takenNodeSeconds"`
	StillTakenNodes  quantiles `json:"stillTakenNodes"`
	// LongestDown are the nodes that were down longest in all, under the first seed, at most ten of them.
	LongestDown []downAnswer `json:"longestDown"`
	Waves       quantiles    `json:"waves"`
	PodsCreated quantiles    `json:"podsCreated"`
	APICalls    quantiles    `json:"apiCalls"`
	// RateLimitedSeconds is for how long actions waited for the controller's rate of calls.
	RateLimitedSeconds quantiles `json:"rateLimitedSeconds"`
	PulledBytes        quantiles `json:"pulledBytes"`
	ContainerRestarts  quantiles `json:"containerRestarts"`
	// Table has the rows of the table that is printed without -o json, for this spec: each name, and the text beside it.
	Table []tableRow `json:"table"`
	// Stages are the parts of the stages, in the order in which they are opened; absent without stages.
	Stages []stageAnswer `json:"stages,omitempty"`
	// FailedNodes is on how many nodes at most the new version had failed at one time, and QuarantinedNodes how many of them were
	// left out. GivenUpSeconds is when it was given up because of that; a run in which it was not counts as longer than any.
	// Absent if no run had a failed node, or the policy does not watch failures.
	FailedNodes      *quantiles `json:"failedNodes,omitempty"`
	QuarantinedNodes *quantiles `json:"quarantinedNodes,omitempty"`
	GivenUpSeconds   *quantiles `json:"givenUpSeconds,omitempty"`
	// BackSeconds is when no node had a version any more that was given up so, and every node had a serving pod. Absent as those.
	BackSeconds *quantiles `json:"backSeconds,omitempty"`
	// LeftNodes are the nodes that are not where they are to be in the first run that got stuck or did not end in time, by
	// cause.
	LeftNodes []leftNodes `json:"leftNodes"`
	// LeftCounts is how many of them cannot be updated, and how many only wait, for a stage or for others.
	LeftCounts leftCounts `json:"leftCounts"`
}

// tableRow is a row of the table, with the text for one spec.
type tableRow struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// tableAnswer has the rows of the table for the spec in the outcomes, which are those of all specs of the answer: a row that is
// shown because of another spec is there, too.
func tableAnswer(outcomes []*outcome, spec int) []tableRow {
	var rows []tableRow
	for _, f := range figures(outcomes) {
		rows = append(rows, tableRow{strings.TrimSpace(f.Name), f.Cells[spec].Text})
	}
	return rows
}

// endingCounts is how many runs ended in which way: the new version is where it is to be; the canary or failures gave it up;
// another version replaced it; nothing will happen any more; the time of --until was over; a value of suggest was too slow.
type endingCounts struct {
	Done int `json:"done"`
	// DoneBut: all are done but nodes that were down before the run began.
	DoneBut  int `json:"doneButDownBefore"`
	GivenUp  int `json:"givenUp"`
	Replaced int `json:"replaced"`
	Stuck    int `json:"stuck"`
	Limit    int `json:"limit"`
	Late     int `json:"late"`
}

// quantiles over runs. Each is the least value of a run that at least that share of the runs does not exceed; null: never.
type quantiles struct {
	P5  *float64 `json:"p5"`
	P50 *float64 `json:"p50"`
	P90 *float64 `json:"p90"`
	P95 *float64 `json:"p95"`
	Max *float64 `json:"max"`
}

// suggestAnswer is what suggest prints with -o json.
type suggestAnswer struct {
	Command string `json:"command"`
	Seed    uint64 `json:"seed"`
	Runs    int    `json:"runs"`
	// Knob is the setting that was varied, and DeadlineSeconds what it is to meet.
	Knob            string   `json:"knob"`
	DeadlineSeconds float64  `json:"deadlineSeconds"`
	Notes           []string `json:"notes"`
	// ValueNodes is the smallest value that meets the deadline; null: none does, and Failures says why.
	ValueNodes *int `json:"valueNodes"`
	// Result is that of the value, or of the largest one if none meets the deadline.
	Result   specAnswer `json:"result"`
	Failures []string   `json:"failures"`
}

// downAnswer is a node that was down.
type downAnswer struct {
	Node string `json:"node"`
	Zone string `json:"zone,omitempty"`
	// DownSeconds is how long it was down in all; if it is StillDown at the end, that is the least that it may come to.
	DownSeconds float64 `json:"downSeconds"`
	StillDown   bool    `json:"stillDown"`
	// LongestFromSeconds and LongestToSeconds are the ends of its longest outage. If LongestGoesOn, the latter is the end of the
	// run.
	LongestFromSeconds float64 `json:"longestFromSeconds"`
	LongestToSeconds   float64 `json:"longestToSeconds"`
	LongestGoesOn      bool    `json:"longestGoesOn"`
}

// longestDownAnswer are the nodes that were down longest; empty, not nil: none was.
func (o *outcome) longestDownAnswer() []downAnswer {
	list := []downAnswer{}
	for _, out := range o.longestDown(mostWorst) {
		list = append(list, downAnswer{
			Node: out.Node, Zone: out.Zone, DownSeconds: out.Total.Seconds(), StillDown: out.Down,
			LongestFromSeconds: out.From.Seconds(), LongestToSeconds: out.To.Seconds(), LongestGoesOn: !out.Ended,
		})
	}
	return list
}

// specAnswerOf sums up the runs of a candidate.
func specAnswerOf(o *outcome) specAnswer {
	over := func(of func(r *simulate.Report) float64) quantiles {
		return quantilesOf(o, func(seed int) float64 { return of(&o.Reports[seed]) })
	}
	seconds := func(d time.Duration) float64 { return d.Seconds() }
	worst := o.worst()
	a := specAnswer{
		Label: o.Label, File: o.File.Name, Controller: o.Controller, Headline: o.story(),
		Endings: endingCounts{
			Done: o.count(endDone), DoneBut: o.count(endBut), GivenUp: o.count(endGivenUp), Replaced: o.count(endReplaced),
			Stuck: o.count(endStuck), Limit: o.count(endLimit), Late: o.count(endStopped),
		},
		DesiredNodes: o.Reports[worst].Desired, NewVersionNodes: o.Traces[worst].Version.Now,
		EverGivenNodes:           o.Traces[worst].Version.Given,
		DurationSeconds:          quantilesOf(o, func(seed int) float64 { return o.finished(seed) / float64(time.Second) }),
		ReachableDurationSeconds: o.reachableSeconds(),
		PeakUnavailableNodes:     over(func(r *simulate.Report) float64 { return float64(r.Unavailable.Peak) }),
		PeakUnavailablePercent: over(func(r *simulate.Report) float64 {
			return 100 * float64(r.Unavailable.Peak) / float64(max(r.Desired, 1))
		}),
		UnavailableNodeSeconds: over(func(r *simulate.Report) float64 { return seconds(r.Unavailable.NodeTime) }),
		StillUnavailableNodes:  over(func(r *simulate.Report) float64 { return float64(r.Unavailable.AtEnd) }),
		StillTakenNodes:        over(func(r *simulate.Report) float64 { return float64(r.Taken.AtEnd) }),
		LongestDown:            o.longestDownAnswer(),
		PeakTakenNodes:         over(func(r *simulate.Report) float64 { return float64(r.Taken.Peak) }),
		TakenNodeSeconds:       over(func(r *simulate.Report) float64 { return seconds(r.Taken.NodeTime) }),
		Waves:                  over(func(r *simulate.Report) float64 { return float64(r.Waves) }),
		PodsCreated:            over(func(r *simulate.Report) float64 { return float64(r.Created) }),
		RateLimitedSeconds:     over(func(r *simulate.Report) float64 { return seconds(r.RateLimited) }),
		APICalls:               over(func(r *simulate.Report) float64 { return float64(r.Calls) }),
		PulledBytes:            over(func(r *simulate.Report) float64 { return float64(r.PulledBytes) }),
		ContainerRestarts:      over(func(r *simulate.Report) float64 { return float64(r.Restarts) }),
		Stages:                 o.stageAnswers(),
		LeftNodes:              []leftNodes{},
	}
	if o.AtOnce != nil {
		a.AtOnceDurationSeconds = new(o.AtOnce.reachableSeconds())
	}
	a.Table = tableAnswer([]*outcome{o}, 0)
	a.failures(o)
	if left := o.left(); left != nil {
		a.LeftNodes, a.LeftCounts = left, countLeft(left)
	}
	return a
}

// reachableSeconds is the time until every node that can be reached is updated.
func (o *outcome) reachableSeconds() quantiles {
	return quantilesOf(o, func(seed int) float64 { return o.reachable(seed) / float64(time.Second) })
}

// quantilesOf are those of a value of each run.
func quantilesOf(o *outcome, of func(seed int) float64) quantiles {
	values := make([]float64, len(o.Reports))
	for seed := range values {
		values[seed] = of(seed)
	}
	return quantilesIn(values)
}

// quantilesIn are those of the values, which it sorts. Without values all are null.
func quantilesIn(values []float64) quantiles {
	if len(values) == 0 {
		return quantiles{}
	}
	slices.Sort(values)
	at := func(share float64) *float64 {
		value := quantile(values, share)
		if math.IsInf(value, 0) {
			return nil
		}
		return &value
	}
	return quantiles{P5: at(0.05), P50: at(0.5), P90: at(0.9), P95: at(0.95), Max: at(1)}
}

// notes are all that the reader has to know beside the result.
func (e *experiment) notes() []string { return orEmpty(slices.Concat(e.Notes, e.Derived)) }

// answerOf is the answer of simulate or forecast.
func answerOf(command string, e *experiment, outcomes []*outcome, failures []string) simulateAnswer {
	a := simulateAnswer{Command: command, Seed: e.Seed, Runs: e.Seeds, Notes: e.notes(), Failures: orEmpty(failures)}
	for i, o := range outcomes {
		spec := specAnswerOf(o)
		spec.Table = tableAnswer(outcomes, i)
		a.Specs = append(a.Specs, spec)
	}
	return a
}

// orEmpty is the list, or an empty one, which is [] and not null in JSON.
func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
