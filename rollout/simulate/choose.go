package simulate

import (
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Which nodes an event happens to.

// matches reports whether the event may happen to the node.
func (e *Event) matches(node *corev1.Node) bool {
	if e.Node != "" {
		return node.Name == e.Node
	}
	return inPool(node, e.Pool, e.Nodes)
}

// inPool reports whether a node is of the pool, if one is named, and has all the labels.
func inPool(node *corev1.Node, pool string, labels map[string]string) bool {
	if pool != "" && node.Labels[PoolLabel] != pool {
		return false
	}
	for key, want := range labels {
		if value, ok := node.Labels[key]; !ok || value != want {
			return false
		}
	}
	return true
}

// choose draws the nodes that the event happens to for the n-th time. The nodes are all there are, ascending by name, and so
// are the names returned. Each set of as many nodes is as likely as any other.
func (e *Event) choose(r random, n int, nodes []*corev1.Node) []string {
	if e.Node != "" {
		i, found := slices.BinarySearchFunc(nodes, e.Node, func(node *corev1.Node, name string) int {
			return strings.Compare(node.Name, name)
		})
		if !found {
			return nil
		}
		return []string{nodes[i].Name}
	}
	candidates := nodes
	if e.Pool != "" || len(e.Nodes) > 0 {
		candidates = nil
		for _, node := range nodes {
			if e.matches(node) {
				candidates = append(candidates, node)
			}
		}
	}
	chosen := r.subset("nodes", strconv.Itoa(n), e.number(len(candidates)), len(candidates))
	names := make([]string, len(chosen))
	for i, ordinal := range chosen {
		names[i] = candidates[ordinal].Name
	}
	return names
}

// number is how many nodes the event happens to, if so many of them match.
func (e *Event) number(of int) int {
	switch {
	case e.Count > 0:
		return min(e.Count, of)
	case e.Share > 0:
		// Floating point makes the product of 0.07 and 100 a little more than 7.
		const rounding = 1e-9
		return min(int(math.Ceil(e.Share*float64(of)-rounding)), of)
	}
	return min(1, of)
}

// subset draws size different ordinals below of, in ascending order. There must be as many. It takes time in proportion to size
// (Floyd's algorithm).
func (r random) subset(purpose, key string, size, of int) []int {
	if size >= of {
		size = of
	}
	stream := r.stream(purpose, key)
	taken := make(map[int]bool, size)
	chosen := make([]int, 0, size)
	for last := of - size; last < of; last++ {
		ordinal := stream.IntN(last + 1)
		if taken[ordinal] {
			ordinal = last
		}
		taken[ordinal] = true
		chosen = append(chosen, ordinal)
	}
	slices.Sort(chosen)
	return chosen
}
