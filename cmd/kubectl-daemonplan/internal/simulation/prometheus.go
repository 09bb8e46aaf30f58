package simulation

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
)

// formatPrometheus is the format of the text files that Prometheus reads, in version 0.0.4.
const formatPrometheus = "prometheus"

// family is a metric of all candidates. It is a gauge, and has no times of its own: a text file is read again and again.
type family struct {
	name, help string
	// perRun is the value of a run, of which there are samples with the label quantile; nil: all has the samples.
	perRun func(o *outcome, seed int) float64
	all    func(o *outcome) []sample
}

// sample is a value with the labels that it has beside those of its candidate, such as quantile="0.5".
type sample struct {
	labels string
	value  float64
}

// prefix is what the names of all metrics begin with.
const prefix = "daemonplan_forecast_"

// families are all metrics. Programs know them by name, so that names and meanings stay.
var families = []family{
	{
		name: "duration_seconds", help: "Time until every node is updated; +Inf: never.",
		perRun: func(o *outcome, seed int) float64 { return o.finished(seed) / float64(time.Second) },
	},
	{
		name: "reachable_duration_seconds", help: "Time until every node is updated that can be reached; +Inf: never.",
		perRun: func(o *outcome, seed int) float64 { return o.reachable(seed) / float64(time.Second) },
	},
	{
		name: "peak_unavailable_nodes", help: "Most nodes without a serving pod at once, with those that were down before.",
		perRun: func(o *outcome, seed int) float64 { return float64(o.Reports[seed].Unavailable.Peak) },
	},
	{
		name: "peak_taken_nodes", help: "Most nodes without a serving pod at once, beside those that were down before.",
		perRun: func(o *outcome, seed int) float64 { return float64(o.Reports[seed].Taken.Peak) },
	},
	{
		name: "unavailable_node_seconds", help: "Time without a serving pod, summed over nodes.",
		perRun: func(o *outcome, seed int) float64 { return o.Reports[seed].Unavailable.NodeTime.Seconds() },
	},
	{
		name: "waves", help: "Waves in which nodes were begun.",
		perRun: func(o *outcome, seed int) float64 { return float64(o.Reports[seed].Waves) },
	},
	{name: "desired_nodes", help: "Nodes that are to run the pod.", all: func(o *outcome) []sample {
		return []sample{{"", float64(o.Reports[o.worst()].Desired)}}
	}},
	{
		name: "updated_nodes", help: "Nodes that have the new version in the end, in the run with the fewest.",
		all: func(o *outcome) []sample { return []sample{{"", float64(o.Traces[o.worst()].Version.Now)}} },
	},
	{name: "runs", help: "Simulated runs, by how they ended.", all: func(o *outcome) []sample {
		return []sample{
			{`ending="done"`, float64(o.count(endDone))}, {`ending="done_but_down_before"`, float64(o.count(endBut))},
			{`ending="given_up"`, float64(o.count(endGivenUp))}, {`ending="replaced"`, float64(o.count(endReplaced))},
			{`ending="stuck"`, float64(o.count(endStuck))}, {`ending="limit"`, float64(o.count(endLimit))},
		}
	}},
}

// shares are the quantiles over the runs. Each is the least value of a run that at least that share of the runs does not exceed.
var shares = []float64{0.05, 0.5, 0.9, 0.95}

func (f *family) samples(o *outcome) []sample {
	if f.perRun == nil {
		return f.all(o)
	}
	values := make([]float64, len(o.Reports))
	for seed := range values {
		values[seed] = f.perRun(o, seed)
	}
	slices.Sort(values)
	var list []sample
	for _, share := range shares {
		list = append(list, sample{fmt.Sprintf("quantile=\"%v\"", share), quantile(values, share)})
	}
	return list
}

// printPrometheus prints the forecasts as a text file for Prometheus.
func printPrometheus(out io.Writer, outcomes []*outcome) error {
	var page strings.Builder
	for i := range families {
		f := &families[i]
		fmt.Fprintf(&page, "# HELP %s%s %s\n# TYPE %s%s gauge\n", prefix, f.name, f.help, prefix, f.name)
		for _, o := range outcomes {
			labels := o.labels()
			for _, s := range f.samples(o) {
				fmt.Fprintf(&page, "%s%s{%s} %s\n", prefix, f.name, strings.TrimSuffix(labels+","+s.labels, ","), number(s.value))
			}
		}
	}
	_, err := io.WriteString(out, page.String())
	return err
}

// labels are those of all samples of a candidate. Several specs of the same set differ in the label spec.
func (o *outcome) labels() string {
	spec := &o.Set.Spec
	var list []string
	for _, label := range [][2]string{
		{"namespace", spec.Namespace}, {"name", spec.Name}, {"kind", spec.Kind}, {"controller", string(o.Controller)},
		{"spec", o.Label},
	} {
		// Of what is printable, Go escapes what Prometheus does: the backslash and the quotation mark.
		list = append(list, fmt.Sprintf("%s=%q", label[0], text.Printable(label[1])))
	}
	return strings.Join(list, ",")
}

// number is a value as Prometheus reads it.
func number(value float64) string {
	if math.IsInf(value, 1) {
		return "+Inf"
	}
	return strconv.FormatFloat(value, 'f', -1, 64)
}
