package stock

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout/canary"
)

// How the controller judges the pods of a canary. It looks at pods that are there, of the revision on trial and not on their way
// out: without one, nothing takes too long and no pause is lifted.

// judge brings what is known of the trial up to date with its pods, which are given by node. It reports whether the controller
// could: it panics about some pods, and then nothing is done.
func (s *extendedRound) judge(on map[string]*member) bool {
	if s.spec.Strategy.Canary == nil {
		return true // the canary was taken out of the spec, and the next call ends it
	}
	options := s.spec.Strategy.Canary.Default()
	judged := s.canary
	if judged.Verdict == nil && options.Commands.Fail != "" {
		judged.Verdict = &canary.Finding{Phase: canary.Failed, Reason: canary.ByCommand, At: s.now}
	}
	if judged.Pause == nil && options.Commands.Pause != "" {
		judged.Pause = &canary.Finding{Phase: canary.Paused, Reason: canary.ByCommand, At: s.now}
	}
	var pods []*member
	for _, name := range s.canary.Nodes { // in the order in which they were chosen
		if pod := on[name]; pod != nil {
			pods = append(pods, pod)
		}
	}
	for _, pod := range pods {
		trouble, panics := s.troubleOf(pod, options)
		if panics {
			return false
		}
		s.fail(&judged, trouble, options)
		switch {
		case judged.Verdict != nil:
		case options.Commands.Unpause != "":
			judged.Pause = nil
		case options.AutoPause.Disabled:
		case trouble.slow:
			judged.Pause = s.finding(judged.Pause, canary.Paused, canary.SlowStart, pod)
		case trouble.stuck:
			judged.Pause = s.finding(judged.Pause, canary.Paused, canary.CannotStart, pod)
		case trouble.restarts > *options.AutoPause.MaxRestarts:
			judged.Pause = s.finding(judged.Pause, canary.Paused, canary.TooManyRestarts, pod)
		}
	}
	if last := lastRestart(pods); last.After(judged.Restarted) {
		if judged.Restarting.IsZero() {
			judged.Restarting = last
		}
		judged.Restarted = last
	}
	if judged.Verdict != nil && s.canary.Verdict == nil {
		s.trial.handled[trialFailed] = s.now
	}
	s.canary = judged
	return true
}

// fail gives the verdict that the revision has failed, if it has: because of a pod's restarts, or because restarts or the canary
// have gone on for too long. Restarts that this call sees do not count yet.
func (s *extendedRound) fail(judged *canary.Record, trouble trouble, options canary.Options) {
	limits := options.AutoFail
	if limits.Disabled || judged.Verdict != nil {
		return
	}
	of := trouble.pod
	switch restarted := judged.Restarted.Sub(judged.Restarting); {
	case trouble.restarts > *limits.MaxRestarts:
		judged.Verdict = s.finding(nil, canary.Failed, canary.TooManyRestarts, of)
	case limits.MaxRestartsDuration != nil && restarted > *limits.MaxRestartsDuration:
		judged.Verdict = s.finding(nil, canary.Failed, canary.RestartsGoOn, of)
	case limits.CanaryTimeout != nil && s.now.Sub(judged.Began) > *limits.CanaryTimeout:
		judged.Verdict = s.finding(nil, canary.Failed, canary.TimedOut, of)
	case limits.CanaryTimeout != nil:
		s.wakeAt(judged.Began.Add(*limits.CanaryTimeout + 1))
	}
}

// finding is what is found now. An earlier one keeps its time.
func (s *extendedRound) finding(
	earlier *canary.Finding, phase canary.Phase, reason canary.PhaseReason, pod *member,
) *canary.Finding {
	at := s.now
	if earlier != nil {
		at = earlier.At
	}
	return &canary.Finding{Phase: phase, Reason: reason, Node: pod.Spec.NodeName, Pod: pod.Name, At: at}
}

// trouble is what is wrong with a pod.
type trouble struct {
	pod         *member
	restarts    int32 // of the container that restarted most
	stuck, slow bool
}

// stuckReasons are those for which a container waits that the controller takes for one that cannot start.
var stuckReasons = []string{
	"ErrImagePull", "ImagePullBackOff", "ImageInspectError", "ErrImageNeverPull", "RegistryUnavailable", "InvalidImageName",
	"CreateContainerConfigError", "CreateContainerError", "PreStartHookError", "PostStartHookError", "PreCreateHookError",
}

// troubleOf returns what is wrong with a pod. The controller panics about a container that restarted and last did something else
// than terminate, and about a pod without a start time that has to start in time.
func (s *extendedRound) troubleOf(pod *member, options canary.Options) (found trouble, panics bool) {
	found.pod = pod
	creating := false
	for _, container := range containersOf(pod) {
		last := container.LastTerminationState
		if container.RestartCount != 0 && last.Terminated == nil && (last.Running != nil || last.Waiting != nil) {
			panics = true
		}
		found.restarts = max(found.restarts, container.RestartCount)
		if waiting := container.State.Waiting; waiting != nil {
			found.stuck = found.stuck || slices.Contains(stuckReasons, waiting.Reason)
			creating = creating || waiting.Reason == "ContainerCreating"
		}
	}
	if panics = panics && found.restarts > 0; panics {
		return found, true
	}
	within := options.AutoPause.MaxSlowStartDuration
	mayBeSlow := within != nil && (found.stuck || creating && !options.AutoPause.Disabled)
	if !mayBeSlow {
		return found, false
	}
	if pod.Status.StartTime == nil {
		return found, true
	}
	end := pod.Status.StartTime.Add(*within)
	late := s.now.After(end)
	if !late {
		s.wakeAt(end.Add(1))
	}
	found.slow, found.stuck = late && !found.stuck, late && found.stuck
	return found, false
}

// containersOf returns the statuses of all containers of the pod, ephemeral ones too.
func containersOf(pod *member) []corev1.ContainerStatus {
	return slices.Concat(pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses, pod.Status.EphemeralContainerStatuses)
}

// lastRestart is when a container last ended that was started again, as far as the pods show it; zero: none was.
func lastRestart(pods []*member) (at time.Time) {
	for _, pod := range pods {
		all := containersOf(pod)
		if !slices.ContainsFunc(all, func(c corev1.ContainerStatus) bool { return c.RestartCount > 0 }) {
			continue
		}
		for _, container := range all {
			ended := container.LastTerminationState.Terminated
			if ended != nil && container.RestartCount != 0 && ended.FinishedAt.After(at) {
				at = ended.FinishedAt.Time
			}
		}
	}
	return at
}
