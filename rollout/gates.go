package rollout

import (
	"slices"
	"time"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/rollout/canary"
)

// A gate is a setting, a policy or a state of the node that may keep a plan from doing something, however much room there is.
// What there is room for is up to the ledgers (ledgers.go). All gates are rows of one table, and all steps ask it in its order:
// run.stops what stops an activity, and run.stopsUpdate what stops the update of a node's outdated pod, which passes over gates
// that let go on what was begun. A rule that comes new is a row here, and a function that tells whether it is shut.
//
// What a pod waits for by itself is no gate, and stays where it is acted on: requests in flight (admit.go), hooks (hook.go), the
// back-off of failed pods (repair.go), the places of a first installation (pod_actions.go).

// activity is something that gates let happen or stop.
type activity uint16

// The columns of the table.
const (
	// beginUpdate: the update of a node's outdated pod is begun.
	beginUpdate activity = 1 << iota
	// continueUpdate: an update in place goes on that was begun, and has not changed the pod yet.
	continueUpdate
	// continueLeaving: an outdated pod goes on leaving through its preDelete hook. Where that is stopped, it is taken back (L2).
	continueLeaving
	// showGoal: the plan shows the node's goal as its target, and not that it is held; failed outdated pods need no back-off
	// (M2).
	showGoal
	// createPod and deletePod: a pod is created or deleted, for whatever reason.
	createPod
	deletePod
	// pullImages: images are pulled ahead.
	pullImages
	// writeHistory: revisions are written, but for marks, and pods get labels of the history.
	writeHistory

	anyUpdate = beginUpdate | continueUpdate
)

// gate is one row of the table.
type gate struct {
	// name is what the rule is called, opens is who or what opens the gate. The table in DESIGN.md shows them.
	name, opens string
	// stops are the activities that the gate stops while it is shut.
	stops activity
	// reason is what is said of a node whose update the gate stops: it is held where it is, or waits for its turn.
	reason Reason
	// has reports whether the gate may be shut in plans of this planner. Gates of features that a spec does not use cost nothing.
	has func(*Planner) bool
	// shut reports whether the gate is shut for a node, what a plan calls the limit, and until when, if the clock opens it. For
	// gates of the whole set the node is none.
	shut func(r *run, i int32) (shut bool, limit Limit, until time.Time)
	// wholeSet reports whether the gate is shut for all nodes or for none, and for pods without a node.
	wholeSet bool
}

// gates are all there are, in the order in which a plan names them: a node is shown the first that stops it.
var gates = [...]gate{
	{
		name: "frozen (T4)", opens: "user", wholeSet: true, reason: ReasonHeld,
		stops: anyUpdate | showGoal | createPod | deletePod | pullImages | writeHistory,
		has:   func(p *Planner) bool { return p.spec.Strategy.Frozen },
		shut:  func(*run, int32) (bool, Limit, time.Time) { return true, LimitFrozen, time.Time{} },
	},
	{
		name: "paused (T4)", opens: "user", wholeSet: true, reason: ReasonHeld,
		stops: beginUpdate | showGoal | pullImages,
		has:   func(p *Planner) bool { return p.spec.Strategy.Paused },
		shut:  func(*run, int32) (bool, Limit, time.Time) { return true, LimitPaused, time.Time{} },
	},
	{
		name: "canary paused, or failed with nothing to go back to (C6, C7)", opens: "user, clock", reason: ReasonHeld,
		stops: anyUpdate | continueLeaving | showGoal | pullImages,
		has:   func(p *Planner) bool { return p.spec.Strategy.Canary != nil || p.failures != nil },
		shut:  (*run).isCanaryShut,
	},
	{
		name: "OnDelete (T5)", opens: "user", reason: ReasonHeld,
		stops: anyUpdate | continueLeaving | showGoal | pullImages,
		has:   func(p *Planner) bool { return p.spec.Strategy.Type == OnDelete },
		shut:  heldBy(LimitOnDelete),
	},
	{
		name: "node selector (T3)", opens: "user", reason: ReasonHeld,
		stops: anyUpdate | continueLeaving | showGoal | pullImages,
		has:   func(p *Planner) bool { return !p.rules.NodeSelector.Empty() },
		shut:  heldBy(LimitNodeSelector),
	},
	{
		name: "partition (T2)", opens: "user", reason: ReasonHeld,
		stops: anyUpdate | continueLeaving | showGoal | pullImages,
		has:   func(p *Planner) bool { return p.partitionSize.Value > 0 },
		shut:  heldBy(LimitPartition),
	},
	{
		name: "what the new pod needs and its node does not declare (T9)", opens: "node", reason: ReasonHeld,
		stops: anyUpdate | continueLeaving | showGoal | pullImages,
		has:   func(p *Planner) bool { return len(p.features) > 0 },
		shut:  heldBy(LimitUndeclared),
	},
	{
		name: "the revision cannot be read (T6)", opens: "user", reason: ReasonRevisionUnreadable,
		stops: anyUpdate | pullImages,
		has:   func(*Planner) bool { return true },
		shut: func(r *run, i int32) (bool, Limit, time.Time) {
			return !r.isReadable(r.goalHash(&r.nodes[i])), LimitNone, time.Time{} // nothing could follow the pod
		},
	},
	{
		name: "InPlaceOnly (I1)", opens: "user", reason: ReasonHeld,
		stops: continueLeaving,
		has:   func(p *Planner) bool { return p.spec.Strategy.Method == inplace.Only },
		shut:  func(*run, int32) (bool, Limit, time.Time) { return true, LimitInPlaceOnly, time.Time{} },
	},
	{
		name: "InPlaceOnly, where a pod cannot be updated in place (I1)", opens: "user", reason: ReasonHeld,
		stops: anyUpdate | pullImages,
		has:   func(p *Planner) bool { return p.spec.Strategy.Method == inplace.Only },
		shut: func(r *run, i int32) (bool, Limit, time.Time) {
			return r.nodes[i].outdatedPod != none && r.findInPlace(i).obstructed(), LimitInPlaceOnly, time.Time{}
		},
	},
	{
		name: "departing (M8)", opens: "node", reason: ReasonGated,
		stops: anyUpdate | createPod | deletePod | pullImages,
		has:   (*Planner).sparesDeparting,
		shut: func(r *run, i int32) (bool, Limit, time.Time) {
			return r.nodes[i].departing, LimitDeparting, time.Time{}
		},
	},
	{
		name: "stage, soak, approval (T8)", opens: "part before, clock, user", reason: ReasonGated,
		stops: beginUpdate | continueLeaving | showGoal | pullImages,
		has:   func(p *Planner) bool { return p.rules.Stages.Len() > 0 },
		shut: func(r *run, i int32) (bool, Limit, time.Time) {
			limit := r.nodes[i].closed
			return limit != LimitNone && limit != LimitFailures, limit, time.Time{} // step 5 wakes when a part opens
		},
	},
	{
		name: "too many failures (F3)", opens: "nodes, user", reason: ReasonGated,
		stops: beginUpdate | continueLeaving | showGoal | pullImages,
		has:   func(p *Planner) bool { return p.failures != nil },
		shut: func(r *run, i int32) (bool, Limit, time.Time) {
			return r.nodes[i].closed == LimitFailures, LimitFailures, time.Time{}
		},
	},
	{
		name: "draining (M8)", opens: "node", reason: ReasonGated,
		stops: beginUpdate | pullImages,
		has:   (*Planner).sparesDeparting,
		shut: func(r *run, i int32) (bool, Limit, time.Time) {
			return r.nodes[i].draining, LimitDraining, time.Time{}
		},
	},
}

// heldBy returns a question of a gate that step goal shuts: whether the node is held by that limit.
func heldBy(limit Limit) func(*run, int32) (bool, Limit, time.Time) {
	return func(r *run, i int32) (bool, Limit, time.Time) { return r.nodes[i].heldBy == limit, limit, time.Time{} }
}

// gatesOf returns the gates that may be shut in plans of a planner.
func gatesOf(p *Planner) []gate {
	return slices.DeleteFunc(slices.Clone(gates[:]), func(g gate) bool { return !g.has(p) })
}

// stop is what stops an activity. The zero value stands for nothing.
type stop struct {
	by    *gate
	limit Limit
	// found is what was found about an update in place of the node's outdated pod, where somebody had to look.
	found inPlace
}

// stops returns the first gate that stops an activity on node i; of a pod without a node, and of the whole set, i is none.
func (r *run) stops(i int32, what activity) stop {
	for at := range r.gates {
		g := &r.gates[at]
		if g.stops&what == 0 || i == none && !g.wholeSet {
			continue
		}
		if shut, limit, _ := g.shut(r, i); shut {
			return stop{by: g, limit: limit}
		}
	}
	return stop{}
}

// stopsUpdate is stops for the update of the node's outdated pod: if that was begun in place, gates are passed over that let go
// on what was begun.
func (r *run) stopsUpdate(i int32, what activity) stop {
	var found inPlace
	begun, looked := false, r.nodes[i].outdatedPod == none // if only a create is in flight, nothing was begun
	for at := range r.gates {
		g := &r.gates[at]
		if g.stops&what == 0 {
			continue
		}
		shut, limit, _ := g.shut(r, i)
		if !shut {
			continue
		}
		if g.stops&continueUpdate == 0 {
			if !looked {
				begun, found = r.isBegunInPlace(i)
				looked = true
			}
			if begun {
				continue
			}
		}
		return stop{by: g, limit: limit, found: found}
	}
	return stop{found: found}
}

// isCanaryShut reports whether the trial keeps the node from its update: a paused canary replaces nothing (C7), and a revision
// that has failed with none to go back to comes to nobody (C6).
func (r *run) isCanaryShut(i int32) (shut bool, limit Limit, until time.Time) {
	rests := r.trial.Phase == canary.Paused || r.trial.Phase == canary.Failed
	return rests && r.nodes[i].goal == toUpdate, LimitCanary, until
}

// isHeldByStages reports whether only the stages keep the outdated pod of a node at its revision (T8).
func (r *run) isHeldByStages(i int32) bool {
	closed := r.nodes[i].closed
	return closed != LimitNone && r.stops(i, showGoal).limit == closed && r.decision(i).Limit != LimitInPlaceOnly
}

// halted reports whether users have stopped the rollout as a whole (T4).
func (r *run) halted() bool { return r.stops(none, beginUpdate).by != nil }
