package kubelet

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/predownload"
)

// Running is what a container was made from.
type Running struct {
	// Image is the name of the image in the pod's spec.
	Image string
	// Env is the metadata that the container's environment read; see [MetadataRead].
	Env string
}

// Made is what the container of that ordinal would be made from now.
func Made(pod *corev1.Pod, i int) Running {
	container := &pod.Spec.Containers[i]
	return Running{Image: container.Image, Env: MetadataRead(pod, container)}
}

// RunningIn is what the container of that ordinal runs, if it was not started by this package. A kubelet that has not carried out
// a change of the image yet shows the old image in its status. No status shows what the environment holds. While an update that
// changed the environment is under way, the container counts as not restarted for it.
func RunningIn(pod *corev1.Pod, i int) Running {
	container := &pod.Spec.Containers[i]
	r := Made(pod, i)
	if status := StatusOf(pod, container.Name); status != nil && status.Image != "" && !SameImage(status.Image, container.Image) {
		r.Image = status.Image
	}
	if ConditionStatus(pod, lifecycle.InPlaceUpdateReady) != corev1.ConditionFalse {
		return r
	}
	if state, err := inplace.StateOf(pod); err == nil && state != nil && state.UpdateEnvFromMetadata {
		r.Env += "of before" // no text of MetadataRead ends with that
	}
	return r
}

// Outdated reports whether the container of that ordinal, which was made from was, must be made anew because the pod names
// another image now. With env, it must also be made anew if metadata that its environment reads has changed.
func Outdated(pod *corev1.Pod, i int, was Running, env bool) bool {
	container := &pod.Spec.Containers[i]
	return !SameImage(was.Image, container.Image) || env && was.Env != MetadataRead(pod, container)
}

// ImageID is the ID by which nodes know the image. Images with other names have other IDs.
func ImageID(image string) string {
	h := fnv.New64a()
	// Writing to a hash never fails.
	_, _ = h.Write([]byte(image))
	return fmt.Sprintf("sim@sha256:%016x", h.Sum64())
}

// SameImage reports whether two image names mean the same image.
func SameImage(a, b string) bool {
	return a == b || predownload.Reported([]corev1.ContainerImage{{Names: []string{a}}}, b)
}

// ContainerID is the ID of a container that has restarted so many times.
func ContainerID(pod *corev1.Pod, container string, restarts int32) string {
	return "sim://" + string(pod.UID) + "/" + container + "/" + strconv.Itoa(int(restarts))
}

// MetadataRead lists the metadata of the pod that the container's environment reads, in one text. It is empty if there is none.
func MetadataRead(pod *corev1.Pod, container *corev1.Container) string {
	var text strings.Builder
	for i := range container.Env {
		from := container.Env[i].ValueFrom
		if from == nil || from.FieldRef == nil {
			continue
		}
		inner, _ := strings.CutSuffix(from.FieldRef.FieldPath, "']")
		if key, ok := strings.CutPrefix(inner, "metadata.labels['"); ok {
			fmt.Fprintf(&text, "%s=%q\n", container.Env[i].Name, pod.Labels[key])
		} else if key, ok := strings.CutPrefix(inner, "metadata.annotations['"); ok {
			fmt.Fprintf(&text, "%s=%q\n", container.Env[i].Name, pod.Annotations[key])
		}
	}
	return text.String()
}

// SameEnvironment reports whether all containers read the same metadata in both pods, which have the same containers.
func SameEnvironment(a, b *corev1.Pod) bool {
	for i := range min(len(a.Spec.Containers), len(b.Spec.Containers)) {
		if MetadataRead(a, &a.Spec.Containers[i]) != MetadataRead(b, &b.Spec.Containers[i]) {
			return false
		}
	}
	return true
}

// StatusOf is the status of the container of that name, within the pod itself, or nil if the kubelet reports none.
func StatusOf(pod *corev1.Pod, container string) *corev1.ContainerStatus {
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].Name == container {
			return &pod.Status.ContainerStatuses[i]
		}
	}
	return nil
}

// ContainersReady reports whether the pod has containers and the kubelet reports each of them as ready.
func ContainersReady(pod *corev1.Pod) bool {
	for i := range pod.Spec.Containers {
		if status := StatusOf(pod, pod.Spec.Containers[i].Name); status == nil || !status.Ready {
			return false
		}
	}
	return len(pod.Spec.Containers) > 0
}

// HasRun reports whether the container of that ordinal has run, according to its status.
func HasRun(pod *corev1.Pod, i int) bool {
	if i >= len(pod.Spec.Containers) {
		return false
	}
	status := StatusOf(pod, pod.Spec.Containers[i].Name)
	return status != nil && (status.State.Waiting == nil || status.ContainerID != "")
}

// YetToStart reports whether the pod's first container has yet to start, or to start again.
func YetToStart(pod *corev1.Pod) bool {
	if Settled(pod) || len(pod.Spec.Containers) == 0 {
		return false
	}
	status := StatusOf(pod, pod.Spec.Containers[0].Name)
	return status == nil || status.State.Waiting != nil
}

// Restarts is how often the pod's first container has restarted.
func Restarts(pod *corev1.Pod) int32 {
	if len(pod.Spec.Containers) == 0 {
		return 0
	}
	if status := StatusOf(pod, pod.Spec.Containers[0].Name); status != nil {
		return status.RestartCount
	}
	return 0
}

// WaitingFor is the reason of the first container that waits, or empty if none waits.
func WaitingFor(pod *corev1.Pod) string {
	for i := range pod.Status.ContainerStatuses {
		if waiting := pod.Status.ContainerStatuses[i].State.Waiting; waiting != nil {
			return waiting.Reason
		}
	}
	return ""
}
