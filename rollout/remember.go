package rollout

import (
	"slices"

	"github.com/daemonplan/daemonplan/rollout/canary"
)

// What the next plan is to know.

func (r *run) memory() Memory {
	rollout := r.record
	rollout.Frontier, rollout.GaveUp = r.frontier(), r.plan.GaveUp
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
