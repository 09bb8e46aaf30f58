package status

import (
	"strconv"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The types of conditions (S3).
const (
	// ConditionAvailable is True while Counts.Unavailable <= MaxUnavailable or no node is desired, otherwise
	// False.
	ConditionAvailable = "Available"
	// ConditionProgressing is about the rollout of the update revision:
	//
	//	False    RolloutComplete                            the rollout was seen complete, now or earlier
	//	False    RolloutHeld, OnDelete                      all that is not held is done
	//	True     RolloutInProgress, WaitingForAvailability, it goes on by itself
	//	         StageSoaking
	//	True     CanaryOnTrial                              it is tried, and goes on once it is promoted
	//	Unknown  PausedBySpec, FrozenBySpec,                it is not done, and does not go on
	//	         CanaryOnHold, CanaryRejected,
	//	         CanaryWithoutNodes, CanaryHeld,
	//	         HeldPodsUseUpBudget, ApprovalNeeded,
	//	         StageWithoutEvidence, TooManyFailures,
	//	         FailedNodesUseUpBudget, FailedNodesLeft
	//
	// The first row that applies counts. So a client waits for Progressing=False after a change of the spec, once
	// ObservedGeneration has caught up.
	ConditionProgressing = "Progressing"
	// ConditionCanary is about the trial of the update revision, whether or not the set is paused or frozen:
	//
	//	True   CanaryOnTrial, CanaryOnHold, CanaryWithoutNodes  it is on trial
	//	False  CanaryRejected, CanaryPromoted                   it was, with that result
	//
	// If Trial.Reason is fit for a condition, it replaces these reasons. For a revision that never was on trial there is no
	// such condition.
	ConditionCanary = "Canary"
)

// The limits of the API for the texts of a condition, in bytes.
const (
	maxReason  = 1024
	maxMessage = 32768
)

// conditions returns the conditions of a set. Canary, which a set may lack, comes last, so that the others keep their places.
func conditions(in *Input, p progress, state SetState, reason ConditionReason) []metav1.Condition {
	available, availableReason := metav1.ConditionTrue, EnoughNodesAvailable
	if in.Counts.Unavailable > max(0, in.MaxUnavailable) {
		available, availableReason = metav1.ConditionFalse, TooFewNodesAvailable
	}
	progressing, progressingReason := progressingOf(in, p, state, reason)
	list := make([]metav1.Condition, 0, 3)
	list = append(list,
		condition(in, ConditionAvailable, available, availableReason.String(), availableMessage(in)),
		condition(in, ConditionProgressing, progressing, progressingReason.String(), progressingMessage(in, p)))
	if tried, reason := canaryOf(&in.Trial); reason != ReasonNone {
		list = append(list, condition(in, ConditionCanary, tried, reasonOf(&in.Trial, reason), cut(in.Trial.Message)))
	}
	return list
}

// canaryOf returns status and reason of the condition Canary; with ReasonNone there is none.
func canaryOf(t *Trial) (metav1.ConditionStatus, ConditionReason) {
	switch {
	case t.State == Canary:
		return metav1.ConditionTrue, CanaryOnTrial
	case t.State == CanaryPaused:
		return metav1.ConditionTrue, CanaryOnHold
	case t.State == Stuck:
		return metav1.ConditionTrue, CanaryWithoutNodes
	case t.State == CanaryFailed:
		return metav1.ConditionFalse, CanaryRejected
	case t.Promoted:
		return metav1.ConditionFalse, CanaryPromoted
	default:
		return "", ReasonNone
	}
}

// reasonOf returns the reason of the trial, or the other one if the API would refuse the first in a condition.
func reasonOf(t *Trial, otherwise ConditionReason) string {
	if len(t.Reason) == 0 || len(t.Reason) > maxReason {
		return otherwise.String()
	}
	for i := range len(t.Reason) {
		switch c := t.Reason[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
		case i > 0 && ('0' <= c && c <= '9' || c == '_'):
		case i > 0 && i < len(t.Reason)-1 && (c == ',' || c == ':'):
		default:
			return otherwise.String()
		}
	}
	return t.Reason
}

// cut shortens a message that is too long for the API, between two characters.
func cut(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	end := maxMessage
	for end > 0 && !utf8.RuneStart(message[end]) {
		end--
	}
	return message[:end]
}

func progressingOf(in *Input, p progress, state SetState, reason ConditionReason) (metav1.ConditionStatus, ConditionReason) {
	switch {
	case p.complete || p.latched:
		return metav1.ConditionFalse, RolloutComplete
	case p.reached:
		return metav1.ConditionFalse, restReason(in, p)
	case state == Updating, state == Canary:
		return metav1.ConditionTrue, reason
	default:
		return metav1.ConditionUnknown, reason
	}
}

func condition(
	in *Input, kind string, status metav1.ConditionStatus, reason, message string,
) metav1.Condition {
	return metav1.Condition{
		Type:               kind,
		Status:             status,
		ObservedGeneration: in.Generation,
		LastTransitionTime: transition(in, kind, status),
		Reason:             reason,
		Message:            message,
	}
}

// transition returns when the condition took on status. It is in whole seconds, as the API stores it, because a status that
// went through JSON must equal one that did not.
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
	if in.Gated > 0 {
		b = append(number(b, ", ", in.Gated), " kept waiting by the policy"...)
	}
	if in.Waiting > 0 {
		b = append(number(b, ", ", in.Waiting), " waiting for the budget"...)
	}
	if in.HeldUnavailable > 0 {
		b = append(number(b, ", ", in.HeldUnavailable), " unavailable while held back"...)
	}
	before := "; of those left "
	for _, c := range in.Lifecycle {
		b = append(append(number(b, before, c.Nodes), " with "...), c.Condition...)
		before = ", "
	}
	if in.Obstacle != "" {
		b = append(append(b, "; "...), in.Obstacle...)
	}
	return cut(string(b))
}

func number(b []byte, before string, n int32) []byte {
	return strconv.AppendInt(append(b, before...), int64(n), 10)
}
