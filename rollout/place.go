package rollout

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/status"
)

// place is step 1: put the nodes in order and evaluate each once (P2, P3).
func (r *run) place() error {
	objects := r.snapshot.Nodes
	names, err := nodeNames(objects)
	if err != nil {
		return err
	}
	order := ascending(names)
	if r.index, err = newNodeIndex(names, order); err != nil {
		return err
	}
	r.nodes = make([]node, len(order))
	r.plan.Decisions = make([]Decision, len(order), len(order)+strayRoom)
	for i, at := range order {
		r.nodes[i] = node{object: objects[at.i], current: none, other: none}
		r.plan.Decisions[i].Node = names[at.i]
	}
	overrides := r.overrides.Evaluator()
	var some [block]*corev1.Node
	var verdicts [block]placement.Verdict
	for first := 0; first < len(r.nodes); first += block {
		nodes := r.nodes[first:min(first+block, len(r.nodes))]
		for k := range nodes {
			some[k] = nodes[k].object
		}
		for k, verdict := range r.matcher.EvaluateAll(verdicts[:0], some[:len(nodes)]) {
			r.settle(&r.plan.Decisions[first+k], verdict)
		}
		for k := range nodes {
			r.override(int32(first+k), overrides)
		}
	}
	return nil
}

func nodeNames(nodes []*corev1.Node) ([]string, error) {
	names := make([]string, len(nodes))
	for i, n := range nodes {
		if n == nil {
			return nil, at("Nodes", i, "must not be nil")
		}
		if n.Name == "" {
			return nil, at("Nodes", i, "must have a name")
		}
		names[i] = n.Name
	}
	return names, nil
}

// nodeIndex finds the ordinals of nodes by name.
type nodeIndex struct {
	names index   // as in the snapshot
	rank  []int32 // ordinals in run.nodes, by place in the snapshot
}

func newNodeIndex(names []string, order []keyed) (nodeIndex, error) {
	x := nodeIndex{names: newIndex(len(names), func(i int32) string { return names[i] }), rank: make([]int32, len(names))}
	for i, name := range names {
		if x.names.add(int32(i), x.names.hash(name)) != none {
			return x, &SnapshotError{Field: "Nodes", Problem: fmt.Sprintf("names must be unique: there are two nodes %q", name)}
		}
	}
	for i := range order {
		x.rank[order[i].i] = int32(i)
	}
	return x, nil
}

// find returns the ordinal of the node of that name, or none.
func (x *nodeIndex) find(name string) int32 { return x.look(x.names.hash(name), name) }

// look is find for a name of which the hash is known.
func (x *nodeIndex) look(hash uint64, name string) int32 {
	i, _ := x.names.probe(hash, name)
	if i == none {
		return none
	}
	return x.rank[i]
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
