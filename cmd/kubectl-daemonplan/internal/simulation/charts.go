package simulation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/plot/vg"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// charts are the line charts.
func charts(e *experiment, outcomes []*outcome) []*chart {
	a := newAxis(outcomes)
	list := []*chart{progressChart(a, outcomes), unavailableChart(a, outcomes)}
	if c := registryChart(e, a, outcomes); c != nil {
		list = append(list, c)
	}
	for _, c := range list {
		c.Marks = marks(a, outcomes)
		if c.overlap() {
			beside := "just above it"
			if c.Most > 0 {
				beside += ", or just below it at the top"
			}
			c.Note = strings.TrimSpace(c.Note + " Where a line would hide another, it is drawn " + beside + ".")
		}
		if len(c.Marks) > 0 && len(outcomes[0].Traces) > 1 {
			c.Note = strings.TrimSpace(c.Note + " The marks are those of the first seed.")
		}
	}
	return list
}

// overlap reports whether a line is not drawn where its values are.
func (c *chart) overlap() bool {
	heights := c.heights()
	for i := range c.Lines {
		if !slices.Equal(heights[i], c.Lines[i].Values) {
			return true
		}
	}
	for i, l := range c.Limits {
		if !slices.Equal(heights[len(c.Lines)+i], l.values()) {
			return true
		}
	}
	return false
}

// progressChart shows the share of the nodes that have the new version.
func progressChart(a axis, outcomes []*outcome) *chart {
	c := &chart{
		File: "progress", Title: "Progress: nodes with the new version",
		YLabel: "% of the nodes that are to run it", Axis: a, Top: 104, Most: 100,
		Show: func(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) + " %" },
	}
	for i, o := range outcomes {
		var seeds [][]float64
		for _, t := range o.Traces {
			seeds = append(seeds, a.finals(t.Series.Points, func(p simulate.Point) float64 {
				return 100 * float64(t.Version.at(p.At)) / float64(max(p.Desired(), 1))
			}))
		}
		c.Lines = append(c.Lines, bands(o.Label, i, seeds))
	}
	c.Note = bandNote(outcomes)
	return c
}

// unavailableChart shows how many nodes are down, and how many may be.
func unavailableChart(a axis, outcomes []*outcome) *chart {
	c := &chart{
		File: "unavailable", Title: "Unavailable: nodes without a pod that serves", YLabel: "nodes", Axis: a,
		Show: func(v float64) string { return text.Counted(int(v), "node") },
	}
	highest := 0.0
	for i, o := range outcomes {
		var seeds [][]float64
		for _, t := range o.Traces {
			seeds = append(seeds, a.maxima(t.Series.Points, func(p simulate.Point) float64 { return float64(p.Unavailable()) }))
		}
		c.Lines = append(c.Lines, bands(o.Label, i, seeds))
		for _, values := range seeds {
			highest = max(highest, slices.Max(values))
		}
	}
	c.Limits = limits(a, outcomes)
	c.Note = strings.TrimSpace("Each point is the most at one time within its part of the time axis. " + bandNote(outcomes))
	if len(c.Limits) > 0 {
		c.Note += " More nodes can be down than maxUnavailable: nodes and pods that end by themselves ask nobody, and nodes" +
			" that are out of reach are not charged to it. A plan takes no more nodes than it leaves."
	}
	// A limit far above all lines would flatten them.
	if room := 4 * highest; highest > 0 {
		var far []string
		c.Limits = slices.DeleteFunc(c.Limits, func(l limit) bool {
			if l.Value > room {
				far = append(far, l.Label)
			}
			return l.Value > room
		})
		if len(far) > 0 {
			c.Note += " Beyond the picture: " + strings.Join(far, ", ") + "."
		}
	}
	return c
}

// limits are the budgets under the first seed. Candidates with the same budgets share one line.
func limits(a axis, outcomes []*outcome) []limit {
	var list []limit
	var drawn [][]limitFrom
	for i, o := range outcomes {
		inForce := o.Traces[0].Limits
		// maxSurge limits nodes with two pods. With it, the rollout makes no node unavailable.
		if !slices.ContainsFunc(inForce, func(l limitFrom) bool { return !l.Surge }) {
			continue
		}
		lowest, highest := inForce[0].Limit, inForce[0].Limit
		for _, l := range inForce {
			lowest, highest = min(lowest, l.Limit), max(highest, l.Limit)
		}
		words := text.Counted(highest, "node")
		if lowest < highest {
			words = fmt.Sprintf("%s to %s", asCount(float64(lowest)), words)
		}
		known := slices.IndexFunc(drawn, func(l []limitFrom) bool { return sameLimits(l, inForce) })
		if known >= 0 {
			list[known].Label = "maxUnavailable: " + words
			list[known].Color = black
			continue
		}
		l := limit{
			Label: fmt.Sprintf("maxUnavailable of %s: %s", o.Label, words),
			Value: float64(highest), Color: colorOf(i), Dashes: []vg.Length{1, 2},
		}
		if lowest < highest {
			l.Values = a.inForce(inForce)
		}
		list, drawn = append(list, l), append(drawn, inForce)
	}
	return list
}

// sameLimits reports whether two limits have the same line, whenever their first plans were made.
func sameLimits(a, b []limitFrom) bool {
	return len(a) == len(b) && a[0].Limit == b[0].Limit && slices.Equal(a[1:], b[1:])
}

// inForce is the limit at the end of each column.
func (a axis) inForce(limits []limitFrom) []float64 {
	list := make([]float64, columns)
	i := 0
	for column := range columns {
		for end := a.edge(column + 1); i+1 < len(limits) && limits[i+1].At < end; {
			i++
		}
		list[column] = float64(limits[i].Limit)
	}
	return list
}

// registryChart shows what the registry sends; nil if it sends nothing.
func registryChart(e *experiment, a axis, outcomes []*outcome) *chart {
	values := make([][]float64, len(outcomes))
	most := 0.0
	for i, o := range outcomes {
		values[i] = a.rates(o.Traces[0].Sent)
		most = max(most, slices.Max(values[i]))
	}
	if most == 0 {
		return nil
	}
	bandwidth := 0.0 // unknown
	if e.World.Model != nil {
		bandwidth = float64(e.World.Model.Registry.Bandwidth)
	}
	unit, name := rateUnit(most)
	c := &chart{
		File: "registry", Title: "Registry: bytes that it sends", YLabel: name, Axis: a,
		Show: func(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) + " " + name },
		Note: "Each point is the mean over its part of the time axis.",
	}
	if len(outcomes[0].Traces) > 1 {
		c.Note += " First seed."
	}
	for i, o := range outcomes {
		for column := range values[i] {
			values[i][column] /= unit
		}
		c.Lines = append(c.Lines, line{Label: o.Label, Values: values[i], Color: colorOf(i), Dashes: dashesOf(i)})
	}
	if bandwidth > 0 && bandwidth <= 4*most {
		c.Limits = []limit{{
			Label: "bandwidth: " + asBytes(bandwidth) + "/s", Value: bandwidth / unit, Color: black, Dashes: []vg.Length{1, 2},
		}}
	}
	return c
}

// rates are the bytes per second from the registry in each column.
func (a axis) rates(samples []sent) []float64 {
	list := make([]float64, columns)
	i := 0
	for column := range columns {
		from, to := a.edge(column), a.edge(column+1)
		if to <= from {
			continue
		}
		sum := 0.0
		for ; i < len(samples); i++ {
			t := &samples[i]
			if t.From >= to {
				break
			}
			if common := min(t.To, to) - max(t.From, from); common > 0 {
				sum += float64(t.Bytes) * float64(common) / float64(t.To-t.From)
			}
			if t.To > to { // the rest is in the next column
				break
			}
		}
		list[column] = sum / (to - from).Seconds()
	}
	return list
}

// rateUnit is the unit in which a rate is easy to read, and how many bytes per second the unit is.
func rateUnit(most float64) (float64, string) {
	switch {
	case most >= 1e9:
		return 1e9, "GB/s"
	case most >= 1e6:
		return 1e6, "MB/s"
	case most >= 1e3:
		return 1e3, "kB/s"
	default:
		return 1, "B/s"
	}
}

func bandNote(outcomes []*outcome) string {
	if n := len(outcomes[0].Traces); n > 1 {
		return fmt.Sprintf("Lines are the median of %d seeds; eight of ten seeds are within the band.", n)
	}
	return ""
}

// span is how long it took under the first seed until no node changed any more, but at least a second.
func (o *outcome) span() time.Duration { return max(o.Traces[0].end(), time.Second) }
