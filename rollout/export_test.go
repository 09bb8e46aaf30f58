package rollout

import (
	"slices"
	"strings"
	"time"

	"github.com/daemonplan/daemonplan/rollout/internal/fleet"
)

// SetNoneAside returns a planner that makes the plans of p, but takes every node through all steps.
func SetNoneAside(p *Planner) *Planner {
	return p.adjusted(func(_ *run, a *asideRule) { a.off = true })
}

// SetAside returns a planner that sets nodes aside that it must not, by one of AsideMistakes.
func SetAside(p *Planner, mistake string) *Planner { return p.adjusted(AsideMistakes[mistake]) }

// AsideMistakes are what may be forgotten where nodes are set aside.
var AsideMistakes = map[string]func(*run, *asideRule){
	"a revision is on trial":     func(_ *run, a *asideRule) { a.off = false },
	"a request is in flight":     func(_ *run, a *asideRule) { a.requested = nil },
	"minReadySeconds":            func(_ *run, a *asideRule) { a.available = true },
	"the clock goes":             func(_ *run, a *asideRule) { a.available, a.now = false, a.now.Add(time.Second) },
	"pods are outdated":          func(_ *run, a *asideRule) { a.right = slices.Repeat([]bool{true}, len(a.right)) },
	"pods are to be relabelled":  func(r *run, a *asideRule) { a.right = updates(r) },
	"a pod is marked":            despite(fleet.Ready | fleet.Marked),
	"a pod is not ready":         despite(fleet.Ready),
	"a pod has failed":           despite(fleet.Ready | fleet.Failed),
	"a pod has other resources":  despite(fleet.Digested),
	"a pod has the canary label": despite(fleet.Labelled),
	"a pod leaves by its hook":   despite(fleet.PreparingDelete),
	"a pod is prepared":          despite(fleet.PreparingUpdate | fleet.InTransition),
	"a hook is not done":         despite(fleet.InTransition),
	"a pod is out of service":    despite(fleet.InTransition | fleet.OutOfService),
	"a pod is one of several":    several,
}

func (p *Planner) adjusted(by func(*run, *asideRule)) *Planner {
	other := *p
	other.adjustAside = by
	return &other
}

// updates are the hashes of the update revision and its duplicates.
func updates(r *run) []bool {
	right := make([]bool, len(r.hashes))
	for i := range r.hashes {
		right[i] = r.hashes[i].update
	}
	return right
}

// despite makes pods plain that have some traits, or lack fleet.Ready if that is among them.
func despite(some fleet.Traits) func(*run, *asideRule) {
	return func(_ *run, a *asideRule) {
		a.adjustPlain(func(p *fleet.Pod) bool {
			return p.Next == none && p.Traits&^some|some&fleet.Ready == fleet.Bound|fleet.Ready
		})
	}
}

// several makes the oldest of several pods plain.
func several(_ *run, a *asideRule) {
	a.adjustPlain(func(p *fleet.Pod) bool { return p.Traits == fleet.Bound|fleet.Ready })
}

func (a *asideRule) adjustPlain(isPlain func(*fleet.Pod) bool) {
	pods := *a.pods
	pods.Plain = slices.Clone(pods.Plain)
	for i, first := range pods.First {
		if first != none && isPlain(pods.List.At(first)) {
			pods.Plain[i] = pods.List.At(first).Hash
		}
	}
	a.pods, a.available = &pods, false
}

// Activities are the columns of the table of gates, by what DESIGN.md calls them.
var Activities = []struct {
	Name string
	Bit  activity
}{
	{"begin", beginUpdate}, {"go on in place", continueUpdate}, {"go on leaving", continueLeaving}, {"show the goal", showGoal},
	{"create", createPod}, {"delete", deletePod}, {"pull", pullImages}, {"write history", writeHistory},
}

// GateTable returns the table of gates as DESIGN.md shows it, a line for each.
func GateTable() []string {
	var rows []string
	for i := range gates {
		g := &gates[i]
		row := "| " + g.name + " |"
		for _, activity := range Activities {
			cell := " "
			if g.stops&activity.Bit != 0 {
				cell = " stops "
			}
			row += cell + "|"
		}
		rows = append(rows, row+" "+g.opens+" |")
	}
	return rows
}

// LedgerTable returns the table of ledgers as DESIGN.md shows it, a line for each.
func LedgerTable() []string {
	var rows []string
	for _, l := range ledgers {
		rows = append(rows, "| "+l.name+" | "+l.begins+" | "+l.takesAway+" |")
	}
	return rows
}

// WithGate returns a planner that has one more gate: nothing is begun on nodes whose name ends so until an instant.
func WithGate(p *Planner, suffix string, until time.Time) *Planner {
	other := *p
	other.gates = append(slices.Clone(p.gates), gate{
		name: "suffix", opens: "clock", stops: beginUpdate, reason: ReasonGated, has: func(*Planner) bool { return true },
		shut: func(r *run, i int32) (bool, Limit, time.Time) {
			return strings.HasSuffix(r.nodes[i].Name, suffix), LimitDraining, until
		},
	})
	return &other
}
