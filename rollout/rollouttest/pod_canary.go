package rollouttest

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/internal/kubelet"
	"github.com/daemonplan/daemonplan/internal/objects"
)

// Options for pods by which a canary is judged, and for those with resources of their own.

// Restarted makes the kubelet report that the pod's first container has restarted so many times, the last time after it had
// ended at the given instant with the given reason, such as "OOMKilled". It is running again, and the pod is as Ready as it
// was. It does nothing to a pod without containers: it is for after [Of].
func Restarted(times int32, ended time.Time, reason string) PodOption {
	return func(p *corev1.Pod) {
		status := firstStatus(p)
		if status == nil {
			return
		}
		status.RestartCount = times
		status.LastTerminationState = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: 1, Reason: reason, FinishedAt: metav1.NewTime(ended),
		}}
		status.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(ended)}}
	}
}

// WaitingFor makes the pod one whose first container waits for the given reason, such as "ErrImagePull": it is not Ready,
// since [Noon]. It is Running if the container ran before ("CrashLoopBackOff"), else Pending. Of a pod without containers it
// makes one that is not Ready: it is for after [Of].
func WaitingFor(reason string) PodOption {
	return func(p *corev1.Pod) {
		Unready()(p)
		status := firstStatus(p)
		if status == nil {
			return
		}
		status.Ready, status.Started = false, new(false)
		status.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
		if reason != kubelet.CrashLoopBackOff {
			status.ContainerID, status.ImageID = "", ""
			p.Status.Phase = corev1.PodPending
		}
	}
}

// firstStatus is the status of the pod's first container, made up if there is none; nil for a pod without containers. It
// is shared with nobody.
func firstStatus(p *corev1.Pod) *corev1.ContainerStatus {
	if len(p.Spec.Containers) == 0 {
		return nil
	}
	name := p.Spec.Containers[0].Name
	if kubelet.StatusOf(p, name) == nil {
		objects.Containers()(p)
	}
	p.Status.ContainerStatuses = slices.Clone(p.Status.ContainerStatuses)
	return kubelet.StatusOf(p, name)
}

// Unscheduled makes the pod one that is pinned to the node, and for which the scheduler has found no room there since the
// given instant.
func Unscheduled(node string, since time.Time) PodOption {
	return func(p *corev1.Pod) {
		PinnedTo(node)(p)
		kubelet.Unschedulable(p, "", since)
	}
}
