package simulation

import (
	"slices"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// markLabel is the text of a mark, and where it is.
type markLabel struct {
	Text string
	// X is that of the mark, Left and Right are the ends of the text.
	X, Left, Right vg.Length
	// Row is the line of text, from the top; -1: there is no room for the text, only for the mark.
	Row int
}

const (
	markLine    = 12 // points
	maxMarkRows = 4
)

// markTexts are the texts of marks, cut to a width. The names of nodes are cut first, all to the same width, so that nodes that
// differ still do.
func markTexts(style text.Style, width vg.Length, marks []mark) []string {
	room := width
	var long []int
	var names []string
	for i, m := range marks {
		if all := style.Width(m.label()); m.Nodes == 1 && all > width {
			long, names = append(long, i), append(names, m.Node)
			room = min(room, max(width/4, width-all+style.Width(m.Node)))
		}
	}
	marks = slices.Clone(marks)
	for i, name := range fitted(style, room, names...) {
		marks[long[i]].Node = name
	}
	texts := make([]string, len(marks))
	for i, m := range marks {
		texts[i] = fitted(style, width, m.label())[0]
	}
	return texts
}

// labels places the texts of the marks above the plot so that they do not overlap, and returns on how many lines they are.
func (c *chart) labels(left, right vg.Length) ([]markLabel, int) {
	style := textStyle(textSize-1, false)
	var list []markLabel
	rows := 0
	texts := markTexts(style, (right-left)*0.9, c.Marks)
	for i, m := range c.Marks {
		x := left + vg.Length(c.Axis.share(m.From))*(right-left)
		l := markLabel{Text: texts[i], X: x, Left: x + 3, Row: -1}
		l.Right = l.Left + style.Width(l.Text)
		if width := l.Right - l.Left; l.Right > right { // the text goes to the other side, as far as there is room
			l.Left = max(left, x-3-width)
			l.Right = l.Left + width
		}
		for row := range maxMarkRows {
			free := !slices.ContainsFunc(list, func(o markLabel) bool {
				return o.Row == row && l.Left < o.Right+6 && o.Left < l.Right+6
			})
			if free {
				l.Row, rows = row, max(rows, row+1)
				break
			}
		}
		list = append(list, l)
	}
	return list, rows
}

// drawLabels draws the marks through the plot, and their texts above it.
func drawLabels(canvas draw.Canvas, labels []markLabel, data draw.Canvas) {
	style := textStyle(textSize-1, false)
	style.YAlign = text.YBottom
	rows := 0
	for _, l := range labels {
		rows = max(rows, l.Row+1)
	}
	bottom := func(l markLabel) vg.Length { return data.Max.Y + vg.Length(rows-1-l.Row)*markLine + 2 }
	thin := draw.LineStyle{Color: darkGrey, Width: 0.8, Dashes: []vg.Length{3, 2}}
	for _, l := range labels {
		top := data.Max.Y + 3
		if l.Row >= 0 {
			top = bottom(l) + markLine - 3
		}
		canvas.StrokeLine2(thin, l.X, data.Min.Y, l.X, top)
	}
	for _, l := range labels {
		if l.Row >= 0 { // the mark of another text may be behind this one
			fillRect(canvas, white, l.Left-1, bottom(l), l.Right+1, bottom(l)+markLine-2)
			canvas.FillText(style, vg.Point{X: l.Left, Y: bottom(l)}, l.Text)
		}
	}
}
