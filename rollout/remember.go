package rollout

import (
	"slices"

	"github.com/daemonplan/daemonplan/rollout/canary"
)

// What the next plan is to know.

func (r *run) memory() Memory {
	rollout := r.record
	rollout.Frontier, rollout.GaveUp, rollout.Begun = r.frontier(), r.plan.GaveUp, r.begun()
	rollout.Completed = r.plan.Status.CompletedRevision == rollout.Revision
	return Memory{
		Version:        MemoryVersion,
		Backoffs:       r.backoffs.memory(func(node string) bool { return r.nodeFacts.Find(node) != none }),
		Rollout:        rollout,
		Canary:         r.canaryRecord(),
		Conditions:     r.plan.Status.Conditions,
		CollisionCount: r.revision.CollisionCount,
	}
}

// begun returns the nodes that were begun by deleting a Ready pod, and whose new pod is not seen yet (B9). They are as many as
// the budgets let begin. Where the outdated pod is still there, and nothing marks it, nothing was begun.
func (r *run) begun() []Begun {
	if r.outages == nil && r.failures == nil {
		return nil
	}
	var list []Begun
	for i := range r.nodes {
		n, d := &r.nodes[i], r.decision(int32(i))
		at, _ := r.begunAt(n.Name)
		switch {
		case n.goalPod != none || n.goal != toUpdate:
			continue
		case d.Verb == VerbReplace && d.Reason == ReasonOutdated:
			at = r.snapshot.Now
		case n.outdatedPod != none || at.IsZero():
			continue
		}
		list = append(list, Begun{Node: n.Name, At: at})
	}
	return list
}

// canaryRecord returns what to remember of the canary. Without a canary that is nothing, except while pods carry the canary
// label: then the nodes are remembered, so that later plans take the label off. A fail of a revision that is not written is
// remembered: whoever has deleted all revisions of a frozen set does not retry what has failed (C5).
func (r *run) canaryRecord() canary.Record {
	if r.unwritten() && r.trial.Phase != canary.Failed {
		return canary.Record{}
	}
	if r.spec.Strategy.Canary != nil {
		return r.trial.Record
	}
	for i := range r.pods {
		if p := &r.pods[i]; p.traits.hasAny(labelled) {
			return canary.Record{Nodes: slices.Clone(r.remembered.Canary.Nodes)}
		}
	}
	return canary.Record{}
}
