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

// This is the palette of Okabe and Ito, whose colours people with any kind of colour vision can distinguish.
var (
	orange    = color.NRGBA{R: 0xE6, G: 0x9F, A: 0xFF}
	skyBlue   = color.NRGBA{R: 0x56, G: 0xB4, B: 0xE9, A: 0xFF}
	green     = color.NRGBA{G: 0x9E, B: 0x73, A: 0xFF}
	yellow    = color.NRGBA{R: 0xF0, G: 0xE4, B: 0x42, A: 0xFF}
	blue      = color.NRGBA{G: 0x72, B: 0xB2, A: 0xFF}
	vermilion = color.NRGBA{R: 0xD5, G: 0x5E, A: 0xFF}
	purple    = color.NRGBA{R: 0xCC, G: 0x79, B: 0xA7, A: 0xFF}
	black     = color.NRGBA{A: 0xFF}
	white     = color.NRGBA{R: 0xFF, G: 0xFF, B: 0xFF, A: 0xFF}
	lightGrey = color.NRGBA{R: 0xDD, G: 0xDD, B: 0xDD, A: 0xFF}
	paleGrey  = color.NRGBA{R: 0xF2, G: 0xF2, B: 0xF2, A: 0xFF}
	darkGrey  = color.NRGBA{R: 0x77, G: 0x77, B: 0x77, A: 0xFF}
)

// lineColors are the colours of the candidates. lineDashes distinguish the candidates without colour.
var (
	lineColors = [...]color.NRGBA{blue, vermilion, green, purple, orange, skyBlue, black}
	lineDashes = [...][]vg.Length{nil, {8, 3}, {2, 2}, {8, 3, 2, 3}, {14, 4}, {5, 2, 5, 2, 1, 2}, {1, 3}}
)

func colorOf(candidate int) color.NRGBA { return lineColors[candidate%len(lineColors)] }

func dashesOf(candidate int) []vg.Length { return lineDashes[candidate%len(lineDashes)] }

// look is how the pictures show a state of a node.
type look struct {
	State simulate.NodeState
	Color color.NRGBA
	Text  string
}

// looks has every state, in the order of the legend. States in which a pod serves have quiet colours, the others bright ones.
var looks = [...]look{
	{simulate.NodeOld, lightGrey, "old version serves"},
	{simulate.NodeSurging, skyBlue, "old serves, new on its way"},
	{simulate.NodeNew, green, "new version available"},
	{simulate.NodeTerminating, yellow, "terminating"},
	{simulate.NodeEmpty, darkGrey, "no pod"},
	{simulate.NodePending, purple, "not bound"},
	{simulate.NodePulling, blue, "pulling the image"},
	{simulate.NodeStarting, orange, "starting, not ready"},
	{simulate.NodeBroken, vermilion, "crashing or failed"},
	{simulate.NodeLost, black, "node not ready"},
	{simulate.NodeOutside, paleGrey, "needs no pod, or is gone"},
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
	titleSize    = 12
	textSize     = 10
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

// logTicks are ticks at familiar durations, with their units.
func logTicks(from, to time.Duration) []plot.Tick {
	marks := []time.Duration{
		time.Second, 10 * time.Second, time.Minute, 10 * time.Minute, time.Hour, 10 * time.Hour,
		24 * time.Hour, 7 * 24 * time.Hour,
	}
	texts := []string{"1 s", "10 s", "1 min", "10 min", "1 h", "10 h", "1 day", "7 days"}
	var ticks []plot.Tick
	for i, mark := range marks {
		if mark >= from && mark <= to {
			ticks = append(ticks, plot.Tick{Value: mark.Seconds(), Label: texts[i]})
		}
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
	for _, entry := range entries {
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
	c.FillText(style, vg.Point{X: c.Min.X + legendMargin, Y: top}, title)
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

// plural is the number with the word in singular or plural.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%s %s", asCount(float64(n)), many)
}

// withAlign is a style in the font of the pictures, with the alignment of the given style.
func withAlign(style text.Style, size vg.Length) text.Style {
	mine := textStyle(size, false)
	mine.XAlign, mine.YAlign, mine.Rotation = style.XAlign, style.YAlign, style.Rotation
	return mine
}
