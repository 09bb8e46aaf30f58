package canary

import (
	"math"
	"slices"
	"strings"
	"time"
)

// Record is what must be remembered about a canary, as part of rollout.Memory. The zero value is always safe: losing the
// record starts the canary's clock again (C6).
type Record struct {
	// Revision is the hash of the revision on trial.
	Revision string `json:"revision,omitempty"`
	// Began is when its canary began (C4).
	Began time.Time `json:"began,omitzero"`
	// Nodes are the names of the canary nodes, in ascending order. They are kept when the revision changes (C1).
	Nodes []string `json:"nodes,omitempty"`
	// Elapsed is how far the clock had run at Since; Since is zero while the clock does not run (C2). In JSON Elapsed is in
	// nanoseconds.
	Elapsed time.Duration `json:"elapsed,omitempty"`
	Since   time.Time     `json:"since,omitzero"`
	// Disturbed is when a canary pod last restarted, failed or was evicted (C2).
	Disturbed time.Time `json:"disturbed,omitzero"`
	// Restarting is when a container of a canary pod first restarted since the canary began, and Restarted is when one last
	// did, as far as that was seen (C4). Both are zero if none did.
	Restarting time.Time `json:"restarting,omitzero"`
	Restarted  time.Time `json:"restarted,omitzero"`
	// Before has the restarts that do not count, of pods that were there before the canary began, in ascending order of
	// UIDs.
	Before []Baseline `json:"before,omitempty"`
	// Pause is the automatic pause that was not lifted yet (C3); nil: there is none.
	Pause *Finding `json:"pause,omitempty"`
	// Verdict is the verdict on the revision (C6): a promotion until its mark is seen on the ControllerRevision, a fail as long
	// as it stands. Nil: there is none.
	Verdict *Finding `json:"verdict,omitempty"`
}

// begin is the record of a canary that begins. If pods of the revision are there already, it counts as disturbed now, because
// they may have been disturbed at any time before.
func begin(revision string, e *evidence, now time.Time) Record {
	r := Record{Revision: revision, Began: now, Nodes: slices.Clone(e.names)}
	if len(e.seen) > 0 {
		r.Disturbed = now
	}
	return r
}

// advance brings the record up to now, with what the pods show. Instants on record that lie in the future, because a clock
// was set back, count as now.
func (r Record) advance(e *evidence, now time.Time) Record {
	r.Verdict = nil // none that counts, or this would not be asked
	if r.Began.IsZero() || r.Began.After(now) {
		r.Began = now
	}
	r.Elapsed = max(0, r.Elapsed)
	r.Since = earlier(r.Since, now)
	if len(e.names) == 0 || joined(r.Nodes, e.names) {
		r.Elapsed, r.Since = 0, time.Time{}
	}
	r.Nodes = slices.Clone(e.names)
	r.Before = e.baselines(r.Began)
	r.Disturbed = earlier(r.Disturbed, now)
	if e.disturbing {
		r.Disturbed = now
	}
	known := [...]time.Time{r.Restarting, r.Restarted}
	r.Restarting, r.Restarted = time.Time{}, time.Time{}
	for _, at := range known {
		r.restartedAt(earlier(at, now))
	}
	for i := range e.restarts {
		at := earlier(e.restarts[i].at, now)
		r.Disturbed = later(r.Disturbed, at)
		if !e.restarts[i].update {
			r.restartedAt(at)
		}
	}
	return r
}

// restartedAt enters a restart that is on record or was seen: restarts go on from the first of them to the last, in whatever
// order they become known (C4). A restart that is dated before the canary began is left out, because it was one of an earlier
// revision or of an earlier canary.
func (r *Record) restartedAt(at time.Time) {
	if at.IsZero() || at.Before(r.Began) {
		return
	}
	r.Restarted = later(r.Restarted, at)
	if r.Restarting.IsZero() || at.Before(r.Restarting) {
		r.Restarting = at
	}
}

// elapsed is how far the clock has run at now.
func (r *Record) elapsed(now time.Time) time.Duration {
	if r.Since.IsZero() {
		return r.Elapsed
	}
	if sum := r.Elapsed + now.Sub(r.Since); sum >= 0 {
		return sum
	}
	return math.MaxInt64
}

// run lets the clock run from now on, or stops it (C2). The clock starts when every node holds an available pod; once it has
// started it does not wait for the pods any more. A clock that goes on leaves the record as it is, so that nobody has to store
// the record again.
func (r *Record) run(runs bool, e *evidence, now time.Time) {
	switch {
	case !runs:
		r.Elapsed, r.Since = r.elapsed(now), time.Time{}
	case r.Since.IsZero() && (e.available || r.Elapsed > 0):
		r.Since = now
	}
}

// joined reports whether names has one that before does not have.
func joined(before, names []string) bool {
	before = ordered(before, strings.Compare)
	return slices.ContainsFunc(names, func(name string) bool {
		_, found := slices.BinarySearch(before, name)
		return !found
	})
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
