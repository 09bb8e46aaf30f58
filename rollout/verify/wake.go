package verify

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
)

// checkNextWake is the part of V15 that one plan shows.
func (v *verifier) checkNextWake() {
	wake := v.plan.NextWake
	if !wake.IsZero() && !wake.After(v.snapshot.Now) {
		v.report(15, "", "nextWake %s is not after now, right is a later instant or none", wake.UTC().Format(time.RFC3339Nano))
	}
	for _, d := range v.statements {
		v.checkWake(d.Node, d.Until, "the clock ends a wait")
		if d.Reason == rollout.ReasonGracePeriod && d.Until.IsZero() {
			v.report(15, d.Node, "I4: waits for the end of the grace period, right is to say when that is")
		}
	}
	for _, node := range v.nodes {
		for _, pod := range node.pods {
			if !pod.marked && v.counts(node) {
				v.checkPodWake("B5: pod", pod, "becomes available", pod.availableAt)
			}
			if v.waitsForBackoff(node, pod) {
				v.checkPodWake("M2: the back-off of pod", pod, "ends", v.backoffEnd(pod))
			}
			v.checkPodWake("I4: the grace period of pod", pod, "ends", v.graceEnd(node, pod))
		}
	}
	v.checkPullWakes()
	v.checkTrialWake()
	v.checkSlowWake()
	v.checkOutageWake()
	v.checkWake("", v.staging.soaked, "T8: a part has soaked")
	v.checkFailureWake()
}

// graceEnd is when an outdated pod that an earlier plan made unready is to be updated in place (I4); zero: it is not. One
// that this plan makes unready shows itself when it is observed.
func (v *verifier) graceEnd(node *node, pod *pod) time.Time {
	if node.leftAlone || node.bestOutdated != pod || pod.goes() || !v.isCandidate(node, pod) ||
		v.holdsUpdate(node, pod) != rollout.LimitNone || !v.underWay(pod) && !v.overtakes(node, pod) {
		return time.Time{}
	}
	condition := conditionOf(pod.object, lifecycle.InPlaceUpdateReady)
	if condition == nil || condition.Status == corev1.ConditionTrue ||
		!v.spec.Lifecycle.Next(pod.object, lifecycle.Update, pod.complete).Proceed { // it waits for its hook first
		return time.Time{}
	}
	if v.beginError(pod) != nil {
		return time.Time{} // nobody knows what an earlier update left behind
	}
	if len(pod.patches) > 0 {
		return time.Time{} // it is updated now, or made ready for that, and the next plan sees what that brought
	}
	grace := time.Duration(v.spec.Strategy.InPlace.GracePeriodSeconds) * time.Second
	return condition.LastTransitionTime.Add(grace)
}

// overtakes reports whether the plan surely begins to update a pod that an earlier update in place, which is not complete, has
// made unready. Its grace period runs already (I4), so that no patch shows that it was begun. Being unready it needs no budget
// (B3), but burst or slow start may turn it down. The decision tells whether they did, unless something else about the node
// hides that.
func (v *verifier) overtakes(node *node, pod *pod) bool {
	if !node.mightWait || v.spec.Strategy.Method == inplace.Recreate || !inplace.Unfinished(pod.object) || v.obstructed(pod) {
		return false
	}
	return node.saysGrace || !v.slow.on && v.limits.desired <= v.limits.burst
}

// checkWake holds nextWake against an instant at which something changes by itself; one that is over or zero is none.
func (v *verifier) checkWake(node string, at time.Time, what string) {
	if v.oversleeps(at) {
		v.report(15, node, "%s at %s, before nextWake", what, at.UTC().Format(time.RFC3339Nano))
	}
}

// checkPodWake is checkWake for what happens to a pod.
func (v *verifier) checkPodWake(what string, pod *pod, happens string, at time.Time) {
	if v.oversleeps(at) {
		v.checkWake(pod.name, at, what+" "+pod.object.Name+" "+happens)
	}
}

func (v *verifier) oversleeps(at time.Time) bool {
	return at.After(v.snapshot.Now) && (v.plan.NextWake.IsZero() || v.plan.NextWake.After(at))
}

// counts reports whether it matters that a pod of the node becomes available: nowhere where pods go in any case. Under
// surge pods of a leave node serve until there are enough others, unless a taint drives them away (M4).
func (v *verifier) counts(node *node) bool {
	return node.outcome != placement.Leave || v.surges() && !node.tainted
}

// waitsForBackoff reports whether the plan leaves a Failed pod for the sake of its back-off (M2). Frozen leaves all.
func (v *verifier) waitsForBackoff(node *node, pod *pod) bool {
	return pod.failed && pod.stays() && !pod.leaving && !pod.dismissed && node.outcome != placement.Leave &&
		v.hasBackoff(pod) && !v.spec.Strategy.Frozen
}

// hasBackoff reports whether the deletion of Failed pods such as this one is slowed down: outdated ones of nodes that
// are not held go at once, for another revision follows (M2).
func (v *verifier) hasBackoff(pod *pod) bool {
	return pod.current || !v.mayReachGoal(pod.node)
}

// checkMemory is the part of V12 that the next plan needs for M2: the back-offs that are under way go on, and those of
// the pods that this plan deletes begin.
func (v *verifier) checkMemory() {
	if v.plan.Memory.Version != rollout.MemoryVersion {
		v.report(12, "", "memory.version is %d, right is %d", v.plan.Memory.Version, rollout.MemoryVersion)
	}
	begun := make(map[backoffKey]bool)
	for _, entry := range v.plan.Memory.Backoffs {
		if entry.Since.Equal(v.snapshot.Now) && entry.Delay >= time.Second && entry.Delay <= 15*time.Minute {
			begun[backoffKey{entry.Node, entry.Revision}] = true
		}
	}
	for _, node := range v.nodes {
		for _, pod := range node.pods {
			if pod.failed && pod.goes() && !pod.leaving && node.outcome != placement.Leave && v.hasBackoff(pod) &&
				!begun[v.backoffKeyOf(pod)] {
				v.report(12, node.name, "M2: no back-off of 1 s to 15 min in memory since now, although the Failed "+
					"pod %s is deleted", pod.object.Name)
			}
		}
	}
	remembered := v.backoffEnds(v.plan.Memory)
	for key, end := range v.backoffs {
		if v.nodeOf(key.node) != nil && end.After(v.snapshot.Now) && remembered[key].Before(end) {
			v.report(12, key.node, "M2: memory forgets that the back-off of revision %q ends at %s", key.revision,
				end.UTC().Format(time.RFC3339Nano))
		}
	}
}

// checkTrialWake is the part of V15 about the canary: the clock, the timeout, and what the plan itself says.
func (v *verifier) checkTrialWake() {
	options := v.spec.Strategy.Canary
	until := v.plan.Canary.Until
	v.checkWake("", until, "the clock ends what the canary waits for")
	if !v.onTrial() {
		return
	}
	record, c := v.plan.Memory.Canary, v.judged
	if !until.IsZero() {
		c.checkUntil(record, until)
	}
	if options.Mode == canary.Auto && v.trial.phase == canary.Running && !record.Since.IsZero() &&
		c.allAvailable() {
		v.checkWake("", record.Since.Add(*options.Duration-record.Elapsed), "C2: the canary has lasted for its duration")
	}
	if fail := options.AutoFail; !fail.Disabled && fail.CanaryTimeout != nil && !c.pause {
		v.checkWake("", record.Began.Add(*fail.CanaryTimeout+1), "C4: the canary has taken longer than its timeout")
	}
}

// checkUntil judges when the plan says that the clock can promote the revision, if nothing happens until then (C2): at the later
// of two ends. Only if a restart is dated after now it may be later than what the record says.
func (c *judgedCanary) checkUntil(record canary.Record, until time.Time) {
	options := c.spec.Strategy.Canary
	if options.Mode != canary.Auto {
		c.report(12, "", "C2: canary until %s, right is none: a command ends it", until.UTC().Format(time.RFC3339Nano))
		return
	}
	lasted, settled := record.Since.Add(*options.Duration-record.Elapsed), record.Disturbed.Add(*options.NoRestartsDuration)
	first := latest(lasted, settled)
	last := first
	for _, pod := range c.tried() {
		if at := lastRestartOf(pod.object); at.After(c.snapshot.Now) {
			last = latest(last, at.Add(*options.NoRestartsDuration))
		}
	}
	if until.Before(first) || until.After(last) {
		c.report(12, "", "C2: canary until %s, right is not before %s and not after %s", until.UTC().Format(time.RFC3339Nano),
			first.UTC().Format(time.RFC3339Nano), last.UTC().Format(time.RFC3339Nano))
	}
}

// checkSlowWake is the part of V15 about B7 and B8.
func (v *verifier) checkSlowWake() {
	// Only who was turned down waits for a place.
	waits := slices.ContainsFunc(v.statements, func(d statement) bool { return d.Limit == rollout.LimitSlowStart })
	if waits {
		v.checkWake("", v.slow.rises, "B7: the limit rises")
		v.checkWake("", v.slow.ends, "B7: a node is no longer under way")
	}
	isolated := func(node *node) bool { return node.exemption == rollout.ExemptionUnschedulable }
	spare := v.count(isolated) < v.limits.maxUnschedulable
	for _, node := range v.nodes {
		under := false
		if waits && v.slow.on && node.outcome == placement.Run {
			_, under = v.isUnderWay(node)
		}
		// What the plan itself makes of the node does not tell what it will leave out.
		untouched := len(node.creates) == 0 && !node.any(func(p *pod) bool { return p.goes() || p.begun })
		counts := spare && untouched && node.exemption != rollout.ExemptionOut && (node.unavailable || node.surging)
		if !under && !counts || node.isolated() {
			continue
		}
		for _, pod := range node.pods {
			if pod.isDeleted && !pod.terminal {
				v.checkPodWake("B8: pod", pod, "is terminating for too long", pod.gone)
			}
		}
	}
}
