package stock

import (
	"encoding/json"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/status"
)

// How the controller updates: nodes of a canary at once, and the others in turn.

// labelPeriod is for how long after a promotion the controller takes the label of a canary off.
const labelPeriod = 5 * time.Minute

// handleTrial handles the replica set on trial. Pods on canary nodes that are not of it go at once, past every budget, also while
// the canary or the whole set is paused, frozen or has failed; new ones come only while the canary goes on. On all other nodes it
// cleans up, too.
func (s *extendedRound) handleTrial() {
	r := s.trial
	if r == nil {
		return
	}
	views := s.see(r, func(*node) bool { return false })
	views = slices.DeleteFunc(views, func(v view) bool { return !s.isCanary(v.node) })
	pods := make(map[string]*member)
	for _, v := range views {
		v.facts |= status.Desired // also where it does not run
		s.tally(r, v, false)
		if v.runs && v.kept != nil && !v.kept.marked && v.current {
			pods[v.name] = v.kept
		}
	}
	cleaned := s.deletes
	s.deletes = nil
	if s.requested || s.delayed(r, fullSync) || !s.judge(pods) {
		s.forget(cleaned)
		return
	}
	for _, v := range views {
		switch {
		case !v.runs:
		case v.kept == nil && (s.canary.Pause != nil || s.canary.Verdict != nil):
			v.waits = rollout.LimitCanary
		case v.kept == nil:
			s.begin(r, v.node)
		case v.current:
			s.label(v.kept, v.node, true)
		default:
			s.delete(v.node, v.kept, rollout.ReasonOutdated, rollout.VerbReplace)
		}
	}
	s.did(r, cleaned)
}

// handleActive handles the active replica set, on all nodes but those of the canary.
func (s *extendedRound) handleActive() {
	r := s.active
	if r == nil {
		return
	}
	roll := s.surveyRoll(r, s.see(r, s.isCanary))
	cleaned := s.deletes
	s.deletes = nil
	if s.requested || s.delayed(r, fullSync) {
		s.forget(cleaned)
		return
	}
	s.unlabel(r)
	s.createMissing(r, roll)
	s.replaceOutdated(roll)
	s.did(r, cleaned)
	record := &s.memory.Rollout
	switch halted := s.spec.Strategy.Paused || s.spec.Strategy.Frozen; {
	case halted && record.PausedSince.IsZero():
		record.PausedSince = s.now
	case !halted && (record.Began.IsZero() || !record.PausedSince.IsZero()):
		record.Began, record.PausedSince = s.now, time.Time{}
	}
}

// roll is what there is to do for the active replica set.
type roll struct {
	missing, broken, healthy []view
	desired, budget          int32
}

// surveyRoll finds what there is to do, and how much of the budget is left. Nodes whose pod is stuck are passed over, whatever
// its revision, and as many of them as maxUnschedulable do not count.
func (s *extendedRound) surveyRoll(r *replicaSet, views []view) (found roll) {
	stuck := int32(0)
	for _, v := range views {
		if !v.runs {
			s.tally(r, v, false)
			continue
		}
		found.desired++
		isStuck := v.kept != nil && s.isStuck(v.kept)
		s.tally(r, v, isStuck)
		if serves := v.kept != nil && v.kept.ready && (!v.kept.marked || v.current); isStuck || !serves {
			s.use(v.node, &s.unavailable)
		}
		switch {
		case isStuck:
			stuck++
		case v.kept == nil:
			found.missing = append(found.missing, v)
		case v.kept.marked || v.current:
		case v.kept.ready:
			found.healthy = append(found.healthy, v)
		default:
			found.broken = append(found.broken, v)
		}
	}
	strategy := &s.spec.Strategy
	s.desired, s.maxUnavailable = found.desired, scaled(strategy.MaxUnavailable, found.desired)
	s.unavailable -= min(stuck, scaled(strategy.MaxUnschedulable, found.desired))
	found.budget = s.maxUnavailable - s.unavailable
	return found
}

// isStuck reports whether the controller takes the pod for stuck: it has not been bound for ten minutes, or is still there its
// grace period after the time at which it should have been gone.
func (s *extendedRound) isStuck(pod *member) bool {
	if pod.Spec.NodeName == "" {
		const patience = 10 * time.Minute
		if late := pod.CreationTimestamp.Add(patience); late.Before(s.now) {
			return true
		} else if !pod.marked {
			s.wakeAt(late.Add(1))
		}
	}
	grace := pod.DeletionGracePeriodSeconds
	return pod.marked && grace != nil && pod.DeletionTimestamp.Add(time.Duration(*grace)*time.Second).Before(s.now)
}

// createMissing creates pods where there are none, on any of these nodes, as many in one call as slow start allows.
func (s *extendedRound) createMissing(r *replicaSet, roll roll) {
	shuffle(s.round, roll.missing)
	most := s.maxCreation(roll.desired)
	for i, v := range roll.missing {
		switch {
		case s.spec.Strategy.Frozen:
			v.waits = rollout.LimitFrozen
		case i >= most:
			v.waits = rollout.LimitSlowStart
			s.wakeAt(s.now.Add(s.of.frequency))
		default:
			s.begin(r, v.node)
		}
	}
}

// elapsed is for how long the replica set has been active, without a pause that began after that.
func (s *extendedRound) elapsed() time.Duration {
	record := s.memory.Rollout
	if record.Began.IsZero() || !record.PausedSince.IsZero() {
		return 0
	}
	return s.now.Sub(record.Began)
}

// maxCreation is how many pods one call may create.
func (s *extendedRound) maxCreation(desired int32) int {
	slow := s.spec.Strategy.SlowStart
	steps := 1 + int64(s.elapsed()/slow.Interval)
	return int(min(steps*int64(scaled(slow.Increase, desired)), int64(scaled(slow.MaxParallel, desired))))
}

// replaceOutdated deletes outdated pods: any of them, ready or not, as many as the budget has room for. Those that are not ready
// make room for as many, but all in all there are no more than maxUnavailable.
func (s *extendedRound) replaceOutdated(roll roll) {
	victims := slices.Concat(roll.broken, roll.healthy)
	shuffle(s.round, victims)
	most := min(roll.budget+int32(len(roll.broken)), s.maxUnavailable)
	for i, v := range victims {
		switch {
		case s.spec.Strategy.Frozen:
			v.waits = rollout.LimitFrozen
		case s.spec.Strategy.Paused:
			v.waits = rollout.LimitPaused
		case int32(i) >= most:
			v.waits = rollout.LimitMaxUnavailable
		default:
			reason := rollout.ReasonOutdated
			if v.kept.ready {
				s.use(v.node, &s.unavailable)
			} else {
				reason = rollout.ReasonOutdatedNotReady
			}
			s.delete(v.node, v.kept, reason, rollout.VerbReplace)
		}
	}
}

// unlabel takes the label of a canary off the pods of a replica set that became active a short time ago.
func (s *extendedRound) unlabel(r *replicaSet) {
	if s.elapsed() >= labelPeriod {
		return
	}
	for _, n := range s.nodes {
		for _, pod := range n.pods {
			if pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] == r.hash {
				s.label(pod, n, false)
			}
		}
	}
}

// tally sets what is reported of a node. The status of a replica set counts its own pods alone, also one that terminates.
func (s *extendedRound) tally(r *replicaSet, v view, isStuck bool) {
	v.shouldRun, v.mayRun, v.target = v.runs, v.runs, rollout.TargetUpdate
	if r.hash != s.hash {
		v.target = rollout.TargetStable
	}
	for _, pod := range v.pods {
		pod.updated = s.isCurrent(r, v.node, pod)
	}
	if v.decision != nil {
		v.placement = r.matcher.Evaluate(v.object)
		if v.runs {
			v.placement.Outcome = placement.Run
		} else {
			v.placement.Outcome = placement.Leave
		}
	}
	if !v.runs {
		return
	}
	v.facts |= status.Desired
	if v.kept == nil || !v.current || isStuck {
		return
	}
	v.facts |= status.Present
	if v.target == rollout.TargetUpdate {
		v.facts |= status.Updated
	}
	if v.kept.ready {
		v.facts |= status.Ready | status.Available
	}
}

// forget takes back that pods are to be deleted.
func (s *extendedRound) forget(deletes []deletion) {
	for _, d := range deletes {
		delete(s.deleting, d.pod)
	}
}

// isCanary reports whether it is a node of the canary.
func (s *extendedRound) isCanary(n *node) bool {
	return s.trial != nil && s.tried[n.name]
}

// begin wants a pod of the replica set on the node.
func (s *extendedRound) begin(r *replicaSet, n *node) {
	asks := rollout.Create{
		Node: n.name, Revision: r.hash, Reason: rollout.ReasonMissing, Canary: s.isCanary(n),
		Resources: r.overrides.Evaluate(n.object).Resources,
	}
	if r.hash != s.hash {
		asks.Template = r.template
	}
	s.creates = append(s.creates, create{n, rollout.VerbCreate, asks})
}

// label puts the label of a canary on a pod, or takes it off.
func (s *extendedRound) label(pod *member, n *node, on bool) {
	if (pod.Labels[rollout.CanaryLabel] == "true") == on {
		return
	}
	var value *string
	if on {
		value = new("true")
	}
	data, _ := json.Marshal(map[string]any{ // strings always encode
		"metadata": map[string]any{"uid": pod.UID, "labels": map[string]*string{rollout.CanaryLabel: value}},
	})
	patches := []lifecycle.Patch{{Type: types.StrategicMergePatchType, Data: data}}
	s.patch(n, pod, patches, rollout.ReasonCanaryLabel)
}

// did drops the creates and deletes of the update that come too early after others, adds those of the filter, and notes what was
// done for the replica set. Creates that come too early after others make the controller panic if it has never deleted a pod.
func (s *extendedRound) did(r *replicaSet, cleaned []deletion) {
	if s.delayed(r, podCreation) {
		s.creates = nil
		if _, has := r.handled[podDeletion]; !has {
			s.forget(slices.Concat(cleaned, s.deletes))
			s.deletes = nil
			return
		}
	}
	if s.delayed(r, podDeletion) {
		s.forget(s.deletes)
		s.deletes = nil
	}
	s.deletes = append(s.deletes, cleaned...)
	if len(s.creates) > 0 {
		r.handled[podCreation] = s.now
	}
	if len(s.deletes) > 0 {
		r.handled[podDeletion] = s.now
	}
	r.handled[fullSync] = s.now
	for name := range r.failing {
		r.backoffs.next(name, s.now)
	}
	s.asked = s.asked || len(s.creates)+len(s.deletes) > 0
	s.send()
}
