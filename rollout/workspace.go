package rollout

import "slices"

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
