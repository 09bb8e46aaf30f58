package rollout

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/placement"
)

// place is step 1. It puts the nodes in order and evaluates each once, for the template of the update revision: whether the node
// is to run the pod (P2), may keep one (P3), or must not have one. Step 4 evaluates those nodes anew that are to end at a stable
// revision whose pods run on other nodes, and then counts desired.
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
		r.nodes[i] = node{object: objects[at.i], goalPod: none, outdatedPod: none}
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
			r.plan.Decisions[first+k].Placement = verdict
			if verdict.Outcome == placement.Run {
				r.updateRuns++
			}
		}
		for k := range nodes {
			r.setEffect(int32(first+k), overrides)
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
	names index   // ordinals are places in the snapshot
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

// look is find for a name whose hash is known.
func (x *nodeIndex) look(hash uint64, name string) int32 {
	i, _ := x.names.probe(hash, name)
	if i == none {
		return none
	}
	return x.rank[i]
}

// strayRoom is the spare capacity of the decisions, so that a few pods on nodes that are gone do not cause a copy of them all.
const strayRoom = 16
