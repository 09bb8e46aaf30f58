package rollout

import (
	"github.com/daemonplan/daemonplan/placement"
)

// checkReading is the part of V12 about what a Decision says of its node beside facts: where it stands, where it is
// to end, and what of the budgets it takes.
func (v *verifier) checkReading(d *Decision) {
	node := v.nodeOf[d.Node]
	if node == nil {
		if d.Target != TargetNone || d.Unavailable || d.Surging {
			v.report(12, d.Node, "stray pod %s with target %s, unavailable %t and surging %t, right are none: it is on no node",
				d.Pod, d.Target, d.Unavailable, d.Surging)
		}
		return
	}
	// Of two pods in flight to one node it depends on what is seen first what the node is.
	if want := v.state(node); d.State != want && !node.mixed {
		v.report(12, d.Node, "decision with state %s, right is %s", d.State, want)
	}
	if want := v.target(node); d.Target != want {
		v.report(12, d.Node, "T1: target is %s, right is %s", d.Target, want)
	}
	if want := v.isUnavailable(node); d.Unavailable != want {
		v.report(12, d.Node, "B2: unavailable is %t, right is %t", d.Unavailable, want)
	}
	if want := v.isSurging(node); d.Surging != want {
		v.report(12, d.Node, "B4: surging is %t, right is %t", d.Surging, want)
	}
	switch waits := v.waits(node); {
	case waits && (d.Verb == VerbNone || d.Verb == VerbHold):
		v.report(12, d.Node, "verb %s, although the outdated pod is to be replaced", d.Verb)
	case !waits && d.Verb == VerbWait && d.Reason == ReasonBudget:
		v.report(12, d.Node, "the node does not wait for the budget: nothing is to be replaced now")
	}
}

// state reads a node as the documentation of State says. What is in flight counts as done.
func (v *verifier) state(node *verifiedNode) State {
	switch {
	case node.outcome == placement.Leave && len(node.pods) > 0:
		return StateLeaving
	case node.outcome == placement.Keep && len(node.pods) > 0:
		return StateKept
	case node.outcome != placement.Run:
		return StateIneligible
	}
	updated := v.requestsUpdate(node) || node.any(func(p *verifiedPod) bool { return p.active() && p.updated })
	outdated := len(node.requested) > 0 && !v.requestsUpdate(node) || node.any((*verifiedPod).outdated)
	switch {
	case updated && outdated:
		return StateSurging
	case node.any(func(p *verifiedPod) bool { return p.active() && p.updated && p.avail }):
		return StateUpdated
	case updated:
		return StateStarting
	case outdated:
		return StateOutdated
	case node.any(func(p *verifiedPod) bool { return p.terminal }): // those that are marked are not among the pods
		return StateBroken
	case len(node.pods) > 0:
		return StateTerminating
	default:
		return StateMissing
	}
}

// target is T1: only what is there can be held.
func (v *verifier) target(node *verifiedNode) Target {
	switch {
	case node.outcome != placement.Run:
		return TargetNone
	case (v.held() || v.spec.Strategy.Frozen) && v.state(node) == StateOutdated:
		return TargetHeld
	default:
		return TargetUpdate
	}
}

// waits tells whether the node would be updated if budget and burst let it: it holds an outdated pod and nothing
// else, now or after this plan's deletes, is not held, and this plan does not begin it. Without surge an outdated pod
// that is not Ready need not be alone (B3).
func (v *verifier) waits(node *verifiedNode) bool {
	if node.outcome != placement.Run || v.held() || v.spec.Strategy.Frozen || v.requestsUpdate(node) ||
		node.any(func(p *verifiedPod) bool { return p.active() && p.updated }) {
		return false
	}
	var best *verifiedPod
	for _, p := range node.pods {
		if p.outdated() && (best == nil || betterOf(p, best) < 0) {
			best = p
		}
	}
	if best == nil || best.deleted || len(node.creates) > 0 {
		return false
	}
	alone := !node.any(func(p *verifiedPod) bool { return p != best && p.stays() })
	if v.surges() {
		return alone && !node.any(func(p *verifiedPod) bool { return p.terminal })
	}
	return alone || !best.ready
}

// outdated is active and of another revision.
func (p *verifiedPod) outdated() bool { return p.active() && !p.updated }
