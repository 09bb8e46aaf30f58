package rollout

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/status"
)

// classify is step 5. It gives each node one state and the facts for the status (S1), and picks which pods stay if there are
// several (M3). In between it finds which parts of stages are open (T8): that depends on the states, and the targets depend
// on it.
func (r *run) classify() {
	r.backoffs = newBackoffs(r.remembered, r.snapshot.Now)
	if r.beginsAnew() {
		r.backoffs.beginAnew(r.revision.Update.Hash)
	}
	r.backoffs.countGone(func(pod types.UID) bool { return r.podFacts.Find(pod) != none })
	for i := range r.nodes {
		r.classifyNode(int32(i))
	}
	r.openParts()
	for i := range r.nodes {
		r.decision(int32(i)).Target = r.targetOf(int32(i))
	}
}

func (r *run) classifyNode(i int32) {
	n, d := &r.nodes[i], r.decision(i)
	for j := n.first; j < n.end; j++ {
		r.classifyPod(n, d, j)
	}
	d.ResourcesDiffer = d.Placement.Outcome == placement.Run && n.outdatedPod != none &&
		r.hasGoalRevision(n, &r.pods[n.outdatedPod]) && !r.hasResources(n, &r.pods[n.outdatedPod])
	n.expects = r.expectation(i)
	d.State = r.state(n, d)
}

// classifyPod records what one pod of a node means for the facts of the status, and makes it the pod that stays if it is the
// best of its kind so far.
func (r *run) classifyPod(n *node, d *Decision, j int32) {
	t := r.pods[j].traits
	d.Facts |= status.Present
	if t.hasAny(marked) {
		n.terminating = true
		return
	}
	if t.hasAny(ready) {
		d.Facts |= status.Ready
	}
	if t.hasAny(available) {
		d.Facts |= status.Available
	}
	if t.hasAny(atUpdate) {
		d.Facts |= status.Updated
	}
	kept := &n.outdatedPod
	switch {
	case t.hasAny(finished):
		n.hasFinished = true
		return
	case t.hasAny(preparingDelete) && !r.isTakenBack(j, d, t):
		n.leavesByHook = true
		return
	case t.hasAny(atGoal):
		kept = &n.goalPod
	}
	if *kept == none || better(&r.pods[j], &r.pods[*kept]) {
		*kept = j
	}
}

// isTakenBack reports whether a pod that leaves through its hook is taken back (L2). It is if it is at its node's goal, or if
// its node is held by now, also because InPlaceOnly lets no update delete it or its part is not open (T8); paused does not
// hold a node that was begun (T4). On a keep node it always is, because nothing would follow the pod there (M4).
func (r *run) isTakenBack(j int32, d *Decision, t traits) bool {
	switch d.Placement.Outcome {
	case placement.Run:
		return t.hasAny(atGoal) || r.stops(r.pods[j].host, continueLeaving).by != nil
	default:
		return d.Placement.Outcome == placement.Keep
	}
}

// expectation returns what the creates in flight will bring. A create whose pod is there already counts no more: the snapshot
// has caught up before the caller took the entry out.
func (r *run) expectation(i int32) expectation {
	n := &r.nodes[i]
	if n.creates == 0 {
		return expectsNothing
	}
	due, others := n.creates, r.otherCreates[i]
	there := make(map[string]bool, len(others)) // other revisions
	for j := n.first; j < n.end; j++ {
		switch p := &r.pods[j]; {
		case p.traits.hasAny(marked|finished|preparingDelete) && j != n.goalPod && j != n.outdatedPod:
		case p.traits.hasAny(atGoal):
			due &^= ofGoal[n.goal]
		case r.hasGoalRevision(n, p): // it is not whole, and so not the pod that was requested
		case r.isUpdate(p):
			due &^= ofUpdate
		case r.hashes[p.hash].stable:
			due &^= ofStable
		case len(others) > 0:
			there[r.hashes[p.hash].value] = true
		}
	}
	if !slices.ContainsFunc(others, func(hash string) bool { return !there[hash] }) {
		due &^= ofOther
	}
	switch {
	case due == 0:
		return expectsNothing
	case due&ofGoal[n.goal] != 0:
		return expectsGoalPod
	default:
		return expectsOutdatedPod
	}
}

func (r *run) state(n *node, d *Decision) NodeState {
	hasGoalPod := n.goalPod != none || n.expects == expectsGoalPod
	hasOutdatedPod := n.outdatedPod != none || n.expects == expectsOutdatedPod
	switch {
	case d.Placement.Outcome == placement.Leave && n.first < n.end:
		return StateLeaving
	case d.Placement.Outcome == placement.Keep && n.first < n.end:
		return StateKept
	case d.Placement.Outcome != placement.Run:
		return StateIneligible
	case hasGoalPod && hasOutdatedPod:
		return StateSurging
	case n.goalPod != none && r.pods[n.goalPod].inService() && n.goal == toStable:
		return StateStable
	case n.goalPod != none && r.pods[n.goalPod].inService():
		return StateUpdated
	case hasGoalPod:
		return StateStarting
	case hasOutdatedPod:
		return StateOutdated
	case n.hasFinished:
		return StateBroken
	case n.terminating || n.leavesByHook:
		return StateTerminating
	default:
		return StateMissing
	}
}

// targetOf returns the target of a node (T1, T6). Only a node with an outdated pod is held. What is lost comes back at the
// revision where the node is to end, or as it was: with holdRevision, and in a part that is not open (T8, F3).
func (r *run) targetOf(i int32) Target {
	d := r.decision(i)
	if d.Placement.Outcome != placement.Run {
		return TargetNone
	}
	switch {
	case d.State == StateOutdated && r.stopsUpdate(i, showGoal).by != nil, r.comesBackOld(i):
		return TargetHeld
	case r.nodes[i].goal == toStable:
		return TargetStable
	case r.nodes[i].goal == toBase:
		return TargetBase
	default:
		return TargetUpdate
	}
}

// comesBackOld reports whether the node has lost a pod that will come back at an older revision.
func (r *run) comesBackOld(i int32) bool {
	switch r.decision(i).State {
	case StateMissing, StateTerminating, StateBroken:
		return r.revisionFor(i) != r.goalHash(&r.nodes[i])
	default:
		return false
	}
}
