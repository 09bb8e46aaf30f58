package rollout

import (
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/status"
)

// classify is step 5: one state per node, the facts for the status (S1), and which pods stay if more than one is
// there (M3).
func (r *run) classify() {
	for i := range r.nodes {
		n, d := &r.nodes[i], &r.plan.Decisions[i]
		for j := n.first; j < n.end; j++ {
			r.sort(n, d, j)
		}
		if d.Placement.Outcome == placement.Run {
			d.Facts |= status.Desired
			r.plan.Budget.Desired++
		}
		r.settleRequest(n)
		d.State = r.state(n, d)
		d.Target = r.targetOf(n, d)
	}
	r.scaleLimits()
}

// scaleLimits resolves the limits once desired is known (B1, M6).
func (r *run) scaleLimits() {
	budget := &r.plan.Budget
	budget.Burst = max(r.burst.roundDown(budget.Desired), 1)
	if r.spec.Strategy.Type != RollingUpdate {
		return
	}
	budget.MaxUnavailable = r.maxUnavailable.roundUp(budget.Desired)
	budget.MaxSurge = r.maxSurge.roundUp(budget.Desired)
}

// sort enters one pod of a node: as a fact for the status, and as the one to stay if it is the best of its kind.
func (r *run) sort(n *node, d *Decision, j int32) {
	t := r.pods[j].traits
	d.Facts |= status.Present
	if t.has(marked) {
		n.terminating = true
		return
	}
	if t.has(ready) {
		d.Facts |= status.Ready
	}
	if t.has(available) {
		d.Facts |= status.Available
	}
	if t.has(current) {
		d.Facts |= status.Updated
	}
	kept := &n.other
	switch {
	case t.has(finished):
		n.finished = true
		return
	case t.has(current):
		kept = &n.current
	}
	if *kept == none || better(&r.pods[j], &r.pods[*kept]) {
		*kept = j
	}
}

// better tells whether a is to stay rather than b (M3): available, ready, bound, older, name.
func better(a, b *pod) bool {
	for _, want := range [...]traits{available, ready, bound} {
		if a.traits.has(want) != b.traits.has(want) {
			return a.traits.has(want)
		}
	}
	return byAge(*a, *b) < 0
}

// settleRequest drops an in-flight create whose pod is there already: the snapshot caught up before the caller
// took the entry away.
func (r *run) settleRequest(n *node) {
	if n.requested == requestedCurrent && n.current != none || n.requested == requestedOther && n.other != none {
		n.requested = requestedNothing
	}
}

func (r *run) state(n *node, d *Decision) State {
	hasCurrent := n.current != none || n.requested == requestedCurrent
	hasOther := n.other != none || n.requested == requestedOther
	switch {
	case d.Placement.Outcome == placement.Leave && n.first < n.end:
		return StateLeaving
	case d.Placement.Outcome == placement.Keep && n.first < n.end:
		return StateKept
	case d.Placement.Outcome != placement.Run:
		return StateIneligible
	case hasCurrent && hasOther:
		return StateSurging
	case n.current != none && r.pods[n.current].traits.has(available):
		return StateUpdated
	case hasCurrent:
		return StateStarting
	case hasOther:
		return StateOutdated
	case n.finished:
		return StateBroken
	case n.terminating:
		return StateTerminating
	default:
		return StateMissing
	}
}

// targetOf applies T1: only a node that has something else is held back; what is lost comes back at the update
// revision.
func (r *run) targetOf(n *node, d *Decision) Target {
	switch {
	case d.Placement.Outcome != placement.Run:
		return TargetNone
	case n.hold != LimitNone && d.State == StateOutdated:
		return TargetHeld
	default:
		return TargetUpdate
	}
}

// serves is B2, for one pod: it does the daemon's work and will after this plan.
func (p *pod) serves() bool {
	return !p.traits.has(gone) && (p.traits.has(available) || p.traits.has(ready) && !p.traits.has(current))
}

// serving tells whether any pod of the node serves.
func (r *run) serving(n *node) bool {
	for i := n.first; i < n.end; i++ {
		if r.pods[i].serves() {
			return true
		}
	}
	return false
}

// newPods tells whether the node holds, or is about to get, pods of the update revision that are available, and such
// that are not; Failed ones are not (B2 on keep nodes, B4). On a keep node a pod that is not bound never ran and cannot
// be bound now, so it says nothing of the revision; counting it would stop the rollout for as long as the taint is there.
func (r *run) newPods(i int32) (availableOnes, unavailableOnes bool) {
	n := &r.nodes[i]
	keep := r.outcome(i) == placement.Keep
	unavailableOnes = n.creating || n.requested == requestedCurrent && !keep
	for j := n.first; j < n.end; j++ {
		switch t := r.pods[j].traits; {
		case !t.has(current) || t.has(gone) || keep && !t.has(bound):
		case t.has(available):
			availableOnes = true
		default:
			unavailableOnes = true
		}
	}
	return availableOnes, unavailableOnes
}
