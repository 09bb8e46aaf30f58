package rollout

import (
	"time"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout/failure"
)

// What several steps ask about whether something is in motion on a node by itself, or stands still until somebody acts. None of
// it writes anything.

// isFailing reports whether a pod has not come into service for longer than F1's deadline, which is ten minutes unless failures
// are watched with another: nobody should wait for it any more. changes is when the clock makes it so; zero: never.
func (r *run) isFailing(j int32) (failing bool, changes time.Time) {
	p := &r.pods[j]
	switch t := p.traits; {
	case t.hasAny(marked|finished|unreadable|deleting) || r.isOnItsWay(p):
		return false, changes
	case t.hasAny(atGoal) && p.inService(), !t.hasAny(atGoal) && t.hasAny(ready):
		return false, changes
	}
	up := upSince(r.nodes[p.node].Object)
	since := failure.Series{Back: up, Up: up} // what follows a failed pod starts anew
	verdict := r.failing.Of(p.Object, since, r.snapshot.Now)
	crashing := r.failing.Crashing(p.Object, r.snapshot.Now)
	if verdict.Failed || crashing.Failed {
		return true, changes
	}
	return false, earlier(verdict.At, crashing.At)
}

// isOnItsWay reports whether the pod is ready and only waits to be available (B5), or waits for a hook (L2, L3) or for a grace
// period (I4). What its hook has let go waits for nobody but the planner.
func (r *run) isOnItsWay(p *pod) bool {
	t := p.traits
	switch {
	case t.hasAny(preparingDelete):
		return r.spec.Lifecycle.PreDelete.Matches(p.Object)
	case t.hasAny(finished): // no hook makes it serve
		return false
	case t.hasAny(preparingUpdate):
		return r.spec.Lifecycle.InPlaceUpdate.Matches(p.Object) || p.Object.Annotations[inplace.GraceKey] != ""
	}
	hooked := false
	if t.hasAny(outOfService) {
		state := lifecycle.StateOf(p.Object)
		hooked = state == lifecycle.PreparingNormal || state == lifecycle.Updated
	}
	if !t.hasAny(ready) || t.hasAny(available) {
		return hooked
	}
	since, _ := lifecycle.ReadySince(p.Object)
	return hooked || !since.IsZero() // else the clock never makes it available
}

// isMoving reports whether something happens on the node by itself: a pod is on its way to serve, and has not failed to for too
// long, or is on its way out within its grace period. changes is when the clock ends that; zero: it does not.
func (r *run) isMoving(i int32) (moving bool, changes time.Time) {
	n := &r.nodes[i]
	if r.outcome(i) == placement.Leave {
		return false, changes // it is no part of the rollout
	}
	for j := n.first; j < n.end; j++ {
		p := &r.pods[j]
		if p.inService() && !p.traits.hasAny(preparingDelete|preparingUpdate) {
			continue // like most pods: nothing happens to it, and nothing has to
		}
		if deleted := p.Object.DeletionTimestamp; deleted != nil {
			if r.snapshot.Now.Before(deleted.Time) {
				moving, changes = true, earlier(changes, deleted.Time)
			}
			continue
		}
		failing, at := r.isFailing(j)
		moving = moving || r.isOnItsWay(p) || !failing && !at.IsZero()
		changes = earlier(changes, at)
	}
	return moving, changes
}

// isAnyMoving reports whether something happens on any node by itself. changes is when the clock first ends that on a node; zero:
// it does not.
func (r *run) isAnyMoving() (moving bool, changes time.Time) {
	for i := range r.nodes {
		moves, at := r.isMoving(int32(i))
		moving, changes = moving || moves, earlier(changes, at)
	}
	return moving, changes
}
