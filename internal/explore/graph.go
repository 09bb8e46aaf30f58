package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/status"
)

// graph is what an exploration has found: states by number, in the order in which they were reached, each by a shortest way.
type graph struct {
	w      *world
	states []state
	number map[state]int32
	parent []int32
	by     []string // the name of the move that led there first
	leads  []int32  // where fair moves lead to, of all states one after the other
	until  []int32  // up to where they are those of a state
	ends   []bool   // nobody has anything to do but the clock, and what the plan says may be the end
	edges  int
	cutOff bool
	lasted time.Duration
}

// finding is a statement that does not hold, and the way to where it does not.
type finding struct {
	wrong string
	way   []string
}

func (f *finding) String() string {
	return f.wrong + "\n  " + strings.Join(f.way, "\n  ")
}

// explore visits all states, and stops at the first finding.
func explore(w *world) (*graph, *finding, error) {
	g := &graph{w: w, number: map[state]int32{}}
	began := time.Now()
	defer func() { g.lasted = time.Since(began) }()
	first, err := w.begin()
	if err != nil {
		return g, nil, err
	}
	g.enter(&first, nothing, "")
	for at := int32(0); int(at) < len(g.states); at++ {
		if w.Most > 0 && len(g.states) > w.Most {
			g.cutOff = true
			return g, nil, nil
		}
		if f, err := g.visit(at); f != nil || err != nil {
			return g, f, err
		}
	}
	f := g.liveness()
	return g, f, nil
}

// enter returns the number of a state, which may be new.
func (g *graph) enter(s *state, parent int32, by string) int32 {
	key := g.w.key(s)
	if number, ok := g.number[key]; ok {
		return number
	}
	number := int32(len(g.states))
	g.number[key] = number
	g.states = append(g.states, *s)
	g.parent = append(g.parent, parent)
	g.by = append(g.by, by)
	g.ends = append(g.ends, false)
	return number
}

// visit takes all moves from a state.
func (g *graph) visit(at int32) (*finding, error) {
	s := g.states[at]
	worldMoves := g.w.worldMoves(&s)
	moves := slices.Clone(worldMoves)
	own, plan, err := g.w.controllerMoves(&s)
	if err != nil {
		return nil, fmt.Errorf("%w\n  %s", err, strings.Join(g.way(at), "\n  "))
	}
	moves = append(moves, own...)
	leads := func(m move) bool { return m.fair && m.to != s }
	moves = append(moves, g.w.ticks(&s, slices.ContainsFunc(moves, leads))...)
	rests := true
	for i := range moves {
		m := &moves[i]
		if wrong := g.w.wrongMove(&s, m); wrong != "" {
			f := g.found(wrong, at, m.name)
			f.way = append(f.way, g.explained(m.plan)...)
			return f, nil
		}
		to := g.enter(&m.to, at, m.name)
		g.edges++
		if m.fair && to != at {
			rests = false
			g.leads = append(g.leads, to)
		}
	}
	g.until = append(g.until, int32(len(g.leads)))
	if wrong := g.w.otherOrder(&s, plan); wrong != "" {
		return g.found(wrong, at, "step"), nil
	}
	if wrong := g.w.wrongState(&s, plan, rests); wrong != "" {
		f := g.found(wrong, at, "step")
		f.way = append(f.way, g.explained(plan)...)
		return f, nil
	}
	g.ends[at] = !slices.ContainsFunc(worldMoves, leads) && harness.Actions(*plan) == 0 && plan.Status.State != status.Updating
	return nil, nil
}

// fair lists the states to which fair moves lead from a visited one.
func (g *graph) fair(at int32) []int32 {
	if at == 0 {
		return g.leads[:g.until[0]]
	}
	return g.leads[g.until[at-1]:g.until[at]]
}

func (g *graph) found(wrong string, at int32, last string) *finding {
	return &finding{wrong, append(g.way(at), last)}
}

// way lists the moves of a shortest way to a state.
func (g *graph) way(at int32) []string {
	var way []string
	for ; at > 0; at = g.parent[at] {
		way = append(way, g.by[at])
	}
	slices.Reverse(way)
	return way
}

// liveness: from every state, a fair continuation leads to an end. Where no fair move leads out of a set of states that reach
// each other, all of them are ends: mostly the set is one state. It goes by strongly connected components (Tarjan's
// algorithm, without recursion).
func (g *graph) liveness() *finding {
	const unseen = -1
	n := len(g.states)
	index, low := slices.Repeat([]int32{unseen}, n), make([]int32, n)
	onStack, component := make([]bool, n), slices.Repeat([]int32{unseen}, n)
	var stack []int32
	type frame struct{ at, next int32 }
	count, components := int32(0), int32(0)
	var members [][]int32
	for root := range int32(n) {
		if index[root] != unseen {
			continue
		}
		frames := []frame{{root, 0}}
		for len(frames) > 0 {
			f := &frames[len(frames)-1]
			if f.next == 0 {
				index[f.at], low[f.at] = count, count
				count++
				stack, onStack[f.at] = append(stack, f.at), true
			}
			if fair := g.fair(f.at); int(f.next) < len(fair) {
				to := fair[f.next]
				f.next++
				if index[to] == unseen {
					frames = append(frames, frame{to, 0})
				} else if onStack[to] {
					low[f.at] = min(low[f.at], index[to])
				}
				continue
			}
			at := f.at
			frames = frames[:len(frames)-1]
			if len(frames) > 0 {
				below := frames[len(frames)-1].at
				low[below] = min(low[below], low[at])
			}
			if low[at] != index[at] {
				continue
			}
			var of []int32
			for {
				top := stack[len(stack)-1]
				stack, onStack[top] = stack[:len(stack)-1], false
				component[top] = components
				of = append(of, top)
				if top == at {
					break
				}
			}
			members = append(members, of)
			components++
		}
	}
	worst := int32(unseen) // the first state from which there is no end
	for c, of := range members {
		leads := false
		for _, at := range of {
			leads = leads || slices.ContainsFunc(g.fair(at), func(to int32) bool { return component[to] != int32(c) })
		}
		if leads || !slices.ContainsFunc(of, func(at int32) bool { return !g.ends[at] }) {
			continue
		}
		if first := slices.Min(of); worst == unseen || first < worst {
			worst = first
		}
	}
	if worst == unseen {
		return nil
	}
	f := g.found("liveness: whatever happens that has to happen, the set comes to no end", worst, "and then for ever:")
	f.way = append(f.way, g.cycle(worst)...)
	return f
}

// cycle lists fair moves that lead back to where they began.
func (g *graph) cycle(at int32) []string {
	var names []string
	seen := map[int32]bool{}
	for !seen[at] && len(names) < 60 {
		seen[at] = true
		s := g.states[at]
		moves := g.w.worldMoves(&s)
		own, plan, err := g.w.controllerMoves(&s)
		if err != nil {
			return append(names, err.Error())
		}
		names = append(names, g.explained(plan)...)
		moved := false
		moves = append(own, moves...)
		for _, m := range append(moves, g.w.ticks(&s, false)...) {
			to := g.enter(&m.to, at, m.name)
			if m.fair && to != at {
				names, at, moved = append(names, m.name), to, true
				break
			}
		}
		if !moved {
			return append(names, "nothing")
		}
	}
	return names
}

// explained is what a plan says.
func (g *graph) explained(plan *rollout.Plan) []string {
	lines := []string{fmt.Sprintf("-> %s (%s)", plan.Status.State, plan.Status.Reason)}
	if !plan.NextWake.IsZero() {
		lines = append(lines, fmt.Sprintf("-> next wake in %s", plan.NextWake.Sub(now)))
	}
	for i := range g.w.Nodes {
		lines = append(lines, "-> "+plan.Explain(nodeName(i)))
	}
	return lines
}
