package canary_test

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// pending is how long the canary still lasts by the clock. Below zero, it has ended. A canary without a duration never ends.
func (p peer) pending(t *setting) (ended bool, left time.Duration) {
	switch {
	case t.spec == nil:
		return true, 0
	case t.spec.Duration == nil:
		return false, 0
	}
	duration, created := t.spec.Duration.Duration, t.created()
	if p.is(futureIsNow) {
		created = earlierOf(created, t.now)
	}
	left = created.Add(duration).Sub(t.now)
	quiet := -duration
	if c := conditionOf(t.tried.Status.Conditions, restartingCondition); c != nil && t.spec.NoRestartsDuration != nil {
		quiet = c.LastUpdateTime.Add(t.spec.NoRestartsDuration.Duration).Sub(t.now)
	}
	left = max(left, quiet)
	return left < 0 || left == 0 && p.is(exactlyLongEnough), left
}

func (t *setting) created() time.Time { return t.tried.Metadata.CreationTimestamp.Time }

// untried reports whether the replica set needs no trial: it is the active one, or there is none.
func (t *setting) untried() bool {
	return t.active == nil || t.active.Metadata.Name == t.tried.Metadata.Name
}

func (t *setting) validated() bool { return t.annotations[validAnnotation] == t.tried.Metadata.Name }

// promote reports whether the replica set on trial becomes the active one, and returns how long the canary still lasts.
func (p peer) promote(t *setting, seen statusOutcome, failedBefore bool) (promoted bool, left time.Duration) {
	if t.spec == nil || t.untried() {
		return !seen.Failed || !p.is(failedIsNotPromoted), 0
	}
	ended, left := p.pending(t)
	halted := t.said(haltedAnnotation) || t.said(frozenAnnotation)
	switch {
	case t.validated() && (!failedBefore || !p.is(validateDoesNotRevive)):
		return true, left
	case halted && p.is(haltedPromotesNothing):
		return false, -1
	case seen.Failed && p.is(failedIsNotPromoted):
		return false, left
	default:
		return ended && !seen.Paused, left
	}
}

// report is the controller's decision about a canary, and the status that it writes to the daemonSet.
func (p peer) report(t *setting, status setStatus) (out promotionOutcome) {
	ended, left := p.pending(t)
	out.CanaryEnded, out.PendingSeconds = ended, left.Seconds()
	out.IsFailed, out.IsUnpaused, out.IsValid = t.failed(), t.said(unpausedAnnotation), t.validated()
	out.IsPaused, out.PausedReason = t.paused()
	promoted, _ := p.promote(t, statusOutcome{Failed: out.IsFailed, Paused: out.IsPaused}, out.IsFailed)
	if t.active != nil && t.spec != nil && !t.same {
		out.RequeueAfterSeconds = left.Seconds()
	}
	current := t.active
	if promoted && !t.same {
		current = &t.tried
	}
	out.Current = map[bool]string{true: "upToDate", false: "active"}[current.Metadata.Name == t.tried.Metadata.Name]
	out.Status = status
	out.Status.ActiveReplicaSet = current.Metadata.Name
	out.Status.Desired, out.Status.UpToDate = current.Status.Desired, current.Status.Current
	out.Status.Available, out.Status.IgnoredUnresponsiveNodes = current.Status.Available, current.Status.IgnoredUnresponsiveNodes
	out.Status.State = t.idleState()
	if t.spec == nil {
		return out
	}
	out.IsCanaryActive = !out.IsFailed && current.Metadata.Name != t.tried.Metadata.Name
	out.Status.Canary, out.Status.Reason = nil, ""
	switch {
	case out.IsFailed:
		out.RestoresTemplateOf = current.Metadata.Name
		out.Status.State = "Canary Failed"
		out.Status.add(t.now, failedCondition, "CanaryFailed", "canary failed with ers: "+t.tried.Metadata.Name)
	case out.IsPaused:
		out.Status.add(t.now, pausedCondition, out.PausedReason, "canary paused with ers: "+t.tried.Metadata.Name)
	}
	if out.IsCanaryActive {
		out.Status.Canary = &struct {
			ReplicaSet string
			Nodes      []string
		}{ReplicaSet: t.tried.Metadata.Name}
		out.Status.UpToDate = t.tried.Status.Current
		out.Status.Desired += t.tried.Status.Desired
		out.Status.Available += t.tried.Status.Available
		out.Status.IgnoredUnresponsiveNodes += t.tried.Status.IgnoredUnresponsiveNodes
		out.Status.State = "Canary"
		if out.IsPaused {
			out.Status.State, out.Status.Reason = "Canary Paused", out.PausedReason
		}
	}
	return out
}

// add writes a condition that is true.
func (s *setStatus) add(at time.Time, kind, reason, message string) {
	s.Conditions = append(s.Conditions, condition{kind, "True", reason, message, metav1.NewTime(at), metav1.NewTime(at)})
}

func (t *setting) idleState() string {
	switch {
	case t.said(frozenAnnotation):
		return "Rollout frozen"
	case t.said(haltedAnnotation):
		return "RollingUpdate Paused"
	default:
		return "Running"
	}
}
