package rollout

import (
	"slices"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout/domain"
)

// A ledger is a rule that says how much of something may be going on at once. What may not be done however much room there is,
// is up to the gates (gates.go). All ledgers are rows of one table, which step admit asks in its order, and takes from all of
// them or from none. A rule that comes new is a row here, and what it counts. burst alone counts actions instead of nodes:
// allowance is asked where an action is made.
//
// A pod that an earlier plan has prepared needs room twice (P-D). Its node counts as unavailable from the moment on that it is
// prepared, so that no more pods are prepared than may go at once (B3). That alone is no bound: pods that were not Ready are
// prepared without any room and may become Ready, other nodes may fail meanwhile, and who is left out of the budgets needs no
// room to be prepared. So whatever takes a prepared pod away that keeps its node up asks for room once more, and compares with
// what is down at this instant: takeRoom.

// ledger is one row of the table.
type ledger struct {
	// name is what the rule is called; begins and takesAway say what it takes to begin a node, and to take away the prepared pod
	// that keeps one up. The table in DESIGN.md shows them.
	name, begins, takesAway string
	// has reports whether plans of this planner keep the ledger. Ledgers of features that a spec does not use cost nothing.
	has func(*Planner) bool
	// full returns the limit that leaves no room for beginning node i, whose outdated pod is Ready or not. LimitNone: there is
	// room, or none is needed.
	full func(r *run, i int32, isReady bool) Limit
	// take spends what a node costs that was begun. anew reports whether the budget has not counted it before.
	take func(r *run, i int32, anew bool)
	// fullNow and takeNow are the same for a prepared pod that is taken away and has kept its node up until now. With a nil one
	// there always is room, or nothing is spent.
	fullNow func(r *run, i int32) Limit
	takeNow func(r *run, i int32)
}

// ledgers are all there are, in the order in which a plan names them: a node is shown the first that is full.
var ledgers = [...]ledger{
	{
		name: "maxUnavailable (B3)", begins: "a place, unless it is down already, or its pod is not Ready",
		takesAway: "a place among the nodes that are down at this instant",
		has:       func(p *Planner) bool { return !p.surges() },
		full: func(r *run, i int32, isReady bool) Limit {
			d, budget := r.decision(i), &r.plan.Budget
			// A node that is left out of the budget takes room when this plan takes its last serving pod.
			full := budget.Unavailable >= budget.MaxUnavailable || r.downIsFull()
			return limitIf(full && isReady && !d.Unavailable && !d.Exempt(), LimitMaxUnavailable)
		},
		take: func(r *run, i int32, anew bool) {
			if anew {
				r.decision(i).Unavailable = true
				r.plan.Budget.Unavailable++
				r.downNow++
			}
		},
		fullNow: func(r *run, _ int32) Limit { return limitIf(r.downIsFull(), LimitMaxUnavailable) },
		takeNow: func(r *run, _ int32) { r.downNow++ },
	},
	{
		name: "maxSurge (B4)", begins: "a place, unless its pod is not Ready",
		takesAway: "never: it goes when the new pod serves",
		has:       (*Planner).surges,
		full: func(r *run, i int32, isReady bool) Limit {
			budget := &r.plan.Budget
			return limitIf(isReady && budget.Surging >= budget.MaxSurge && !r.decision(i).Exempt(), LimitMaxSurge)
		},
		take: func(r *run, i int32, anew bool) {
			if anew {
				r.decision(i).Surging = true
				r.plan.Budget.Surging++
			}
		},
		fullNow: func(*run, int32) Limit { return LimitMaxSurge }, // it goes when the node's new pod serves
	},
	{
		name: "domains (B10)", begins: "a place in each domain that selects it, as with the budget above",
		takesAway: "a place in each, among the nodes that are down at this instant",
		has:       func(p *Planner) bool { return p.rules.Domains.Len() > 0 },
		full: func(r *run, i int32, isReady bool) Limit {
			d := r.decision(i)
			full := r.isDomainFull(i, &r.domains) || !r.surges() && r.isDomainFull(i, &r.domainsNow)
			return limitIf(full && isReady && !r.takesBudget(d) && !d.Exempt(), LimitDomain)
		},
		take: func(r *run, i int32, anew bool) {
			if !anew {
				return
			}
			r.domains.Add(r.nodes[i].Cell)
			if !r.surges() {
				r.addDisturbed(i, &r.domainsNow)
			}
		},
		fullNow: func(r *run, i int32) Limit { return limitIf(r.isDomainFull(i, &r.domainsNow), LimitDomain) },
		takeNow: func(r *run, i int32) { r.addDisturbed(i, &r.domainsNow) },
	},
	{
		name: "slow start (B7)", begins: "a place that no missing pod needs, unless it is under way; repair takes places, too",
		takesAway: "a place, if its hook has let it go",
		has:       func(p *Planner) bool { return p.spec.Strategy.SlowStart != nil },
		full: func(r *run, i int32, _ bool) Limit {
			if r.slow.hasPlace(&r.nodes[i]) {
				return LimitNone
			}
			begun, _ := r.isBegunInPlace(i) // an update that was begun holds a place already
			return limitIf(!begun, LimitSlowStart)
		},
		take: func(r *run, i int32, _ bool) { r.slow.takePlace(&r.nodes[i]) },
		fullNow: func(r *run, i int32) Limit {
			return limitIf(r.needsPlace(i) && !r.slow.hasPlace(&r.nodes[i]), LimitSlowStart)
		},
		takeNow: func(r *run, i int32) {
			if r.needsPlace(i) {
				r.slow.takePlace(&r.nodes[i])
			}
		},
	},
}

// limitIf returns the limit if a ledger is full.
func limitIf(full bool, limit Limit) Limit {
	if full {
		return limit
	}
	return LimitNone
}

// ledgersOf returns the ledgers that plans of a planner keep.
func ledgersOf(p *Planner) []ledger {
	return slices.DeleteFunc(slices.Clone(ledgers[:]), func(l ledger) bool { return !l.has(p) })
}

// noRoomToBegin returns the limit that leaves no room for beginning node i; LimitNone: there is room.
func (r *run) noRoomToBegin(i int32, isReady bool) Limit {
	for at := range r.ledgers {
		if limit := r.ledgers[at].full(r, i, isReady); limit != LimitNone {
			return limit
		}
	}
	return LimitNone
}

// spend takes from all ledgers what node i costs, which was begun.
func (r *run) spend(i int32) {
	d := r.decision(i)
	anew := !r.takesBudget(d) && !d.Exempt() && (!r.surges() || r.nodes[i].creating)
	for at := range r.ledgers {
		r.ledgers[at].take(r, i, anew)
	}
}

// takeRoom spends the room that it takes to take a pod away from its node now, and reports whether there was enough, or none
// was needed. If not, it spends nothing. That a node is left out of the budgets is no permission to take the pod away that
// serves there (P-D).
func (r *run) takeRoom(i int32, p *pod) bool {
	if !r.needsRoom(i, p) {
		return true
	}
	if r.noRoom(i) != LimitNone {
		return false
	}
	for at := range r.ledgers {
		if l := &r.ledgers[at]; l.takeNow != nil {
			l.takeNow(r, i)
		}
	}
	return true
}

// noRoom returns what leaves no room to take away the prepared pod that keeps the node up; LimitNone: there is room.
func (r *run) noRoom(i int32) Limit {
	for at := range r.ledgers {
		l := &r.ledgers[at]
		if l.fullNow == nil {
			continue
		}
		if limit := l.fullNow(r, i); limit != LimitNone {
			return limit
		}
	}
	return LimitNone
}

// needsRoom reports whether room is needed to take a pod away from its node. None is needed if the pod is not prepared, or if it
// does not alone keep its node up.
func (r *run) needsRoom(i int32, p *pod) bool {
	n := &r.nodes[i]
	if !p.isPrepared() || !r.reliesOnPrepared(i) {
		return false
	}
	for j := n.first; j < n.end; j++ {
		if other := &r.pods[j]; other != p && other.isPrepared() {
			return false
		}
	}
	return true
}

// goesNow reports whether delete may take the pod away in this plan, so that it needs room: it is deleted, or its preDelete
// hook is asked to let it go, which may mark it as not ready (L4). Gates and burst keep a pod from going.
// A pod that has asked its hook before stays until that lets it go; prepareDelete itself asks for room before it marks such a
// pod.
func (r *run) goesNow(p *pod) bool {
	switch {
	case r.stops(p.host, deletePod).by != nil:
		return false
	case r.spec.Lifecycle.PreDelete.Matches(p.Object):
		return !p.traits.hasAny(preparingDelete)
	default:
		return r.allowance.deletes > 0
	}
}

// waitForRoom records that a prepared pod waits, and which limit leaves no room for it.
func (r *run) waitForRoom(i int32, p *pod) {
	r.note(i, VerbWait, ReasonPrepared, p)
	d := r.decision(i)
	if d.Reason != ReasonPrepared {
		return
	}
	if d.Limit = r.noRoom(i); d.Limit == LimitSlowStart {
		r.slowed()
	}
	r.noteDomain(i, &r.domainsNow)
}

// countDownNodes counts the nodes that are down, once repair has deleted the surplus pods of each node. Whatever takes a pod away
// after that adds to run.downNow itself. Nodes are left out in the order of their names, as step admit does it: with surge, nodes
// that only hold a place use up what may be left out, too.
func (r *run) countDownNodes() {
	if !slices.ContainsFunc(r.pods, func(p pod) bool { return p.isPrepared() }) {
		return // nothing needs room
	}
	spare := r.newSpare()
	for i := range r.nodes {
		i, n := int32(i), &r.nodes[i]
		exemption, changes := r.exemptNow(i, spare)
		r.wake(changes)
		spare = spare.without(exemption)
		n.exemptFromDown = exemption != ExemptionNone
		if unavailable, _ := r.budgetUse(i); unavailable && !n.exemptFromDown && !r.reliesOnPrepared(i) {
			r.downNow++
			r.addDisturbed(i, &r.domainsNow)
		}
	}
}

// downIsFull reports whether as many nodes are down at this instant as maxUnavailable allows (B3).
func (r *run) downIsFull() bool { return r.downNow >= r.plan.Budget.MaxUnavailable }

// needsPlace reports whether a node that only prepared pods keep up takes a place of slow start when it goes down: it was let go,
// and is not one that B8 leaves out, which holds none (B7).
func (r *run) needsPlace(i int32) bool {
	n := &r.nodes[i]
	if !r.isLetGo(i) {
		return false
	}
	isolated, _ := r.isolated(n)
	return !n.exemptFromDown || !isolated
}

// isDomainFull reports whether a domain has no room for one more disturbed node of the node's cell (B10).
func (r *run) isDomainFull(i int32, ledger *domain.Ledger) bool {
	_, full := ledger.Full(r.nodes[i].Cell)
	return full
}

// noteDomain records the domain that a node waits for, if its decision says that it waits for one.
func (r *run) noteDomain(i int32, ledger *domain.Ledger) {
	d := r.decision(i)
	if value, full := ledger.Full(r.nodes[i].Cell); full && d.Limit == LimitDomain {
		d.Domain = value + 1 // report makes the place in Plan.Domains of it
	}
}

// addDisturbed counts a node that is disturbed. One that would serve but for a patch that is not seen yet may be.
func (r *run) addDisturbed(i int32, ledger *domain.Ledger) {
	if r.rules.Domains.Len() > 0 && r.isUnknown(i) {
		ledger.AddUnknown(r.nodes[i].Cell)
	} else {
		ledger.Add(r.nodes[i].Cell)
	}
}

// isUnknown reports whether only patches in flight keep the node from being served.
func (r *run) isUnknown(i int32) bool {
	n := &r.nodes[i]
	if r.surges() || r.decision(i).Placement.Outcome != placement.Run || r.serving(n) {
		return false
	}
	return slices.ContainsFunc(r.podsOf(n), func(p pod) bool {
		p.traits &^= patchInFlight
		return p.serves()
	})
}

func (r *run) newAllowance() allowance {
	burst := r.plan.Budget.Burst
	return allowance{creates: burst, deletes: burst, updates: burst}
}

// take spends one action, and reports whether there was one left.
func (*allowance) take(of *int32) bool {
	if *of == 0 {
		return false
	}
	*of--
	return true
}
