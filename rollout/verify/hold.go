package verify

import (
	"errors"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
)

// observeHolds finds out which nodes the spec holds at what they have (T2, T3, T5).
func (v *verifier) observeHolds() {
	if v.spec.Strategy.Type == rollout.OnDelete {
		for _, node := range v.nodes {
			node.hold = rollout.LimitOnDelete
		}
		return
	}
	v.selector = v.nodeSelector.String()
	for _, node := range v.nodes {
		switch {
		case !node.selected:
			node.hold = rollout.LimitNodeSelector
		case !node.goesStable && node.undeclared:
			node.hold = rollout.LimitUndeclared
		}
	}
	v.observePartition()
	if v.trial.phase != canary.Failed {
		return
	}
	for _, node := range v.nodes {
		if node.carriesUpdate() { // what has failed goes back, past T2 and T3 (C7)
			node.hold = rollout.LimitNone
		}
	}
}

// observeTakenBack finds on which nodes leaving pods are taken back although they are outdated: those that are held even if they
// were begun, and with InPlaceOnly all, because no update deletes a pod there (L2).
func (v *verifier) observeTakenBack() {
	for _, node := range v.nodes {
		node.takesBack = v.holdsRolling(node) != rollout.LimitNone || v.spec.Strategy.Method == inplace.Only
	}
}

// observePartition is T2: of the base, nodes without a pod of where they are to end take the places in turn. Those that are
// to end at the stable revision are not updated, and keep canary nodes from being held (C7).
func (v *verifier) observePartition() {
	base, stable := 0, 0
	var turns [canaryTurn + 1][]*node // candidates, each by name
	scales := v.scales()
	for _, node := range v.nodes {
		updated, old := node.holdsUpdated(), node.holdsOld()
		if node.outcome == placement.Leave || node.outcome == placement.Keep && !updated && !old {
			continue
		}
		base += node.weight
		if node.goesStable {
			stable += node.weight
		}
		// With holdRevision an empty node is held at what would come back there, if that is another revision, or does not
		// come back at once (T7).
		lost := v.spec.Strategy.HoldRevision && (scales || !v.revisionsBefore(node)[v.goalHash(node)])
		if !updated && (old || lost) {
			turn := node.partitionTurn()
			turns[turn] = append(turns[turn], node)
		}
	}
	v.limits.partition = ofDesired(v.spec.Strategy.Partition, base, 0)
	for turn, nodes := range turns {
		if turn == canaryTurn && stable > 0 {
			v.limits.partitioned = min(v.limits.partition, stable)
		}
		for _, node := range nodes {
			v.holdPlace(node)
		}
	}
}

// holdPlace gives the node a place of partition, if there is one left.
func (v *verifier) holdPlace(node *node) {
	if v.limits.partitioned >= v.limits.partition {
		return
	}
	v.limits.partitioned++
	if node.hold == rollout.LimitNone {
		node.hold = rollout.LimitPartition
	}
}

// partitionTurn tells whose turn it is to be held (T2): keep nodes cannot be updated in any case, and the selector and T9 hold
// their nodes anyway; what somebody patches may be about to be updated. Canary nodes are the last, so that they are updated first
// (C7).
func (n *node) partitionTurn() int {
	turn := 2
	switch {
	case n.holdsOld() && n.any(func(p *pod) bool { return p.patched }):
		turn = 3
	case n.outcome == placement.Keep:
		turn = 0
	case n.hold == rollout.LimitNodeSelector || n.hold == rollout.LimitUndeclared:
		turn = 1
	}
	if !n.holdsOld() { // what is held comes before what was lost
		turn += 4
	}
	if n.canary && !n.goesStable {
		return canaryTurn
	}
	return turn
}

// canaryTurn comes after all others.
const canaryTurn = 8

// holdsUpdated and holdsOld report whether the node has a pod of the update revision or where it is to end, or of another, in
// use or asked for.
func (n *node) holdsUpdated() bool {
	return n.asksUpdated || n.asksCurrent ||
		n.any(func(p *pod) bool { return p.active() && (p.updated || p.current) })
}

func (n *node) holdsOld() bool {
	return n.asksOld || n.any(func(p *pod) bool { return p.active() && !p.updated && !p.current })
}

// holds names what keeps the node from being begun, frozen left out: that allows less, see checkFrozen.
func (v *verifier) holds(node *node) rollout.Limit {
	if v.spec.Strategy.Paused {
		return rollout.LimitPaused
	}
	return v.holdsRolling(node)
}

// holdsRolling is holds of a set that is not paused. A canary that is paused replaces nothing, nor does one that has failed
// with nothing to go back to (C7).
func (v *verifier) holdsRolling(node *node) rollout.Limit {
	if (v.trial.phase == canary.Paused || v.trial.phase == canary.Failed) && !node.goesStable {
		return rollout.LimitCanary
	}
	return node.hold
}

// holdsUpdate names what keeps the outdated pod of the node from being updated, frozen included: what stops the whole
// rollout counts first. Paused lets finish what was begun, on a node that nothing else holds (T4).
func (v *verifier) holdsUpdate(node *node, pod *pod) rollout.Limit {
	switch {
	case v.spec.Strategy.Frozen:
		return rollout.LimitFrozen
	case v.spec.Strategy.Paused && (pod == nil || !v.underWay(pod)):
		return rollout.LimitPaused
	default:
		return v.holdsRolling(node)
	}
}

// gate names what keeps the outdated pod of a node, which nothing holds, from being updated: its part of a stage is not open
// (T8), or the node is drained (M8). What was begun in place goes on.
func (v *verifier) gate(node *node, pod *pod) rollout.Limit {
	closed := v.closes(node, pod)
	if closed == rollout.LimitNone && node.drained && (pod == nil || !v.underWay(pod)) {
		return rollout.LimitDraining
	}
	return closed
}

// closes is gate for stages alone.
func (v *verifier) closes(node *node, pod *pod) rollout.Limit {
	if node.closed == rollout.LimitNone || pod != nil && v.underWay(pod) {
		return rollout.LimitNone
	}
	return node.closed
}

// bar names what keeps an update of the node from being begun, frozen left out, and the invariant that forbids it.
func (v *verifier) bar(node *node) (rollout.Limit, int) {
	limit, invariant := v.barsGoal(node)
	if limit == rollout.LimitNone && node.drained {
		return rollout.LimitDraining, closedInvariant(rollout.LimitDraining)
	}
	return limit, invariant
}

// barsGoal is bar for what keeps the node from its goal, however it would get there: a drain does not.
func (v *verifier) barsGoal(node *node) (rollout.Limit, int) {
	if hold := v.holds(node); hold != rollout.LimitNone {
		return hold, heldInvariant(hold)
	}
	return node.closed, closedInvariant(node.closed)
}

// mayReachGoal reports whether nothing does, so that a pod that has failed there is followed by one at the goal.
func (v *verifier) mayReachGoal(node *node) bool {
	limit, _ := v.barsGoal(node)
	return limit == rollout.LimitNone
}

// closedInvariant is the one that forbids to begin a node that is closed for that reason.
func closedInvariant(limit rollout.Limit) int {
	switch limit {
	case rollout.LimitSoak:
		return 21
	case rollout.LimitFailures:
		return 25
	case rollout.LimitDraining:
		return 26
	default:
		return 20
	}
}

// heldInvariant is the one that forbids to begin a node held by the limit.
func heldInvariant(limit rollout.Limit) int {
	if limit == rollout.LimitPartition {
		return 5
	}
	return 6
}

// leaves reports whether a pod goes on its way out through the preDelete hook: it is taken back where it is what the node
// should have, or what the node is held at (L2), or where nothing could follow it (M4).
func (p *pod) leaves() bool {
	if !p.leaving || !p.active() || p.node == nil {
		return false
	}
	switch p.node.outcome {
	case placement.Run:
		return !p.current && !p.node.takesBack
	case placement.Keep:
		return false
	default:
		return true
	}
}

// underWay reports whether the in-place update of an outdated pod was begun and has not changed it yet: it waits for its
// hook, or for the grace period (I4, L3). One that cannot go on is not: it would have to be recreated.
func (v *verifier) underWay(p *pod) bool {
	if v.spec.Strategy.Method == inplace.Recreate || p.marked {
		return false
	}
	prepared := p.preparing || !p.ready && inplace.Unfinished(p.object) && inplace.Preparing(p.object)
	return prepared && !v.obstructed(p)
}

// obstructed reports whether something keeps the outdated pod from being updated in place (I2, I3): in the templates, or
// in what others made of the pod.
func (v *verifier) obstructed(p *pod) bool {
	return v.plainlyObstructed(p) || errors.Is(v.beginError(p), inplace.ErrObstacle)
}

// plainlyObstructed leaves out what is seen only when the pod's turn comes.
func (v *verifier) plainlyObstructed(p *pod) bool {
	update := v.updateOf(p)
	return inplace.Obstruct(p.object) != 0 || !update.InPlace() || !v.fits(p) ||
		len(update.Resources) > 0 && p.digest != "" || // I2 is about what the template says
		update.InPlace() && (update.Lacks(p.node.object) != "" || v.wasRefused(p))
}

// wasRefused reports whether the API server has refused a patch of the pod that its update would send again.
func (v *verifier) wasRefused(p *pod) bool {
	return slices.ContainsFunc(v.snapshot.InFlight.Refused, func(r rollout.RefusedPatch) bool {
		return r.UID == p.object.UID && (r.Revision == v.goalHash(p.node) || r.Revision == p.hash)
	})
}

// becomesRight reports whether a pod of the revision where its node is to end is, or becomes, what the node wants: it has the
// resources, and nobody has refused what its update in place has yet to do.
func (v *verifier) becomesRight(p *pod) bool { return v.fits(p) && !v.isHalf(p) }

// isHalf reports whether the API server has refused the rest of an update in place which has brought the pod its revision (I1).
func (v *verifier) isHalf(p *pod) bool {
	if p.terminal || p.marked || !goesOn(p.object) {
		return false
	}
	if state, err := inplace.StateOf(p.object); err != nil || state == nil {
		return false
	}
	return slices.ContainsFunc(v.snapshot.InFlight.Refused, func(r rollout.RefusedPatch) bool {
		return r.UID == p.object.UID && r.Revision == p.hash &&
			(r.Reason == rollout.ReasonNone || r.Reason == rollout.ReasonInPlaceUnfinished)
	})
}

// goesOn reports whether something was begun on the pod and changed it, and has yet to be ended.
func goesOn(pod *corev1.Pod) bool {
	switch lifecycle.StateOf(pod) {
	case "", lifecycle.Normal, lifecycle.PreparingDelete:
		return inplace.Unfinished(pod) || lifecycle.Unfinished(pod)
	default:
		return lifecycle.StateOf(pod) != lifecycle.PreparingUpdate
	}
}

// beginError is why the update of the pod in place cannot begin.
func (v *verifier) beginError(p *pod) error {
	_, err := v.begin(p)
	return err
}

// beginning is what there is to do now to update a pod in place, or why that cannot begin.
type beginning struct {
	step inplace.Step
	err  error
}

// begin is what there is to do now to update the pod in place, by package inplace. It is asked once.
func (v *verifier) begin(p *pod) (inplace.Step, error) {
	if p.beginning == nil {
		target := inplace.Target{Revision: v.goalHash(p.node), Node: p.node.object}
		step, err := v.updateOf(p).Begin(p.object, target, inplace.Metadata{}, v.snapshot.Now)
		p.beginning = &beginning{step, err}
	}
	return p.beginning.step, p.beginning.err
}

// updateOf is the change from the pod's revision to that where its node is to end.
func (v *verifier) updateOf(p *pod) *inplace.Update {
	key := diffKey{p.hash, v.goalHash(p.node)}
	if update, ok := v.diffs[key]; ok {
		return update
	}
	update := inplace.Compare(v.templateOf(p.hash), v.goalTemplate(p.node), v.spec.Strategy.InPlace)
	v.diffs[key] = update
	return update
}

// diffKey names the revision of a pod, and where it is to go.
type diffKey struct{ from, to string }

// templateOf is the template of the revision with the hash; nil if no revision has it, or several, or it cannot be read.
func (v *verifier) templateOf(hash string) *corev1.PodTemplateSpec {
	if template, ok := v.templates[hash]; ok {
		return template
	}
	var template *corev1.PodTemplateSpec
	if revisions := v.history.byHash[hash]; hash != "" && len(revisions) == 1 {
		template = v.kept.template(revisions[0])
	}
	v.templates[hash] = template
	return template
}

// scales reports whether T7 applies: no revision of another template was ever there.
func (v *verifier) scales() bool {
	other := func(revision *appsv1.ControllerRevision) bool { return !v.holdsTemplate(revision) }
	return v.spec.Strategy.PartitionedScaling && !slices.ContainsFunc(v.snapshot.Revisions, other)
}

// checkInstalls is T7: a first installation leaves the nodes of the partition empty, the last by name. It passes over nodes that
// depart (M8), or are to get a revision whose template nobody has any more. While slow start has no place for an empty node, one
// that is under way already needs none, and may come first (B7).
func (v *verifier) checkInstalls() {
	left, limited := v.installs()
	if !limited {
		return
	}
	installed, skipped := 0, ""
	for _, node := range v.nodes {
		switch {
		case node.outcome != placement.Run || node.filled() || node.asksOld || node.any((*pod).active):
			// Nothing is missing here.
		case len(node.creates) > 0:
			installed++
			if skipped != "" && (!v.hasPlace(node) || v.createdInPlaces() < v.placesLeft()) {
				v.report(5, node.name, "T7: create, although %s comes before it and gets none", skipped)
			}
		case len(node.pods) == 0 && skipped == "" && !node.leftAlone && v.canCreate(node):
			skipped = node.name
		}
	}
	if installed > left {
		v.report(5, "", "T7: %d missing pods are created, right are at most %d: desired %d - partition %d - nodes at the "+
			"update revision", installed, left, v.limits.desired, v.limits.partition)
	}
}

// installs is how many more nodes may get a pod in a first installation with a partition (T7), and whether that is limited.
func (v *verifier) installs() (left int, limited bool) {
	if !v.scales() || v.spec.Strategy.Type != rollout.RollingUpdate || v.limits.partition == 0 {
		return 0, false
	}
	left = v.limits.desired - v.limits.partition
	for _, node := range v.nodes {
		if node.outcome == placement.Run && node.filled() {
			left -= node.weight
		}
	}
	return max(0, left), true
}

// filled reports whether the node takes its place in a first installation. One whose pod terminates or has Failed keeps it:
// what is lost comes back there, unless the node departs (M8).
func (n *node) filled() bool {
	return n.asksUpdated || n.any(func(p *pod) bool { return p.updated && (!n.leftAlone || p.active()) })
}
