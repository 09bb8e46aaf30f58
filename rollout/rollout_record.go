package rollout

import (
	"time"

	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/stage"
)

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
