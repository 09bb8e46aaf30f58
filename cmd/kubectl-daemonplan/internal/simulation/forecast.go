package simulation

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

const forecastLong = `Forecast how long the rollout of a spec takes, as a distribution over many runs: half of them, and
nine of ten, take no longer than that. Without --world the times of pods are derived from the dump, and standard error
says how. If the dump does not tell how long pods take to stop, the answer is a range. If nodes can never be updated,
they are named, and the time for the others is given, too.`

const forecastExample = `  kubectl daemonplan forecast ds/node-agent -n kube-system --spec new.yaml
  kubectl daemonplan forecast --dump dump.json --spec new.yaml --world world.yaml
  kubectl daemonplan forecast --nodes 300 --from v1.yaml --spec v2.yaml --world world.yaml --seeds 100`

func (p *program) forecastCommand() *cobra.Command {
	q := question{defaultSeeds: simulate.DefaultSeeds}
	var form format
	var shard string
	c := &cobra.Command{
		Use: "forecast", Short: "Forecast how long a rollout takes", Long: forecastLong, Example: forecastExample,
		RunE: func(c *cobra.Command, _ []string) error {
			q.ctx = c.Context()
			number, err := parseShard(shard, p.variable(jobIndex))
			if err != nil {
				return err
			}
			return p.forecast(&q, &objects.Files{Stdin: p.Stdin}, &form, number)
		},
	}
	c.Flags().SortFlags = false
	q.flags(c.Flags())
	c.Flags().StringVar(&shard, "shard", "", "make shard `I/N` of the runs only, such as 2/8, and print it for "+
		"kubectl daemonplan merge; N alone takes the number from an Indexed Job")
	form.flags(c, true, formatPrometheus)
	p.from(c, &q)
	return c
}

func (p *program) forecast(q *question, f *objects.Files, form *format, of shardNumber) error {
	gates, err := parseGates(form.FailIf)
	if err := errors.Join(q.check(), form.Output.Check(), of.check(q, form), err); err != nil {
		return err
	}
	e, err := q.load(f)
	if err != nil {
		return err
	}
	if err := e.timed(); err != nil {
		return err
	}
	e.shard = of
	p.warn(e)
	outcomes, err := p.outcomes(e, nil)
	if err != nil {
		p.tellDerived(e)
		return p.failed(form, "forecast", err)
	}
	if of.Of > 0 {
		return p.printShard(e, outcomes)
	}
	return p.answer(e, outcomes, form, gates)
}

// answer prints a forecast, and judges it.
func (p *program) answer(e *experiment, outcomes []*outcome, form *format, gates []gate) error {
	defer p.tellDerived(e)
	p.warnUnused(e, outcomes)
	checks := checksOf(outcomes, gates)
	if err := p.printForecasts(form, e, outcomes, refusals(checks)); err != nil {
		return err
	}
	if err := p.tellCI(form, "forecast", checks); err != nil {
		return err
	}
	if form.Output.IsData() || form.Output.Is(formatPrometheus) {
		return asError(refusals(checks))
	}
	return asError(shortRefusals(checks))
}

// printForecasts prints the answer in the format that is asked for.
func (p *program) printForecasts(form *format, e *experiment, outcomes []*outcome, failures []string) error {
	if form.Output.IsData() {
		return form.Output.Print(p.Stdout, answerOf("forecast", e, outcomes, failures))
	}
	if form.Output.Is(formatPrometheus) {
		return printPrometheus(p.Stdout, outcomes)
	}
	p.tellWhose(e)
	for i, o := range outcomes {
		if i > 0 {
			fmt.Fprintln(p.Stdout)
		}
		printForecast(p.Stdout, o)
	}
	return nil
}

// printForecast prints the distribution over the runs as a table, and what became of the runs in which the new version did
// not come to every node.
func printForecast(out io.Writer, o *outcome) {
	row := func(name string, show func(float64) string, of func(seed int) float64) []string {
		q := quantilesOf(o, of)
		cells := []string{name}
		for _, value := range []*float64{q.P50, q.P90, q.Max} {
			if value == nil {
				cells = append(cells, "never")
			} else {
				cells = append(cells, show(*value))
			}
		}
		return cells
	}
	rows := [][]string{
		{fmt.Sprintf("%s, %s", o.Label, text.Counted(len(o.Reports), "run")), "p50", "p90", "max"},
		row("time until every node is updated", asDuration, o.finished),
	}
	if o.count(endBut, endStuck, endLimit) > 0 {
		rows = append(rows, row("  every node that can be reached", asDuration, o.reachable))
	}
	if o.AtOnce != nil {
		rows = append(rows, row("  if pods stop at once", asDuration, o.AtOnce.reachable))
	}
	rows = append(rows,
		row("waves", counted("wave", "waves"), func(seed int) float64 { return float64(o.Reports[seed].Waves) }),
		row("peak unavailable nodes", counted("node", "nodes"),
			func(seed int) float64 { return float64(o.Reports[seed].Unavailable.Peak) }))
	if o.hadNodesDown() {
		rows = append(rows, row("  beside those down before", counted("node", "nodes"),
			func(seed int) float64 { return float64(o.Reports[seed].Taken.Peak) }))
	}
	printRows(out, rows)
	if o.count(endDone) < len(o.Reports) || o.leavesNodes() || o.AtOnce != nil {
		fmt.Fprintf(out, "\n%s: %s\n", o.Label, o.story())
		for _, line := range indented(o.whyLeft()) {
			fmt.Fprintln(out, line)
		}
	}
}

const suggestLong = `Suggest the smallest value of a knob with which nine of ten runs update every node by the deadline. The
knobs are maxUnavailable, maxSurge, and slowStart (the nodes that it adds at each step), all in nodes. Without --knob it
turns the one that sets the pace of the spec: maxSurge if the spec surges, slowStart if its steps are smaller than
maxUnavailable, else maxUnavailable.

It tries 1, 2, 4 and so on, and then halves the interval: what it suggests was tried, and so was one node less, which
was too slow. If no value meets the deadline, it says why.`

const suggestExample = `  kubectl daemonplan suggest ds/node-agent -n kube-system --spec new.yaml --deadline 30m
  kubectl daemonplan suggest --dump dump.json --spec new.yaml --world world.yaml --deadline 30m
  kubectl daemonplan suggest --nodes 300 --from v1.yaml --spec v2.yaml --world world.yaml --deadline 1h --knob maxSurge`

func (p *program) suggestCommand() *cobra.Command {
	q := question{defaultSeeds: simulate.DefaultSeeds}
	var deadline time.Duration
	var knob string
	var form format
	c := &cobra.Command{
		Use: "suggest", Short: "Suggest the smallest budget that meets a deadline", Long: suggestLong, Example: suggestExample,
		RunE: func(c *cobra.Command, _ []string) error {
			q.ctx = c.Context()
			return p.suggest(&q, &objects.Files{Stdin: p.Stdin}, &form, knob, deadline)
		},
	}
	c.Flags().SortFlags = false
	c.Flags().DurationVar(&deadline, "deadline", 0, "virtual `time` by which every node is to be updated, such as 30m (required)")
	c.Flags().StringVar(&knob, "knob", "", "turn this `KNOB`: maxUnavailable, maxSurge or slowStart "+
		"(default: the one that sets the pace of the spec)")
	q.flags(c.Flags())
	form.flags(c, false)
	p.from(c, &q)
	return c
}

func (p *program) suggest(q *question, f *objects.Files, form *format, knobName string, deadline time.Duration) error {
	var knob simulate.Knob
	wrong := []error{form.Output.Check()}
	if err := knob.UnmarshalText([]byte(knobName)); knobName != "" && (err != nil || knob == 0) {
		wrong = append(wrong, fmt.Errorf("--knob %s: there is no such knob; there are: maxUnavailable, maxSurge, slowStart",
			text.Printable(knobName)))
	}
	if deadline <= 0 {
		wrong = append(wrong, fmt.Errorf("--deadline %s: give a time from the beginning, such as 30m",
			asDuration(float64(deadline))))
	}
	if q.Until != 0 {
		wrong = append(wrong, fmt.Errorf("--until %s: a run that is late ends by itself", asDuration(float64(q.Until))))
	}
	if len(q.Specs) > 1 {
		wrong = append(wrong, fmt.Errorf("--spec is there %d times: suggest is about one spec", len(q.Specs)))
	}
	wrong = append(wrong, q.oneController("suggest"))
	if err := errors.Join(append(wrong, q.check())...); err != nil {
		return err
	}
	e, err := q.load(f)
	if err != nil {
		return err
	}
	if err := e.timed(); err != nil {
		return err
	}
	p.warn(e)
	defer p.tellDerived(e)
	turned := fmt.Sprintf("The knob that was turned is %s, as --knob says.", knob)
	if by := e.Candidates[0].Controller; knobName != "" && !by.Has(knob) {
		return fmt.Errorf("--knob %s: the controller that runs the set (%s) does not have it; "+
			"with --controller daemonplan it counts", knob, by)
	}
	if knobName == "" {
		c := e.Candidates[0]
		knob = knobOf(c.Set.Spec, size(c.Fleet))
		turned = fmt.Sprintf("The knob that was turned is %s, which sets the pace of this spec; --knob turns another one.", knob)
	}
	e.Deadline = deadline
	s := search{program: p, experiment: e, knob: knob, spec: e.Candidates[0].Set.Spec}
	suggestion, err := s.find()
	if err != nil {
		return err
	}
	var failures []string
	if suggestion.Value == 0 {
		if failures, err = s.whyNone(); err != nil {
			return err
		}
	}
	for _, path := range s.unused.paths {
		p.warnPath(e, path, "")
	}
	if form.Output.IsData() {
		a := suggestAnswer{
			Command: "suggest", Seed: e.Seed, Runs: e.Seeds, Knob: knob.String(), DeadlineSeconds: deadline.Seconds(),
			Notes: e.notes(), Result: specAnswerOf(s.answer), Failures: orEmpty(failures),
		}
		if suggestion.Value != 0 {
			a.ValueNodes = &suggestion.Value
		}
		if err := form.Output.Print(p.Stdout, a); err != nil {
			return err
		}
		return asError(failures)
	}
	p.tellWhose(e)
	if suggestion.Value == 0 {
		fmt.Fprintf(p.Stdout, "%s\n%s\n\n", strings.Join(failures, "\n"), turned)
		printForecast(p.Stdout, s.answer)
		return asError(failures[:1])
	}
	fmt.Fprintf(p.Stdout, "%s %s meets %s.\n%s\n\n", knob, asCount(float64(suggestion.Value)),
		asDuration(float64(deadline)), turned)
	printForecast(p.Stdout, s.answer)
	return nil
}

// knobOf is the knob that limits how fast the spec is rolled out on so many nodes. It is maxSurge if the spec has one,
// slowStart if its steps are smaller than maxUnavailable, else maxUnavailable.
func knobOf(spec rollout.Spec, nodes int) simulate.Knob {
	strategy := spec.Default().Strategy
	inNodes := func(value *intstr.IntOrString) int {
		n, err := intstr.GetScaledValueFromIntOrPercent(value, nodes, true)
		if err != nil { // rollout.New reports this error
			return 0
		}
		return n
	}
	switch {
	case inNodes(strategy.MaxSurge) > 0:
		return simulate.KnobMaxSurge
	case strategy.SlowStart != nil && inNodes(strategy.SlowStart.Increase) < inNodes(strategy.MaxUnavailable):
		return simulate.KnobSlowStart
	default:
		return simulate.KnobMaxUnavailable
	}
}
