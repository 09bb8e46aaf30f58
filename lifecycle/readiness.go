package lifecycle

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// InPlaceUpdateReady is the readiness gate of pods that are updated in place. Its condition is not True from
// just before an in-place update until the update is complete.
const InPlaceUpdateReady corev1.PodConditionType = "InPlaceUpdateReady"

// Readiness of one pod at one instant (B5). The zero value is that of a pod that is not ready.
//
// Available implies Ready; AvailableAt is set only if Ready and not Available.
type Readiness struct {
	// Ready reports whether the pod's Ready condition is True and nothing outranks it; see the function [Ready].
	Ready bool
	// Available reports whether the pod has been ready for at least minReadySeconds.
	Available bool
	// AvailableAt is the instant at which a ready pod becomes available if nothing changes. It is zero for a
	// pod that is available, or not ready, or whose Ready condition has no transition time: the passing of
	// time alone never makes that one available.
	AvailableAt time.Time
}

// Evaluate returns the readiness and availability of pod at now. A nil pod is neither ready nor available.
//
// A pod is available once it has been ready for minReadySeconds, that very instant included. The time it
// became ready is the last transition time of its Ready condition; one that lies after now (clock skew) makes
// the pod available later, never earlier. With minReadySeconds of 0 or less, ready is available, whatever the
// transition time says.
func Evaluate(pod *corev1.Pod, minReadySeconds int32, now time.Time) Readiness {
	since, ready := ReadySince(pod)
	if !ready {
		return Readiness{}
	}
	return EvaluateSince(since, minReadySeconds, now)
}

// EvaluateSince is [Evaluate] for a pod that is ready since then, as [ReadySince] returns it.
func EvaluateSince(since time.Time, minReadySeconds int32, now time.Time) Readiness {
	if minReadySeconds <= 0 {
		return Readiness{Ready: true, Available: true}
	}
	if since.IsZero() {
		return Readiness{Ready: true}
	}
	// 2^31 seconds are 2^61 ns: the product cannot overflow.
	at := since.Add(time.Duration(minReadySeconds) * time.Second)
	if at.After(now) {
		return Readiness{Ready: true, AvailableAt: at}
	}
	return Readiness{Ready: true, Available: true}
}

// ReadySince returns whether pod is ready, and the last transition time of the condition that says so; zero: that has none. The
// passing of time changes neither.
func ReadySince(pod *corev1.Pod) (since time.Time, ready bool) {
	condition := readyCondition(pod)
	if condition == nil {
		return time.Time{}, false
	}
	return condition.LastTransitionTime.Time, true
}

// Ready reports whether pod is ready: it is not [Terminal], its Ready condition is True (the first one,
// should there be several, as in the Kubernetes controller), and it has no [InPlaceUpdateReady] condition
// that is not True.
func Ready(pod *corev1.Pod) bool {
	return readyCondition(pod) != nil
}

// Available reports whether pod is available at now. It is the Available field of [Evaluate].
func Available(pod *corev1.Pod, minReadySeconds int32, now time.Time) bool {
	return Evaluate(pod, minReadySeconds, now).Available
}

// Terminal reports whether pod has ended for good: its phase is Failed or Succeeded. The phase outranks the conditions, because
// nobody updates these on a pod whose node was lost. A nil pod has not ended.
func Terminal(pod *corev1.Pod) bool {
	return pod != nil && (pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded)
}

// readyCondition returns the condition that makes pod ready, or nil if it is not ready. It scans the conditions only once,
// because a plan calls it for each pod of the fleet.
func readyCondition(pod *corev1.Pod) *corev1.PodCondition {
	if pod == nil || Terminal(pod) {
		return nil
	}
	var ready *corev1.PodCondition
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		switch c.Type {
		case corev1.PodReady:
			if ready == nil {
				ready = c
			}
		case InPlaceUpdateReady:
			if c.Status != corev1.ConditionTrue {
				return nil
			}
		}
	}
	if ready == nil || ready.Status != corev1.ConditionTrue {
		return nil
	}
	return ready
}
