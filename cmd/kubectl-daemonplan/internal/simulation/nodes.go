package simulation

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// pageNodes is what the script of the page needs to show which nodes were down when, and why. Everything that repeats is there
// once: names, zones, texts and courses. Instants count ticks.
type pageNodes struct {
	States []pageState `json:"states"` // a letter stands for each, from a on
	Names  []string    `json:"names"`
	Zones  []string    `json:"zones"`
	Panels []pagePanel `json:"panels"`
}

type pageState struct {
	Text  string `json:"text"`
	Color string `json:"color"`
	Down  bool   `json:"down"`
}

// pagePanel is one candidate.
type pagePanel struct {
	Label string `json:"label"`
	// Span is the length of the time axis in seconds. Ticks is how many ticks that is.
	Span  float64 `json:"span"`
	Ticks int     `json:"ticks"`
	// Own reports whether the time axis is not that of the other panels.
	Own bool `json:"own,omitempty"`
	// Zones are runs of nodes in one zone: the index of the zone, and how many nodes there are.
	Zones [][2]int `json:"zones"`
	// Nodes are indexes in the names, in the order of the rows.
	Nodes []int `json:"nodes"`
	// Texts are the different explanations.
	Texts []string `json:"texts"`
	// Patterns are the different courses of nodes without their instants, and Of is the index of that of each node. Times are the
	// instants of each node as three digits of base 36 each: those of its states, then those of its texts.
	Patterns []*pagePattern `json:"patterns"`
	Of       []int          `json:"of"`
	Times    []string       `json:"times"`
}

// pagePattern is the course of a node: a letter for each state that it was in, and the indexes of the texts about it. Many nodes
// of a large fleet have the same course.
type pagePattern struct {
	States string `json:"states"`
	Said   []int  `json:"said"`
}

// mostTicks is how many instants the page distinguishes: as many as three digits of base 36 do.
const mostTicks = 36*36*36 - 1

// newPageNodes prepares the nodes of all candidates, with the time axes of the heat map.
func newPageNodes(outcomes []*outcome, h *heatmap) *pageNodes {
	p := &pageNodes{}
	letters := make(map[simulate.NodeState]byte)
	for i, l := range looks {
		letters[l.State] = byte('a' + i)
		p.States = append(p.States, pageState{Text: l.Text, Color: hex(l.Color), Down: down(l.State)})
	}
	letters[0] = letters[simulate.NodeOutside]
	names, zones := make(map[string]int), make(map[string]int)
	for i, o := range outcomes {
		t := o.Traces[0]
		panel := pagePanel{Label: o.Label, Span: h.Panels[i].Span.Seconds(), Ticks: mostTicks, Own: h.Panels[i].Own}
		patterns := make(map[string]int)
		tick := func(at time.Duration) string {
			return digits(int(float64(at) / float64(h.Panels[i].Span) * mostTicks))
		}
		for _, n := range inRows(t.Nodes) {
			zone := numbered(zones, &p.Zones, zoneName(n.Zone))
			if last := len(panel.Zones) - 1; last >= 0 && panel.Zones[last][0] == zone {
				panel.Zones[last][1]++
			} else {
				panel.Zones = append(panel.Zones, [2]int{zone, 1})
			}
			panel.Nodes = append(panel.Nodes, numbered(names, &p.Names, text.Printable(n.Node)))
			pattern := &pagePattern{Said: []int{}}
			var times strings.Builder
			for _, c := range n.Changes {
				pattern.States += string(letters[c.State])
				times.WriteString(tick(c.At))
			}
			for _, s := range t.said(n.Node) {
				pattern.Said = append(pattern.Said, s.Text)
				times.WriteString(tick(s.At))
			}
			key := fmt.Sprint(pattern.States, pattern.Said)
			index, known := patterns[key]
			if !known {
				index = len(panel.Patterns)
				patterns[key] = index
				panel.Patterns = append(panel.Patterns, pattern)
			}
			panel.Of = append(panel.Of, index)
			panel.Times = append(panel.Times, times.String())
		}
		if t.Explanations != nil {
			panel.Texts = t.Explanations.Texts
		}
		p.Panels = append(p.Panels, panel)
	}
	return p
}

// numbered is the index of a name in the list, at the end of which it is added if it is not there.
func numbered(index map[string]int, list *[]string, name string) int {
	i, ok := index[name]
	if !ok {
		i = len(*list)
		index[name] = i
		*list = append(*list, name)
	}
	return i
}

// digits is the number as three digits of base 36.
func digits(n int) string {
	text := strconv.FormatInt(int64(min(max(n, 0), mostTicks)), 36)
	return "000"[len(text):] + text
}

// down reports whether a node in that state is to run a pod and has none that serves.
func down(state simulate.NodeState) bool { return state > simulate.NodeOutside && !state.Serving() }

// said are the explanations of a node, in order of time.
func (t *trace) said(node string) []said {
	if t.Explanations == nil || t.Explanations.Of[node] == nil {
		return nil
	}
	return t.Explanations.Of[node].List
}

// outage is a time during which a node was down.
type outage struct {
	Node, Zone string
	// Total is how long the node was down in all, From and To are the ends of the longest outage.
	Total, From, To time.Duration
	// Ended reports whether that outage ended, Down whether the node is down at the end, in that outage or in another.
	Ended, Down bool
	// State is the one that the node was in for most of the longest outage, and Why is what was said then for most of the time.
	State, Why string
}

// longestDown are the nodes that were down for the longest time under the first seed, at most n of them. A node that is still
// down at the end of the run was so until then, also if no node changed any more for a long time before.
func (o *outcome) longestDown(n int) []outage {
	t := o.Traces[0]
	end := o.Reports[0].Elapsed
	var list []outage
	for i := range t.Nodes {
		if out, ok := longestOutage(&t.Nodes[i], end); ok {
			list = append(list, out)
		}
	}
	slices.SortFunc(list, func(a, b outage) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), strings.Compare(a.Node, b.Node))
	})
	list = list[:min(n, len(list))]
	for i := range list {
		list[i].Why = t.why(&list[i])
	}
	return list
}

// longestOutage returns how long a node was down by the end of the run; false: it never was.
func longestOutage(n *simulate.NodeHistory, end time.Duration) (outage, bool) {
	out := outage{Node: n.Node, Zone: n.Zone}
	if last := len(n.Changes) - 1; last >= 0 {
		out.Down = down(n.Changes[last].State)
	}
	var from time.Duration
	for i, c := range n.Changes {
		to := end
		if i+1 < len(n.Changes) {
			to = n.Changes[i+1].At
		}
		if !down(c.State) {
			continue
		}
		if i == 0 || !down(n.Changes[i-1].State) {
			from = c.At
		}
		out.Total += to - c.At
		if to-from > out.To-out.From {
			out.From, out.To, out.Ended = from, to, i+1 < len(n.Changes)
		}
	}
	if out.Total == 0 {
		return out, false
	}
	sums := make(map[simulate.NodeState]time.Duration)
	for i, c := range n.Changes {
		to := end
		if i+1 < len(n.Changes) {
			to = n.Changes[i+1].At
		}
		if common := min(to, out.To) - max(c.At, out.From); common > 0 {
			sums[c.State] += common
		}
	}
	var most simulate.NodeState
	for _, l := range looks {
		if sums[l.State] > sums[most] {
			most = l.State
		}
	}
	out.State = lookOf(most).Text
	return out, true
}

// why is what was said of a node for most of its longest outage, and the event with which the outage began.
func (t *trace) why(o *outage) string {
	list := t.said(o.Node)
	best, most, event := "", time.Duration(-1), ""
	for i, s := range list {
		text := t.Explanations.Texts[s.Text]
		if t.Explanations.isEvent(s) {
			if s.At == o.From {
				event = text + "; "
			}
			continue
		}
		to := o.To
		if next := slices.IndexFunc(list[i+1:], func(s said) bool { return !t.Explanations.isEvent(s) }); next >= 0 {
			to = min(to, list[i+1+next].At)
		}
		if common := to - max(s.At, o.From); common > most {
			best, most = text, common
		}
	}
	return event + best
}
