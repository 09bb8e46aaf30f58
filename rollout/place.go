package rollout

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/status"
)

// place is step 1: put the nodes in order and evaluate each once (P2, P3).
func (r *run) place() error {
	ordered := byNodeName(r.snapshot.Nodes)
	r.nodes = make([]node, len(ordered))
	r.plan.Decisions = make([]Decision, len(ordered), len(ordered)+strayRoom)
	overrides := r.overrides.Evaluator()
	for i, object := range ordered {
		if i > 0 && object.Name == ordered[i-1].Name {
			problem := fmt.Sprintf("names must be unique: there are two nodes %q", object.Name)
			return &SnapshotError{Field: "Nodes", Problem: problem}
		}
		r.nodes[i] = node{object: object, current: none, other: none}
		d := &r.plan.Decisions[i]
		d.Node = object.Name
		r.settle(d, r.matcher.Evaluate(object))
		r.override(int32(i), overrides)
	}
	return nil
}

// settle enters where a node stands, in place of what was found before.
func (r *run) settle(d *Decision, verdict placement.Verdict) {
	if d.Facts.Has(status.Desired) {
		r.plan.Budget.Desired--
	}
	d.Placement, d.Facts = verdict, d.Facts&^status.Desired
	if verdict.Outcome == placement.Run {
		d.Facts |= status.Desired
		r.plan.Budget.Desired++
	}
}

// placeStable evaluates a node anew that is to end at the stable revision: that one's template says whether it runs there,
// so that a trial changes nothing elsewhere (T6). A template that cannot be read vacates no node.
func (r *run) placeStable(i int32, matcher *placement.Matcher) {
	n, d := &r.nodes[i], r.decision(i)
	before, verdict := d.Placement, d.Placement
	switch {
	case matcher != nil:
		verdict = matcher.Evaluate(n.object)
	case before.Outcome == placement.Leave && n.first < n.end:
		verdict.Outcome = placement.Keep
	}
	r.settle(d, verdict)
	if before.Outcome == placement.Leave && verdict.Outcome != placement.Leave {
		for j := n.first; j < n.end; j++ {
			r.wake(lifecycle.Evaluate(r.pods[j].object, r.spec.MinReadySeconds, r.snapshot.Now).AvailableAt)
		}
	}
}

// strayRoom saves growing the decisions by a copy for the few pods on nodes that are gone.
const strayRoom = 16

// byNodeName returns the nodes in ascending order of their names. Lists that are in order already are returned as
// they are. Otherwise the names are compared eight bytes at a time, behind what all have in common: comparing whole
// strings through pointers costs more than the rest of a plan.
func byNodeName(nodes []*corev1.Node) []*corev1.Node {
	byName := func(a, b *corev1.Node) int { return strings.Compare(a.Name, b.Name) }
	if slices.IsSortedFunc(nodes, byName) {
		return nodes
	}
	common := len(commonPrefix(nodes))
	type keyed struct {
		key uint64
		i   int32 // no pointer: swapping pointers costs write barriers
	}
	keys := make([]keyed, len(nodes))
	for i, n := range nodes {
		keys[i] = keyed{key: bigEndian(n.Name[common:]), i: int32(i)}
	}
	slices.SortFunc(keys, func(a, b keyed) int {
		if c := cmp.Compare(a.key, b.key); c != 0 {
			return c
		}
		return byName(nodes[a.i], nodes[b.i])
	})
	ordered := make([]*corev1.Node, len(keys))
	for i := range keys {
		ordered[i] = nodes[keys[i].i]
	}
	return ordered
}

func commonPrefix(nodes []*corev1.Node) string {
	prefix := nodes[0].Name
	for _, n := range nodes[1:] {
		for !strings.HasPrefix(n.Name, prefix) {
			prefix = prefix[:len(prefix)-1]
		}
	}
	return prefix
}

// bigEndian reads the first eight bytes of s so that smaller strings give smaller or equal numbers.
func bigEndian(s string) uint64 {
	var b [8]byte
	copy(b[:], s)
	return binary.BigEndian.Uint64(b[:])
}
