package simulate

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Recorder keeps of a run what pictures are drawn from: how many nodes were in each state over time, what the registry
// and peers sent, and the states of each node. It is made of records alone:
//
//	var recorder simulate.Recorder
//	scenario.History = recorder.Record
//
// The zero value is ready for a run. A Recorder is for one run, and not for concurrent use. It keeps at most Points points
// and 1,024 spans of traffic, and 16 bytes for each change of a node.
type Recorder struct {
	// Points is the most points that Series gives. Default: 4,096; at least 8.
	Points int
	// WithoutNodes: the states of each node are not kept.
	WithoutNodes bool

	now      Point // the counts so far
	first    Point
	began    bool
	buckets  []bucket
	shift    uint
	registry traffic
	peers    traffic
	index    map[string]int
	states   []NodeState
	nodes    []NodeHistory
}

// Series is a run over time.
type Series struct {
	// Points are the counts at the instants at which one changed, after all that happened then, in order; the first is that
	// of the beginning. Of more than [Recorder.Points] those are kept that show the most unavailable nodes of each span of
	// Resolution, and the last of each span.
	Points []Point
	// Resolution of the points, a power of two of nanoseconds. 1: none was left out.
	Resolution time.Duration
	// Traffic is how many bytes came in each span of time, beginning with that from instant 0, as if each pull went on at
	// an equal rate. Nil: none came.
	Traffic []Traffic
}

// Point is how many nodes were in each state from an instant on.
type Point struct {
	At     time.Duration
	counts [nodeStates]int32
}

// Traffic is how many bytes came in a span of time.
type Traffic struct {
	// From and To are the span: From <= t < To.
	From, To time.Duration
	// Registry is how many bytes came from there, Peers from other nodes.
	Registry, Peers int64
}

// NodeHistory is the states that a node was in.
type NodeHistory struct {
	// Node and its zone, the last one that it was in.
	Node, Zone string
	// Changes in order, one at most at an instant, each to another state than before.
	Changes []Change
}

// Change is the state of a node from an instant on. 0: it was gone.
type Change struct {
	At    time.Duration
	State NodeState
}

// Count is how many nodes were in the state; 0 for one that was never declared.
func (p Point) Count(state NodeState) int {
	if state == 0 || state >= nodeStates {
		return 0
	}
	return int(p.counts[state])
}

// Desired is how many nodes were to run the pod, as [Report] counts them.
func (p Point) Desired() int {
	var n int32
	for s := NodeOutside + 1; s < nodeStates; s++ {
		n += p.counts[s]
	}
	return int(n)
}

// Unavailable is how many of these had no pod that serves (B2).
func (p Point) Unavailable() int {
	var n int32
	for s := NodeOutside + 1; s < nodeStates; s++ {
		if unavailable(s) {
			n += p.counts[s]
		}
	}
	return int(n)
}

// Record takes note of a record; those without a state or bytes are ignored. Records come in the order in which
// [Scenario.History] gives them.
func (r *Recorder) Record(record Record) {
	switch record.Kind {
	case NodeChanged:
		r.changed(record)
	case ImagePulled:
		switch source, _, _ := strings.Cut(record.Detail, " "); source { // failed or not
		case fromRegistry:
			r.registry.add(record.At-record.Took, record.At, record.Bytes)
		case fromPeers:
			r.peers.add(record.At-record.Took, record.At, record.Bytes)
		}
	default: // neither nodes nor bytes
	}
}

// Where an image came from, as the first word of records says it.
const (
	fromRegistry = "registry"
	fromPeers    = "peer"
)

// Series is the run as far as it was recorded. It is the caller's.
func (r *Recorder) Series() Series {
	if !r.began {
		return Series{Resolution: 1}
	}
	kept := &Recorder{Points: r.Points, buckets: slices.Clone(r.buckets), shift: r.shift}
	kept.keep(r.now)
	first := r.first
	if len(r.buckets) == 0 {
		first = r.now // the beginning is not over
	}
	s := Series{Points: []Point{first}, Resolution: 1 << kept.shift, Traffic: joinTraffic(r.registry, r.peers)}
	for _, b := range kept.buckets {
		for _, p := range [...]Point{b.peak, b.last} {
			if p.At > s.Points[len(s.Points)-1].At {
				s.Points = append(s.Points, p)
			}
		}
	}
	return s
}

// Nodes are the states of each node that there ever was, by zone, then name. They are the caller's. Nil: none are known,
// or kept.
func (r *Recorder) Nodes() []NodeHistory {
	nodes := slices.Clone(r.nodes)
	for i := range nodes {
		nodes[i].Changes = slices.Clone(nodes[i].Changes)
	}
	slices.SortFunc(nodes, func(a, b NodeHistory) int {
		return cmp.Or(strings.Compare(a.Zone, b.Zone), strings.Compare(a.Node, b.Node))
	})
	return nodes
}

func (r *Recorder) changed(record Record) {
	if record.To >= nodeStates {
		return
	}
	switch {
	case !r.began:
		r.began = true
		r.now.At = record.At
	case record.At > r.now.At:
		if len(r.buckets) == 0 {
			r.first = r.now
		}
		r.keep(r.now)
		r.now.At = record.At
	}
	if r.index == nil {
		r.index = map[string]int{}
	}
	i, known := r.index[record.Node]
	if !known {
		i = len(r.states)
		r.index[record.Node] = i
		r.states = append(r.states, 0)
		if !r.WithoutNodes {
			r.nodes = append(r.nodes, NodeHistory{Node: record.Node})
		}
	}
	r.now.counts[r.states[i]]--
	r.now.counts[record.To]++
	r.states[i] = record.To
	if !r.WithoutNodes {
		r.nodes[i].change(record)
	}
}

// change notes a state. What was undone at the same instant did not happen.
func (n *NodeHistory) change(record Record) {
	n.Zone = record.Zone
	if last := len(n.Changes) - 1; last >= 0 && n.Changes[last].At == record.At {
		n.Changes = n.Changes[:last]
	}
	var before NodeState
	if last := len(n.Changes) - 1; last >= 0 {
		before = n.Changes[last].State
	}
	if record.To != before {
		n.Changes = append(n.Changes, Change{record.At, record.To})
	}
}
