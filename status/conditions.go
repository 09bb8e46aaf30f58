package status

import (
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The types of conditions (S3).
const (
	// ConditionAvailable is True while Counts.Unavailable <= MaxUnavailable or no node is desired, otherwise
	// False.
	ConditionAvailable = "Available"
	// ConditionProgressing tells of the rollout of the update revision:
	//
	//	False    RolloutComplete                            the rollout was seen complete, now or earlier
	//	False    RolloutHeld, OnDelete                      all that is not held is done
	//	True     RolloutInProgress, WaitingForAvailability  it goes on by itself
	//	Unknown  PausedBySpec, FrozenBySpec,                it is not done, and does not go on
	//	         HeldPodsUseUpBudget
	//
	// The first row that applies counts. So Progressing=False is what to wait for after a change of the spec,
	// once ObservedGeneration has caught up.
	ConditionProgressing = "Progressing"
)

// conditions returns the conditions of a set, in order of their types.
func conditions(in *Input, p progress, state State, reason Reason) []metav1.Condition {
	available, availableReason := metav1.ConditionTrue, EnoughNodesAvailable
	if in.Counts.Unavailable > max(0, in.MaxUnavailable) {
		available, availableReason = metav1.ConditionFalse, TooFewNodesAvailable
	}
	progressing, progressingReason := progressingOf(in, p, state, reason)
	return []metav1.Condition{
		condition(in, ConditionAvailable, available, availableReason, availableMessage(in)),
		condition(in, ConditionProgressing, progressing, progressingReason, progressingMessage(in, p)),
	}
}

func progressingOf(in *Input, p progress, state State, reason Reason) (metav1.ConditionStatus, Reason) {
	switch {
	case p.complete || p.latched:
		return metav1.ConditionFalse, RolloutComplete
	case p.reached:
		return metav1.ConditionFalse, restReason(in, p)
	case state == Updating:
		return metav1.ConditionTrue, reason
	default:
		return metav1.ConditionUnknown, reason
	}
}

func condition(
	in *Input, kind string, status metav1.ConditionStatus, reason Reason, message string,
) metav1.Condition {
	return metav1.Condition{
		Type:               kind,
		Status:             status,
		ObservedGeneration: in.Generation,
		LastTransitionTime: transition(in, kind, status),
		Reason:             reason.String(),
		Message:            message,
	}
}

// transition is when the condition took on status. In whole seconds, as the API stores it: a status that went
// through JSON must equal one that did not.
func transition(in *Input, kind string, status metav1.ConditionStatus) metav1.Time {
	for i := range in.Previous {
		c := &in.Previous[i]
		if c.Type != kind {
			continue
		}
		if c.Status == status && !c.LastTransitionTime.IsZero() {
			return c.LastTransitionTime
		}
		break
	}
	return metav1.Time{Time: in.Now.UTC().Truncate(time.Second)}
}

func availableMessage(in *Input) string {
	if in.Counts.Desired <= 0 {
		return "no node is to run the pod"
	}
	b := make([]byte, 0, 64)
	b = number(b, "", in.Counts.Available)
	b = number(b, " of ", in.Counts.Desired)
	b = number(b, " nodes available, at most ", max(0, in.MaxUnavailable))
	return string(append(b, " may be unavailable"...))
}

func progressingMessage(in *Input, p progress) string {
	if in.Counts.Desired <= 0 {
		return "no node is to run the pod"
	}
	b := make([]byte, 0, 128)
	b = number(b, "", p.settled)
	b = number(b, " of ", in.Counts.Desired)
	b = append(b, " nodes updated and available"...)
	if p.held > 0 {
		b = append(number(b, ", ", p.held), " held back"...)
	}
	if in.Waiting > 0 {
		b = append(number(b, ", ", in.Waiting), " waiting for the budget"...)
	}
	if in.HeldUnavailable > 0 {
		b = append(number(b, ", ", in.HeldUnavailable), " unavailable while held back"...)
	}
	return string(b)
}

func number(b []byte, before string, n int32) []byte {
	return strconv.AppendInt(append(b, before...), int64(n), 10)
}
