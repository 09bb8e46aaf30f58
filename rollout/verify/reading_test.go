package verify_test

import (
	"testing"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/status"
)

// TestVerifyReading: the facts in a decision must be those of its node.
func TestVerifyReading(t *testing.T) {
	// crowd has a node in each state.
	crowd := func() *handmade {
		s := newHandmade("3", "0")
		s.node("broken", "dpu", handPod("broken-1", freshHash, "failed"))
		s.keep("ineligible", "")
		s.keep("kept", "prau", handPod("kept-1", freshHash, "available"))
		s.leave("leaving", "prau", handPod("leaving-1", freshHash, "available"))
		s.node("missing", "d")
		s.node("outdated", "dpra", handPod("outdated-1", staleHash, "available"))
		s.node("requested", "d")
		s.node("requestedold", "d")
		s.node("starting", "dpu", handPod("starting-1", freshHash, "unready"))
		s.node("surging", "dprau", handPod("surging-1", staleHash, "available"), handPod("surging-2", freshHash, "unready"))
		s.node("terminating", "dp", handMarked(handPod("terminating-1", freshHash, "available")))
		s.node("updated", "dprau", handPod("updated-1", freshHash, "available"))
		s.snapshot.InFlight.Creates = []rollout.InFlightCreate{{Node: "requested"}, {Node: "requestedold", Revision: staleHash}}
		return s.budget(3, 6, 0, 0)
	}
	reading := func(node string, change func(*rollout.Decision)) func(*handmade) {
		return func(s *handmade) { change(s.decision(node)) }
	}
	var rows []violationRow
	for node, states := range map[string][2]rollout.NodeState{
		"requestedold": {rollout.StateOutdated, rollout.StateMissing},
		"broken":       {rollout.StateBroken, rollout.StateMissing},
		"ineligible":   {rollout.StateIneligible, rollout.StateKept},
		"kept":         {rollout.StateKept, rollout.StateIneligible},
		"leaving":      {rollout.StateLeaving, rollout.StateKept},
		"missing":      {rollout.StateMissing, rollout.StateTerminating},
		"outdated":     {rollout.StateOutdated, rollout.StateUpdated},
		"requested":    {rollout.StateStarting, rollout.StateMissing},
		"starting":     {rollout.StateStarting, rollout.StateUpdated},
		"surging":      {rollout.StateSurging, rollout.StateOutdated},
		"terminating":  {rollout.StateTerminating, rollout.StateBroken},
		"updated":      {rollout.StateUpdated, rollout.StateStarting},
	} {
		rows = append(rows, violationRow{
			name: node + " in another state", why: "State tells where the node stands", scene: crowd,
			plant: reading(node, func(d *rollout.Decision) { d.State = states[1] }),
			want:  12, mention: "node " + node + ": decision with state " + states[1].String() + ", right is " + states[0].String(), raw: true,
		})
	}
	paused := func() *handmade { s := crowd(); s.spec.Strategy.Paused = true; return s }
	frozen := func() *handmade { s := crowd(); s.spec.Strategy.Frozen = true; return s }
	target := func(to rollout.Target) func(*rollout.Decision) {
		return func(d *rollout.Decision) { d.Target = to }
	}
	runViolations(t, append(rows, []violationRow{
		{
			name: "no target for a run node", why: "T1: the update revision", scene: crowd,
			plant: reading("missing", target(rollout.TargetNone)), want: 12, mention: "T1: target is none, right is update", raw: true,
		},
		{
			name: "a target for a keep node", why: "it is not to run the pod", scene: crowd,
			plant: reading("kept", target(rollout.TargetUpdate)), want: 12, mention: "T1: target is update, right is none", raw: true,
		},
		{
			name: "held without anything that holds", why: "T1: the update revision", scene: crowd,
			plant: reading("outdated", target(rollout.TargetHeld)), want: 12, mention: "T1: target is held, right is update", raw: true,
		},
		{
			name: "not held, paused", why: "T4", scene: paused,
			plant: reading("outdated", target(rollout.TargetUpdate)), want: 12, mention: "T1: target is update, right is held", raw: true,
		},
		{
			name: "not held, frozen", why: "T4", scene: frozen,
			plant: reading("outdated", target(rollout.TargetUpdate)), want: 12, mention: "T1: target is update, right is held", raw: true,
		},
		{
			name: "held with nothing to hold", why: "T1: what is lost comes back at the update revision", scene: paused,
			plant: reading("missing", target(rollout.TargetHeld)), want: 12, mention: "T1: target is held, right is update", raw: true,
		},
		{
			name: "a stray with a target", why: "it is on no node", scene: handStrays,
			plant: func(s *handmade) { s.plan.Decisions[6].Target = rollout.TargetUpdate }, want: 12, mention: "stray pod q with target update", raw: true,
		},
		{
			name: "a stray unavailable", why: "it is on no node", scene: handStrays,
			plant: func(s *handmade) { s.plan.Decisions[6].Unavailable = true }, want: 12, mention: "stray pod q with target none, unavailable true", raw: true,
		},
		{
			name: "a stray surging", why: "it is on no node", scene: handStrays,
			plant: func(s *handmade) { s.plan.Decisions[6].Surging = true }, want: 12, mention: "surging true", raw: true,
		},
		{
			name: "unavailable, but told available", why: "B2: nothing serves there", scene: crowd,
			plant: reading("starting", func(d *rollout.Decision) { d.Unavailable = false }), want: 12, mention: "node starting: B2: unavailable is false, right is true", raw: true,
		},
		{
			name: "unavailable by this plan, but told available", why: "B2: after the plan", scene: handRolling,
			plant: reading("c", func(d *rollout.Decision) { d.Unavailable = false }), want: 12, mention: "node c: B2: unavailable is false", raw: true,
		},
		{
			name: "available, but told unavailable", why: "B2: it serves", scene: crowd,
			plant: reading("updated", func(d *rollout.Decision) { d.Unavailable = true }), want: 12, mention: "B2: unavailable is true, right is false", raw: true,
		},
		{
			name: "a leave node told unavailable", why: "B2: nothing there counts", scene: crowd,
			plant: reading("leaving", func(d *rollout.Decision) { d.Unavailable = true }), want: 12, mention: "B2: unavailable is true, right is false", raw: true,
		},
		{
			name: "surging, but told not", why: "B4: this plan creates there", scene: handSurging,
			plant: reading("d", func(d *rollout.Decision) { d.Surging = false }), want: 12, mention: "node d: B4: surging is false, right is true", raw: true,
		},
		{
			name: "not surging, but told so", why: "B4: it is available", scene: handSurging,
			plant: reading("a", func(d *rollout.Decision) { d.Surging = true }), want: 12, mention: "node a: B4: surging is true, right is false", raw: true,
		},
		{
			name: "surging without surge", why: "B4: there are no places", scene: crowd,
			plant: reading("surging", func(d *rollout.Decision) { d.Surging = true }), want: 12, mention: "node surging: B4: surging is true, right is false", raw: true,
		},
		{
			name: "surging without surge, in the budget", why: "B4: there are no places", scene: crowd,
			plant: func(s *handmade) { s.plan.Budget.Surging = 1 }, want: 12, mention: "budget.surging is 1, right is 0", raw: true,
		},
		{
			name: "nothing to do about an outdated pod", why: "b waits for c and d", scene: handRolling,
			plant: reading("b", func(d *rollout.Decision) { d.Verb = rollout.VerbNone }), want: 12, mention: "node b: verb none, although", raw: true,
		},
		{
			name: "held about an outdated pod", why: "nothing holds b", scene: handRolling,
			plant: reading("b", func(d *rollout.Decision) { d.Verb = rollout.VerbHold }), want: 12, mention: "node b: verb hold, although", raw: true,
		},
		{
			name: "waiting for the budget without need", why: "a is up to date", scene: handRolling,
			plant: reading("a", func(d *rollout.Decision) { d.Reason = rollout.ReasonBudget }), want: 12, mention: "node a: the node does not wait", raw: true,
		},
		{
			name: "fewer than none waiting", why: "b waits", scene: handRolling,
			plant: func(s *handmade) { s.plan.Budget.Waiting = -4 }, want: 12, mention: "budget.waiting is -4, right is 1", raw: true,
		},
		{
			name: "waiting while held", why: "T4: the budget is not what holds it", scene: paused,
			plant: func(s *handmade) { s.plan.Budget.Waiting = 1 }, want: 12, mention: "budget.waiting is 1, right is 0", raw: true,
		},
		{
			name: "waiting while frozen", why: "T4: the budget is not what holds it", scene: frozen,
			plant: func(s *handmade) { s.plan.Budget.Waiting = 1 }, want: 12, mention: "budget.waiting is 1, right is 0", raw: true,
		},
		{
			name: "no state", why: "S2: a word for every set", scene: handSteady,
			plant: func(s *handmade) { s.plan.Status.State = status.Unknown }, want: 12, mention: "status.state is unknown", raw: true,
		},
	}...))
}
