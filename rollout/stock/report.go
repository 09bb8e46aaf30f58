package stock

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/failure"
	"github.com/daemonplan/daemonplan/status"
)

// report writes into the plan what the sync did and why, the status as the controller counts it, and what the next sync has to
// know. It reports whether there are outdated nodes.
func (s *round) report() (outdated bool) {
	budget := rollout.Budget{Desired: s.desired, Burst: int32(s.burst)}
	if s.spec.Strategy.Type == rollout.RollingUpdate {
		budget.MaxUnavailable, budget.MaxSurge, budget.Partition = s.maxUnavailable, s.maxSurge, s.partition
		budget.Unavailable, budget.Surging = s.unavailable, s.surging
	}
	done := s.done()
	in := status.Input{
		Now: s.now, Generation: s.spec.Generation, UpdateRevision: s.hash, CollisionCount: s.plan.Status.CollisionCount,
		OnDelete: s.spec.Strategy.Type == rollout.OnDelete, Paused: s.spec.Strategy.Paused, Frozen: s.spec.Strategy.Frozen,
		Trial: s.trialStatus, StableRevision: s.stable,
		Acting:         !s.plan.Empty() || s.requested,
		MaxUnavailable: budget.MaxUnavailable, Unavailable: budget.Unavailable, MaxSurge: budget.MaxSurge,
		Previous: s.previous, CompletedRevision: s.plan.Status.CompletedRevision,
	}
	var blocked []*node
	for _, n := range s.nodes {
		s.awaitAvailable(n)
		if n.decision == nil {
			if n.uses {
				blocked = append(blocked, n)
			}
			continue
		}
		d := s.decide(n, done[n])
		in.Counts.Add(d.Facts)
		budget.Waiting += count(d.Reason == rollout.ReasonBudget)
		budget.Partitioned += count(d.Verb == rollout.VerbHold && d.Limit == rollout.LimitPartition)
		in.Settled += count(d.State == rollout.StateUpdated || d.State == rollout.StateSurging && s.hasAvailable(n))
		if d.State == rollout.StateOutdated {
			in.Outdated++
			in.Held += count(in.OnDelete || d.Verb == rollout.VerbHold && d.Limit != rollout.LimitPaused)
		}
		serving, moving := s.serves(n)
		in.Moving = in.Moving || moving
		if n.shouldRun && !serving && !moving {
			in.NotServing++
		}
		if !serving && !moving && (n.shouldRun || len(n.pods) > 0) {
			blocked = append(blocked, n)
		}
	}
	s.decideStrays()
	if in.Waiting = budget.Waiting; in.Waiting > 0 {
		slices.Sort(s.users)
		s.plan.BudgetUsers = slices.Clone(s.users[:min(mostNodes, len(s.users))])
	}
	s.plan.Budget = budget
	s.plan.Status = status.Summarize(in)
	s.plan.Memory.Conditions, s.plan.Memory.Backoffs = s.plan.Status.Conditions, s.backoffs.list()
	s.plan.NextWake = s.wake
	if s.plan.Status.State == status.Stuck {
		s.reportBlockers(blocked)
	}
	return in.Outdated > 0
}

// done lists what the plan does on each node.
func (s *round) done() map[*node]rollout.Decision {
	done := make(map[*node]rollout.Decision)
	for _, d := range s.sentDeletes {
		did := done[d.node]
		did.Pod, did.Verb, did.Reason, did.Deletes = d.pod.Name, d.verb, d.reason, did.Deletes+count(d.fate == deleted)
		done[d.node] = did
	}
	for _, c := range s.sentCreates {
		did := done[c.node]
		did.Pod, did.Verb, did.Reason, did.Creates = "", c.verb, c.asks.Reason, did.Creates+1
		done[c.node] = did
	}
	return done
}

// decide writes the decision about a node that exists.
func (s *round) decide(n *node, did rollout.Decision) *rollout.Decision {
	d := n.decision
	*d = rollout.Decision{
		Node: n.name, Placement: n.placement, State: s.state(n), Facts: n.facts, Patches: n.relabelled + n.patches,
		Pod: did.Pod, Verb: did.Verb, Reason: did.Reason, Creates: did.Creates, Deletes: did.Deletes,
	}
	if n.shouldRun {
		d.Target = n.target
	}
	d.Unavailable, d.Surging = n.uses && s.maxSurge == 0, n.uses && s.maxSurge > 0
	if d.Verb != rollout.VerbNone {
		return d
	}
	if len(n.pods) > 0 {
		d.Pod = n.pods[0].name
	}
	switch {
	case n.waits == rollout.LimitBackoff:
		d.Verb, d.Reason, d.Limit, d.Until = rollout.VerbWait, rollout.ReasonBackoff, n.waits, s.backoffs.until(n.name, s.now)
	case n.waits == rollout.LimitSlowStart:
		d.Verb, d.Reason, d.Limit = rollout.VerbWait, rollout.ReasonSlowStart, n.waits
	case n.waits == rollout.LimitFrozen && d.State == rollout.StateMissing:
		d.Verb, d.Reason, d.Limit = rollout.VerbWait, rollout.ReasonFrozen, n.waits
	case n.waits == rollout.LimitFrozen || n.waits == rollout.LimitCanary:
		d.Verb, d.Reason, d.Limit = rollout.VerbHold, rollout.ReasonHeld, n.waits
	case n.waits == rollout.LimitBurst:
		d.Verb, d.Reason, d.Limit = rollout.VerbWait, rollout.ReasonBurst, n.waits
	case n.waits == rollout.LimitPartition && d.State == rollout.StateMissing:
		d.Verb, d.Reason, d.Limit = rollout.VerbWait, rollout.ReasonPartitionedScaling, n.waits
	case n.waits == rollout.LimitPartition || n.waits == rollout.LimitNodeSelector || n.waits == rollout.LimitPaused:
		d.Verb, d.Reason, d.Limit, d.Target = rollout.VerbHold, rollout.ReasonHeld, n.waits, rollout.TargetHeld
	case n.waits != rollout.LimitNone:
		d.Verb, d.Reason, d.Limit = rollout.VerbWait, rollout.ReasonBudget, n.waits
	default:
		s.idle(n, d)
	}
	return d
}

// decideStrays says of the pods on nodes that do not exist which of them the plan deletes.
func (s *round) decideStrays() {
	deleted := make(map[string]bool)
	for i := range s.plan.Deletes {
		deleted[s.plan.Deletes[i].Pod] = true
	}
	for i := range s.strays {
		d := &s.strays[i]
		switch {
		case deleted[d.Pod]:
			d.Verb, d.Reason, d.Limit, d.Deletes = rollout.VerbDelete, rollout.ReasonNodeGone, rollout.LimitNone, 1
		case d.Deletes > 0: // package rollout would
			d.Verb, d.Reason, d.Limit, d.Deletes = rollout.VerbWait, rollout.ReasonRequested, rollout.LimitNone, 0
		}
	}
}

// idle says why nothing is done on the node.
func (s *round) idle(n *node, d *rollout.Decision) {
	for _, pod := range n.pods {
		switch {
		case pod.marked:
		case s.isLeaving(pod):
			d.Pod, d.Verb, d.Reason, d.Limit = pod.Name, rollout.VerbWait, rollout.ReasonPreDelete, rollout.LimitHook
			return
		case s.kruise && (inplace.Unfinished(pod.Pod) || inplace.UnderWay(pod.Pod)):
			d.Pod, d.Verb, d.Reason = pod.Name, rollout.VerbWait, rollout.ReasonUpdating
			return
		}
	}
	switch d.State {
	case rollout.StateIneligible:
		d.Pod, d.Reason = "", rollout.ReasonIneligible
	case rollout.StateKept:
		d.Reason = rollout.ReasonKept
	case rollout.StateUpdated:
		d.Reason = rollout.ReasonUpToDate
	case rollout.StateStable:
		d.Reason = rollout.ReasonStable
	case rollout.StateTerminating, rollout.StateLeaving:
		d.Verb, d.Reason = rollout.VerbWait, rollout.ReasonTerminating
	case rollout.StateStarting, rollout.StateSurging:
		d.Verb, d.Reason = rollout.VerbWait, rollout.ReasonNotReady
		for _, pod := range n.pods {
			if pod.marked || !pod.updated {
				continue
			}
			if d.Pod = pod.Name; pod.ready && !pod.available {
				d.Reason, d.Limit, d.Until = rollout.ReasonMinReadySeconds, rollout.LimitMinReadySeconds, s.availableAt(pod)
			}
			break
		}
	case rollout.StateOutdated:
		if s.spec.Strategy.Type == rollout.OnDelete {
			d.Verb, d.Reason, d.Limit, d.Target = rollout.VerbHold, rollout.ReasonHeld, rollout.LimitOnDelete, rollout.TargetHeld
			return
		}
		d.Verb, d.Reason = rollout.VerbWait, rollout.ReasonRequested
		if s.asked && !s.extended {
			d.Reason = rollout.ReasonRepairFirst
		}
	default:
		d.Verb, d.Reason = rollout.VerbWait, rollout.ReasonRequested
	}
}

// state returns where the node stands, in the words of package rollout.
func (s *round) state(n *node) rollout.NodeState {
	ended := false
	var updated, outdated *member
	for _, pod := range n.pods {
		switch {
		case pod.marked:
		case pod.ended:
			ended = true
		case pod.updated:
			updated = pod
		default:
			outdated = pod
		}
	}
	switch {
	case !n.mayRun && len(n.pods) > 0:
		return rollout.StateLeaving
	case !n.shouldRun && n.mayRun && len(n.pods) > 0:
		return rollout.StateKept
	case !n.shouldRun:
		return rollout.StateIneligible
	case updated != nil && outdated != nil:
		return rollout.StateSurging
	case updated != nil && updated.available && n.target == rollout.TargetStable:
		return rollout.StateStable
	case updated != nil && updated.available:
		return rollout.StateUpdated
	case updated != nil:
		return rollout.StateStarting
	case outdated != nil:
		return rollout.StateOutdated
	case ended:
		return rollout.StateBroken
	case len(n.pods) > 0:
		return rollout.StateTerminating
	default:
		return rollout.StateMissing
	}
}

// count sets what the status counts of the node: the oldest of its pods alone, also one that terminates.
func (s *round) count(n *node) {
	if n.shouldRun {
		n.facts |= status.Desired
	}
	if len(n.pods) == 0 {
		return
	}
	n.facts |= status.Present
	first := n.pods[0]
	if first.ready {
		n.facts |= status.Ready
	}
	if first.available && (!s.kruise || !isMadeUnready(first)) {
		n.facts |= status.Available
	}
	if first.updated {
		n.facts |= status.Updated
	}
}

// isMadeUnready reports whether the pod was made not ready for an update in place, which OpenKruise's status looks at.
func isMadeUnready(pod *member) bool {
	return hasGate(pod) && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == lifecycle.InPlaceUpdateReady && c.Status != corev1.ConditionTrue
	})
}

func (s *round) hasAvailable(n *node) bool {
	return slices.ContainsFunc(n.pods, func(pod *member) bool {
		return !pod.marked && pod.updated && pod.available
	})
}

// serves reports whether a pod of the node is Ready, and whether one is on its way: it has not failed to become Ready for too
// long, or terminates within its grace period.
func (s *round) serves(n *node) (serving, moving bool) {
	for _, pod := range n.pods {
		switch {
		case pod.marked:
			if gone := pod.DeletionTimestamp.Time; s.now.Before(gone) {
				moving = true
				s.wakeAt(gone)
			}
		case pod.ready:
			serving = true
			moving = moving || !pod.available && !s.availableAt(pod).IsZero()
		default:
			verdict := failure.Options{}.Default().Of(pod.Pod, failure.Series{}, s.now)
			moving = moving || !verdict.Failed && !verdict.At.IsZero()
			s.wakeAt(verdict.At)
		}
	}
	return serving, moving
}

// awaitAvailable schedules the sync in which a pod that is Ready becomes available.
func (s *round) awaitAvailable(n *node) {
	for _, pod := range n.pods {
		if pod.ready && !pod.available {
			s.wakeAt(s.availableAt(pod))
		}
	}
}

// wakeAt asks for a sync at that time.
func (s *round) wakeAt(at time.Time) {
	if !at.IsZero() && (s.wake.IsZero() || at.Before(s.wake)) {
		s.wake = at
	}
}

// mostNodes is how many nodes are named of those in the way.
const mostNodes = 5

// reportBlockers says which nodes are in the way, and that they use up the budget where they do.
func (s *round) reportBlockers(blocked []*node) {
	byWhy := make(map[string]*rollout.Blocker)
	var order []string
	for _, n := range blocked {
		why, help := "its pod is not Ready, and", "see kubectl describe pod; or roll out a template that mends it"
		if n.decision == nil {
			why, help = "the node does not exist, and its pod", "delete the pod"
		} else if n.decision.Placement.Outcome != placement.Run {
			why = "the node is not to run the pod, and the one that is there"
			help = "bring the node back, or delete it so that its pod goes"
		} else if c := s.plan.CauseOf(n.name); c != nil {
			why = strings.TrimSuffix(c.Brief(), ".") + "; it"
		}
		helps, end := []string{help}, " does not serve"
		if n.uses {
			helps, end = append(helps, "raise the budget by as many nodes"), " uses up the budget of "+s.name
		}
		why += end
		b := byWhy[why]
		if b == nil {
			b = &rollout.Blocker{Why: why, Helps: helps}
			byWhy[why] = b
			order = append(order, why)
		}
		if b.Count++; len(b.Nodes) < mostNodes {
			b.Nodes = append(b.Nodes, n.name)
		}
	}
	for _, why := range order {
		s.plan.Blockers = append(s.plan.Blockers, *byWhy[why])
	}
	if len(order) == 0 {
		s.plan.Blockers = []rollout.Blocker{{
			Why: "nothing moves, and the objects do not say why", Helps: []string{"look at the events of the DaemonSet"},
		}}
	}
}
