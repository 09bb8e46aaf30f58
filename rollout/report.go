package rollout

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/outage"
	"github.com/daemonplan/daemonplan/status"
)

// report is step 9. It gives a reason to the nodes for which nothing was decided so far, and derives the status and the memory
// from the same records.
func (r *run) report() {
	var counts status.Counts
	for i := range r.nodes {
		r.explainRest(int32(i))
		counts.Add(r.decision(int32(i)).Facts)
	}
	for range r.settledAside {
		counts.Add(settledFacts)
	}
	r.nameUsers()
	r.reportDomains()
	r.reportParts()
	r.reportFailures()
	r.reportOverrides()
	r.reportCauses()
	moving, changes := r.isAnyMoving()
	r.wake(changes) // when the clock ends what is in motion, the state may be another
	in := r.statusInput(counts)
	in.Moving = moving || !r.plan.NextWake.IsZero()
	r.plan.Status = status.Summarize(in)
	if r.plan.Status.State == status.Stuck { // what is in the way is said where the state is
		r.reportBlockers()
		in.Obstacle = r.plan.withBlockers(in.Obstacle)
		r.plan.Status = status.Summarize(in)
	}
	r.plan.Memory = r.memory()
}

// nameUsers lists the first nodes that use up the budget, if others wait for it.
func (r *run) nameUsers() {
	if r.plan.Budget.Waiting == 0 {
		return
	}
	r.plan.BudgetUsers = make([]string, 0, usersShown)
	for i := range r.nodes {
		d := r.decision(int32(i))
		if len(r.plan.BudgetUsers) < usersShown && (d.Surging || d.Unavailable && !r.surges()) {
			r.plan.BudgetUsers = append(r.plan.BudgetUsers, d.Node)
		}
	}
}

// explainRest gives a reason to a node on which nothing is done.
func (r *run) explainRest(i int32) {
	n, d := &r.nodes[i], r.decision(i)
	if d.Reason != ReasonNone {
		return
	}
	switch d.State {
	case StateIneligible:
		d.Reason = ReasonIneligible
	case StateKept:
		d.Reason = ReasonKept
	case StateUpdated:
		d.Reason = ReasonUpToDate
	case StateStable:
		d.Reason = ReasonStable
	case StateStarting, StateSurging:
		r.explainStarting(i, n)
	default: // of the other states, only what waits for a pod to come or go has no reason yet
		r.explainWait(i, n)
	}
}

func (r *run) explainWait(i int32, n *node) {
	if n.expects != expectsNothing {
		r.note(i, VerbWait, ReasonRequested, nil)
		return
	}
	r.note(i, VerbWait, ReasonTerminating, nil)
}

func (r *run) explainStarting(i int32, n *node) {
	if n.goalPod == none || n.expects != expectsNothing {
		r.note(i, VerbWait, ReasonRequested, nil)
		return
	}
	p := &r.pods[n.goalPod]
	switch {
	case p.traits.hasAny(outOfService) && lifecycle.StateOf(p.Object) == lifecycle.PreparingNormal:
		r.noteWait(i, ReasonPreNormal, p, LimitHook)
		return
	case p.traits.hasAny(outOfService) && lifecycle.StateOf(p.Object) == lifecycle.Updated:
		r.noteWait(i, ReasonPutBack, p, LimitHook)
		return
	case p.traits.hasAny(unreadable):
		r.note(i, VerbWait, ReasonInPlaceUnreadable, p)
		return
	case p.traits.hasAny(outOfService),
		!p.traits.hasAny(ready) && p.traits.hasAny(inTransition) && !inplace.Completed(p.Object).Done:
		r.note(i, VerbWait, ReasonUpdating, p)
		return
	case !p.traits.hasAny(ready):
		r.note(i, VerbWait, ReasonNotReady, p)
		return
	case p.inService(): // it serves as soon as what is in flight is seen
		r.note(i, VerbWait, ReasonRequested, p)
		return
	}
	r.waitUntil(i, p, ReasonMinReadySeconds, LimitMinReadySeconds, r.readiness(p.Pod).AvailableAt)
}

func (r *run) statusInput(counts status.Counts) status.Input {
	in := status.Input{
		Now:               r.snapshot.Now,
		Generation:        r.spec.Generation,
		Counts:            counts,
		UpdateRevision:    r.revision.Update.Hash,
		StableRevision:    r.revision.Stable.Hash,
		CollisionCount:    r.revision.CollisionCount,
		Paused:            r.spec.Strategy.Paused,
		Frozen:            r.spec.Strategy.Frozen,
		OnDelete:          r.spec.Strategy.Type == OnDelete,
		Waiting:           r.plan.Budget.Waiting,
		Acting:            !r.plan.Empty() || !r.snapshot.InFlight.empty(),
		MaxUnavailable:    r.plan.Budget.MaxUnavailable,
		Unavailable:       r.plan.Budget.Unavailable,
		MaxSurge:          r.plan.Budget.MaxSurge,
		Trial:             r.statusTrial(),
		Gate:              r.partGate(),
		TooManyFailed:     r.failed > r.maxFailed,
		OnlyFailedLeft:    r.onlyFailedLeft(),
		Obstacle:          r.obstacle(),
		Previous:          r.remembered.Conditions,
		CompletedRevision: r.completedRevision(),
		Settled:           r.settledAside,
	}
	in.NotServing, in.Lifecycle = int32(len(r.plan.Causes)), r.countLifecycle()
	for i := range r.nodes {
		n, d := &r.nodes[i], r.decision(int32(i))
		if d.Reason == ReasonPartitionedScaling {
			in.Outdated++
			in.Held++
		}
		if d.Failed && r.takesBudget(d) {
			in.FailedUnavailable++
		}
		switch d.State {
		case StateUpdated:
			in.Settled++
		case StateSurging:
			if n.goalPod != none && r.pods[n.goalPod].inService() {
				in.Settled++
			}
		case StateOutdated:
			in.Outdated++
			switch {
			case r.isHeldByStages(int32(i)):
				in.Gated++
			case d.Limit == LimitInPlaceOnly:
				in.Obstructed++
			case d.Limit == LimitUndeclared:
				in.Undeclared++
			case d.Target == TargetHeld:
				in.Held++
				if d.Unavailable {
					in.HeldUnavailable++
				}
			}
		default: // no candidate of this rollout, or not yet
		}
	}
	return in
}

// countLifecycle counts the nodes that are not where they are to be, by conditions of their lifecycle, if a policy looks at
// outages. A node with two of them is counted twice.
func (r *run) countLifecycle() []status.LifecycleCount {
	if r.outages == nil {
		return nil
	}
	var counts []status.LifecycleCount
	for _, kind := range outage.LifecycleConditions() {
		count := status.LifecycleCount{Condition: kind}
		for i := range r.nodes {
			state := r.decision(int32(i)).State
			if r.outcome(int32(i)) == placement.Leave || state == StateUpdated || state == StateIneligible {
				continue
			}
			for k := range r.nodes[i].Object.Status.Conditions {
				c := &r.nodes[i].Object.Status.Conditions[k]
				if c.Type == kind && c.Status == corev1.ConditionTrue {
					count.Nodes++
					break
				}
			}
		}
		if count.Nodes > 0 {
			counts = append(counts, count)
		}
	}
	return counts
}

// obstacle says what a rollout waits for by its policy, or why it was given up, with the first nodes that are in the way; "" if
// it is nothing of that kind.
func (r *run) obstacle() string {
	if r.isGivenUp() {
		return r.gaveUpBefore()
	}
	if r.failed > r.maxFailed {
		return r.failedText()
	}
	if next := r.plan.nextPart(); next != nil && r.plan.Budget.Waiting == 0 {
		return next.obstacle(nil)
	}
	if r.failed > 0 {
		return r.failedText()
	}
	return ""
}

// statusTrial returns what the status says of the canary (S2).
func (r *run) statusTrial() status.Trial {
	if r.isGivenUp() {
		return status.Trial{State: status.RolledBack, Message: r.gaveUpBefore()}
	}
	if r.spec.Strategy.Canary == nil {
		return status.Trial{}
	}
	trial := status.Trial{
		Reason: r.trial.Reason.String(), Message: r.trial.Message(), Starting: r.trial.Reason == canary.Starting,
	}
	switch r.trial.Phase {
	case canary.Running:
		trial.State = status.Canary
		if r.trial.Reason == canary.NoNodes {
			trial.State = status.Stuck
		}
		for i := range r.nodes {
			d := r.decision(int32(i))
			trial.Held = trial.Held || d.Canary && d.Reason == ReasonHeld
		}
	case canary.Paused:
		trial.State = status.CanaryPaused
	case canary.Failed:
		trial.State = status.CanaryFailed
	default:
		trial.Promoted = r.trial.Reason == canary.Promoted || r.trial.Reason == canary.Validated
	}
	return trial
}

// reportOverrides lists what is wrong with overrides: the conflicts once each, the malformed annotations by node.
func (r *run) reportOverrides() {
	if len(r.effects) == 0 {
		return
	}
	seen := make(map[placement.Conflict]int)
	for i := range r.nodes {
		effect := r.effectOn(&r.nodes[i])
		if effect == nil {
			continue
		}
		name := r.nodes[i].Name
		for _, conflict := range effect.Conflicts {
			at, ok := seen[conflict]
			if !ok {
				at = len(r.plan.OverrideConflicts)
				seen[conflict] = at
				r.plan.OverrideConflicts = append(r.plan.OverrideConflicts, OverrideConflict{Conflict: conflict, Node: name})
			}
			r.plan.OverrideConflicts[at].Nodes++
		}
		for _, malformed := range effect.Malformed {
			r.plan.MalformedOverrides = append(r.plan.MalformedOverrides, MalformedOverride{Node: name, Malformed: malformed})
		}
	}
}

// What the next plan is to know.

func (r *run) memory() Memory {
	rollout := r.record
	rollout.Frontier, rollout.GaveUp, rollout.Begun = r.frontier(), r.plan.GaveUp, r.begun()
	rollout.Completed = r.plan.Status.CompletedRevision == rollout.Revision
	return Memory{
		Version:        MemoryVersion,
		Backoffs:       r.backoffs.memory(func(node string) bool { return r.nodeFacts.Find(node) != none }),
		Rollout:        rollout,
		Canary:         r.canaryRecord(),
		Conditions:     r.plan.Status.Conditions,
		CollisionCount: r.revision.CollisionCount,
	}
}

// begun returns the nodes that were begun by deleting a Ready pod, and whose new pod is not seen yet (B9). They are as many as
// the budgets let begin. Where the outdated pod is still there, and nothing marks it, nothing was begun.
func (r *run) begun() []Begun {
	if r.outages == nil && r.failures == nil {
		return nil
	}
	var list []Begun
	for i := range r.nodes {
		n, d := &r.nodes[i], r.decision(int32(i))
		at, _ := r.begunAt(n.Name)
		switch {
		case n.goalPod != none || n.goal != toUpdate:
			continue
		case d.Verb == VerbReplace && d.Reason == ReasonOutdated:
			at = r.snapshot.Now
		case n.outdatedPod != none || at.IsZero():
			continue
		}
		list = append(list, Begun{Node: n.Name, At: at})
	}
	return list
}

// canaryRecord returns what to remember of the canary. Without a canary that is nothing, except while pods carry the canary
// label: then the nodes are remembered, so that later plans take the label off. A fail of a revision that is not written is
// remembered: whoever has deleted all revisions of a frozen set does not retry what has failed (C5).
func (r *run) canaryRecord() canary.Record {
	if r.unwritten() && r.trial.Phase != canary.Failed {
		return canary.Record{}
	}
	if r.spec.Strategy.Canary != nil {
		return r.trial.Record
	}
	for i := range r.pods {
		if p := &r.pods[i]; p.traits.hasAny(labelled) {
			return canary.Record{Nodes: slices.Clone(r.remembered.Canary.Nodes)}
		}
	}
	return canary.Record{}
}
