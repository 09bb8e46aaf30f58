package simulation

import (
	"cmp"
	"fmt"
	"image"
	"image/color"
	"math"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	words "github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// heatmap shows each node over time, coloured by its state. It has one panel for each candidate, with the nodes of a zone side by
// side. In a large fleet a row stands for several nodes.
type heatmap struct {
	Panels []*panel
	// Seen marks the states that occur.
	Seen [256]bool
}

// panel is the part for one candidate.
type panel struct {
	Title string
	Span  time.Duration
	// Own reports whether the time axis is not that of the other panels.
	Own bool
	// PerRow is how many nodes a row stands for.
	PerRow int
	Zones  []zoneRows
	// Rows are the states of each row, by column.
	Rows [][heatColumns]simulate.NodeState

	cells *image.Paletted // the rows as a picture, after raster has drawn it
}

// zoneRows are the rows of one zone.
type zoneRows struct {
	Zone  string
	Nodes int
	From  int
	To    int
}

// These are sizes in points, unless a comment says pixels. There are two pixels to a point.
const (
	heatColumns   = 1200
	heatWidth     = heatColumns / 2
	heatLeft      = 96
	zoneWidth     = heatLeft - 12
	pixels        = 2
	zoneGap       = 2  // pixels
	maxRowHeight  = 32 // pixels
	panelHead     = 20
	panelFoot     = 34
	maxHeatHeight = 460 // of a panel, if it is the only one
	minHeatHeight = 130
)

// panelHeight is how high the cells of a panel may be, so that the page can be read without much scrolling.
func panelHeight(panels int) int { return max(minHeatHeight, maxHeatHeight/max(panels, 1)+40) }

func newHeatmap(outcomes []*outcome) *heatmap {
	h := &heatmap{}
	longest := time.Duration(0)
	for _, o := range outcomes {
		longest = max(longest, o.span())
	}
	for _, o := range outcomes {
		span := o.span()
		own := longest/span >= 4
		if !own { // nearly equal times are easier to compare on equal axes
			span = longest
		}
		p := newPanel(o.Traces[0].Nodes, span+span/50, panelHeight(len(outcomes))*pixels)
		p.Title = fmt.Sprintf("%s: %s", o.Label, counted("node", "nodes")(float64(len(o.Traces[0].Nodes))))
		if p.PerRow > 1 {
			p.Title += fmt.Sprintf(", a row is %d of them", p.PerRow)
		}
		if own {
			p.Own = true
			p.Title += ", on a time axis of its own"
		}
		for i := range p.Rows {
			for _, state := range &p.Rows[i] {
				h.Seen[state] = true
			}
		}
		h.Panels = append(h.Panels, p)
	}
	return h
}

// inRows are the nodes by zone. Within a zone they are ordered by the time at which they got the new version, so that nodes side
// by side have had similar states. Nodes that did not keep it, or never got it, come last.
func inRows(nodes []simulate.NodeHistory) []simulate.NodeHistory {
	nodes = slices.Clone(nodes)
	slices.SortFunc(nodes, func(a, b simulate.NodeHistory) int {
		return cmp.Or(strings.Compare(a.Zone, b.Zone), cmp.Compare(updatedAt(a), updatedAt(b)),
			cmp.Compare(firstUpdatedAt(a), firstUpdatedAt(b)), strings.Compare(a.Node, b.Node))
	})
	return nodes
}

// newPanel arranges the nodes in rows.
func newPanel(nodes []simulate.NodeHistory, span time.Duration, height int) *panel {
	nodes = inRows(nodes)
	zones := make(map[string]int)
	for _, n := range nodes {
		zones[n.Zone]++
	}
	p := &panel{Span: span, PerRow: max(1, (len(nodes)+height-1)/height)}
	for first := 0; first < len(nodes); {
		zone := zoneRows{Zone: nodes[first].Zone, Nodes: zones[nodes[first].Zone], From: len(p.Rows)}
		end := first + zone.Nodes
		for ; first < end; first += p.PerRow {
			p.Rows = append(p.Rows, p.row(nodes[first:min(first+p.PerRow, end)]))
		}
		first = end
		zone.To = len(p.Rows)
		p.Zones = append(p.Zones, zone)
	}
	return p
}

// updatedAt is when the node got the new version for the last time. It is later than any time if the node does not end with it.
func updatedAt(n simulate.NodeHistory) time.Duration {
	last := len(n.Changes) - 1
	if last < 0 || n.Changes[last].State != simulate.NodeNew {
		return math.MaxInt64
	}
	return n.Changes[last].At
}

// firstUpdatedAt is when the node got the new version for the first time. It is later than any time if the node never got it.
func firstUpdatedAt(n simulate.NodeHistory) time.Duration {
	i := slices.IndexFunc(n.Changes, func(c simulate.Change) bool { return c.State == simulate.NodeNew })
	if i < 0 {
		return math.MaxInt64
	}
	return n.Changes[i].At
}

// row is the state of the nodes in each column: the one that they were in for the most time, or of two such states the worse one.
func (p *panel) row(nodes []simulate.NodeHistory) [heatColumns]simulate.NodeState {
	var sums [heatColumns][16]float64
	width := float64(p.Span) / heatColumns
	for _, n := range nodes {
		for i, c := range n.Changes {
			from, to := float64(c.At), float64(p.Span)
			if i+1 < len(n.Changes) {
				to = float64(n.Changes[i+1].At)
			}
			for column := int(from / width); column < heatColumns && float64(column)*width < to; column++ {
				left, right := float64(column)*width, float64(column+1)*width
				if common := min(to, right) - max(from, left); common > 0 {
					sums[column][c.State&15] += common
				}
			}
		}
	}
	var row [heatColumns]simulate.NodeState
	for column := range row {
		best, most := simulate.NodeState(0), 0.0
		for state, sum := range sums[column] {
			if sum > most*(1+1e-9) {
				best, most = simulate.NodeState(state), sum
			}
		}
		row[column] = best
	}
	return row
}

// raster draws the cells, with two pixels to a point and a gap between zones.
func (p *panel) raster(height int) *image.Paletted {
	if p.cells != nil {
		return p.cells
	}
	colors := color.Palette{white}
	var index [256]uint8
	for _, l := range looks {
		index[l.State] = uint8(len(colors))
		colors = append(colors, l.Color)
	}
	index[0] = index[lookOf(0).State]
	rowHeight := min(max(1, (height-zoneGap*len(p.Zones))/max(len(p.Rows), 1)), maxRowHeight)
	total := max(1, len(p.Rows)*rowHeight+zoneGap*max(len(p.Zones)-1, 0))
	p.cells = image.NewPaletted(image.Rect(0, 0, heatColumns, total), colors)
	y := 0
	for _, zone := range p.Zones {
		for i := zone.From; i < zone.To; i++ {
			first := p.cells.Pix[y*p.cells.Stride:][:heatColumns]
			for x, state := range &p.Rows[i] {
				first[x] = index[state]
			}
			for range rowHeight {
				copy(p.cells.Pix[y*p.cells.Stride:], first)
				y++
			}
		}
		y += zoneGap
	}
	return p.cells
}

// size returns the width and height of the picture.
func (h *heatmap) size() (vg.Length, vg.Length) {
	height := vg.Length(titleSize+14) + legendHeight(h.legend(), pictureWidth-2*legendMargin)
	for _, p := range h.Panels {
		height += panelHead + panelFoot + vg.Length(p.raster(panelHeight(len(h.Panels))*pixels).Rect.Dy())/pixels
	}
	return pictureWidth, height
}

func (h *heatmap) legend() []legendEntry {
	var entries []legendEntry
	for _, l := range looks {
		if h.Seen[l.State] || l.State == simulate.NodeOutside && h.Seen[0] {
			entries = append(entries, legendEntry{Text: l.Text, Color: l.Color, Area: true})
		}
	}
	return entries
}

func (h *heatmap) draw(canvas draw.Canvas) {
	fillRect(canvas, white, canvas.Min.X, canvas.Min.Y, canvas.Max.X, canvas.Max.Y)
	rest := drawHead(canvas, "Nodes over time, by zone", h.legend())
	for _, p := range h.Panels {
		img := p.raster(panelHeight(len(h.Panels)) * pixels)
		height := vg.Length(img.Rect.Dy()) / pixels
		top := rest.Max.Y
		title := textStyle(textSize, true)
		title.YAlign = text.YCenter
		rest.FillText(title, vg.Point{X: rest.Min.X + heatLeft, Y: top - panelHead/2}, p.Title)
		top -= panelHead
		left := rest.Min.X + heatLeft
		box := vg.Rectangle{Min: vg.Point{X: left, Y: top - height}, Max: vg.Point{X: left + heatWidth, Y: top}}
		rest.DrawImage(box, img)
		p.drawZones(rest, left-6, top, img.Rect.Dy())
		p.drawTime(rest, left, top-height)
		rest = draw.Crop(rest, 0, 0, 0, -(panelHead + height + panelFoot))
	}
}

// drawZones writes the names of the zones beside their rows. It leaves out names for which there is no room.
func (p *panel) drawZones(c draw.Canvas, right, top vg.Length, height int) {
	if len(p.Rows) == 0 {
		return
	}
	rowHeight := (height - zoneGap*(len(p.Zones)-1)) / len(p.Rows)
	style := textStyle(textSize-1, false)
	style.XAlign, style.YAlign = text.XRight, text.YCenter
	lowest := top + textSize
	names := make([]string, len(p.Zones))
	for i, zone := range p.Zones {
		names[i] = zoneName(zone.Zone)
	}
	names = fitted(style, zoneWidth, names...)
	for i, zone := range p.Zones {
		from := vg.Length(zone.From*rowHeight+i*zoneGap) / pixels
		to := vg.Length(zone.To*rowHeight+i*zoneGap) / pixels
		y := top - (from+to)/2
		if lowest-y < textSize {
			continue
		}
		lowest = y
		c.FillText(style, vg.Point{X: right, Y: y}, names[i])
	}
}

// fitted are names that differ, cut to a width so that they still do.
func fitted(style text.Style, width vg.Length, names ...string) []string {
	return words.Shorten(names, float64(width), func(name string) float64 { return float64(style.Width(name)) })
}

func (p *panel) drawTime(c draw.Canvas, left, bottom vg.Length) {
	unit := unitFor(p.Span)
	style := textStyle(textSize-1, false)
	style.XAlign, style.YAlign = text.XCenter, text.YTop
	axis := draw.LineStyle{Color: darkGrey, Width: 0.6}
	for _, tick := range niceTicks(float64(p.Span)/float64(unit.Of), 12) {
		x := left + vg.Length(tick.Value*float64(unit.Of)/float64(p.Span)*heatWidth)
		c.StrokeLine2(axis, x, bottom-1, x, bottom-4)
		c.FillText(style, vg.Point{X: x, Y: bottom - 5}, tick.Label)
	}
	c.FillText(style, vg.Point{X: left + heatWidth/2, Y: bottom - 17}, unit.Name+" since the beginning")
}
