package rollout

import (
	"time"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/placement"
)

// slow is what slow start lets a plan begin (B7).
type slow struct {
	on bool
	// left is how many more nodes may be under way, missing how many of them nodes without a pod take first.
	left, missing int32
	// expiry is when the first node is no longer under way by the clock alone, step when the limit rises; zero: never.
	expiry, step time.Time
}

// creates tells whether a missing pod may be created.
func (s *slow) creates() bool { return !s.on || s.left > 0 }

func (s *slow) created() {
	s.left--
	s.missing--
}

// replaces tells whether a pod may be replaced, updated in place, or get a new one beside it: only with what missing pods
// leave, so that deletes never outrun creates.
func (s *slow) replaces() bool { return !s.on || s.left > max(s.missing, 0) }

// replaced takes a place for the node, once.
func (s *slow) replaced(n *node) {
	if !n.slotted {
		n.slotted = true
		s.left--
	}
}

// newSlow resolves the limit and counts the nodes under way.
func (r *run) newSlow() slow {
	options := r.spec.Strategy.SlowStart
	if options == nil || r.completedRevision() == r.revision.Update.Hash && !r.anyOutdated() {
		return slow{}
	}
	budget := &r.plan.Budget
	interval := options.Interval
	elapsed := r.record.elapsed(r.snapshot.Now)
	steps := int64(elapsed / interval)
	highest := r.maxParallel.RoundUp(budget.Desired)
	budget.SlowStart = int32(min((1+min(steps, int64(highest)))*int64(r.increase.RoundUp(budget.Desired)), int64(highest)))
	s := slow{on: true, left: budget.SlowStart}
	installs := r.installs
	for i := range r.nodes {
		n := &r.nodes[i]
		if r.outcome(int32(i)) != placement.Run {
			continue
		}
		if until, under := r.isUnderWay(int32(i), interval); under {
			budget.UnderWay++
			if !until.IsZero() && (s.expiry.IsZero() || until.Before(s.expiry)) {
				s.expiry = until
			}
		}
		switch {
		case !r.misses(n) || !r.isReadable(r.revisionFor(int32(i))):
		case r.installs == unlimited || r.isFilled(n):
			s.missing++
		case installs > 0: // the others stay empty (T7)
			installs--
			s.missing++
		}
	}
	s.left = max(0, s.left-budget.UnderWay)
	if budget.SlowStart < highest && r.record.PausedSince.IsZero() {
		s.step = r.record.Began.Add(r.record.Paused + time.Duration(steps+1)*interval)
	}
	return s
}

// slowed sees to it that a node that slow start has turned down is looked at again when there may be room.
func (r *run) slowed() {
	r.wake(r.slow.expiry)
	r.wake(r.slow.step)
}

// anyOutdated tells whether a node is to be updated, although the rollout of the revision was complete: overrides have
// changed (P8).
func (r *run) anyOutdated() bool {
	for i := range r.nodes {
		if r.plan.Decisions[i].State == StateOutdated {
			return true
		}
	}
	return false
}

// isUnderWay reports whether the node waits for its new pod: its pod is on its way out or about to be updated in place, or the
// new one is not available yet. The last counts for one interval, so that a revision that does not come up is left to the
// budget. What B8 could exempt does not count, nor a node that no hook holds any more and that only waits for room (see isLetGo).
func (r *run) isUnderWay(i int32, interval time.Duration) (until time.Time, under bool) {
	n := &r.nodes[i]
	leaves := n.terminating || n.requested != requestedNothing || (n.leaving || r.awaitsUpdate(i)) && !r.isLetGo(i)
	starting := n.requested != requestedNothing
	kept := n.current
	if kept == none && n.hold != LimitNone {
		kept = n.other // it is to stay at its revision (T1)
	}
	if kept != none && !r.pods[kept].settled() {
		p := &r.pods[kept]
		since := p.object.CreationTimestamp.Time
		if state, err := inplace.StateOf(p.object); err == nil && state != nil && state.UpdateTimestamp.After(since) {
			since = state.UpdateTimestamp.Time
		}
		if end := since.Add(interval); r.snapshot.Now.Before(end) {
			starting, until = true, end
		}
	}
	switch {
	case !starting && !leaves:
		return time.Time{}, false
	case r.isolated(n):
		return time.Time{}, false
	case leaves:
		return time.Time{}, true
	default:
		return until, true
	}
}

// awaitsUpdate reports whether the node's outdated pod waits to be updated in place, or a patch of it is not seen yet, which may
// be the one that prepares it.
func (r *run) awaitsUpdate(i int32) bool {
	n := &r.nodes[i]
	if n.other == none || r.plan.Decisions[i].State != StateOutdated {
		return false
	}
	return r.pods[n.other].traits.has(patched) || r.underWay(i)
}
