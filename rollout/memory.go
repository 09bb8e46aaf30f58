package rollout

import (
	"math"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/predownload"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/stage"
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

// Carry is what one plan hands to the next plan of the set: what it must know, and what spares it work. Keep the value of the
// last plan that was carried out, [Plan.Carry], and give it to the next snapshot with [Snapshot.After]. The zero value is
// always safe, and so is the Carry of an earlier plan. A controller that restarts needs the Memory alone, which may be stored
// as JSON.
type Carry struct {
	// Memory is what cannot be read off the objects.
	Memory Memory `json:"memory,omitzero"`
	// FailedPulls are the pulls of images that have failed, and are tried again after a back-off. Nil without pre-download. A
	// caller that pulls images adds what fails.
	FailedPulls []predownload.Failure `json:"failedPulls,omitempty"`
	// Reading is what was read off the objects. It changes no plan, and saves the time to read them again; see [Reading] for what
	// the caller owes. Nil: nothing is known.
	Reading *Reading `json:"-"`
}

// Carry returns what the next plan takes over. That of a nil plan is the zero value.
func (p *Plan) Carry() Carry {
	if p == nil {
		return Carry{}
	}
	return Carry{Memory: p.Memory, FailedPulls: p.FailedPulls, Reading: p.Reading}
}

// After returns the snapshot with what an earlier plan has handed on, in place of its Memory, FailedPulls and Reading.
func (s Snapshot) After(earlier Carry) Snapshot {
	s.Memory, s.FailedPulls, s.Reading = earlier.Memory, earlier.FailedPulls, earlier.Reading
	return s
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
	// Revision is the hash of the revision of the failed pods: the update revision also for pods of its duplicates, and for
	// those that only the template generation tells of (R3, R5). Empty for other pods without a hash.
	Revision string `json:"revision,omitempty"`
	// Delay after Since before the next deletion. It is in nanoseconds in JSON.
	Delay time.Duration `json:"delay"`
	// Since is when failed pods were last deleted.
	Since time.Time `json:"since"`
	// First is since when the first of these pods was unavailable, and Deleted is how often failed ones were seen to be gone
	// (F1). Going are the UIDs, in ascending order, of those whose deletion was asked for and that were still there. All are
	// zero without Failures.
	First   time.Time   `json:"first,omitzero"`
	Deleted int32       `json:"deleted,omitempty"`
	Going   []types.UID `json:"going,omitempty"`
}

// Record remembers one rollout.
type Record struct {
	// Revision is the hash of the update revision.
	Revision string `json:"revision,omitempty"`
	// Began is when this revision was first planned for, or promoted.
	Began time.Time `json:"began,omitzero"`
	// Paused is for how long the rollout was paused or frozen, without the pause that lasts. PausedSince is when that one
	// began; zero: the rollout is not paused (B7). The clock of slow start leaves both out.
	Paused      time.Duration `json:"paused,omitempty"`
	PausedSince time.Time     `json:"pausedSince,omitzero"`
	// Stable is the hash of the stable revision, kept for the time in which no ControllerRevision is marked (C6). Empty
	// without a canary.
	Stable string `json:"stable,omitempty"`
	// Frontier is how far the stages are (T8). Zero: nothing is done, or there are no stages.
	Frontier stage.Frontier `json:"frontier,omitzero"`
	// Lost reports whether the rollout was under way when the memory began, so that nodes may have been begun of which it knows
	// nothing (B9).
	Lost bool `json:"lost,omitempty"`
	// Begun are the nodes whose outdated pod was deleted for the update, until their new pod is seen, in ascending order (B9).
	// Nil without outages and failures.
	Begun []Begun `json:"begun,omitempty"`
	// GaveUp says why the revision was given up because too many nodes failed (F3). Empty: it was not.
	GaveUp string `json:"gaveUp,omitempty"`
	// Completed reports whether at some time every node was at the revision and available (S3).
	Completed bool `json:"completed,omitempty"`
}

// Begun is when the update of a node began.
type Begun struct {
	Node string    `json:"node"`
	At   time.Time `json:"at"`
}

// elapsed returns for how long the rollout has gone on, with pauses left out.
func (r Record) elapsed(now time.Time) time.Duration {
	if !r.PausedSince.IsZero() && r.PausedSince.Before(now) {
		now = r.PausedSince
	}
	return max(0, now.Sub(r.Began)-max(0, r.Paused))
}
