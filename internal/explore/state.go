package main

import (
	"cmp"
	"slices"
)

const (
	mostNodes     = 3
	mostPods      = 9
	mostRevisions = 3
	nothing       = -1
)

// state of a cluster. Objects are numbers of the stores; nothing fills the rest of a list, which is ascending.
type state struct {
	spec      int8
	troubles  [kindsOfTrouble]int8 // how many of them may still come
	nodes     [mostNodes]int32
	pods      [mostPods]int32
	revisions [mostRevisions]int32
	memory    int32
}

// empty returns a list of nothing.
func empty[A ~[]int32](list A) {
	for i := range list {
		list[i] = nothing
	}
}

// with puts an object into a list that has room, and says whether it had.
func with(list []int32, object int32) bool {
	i := slices.Index(list, nothing)
	if i < 0 {
		return false
	}
	list[i] = object
	order(list)
	return true
}

// order brings a list into order, nothing last.
func order(list []int32) {
	slices.SortFunc(list, func(a, b int32) int { return cmp.Compare(uint32(a), uint32(b)) })
}

// replace puts another object in the place of one; nothing takes it out.
func replace(list []int32, object, by int32) {
	list[slices.Index(list, object)] = by
	order(list)
}

// compare orders states.
func (s *state) compare(other *state) int {
	return cmp.Or(slices.Compare(s.nodes[:], other.nodes[:]), slices.Compare(s.pods[:], other.pods[:]),
		slices.Compare(s.revisions[:], other.revisions[:]), cmp.Compare(s.memory, other.memory))
}

// key returns the state that stands for all that differ from this one only in which node is which.
func (w *world) key(s *state) state {
	least := *s
	for _, p := range w.permutations[1:] {
		other := *s
		for i := range w.Nodes {
			other.nodes[p.of[i]] = w.nodes.rename(s.nodes[i], p)
		}
		for i, pod := range s.pods {
			if pod != nothing {
				other.pods[i] = w.pods.rename(pod, p)
			}
		}
		order(other.pods[:])
		other.memory = w.memories.rename(s.memory, p)
		if other.compare(&least) < 0 {
			least = other
		}
	}
	return least
}
