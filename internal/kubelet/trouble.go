package kubelet

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// These are reasons for which kubelets let containers wait.
const (
	ContainerCreating = "ContainerCreating"
	ErrImagePull      = "ErrImagePull"
	ImagePullBackOff  = "ImagePullBackOff"
	CrashLoopBackOff  = "CrashLoopBackOff"
)

// These are the delays of a kubelet before it tries again. The back-off is the same for pulls of images and for crashes.
// PullBackOff is the time after which [ErrImagePull] is reported as [ImagePullBackOff].
const (
	PullBackOff  = 15 * time.Second
	FirstBackOff = 10 * time.Second
	LastBackOff  = 5 * time.Minute
)

// BackOff is how long a kubelet waits before it tries again after so many failures: 10 s, doubling to 5 minutes. Without a
// failure it is 0.
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

// SetWaiting lets all containers wait for one reason. The rest of their status stays for containers that ran before.
func SetWaiting(pod *corev1.Pod, reason string) {
	var containers, sidecars []corev1.ContainerStatus
	for i := range Count(pod) {
		status := corev1.ContainerStatus{Name: Container(pod, i).Name, Image: Container(pod, i).Image}
		if known := StatusOf(pod, status.Name); known != nil {
			status = *known
		}
		status.Ready = false
		wait(&status, reason)
		if i < len(pod.Spec.Containers) {
			containers = append(containers, status)
		} else {
			sidecars = append(sidecars, status)
		}
	}
	pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses = containers, sidecars
}

// Crash ends the container of that ordinal as if it had crashed. The container waits with [CrashLoopBackOff] for the kubelet to
// start it again. That restart is counted already. The pod is Running, but neither it nor the container is ready. The container
// must have run ([HasRun]). Nothing happens to a container without a status.
func Crash(pod *corev1.Pod, i int, exitCode int32, reason string, now time.Time) {
	status := StatusOf(pod, Container(pod, i).Name)
	if status == nil {
		return
	}
	status.RestartCount++
	status.Ready = false
	ended := &corev1.ContainerStateTerminated{
		ExitCode: exitCode, Reason: reason, FinishedAt: metav1.NewTime(now), ContainerID: status.ContainerID,
	}
	if running := status.State.Running; running != nil {
		ended.StartedAt = running.StartedAt
	}
	status.LastTerminationState = corev1.ContainerState{Terminated: ended}
	wait(status, CrashLoopBackOff)
	pod.Status.Phase = corev1.PodRunning
	Unready(pod, now)
}

func wait(status *corev1.ContainerStatus, reason string) {
	status.Started = new(false)
	status.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
}
