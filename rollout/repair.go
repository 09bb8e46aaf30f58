package rollout

import (
	"cmp"
	"slices"
	"time"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout/domain"
	"github.com/daemonplan/daemonplan/rollout/failure"
)

// repair is step 6. It does what must happen regardless of any rollout (M rules). It goes over the nodes twice, each time in
// ascending order of their names: first it deletes what needs no room in the budget, then it knows how many nodes are down, and
// goes on with what was begun. Pods without a node come last.
func (r *run) repair() {
	r.scaleLimits()
	r.allowance = r.newAllowance()
	r.openSlowStart()
	excess, changes := r.excessAvailable()
	r.wake(changes)
	for i := range r.nodes {
		i := int32(i)
		switch r.outcome(i) {
		case placement.Leave:
			r.evict(i, &excess)
		case placement.Keep, placement.Run:
			r.deleteUnneeded(i)
		}
	}
	r.countDownNodes()
	for i := range r.nodes {
		if i := int32(i); r.outcome(i) != placement.Leave {
			r.mend(i)
		}
	}
	r.repairStrays()
}

// scaleLimits turns the limits into numbers of nodes and of actions, once desired is known (B1, M6).
func (r *run) scaleLimits() {
	budget := &r.plan.Budget
	budget.Burst = max(r.burst.RoundDown(budget.Desired), 1)
	if r.spec.Strategy.Type != RollingUpdate {
		return
	}
	budget.MaxUnavailable = r.maxUnavailable.RoundUp(budget.Desired)
	budget.MaxSurge = r.maxSurge.RoundUp(budget.Desired)
	spare := r.newSpare()
	budget.MaxUnschedulable, budget.MaxExempt = spare.unschedulable, spare.out
	if r.rules.Domains.Len() > 0 {
		desired := make([]int32, r.nodeFacts.Cells.Len())
		for n := range r.settledNodes() {
			desired[n.Cell]++
		}
		for i := range r.nodes {
			if r.outcome(int32(i)) == placement.Run {
				desired[r.nodes[i].Cell]++
			}
		}
		r.domains = domain.NewLedger(r.rules.Domains, r.nodeFacts.Cells, desired)
		r.domainsNow = domain.NewLedger(r.rules.Domains, r.nodeFacts.Cells, desired)
	}
}

// deleteUnneeded deletes the surplus and ended pods of a node whose pods may stay, except those that may need room in the budget:
// mend deletes these.
func (r *run) deleteUnneeded(i int32) {
	n := &r.nodes[i]
	for j := n.first; j < n.end; j++ {
		switch t := r.pods[j].traits; {
		case t.hasAny(marked):
		case t.hasAny(phaseSucceeded):
			r.delete(i, j, VerbDelete, ReasonSucceeded)
		case t.hasAny(phaseFailed):
			// deleteFailed below decides about the Failed pods of a node
		case j == n.goalPod || j == n.outdatedPod:
		case t.hasAny(preparingDelete) || r.pods[j].isPrepared():
			// mend deletes it: the pod may be all that keeps its node up. Then it takes room in the budget (B3), and how much
			// there is left is known only after deleteUnneeded has seen all nodes.
		default:
			r.delete(i, j, VerbDelete, ReasonSurplus)
		}
	}
	if n.hasFinished {
		r.deleteFailed(i)
	}
	r.supersede(i)
}

// mend goes on with what was begun on a node whose pods may stay, and creates the pod that is missing there.
func (r *run) mend(i int32) {
	n := &r.nodes[i]
	for j := n.first; j < n.end; j++ {
		switch p := &r.pods[j]; {
		case p.traits.hasAny(deleting|finished|deleteDeferred) || j == n.goalPod || j == n.outdatedPod:
		case p.traits.hasAny(preparingDelete):
			r.delete(i, j, VerbDelete, ReasonReleased)
		case p.isPrepared():
			r.delete(i, j, VerbDelete, ReasonSurplus)
		}
	}
	r.continueStaying(i)
	if r.outcome(i) == placement.Run {
		r.createMissing(i)
	}
}

// continueStaying goes on with hooks and in-place updates of the pods that stay (I5, L2, L3). The outdated pod of an update
// candidate is left to admit, because it may be updated.
func (r *run) continueStaying(i int32) {
	n := &r.nodes[i]
	if n.goalPod != none {
		r.continuePod(i, n.goalPod)
	}
	if n.outdatedPod != none && !r.candidate(i) {
		r.continuePod(i, n.outdatedPod)
	}
}

// deleteFailed deletes a node's Failed pods, with a back-off per node and revision (M2). Outdated ones of a node that is neither
// held nor closed go at once, because a pod of another revision follows them.
func (r *run) deleteFailed(i int32) {
	n := &r.nodes[i]
	for j := n.first; j < n.end; j++ {
		p := &r.pods[j]
		if !p.traits.hasAny(phaseFailed) {
			continue
		}
		key := backoffKey{node: r.decision(i).Node, revision: r.revisionOf(p)}
		if p.traits.hasAny(preparingDelete) { // the back-off was waited for before it began to leave
			if r.delete(i, j, VerbDelete, ReasonReleased) && r.keepsSeries() && !r.backoffs.isGoing(key, p.Object.UID) {
				r.noteFailed(i, p, key) // the memory of that is lost
			}
			continue
		}
		if !p.traits.hasAny(atGoal) && r.stops(i, showGoal).by == nil {
			r.deleteFailedOutdated(i, j)
			continue
		}
		if ok, until := r.backoffs.due(key); !ok {
			r.waitUntil(i, p, ReasonBackoff, LimitBackoff, until)
			continue
		}
		if r.delete(i, j, VerbDelete, ReasonFailed) {
			r.noteFailed(i, p, key)
		}
	}
}

// keepsSeries reports whether anything asks for the series of failed pods (F1).
func (r *run) keepsSeries() bool { return r.failures != nil || r.rules.Stages.Len() > 0 }

// noteFailed notes that this plan deletes a Failed pod: the next one waits for its back-off (M2), and the pod belongs to the
// series of its node and revision (F1).
func (r *run) noteFailed(i int32, p *pod, key backoffKey) {
	r.backoffs.deleted(key)
	if r.keepsSeries() {
		r.backoffs.follow(key, p.Object.UID, failure.TroubleSince(r.nodes[i].Object, p.Object))
	}
}

// deleteFailedOutdated deletes an outdated Failed pod. That is an update, and takes a place of slow start, only on a run node
// where no other pod stays; elsewhere it is a repair.
func (r *run) deleteFailedOutdated(i, j int32) {
	n := &r.nodes[i]
	switch {
	case r.outcome(i) != placement.Run:
		r.delete(i, j, VerbDelete, ReasonFailed)
	case n.goalPod != none || n.outdatedPod != none:
		r.delete(i, j, VerbDelete, ReasonOutdatedFailed)
	case !n.departing && !r.slow.hasPlace(n):
		r.slowed()
		r.refuse(i, &r.pods[j], LimitSlowStart)
	case r.delete(i, j, VerbReplace, ReasonOutdatedFailed):
		r.slow.takePlace(n)
	}
}

// supersede deletes the outdated one of a node's two pods, if it is not ready or the new one serves (M3). On a keep node it waits
// for a new pod that is bound: one that is not cannot be bound now, so that the outdated pod is all that the node has (M4).
//
// Without maxSurge a new pod for which the scheduler finds no place goes instead, if the outdated one is Ready: that may be what
// is in its place, and then neither would ever go. Such a new pod is left where maxSurge was until now.
func (r *run) supersede(i int32) {
	n := &r.nodes[i]
	if n.goalPod == none || n.outdatedPod == none {
		return
	}
	if r.outcome(i) == placement.Keep && !r.pods[n.goalPod].traits.hasAny(bound) {
		return
	}
	switch {
	case r.pods[n.goalPod].serves(): // in service is not enough: a pod that is being taken back may yet leave
		r.delete(i, n.outdatedPod, VerbDelete, ReasonSuperseded)
	case !r.pods[n.outdatedPod].traits.hasAny(ready):
		r.delete(i, n.outdatedPod, VerbDelete, ReasonNotReadyBesideNew)
	case !r.surges() && isUnschedulable(r.pods[n.goalPod].Object):
		r.delete(i, n.goalPod, VerbDelete, ReasonUnschedulableBesideReady)
	}
}

// createMissing creates a pod on a run node that misses one (M1). A finished pod that is not deleted yet keeps its place on the
// node: its deletion comes first.
func (r *run) createMissing(i int32) {
	n := &r.nodes[i]
	switch {
	case !r.misses(n):
	case !n.terminating && !n.leavesByHook:
		r.create(i, VerbCreate, ReasonMissing)
	default: // what leaves is on its way out for good: a pod at the node's goal that its hook still holds is taken back (L2)
		r.create(i, VerbCreate, ReasonBesideTerminating)
	}
}

// excessAvailable returns by how many the nodes with an available pod outnumber desired. So many leave nodes with
// an available pod may be vacated under surge (M4). It counts run nodes and those leave nodes that are not vacated at once. Run
// nodes without an available pod that B8, B9 or F4 leaves out do not count as desired. changes is when the clock may
// change the number; zero: never.
func (r *run) excessAvailable() (excess int32, changes time.Time) {
	withAvailable := r.settledAside
	for i := range r.nodes {
		n := &r.nodes[i]
		switch {
		case r.outcome(int32(i)) == placement.Run && r.keepsAvailable(n), r.lingers(int32(i)) && r.bestAvailable(n) != none:
			withAvailable++
		}
	}
	exempt, changes := r.exemptMissing()
	return withAvailable - (r.plan.Budget.Desired - exempt), changes
}

// evict deletes the pods of a node that may not run the pod, and spends one of excess on a pod that could linger (M4).
func (r *run) evict(i int32, excess *int32) {
	n := &r.nodes[i]
	stays := int32(none)
	if r.lingers(i) {
		stays = r.bestAvailable(n)
	}
	if stays != none && *excess > 0 {
		stays = none
		if !r.nodes[i].departing { // where the pod is not deleted it goes on serving, and another may go
			*excess--
		}
	}
	for j := n.first; j < n.end; j++ {
		switch {
		case r.pods[j].traits.hasAny(marked):
		case j == stays:
			r.noteWait(i, ReasonServing, &r.pods[j], LimitDesired)
		default:
			r.delete(i, j, VerbDelete, ReasonLeaving)
		}
	}
}

// exemptMissing counts the run nodes without an available pod that are left out when available pods are compared with desired
// (M4). A node that has an available pod by now is none of them, although this plan may delete that pod. changes is when the
// clock may change the count; zero: never.
func (r *run) exemptMissing() (count int32, changes time.Time) {
	spare := r.newSpare()
	for i := 0; i < len(r.nodes) && !spare.none(); i++ {
		if r.outcome(int32(i)) != placement.Run || r.bestAvailable(&r.nodes[i]) != none {
			continue
		}
		exemption, at := r.exemption(int32(i), spare)
		changes = earlier(changes, at)
		if exemption != ExemptionNone {
			spare = spare.without(exemption)
			count++
		}
	}
	return count, changes
}

// repairStrays gives a decision to each pod whose node is gone (M5) or cannot be read off the pod (P7). It deletes those that are
// pinned to a node that is gone, but not bound to it.
func (r *run) repairStrays() {
	slices.SortFunc(r.strays, func(a, b pod) int {
		nodeA, _ := placement.TargetNode(a.Object)
		nodeB, _ := placement.TargetNode(b.Object)
		return cmp.Or(cmp.Compare(nodeA, nodeB), byName(a.Object, b.Object))
	})
	for i := range r.strays {
		r.plan.Decisions = append(r.plan.Decisions, r.repairStray(&r.strays[i]))
	}
}

func (r *run) repairStray(p *pod) Decision {
	node, ok := placement.TargetNode(p.Object)
	d := Decision{Node: node, Pod: p.Name, State: StateVanished}
	switch {
	case !ok:
		d.State, d.Reason = StateUnattributed, ReasonUnattributable
	case p.traits.hasAny(bound):
		d.Reason = ReasonVanished
	case p.traits.hasAny(marked):
		d.Verb, d.Reason = VerbWait, ReasonTerminating
	default:
		r.deleteStray(&d, p, ReasonNodeGone)
	}
	return d
}
