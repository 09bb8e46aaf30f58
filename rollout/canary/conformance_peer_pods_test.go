package canary_test

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// trouble is what is wrong with a pod.
type trouble struct {
	restarts int32
	why      string // the reason of the restarts
	stuck    string // why it cannot start, or takes too long to be created; empty: neither
}

// troubleOf returns what is wrong with a pod. If the problem is not empty, it makes the controller panic, whatever else there is.
func (p peer) troubleOf(t *setting, pod *corev1.Pod) (found trouble, problem string) {
	if p.ended(pod) {
		return trouble{}, ""
	}
	found.restarts, found.why = p.mostRestarts(pod)
	if found.restarts > 0 && !p.is(lastStateIsAny) && slices.ContainsFunc(p.containers(pod), endsUnknown) {
		return found, "the last state of a container that restarted is not that it terminated"
	}
	limits := t.spec.limits()
	late := func() bool {
		at, ok := startOf(pod)
		if !ok && p.is(startTimeElseCreation) {
			at, ok = pod.CreationTimestamp.Time, true
		}
		if !ok {
			problem = "no start time"
			return true
		}
		return t.now.After(at.Add(*limits.slow))
	}
	creating := []string{"ContainerCreating"}
	if p.is(initializingIsCreating) {
		creating = append(creating, "PodInitializing")
	}
	if reason := p.waiting(pod, cannotStart); reason != "" {
		if limits.slow == nil || late() {
			found.stuck = reason
		}
	} else if limits.pauses && limits.slow != nil && p.waiting(pod, creating) != "" && late() {
		found.stuck = "SlowStartTimeoutExceeded"
	}
	return found, problem
}

// endsUnknown reports whether the container has restarts, and a last state that is not Terminated.
func endsUnknown(s corev1.ContainerStatus) bool {
	last := s.LastTerminationState
	return s.RestartCount != 0 && last.Terminated == nil && (last.Running != nil || last.Waiting != nil)
}

// ended reports whether the pod has finished, so that it is ignored.
func (p peer) ended(pod *corev1.Pod) bool {
	return p.is(endedPodsArePassedOver) && (pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded)
}

var cannotStart = []string{
	"ErrImagePull", "ImagePullBackOff", "ImageInspectError", "ErrImageNeverPull", "RegistryUnavailable", "InvalidImageName",
	"CreateContainerConfigError", "CreateContainerError", "PreStartHookError", "PostStartHookError", "PreCreateHookError",
}

// waiting is the first reason for which a container of the pod waits and that is one of the given reasons.
func (p peer) waiting(pod *corev1.Pod, reasons []string) string {
	for _, s := range p.containers(pod) {
		if s.State.Waiting != nil && slices.Contains(reasons, s.State.Waiting.Reason) {
			return s.State.Waiting.Reason
		}
	}
	return ""
}

// containers are the containers of all kinds, in the order of the controller.
func (p peer) containers(pod *corev1.Pod) []corev1.ContainerStatus {
	all := slices.Concat(pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses)
	if p.is(ephemeralsDoNotCount) {
		return all
	}
	return append(all, pod.Status.EphemeralContainerStatuses...)
}

// mostRestarts is the number of restarts of the container that has most, and why it last ended.
func (p peer) mostRestarts(pod *corev1.Pod) (most int32, reason string) {
	for _, s := range p.containers(pod) {
		if s.RestartCount <= most {
			continue
		}
		most, reason = s.RestartCount, "Unknown"
		if last := s.LastTerminationState.Terminated; last != nil {
			reason = cmp.Or(last.Reason, "Unknown")
		}
	}
	return most, reason
}

// end is when a container ended that was started again, and why.
type end struct {
	at  time.Time
	why string
}

// ends are the ends of the pod's containers that its status still shows.
func (p peer) ends(pod *corev1.Pod) (ends []end) {
	if most, _ := p.mostRestarts(pod); most <= 0 && !p.is(restartsAreDatedAnyhow) {
		return nil
	}
	for _, s := range p.containers(pod) {
		var at time.Time
		last, why := s.LastTerminationState.Terminated, "Unknown"
		switch {
		case last != nil && !last.FinishedAt.IsZero() && (s.RestartCount != 0 || p.is(restartsAreDatedAnyhow)):
			at, why = last.FinishedAt.Time, cmp.Or(last.Reason, why)
		case !p.is(restartsAreDatedAnyhow), last == nil && s.RestartCount <= 0:
		case s.State.Running != nil:
			at = s.State.Running.StartedAt.Time
		case s.State.Terminated != nil:
			at = s.State.Terminated.StartedAt.Time
		}
		if !at.IsZero() {
			ends = append(ends, end{at, why})
		}
	}
	return ends
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
