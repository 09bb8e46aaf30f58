package main

import (
	"cmp"
	"slices"
)

const (
	mostNodes     = 3
	mostPods      = 12
	mostRevisions = 3
	nothing       = -1
)

// view is what there is in a cluster. Objects are numbers of the stores; nothing fills the rest of a list, which is ascending
// but for the nodes.
type view struct {
	nodes     [mostNodes]id
	pods      [mostPods]id
	revisions [mostRevisions]id
}

// state of a cluster.
type state struct {
	view
	spec     int8
	troubles [kindsOfTrouble]int8 // how many of them may still come
	memory   id
	past     past
	// While the watch is behind, the controller sees an older view, and what it has asked for since then is in flight. Else
	// both are zero.
	behind   bool
	seen     int32 // the view, by its number
	inFlight id
}

// views are those that the controller has seen while the watch was behind.
type views struct {
	numbers map[view]int32
	list    []view
}

func (v *views) put(seen *view) int32 {
	number, ok := v.numbers[*seen]
	if !ok {
		number = int32(len(v.list))
		v.numbers[*seen], v.list = number, append(v.list, *seen)
	}
	return number
}

// empty returns a list of nothing.
func empty[A ~[]id](list A) {
	for i := range list {
		list[i] = nothing
	}
}

// with puts an object into a list that has room, and says whether it had.
func with(list []id, object id) bool {
	i := slices.Index(list, nothing)
	if i < 0 {
		return false
	}
	list[i] = object
	order(list)
	return true
}

// order brings a list into order, nothing last.
func order(list []id) {
	slices.SortFunc(list, func(a, b id) int { return cmp.Compare(uint16(a), uint16(b)) })
}

// replace puts another object in the place of one; nothing takes it out.
func replace(list []id, object, by id) {
	list[slices.Index(list, object)] = by
	order(list)
}

// compare orders states.
func (s *state) compare(other *state) int {
	return cmp.Or(s.view.compare(&other.view), cmp.Compare(s.memory, other.memory), s.past.compare(&other.past),
		cmp.Compare(s.seen, other.seen), cmp.Compare(s.inFlight, other.inFlight))
}

func (v *view) compare(other *view) int {
	return cmp.Or(slices.Compare(v.nodes[:], other.nodes[:]), slices.Compare(v.pods[:], other.pods[:]),
		slices.Compare(v.revisions[:], other.revisions[:]))
}

// key returns the state that stands for all that differ from this one only in which node is which.
func (w *world) key(s *state) state {
	least := *s
	for _, p := range w.permutations[1:] {
		other := *s
		other.view = w.rename(&s.view, p)
		other.memory = w.memories.rename(s.memory, p)
		other.past = s.past.rename(p)
		if s.behind {
			seen := w.rename(&w.views.list[s.seen], p)
			other.seen = w.views.put(&seen)
			other.inFlight = w.inFlights.rename(s.inFlight, p)
		}
		if other.compare(&least) < 0 {
			least = other
		}
	}
	return least
}

func (w *world) rename(v *view, p *permutation) view {
	to := *v
	for i := range w.Nodes {
		to.nodes[p.of[i]] = w.nodes.rename(v.nodes[i], p)
	}
	for i, pod := range v.pods {
		if pod != nothing {
			to.pods[i] = w.pods.rename(pod, p)
		}
	}
	order(to.pods[:])
	return to
}
