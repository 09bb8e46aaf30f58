package rollout

import (
	"math"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/rollout/canary"
)

// MemoryVersion is the version of [Memory] that this library writes.
const MemoryVersion = 1

// Memory is what a plan must know and cannot read off the objects. Pass the value of one plan to the next one, or
// store it as JSON (in the status of a custom resource, say). The zero value is always safe: losing it may make a
// rollout slower or more cautious, but never breaks a budget. Each plan drops what is of no use any more, such as the back-off
// of a node that is gone.
//
// A Memory of another version counts as lost.
type Memory struct {
	// Version of the layout; 0 is the empty memory.
	Version int `json:"version,omitempty"`
	// Backoffs of failed pods, ordered by node, then revision (M2).
	Backoffs []Backoff `json:"backoffs,omitempty"`
	// Rollout is the record of the rollout that is, or was last, under way.
	Rollout Record `json:"rollout,omitzero"`
	// Canary of the update revision (C rules).
	Canary canary.Record `json:"canary,omitzero"`
	// Conditions as last reported, for their transition times (S3).
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// CollisionCount is how often a revision's name was found taken, as apps/v1 keeps it in the status (R3). Nil: never.
	CollisionCount *int32 `json:"collisionCount,omitempty"`
}

// Collided returns the memory after the API server said that the name of a revision to create is taken by an object
// that is not the set's, so that no snapshot shows it. The next plan takes another name (R3).
func (m Memory) Collided() Memory {
	m = m.usable()
	m.Version = MemoryVersion
	count := int32(1)
	if m.CollisionCount != nil && *m.CollisionCount < math.MaxInt32 {
		count = *m.CollisionCount + 1
	}
	m.CollisionCount = &count
	return m
}

// usable returns the memory, or the empty one if it was written in a layout that this library does not know.
func (m Memory) usable() Memory {
	if m.Version != MemoryVersion {
		return Memory{}
	}
	return m
}

// Backoff slows down the deletion of failed pods on one node at one revision (M2).
type Backoff struct {
	Node string `json:"node"`
	// Revision is the hash of the failed pods; empty for pods without one.
	Revision string `json:"revision,omitempty"`
	// Delay after Since before the next deletion. It is in nanoseconds in JSON.
	Delay time.Duration `json:"delay"`
	// Since is when failed pods were last deleted.
	Since time.Time `json:"since"`
	// First is when the first of these pods was created, and Deleted is how often failed ones were deleted (F1). Both are zero
	// without Failures.
	First   time.Time `json:"first,omitzero"`
	Deleted int32     `json:"deleted,omitempty"`
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
