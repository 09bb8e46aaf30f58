package canary

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Report is how a pod is coming along. Init containers are looked at too, ephemeral ones are not: a pod runs without
// them.
type Report struct {
	// Restarts of the container that restarted most.
	Restarts int32
	// Restarted is the name of that container; empty if none restarted.
	Restarted string
	// Terminated is why that container last terminated, as the kubelet reports it (OOMKilled); empty: unknown.
	Terminated string
	// LastRestart is when a container last terminated to be started again; zero: never, or unknown. Where only the start
	// that followed is known, it is that.
	LastRestart time.Time
	// Waiting is the reason for which a container waits, as the kubelet reports it; empty: none waits, or the kubelet gives
	// no reason. Of several containers, one that cannot start counts more than one that is being created, and that more
	// than any other; then the order in the status.
	Waiting string
	// Class of that reason.
	Class Class
	// Container that waits; if none waits, the one that restarted most.
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
	// Transient: it cannot start, but may yet without anybody's help (ErrImagePull, say).
	Transient
	// Permanent: it cannot start until somebody changes something (InvalidImageName, say).
	Permanent
	// Other: any other reason, such as CrashLoopBackOff, which shows as restarts.
	Other

	classes // count
)

// cannotStart tells whether containers of the class cannot start.
func (c Class) cannotStart() bool { return c == Transient || c == Permanent }

// String is the class in one word.
func (c Class) String() string { return text(classNames[:], uint8(c)) }

var classNames = [classes]string{
	NotWaiting: "NotWaiting", Creating: "Creating", Transient: "Transient", Permanent: "Permanent", Other: "Other",
}

// Classify sorts a reason for which a container waits, as the kubelet reports it. It divides the reasons of C3 by what the
// kubelet can do: it pulls, creates and starts again by itself, but an image name stays wrong, an image that must not be
// pulled stays absent, and a config map or secret stays away until somebody changes that.
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

// Examine reads off a pod how it is coming along. Nil: not at all.
func Examine(pod *corev1.Pod) Report {
	if pod == nil {
		return Report{}
	}
	return examine(pod, nil)
}

// examine is Examine of a pod whose containers restarted as often as before says, and that does not count.
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

// restartedAt is when a container terminated to be started again, else when it was started again; zero: never, or unknown.
// There is no record of restart counts to notice new ones with, so one that leaves no time at all is passed over: it
// would either count for ever or, as here, until the container is seen to run.
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
