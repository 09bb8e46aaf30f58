package simulation

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
	"github.com/daemonplan/daemonplan/rollout/failure"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// happening is something that happened in a run and that explains its curves: an event of the world, or a turn of the canary.
type happening struct {
	At time.Duration
	// What says what happened. Equal texts are of the same kind.
	What string
	// Node is the node that it happened to; empty: it happened to no node in particular.
	Node string
}

// eventWords says in words what the events of a world file do. What follows the name of an event in a record is kept.
var eventWords = map[string]string{
	"AddNodes": "nodes join:", "RemoveNode": "removed", "NodeNotReady": "lost (NotReady)", "NodeReady": "ready again",
	"CordonNode": "cordoned", "UncordonNode": "uncordoned", "DrainNode": "drained", "LabelNode": "labels changed",
	"MaintainNode": "under maintenance",
	"TaintNode":    "tainted", "UntaintNode": "taint removed", "EvictPod": "pod evicted", "DeletePod": "pod deleted by hand",
	"CrashPod": "pod crashed", "SetSpec": "spec changed", "GiveCommands": "canary command given",
	"ApproveStage": "stage approved:", "ExpediteRevision": "revision expedited", "RetryRevision": "revision tried once more",
	"CrashController": "controller crashed", "SetClock": "controller's clock set:",
}

// happened is what a record tells, for the marks; false: nothing.
func happened(r *simulate.Record) (happening, bool) {
	h := happening{At: r.At, Node: r.Node}
	switch r.Kind {
	case simulate.EventHappened:
		detail, ended := strings.CutPrefix(r.Detail, "end of ")
		name, rest, _ := strings.Cut(detail, " ")
		if name == "CrashController" { // ControllerCrashed tells it, too
			return h, false
		}
		h.What = strings.TrimSpace(cmp.Or(eventWords[name], name) + " " + rest)
		switch {
		case ended && name == "NodeNotReady":
			h.What = eventWords["NodeReady"]
		case ended:
			h.What = "no longer " + h.What
		}
	case simulate.CanaryChanged:
		phase, reason, _ := strings.Cut(r.Detail, " ")
		switch phase {
		case "Failed":
			h.What = "new version given up: " + reason
		case "Paused":
			h.What = "canary paused: " + reason
		default:
			return h, false
		}
	case simulate.ControllerCrashed:
		h.What = eventWords["CrashController"]
	default:
		return h, false
	}
	return h, true
}

// mark is a happening of the charts, or several of the same kind that are near each other.
type mark struct {
	From, To time.Duration
	What     string
	// Nodes is how many nodes it happened to, and Node the name of the first of them; 0: it happened to no node in particular.
	Nodes int
	Node  string
	// Of are the candidates in whose runs it happened so; nil: in all.
	Of []string
}

// near is the share of the time axis within which happenings of the same kind that follow each other are one mark.
const near = 0.04

// marks are what happened under the first seed, in order of time.
func marks(a axis, outcomes []*outcome) []mark {
	var all []mark
	for _, o := range outcomes {
		list := o.Traces[0].Happened
		if promoted := o.Reports[0].Canary.Promoted; promoted > 0 {
			list = append(slices.Clone(list), happening{At: promoted, What: "new version promoted"})
		}
		if r := &o.Reports[0]; failedTooOften(r) {
			list = append(slices.Clone(list), happening{At: r.Failures.GaveUpAt, What: "new version given up: " + failure.Reason})
		}
		for _, m := range grouped(a, list) {
			same := func(other mark) bool {
				other.Of = nil
				return reflect.DeepEqual(other, m)
			}
			if i := slices.IndexFunc(all, same); i >= 0 {
				all[i].Of = append(all[i].Of, o.Label)
				continue
			}
			m.Of = []string{o.Label}
			all = append(all, m)
		}
	}
	for i := range all {
		if len(all[i].Of) == len(outcomes) {
			all[i].Of = nil
		}
	}
	slices.SortStableFunc(all, func(a, b mark) int { return cmp.Compare(a.From, b.From) })
	return all
}

// grouped joins happenings of the same kind that are near each other on the time axis.
func grouped(a axis, list []happening) []mark {
	var marks []mark
	open := make(map[string]int) // the last mark of each kind
	for _, h := range list {
		if i, ok := open[h.What]; ok && (h.Node == "") == (marks[i].Node == "") && a.share(h.At)-a.share(marks[i].To) <= near {
			marks[i].To = h.At
			marks[i].Nodes += one(h.Node != "")
			continue
		}
		open[h.What] = len(marks)
		marks = append(marks, mark{From: h.At, To: h.At, What: h.What, Nodes: one(h.Node != ""), Node: h.Node})
	}
	return marks
}

// Text says what happened.
func (m mark) Text() string {
	switch {
	case m.Nodes > 1:
		return text.Counted(m.Nodes, "node") + " " + m.What
	case m.Nodes == 1:
		return m.Node + " " + m.What
	default:
		return m.What
	}
}

// When says when it happened.
func (m mark) When() string {
	from, to := asDuration(float64(m.From)), asDuration(float64(m.To))
	if from == to {
		return from
	}
	return fmt.Sprintf("%s to %s", from, to)
}

// Who names the candidates in whose runs it happened.
func (m mark) Who() string {
	if m.Of == nil {
		return "all"
	}
	return strings.Join(m.Of, ", ")
}

// label is the text beside the mark in a chart.
func (m mark) label() string {
	when := m.When() + " "
	if m.Of != nil {
		when += strings.Join(m.Of, ", ") + ": "
	}
	return when + m.Text()
}
