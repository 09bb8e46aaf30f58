package simulation

import (
	"cmp"
	"image/color"
	"math"
	"slices"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// axis is the time axis that all candidates share.
type axis struct {
	From, To time.Duration
	// Log reports whether the axis is logarithmic. It is if the times of the candidates differ so much that a linear axis would
	// hide the short ones.
	Log bool
}

// columns is the number of parts of a time axis. All events within one part are one point.
const columns = 400

// muchLonger is how many times as long as the shortest rollout the longest must be for a logarithmic axis.
const muchLonger = 25

func newAxis(outcomes []*outcome) axis {
	var longest time.Duration
	shortest := time.Duration(math.MaxInt64)
	for _, o := range outcomes {
		var end time.Duration
		for _, t := range o.Traces {
			end = max(end, t.end())
		}
		longest, shortest = max(longest, end), min(shortest, end)
	}
	a := axis{To: max(longest+longest/33, time.Second)}
	if shortest > 0 && longest/shortest >= muchLonger {
		a.Log = true
		a.From = max(shortest/20, time.Second)
	}
	return a
}

// edge is the instant at which a column begins.
func (a axis) edge(column int) time.Duration {
	share := float64(column) / columns
	if a.Log {
		from, to := math.Log(float64(a.From)), math.Log(float64(a.To))
		return time.Duration(math.Exp(from + share*(to-from)))
	}
	return time.Duration(share * float64(a.To))
}

// name is what the axis shows.
func (a axis) name() string {
	if a.Log {
		return "time since the beginning (logarithmic)"
	}
	return unitFor(a.To).Name + " since the beginning"
}

// share is where an instant is on the axis, from 0 to 1.
func (a axis) share(at time.Duration) float64 {
	if a.Log {
		from, to := math.Log(float64(a.From)), math.Log(float64(a.To))
		return (math.Log(float64(max(at, a.From))) - from) / (to - from)
	}
	return float64(at) / float64(a.To)
}

// x is the coordinate of an instant on the plot.
func (a axis) x(at time.Duration) float64 {
	if a.Log {
		return max(at, a.From).Seconds()
	}
	return float64(at) / float64(unitFor(a.To).Of)
}

// maxima are the largest values of a step function in each column.
func (a axis) maxima(curve []simulate.Point, value func(simulate.Point) float64) []float64 {
	list := make([]float64, columns)
	i, current := 0, 0.0
	for column := range columns {
		end := a.edge(column + 1)
		most := current
		if column == 0 && a.Log { // changes before the beginning of the axis are in no column
			for i < len(curve) && curve[i].At <= a.From {
				current = value(curve[i])
				most = current
				i++
			}
		}
		for i < len(curve) && (curve[i].At < end || column == columns-1) {
			current = value(curve[i])
			most = max(most, current)
			i++
		}
		list[column] = most
	}
	return list
}

// finals are the values at the end of each column.
func (a axis) finals(curve []simulate.Point, value func(simulate.Point) float64) []float64 {
	list := make([]float64, columns)
	i, current := 0, 0.0
	for column := range columns {
		end := a.edge(column + 1)
		for i < len(curve) && (curve[i].At < end || column == columns-1) {
			current = value(curve[i])
			i++
		}
		list[column] = current
	}
	return list
}

// line is the line of one candidate in a chart, by column.
type line struct {
	Label string
	// Values are the values. With several seeds Low and High are the band around them.
	Values, Low, High []float64
	Color             color.NRGBA
	Dashes            []vg.Length
}

// limit is a line that marks a limit of others. It is horizontal, or has steps.
type limit struct {
	Label string
	// Value is the highest limit.
	Value float64
	// Values are the limits by column; nil: Value in all columns.
	Values []float64
	Color  color.NRGBA
	Dashes []vg.Length
}

// chart is a picture of lines over time.
type chart struct {
	// File is the name of the picture, without the extension.
	File          string
	Title, YLabel string
	// Note is the text below the picture on the page.
	Note   string
	Axis   axis
	Lines  []line
	Limits []limit
	// Marks are the happenings that explain the lines.
	Marks []mark
	// Top is the upper end of the vertical axis. If it is 0, the lines determine the end.
	Top float64
	// Most is the greatest value that there can be, which no line is drawn above; 0: there is none.
	Most float64
	// Show prints a value, for the page.
	Show func(float64) string
}

// bands makes the line of one candidate: the median of all seeds, and the range in which eight of ten are.
func bands(label string, index int, seeds [][]float64) line {
	l := line{Label: label, Color: colorOf(index), Dashes: dashesOf(index), Values: make([]float64, columns)}
	if len(seeds) == 1 {
		l.Values = seeds[0]
		return l
	}
	l.Low, l.High = make([]float64, columns), make([]float64, columns)
	values := make([]float64, len(seeds))
	for column := range columns {
		for i := range seeds {
			values[i] = seeds[i][column]
		}
		slices.Sort(values)
		l.Low[column] = quantile(values, 0.1)
		l.Values[column] = quantile(values, 0.5)
		l.High[column] = quantile(values, 0.9)
	}
	return l
}

// top is the upper end of the vertical axis, above all lines and limits.
func (c *chart) top() float64 {
	if c.Top > 0 {
		return c.Top
	}
	top := 0.0
	for i := range c.Lines {
		top = max(top, slices.Max(c.Lines[i].Values))
		if c.Lines[i].High != nil {
			top = max(top, slices.Max(c.Lines[i].High))
		}
	}
	for _, l := range c.Limits {
		top = max(top, l.Value)
	}
	if top == 0 {
		return 1
	}
	return top * 1.06
}

// steps are the points of a line that has one value in each column.
func (c *chart) steps(values []float64) plotter.XYs {
	var list plotter.XYs
	for column, value := range values {
		from, to := c.Axis.x(c.Axis.edge(column)), c.Axis.x(c.Axis.edge(column+1))
		if n := len(list); n > 0 && list[n-1].Y == value {
			list[n-1].X = to
			continue
		}
		list = append(list, plotter.XY{X: from, Y: value}, plotter.XY{X: to, Y: value})
	}
	return list
}

// draw draws the chart and returns where its data area is, from the top left corner.
func (c *chart) draw(canvas draw.Canvas) area {
	fillRect(canvas, white, canvas.Min.X, canvas.Min.Y, canvas.Max.X, canvas.Max.Y)
	width := canvas.Max.X - canvas.Min.X
	var entries []legendEntry
	for i := range c.Lines {
		l := &c.Lines[i]
		entries = append(entries, legendEntry{Text: l.Label, Color: l.Color, Dashes: l.Dashes})
	}
	for _, l := range c.Limits {
		entries = append(entries, legendEntry{Text: l.Label, Color: l.Color, Dashes: l.Dashes})
	}
	rest := drawHead(canvas, c.Title, entries)
	rest = draw.Crop(rest, 4, -14, textSize+4, 0)
	p := plot.New()
	p.BackgroundColor = nil
	c.axes(p, width)
	data := p.DataCanvas(rest)
	labels, rows := c.labels(data.Min.X, data.Max.X)
	rest = draw.Crop(rest, 0, 0, 0, -vg.Length(rows)*markLine)
	data = p.DataCanvas(rest)
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.NRGBA{}, lightGrey
	grid.Vertical.Width, grid.Horizontal.Width = 0, 0.5
	p.Add(grid)
	for i := range c.Lines {
		l := &c.Lines[i]
		if l.Low != nil {
			p.Add(c.band(l))
		}
	}
	heights := c.heights()
	for i := range c.Lines {
		l := &c.Lines[i]
		style := draw.LineStyle{Color: l.Color, Width: 1.6, Dashes: l.Dashes}
		p.Add(&plotter.Line{XYs: c.steps(heights[i]), LineStyle: style})
	}
	for i, l := range c.Limits {
		style := draw.LineStyle{Color: l.Color, Width: 1, Dashes: l.Dashes}
		p.Add(&plotter.Line{XYs: c.steps(heights[len(c.Lines)+i]), LineStyle: style})
	}
	p.Draw(rest)
	drawLabels(canvas, labels, data)
	name := textStyle(textSize, false)
	name.XAlign, name.YAlign = text.XCenter, text.YBottom
	canvas.FillText(name, vg.Point{X: (data.Min.X + data.Max.X) / 2, Y: canvas.Min.Y + 3}, c.Axis.name())
	height := canvas.Max.Y
	return area{
		X0: float64(data.Min.X), X1: float64(data.Max.X),
		Y0: float64(height - data.Max.Y), Y1: float64(height - data.Min.Y),
	}
}

// values are the limits by column.
func (l limit) values() []float64 {
	if l.Values != nil {
		return l.Values
	}
	return slices.Repeat([]float64{l.Value}, columns)
}

// apart is how far above another line a line is drawn that it would hide, as a share of the vertical axis: about two points.
const apart = 1. / 110

// heights are where each line, and behind them each limit, is drawn, by column: at its value, but where it would hide a line
// before it, just above that line, or below it where that would be above the greatest value that there can be. Everywhere else it
// stays at its value, so that it is never above a limit that it keeps.
func (c *chart) heights() [][]float64 {
	var values [][]float64
	for i := range c.Lines {
		values = append(values, c.Lines[i].Values)
	}
	for _, l := range c.Limits {
		values = append(values, l.values())
	}
	gap := apart * c.top()
	heights := make([][]float64, len(values))
	for i := range values {
		heights[i] = slices.Clone(values[i])
		for j := range i {
			if !hides(values[i], values[j], gap) {
				continue
			}
			for column := range heights[i] {
				if math.Abs(values[i][column]-values[j][column]) < gap {
					heights[i][column] = max(heights[i][column], heights[j][column]+gap)
				}
			}
		}
	}
	if c.Most > 0 {
		keepBelow(heights, c.Most, gap)
	}
	return heights
}

// keepBelow lowers the lines, by column, so that none is above the greatest value that there can be. Those that are pushed down
// stay a gap apart, as far as there is room.
func keepBelow(heights [][]float64, most, gap float64) {
	order := make([]int, len(heights))
	for i := range order {
		order[i] = i
	}
	for column := range columns {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(heights[b][column], heights[a][column]) })
		ceiling := most
		for _, i := range order {
			if heights[i][column] <= ceiling {
				break // the lines below have room
			}
			heights[i][column] = max(ceiling, 0)
			ceiling -= gap
		}
	}
}

// hides reports whether two lines are less than the gap apart in so many columns that a reader would miss one of them.
func hides(a, b []float64, gap float64) bool {
	near := 0
	for column := range a {
		near += one(math.Abs(a[column]-b[column]) < gap)
	}
	return near >= columns/20
}

// area is a rectangle in points from the top left corner.
type area struct {
	X0, Y0, X1, Y1 float64
}

func (c *chart) axes(p *plot.Plot, width vg.Length) {
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle = withAlign(a.Label.TextStyle, textSize)
		a.Tick.Label = withAlign(a.Tick.Label, textSize-1)
		a.Padding = 0
		a.Width, a.Tick.Width = 0.6, 0.6
	}
	top := c.top()
	p.Y.Min, p.Y.Max = 0, top
	p.Y.Label.Text = c.YLabel
	p.Y.Tick.Marker = plot.ConstantTicks(niceTicks(top, 6))
	p.X.Min, p.X.Max = c.Axis.x(c.Axis.From), c.Axis.x(c.Axis.To)
	if c.Axis.Log {
		p.X.Scale = plot.LogScale{}
		p.X.Tick.Marker = plot.ConstantTicks(logTicks(c.Axis, width-60))
		return
	}
	p.X.Tick.Marker = plot.ConstantTicks(niceTicks(p.X.Max, max(int(width/60), 5)))
}

func (c *chart) band(l *line) *plotter.Polygon {
	outline := c.steps(l.High)
	low := c.steps(l.Low)
	slices.Reverse(low)
	outline = append(outline, low...)
	fill := l.Color
	fill.A = 0x38
	return &plotter.Polygon{XYs: []plotter.XYs{outline}, Color: fill}
}
