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
	why      string // of the restarts
	stuck    string // why it cannot start, or takes too long to be created; empty: neither
}

func (p peer) troubleOf(t *setting, pod *corev1.Pod) (found trouble, problem string) {
	found.restarts, found.why = mostRestarts(pod)
	limit := durationOf(t.spec.AutoPause.MaxSlowStartDuration)
	late := func() bool {
		at, ok := startOf(pod)
		if !ok && p.is(startTimeElseCreation) {
			at, ok = pod.CreationTimestamp.Time, true
		}
		if !ok {
			problem = "no start time"
			return true
		}
		return t.now.After(at.Add(*limit))
	}
	creating := []string{"ContainerCreating"}
	if p.is(initializingIsCreating) {
		creating = append(creating, "PodInitializing")
	}
	if reason := waiting(pod, cannotStart); reason != "" {
		if limit == nil || late() {
			found.stuck = reason
		}
	} else if t.spec.AutoPause.Enabled && limit != nil && waiting(pod, creating) != "" && late() {
		found.stuck = "SlowStartTimeoutExceeded"
	}
	return found, problem
}

var cannotStart = []string{
	"ErrImagePull", "ImagePullBackOff", "ImageInspectError", "ErrImageNeverPull", "RegistryUnavailable", "InvalidImageName",
	"CreateContainerConfigError", "CreateContainerError", "PreStartHookError", "PostStartHookError", "PreCreateHookError",
}

// waiting is the first of the reasons for which containers of the pod wait that is one of those given.
func waiting(pod *corev1.Pod, reasons []string) string {
	for _, s := range containers(pod) {
		if s.State.Waiting != nil && slices.Contains(reasons, s.State.Waiting.Reason) {
			return s.State.Waiting.Reason
		}
	}
	return ""
}

// containers of all kinds, as the controller goes through them.
func containers(pod *corev1.Pod) []corev1.ContainerStatus {
	return slices.Concat(pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses, pod.Status.EphemeralContainerStatuses)
}

// mostRestarts is the number of restarts of the container that has most, and why it last ended.
func mostRestarts(pod *corev1.Pod) (most int32, reason string) {
	for _, s := range containers(pod) {
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

// latestRestart is when a container of the pod last ended to be started again, and why.
func latestRestart(pod *corev1.Pod) (at time.Time, reason string) {
	for _, s := range containers(pod) {
		if last := s.LastTerminationState.Terminated; s.RestartCount > 0 && last != nil && last.FinishedAt.After(at) {
			at, reason = last.FinishedAt.Time, cmp.Or(last.Reason, "Unknown")
		}
	}
	return at, reason
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
