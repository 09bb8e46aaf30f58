package kubelet

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/internal/kubelet"
)

// cannotStart tells whether the command of the first container can exist in no image: what is below a device is no file.
func cannotStart(pod *corev1.Pod) bool {
	command := pod.Spec.Containers[0].Command
	return len(command) > 0 && strings.HasPrefix(command[0], "/dev/null/")
}

// failToStart does with such a pod what a kubelet does: it pulls the image, and reports that the container could not be started.
// An image with the tag "missing" cannot be pulled, and is tried until the pod's deadline. It returns when to look again.
func failToStart(pod *corev1.Pod, now time.Time) time.Duration {
	container := &pod.Spec.Containers[0]
	if pod.Status.StartTime == nil {
		pod.Status.StartTime = new(metav1.NewTime(now))
	}
	state := corev1.ContainerStatus{Name: container.Name, Image: container.Image}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{state}
	if strings.HasSuffix(container.Image, ":missing") {
		pod.Status.ContainerStatuses[0].State.Waiting = &corev1.ContainerStateWaiting{Reason: "ErrImagePull"}
		if deadline := pod.Spec.ActiveDeadlineSeconds; deadline != nil {
			if left := pod.Status.StartTime.Add(time.Duration(*deadline) * time.Second).Sub(now); left > 0 {
				return left
			}
			pod.Status.Phase, pod.Status.Reason = corev1.PodFailed, "DeadlineExceeded"
		}
		return 0
	}
	pod.Status.ContainerStatuses[0].ImageID = kubelet.ImageID(container.Image)
	pod.Status.ContainerStatuses[0].State.Terminated = &corev1.ContainerStateTerminated{ExitCode: 128, Reason: "StartError"}
	pod.Status.Phase = corev1.PodFailed
	return 0
}
