package rollout

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout/canary"
)

// target is step 4: what holds each node back (T rules). Whether a hold matters is seen in classify: a node that is at
// the update revision already, or has no pod, has the update revision as its target all the same.
func (r *run) target() {
	if r.spec.Strategy.Type == OnDelete {
		for i := range r.nodes {
			r.nodes[i].heldBy = LimitOnDelete
		}
		r.record = r.rolloutRecord()
		r.aim()
		return
	}
	r.holdUnselected()
	r.tryCanary()
	r.record = r.rolloutRecord()
	r.aim()
	r.partition()
	if r.trial.Phase != canary.Failed {
		return
	}
	for i := range r.nodes {
		if n := &r.nodes[i]; r.hasUpdate(n) { // what has the failed revision goes back, past T2 and T3 (C7)
			n.heldBy = LimitNone
		}
	}
}

// holdUnselected is T3.
func (r *run) holdUnselected() {
	if r.selector.Empty() {
		return
	}
	r.plan.NodeSelector = r.selector.String()
	for i := range r.nodes {
		if n := &r.nodes[i]; !r.selector.Matches(labels.Set(n.object.Labels)) {
			n.heldBy = LimitNodeSelector
		}
	}
}

// partition is T2 and T7.
func (r *run) partition() {
	if r.partitionSize.Value == 0 {
		return
	}
	var base, stable, updated int32
	for i := range r.nodes {
		n := &r.nodes[i]
		switch r.outcome(int32(i)) {
		case placement.Run:
			if r.isFilled(n) {
				updated++
			}
		case placement.Keep:
			if now, old := r.liveRevisions(n); !now && !old {
				continue
			}
		case placement.Leave: // what runs there is no part of the rollout
			continue
		}
		base++
		if n.goal == toStable {
			stable++
		}
	}
	budget := &r.plan.Budget
	budget.Partition = r.partitionSize.RoundDown(base)
	r.holdPartition(stable)
	if r.scales() {
		r.installs = max(0, budget.Desired-budget.Partition-updated)
	}
}

// scales reports whether a first installation leaves nodes empty (T7).
func (r *run) scales() bool { return r.spec.Strategy.PartitionedScaling && r.revision.First }

// isFilled reports whether a node takes its place in a first installation (T7): it has, or is about to get, a pod of the update
// revision, be it one that terminates or has Failed. What it loses is to come back there, not on another node.
func (r *run) isFilled(n *node) bool {
	return n.creates&ofUpdate != 0 || slices.ContainsFunc(r.podsOf(n), func(p pod) bool { return p.traits.has(updated) })
}

// holdPartition gives the places of the partition away: to keep nodes, which could not be updated anyway, to nodes that
// the selector holds, then to all others, each ascending by name (T2). Nodes that have lost their pod come after those that
// have it: what is held must not be updated for the sake of a node that has nothing to hold.
//
// While a revision is on trial, or has failed, stable is the number of nodes that are to end at the stable one. They are not
// updated (V5), so that a canary node is held only if they are fewer than the places (C7). Among them the partition holds
// those that were held at a revision before the stable one.
func (r *run) holdPartition(stable int32) {
	budget := &r.plan.Budget
	var turns [partitionTurns][]*node
	for i := range r.nodes {
		turn := r.partitionTurn(int32(i))
		if turn != neverHeld && len(turns[turn]) < int(budget.Partition) {
			turns[turn] = append(turns[turn], &r.nodes[i])
		}
	}
	for turn := keepTurn; turn < partitionTurns; turn++ {
		nodes := turns[turn]
		if turn == canaryTurn && stable > 0 {
			budget.Partitioned = min(stable, budget.Partition)
		}
		for _, n := range nodes {
			if budget.Partitioned >= budget.Partition {
				break
			}
			budget.Partitioned++
			if n.heldBy == LimitNone {
				n.heldBy = LimitPartition
			}
		}
	}
}

// partitionTurn is the turn in which a node is offered a place of the partition (T2).
type partitionTurn uint8

const (
	// neverHeld: the node has, or gets, what it is to have, or it has nothing that could be held.
	neverHeld partitionTurn = iota
	// keepTurn is that of keep nodes, which could not be updated anyway.
	keepTurn
	// heldTurn is that of nodes with an old pod which something else holds already (T3).
	heldTurn
	// oldTurn is that of all other nodes with an old pod.
	oldTurn
	// heldLostTurn and lostTurn are those of nodes that have lost their pod: held by something else already, and not.
	heldLostTurn
	lostTurn
	// canaryTurn is that of canary nodes (C7).
	canaryTurn

	partitionTurns // count
)

// partitionTurn is the turn in which the node is offered a place. It can be held if it has nothing of the revision
// where it is to end, and something to hold. With holdRevision a lost pod comes back as it was, so that a node without a
// pod can be held too, unless what comes back is that revision, and does so at once.
func (r *run) partitionTurn(i int32) partitionTurn {
	n := &r.nodes[i]
	now, old := r.liveRevisions(n)
	keep := r.outcome(i) == placement.Keep
	lost := func() bool {
		return r.spec.Strategy.HoldRevision && (r.scales() || r.revisionBefore(i) != r.goalHash(n))
	}
	switch {
	case now || r.outcome(i) == placement.Leave || !old && (keep || !lost()):
		return neverHeld
	case n.canary && n.goal == toUpdate:
		return canaryTurn
	case keep:
		return keepTurn
	case old && n.heldBy != LimitNone:
		return heldTurn
	case old:
		return oldTurn
	case n.heldBy != LimitNone:
		return heldLostTurn
	default:
		return lostTurn
	}
}

// liveRevisions reports whether the node has, or is about to get, pods of the revision where it is to end, or of the update
// revision, and of others, that will be there after this plan's repairs.
func (r *run) liveRevisions(n *node) (now, old bool) {
	wanted := ofUpdate
	if n.goal == toStable {
		wanted |= ofStable
	}
	now, old = n.creates&wanted != 0, n.creates&^wanted != 0
	for j := n.first; j < n.end; j++ {
		switch t := r.pods[j].traits; {
		case t.has(marked | finished):
		case t.has(updated | atGoal):
			now = true
		default:
			old = true
		}
	}
	return now, old
}

// beginHeldBy is what keeps the node from being begun; LimitNone: nothing does. What stops the whole rollout counts first (T4).
func (r *run) beginHeldBy(n *node) Limit {
	switch strategy := r.spec.Strategy; {
	case strategy.Frozen:
		return LimitFrozen
	case strategy.Paused:
		return LimitPaused
	case r.trial.Phase == canary.Paused && n.goal == toUpdate:
		return LimitCanary // it replaces nothing (C7)
	case r.trial.Phase == canary.Failed && n.goal == toUpdate:
		return LimitCanary // there is no other revision to go to, and this one has failed
	default:
		return n.heldBy
	}
}

// updateHeldBy is beginHeldBy for the update of the node's outdated pod, with what was found about the pod on the way. Paused
// lets an update finish that was begun (T4), if nothing else holds it.
func (r *run) updateHeldBy(i int32) (Limit, inPlace) {
	n := &r.nodes[i]
	limit := r.beginHeldBy(n)
	if limit != LimitPaused || n.outdatedPod == none {
		return limit, inPlace{}
	}
	begun, found := r.isBegunInPlace(i)
	if begun {
		limit = n.heldBy
	}
	return limit, found
}

// revisionFor is the revision of a pod to be created on the node (T1, T6): that of its goal, or with holdRevision on a
// held node the one its lost pod was of, else the stable one. A node that is to end at the stable revision does not come
// back at the one on trial.
func (r *run) revisionFor(i int32) string {
	n := &r.nodes[i]
	if !r.spec.Strategy.HoldRevision || n.heldBy != LimitPartition && n.heldBy != LimitNodeSelector {
		return r.goalHash(n)
	}
	if before := r.revisionBefore(i); n.goal == toUpdate || before != r.revision.Update.Hash {
		return before
	}
	return r.revision.Stable.Hash
}

// revisionBefore is the revision that a pod the node has lost was of, else the stable one, and once that is the update
// revision, the one that other nodes are still held at.
func (r *run) revisionBefore(i int32) string {
	stable := r.revision.Stable.Hash
	if stable == r.revision.Update.Hash {
		stable = r.revision.Older.Hash
	}
	return cmp.Or(r.lostRevision(i), stable)
}

// lostRevision is the revision that the node's youngest pod is seen to carry, if the history has it. Pods that M1 ignores
// are seen, too.
func (r *run) lostRevision(i int32) string {
	n := &r.nodes[i]
	var youngest time.Time
	found := ""
	look := func(p *pod) {
		if created := p.object.CreationTimestamp.Time; found == "" || created.After(youngest) {
			if r.isUpdate(p) {
				found, youngest = r.revision.Update.Hash, created
			} else if value := r.hashes[p.hash].value; r.templateOf(value) != nil {
				found, youngest = value, created
			}
		}
	}
	for j := n.first; j < n.end; j++ {
		look(&r.pods[j])
	}
	ignored := r.ignoredOn(i)
	for j := range ignored {
		look(&ignored[j])
	}
	return found
}

// ignoredOn are the pods of a node that M1 ignores, if the run remembers them.
func (r *run) ignoredOn(i int32) []pod {
	first, _ := slices.BinarySearchFunc(r.ignored, i, func(p pod, node int32) int { return cmp.Compare(p.node, node) })
	end := first
	for end < len(r.ignored) && r.ignored[end].node == i {
		end++
	}
	return r.ignored[first:end]
}
