package simulate

import (
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// This file exports internals that the tests of inputs need.

type Random = random

const Longest = longest

func (d Distribution) Draw(r *rand.Rand) time.Duration { return d.from(r.Float64()) }
func (d Distribution) From(u float64) time.Duration    { return d.from(u) }
func (d Distribution) IsSet() bool                     { return d.isSet() }
func (r random) Stream(purpose, key string) *rand.Rand { return r.stream(purpose, key) }
func (r random) Fraction(purpose, key string) float64  { return r.fraction(purpose, key) }
func (r random) Happens(share float64, purpose, key string) bool {
	return r.happens(share, purpose, key)
}
func (r random) DurationOf(d Distribution, purpose, key string) time.Duration {
	return r.durationOf(d, purpose, key)
}
func (r random) Sub(purpose, key string) random  { return r.sub(purpose, key) }
func (r random) Hash(purpose, key string) uint64 { return r.hash(purpose, key) }
func (r random) Subset(size, of int) []int       { return r.subset("test", "", size, of) }

func (e *Event) Matches(node *corev1.Node) bool                        { return e.matches(node) }
func (e *Event) Choose(r random, n int, nodes []*corev1.Node) []string { return e.choose(r, n, nodes) }

func (p *Pool) NodesFrom(first, count int, since time.Time) []*corev1.Node {
	maker := p.maker(since)
	var nodes []*corev1.Node
	for number := first; number < first+count; number++ {
		nodes = append(nodes, maker.node(number))
	}
	return nodes
}

func FirstNumber(pool string, nodes []*corev1.Node) int { return firstNumber(pool, nodes) }

// These are the declared values of the enumerations, 0 included.
const (
	Whats       = whats
	RecordKinds = recordKinds
	NodeStates  = nodeStates
	Ends        = ends
	Knobs       = knobs
)
