package simulation

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"math"
)

//go:embed page.html
var pageText string

// page is report.html, which contains everything that it shows.
type page struct {
	*experiment
	Command  string
	Outcomes []*outcome
	Charts   []pageChart
	Heatmap  string
}

// pageChart is a chart with what the page needs to show the values under the pointer.
type pageChart struct {
	*chart
	SVG  string
	Area area
}

func (p *page) render() ([]byte, error) {
	t, err := template.New("report.html").Parse(pageText)
	if err != nil {
		return nil, err
	}
	charts, err := json.Marshal(p.hover())
	if err != nil {
		return nil, err
	}
	type picture struct {
		Title, Note, File string
		SVG               template.HTML
	}
	var pictures []picture
	for _, c := range p.Charts {
		// The SVG was drawn by this program, which escaped what came from files.
		pictures = append(pictures, picture{c.Title, c.Note, c.File, template.HTML(c.SVG)})
	}
	var out bytes.Buffer
	err = t.Execute(&out, map[string]any{
		"Title":    p.title(),
		"Verdict":  p.verdict(),
		"Labels":   p.labels(),
		"Figures":  figures(p.Outcomes),
		"Seeds":    p.Seeds,
		"Seed":     p.Seed,
		"Pictures": pictures,
		"Heatmap":  template.HTML(p.Heatmap),
		"Registry": len(p.Charts) > 2,
		"Command":  p.Command,
		"Texts":    p.Texts,
		"Charts":   template.JS(charts),
		"Failures": p.failures(),
	})
	return out.Bytes(), err
}

func (p *page) labels() []string {
	var labels []string
	for _, o := range p.Outcomes {
		labels = append(labels, o.Label)
	}
	return labels
}

func (p *page) title() string {
	report := &p.Outcomes[0].Reports[0]
	nodes := plural(report.Nodes, "node", "nodes")
	if len(p.Outcomes) == 1 {
		return fmt.Sprintf("%s on %s", p.Outcomes[0].Label, nodes)
	}
	return fmt.Sprintf("%d policies on %s", len(p.Outcomes), nodes)
}

// verdict says what happened to the new version, and which candidate is better at what.
func (p *page) verdict() string { return verdict(p.Outcomes) }

// failures lists how the runs of each candidate ended, unless all are done.
func (p *page) failures() []string {
	var list []string
	for _, o := range p.Outcomes {
		if text := (*comparison)(nil).ends(o); text != "done" {
			list = append(list, o.Label+": "+text)
		}
	}
	return list
}

// hoverChart is what the script of the page needs of a chart.
type hoverChart struct {
	Area  area        `json:"area"`
	Log   bool        `json:"log"`
	From  float64     `json:"from"` // seconds
	To    float64     `json:"to"`
	Lines []hoverLine `json:"lines"`
}

type hoverLine struct {
	Label string   `json:"label"`
	Color string   `json:"color"`
	Texts []string `json:"texts"` // the different texts, to which Index points
	Index []int    `json:"index"` // index of the text of each column
}

// hover prepares the values for the script. Equal texts are stored once.
func (p *page) hover() []hoverChart {
	var list []hoverChart
	for _, c := range p.Charts {
		h := hoverChart{Area: c.Area, Log: c.Axis.Log, From: c.Axis.From.Seconds(), To: c.Axis.To.Seconds()}
		for _, key := range []*float64{&h.Area.X0, &h.Area.X1, &h.Area.Y0, &h.Area.Y1} {
			*key = math.Round(*key*100) / 100
		}
		for i := range c.Lines {
			l := &c.Lines[i]
			line := hoverLine{Label: l.Label, Color: fmt.Sprintf("#%02x%02x%02x", l.Color.R, l.Color.G, l.Color.B)}
			known := make(map[string]int)
			for column, value := range l.Values {
				text := c.Show(value)
				if len(l.Low) > column && l.Low[column] != l.High[column] {
					text += fmt.Sprintf(" (%s to %s)", c.Show(l.Low[column]), c.Show(l.High[column]))
				}
				index, ok := known[text]
				if !ok {
					index = len(line.Texts)
					known[text] = index
					line.Texts = append(line.Texts, text)
				}
				line.Index = append(line.Index, index)
			}
			h.Lines = append(h.Lines, line)
		}
		list = append(list, h)
	}
	return list
}
