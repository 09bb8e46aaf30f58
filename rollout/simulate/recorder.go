package simulate

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Recorder keeps what is needed to draw pictures of a run: how many nodes were in each state over time, what the registry and
// peers sent, and the states of each node. Its only input is records:
//
//	var recorder simulate.Recorder
//	scenario.History = recorder.Record
//
// The zero value is ready for a run. A Recorder is for one run, and not for concurrent use. It keeps at most Points points,
// 1,024 spans of traffic, and 16 bytes for each change of a node.
type Recorder struct {
	// Points is the greatest number of points that Series returns, at least 8. Default (0): 4,096.
	Points int
	// WithoutNodes turns off that the states of each node are kept, so that Nodes returns nil.
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
	// Points are the counts at each instant at which one changed, after all that happened then, in order of time. The first is
	// that of the beginning. If there are more than [Recorder.Points], two points are kept of each span of Resolution: the first
	// with the most unavailable nodes, and the last.
	Points []Point
	// Resolution is that of the points, a power of two of nanoseconds. 1: no point was left out.
	Resolution time.Duration
	// Traffic is how many bytes came in each span of time, beginning with the span from instant 0. The bytes of each pull are
	// spread evenly over its time. Nil: none came.
	Traffic []Traffic
}

// Point is how many nodes were in each state from an instant on.
type Point struct {
	At     time.Duration
	counts [nodeStates]int32
}

// Traffic says how many bytes came in a span of time.
type Traffic struct {
	// From and To are the ends of the span, from the beginning of the run: From <= t < To.
	From, To time.Duration
	// Registry is how many bytes came from the registry, Peers how many came from other nodes.
	Registry, Peers int64
}

// NodeHistory has the states that a node was in.
type NodeHistory struct {
	// Node is the name of the node, Zone the last zone that it was in.
	Node, Zone string
	// Changes are in order of time, at most one for each instant, and each to another state than before.
	Changes []Change
}

// Change is the state of a node from an instant on. State 0: the node was gone.
type Change struct {
	At    time.Duration
	State NodeState
}

// Count is how many nodes were in the state; 0 for a state that was never declared.
func (p Point) Count(state NodeState) int {
	if state == 0 || state >= nodeStates {
		return 0
	}
	return int(p.counts[state])
}

// Desired is how many nodes were to run the pod, as [Report.Desired] counts them.
func (p Point) Desired() int {
	var n int32
	for s := NodeOutside + 1; s < nodeStates; s++ {
		n += p.counts[s]
	}
	return int(n)
}

// Unavailable is how many of the desired nodes had no pod that serves (B2).
func (p Point) Unavailable() int {
	var n int32
	for s := NodeOutside + 1; s < nodeStates; s++ {
		if unavailable(s) {
			n += p.counts[s]
		}
	}
	return int(n)
}

// Record takes note of a record. Records other than [NodeChanged] and [ImagePulled] are ignored. Records must come in the
// order in which [Scenario.History] receives them.
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

// Where an image came from: the first word of Record.Detail.
const (
	fromRegistry = "registry"
	fromPeers    = "peer"
)

// Series returns the run as far as it was recorded. The result is the caller's. Without records it has no points, and
// Resolution is 1.
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

// Nodes returns the states of every node that ever existed, by zone, then name. The result is the caller's. It is nil if no
// node is known, or with WithoutNodes.
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

// change notes a state. A change that was undone at the same instant is forgotten.
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
