package status

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The types of the conditions by which tools wait: Helm 4, Flux and kpt take them for any kind of object (kstatus).
const (
	// ConditionReady is True if all is done that the spec lets be done.
	ConditionReady = "Ready"
	// ConditionReconciling is True while the tools are to wait: the rollout goes on, is on trial, soaks, or waits for somebody
	// who has paused it, frozen the set, or has yet to approve a stage.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is True if the tools are to give up: the set is stuck, or its revision failed or was rolled back.
	ConditionStalled = "Stalled"
)

// Kstatus returns the conditions Ready, Reconciling and Stalled of a set, of which one is True, in this order. They say what
// State and the condition Progressing say, in the words of tools that know no set of this kind. Previous are the conditions that
// were written before, for their transition times; others in it are not looked at. With the zero Status, for a set without a
// plan, a tool waits.
func Kstatus(s Status, previous []metav1.Condition, now time.Time) []metav1.Condition {
	reason, message := s.Reason.String(), ""
	progressing := metav1.ConditionUnknown
	for i := range s.Conditions {
		if c := &s.Conditions[i]; c.Type == ConditionProgressing {
			progressing, message = c.Status, c.Message
		}
	}
	if s.Reason == ReasonNone {
		reason = "NotPlanned"
	}
	isTrue := ConditionReconciling
	switch s.State {
	case Stuck, RolledBack, CanaryFailed:
		isTrue = ConditionStalled
	default:
		if progressing == metav1.ConditionFalse {
			isTrue = ConditionReady
		}
	}
	list := make([]metav1.Condition, 0, 3)
	for _, kind := range []string{ConditionReady, ConditionReconciling, ConditionStalled} {
		c := metav1.Condition{
			Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: message, ObservedGeneration: s.ObservedGeneration,
			LastTransitionTime: metav1.NewTime(now),
		}
		if kind == isTrue {
			c.Status = metav1.ConditionTrue
		}
		for i := range previous {
			if before := &previous[i]; before.Type == kind && before.Status == c.Status {
				c.LastTransitionTime = before.LastTransitionTime
				break
			}
		}
		list = append(list, c)
	}
	return list
}
