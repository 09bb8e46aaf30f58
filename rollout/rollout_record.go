package rollout

import (
	"time"

	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/stage"
)

// What is remembered of the rollout, and read by steps target, repair and report.

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
	// Base is the hash of the base revision, kept for the time in which no ControllerRevision is marked as rolled out everywhere
	// (T8). Empty without stages.
	Base string `json:"base,omitempty"`
	// Frontier is how far the stages are (T8). Zero without stages.
	Frontier stage.Frontier `json:"frontier,omitzero"`
	// GaveUp says why the revision was given up because too many nodes failed (F3). Empty: it was not.
	GaveUp string `json:"gaveUp,omitempty"`
	// Completed reports whether at some time every node was at the revision and available (S3).
	Completed bool `json:"completed,omitempty"`
}

// beginsAnew reports whether the rollout begins with this plan, as another revision was rolled out before, or it is retried
// after it was given up.
func (r *run) beginsAnew() bool {
	before := r.remembered.Rollout.Revision
	return before != "" && before != r.revision.Update.Hash || r.retriesFailed()
}

// rolloutRecord returns what is known of the rollout. It begins when its revision is first seen, and again when the revision is
// promoted, or retried after it was given up.
func (r *run) rolloutRecord() Record {
	now, record := r.snapshot.Now, r.remembered.Rollout
	promoted := r.trial.Record.Verdict != nil && r.trial.Phase == canary.Idle && r.remembered.Canary.Verdict == nil
	promoted = promoted && r.remembered.Canary.Revision == record.Revision
	if promoted || record.Revision == "" || r.beginsAnew() {
		record = Record{Revision: r.revision.Update.Hash, Began: now}
	}
	record.Stable = ""
	if r.spec.Strategy.Canary != nil && !r.unwritten() {
		record.Stable = r.revision.Stable.Hash
	}
	record.Base = ""
	if base := r.revision.Base; base.Existing != nil && base.Hash != r.revision.Update.Hash {
		record.Base = base.Hash
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

// unwritten reports whether the first revision of all is not written because the set is frozen (T4). If it were remembered as the
// stable revision, no object would hold its template. After the next change of the template, nodes that are to get the stable
// revision would then stay empty.
func (r *run) unwritten() bool {
	return r.spec.Strategy.Frozen && len(r.snapshot.Revisions) == 0 && r.revision.Stable.Hash == r.revision.Update.Hash
}

// elapsed returns for how long the rollout has gone on, with pauses left out.
func (r Record) elapsed(now time.Time) time.Duration {
	if !r.PausedSince.IsZero() && r.PausedSince.Before(now) {
		now = r.PausedSince
	}
	return max(0, now.Sub(r.Began)-max(0, r.Paused))
}

func (r *run) completedRevision() string {
	if rollout := r.remembered.Rollout; rollout.Completed {
		return rollout.Revision
	}
	return ""
}
