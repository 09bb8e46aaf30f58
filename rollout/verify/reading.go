package verify

import (
	"errors"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
)

// checkReading is the part of V12 about what a Decision says of its node beside facts: where it stands, where it is
// to end, and what of the budgets it takes.
func (v *verifier) checkReading(d *rollout.Decision, node *node) {
	if node == nil {
		if d.Target != rollout.TargetNone || d.Unavailable || d.Surging || d.Exempt() || d.Canary {
			v.report(12, d.Node, "stray pod %s with target %s, unavailable %t, surging %t, exempt %t and canary %t, right are "+
				"none: it is on no node", d.Pod, d.Target, d.Unavailable, d.Surging, d.Exempt(), d.Canary)
		}
		return
	}
	// Of two pods in flight to one node it depends on what is seen first what the node is.
	if want := v.state(node); d.State != want && (!node.asksCurrent || !node.asksOther) {
		v.report(12, d.Node, "decision with state %s, right is %s", d.State, want)
	}
	v.checkTarget(d, node)
	if want := node.unavailable && !node.exempt; d.Unavailable != want {
		v.report(12, d.Node, "B2: unavailable is %t, right is %t", d.Unavailable, want)
	}
	if want := node.surging && !node.exempt; d.Surging != want {
		v.report(12, d.Node, "B4: surging is %t, right is %t", d.Surging, want)
	}
	if d.Canary != node.canary {
		v.report(12, d.Node, "C1: canary is %t, right is %t: whether the plan's canary has the node", d.Canary, node.canary)
	}
	switch {
	case (d.Verb == rollout.VerbNone || d.Verb == rollout.VerbHold) && v.waits(node):
		v.report(12, d.Node, "verb %s, although the outdated pod is to be replaced", d.Verb)
	case d.Verb == rollout.VerbWait && d.Reason == rollout.ReasonBudget && !v.waits(node):
		v.report(12, d.Node, "the node does not wait for the budget: nothing is to be replaced now")
	}
}

// checkTarget holds target and limit of a Decision to what holds the node (T1 to T5, I1).
func (v *verifier) checkTarget(d *rollout.Decision, node *node) {
	want, limit := v.target(node)
	if d.Target != want {
		invariant := 12
		if limit == rollout.LimitPartition {
			invariant = 5
		}
		v.report(invariant, d.Node, "T1: target is %s, right is %s", d.Target, want)
	}
	if d.Reason == rollout.ReasonHeld && d.Limit != limit {
		v.report(12, d.Node, "T1: held by %s, right is %s", d.Limit, limit)
	}
}

// state reads a node as the documentation of State says. What is in flight counts as done.
func (v *verifier) state(node *node) rollout.NodeState {
	switch {
	case node.outcome == placement.Leave && len(node.pods) > 0:
		return rollout.StateLeaving
	case node.outcome == placement.Keep && len(node.pods) > 0:
		return rollout.StateKept
	case node.outcome != placement.Run:
		return rollout.StateIneligible
	}
	current := node.requestsGoal || node.bestCurrent != nil
	outdated := len(node.requested) > 0 && !node.requestsGoal || node.bestOutdated != nil
	switch {
	case current && outdated:
		return rollout.StateSurging
	case current && node.bestCurrentServes() && node.goesStable:
		return rollout.StateStable
	case current && node.bestCurrentServes():
		return rollout.StateUpdated
	case current:
		return rollout.StateStarting
	case outdated:
		return rollout.StateOutdated
	case node.terminal: // those that are marked are not among the pods
		return rollout.StateBroken
	case len(node.pods) > 0:
		return rollout.StateTerminating
	default:
		return rollout.StateMissing
	}
}

// bestCurrentServes reports whether the pod that M3 keeps, of those at the revision where the node is to end, is available
// and done with its update.
func (n *node) bestCurrentServes() bool {
	return n.bestCurrent != nil && n.bestCurrent.settled()
}

// target is T1, and what holds the node if anything does: only what is there can be held, or with holdRevision what
// comes back as it was.
func (v *verifier) target(node *node) (rollout.Target, rollout.Limit) {
	if node.outcome != placement.Run {
		return rollout.TargetNone, rollout.LimitNone
	}
	switch v.state(node) {
	case rollout.StateOutdated:
		best := node.bestOutdated
		if limit := v.holdsUpdate(node, best); limit != rollout.LimitNone {
			return rollout.TargetHeld, limit
		}
		// What keeps a pod from being updated in place is asked only where it could be updated now, and what is wrong with
		// the pod itself when its turn comes. Where the plan says something more important, only its word shows whether
		// that was so.
		if v.spec.Strategy.Method == inplace.Only && v.isCandidate(node, best) && v.goalTemplate(node) != nil &&
			(v.plainlyObstructed(best) ||
				!node.leftAlone && !node.saysWaits && (!node.mayWait || node.saysHeld) && v.obstructed(best)) {
			return rollout.TargetHeld, rollout.LimitInPlaceOnly
		}
		if limit := v.closes(node, best); limit != rollout.LimitNone {
			return rollout.TargetHeld, limit
		}
	case rollout.StateMissing, rollout.StateTerminating, rollout.StateBroken:
		if right := v.rightRevisions(node); !right[v.goalHash(node)] {
			return rollout.TargetHeld, node.hold
		}
	default: // it is where it is to end, or about to be
	}
	if node.goesStable {
		return rollout.TargetStable, rollout.LimitNone
	}
	if node.goesBack {
		return rollout.TargetBase, rollout.LimitNone
	}
	return rollout.TargetUpdate, rollout.LimitNone
}

// isCandidate reports whether the outdated pod of the node is up for its update: there is nothing else, now or after this
// plan's deletes, and nothing is requested. Without surge an outdated pod that is not Ready need not be alone (B3).
func (v *verifier) isCandidate(node *node, best *pod) bool {
	if node.outcome != placement.Run || best == nil || best.patched || len(node.requested) > 0 || node.bestCurrent != nil {
		return false
	}
	alone := node.others(best) == 0
	if v.surges() { // what is on its way out waits for the new pod, which waits for this one, if that serves nobody
		return !node.terminal && (alone || !best.ready && v.frees(best))
	}
	return alone || !best.ready
}

// waits reports whether the node would be updated if budget and burst let it. What is wrong with the pod itself, or how far it
// is, is seen only when its turn comes, and until then the plan may take it for one that waits.
func (v *verifier) waits(node *node) bool {
	if !node.mightWait || node.saysWaits || v.spec.Strategy.Method == inplace.Recreate {
		return node.mightWait
	}
	best := node.bestOutdated
	if v.plainlyObstructed(best) {
		return true // by being recreated
	}
	step, err := v.begin(best)
	if err == nil { // one that an earlier update has made unready may be in the grace period of this one already
		return len(step.Patches) > 0
	}
	return v.spec.Strategy.Method != inplace.Only && errors.Is(err, inplace.ErrObstacle)
}

// mightWait reports whether the outdated pod of the node is up for its update, nothing holds it, and nothing is begun.
func (v *verifier) mightWait(node *node) bool {
	best := node.bestOutdated
	if node.leftAlone || !v.isCandidate(node, best) || len(node.creates) > 0 || v.goalTemplate(node) == nil || best.goes() ||
		best.begun || v.holdsUpdate(node, best) != rollout.LimitNone || v.gate(node, best) != rollout.LimitNone {
		return false
	}
	switch method := v.spec.Strategy.Method; {
	case method == inplace.Recreate:
		return true
	case v.plainlyObstructed(best):
		return method != inplace.Only // which holds it
	default:
		return !v.underWay(best) // but for a hook or the grace period
	}
}

// outdated is active, and not at the revision, or not with the resources, where its node is to end.
func (p *pod) outdated() bool { return p.active() && !p.current }
