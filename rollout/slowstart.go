package rollout

import (
	"time"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/placement"
)

// progress says how far a node is on the way to its new pod.
type progress struct {
	// underWay reports whether the node counts for slow start (B7). until is when the clock alone ends that; zero: it does not.
	underWay bool
	until    time.Time
	// changes is when the clock may change whether B8 could leave the node out; zero: never.
	changes time.Time
}

// mayCreateMissing reports whether a missing pod may be created.
func (s *slow) mayCreateMissing() bool { return !s.on || s.free > 0 }

// takePlaceForMissing takes one of the places kept for missing pods.
func (s *slow) takePlaceForMissing() {
	s.free--
	s.missing--
}

// hasPlace reports whether a pod of the node may be replaced, updated in place, or get a new one beside it; without slow start it
// always may. A node that has a place needs no second one. Any other takes one that no missing pod needs, so that deletes never
// outrun creates.
func (s *slow) hasPlace(n *node) bool {
	return !s.on || n.underWay || n.tookPlace || s.free > max(s.missing, 0)
}

// takePlace takes a place for a node that this plan begins, unless it has one.
func (s *slow) takePlace(n *node) {
	if !n.underWay && !n.tookPlace {
		n.tookPlace = true
		s.free--
	}
}

// openSlowStart resolves the limit of slow start and counts the nodes under way (B7).
func (r *run) openSlowStart() {
	options := r.spec.Strategy.SlowStart
	if options == nil || r.completedRevision() == r.revision.Update.Hash && !r.anyOutdated() {
		return
	}
	budget := &r.plan.Budget
	interval := options.Interval
	elapsed := r.record.elapsed(r.snapshot.Now)
	steps := int64(elapsed / interval)
	highest := r.maxParallel.RoundUp(budget.Desired)
	budget.SlowStart = int32(min((1+min(steps, int64(highest)))*int64(r.increase.RoundUp(budget.Desired)), int64(highest)))
	s := slow{on: true, free: budget.SlowStart}
	installs := r.installsLeft
	for i := range r.nodes {
		n := &r.nodes[i]
		if r.outcome(int32(i)) != placement.Run {
			continue
		}
		at := r.progress(int32(i), interval)
		r.wake(at.changes)
		if at.underWay {
			n.underWay = true
			budget.UnderWay++
			s.expiry = earlier(s.expiry, at.until)
		}
		switch {
		case n.underWay || n.departing || !r.misses(n) || !r.isReadable(r.revisionFor(int32(i))):
		case r.installsLeft == unlimited || r.isFilled(n):
			s.missing++
		case installs > 0: // the others stay empty (T7)
			installs--
			s.missing++
		}
	}
	s.free = max(0, s.free-budget.UnderWay)
	if budget.SlowStart < highest && r.record.PausedSince.IsZero() {
		s.step = r.record.Began.Add(max(0, r.record.Paused) + time.Duration(steps+1)*interval)
	}
	r.slow = s
}

// slowed schedules a wake for nodes that slow start refused.
func (r *run) slowed() {
	r.wake(r.slow.expiry)
	r.wake(r.slow.step)
}

// anyOutdated reports whether a node has an outdated pod. If the rollout of the revision was complete once, that means that
// overrides have changed (P8).
func (r *run) anyOutdated() bool {
	for i := range r.nodes {
		if r.decision(int32(i)).State == StateOutdated {
			return true
		}
	}
	return false
}

// progress finds whether the node is under way (B7): its pod is on its way out or about to be updated in place, or its new pod is
// not available yet. The last counts for one interval only, so that a revision that does not come up is left to the budget. A
// node that B8 could leave out is not under way, nor is one that no hook holds any more and that only waits for room (isLetGo).
func (r *run) progress(i int32, interval time.Duration) progress {
	var at progress
	n := &r.nodes[i]
	leaves := n.terminating || n.expects != expectsNothing
	if !leaves {
		leaves = (n.leavesByHook || r.awaitsUpdate(i)) && !r.isLetGo(i)
	}
	starting := n.expects != expectsNothing
	kept := n.goalPod
	if kept == none && (n.heldBy != LimitNone || n.closed != LimitNone) {
		kept = n.outdatedPod // a held node keeps the pod that it has (T1)
	}
	if kept != none && !r.pods[kept].inService() {
		p := &r.pods[kept]
		since := p.Object.CreationTimestamp.Time
		if state, err := inplace.StateOf(p.Object); err == nil && state != nil && state.UpdateTimestamp.After(since) {
			since = state.UpdateTimestamp.Time
		}
		if end := since.Add(interval); r.snapshot.Now.Before(end) {
			starting, at.until = true, end
		}
	}
	if !starting && !leaves {
		return at
	}
	var isolated bool
	isolated, at.changes = r.isolated(n)
	at.underWay = !isolated
	if leaves {
		at.until = time.Time{}
	}
	return at
}

// awaitsUpdate reports whether the node's outdated pod waits to be updated in place, or has a patch in flight, which may be the
// one that prepares it.
func (r *run) awaitsUpdate(i int32) bool {
	n := &r.nodes[i]
	if n.outdatedPod == none || r.decision(i).State != StateOutdated {
		return false
	}
	begun, _ := r.isBegunInPlace(i)
	return begun || r.pods[n.outdatedPod].traits.hasAny(patchInFlight)
}
