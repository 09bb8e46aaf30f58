package rollout

import (
	"slices"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout/domain"
)

// A pod that an earlier plan has prepared needs room in the budget when its turn comes (B3). Its node counts as unavailable from
// the moment on that it is prepared, so that no more pods are prepared than may go at once. That alone is no bound: pods that
// were not Ready are prepared without any room and may become Ready, and other nodes may fail meanwhile. So whatever takes a
// prepared pod away asks for room once more, and compares with what is down at this instant.

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
			r.goesDown(i)
		}
	}
}

// takeRoom spends the room that it takes to take a pod away from its node now, and reports whether there was enough, or none was
// needed. If not, it spends nothing.
func (r *run) takeRoom(i int32, p *pod) bool {
	if !r.needsRoom(i, p) {
		return true
	}
	if !r.hasRoom(i) {
		return false
	}
	n := &r.nodes[i]
	if r.needsPlace(i) {
		r.slow.takePlace(n)
	}
	r.goesDown(i)
	return true
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

// goesDown counts a node that is down from now on.
func (r *run) goesDown(i int32) {
	r.downNow++
	r.addDisturbed(i, &r.domainsNow)
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
	if r.surge() || r.decision(i).Placement.Outcome != placement.Run || r.serving(n) {
		return false
	}
	return slices.ContainsFunc(r.podsOf(n), func(p pod) bool {
		p.traits &^= patchInFlight
		return p.serves()
	})
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

// hasRoom reports whether a node that only prepared pods keep up may go down now: maxUnavailable and the domains have room (B3,
// B10), and slow start has a place if the node needs one.
func (r *run) hasRoom(i int32) bool {
	if r.downIsFull() || r.areDomainsFull(i) {
		return false
	}
	return !r.needsPlace(i) || r.slow.hasPlace(&r.nodes[i])
}

// downIsFull reports whether as many nodes are down at this instant as maxUnavailable allows (B3). That a node is left out is no
// permission to take the pod away that serves there.
func (r *run) downIsFull() bool { return r.downNow >= r.plan.Budget.MaxUnavailable }

// areDomainsFull is downIsFull for the domains (B10).
func (r *run) areDomainsFull(i int32) bool { return r.isDomainFull(i, &r.domainsNow) }

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

// goesNow reports whether delete may take the pod away in this plan, so that it needs room: it is deleted, or its preDelete
// hook is asked to let it go, which may mark it as not ready (L4). Frozen, a departing node and burst keep a pod from going.
// A pod that has asked its hook before stays until that lets it go; prepareDelete itself asks for room before it marks such a
// pod.
func (r *run) goesNow(p *pod) bool {
	switch {
	case r.handsOff(p.node) != LimitNone:
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

// noRoom returns what leaves no room for a prepared pod of the node.
func (r *run) noRoom(i int32) Limit {
	switch {
	case r.surge():
		return LimitMaxSurge
	case r.downIsFull():
		return LimitMaxUnavailable
	case r.areDomainsFull(i):
		return LimitDomain
	default:
		return LimitSlowStart
	}
}
