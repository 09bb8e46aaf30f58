package canary

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Report says how a pod is coming along. It covers init containers too, but not ephemeral ones, without which a pod runs.
type Report struct {
	// Restarts is how often the container restarted that restarted most.
	Restarts int32
	// Restarted is the name of that container; empty if none restarted.
	Restarted string
	// Terminated is why that container last terminated, as the kubelet reports it (such as OOMKilled); empty: unknown.
	Terminated string
	// LastRestart is when a container last terminated and was then to be started again. If only the time of the following
	// start is known, it is that time. Zero: never, or unknown.
	LastRestart time.Time
	// Waiting is the reason for which a container waits, as the kubelet reports it; empty: none waits, or the kubelet gives
	// no reason. If several containers wait, one that cannot start comes before one that is being created, and that one before
	// any other. Among equals the order in the status decides, init containers last.
	Waiting string
	// Class is the class of that reason.
	Class Class
	// Container is the name of the container that waits; if none waits, of the one that restarted most; empty if there is
	// neither.
	Container string
}

// Class of a waiting reason. A pod cannot start (C3) if it is Transient or Permanent.
type Class uint8

// The classes.
const (
	// NotWaiting: no container waits.
	NotWaiting Class = iota
	// Creating: the pod is being created (ContainerCreating; PodInitializing, which a pod with init containers has instead).
	Creating
	// Transient: the pod cannot start, but may do so later without anybody's help (such as ErrImagePull).
	Transient
	// Permanent: the pod cannot start until somebody changes something (such as InvalidImageName).
	Permanent
	// Other: any other reason, such as CrashLoopBackOff, which shows as restarts.
	Other

	classes // count
)

// cannotStart reports whether containers of the class cannot start.
func (c Class) cannotStart() bool { return c == Transient || c == Permanent }

// String returns the class as one word, or "code " and its number if there is no such class.
func (c Class) String() string { return text(classNames[:], uint8(c)) }

var classNames = [classes]string{
	NotWaiting: "NotWaiting", Creating: "Creating", Transient: "Transient", Permanent: "Permanent", Other: "Other",
}

// Classify returns the class of a reason for which a container waits, as the kubelet reports it. It divides the reasons for
// which a pod cannot start (C3) by what the kubelet can do: the kubelet pulls, creates and starts again by itself. But an image
// name stays wrong, an image that must not be pulled stays absent, and a missing config map or secret stays missing, until
// somebody changes that. An empty or unknown reason is Other.
func Classify(waiting string) Class {
	switch waiting {
	case "ContainerCreating", "PodInitializing":
		return Creating
	case "ErrImagePull", "ImagePullBackOff", "ImageInspectError", "RegistryUnavailable",
		"CreateContainerError", "PreCreateHookError", "PreStartHookError", "PostStartHookError":
		return Transient
	case "InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError":
		return Permanent
	default:
		return Other
	}
}

// Examine reads off a pod how it is coming along. The report on a nil pod is the zero value.
func Examine(pod *corev1.Pod) Report {
	if pod == nil {
		return Report{}
	}
	return examine(pod, nil)
}

// examine is Examine without the restarts that do not count: before has their number by container.
func examine(pod *corev1.Pod, before map[string]int32) Report {
	var r Report
	var waits string
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		for i := range statuses {
			s := &statuses[i]
			if restarts := max(0, s.RestartCount) - before[s.Name]; restarts > r.Restarts {
				r.Restarts, r.Restarted, r.Terminated = restarts, s.Name, ""
				if last := s.LastTerminationState.Terminated; last != nil {
					r.Terminated = last.Reason
				}
			}
			if at := restartedAt(s); at.After(r.LastRestart) {
				r.LastRestart = at
			}
			if s.State.Waiting == nil {
				continue
			}
			if class := Classify(s.State.Waiting.Reason); precedence(class) > precedence(r.Class) {
				r.Class, r.Waiting, waits = class, s.State.Waiting.Reason, s.Name
			}
		}
	}
	r.Container = r.Restarted
	if r.Class != NotWaiting {
		r.Container = waits
	}
	return r
}

// precedence orders the classes: the most telling one describes the pod.
func precedence(c Class) int {
	switch {
	case c.cannotStart():
		return 3
	case c == Creating:
		return 2
	case c == Other:
		return 1
	default:
		return 0
	}
}

// restartedAt is when a container terminated and was then to be started again, else when it was started again. Zero: never, or
// unknown. A restart that leaves no time at all is passed over, because there is no record of restart counts that would show
// when it is new.
func restartedAt(s *corev1.ContainerStatus) time.Time {
	last := s.LastTerminationState.Terminated
	switch {
	case last != nil && !last.FinishedAt.IsZero():
		return last.FinishedAt.Time
	case last == nil && s.RestartCount <= 0:
		return time.Time{}
	case s.State.Running != nil:
		return s.State.Running.StartedAt.Time
	case s.State.Terminated != nil:
		return s.State.Terminated.StartedAt.Time
	default:
		return time.Time{}
	}
}
