package simulation

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/exit"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// gate is a condition of --fail-if. If it holds for a candidate, the command ends with exit code 1.
type gate struct {
	text   string
	metric metric
	op     string
	limit  float64
	share  bool // the limit is a share of the nodes, in percent
}

// metric is something that a gate compares.
type metric struct {
	name string
	// unit says how limits are read: nodes (a number, or a share in percent), time or runs.
	unit string
	// of is the value, and words the value as the error shows it. For shares it is in percent.
	of    func(o *outcome, share bool) float64
	words func(o *outcome) string
}

// Units of metrics, with what a limit of each looks like.
const (
	unitNodes = "a number of nodes or a share of them, such as 5 or 5%"
	unitTime  = "a duration, such as 30m or 1h30m"
	unitRuns  = "a number of runs, such as 0"
)

// metrics are all that a gate can compare.
var metrics = []metric{
	{"peak", unitNodes, peakOf, func(o *outcome) string {
		return fmt.Sprintf("at most %s down at once (%s %%)%s", text.Agree(int(peakOf(o, false)), "node is", "nodes are"),
			strconv.FormatFloat(math.Round(10*peakOf(o, true))/10, 'f', -1, 64), o.beside())
	}},
	{"down", unitNodes, downOf, func(o *outcome) string {
		return fmt.Sprintf("at most %s down at once (%s %%), with those that were down before",
			text.Agree(int(downOf(o, false)), "node is", "nodes are"),
			strconv.FormatFloat(math.Round(10*downOf(o, true))/10, 'f', -1, 64))
	}},
	{"duration", unitTime, func(o *outcome, _ bool) float64 { return quantile(o.durations(), 1) }, func(o *outcome) string {
		return "the longest run until " + o.allNodes() + " is updated: " + orNever(quantile(o.durations(), 1))
	}},
	{"p50", unitTime, func(o *outcome, _ bool) float64 { return quantile(o.durations(), 0.5) }, func(o *outcome) string {
		return "half of the runs until " + o.allNodes() + " is updated: " + orNever(quantile(o.durations(), 0.5))
	}},
	{"p90", unitTime, func(o *outcome, _ bool) float64 { return quantile(o.durations(), 0.9) }, func(o *outcome) string {
		return "nine of ten runs until " + o.allNodes() + " is updated: " + orNever(quantile(o.durations(), 0.9))
	}},
	{"stuck", unitRuns, func(o *outcome, _ bool) float64 { return float64(o.count(endStuck)) }, func(o *outcome) string {
		return fmt.Sprintf("%d of %s stuck", o.count(endStuck), text.Agree(len(o.Reports), "run is", "runs are"))
	}},
	{"left", unitNodes, leftOf, func(o *outcome) string {
		return fmt.Sprintf("at most %s left without the new version (%s %%)",
			text.Agree(int(leftOf(o, false)), "node is", "nodes are"),
			strconv.FormatFloat(math.Round(10*leftOf(o, true))/10, 'f', -1, 64))
	}},
	{"violations", unitRuns, func(o *outcome, _ bool) float64 { return float64(o.count(endViolation)) }, func(o *outcome) string {
		return fmt.Sprintf("%d of %s an invariant", o.count(endViolation), text.Agree(len(o.Reports), "run broke", "runs broke"))
	}},
}

// hadNodesDown reports whether nodes were down before a run began.
func (o *outcome) hadNodesDown() bool {
	return slices.ContainsFunc(o.Reports, func(r simulate.Report) bool { return r.Taken != r.Unavailable })
}

// beside says of a number that it is without the nodes that were down before; empty: there were none.
func (o *outcome) beside() string {
	if !o.hadNodesDown() {
		return ""
	}
	return ", beside those that were down before"
}

// peakOf is the most nodes that were taken down at once in any run, or their share of the nodes that are to run the pod.
func peakOf(o *outcome, share bool) float64 {
	return mostOf(o, share, func(r *simulate.Report) int { return r.Taken.Peak })
}

// downOf is peakOf with the nodes that were down before the run.
func downOf(o *outcome, share bool) float64 {
	return mostOf(o, share, func(r *simulate.Report) int { return r.Unavailable.Peak })
}

func mostOf(o *outcome, share bool, of func(r *simulate.Report) int) float64 {
	most := 0.0
	for i := range o.Reports {
		value := float64(of(&o.Reports[i]))
		if share {
			value *= 100 / float64(max(o.Reports[i].Desired, 1))
		}
		most = max(most, value)
	}
	return most
}

// leftOf is the most nodes that were left where they were at the end of any run, also those that were down before, or their
// share.
func leftOf(o *outcome, share bool) float64 {
	most := 0.0
	for i := range o.Reports {
		value := float64(sum(o.Traces[i].Left))
		if share {
			value *= 100 / float64(max(o.Reports[i].Desired, 1))
		}
		most = max(most, value)
	}
	return most
}

// durations are the times until every node is updated, but those that were down before the run and stayed so, in order; infinite
// for runs that did not get there.
func (o *outcome) durations() []float64 {
	list := make([]float64, len(o.Reports))
	for i := range o.Reports {
		if list[i] = math.Inf(1); o.ending(i) == endDone || o.ending(i) == endBut {
			list[i] = o.reachable(i)
		}
	}
	slices.Sort(list)
	return list
}

// allNodes are the nodes that the durations are about, in words.
func (o *outcome) allNodes() string {
	if o.count(endBut) > 0 {
		return "every node that can be reached"
	}
	return "every node"
}

func orNever(nanoseconds float64) string {
	if math.IsInf(nanoseconds, 1) {
		return "never"
	}
	return asDuration(nanoseconds)
}

var gateForm = regexp.MustCompile(`^\s*([A-Za-z0-9]+)\s*(?:(>=|<=|>|<)\s*(\S+))?\s*$`)

const gateExamples = "'peak>5%', 'peak>=10', 'duration>1h', 'p90>30m', stuck"

// parseGates reads the conditions. All mistakes are reported at once.
func parseGates(texts []string) ([]gate, error) {
	var list []gate
	var wrong []error
	for _, text := range texts {
		g, err := parseGate(text)
		if err != nil {
			err = fmt.Errorf("--fail-if %s: %w", strconv.Quote(text), err)
		}
		list, wrong = append(list, g), append(wrong, err)
	}
	return list, errors.Join(wrong...)
}

func parseGate(text string) (gate, error) {
	parts := gateForm.FindStringSubmatch(text)
	if parts == nil {
		return gate{}, fmt.Errorf("it is a name, one of > >= < <=, and a value, such as %s", gateExamples)
	}
	i := slices.IndexFunc(metrics, func(m metric) bool { return m.name == parts[1] })
	if i < 0 {
		var names []string
		for _, m := range metrics {
			names = append(names, m.name)
		}
		return gate{}, fmt.Errorf("there is no %s; there are: %s", parts[1], strings.Join(names, ", "))
	}
	g := gate{text: strings.TrimSpace(text), metric: metrics[i], op: parts[2]}
	value := parts[3]
	if g.op == "" {
		if g.metric.unit != unitRuns {
			return gate{}, fmt.Errorf("%s is compared with %s: write %s>VALUE", g.metric.name, g.metric.unit, g.metric.name)
		}
		g.op, value = ">", "0"
	}
	refused := fmt.Errorf("%s is compared with %s, not with %s", g.metric.name, g.metric.unit, value)
	if g.metric.unit == unitTime {
		limit, err := time.ParseDuration(value)
		if err != nil || limit < 0 {
			return gate{}, refused
		}
		g.limit = float64(limit)
		return g, nil
	}
	number, percent := strings.CutSuffix(value, "%")
	limit, err := strconv.ParseFloat(number, 64)
	if err != nil || !(limit >= 0) || math.IsInf(limit, 1) || percent && (limit > 100 || g.metric.unit != unitNodes) ||
		!percent && limit != math.Trunc(limit) {
		return gate{}, refused
	}
	g.limit, g.share = limit, percent
	return g, nil
}

// closed reports whether the condition holds for the candidate, so that it does not pass.
func (g *gate) closed(o *outcome) bool {
	value := g.metric.of(o, g.share)
	switch g.op {
	case ">":
		return value > g.limit
	case ">=":
		return value >= g.limit
	case "<":
		return value < g.limit
	default:
		return value <= g.limit
	}
}

// limitWords is the limit with its unit.
func (g *gate) limitWords() string {
	switch {
	case g.share:
		return strconv.FormatFloat(g.limit, 'f', -1, 64) + " % of the nodes"
	case g.metric.unit == unitTime:
		return asDuration(g.limit)
	case g.metric.unit == unitRuns:
		return text.Counted(int(g.limit), "run")
	default:
		return text.Counted(int(g.limit), "node")
	}
}

// check is what a pipeline is told about the gate.
func (g *gate) check(o *outcome) check {
	c := check{Policy: o.Label, Name: g.text}
	if g.closed(o) {
		figure := g.metric.words(o)
		c.Message = fmt.Sprintf("%s; it fails if %s %s %s", figure, g.metric.name, g.op, g.limitWords())
		c.Reasons = []string{fmt.Sprintf("--fail-if %s: %s: %s", quoted(g.text), o.Label, figure)}
	}
	return c
}

// checksOf are all checks of the candidates, in their order: that no run got stuck or was not done in time, and the gates.
func checksOf(outcomes []*outcome, gates []gate) []check {
	var list []check
	for _, o := range outcomes {
		end := check{Policy: o.Label, Name: comesToItsEnd}
		if o.count(endStuck, endLimit) > 0 {
			end.Message = strings.TrimSuffix(o.story(), ".")
			for _, line := range append([]string{end.Message}, o.whyLeft()...) {
				end.Reasons = append(end.Reasons, o.Label+": "+line)
			}
		}
		list = append(list, end)
		for i := range gates {
			list = append(list, gates[i].check(o))
		}
	}
	return list
}

// brokenChecks is the check of the policy that broke an invariant; none if the error is another one.
func brokenChecks(err error) []check {
	failed, ok := errors.AsType[*runError](err)
	if !ok {
		return nil
	}
	message, _, _ := strings.Cut(trimmed(failed.Step), "\n")
	return []check{{
		Policy: failed.Label, Name: comesToItsEnd, Message: message, Reasons: strings.Split(failed.Error(), "\n"), Broken: true,
	}}
}

// refusals are the reasons for which the answer is negative.
func refusals(checks []check) []string {
	var reasons []string
	for i := range checks {
		reasons = append(reasons, checks[i].Reasons...)
	}
	return reasons
}

// shortRefusals are the same for whoever has read the headlines, which say why rollouts do not come to their end.
func shortRefusals(checks []check) []string {
	var reasons, open []string
	for i := range checks {
		switch c := &checks[i]; {
		case c.Name != comesToItsEnd:
			reasons = append(reasons, c.Reasons...)
		case len(c.Reasons) > 0:
			open = append(open, c.Policy)
		}
	}
	if len(open) > 0 {
		reasons = slices.Insert(reasons, 0, "not done, for the reasons above: "+strings.Join(open, ", "))
	}
	return reasons
}

// asError is the error of a command whose answer is negative for these reasons; nil if there are none.
func asError(reasons []string) error {
	if len(reasons) == 0 {
		return nil
	}
	return &exit.NegativeError{Reason: strings.Join(reasons, "\n")}
}
