package rollout

import (
	"slices"

	"github.com/daemonplan/daemonplan/rollout/internal/fleet"
)

// Reading is what a plan has read off the nodes and pods of its snapshot. Pass it to the next plan as [Snapshot.Reading], and
// that plan reads only objects that are new to it: it recognizes the others by their pointers, in any order. What a plan says
// does not depend on the Reading.
//
// A Reading is opaque and immutable. Several plans may use one at the same time, also plans of other specs: what does not
// depend on the spec is kept. It takes about 260 bytes a node with its pod, and while every node is where it is to be, it keeps
// the decisions of its plan, which are 144 bytes each. It keeps alive the objects of the snapshot that it was made from, and no
// others.
type Reading struct {
	nodes  *fleet.Nodes
	pods   *fleet.Pods
	claims *fleet.Claims // nil: the pods of the snapshot were claimed before
	// aside are the decisions of this plan, or of an earlier one with the same facts, that set all nodes aside. The next plan
	// shares them if it finds the same. Nil: none did.
	aside []Decision
}

// Equal returns true: a Reading says nothing about the cluster that its plan does not say, so that comparisons of plans pass it
// over.
func (r *Reading) Equal(*Reading) bool { return true }

func (r *Reading) nodeFacts() *fleet.Nodes {
	if r == nil {
		return nil
	}
	return r.nodes
}

func (r *Reading) podFacts() *fleet.Pods {
	if r == nil {
		return nil
	}
	return r.pods
}

func (r *Reading) claimFacts() *fleet.Claims {
	if r == nil {
		return nil
	}
	return r.claims
}

// allAside returns the decisions of a plan that set all nodes aside; nil: there is none.
func (r *Reading) allAside() []Decision {
	if r == nil {
		return nil
	}
	return r.aside
}

// withAllAside returns the same Reading with the decisions of a plan that set all nodes aside.
func (r *Reading) withAllAside(decisions []Decision) *Reading {
	if len(decisions) == 0 || len(r.aside) == len(decisions) && &r.aside[0] == &decisions[0] {
		return r
	}
	return &Reading{nodes: r.nodes, pods: r.pods, claims: r.claims, aside: decisions}
}

// with returns a Reading of these facts: the same one, if it has no others.
func (r *Reading) with(nodes *fleet.Nodes, pods *fleet.Pods, claims *fleet.Claims) *Reading {
	if r != nil && r.nodes == nodes && r.pods == pods && r.claims == claims {
		return r
	}
	return &Reading{nodes: nodes, pods: pods, claims: claims}
}

// Workspace is memory for plans that follow each other: each works where the one before it did, so that a plan in the middle of
// a rollout allocates little and takes about half the time. What a plan says does not depend on it. The zero value is ready to
// use.
//
// The price is that a plan is good only until the next call: the next plan of the same Workspace overwrites Plan.Decisions, which
// Plan.Explain and the like read, too. Whoever keeps a plan for longer gets it of [Planner.Plan], or clones its Decisions. The
// rest of a plan, with its Reading and Memory, stays as it is.
//
// A Workspace may be used with any planner and snapshot, but not by several goroutines at once. It keeps no objects, and as much
// memory as its largest plan has needed: 144 bytes a node, and 84 more for each node that was not where it is to be. When all
// nodes are, the Reading takes the Decisions over, and the next plan that needs room gets other memory.
type Workspace struct {
	decisions   []Decision
	nodeRecords []node
	podRecords  []pod
	// unsettled are the ordinals of the nodes that get records.
	unsettled []int32
}

// Plan is [Planner.Plan] in the memory of the Workspace. If it fails, the Decisions of the plan before may be overwritten all the
// same. A nil Workspace lends no memory.
func (w *Workspace) Plan(planner *Planner, snapshot Snapshot) (Plan, error) {
	if w == nil {
		return planner.Plan(snapshot)
	}
	defer w.release()
	plan, err := planner.plan(snapshot, false, w)
	return plan, snapshotError(err)
}

// ClaimAndPlan is [Planner.ClaimAndPlan] in the memory of the Workspace, as Plan is [Planner.Plan].
func (w *Workspace) ClaimAndPlan(planner *Planner, snapshot Snapshot) (Claimed, error) {
	if w == nil {
		return planner.ClaimAndPlan(snapshot)
	}
	defer w.release()
	return planner.claimAndPlan(snapshot, w)
}

// release drops what points to facts and objects.
func (w *Workspace) release() {
	clear(w.nodeRecords)
	clear(w.podRecords)
	w.nodeRecords, w.podRecords = w.nodeRecords[:0], w.podRecords[:0]
}

// makeDecisions returns the decisions of so many nodes, with room for those of a few pods on nodes that are gone. They are as an
// earlier plan left them.
func (w *Workspace) makeDecisions(nodes int) []Decision {
	w.decisions = withRoom(w.decisions, nodes+strayRoom)
	return w.decisions[:nodes]
}

// makeRecords returns records of so many nodes, and room for those of their pods.
func (w *Workspace) makeRecords(nodes, pods int) ([]node, []pod) {
	w.nodeRecords, w.podRecords = withRoom(w.nodeRecords, nodes)[:nodes], withRoom(w.podRecords, pods)[:pods]
	return w.nodeRecords, w.podRecords[:0]
}

// giveUp hands the decisions to a Reading, which shares them with later plans.
func (w *Workspace) giveUp() { w.decisions = nil }

// withRoom returns an empty list that has the capacity, in the same memory if that is large enough.
func withRoom[E any](list []E, capacity int) []E { return slices.Grow(list[:0], capacity) }
