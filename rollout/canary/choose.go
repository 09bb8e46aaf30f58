package canary

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/daemonplan/daemonplan/internal/count"
)

// Candidate is a node that may be a canary node: it is to run the pod, and the node selector of the strategy (T3) does not
// hold it (C1). Choose itself checks Options.NodeSelector.
type Candidate struct {
	// Name of the node.
	Name string
	// Labels of the node.
	Labels map[string]string
	// Restarts is the sum over all containers of the set's pods on the node, init containers included.
	Restarts int32
	// Updated reports whether a live pod of the revision on trial is on the node, or was requested.
	Updated bool
}

// Choosing is what [Choose] decides on.
type Choosing struct {
	// Desired is the number of nodes that are to run the pod. Percentages are of this number (B1).
	Desired int32
	// Chosen has the names of the nodes chosen before, in any order.
	Chosen []string
	// Find returns the candidate of that name, or false if the node is not a candidate (any more). Nil: none of Chosen stays.
	Find func(name string) (Candidate, bool)
	// All yields all candidates, in any order. It is called only if nodes have to be chosen. Nil: there are none.
	All iter.Seq[Candidate]
}

// Choice is the result of [Choose].
type Choice struct {
	// Nodes has the names of the canary nodes in ascending order; nil if there are none.
	Nodes []string
	// Wanted is how many canary nodes there should be: len(Nodes) <= Wanted, and len(Nodes) < Wanted if there are too few
	// candidates.
	Wanted int32
}

// Choose picks the canary nodes (C1). Nodes chosen before stay, as long as they are candidates that Options.NodeSelector
// matches. The others are picked one by one, in this order: first the updated ones, because the revision costs nothing more
// there, and because a canary whose record was lost starts again where it was (C6); then the one whose values of
// NodeAntiAffinityKeys the fewest chosen nodes have; then the one with the fewest restarts; then by name. If more nodes were
// chosen before than are wanted now, those that are updated stay, then by name.
//
// Unset options have their defaults. A selector that Validate refuses matches no node, so that no node is chosen.
func Choose(o Options, in Choosing) Choice {
	c := Choice{Wanted: Size(o, in.Desired)}
	s := newSpread(o)
	kept := s.keep(in)
	wanted := int(c.Wanted)
	if len(kept) > wanted {
		slices.SortFunc(kept, func(a, b Candidate) int {
			return cmp.Or(updatedFirst(a, b), strings.Compare(a.Name, b.Name))
		})
		kept = kept[:wanted]
	}
	for _, k := range kept {
		c.Nodes = append(c.Nodes, k.Name)
	}
	if len(c.Nodes) < wanted && in.All != nil {
		c.Nodes = s.pick(c.Nodes, kept, in.All, wanted)
	}
	slices.Sort(c.Nodes)
	return c
}

// Size is the number of canary nodes that are wanted if desired nodes are to run the pod (C1). It is at most desired, but at
// least 1, even if no node is desired (yet): the trial then waits for a node instead of being skipped. A percentage is
// rounded up, but one below 100% leaves out at least one node, unless there is only one. Replicas that Validate refuses count
// as 1.
func Size(o Options, desired int32) int32 {
	q := count.Quantity{Value: DefaultReplicas}
	if o.Replicas != nil {
		if parsed, err := parseReplicas(*o.Replicas); err == nil {
			q = parsed
		}
	}
	most := desired
	if q.Percent && q.Value < 100 {
		most = desired - 1
	}
	return max(1, min(q.RoundUp(desired), most))
}

func updatedFirst(a, b Candidate) int {
	switch {
	case a.Updated == b.Updated:
		return 0
	case a.Updated:
		return -1
	default:
		return 1
	}
}

// spread picks nodes so that they are spread over the values of some labels.
type spread struct {
	selector labels.Selector
	keys     []string
	groups   map[string]*group
	buffer   []byte
}

// group is the nodes that have the same values of all keys.
type group struct {
	key    string
	chosen int
	// updated and rest are the candidates not chosen yet.
	updated, rest heap[member]
}

type member struct {
	name     string
	restarts int32
}

func newSpread(o Options) *spread {
	s := &spread{selector: labels.Everything(), keys: o.NodeAntiAffinityKeys, groups: make(map[string]*group)}
	if o.NodeSelector != nil {
		selector, err := metav1.LabelSelectorAsSelector(o.NodeSelector)
		if err != nil {
			selector = labels.Nothing()
		}
		s.selector = selector
	}
	return s
}

// keep returns the nodes chosen before that stay, each once.
func (s *spread) keep(in Choosing) []Candidate {
	if in.Find == nil {
		return nil
	}
	names := slices.Clone(in.Chosen)
	slices.Sort(names)
	var kept []Candidate
	for _, name := range slices.Compact(names) {
		if c, ok := in.Find(name); ok && s.selector.Matches(labels.Set(c.Labels)) {
			c.Name = name
			kept = append(kept, c)
		}
	}
	return kept
}

// pick adds candidates to the nodes kept, until there are as many as wanted or no candidate is left.
func (s *spread) pick(nodes []string, kept []Candidate, all iter.Seq[Candidate], wanted int) []string {
	taken := make(map[string]bool)
	for _, k := range kept {
		taken[k.Name] = true
		s.group(k.Labels).chosen++
	}
	for c := range all {
		if taken[c.Name] || !s.selector.Matches(labels.Set(c.Labels)) {
			continue
		}
		g := s.group(c.Labels)
		h := &g.rest
		if c.Updated {
			h = &g.updated
		}
		h.items = append(h.items, member{name: c.Name, restarts: c.Restarts})
	}
	for _, of := range []func(*group) *heap[member]{
		func(g *group) *heap[member] { return &g.updated },
		func(g *group) *heap[member] { return &g.rest },
	} {
		nodes = s.pickOf(of, nodes, taken, wanted)
	}
	return nodes
}

// pickOf picks among one kind of candidates, updated or rest: again and again, the first member of the group that comes
// first.
func (s *spread) pickOf(of func(*group) *heap[member], nodes []string, taken map[string]bool, wanted int) []string {
	order := heap[*group]{less: func(a, b **group) bool {
		first, second := of(*a).first(), of(*b).first()
		return cmp.Or(
			cmp.Compare((*a).chosen, (*b).chosen),
			compareMembers(first, second),
			strings.Compare((*a).key, (*b).key), // decides only if a node comes twice
		) < 0
	}}
	for _, g := range s.groups {
		h := of(g)
		h.less = func(a, b *member) bool { return compareMembers(a, b) < 0 }
		h.init()
		if h.first() != nil {
			order.items = append(order.items, g)
		}
	}
	order.init()
	for len(nodes) < wanted && order.first() != nil {
		g := *order.first()
		h := of(g)
		if name := h.first().name; !taken[name] {
			taken[name] = true
			nodes = append(nodes, name)
			g.chosen++
		}
		h.pop()
		if h.first() == nil {
			order.pop()
		} else {
			order.fix()
		}
	}
	return nodes
}

func compareMembers(a, b *member) int {
	return cmp.Or(cmp.Compare(a.restarts, b.restarts), strings.Compare(a.name, b.name))
}

// group returns the group of a node. In the key of a group the length of each value stands before it, so that no two tuples
// of values have the same key.
func (s *spread) group(nodeLabels map[string]string) *group {
	s.buffer = s.buffer[:0]
	for _, key := range s.keys {
		value := nodeLabels[key]
		n := len(value)
		s.buffer = append(s.buffer, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
		s.buffer = append(s.buffer, value...)
	}
	g := s.groups[string(s.buffer)]
	if g == nil {
		g = &group{key: string(s.buffer)}
		s.groups[g.key] = g
	}
	return g
}
