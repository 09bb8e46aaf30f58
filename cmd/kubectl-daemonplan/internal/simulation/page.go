package simulation

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"image/color"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

//go:embed page.html
var pageText string

// pageScript is the only script that the policy of the page allows, by its hash.
//
//go:embed page.js
var pageScript string

// page is report.html, which contains everything that it shows.
type page struct {
	*experiment
	Command  string
	Outcomes []*outcome
	Charts   []pageChart
	Heatmap  *heatmap
	// Still is the heat map as a picture, for readers without scripts.
	Still string
}

// pageChart is a chart with what the page needs to show the values under the pointer.
type pageChart struct {
	*chart
	SVG  string
	Area area
	// Phone is the picture for narrow screens, PhoneArea where its data area is.
	Phone     string
	PhoneArea area
}

func (p *page) render() ([]byte, error) {
	sum := sha256.Sum256([]byte(pageScript))
	hash := "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
	t, err := template.New("report.html").Parse(strings.Replace(pageText, "SCRIPT-HASH", hash, 1))
	if err != nil {
		return nil, err
	}
	charts, err := json.Marshal(p.hover())
	if err != nil {
		return nil, err
	}
	nodes, err := json.Marshal(newPageNodes(p.Outcomes, p.Heatmap))
	if err != nil {
		return nil, err
	}
	type picture struct {
		Note       string
		SVG, Phone template.HTML
	}
	var pictures []picture
	for _, c := range p.Charts {
		// The SVG was drawn by this program, which escaped what came from files.
		pictures = append(pictures, picture{c.Note, template.HTML(c.SVG), template.HTML(c.Phone)})
	}
	warnings := p.warnings(p.Outcomes)
	var out bytes.Buffer
	err = t.Execute(&out, map[string]any{
		"Title":    p.heading(),
		"Finding":  p.Study.Finding,
		"Changed":  p.changed(),
		"Stories":  p.stories(),
		"Contrast": p.contrasts(),
		"Labels":   p.labels(),
		"Figures":  figures(p.Outcomes),
		"Seeds":    p.Seeds,
		"Seed":     p.Seed,
		"Pictures": pictures,
		"Legend":   p.legend(),
		"Heatmap":  template.HTML(p.Still),
		"Registry": len(p.Charts) > 2,
		"Command":  p.Command,
		"Texts":    p.Texts,
		"Charts":   template.JS(charts),
		"Nodes":    template.JS(nodes),
		"Script":   template.JS(pageScript),
		"Warnings": warnings,
		"Whose":    p.whose(),
		"Notes":    slices.DeleteFunc(slices.Clone(p.Notes), func(note string) bool { return slices.Contains(warnings, note) }),
		"Derived":  p.Derived,
		"Marks":    marks(newAxis(p.Outcomes), p.Outcomes),
		"Worst":    p.worst(),
		"Light":    lineVariables(lineColors[:]),
		"Dark":     lineVariables(darkLineColors[:]),
	})
	return out.Bytes(), err
}

// lineVariables are the declarations of the colours of the lines.
func lineVariables(colors []color.NRGBA) template.CSS {
	var b strings.Builder
	for i, c := range colors {
		fmt.Fprintf(&b, "--line-%d: %s; ", i, hex(c))
	}
	return template.CSS(b.String())
}

// themed is a chart in the colours of the page instead of its own.
func themed(svg string) string {
	names := map[string]string{hex(black): "ink", hex(white): "paper", hex(lightGrey): "grid", hex(darkGrey): "soft"}
	for i, c := range lineColors {
		if c != black {
			names[hex(c)] = fmt.Sprintf("line-%d", i)
		}
	}
	var pairs []string
	for _, property := range []string{"fill:", "stroke:"} {
		for from, to := range names {
			pairs = append(pairs, property+from, property+"var(--"+to+")")
		}
	}
	return strings.NewReplacer(pairs...).Replace(svg)
}

// worstNodes are the nodes of one candidate that were down longest.
type worstNodes struct {
	Label   string
	Outages []pageOutage
}

// pageOutage is an outage in words.
type pageOutage struct {
	Node, Zone, Total, Longest, State, Why string
}

// mostWorst is how many nodes the page lists for each candidate.
const mostWorst = 10

func (p *page) worst() []worstNodes {
	var list []worstNodes
	for _, o := range p.Outcomes {
		w := worstNodes{Label: o.Label}
		for _, out := range o.longestDown(mostWorst) {
			lasted, from, to := asDuration(float64(out.To-out.From)), asDuration(float64(out.From)), asDuration(float64(out.To))
			longest := fmt.Sprintf("%s, from %s to %s", lasted, from, to)
			switch {
			case !out.Ended:
				longest = fmt.Sprintf("at least %s, from %s on, still down", lasted, from)
			case from == to: // it was short, and late in a long run
				longest = fmt.Sprintf("%s, after %s", lasted, from)
			}
			total := asDuration(float64(out.Total))
			if out.Down {
				total = "at least " + total
			}
			w.Outages = append(w.Outages, pageOutage{
				Node: text.Printable(out.Node), Zone: zoneName(out.Zone), Total: total, Longest: longest,
				State: out.State, Why: out.Why,
			})
		}
		list = append(list, w)
	}
	return list
}

// legend has the states that any node was in, also if most of the nodes beside it were not.
func (p *page) legend() []pageState {
	occurs := make(map[simulate.NodeState]bool)
	for _, o := range p.Outcomes {
		for _, n := range o.Traces[0].Nodes {
			for i, c := range n.Changes {
				occurs[c.State] = true
				occurs[0] = occurs[0] || i == 0 && c.At > 0 // it was not there yet
			}
		}
	}
	occurs[simulate.NodeOutside] = occurs[simulate.NodeOutside] || occurs[0]
	var list []pageState
	for _, l := range looks {
		if occurs[l.State] {
			list = append(list, pageState{Text: l.Text, Color: hex(l.Color)})
		}
	}
	return list
}

// heading is the title of the study, or else what is compared.
func (p *page) heading() string {
	switch {
	case p.Study.Title == "":
		return p.title()
	case p.changed(): // the title counts the nodes of the study as it is
		return countedNodes.ReplaceAllString(p.Study.Title, text.Counted(p.Outcomes[0].Reports[0].Nodes, "node"))
	default:
		return p.Study.Title
	}
}

// countedNodes is a number of nodes in the title of a study.
var countedNodes = regexp.MustCompile(`[0-9][0-9,]* nodes`)

// changed reports whether the page is of a study, run with other flags than its own.
func (p *page) changed() bool {
	return p.Study.Name != "" && p.Command != command+" study "+p.Study.Name+" --out DIR"
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
	nodes := text.Counted(report.Nodes, "node")
	if len(p.Outcomes) == 1 {
		return fmt.Sprintf("%s on %s", p.Outcomes[0].Label, nodes)
	}
	return fmt.Sprintf("%d policies on %s", len(p.Outcomes), nodes)
}

// headline is a line of those that come first, with the words that say what it is about.
type headline struct {
	About, Text string
	// Causes are the causes for which nodes do not have the new version.
	Causes []string
	// Bad marks a rollout that did not come to its end.
	Bad bool
}

// stories say what happened to the new version with each candidate.
func (p *page) stories() []headline {
	var list []headline
	why := causesOnce(p.Outcomes)
	for i, o := range p.Outcomes {
		bad := o.count(endStuck, endLimit, endViolation, endStopped) > 0
		list = append(list, headline{About: o.Label, Text: o.story(), Causes: why[i], Bad: bad})
	}
	return list
}

// contrasts say which candidate is better at what.
func (p *page) contrasts() []headline {
	var list []headline
	for _, line := range contrasts(p.Outcomes) {
		about, text, _ := strings.Cut(line, ": ")
		list = append(list, headline{About: about, Text: text})
	}
	return list
}

// hoverChart is what the script of the page needs of a chart.
type hoverChart struct {
	Area  area        `json:"area"`
	Phone area        `json:"phone"`
	Log   bool        `json:"log"`
	From  float64     `json:"from"` // seconds
	To    float64     `json:"to"`
	Lines []hoverLine `json:"lines"`
}

type hoverLine struct {
	Label string   `json:"label"`
	Color int      `json:"color"` // which of the colours of lines
	Texts []string `json:"texts"` // the different texts, to which Index points
	Index []int    `json:"index"` // index of the text of each column
}

// hover prepares the values for the script. Equal texts are stored once.
func (p *page) hover() []hoverChart {
	var list []hoverChart
	for _, c := range p.Charts {
		h := hoverChart{Area: c.Area, Phone: c.PhoneArea, Log: c.Axis.Log, From: c.Axis.From.Seconds(), To: c.Axis.To.Seconds()}
		for _, key := range []*float64{
			&h.Area.X0, &h.Area.X1, &h.Area.Y0, &h.Area.Y1, &h.Phone.X0, &h.Phone.X1, &h.Phone.Y0, &h.Phone.Y1,
		} {
			*key = math.Round(*key*100) / 100
		}
		for i := range c.Lines {
			l := &c.Lines[i]
			line := hoverLine{Label: l.Label, Color: slices.Index(lineColors[:], l.Color)}
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
