package rollout

import (
	"slices"
	"time"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/failure"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/internal/fleet"
	"github.com/daemonplan/daemonplan/rollout/stage"
	"github.com/daemonplan/daemonplan/status"
)

// goal is step 4. It gives each node its goal, and finds what holds the node back (T rules). Whether a hold matters is decided
// in classify: a node that is at its goal already, or has no pod, has its goal as target although a rule holds it, unless
// its lost pod comes back at an older revision, as with holdRevision.
func (r *run) goal() {
	if r.spec.Strategy.Type == OnDelete {
		for i := range r.nodes {
			r.nodes[i].heldBy = LimitOnDelete
		}
		r.record = r.rolloutRecord()
		r.setGoals()
		return
	}
	r.findDeparting()
	r.holdUnselected()
	r.findUndeclared()
	if r.isGivenUp() {
		found := canary.Finding{Phase: canary.Failed, Detail: failure.Reason, Recorded: r.gaveUpBefore()}
		r.trial = canary.Judgement{Finding: found, Record: canary.Record{Nodes: slices.Clone(r.remembered.Canary.Nodes)}}
	} else {
		r.tryCanary()
	}
	r.record = r.rolloutRecord()
	r.setGoals()
	r.holdUndeclared()
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

// setGoals gives each node its goal (T1, T6), and each pod the traits atUpdate and atGoal. If there is no stable revision to go
// back to, the goal is the update revision everywhere, even if it has failed.
func (r *run) setGoals() {
	stable := r.hasTwoGoals() && r.revision.Stable.Hash != r.revision.Update.Hash
	var overrides *placement.Evaluator
	var matcher *placement.Matcher // of the stable revision; nil: its template cannot be read
	var elsewhere, otherwise bool  // its pods may run on other nodes, may get other resources than those of the update revision
	if stable {
		template := r.templateOf(r.revision.Stable.Hash)
		overrides = r.overridesFor(r.revision.Stable.Hash).Evaluator()
		if template != nil {
			matcher, _ = placement.Compile(template) // what is wrong with it matches no node (P4)
		}
		elsewhere = template == nil || !fleet.SamePlacement(&template.Spec, &r.spec.Template.Spec)
		otherwise = template == nil || !fleet.SameResources(&template.Spec, &r.spec.Template.Spec)
	}
	for i := range r.nodes {
		n := &r.nodes[i]
		if stable && r.goesStable(n) {
			n.goal = toStable
			if elsewhere {
				d := r.decision(int32(i))
				d.Placement = stablePlacement(n, d.Placement, matcher)
			}
			if otherwise {
				r.setEffect(int32(i), overrides)
			}
		}
		for j := n.first; j < n.end; j++ {
			p := &r.pods[j]
			if r.isUpdate(p) {
				if n.goal != toUpdate {
					p.traits |= atUpdate
				} else if r.isWhole(n, p) {
					p.traits |= atUpdate | atGoal
				}
			} else if n.goal == toStable && r.hashes[p.hash].stable && r.isWhole(n, p) {
				p.traits |= atGoal
			}
		}
	}
	r.countDesired()
	r.awaitAvailable()
}

// awaitAvailable schedules a wake for each pod that becomes available by the clock alone (B5). On a leave node that matters only
// while the pod stays there (M4).
func (r *run) awaitAvailable() {
	for j := range r.pods {
		p := &r.pods[j]
		if p.traits.hasAny(ready) && !p.traits.hasAny(available) && (r.outcome(p.host) != placement.Leave || r.lingers(p.host)) {
			r.wake(r.readiness(p.Pod).AvailableAt)
		}
	}
}

// countDesired counts the nodes that are to run the pod, once the goal of each is known (B1, S1).
func (r *run) countDesired() {
	r.plan.Budget.Desired = r.settledAside
	for i := range r.nodes {
		if d := r.decision(int32(i)); d.Placement.Outcome == placement.Run {
			d.Facts |= status.Desired
			r.plan.Budget.Desired++
		}
	}
}

// stablePlacement returns the verdict about a node whose goal is the stable revision. The template of that revision decides
// whether the node runs the pod, so that a trial changes nothing outside the canary (T6). If it cannot be read, no node is
// vacated.
func stablePlacement(n *node, update placement.Verdict, stable *placement.Matcher) placement.Verdict {
	if stable != nil {
		return stable.Evaluate(n.Object)
	}
	if update.Outcome == placement.Leave && n.first < n.end {
		update.Outcome = placement.Keep
	}
	return update
}

// goesStable reports whether the stable revision is the node's goal. It is everywhere after a fail, and during a trial outside
// the canary (T6). A paused canary replaces nothing, and its nodes get lost pods back at the stable revision (C7). But a node
// that has the update revision keeps it while the trial lasts.
func (r *run) goesStable(n *node) bool {
	switch {
	case r.trial.Phase == canary.Failed:
		return true
	case n.canary && r.trial.Phase == canary.Running && !r.halted():
		return false
	default:
		return !r.hasUpdate(n)
	}
}

// findDeparting finds the nodes that M8 leaves alone, and those where it begins nothing.
func (r *run) findDeparting() {
	if !r.sparesDeparting() {
		return
	}
	for i := range r.nodes {
		n := &r.nodes[i]
		out := r.outages.Of(n.Object)
		n.departing, n.draining = out.Departing, out.Draining && !out.Departing
	}
}

// holdUnselected applies T3: nodes that the strategy's node selector does not match are held.
func (r *run) holdUnselected() {
	if r.rules.NodeSelector.Empty() {
		return
	}
	r.plan.NodeSelector = r.rules.NodeSelector.String()
	for i := range r.nodes {
		if n := &r.nodes[i]; n.Unselected {
			n.heldBy = LimitNodeSelector
		}
	}
}

// findUndeclared finds the nodes on which the scheduler would not bind a pod of the update revision (T9).
func (r *run) findUndeclared() {
	if len(r.features) == 0 {
		return
	}
	r.plan.Features = slices.Clone(r.features)
	for i := range r.nodes {
		n := &r.nodes[i]
		n.undeclared = placement.Undeclared(r.features, n.Object) != ""
	}
}

// holdUndeclared applies T9: where a pod of the update revision could not run, a pod that serves is not given up for one. Nodes
// that go back to the stable revision are not held by what the update revision needs.
func (r *run) holdUndeclared() {
	if len(r.features) == 0 {
		return
	}
	for i := range r.nodes {
		if n := &r.nodes[i]; n.undeclared && n.goal == toUpdate && n.heldBy == LimitNone {
			n.heldBy = LimitUndeclared
		}
	}
}

// partition applies T2 (partition nodes are held) and T7 (in a first installation with partitionedScaling they stay empty).
func (r *run) partition() {
	if r.partitionSize.Value == 0 {
		return
	}
	base, stable, updated := r.settledAside, int32(0), r.settledAside
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
		r.installsLeft = max(0, budget.Desired-budget.Partition-updated)
	}
}

// scales reports whether a first installation leaves nodes empty (T7).
func (r *run) scales() bool { return r.spec.Strategy.PartitionedScaling && r.revision.First }

// holdPartition gives the places of the partition away (T2): first to keep nodes, which could not be updated anyway, then to
// nodes that the selector holds, then to all others, each group ascending by name. Nodes of which a patch is in flight come after
// those: it may bring the update, and a place would hold nothing. Nodes that have lost their pod come after those that have one,
// so that no node is updated because its place went to a node that has nothing to hold.
//
// stable is the number of nodes whose goal is the stable revision, while another is on trial or has failed. They do not get the
// update revision (V5), so that each of them keeps one node off it, as a place of the partition would. Canary nodes get only the
// places that are left (C7). Among the nodes that go to the stable revision, the partition holds those that are at an older one.
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
	// neverHeld: the node has, or gets, a pod of its goal's revision, or it has nothing that could be held.
	neverHeld partitionTurn = iota
	// keepTurn is that of keep nodes, which could not be updated anyway.
	keepTurn
	// heldTurn is that of nodes with an old pod that the node selector holds already (T3).
	heldTurn
	// oldTurn is that of all other nodes with an old pod.
	oldTurn
	// patchedTurn is that of nodes with an old pod that a patch in flight may update.
	patchedTurn
	// heldLostTurn and lostTurn are those of nodes that have lost their pod: the first of those that the node selector holds
	// already, the second of the others.
	heldLostTurn
	lostTurn
	// canaryTurn is that of canary nodes (C7).
	canaryTurn

	partitionTurns // count
)

// partitionTurn returns the turn in which the node is offered a place. A node can be held if it has no pod of its goal's
// revision, and an old one. With holdRevision a lost pod comes back as it was, so that a node without a pod can be held,
// too. It cannot if what comes back is of the goal's revision, and no first installation leaves the node empty for now (T7).
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
	case old && r.hasPatchInFlight(n):
		return patchedTurn
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

// hasPatchInFlight reports whether a patch of one of the node's pods is in flight.
func (r *run) hasPatchInFlight(n *node) bool {
	for j := n.first; j < n.end; j++ {
		if r.pods[j].traits.hasAny(patchInFlight) {
			return true
		}
	}
	return false
}

// liveRevisions looks at the live pods of a node and those that it is about to get. now reports whether one is of the revision
// where the node is to end, or of the update revision; old reports whether one is of another.
func (r *run) liveRevisions(n *node) (now, old bool) {
	wanted := ofUpdate
	if n.goal == toStable {
		wanted |= ofStable
	}
	now, old = n.creates&wanted != 0, n.creates&^wanted != 0
	for j := n.first; j < n.end; j++ {
		switch t := r.pods[j].traits; {
		case t.hasAny(marked | finished):
		case t.hasAny(atUpdate | atGoal):
			now = true
		default:
			old = true
		}
	}
	return now, old
}

// rolloutRecord returns what is known of the rollout. It begins when its revision is first seen, and again when the revision is
// promoted, or retried after it was given up.
func (r *run) rolloutRecord() Record {
	now, record := r.snapshot.Now, r.remembered.Rollout
	promoted := r.trial.Record.Verdict != nil && r.trial.Phase == canary.Idle && r.remembered.Canary.Verdict == nil
	promoted = promoted && r.remembered.Canary.Revision == r.revision.Update.Hash
	begins := Record{Revision: r.revision.Update.Hash, Began: now}
	if record.Revision == "" { // nothing is remembered of the rollout
		begins.Lost = (r.outages != nil || r.failures != nil) && r.revision.Update.Existing != nil
	}
	switch {
	case promoted || r.beginsAnew():
		record = begins
	case record.Revision == "":
		record = begins
		record.Frontier = r.markedFrontier()
	default:
		// The memory may be older than the mark. A mark that is older than the rollout is not of it.
		if marked := r.markedFrontier(); !marked.At.Before(record.Began) {
			record.Frontier = r.parts().Further(record.Frontier, marked)
		}
	}
	switch {
	case r.spec.Strategy.Canary == nil:
		record.Stable = ""
	case r.unwritten():
		record.Stable = r.remembered.Rollout.Stable
	default:
		record.Stable = r.revision.Stable.Hash
	}
	paused := r.halted()
	switch {
	case paused && record.PausedSince.IsZero():
		record.PausedSince = now
	case !paused && !record.PausedSince.IsZero():
		record.Paused += max(0, now.Sub(record.PausedSince))
		record.PausedSince = time.Time{}
	}
	return record
}

// markedFrontier returns how far the stages are by the mark on the update revision (T8). Zero: it has none, or one of an earlier
// rollout.
func (r *run) markedFrontier() stage.Frontier {
	update := r.revision.Update
	if update.Existing == nil || r.rules.Stages.Len() == 0 {
		return stage.Frontier{}
	}
	return stage.ReadAnnotation(update.Existing.Annotations[history.FrontierAnnotation], update.Number)
}
