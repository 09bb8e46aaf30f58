package kubelet

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Reasons for which kubelets let containers wait.
const (
	ContainerCreating = "ContainerCreating"
	ErrImagePull      = "ErrImagePull"
	ImagePullBackOff  = "ImagePullBackOff"
	CrashLoopBackOff  = "CrashLoopBackOff"
)

// The delays of a kubelet before it tries again. It backs off from an image as from a crash; PullBackOff is when
// [ErrImagePull] is reported as [ImagePullBackOff].
const (
	PullBackOff  = 15 * time.Second
	FirstBackOff = 10 * time.Second
	LastBackOff  = 5 * time.Minute
)

// BackOff is how long a kubelet waits before it tries again what has failed so many times: 10 s doubling to 5 minutes,
// and no time for what has not failed.
func BackOff(failures int32) time.Duration {
	if failures <= 0 {
		return 0
	}
	delay := FirstBackOff
	for range failures - 1 {
		if delay = 2 * delay; delay >= LastBackOff {
			return LastBackOff
		}
	}
	return delay
}

// SetWaiting lets all containers wait for one reason. What is reported of those that ran before stays.
func SetWaiting(pod *corev1.Pod, reason string) {
	statuses := make([]corev1.ContainerStatus, 0, len(pod.Spec.Containers))
	for i := range pod.Spec.Containers {
		status := corev1.ContainerStatus{Name: pod.Spec.Containers[i].Name, Image: pod.Spec.Containers[i].Image}
		if known := StatusOf(pod, status.Name); known != nil {
			status = *known
		}
		status.Ready = false
		wait(&status, reason)
		statuses = append(statuses, status)
	}
	pod.Status.ContainerStatuses = statuses
}

// Crash ends the container of that ordinal by itself, for the kubelet to start it again: it waits with
// [CrashLoopBackOff], counted as restarted already, and neither it nor the pod, which is Running, is ready. The container
// must have run ([HasRun]); nothing happens to one that is not reported.
func Crash(pod *corev1.Pod, i int, exitCode int32, reason string, now time.Time) {
	status := StatusOf(pod, pod.Spec.Containers[i].Name)
	if status == nil {
		return
	}
	status.RestartCount++
	status.Ready = false
	status.LastTerminationState = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: exitCode, Reason: reason, FinishedAt: metav1.NewTime(now), ContainerID: status.ContainerID,
	}}
	wait(status, CrashLoopBackOff)
	pod.Status.Phase = corev1.PodRunning
	Unready(pod, now)
}

func wait(status *corev1.ContainerStatus, reason string) {
	status.Started = new(false)
	status.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
}
