package simulation

import (
	"fmt"
	"image/color"
	"math"
	"strconv"
	"time"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// These colours are for paper, grids and text. The page shows them in other colours where the reader prefers a dark page.
var (
	black     = rgb(0x000000)
	white     = rgb(0xFFFFFF)
	lightGrey = rgb(0xDDDDDD)
	darkGrey  = rgb(0x777777)
)

func rgb(n uint32) color.NRGBA {
	return color.NRGBA{R: uint8(n >> 16), G: uint8(n >> 8), B: uint8(n), A: 0xFF}
}

// hex is the colour as the pictures and the page write it.
func hex(c color.NRGBA) string { return fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B) }

// lineColors are the colours of the candidates, darkLineColors those on a dark page. The lines stand out from the paper, and
// people who do not see red or green can tell them apart; a test measures both. lineDashes distinguish the candidates without
// colour.
var (
	lineColors = [...]color.NRGBA{
		rgb(0x5985E4), rgb(0xFD4C52), rgb(0x007583), rgb(0x905012), rgb(0x4D21A9), rgb(0x6F998D), black,
	}
	darkLineColors = [len(lineColors)]color.NRGBA{
		rgb(0x3AABFA), rgb(0xCB6A01), rgb(0x84B77C), rgb(0xF3D273), rgb(0xCD7FAB), rgb(0x00E1FD), rgb(0xE6E6E6),
	}
	lineDashes = [len(lineColors)][]vg.Length{nil, {8, 3}, {2, 2}, {8, 3, 2, 3}, {14, 4}, {5, 2, 5, 2, 1, 2}, {1, 3}}
)

func colorOf(candidate int) color.NRGBA { return lineColors[candidate%len(lineColors)] }

// dashesOf are the dashes of a candidate. When the colours begin anew, each has other dashes than before.
func dashesOf(candidate int) []vg.Length {
	return lineDashes[(candidate+candidate/len(lineColors))%len(lineDashes)]
}

// look is how the pictures show a state of a node.
type look struct {
	State simulate.NodeState
	Color color.NRGBA
	Text  string
}

// looks has every state, in the order of the legend. States in which a pod serves are light, those in which none does are dark,
// and a node that needs none is between them. Any two colours are far apart, for people who do not see red or green,
// too: a test measures them. They are the same on a dark page.
var looks = [...]look{
	{simulate.NodeOld, rgb(0xD3CDD0), "another version serves"},
	{simulate.NodeSurging, rgb(0x93CCFB), "another serves, new on its way"},
	{simulate.NodeNew, rgb(0xACE07F), "new version available"},
	{simulate.NodeTerminating, rgb(0xBC5C0B), "terminating"},
	{simulate.NodeEmpty, rgb(0x5A6E81), "no pod"},
	{simulate.NodePending, rgb(0x4545A2), "not bound"},
	{simulate.NodePulling, rgb(0x5166F2), "pulling the image"},
	{simulate.NodeStarting, rgb(0x053C3E), "starting, not ready"},
	{simulate.NodeBroken, rgb(0xB54C53), "crashing or failed"},
	{simulate.NodeLost, black, "node not ready"},
	{simulate.NodeOutside, rgb(0x989896), "needs no pod, or is gone"},
}

func lookOf(state simulate.NodeState) look {
	for _, l := range looks {
		if l.State == state {
			return l
		}
	}
	return looks[len(looks)-1] // before a node joins and after it has left
}

// These are sizes in points.
const (
	pictureWidth = 760
	chartHeight  = 330
	// A chart on a phone has its own size, which is less than the screen's, so that its text is scaled up.
	phoneWidth  = 280
	phoneHeight = 270
	titleSize   = 12
	textSize    = 10
)

func init() {
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"}
}

func textStyle(size vg.Length, bold bool) text.Style {
	f := font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
	if bold {
		f.Weight = xfont.WeightBold
	}
	return text.Style{Color: black, Font: f, Handler: plot.DefaultTextHandler}
}

// timeUnit is what a time axis counts.
type timeUnit struct {
	Name string
	Of   time.Duration
}

// unitFor is the unit in which a duration is easy to read.
func unitFor(d time.Duration) timeUnit {
	switch {
	case d <= 3*time.Minute:
		return timeUnit{"seconds", time.Second}
	case d <= 6*time.Hour:
		return timeUnit{"minutes", time.Minute}
	case d <= 4*24*time.Hour:
		return timeUnit{"hours", time.Hour}
	default:
		return timeUnit{"days", 24 * time.Hour}
	}
}

// niceTicks are at most about n labelled ticks from 0 to limit, at round numbers.
func niceTicks(limit float64, n int) []plot.Tick {
	if limit <= 0 || math.IsInf(limit, 0) || math.IsNaN(limit) {
		limit = 1
	}
	step := math.Pow(10, math.Floor(math.Log10(limit/float64(n))))
	for _, factor := range []float64{1, 2, 5, 10} {
		if limit/(step*factor) <= float64(n) {
			step *= factor
			break
		}
	}
	var ticks []plot.Tick
	for i := 0; float64(i)*step <= limit*1.0001; i++ {
		value := float64(i) * step
		ticks = append(ticks, plot.Tick{Value: value, Label: tickText(value, step)})
	}
	return ticks
}

func tickText(value, step float64) string {
	if step >= 1 {
		return asCount(value)
	}
	return strconv.FormatFloat(value, 'f', int(math.Ceil(-math.Log10(step)-1e-9)), 64)
}

// logTicks are ticks at familiar durations, with their units, on an axis of that width. A tick too near to another has no text.
func logTicks(a axis, width vg.Length) []plot.Tick {
	marks := []time.Duration{
		time.Second, 10 * time.Second, time.Minute, 10 * time.Minute, time.Hour, 10 * time.Hour,
		24 * time.Hour, 7 * 24 * time.Hour,
	}
	texts := []string{"1 s", "10 s", "1 min", "10 min", "1 h", "10 h", "1 day", "7 days"}
	const apart = 40 // points
	var ticks []plot.Tick
	last := -vg.Length(apart)
	for i, mark := range marks {
		if mark < a.From || mark > a.To {
			continue
		}
		tick := plot.Tick{Value: mark.Seconds()}
		if at := vg.Length(a.share(mark)) * width; at-last >= apart {
			tick.Label, last = texts[i], at
		}
		ticks = append(ticks, tick)
	}
	return ticks
}

// legendEntry is a line or a square with its meaning.
type legendEntry struct {
	Text   string
	Color  color.NRGBA
	Dashes []vg.Length
	Area   bool // it is a filled square, not a line
}

const (
	swatchWidth  = 24
	swatchGap    = 5
	entryGap     = 16
	legendLine   = 15
	legendMargin = 6
)

// legendHeight is how high the legend will be.
func legendHeight(entries []legendEntry, width vg.Length) vg.Length {
	lines := 0
	flow(entries, width, func(_ legendEntry, _ vg.Length, line int) { lines = max(lines, line+1) })
	return vg.Length(lines) * legendLine
}

// flow places the entries beside each other, on as many lines as they need.
func flow(entries []legendEntry, width vg.Length, place func(entry legendEntry, x vg.Length, line int)) {
	style := textStyle(textSize, false)
	x, line := vg.Length(0), 0
	texts := make([]string, len(entries))
	for i, entry := range entries {
		texts[i] = entry.Text
	}
	texts = fitted(style, width-swatchWidth-swatchGap, texts...)
	for i, entry := range entries {
		entry.Text = texts[i]
		w := swatch(entry) + swatchGap + style.Width(entry.Text)
		if x > 0 && x+w > width {
			x, line = 0, line+1
		}
		place(entry, x, line)
		x += w + entryGap
	}
}

func swatch(entry legendEntry) vg.Length {
	if entry.Area {
		return textSize
	}
	return swatchWidth
}

// drawHead draws the title and below it the legend, and returns the canvas that is left.
func drawHead(c draw.Canvas, title string, entries []legendEntry) draw.Canvas {
	style := textStyle(titleSize, true)
	style.YAlign = text.YTop
	top := c.Max.Y - 4
	c.FillText(style, vg.Point{X: c.Min.X + legendMargin, Y: top}, fitted(style, c.Max.X-c.Min.X-2*legendMargin, title)[0])
	top -= titleSize + 8
	label := textStyle(textSize, false)
	label.YAlign = text.YCenter
	width := c.Max.X - c.Min.X - 2*legendMargin
	flow(entries, width, func(entry legendEntry, x vg.Length, line int) {
		x += c.Min.X + legendMargin
		y := top - vg.Length(line)*legendLine - legendLine/2
		if w := swatch(entry); entry.Area {
			fillRect(c, entry.Color, x, y-w/2, x+w, y+w/2)
			c.StrokeLines(draw.LineStyle{Color: darkGrey, Width: 0.4}, outline(x, y-w/2, x+w, y+w/2))
		} else {
			c.StrokeLine2(draw.LineStyle{Color: entry.Color, Width: 2, Dashes: entry.Dashes}, x, y, x+w, y)
		}
		c.FillText(label, vg.Point{X: x + swatch(entry) + swatchGap, Y: y}, entry.Text)
	})
	left := top - legendHeight(entries, width) - 4
	return draw.Crop(c, 0, 0, 0, left-c.Max.Y)
}

func fillRect(c draw.Canvas, fill color.Color, x0, y0, x1, y1 vg.Length) {
	c.FillPolygon(fill, []vg.Point{{X: x0, Y: y0}, {X: x1, Y: y0}, {X: x1, Y: y1}, {X: x0, Y: y1}})
}

func outline(x0, y0, x1, y1 vg.Length) []vg.Point {
	return []vg.Point{{X: x0, Y: y0}, {X: x1, Y: y0}, {X: x1, Y: y1}, {X: x0, Y: y1}, {X: x0, Y: y0}}
}

// withAlign is a style in the font of the pictures, with the alignment of the given style.
func withAlign(style text.Style, size vg.Length) text.Style {
	mine := textStyle(size, false)
	mine.XAlign, mine.YAlign, mine.Rotation = style.XAlign, style.YAlign, style.Rotation
	return mine
}
