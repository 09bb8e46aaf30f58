package verify

import (
	"slices"
	"time"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// slowStart is the slow start (B7) before the plan's own actions.
type slowStart struct {
	on              bool
	limit, underWay int
	missing         int // nodes that are to get a pod at once
	// rises is when the limit rises next, ends when a node that is under way by the clock no longer is; zero: never.
	rises, ends time.Time
}

// observeSlow finds how many nodes may be under way, and how many are.
func (v *verifier) observeSlow() {
	options, record := v.spec.Strategy.SlowStart, v.remembered.Rollout
	completed := record.Completed && record.Revision == v.plan.Status.UpdateRevision
	outdated := func(node *node) bool { return v.state(node) == rollout.StateOutdated } // overrides may have changed since
	if options == nil || completed && !slices.ContainsFunc(v.nodes, outdated) {
		return
	}
	s := &v.slow
	s.on = true
	highest := ofDesired(options.MaxParallel, v.limits.desired, 99)
	increase := ofDesired(options.Increase, v.limits.desired, 99)
	began, paused := v.rolloutClock()
	steps := int64(max(0, v.snapshot.Now.Sub(began)-paused) / options.Interval)
	s.limit = min(highest, (1+int(min(steps, int64(highest))))*increase)
	if s.limit < highest && !v.halted() {
		s.rises = began.Add(paused + time.Duration(steps+1)*options.Interval)
	}
	left, limited := v.installs()
	for _, node := range v.nodes {
		if node.outcome != placement.Run {
			continue
		}
		ends, under := v.isUnderWay(node)
		if under {
			s.underWay += node.weight
			if !ends.IsZero() && (s.ends.IsZero() || ends.Before(s.ends)) {
				s.ends = ends
			}
		}
		switch {
		case under || node.leftAlone || !v.misses(node) || !v.canCreate(node):
		case !limited || node.filled():
			s.missing += node.weight
		case left > 0: // the others stay empty (T7)
			left--
			s.missing++
		}
	}
}

// rolloutClock is when the rollout began, and for how long it has been paused since. A promotion or a retry begins it anew.
func (v *verifier) rolloutClock() (began time.Time, paused time.Duration) {
	now, record := v.snapshot.Now, v.remembered.Rollout
	began, paused = record.Began, record.Paused
	if record.Revision != v.plan.Status.UpdateRevision || v.promotesNow() || v.failed.retries {
		return now, 0
	}
	if since := record.PausedSince; !since.IsZero() {
		paused += max(0, now.Sub(since))
		if v.halted() { // the pauses before this one
			paused = max(record.Paused, 0) + max(0, now.Sub(since))
		}
	}
	return began, max(paused, 0)
}

// promotesNow reports whether a trial that was remembered ends well with this plan.
func (v *verifier) promotesNow() bool {
	trial := v.remembered.Canary
	return v.spec.Strategy.Canary != nil && v.trial.phase == canary.Idle && trial.Revision == v.plan.Status.UpdateRevision &&
		trial.Verdict == nil && !history.Promoted(v.history.update)
}

// isUnderWay reports whether the node waits for its new pod, and until when the clock says so: its pod is on its way out or about
// to be updated in place, or the new one is asked for, or is not available for no longer than an interval. What B8 could leave
// out does not count, nor a node that was let go and waits for room (B3).
func (v *verifier) isUnderWay(node *node) (ends time.Time, under bool) {
	if node.isolated() {
		return time.Time{}, false
	}
	if len(node.requested) > 0 || node.any(func(p *pod) bool { return p.marked }) {
		return time.Time{}, true
	}
	old := node.bestOutdated
	// For its hook or the grace period, or it may be about to.
	waits := old != nil && v.state(node) == rollout.StateOutdated && (old.patched || v.underWay(old))
	if (waits || node.any((*pod).leaves)) && !v.isLetGo(node) {
		return time.Time{}, true
	}
	starting, ends := v.starting(node)
	return ends, starting
}

func (v *verifier) starting(node *node) (bool, time.Time) {
	pod := node.bestCurrent
	if pod == nil && (node.hold != rollout.LimitNone || node.closed != rollout.LimitNone) { // it is to stay at its revision (T1)
		pod = node.bestOutdated
	}
	if pod == nil || pod.settled() {
		return false, time.Time{}
	}
	since := pod.object.CreationTimestamp.Time
	if state, err := inplace.StateOf(pod.object); err == nil && state != nil && state.UpdateTimestamp.After(since) {
		since = state.UpdateTimestamp.Time
	}
	ends := since.Add(v.spec.Strategy.SlowStart.Interval)
	if !ends.After(v.snapshot.Now) {
		return false, time.Time{}
	}
	return true, ends
}

// misses reports whether the node is to get a pod at once (M1).
func (v *verifier) misses(node *node) bool {
	switch {
	case len(node.requested) > 0, node.any(func(p *pod) bool { return p.live() && (p.terminal || !p.leaves()) }):
		return false
	default:
		return len(node.pods) == 0 || v.surges()
	}
}

// canCreate reports whether a pod can be made of what the node is to get.
func (v *verifier) canCreate(node *node) bool {
	for hash := range v.rightRevisions(node) {
		if v.templateAt(hash) != nil {
			return true
		}
	}
	return false
}

// checkSlowStart is the part of V11 about B7: on nodes that are not under way, creates take what is left of the limit, and
// replacements what missing pods leave of it.
func (v *verifier) checkSlowStart() {
	if !v.slow.on {
		return
	}
	created, replaced, left := v.createdInPlaces(), 0, v.placesLeft()
	for _, node := range v.nodes {
		if !v.hasPlace(node) && (len(node.creates) > 0 && node.goesOn() || node.any(v.replaces)) {
			replaced += node.weight
		}
	}
	if created > left {
		v.report(11, "", "B7: %d missing pods are created, right are at most %d: limit %d - %d under way", created, left,
			v.slow.limit, v.slow.underWay)
	}
	if rest := max(0, left-v.slow.missing); replaced > rest {
		v.report(11, "", "B7: %d pods are replaced, right are at most %d: limit %d - %d under way - %d missing", replaced, rest,
			v.slow.limit, v.slow.underWay, v.slow.missing)
	}
}

// placesLeft is how many nodes more may be under way.
func (v *verifier) placesLeft() int { return max(0, v.slow.limit-v.slow.underWay) }

// createdInPlaces counts the creates of missing pods that take a place of slow start.
func (v *verifier) createdInPlaces() int {
	created := 0
	for _, node := range v.nodes {
		if len(node.creates) > 0 && !node.goesOn() && !v.hasPlace(node) {
			created += node.weight
		}
	}
	return created
}

// hasPlace reports whether the node is under way already, so that what begins there needs no other place.
func (v *verifier) hasPlace(node *node) bool {
	if !v.slow.on {
		return false
	}
	_, under := v.isUnderWay(node)
	return under
}

// goesOn reports whether an outdated pod of the node is not on its way out.
func (n *node) goesOn() bool { return n.any(func(p *pod) bool { return p.outdated() && !p.leaves() }) }

// isLetGo reports whether only prepared pods keep the node up, and no hook holds any of them.
func (v *verifier) isLetGo(node *node) bool {
	hooked := func(p *pod) bool {
		hook := v.spec.Lifecycle.InPlaceUpdate
		if p.leaving {
			hook = v.spec.Lifecycle.PreDelete
		}
		return p.prepared() && hook.Matches(p.object)
	}
	return node.outcome == placement.Run && !node.any((*pod).serves) && node.any((*pod).prepared) &&
		!node.any(hooked)
}

// replaces reports whether the plan begins to replace the pod by another: it deletes it, at once or by way of its hook, or
// updates it in place, and nothing that stays on the node makes it superfluous.
func (v *verifier) replaces(p *pod) bool {
	node := p.node
	switch {
	case p.prepared() && !p.staysUp() && v.isLetGo(node) && !node.any((*pod).staysUp):
		return !node.isolated() || node.exemption == rollout.ExemptionNone // what B8 leaves out holds no place
	case node.outcome != placement.Run || p.current || p.marked || p.leaving:
		return false
	case p.begun:
		return !v.underWay(p)
	case !p.goes():
		return false
	case p.terminal:
		lone := node.bestCurrent == nil && node.bestOutdated == nil
		return p.failed && v.mayReachGoal(node) && lone
	default:
		return !v.surplus(p) && !v.superseded(p)
	}
}
