package simulation

import (
	"bytes"
	"fmt"
	stdpng "image/png"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// recorded is the outcome of a run with the given records.
func recorded(label string, records ...simulate.Record) *outcome {
	t := newTrace(true)
	for _, r := range records {
		t.add(r)
	}
	t.finish(new(simulate.Report))
	reports := []simulate.Report{{Elapsed: t.end()}}
	return &outcome{candidate: &candidate{Label: label, Set: new(objects.Set)}, Reports: reports, Traces: []*trace{t}}
}

// changed is the record of a node whose state changes after so many seconds.
func changed(seconds float64, node, zone string, from, to simulate.NodeState) simulate.Record {
	return simulate.Record{
		At: time.Duration(seconds * float64(time.Second)), Kind: simulate.NodeChanged, Node: node, Zone: zone, From: from, To: to,
	}
}

// updates are the records of a node that is down from one second to another, and updated from then on.
func updates(node, zone string, down, up float64) []simulate.Record {
	return []simulate.Record{
		changed(0, node, zone, 0, simulate.NodeOld), changed(down, node, zone, simulate.NodeOld, simulate.NodeStarting),
		changed(up, node, zone, simulate.NodeStarting, simulate.NodeNew),
	}
}

func inOrder(lists ...[]simulate.Record) []simulate.Record {
	all := slices.Concat(lists...)
	slices.SortStableFunc(all, func(a, b simulate.Record) int { return int(a.At - b.At) })
	return all
}

func TestCurves(t *testing.T) {
	o := recorded("a", inOrder(updates("x", "", 0, 40), updates("y", "", 40, 100))...)
	a := axis{To: 100 * time.Second}
	down := a.maxima(o.Traces[0].Series.Points, func(p simulate.Point) float64 { return float64(p.Unavailable()) })
	updated := a.finals(o.Traces[0].Series.Points, func(p simulate.Point) float64 { return float64(p.Count(simulate.NodeNew)) })
	for _, tt := range []struct {
		name          string
		column        int
		down, updated float64
	}{
		{"beginning", 0, 1, 0},
		{"before the first is up", 158, 1, 0},
		{"after the first is up", 161, 1, 1},
		{"before the end", 398, 1, 1},
		{"the end belongs to the last column", 399, 1, 2},
	} {
		if down[tt.column] != tt.down || updated[tt.column] != tt.updated {
			t.Errorf("%s: %v down and %v updated, want %v and %v", tt.name, down[tt.column], updated[tt.column], tt.down, tt.updated)
		}
	}
}

// A short outage within a column must stay visible, because the picture exists to show it.
func TestMaximaKeepPeaks(t *testing.T) {
	var all [][]simulate.Record
	for i := range 50 {
		all = append(all, updates(fmt.Sprintf("n%02d", i), "", 500.0001, 500.0002))
	}
	all = append(all, updates("last", "", 999, 1000))
	o := recorded("a", inOrder(all...)...)
	for _, a := range []axis{{To: 1000 * time.Second}, {From: time.Second, To: 1000 * time.Second, Log: true}} {
		down := a.maxima(o.Traces[0].Series.Points, func(p simulate.Point) float64 { return float64(p.Unavailable()) })
		if most := slices.Max(down); most != 50 {
			t.Errorf("logarithmic %v: the picture shows at most %v nodes down, want 50", a.Log, most)
		}
	}
}

func TestAxis(t *testing.T) {
	quick, slow := recorded("quick", updates("x", "", 1, 60)...), recorded("slow", updates("x", "", 1, 60*30)...)
	if a := newAxis([]*outcome{quick, quick}); a.Log {
		t.Error("equal times need no logarithmic axis")
	}
	a := newAxis([]*outcome{quick, slow})
	if !a.Log || a.From != 3*time.Second || a.To < 30*time.Minute {
		t.Errorf("the axis of one minute and half an hour is %+v", a)
	}
	if a.edge(0) != a.From || math.Abs(float64(a.edge(columns)-a.To)) > float64(time.Microsecond) {
		t.Errorf("the axis goes from %v to %v, want %v to %v", a.edge(0), a.edge(columns), a.From, a.To)
	}
	if empty := newAxis([]*outcome{recorded("nothing")}); empty.To <= 0 || empty.Log {
		t.Errorf("the axis of nothing is %+v", empty)
	}
}

func TestRates(t *testing.T) {
	a := axis{To: 400 * time.Second} // a column is a second
	rates := a.rates([]sent{
		{From: 0, To: 10 * time.Second, Bytes: 1000}, {From: 10 * time.Second, To: 10500 * time.Millisecond, Bytes: 500},
		{From: 399 * time.Second, To: 401 * time.Second, Bytes: 200},
	})
	for column, want := range map[int]float64{0: 100, 9: 100, 10: 500, 11: 0, 399: 100} {
		if rates[column] != want {
			t.Errorf("%v bytes a second in second %d, want %v", rates[column], column, want)
		}
	}
}

func TestHeatmapRows(t *testing.T) {
	o := recorded("a", inOrder(
		updates("late", "a", 50, 90), updates("early", "a", 0, 10), updates("other", "b", 0, 50),
		[]simulate.Record{changed(0, "never", "a", 0, simulate.NodeOld), changed(10, "never", "a", simulate.NodeOld, simulate.NodeLost)},
	)...)
	p := newPanel(o.Traces[0].Nodes, 100*time.Second, 100)
	if p.PerRow != 1 || len(p.Rows) != 4 || len(p.Zones) != 2 || p.Zones[0].To != 3 || p.Zones[1].From != 3 {
		t.Fatalf("%d nodes to each of %d rows, zones %+v", p.PerRow, len(p.Rows), p.Zones)
	}
	const second = heatColumns / 100
	for _, tt := range []struct {
		name   string
		row    int
		at     int
		states simulate.NodeState
	}{
		{"early is first", 0, 5, simulate.NodeStarting}, {"early is done", 0, 11, simulate.NodeNew},
		{"late is next", 1, 49, simulate.NodeOld}, {"late is down", 1, 51, simulate.NodeStarting}, {"late is done", 1, 91, simulate.NodeNew},
		{"never is last of its zone", 2, 99, simulate.NodeLost}, {"zone b is below", 3, 49, simulate.NodeStarting},
	} {
		if got := p.Rows[tt.row][tt.at*second]; got != tt.states {
			t.Errorf("%s: row %d is %v after %d s, want %v", tt.name, tt.row, got, tt.at, tt.states)
		}
	}
	// Three nodes in four pixels make one row of each zone. A row shows the state that most of its nodes are in.
	coarse := newPanel(o.Traces[0].Nodes, 100*time.Second, 2)
	if coarse.PerRow != 2 || len(coarse.Rows) != 3 || coarse.Rows[0][95*second] != simulate.NodeNew {
		t.Errorf("%d nodes to each of %d rows; at the end the first is %v", coarse.PerRow, len(coarse.Rows), coarse.Rows[0][95*second])
	}
}

// A large fleet must fit on a page, and every state must have a colour of its own.
func TestHeatmapSize(t *testing.T) {
	for _, nodes := range []int{0, 1, 60, 1000, 15_000} {
		list := make([]simulate.NodeHistory, nodes)
		for i := range list {
			list[i] = simulate.NodeHistory{
				Node: fmt.Sprint(i), Zone: string(rune('a' + i%5)), Changes: []simulate.Change{{State: simulate.NodeNew}},
			}
		}
		o := &outcome{candidate: &candidate{Label: "a"}, Traces: []*trace{{Nodes: list}}}
		h := newHeatmap([]*outcome{o})
		width, height := h.size()
		if width > 800 || height > 1100 {
			t.Errorf("%d nodes: %v x %v points", nodes, width, height)
		}
		if rows := len(h.Panels[0].Rows); nodes > 0 && rows*h.Panels[0].PerRow < nodes {
			t.Errorf("%d nodes: %d rows of %d lose some", nodes, rows, h.Panels[0].PerRow)
		}
		if nodes <= 1000 {
			if _, err := svg(width, height, h.draw); err != nil {
				t.Error(err)
			}
		}
	}
	seen := make(map[string]bool)
	for state := simulate.NodeOutside; state <= simulate.NodeNew; state++ {
		l := lookOf(state)
		if l.State != state || seen[fmt.Sprint(l.Color)] {
			t.Errorf("%v has no colour of its own", state)
		}
		seen[fmt.Sprint(l.Color)] = true
	}
}

// The legend is above the plot, on as many lines as it needs, and within the picture.
func TestLegendFits(t *testing.T) {
	var entries []legendEntry
	for i := range 12 {
		entries = append(entries, legendEntry{Text: fmt.Sprintf("a policy with a long name, number %d", i)})
	}
	style := textStyle(textSize, false)
	used := make(map[int]float64)
	flow(entries, pictureWidth-2*legendMargin, func(entry legendEntry, x vg.Length, line int) {
		if float64(x) < used[line] {
			t.Errorf("%q overlaps the entry before it", entry.Text)
		}
		used[line] = float64(x + swatch(entry) + swatchGap + style.Width(entry.Text))
		if used[line] > pictureWidth {
			t.Errorf("%q ends at %v, beyond the picture", entry.Text, used[line])
		}
	})
	if len(used) < 3 {
		t.Errorf("12 long entries on %d lines", len(used))
	}
}

func TestTicks(t *testing.T) {
	for _, tt := range []struct {
		name  string
		limit float64
		n     int
		want  string
	}{
		{"tens", 100, 6, "0 20 40 60 80 100"}, {"halves", 2.6, 6, "0.0 0.5 1.0 1.5 2.0 2.5"}, {"thousands", 15_000, 4, "0 5,000 10,000 15,000"},
		{"nothing", 0, 4, "0.0 0.5 1.0"}, {"infinite", math.Inf(1), 4, "0.0 0.5 1.0"},
	} {
		var labels []string
		for _, tick := range niceTicks(tt.limit, tt.n) {
			labels = append(labels, tick.Label)
		}
		if got := strings.Join(labels, " "); got != tt.want {
			t.Errorf("%s: ticks %s, want %s", tt.name, got, tt.want)
		}
	}
}

// Texts of a logarithmic axis do not overlap on a phone.
func TestLogTicks(t *testing.T) {
	a := axis{From: 35 * time.Second, To: 146 * time.Hour, Log: true}
	for width, want := range map[vg.Length]string{
		phoneWidth - 60: "1 min,10 min,1 h,10 h,", pictureWidth - 60: "1 min,10 min,1 h,10 h,1 day",
	} {
		var texts []string
		for _, tick := range logTicks(a, width) {
			texts = append(texts, tick.Label)
		}
		if got := strings.Join(texts, ","); got != want {
			t.Errorf("%v points wide: %s, want %s", width, got, want)
		}
	}
}

// Pictures of nothing, of one instant and of a single column can be drawn.
func TestDrawsAnything(t *testing.T) {
	for _, tt := range []struct {
		name     string
		outcomes []*outcome
	}{
		{"nothing", []*outcome{recorded("a")}},
		{"one instant", []*outcome{recorded("a", changed(0, "x", "", 0, simulate.NodeNew))}},
		{"no node is to run it", []*outcome{recorded("a", changed(0, "x", "", 0, simulate.NodeOutside))}},
		{"nine candidates", slices.Repeat([]*outcome{recorded("a", updates("x", "", 1, 60)...)}, 9)},
		{"very different times", []*outcome{recorded("a", updates("x", "", 1, 2)...), recorded("b", updates("x", "", 1, 1e6)...)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, c := range charts(&experiment{}, tt.outcomes) {
				var at area
				picture, err := png(pictureWidth, chartHeight, func(canvas draw.Canvas) { at = c.draw(canvas) })
				if err != nil {
					t.Fatal(err)
				}
				if _, err := stdpng.Decode(bytes.NewReader(picture)); err != nil {
					t.Error(err)
				}
				if at.X1-at.X0 < 500 || at.Y1-at.Y0 < 150 || at.Y0 < 0 || at.Y1 > chartHeight {
					t.Errorf("%s: the data area is %+v", c.File, at)
				}
			}
			h := newHeatmap(tt.outcomes)
			width, height := h.size()
			if _, err := svg(width, height, h.draw); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestFigureTexts(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{asDuration(0), "0s"}, {asDuration(float64(1234 * time.Millisecond)), "1.23s"}, {asDuration(float64(90 * time.Second)), "1m30s"},
		{asDuration(float64(10 * time.Minute)), "10m"}, {asDuration(float64(61 * time.Minute)), "1h01m"},
		{asDuration(float64(100 * time.Hour)), "4d04h"}, {asCount(0), "0"}, {asCount(999), "999"}, {asCount(1000), "1,000"},
		{asCount(1234567), "1,234,567"}, {asBytes(0), "0 B"}, {asBytes(999), "999 B"}, {asBytes(999_999), "1 MB"},
		{asBytes(4.5e12), "4.5 TB"}, {asMinutes(99.94), "99.9"}, {asMinutes(1234.5), "1,235"},
		{quoted("a b"), "'a b'"}, {quoted("it's"), `'it'\''s'`}, {quoted("a=10%"), "a=10%"}, {quoted(""), "''"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}
