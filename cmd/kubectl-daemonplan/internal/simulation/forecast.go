package simulation

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

const forecastLong = `Forecast how long the rollout of a spec takes, as a distribution over many runs: half of them, and
nine of ten, take no longer than that.`

const forecastExample = `  simulate forecast --dump dump.json --spec new.yaml --world world.yaml
  simulate forecast --nodes 300 --from v1.yaml --spec v2.yaml --world world.yaml --seeds 100`

func (p *program) forecastCommand() *cobra.Command {
	q := question{defaultSeeds: simulate.DefaultSeeds}
	c := &cobra.Command{
		Use: "forecast", Short: "Forecast how long a rollout takes", Long: forecastLong, Example: forecastExample, Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return p.forecast(&q, &files{Stdin: p.Stdin}) },
	}
	c.Flags().SortFlags = false
	q.flags(c.Flags())
	return c
}

func (p *program) forecast(q *question, f *files) error {
	e, err := q.load(f)
	if err != nil {
		return err
	}
	p.warn(e)
	outcomes, err := p.compare(e, nil)
	if err != nil {
		return err
	}
	p.warnUnused(e, outcomes)
	for i, o := range outcomes {
		if i > 0 {
			fmt.Fprintln(p.Stdout)
		}
		printPrediction(p.Stdout, o.Label, simulate.Predict(o.Reports))
	}
	return nil
}

// printPrediction prints the distribution as a table.
func printPrediction(out io.Writer, label string, prediction simulate.Prediction) {
	rows := [][]string{
		{fmt.Sprintf("%s, %s", label, plural(prediction.Runs, "run", "runs")), "p50", "p90", "max"},
		times("time until every node is updated", prediction),
		counts("waves", prediction.Waves, prediction),
		counts("peak unavailable nodes", prediction.Peak, simulate.Prediction{}),
	}
	printRows(out, rows)
	if prediction.Unfinished > 0 {
		fmt.Fprintf(out, "%d of %d runs did not update every node; times and waves are those of the others.\n",
			prediction.Unfinished, prediction.Runs)
	}
}

func times(name string, p simulate.Prediction) []string {
	row := []string{name}
	for _, d := range []time.Duration{p.Duration.P50, p.Duration.P90, p.Duration.Max} {
		row = append(row, unlessNone(asDuration(float64(d)), p))
	}
	return row
}

func counts(name string, q simulate.Quantiles[int], p simulate.Prediction) []string {
	row := []string{name}
	for _, n := range []int{q.P50, q.P90, q.Max} {
		row = append(row, unlessNone(asCount(float64(n)), p))
	}
	return row
}

// unlessNone is the text, or "never" if no run finished.
func unlessNone(text string, p simulate.Prediction) string {
	if p.Runs > 0 && p.Unfinished == p.Runs {
		return "never"
	}
	return text
}

const suggestLong = `Suggest the smallest value of a knob with which nine of ten runs update every node by the deadline. The
knobs are maxUnavailable, maxSurge, and slowStart (the nodes that it adds at each step), all in nodes. Without --knob it
turns the one that sets the pace of the spec: maxSurge if the spec surges, slowStart if its steps are smaller than
maxUnavailable, else maxUnavailable.

It tries 1, 2, 4 and so on, and then halves the interval: what it suggests was tried, and so was one node less, which
was too slow.`

const suggestExample = `  simulate suggest --dump dump.json --spec new.yaml --world world.yaml --deadline 30m
  simulate suggest --nodes 300 --from v1.yaml --spec v2.yaml --world world.yaml --deadline 1h --knob maxSurge`

func (p *program) suggestCommand() *cobra.Command {
	q := question{defaultSeeds: simulate.DefaultSeeds}
	var deadline time.Duration
	var knob string
	c := &cobra.Command{
		Use: "suggest", Short: "Suggest the smallest budget that meets a deadline", Long: suggestLong, Example: suggestExample,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			return p.suggest(&q, &files{Stdin: p.Stdin}, knob, deadline)
		},
	}
	c.Flags().SortFlags = false
	c.Flags().DurationVar(&deadline, "deadline", 0, "virtual `time` by which every node is to be updated, such as 30m (required)")
	c.Flags().StringVar(&knob, "knob", "", "turn this `KNOB`: maxUnavailable, maxSurge or slowStart "+
		"(default: the one that sets the pace of the spec)")
	q.flags(c.Flags())
	return c
}

func (p *program) suggest(q *question, f *files, knobName string, deadline time.Duration) error {
	var knob simulate.Knob
	if err := knob.UnmarshalText([]byte(knobName)); knobName != "" && (err != nil || knob == 0) {
		return fmt.Errorf("--knob %s: there is no such knob; there are: maxUnavailable, maxSurge, slowStart", knobName)
	}
	if deadline <= 0 {
		return fmt.Errorf("--deadline %s: give a time from the beginning, such as 30m", deadline)
	}
	if q.Until != 0 {
		return fmt.Errorf("--until %s: a run that is late ends by itself", q.Until)
	}
	if len(q.Specs) > 1 {
		return fmt.Errorf("--spec is there %d times: suggest is about one spec", len(q.Specs))
	}
	e, err := q.load(f)
	if err != nil {
		return err
	}
	p.warn(e)
	turned := fmt.Sprintf("The knob that was turned is %s, as --knob says.", knob)
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
	for _, path := range s.unused.paths {
		p.warnPath(e, path, "")
	}
	label := e.Candidates[0].Label
	if suggestion.Value == 0 {
		fmt.Fprintf(p.Stdout, "No %s meets %s: with %s, %d of %d runs are late.\n%s\n", knob, asDuration(float64(deadline)),
			strconv.Itoa(s.most), suggestion.Prediction.Unfinished, suggestion.Prediction.Runs, turned)
		return errNegative
	}
	fmt.Fprintf(p.Stdout, "%s %d meets %s.\n%s\n\n", knob, suggestion.Value, asDuration(float64(deadline)), turned)
	printPrediction(p.Stdout, label, suggestion.Prediction)
	return nil
}

// knobOf is the knob that limits how fast the spec is rolled out on so many nodes. It is maxSurge if the spec has one, slowStart
// if its steps are smaller than maxUnavailable, else maxUnavailable.
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
