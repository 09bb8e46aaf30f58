package rollout

import (
	"time"

	"github.com/daemonplan/daemonplan/rollout/canary"
)

// rolloutRecord returns what is known of the rollout. It begins when its revision is first seen, and again when the revision is
// promoted, or retried after it was given up.
func (r *run) rolloutRecord() Record {
	now, record := r.snapshot.Now, r.remembered.Rollout
	promoted := r.trial.Record.Verdict != nil && r.trial.Phase == canary.Idle && r.remembered.Canary.Verdict == nil
	promoted = promoted && r.remembered.Canary.Revision == record.Revision
	if promoted || record.Revision == "" || r.beginsAnew() {
		record = Record{Revision: r.revision.Update.Hash, Began: now}
	}
	switch {
	case r.spec.Strategy.Canary == nil:
		record.Stable = ""
	case r.unwritten():
		record.Stable = r.remembered.Rollout.Stable
	default:
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
