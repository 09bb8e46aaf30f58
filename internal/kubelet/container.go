package kubelet

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/predownload"
)

// Count is how many containers of the pod run while it does: its containers, and its native sidecars after them. Init containers
// that end are not simulated.
func Count(pod *corev1.Pod) int {
	n := len(pod.Spec.Containers)
	for i := range pod.Spec.InitContainers {
		if isSidecar(&pod.Spec.InitContainers[i]) {
			n++
		}
	}
	return n
}

// Container is the container of that ordinal, below [Count], within the pod itself.
func Container(pod *corev1.Pod, i int) *corev1.Container {
	if i < len(pod.Spec.Containers) {
		return &pod.Spec.Containers[i]
	}
	i -= len(pod.Spec.Containers)
	for at := range pod.Spec.InitContainers {
		if container := &pod.Spec.InitContainers[at]; isSidecar(container) {
			if i == 0 {
				return container
			}
			i--
		}
	}
	return nil
}

func isSidecar(container *corev1.Container) bool {
	return container.RestartPolicy != nil && *container.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// Running is what a container was made from.
type Running struct {
	// Image is the name of the image in the pod's spec.
	Image string
	// Env is the metadata that the container's environment read; see [MetadataRead].
	Env string
}

// Made is what the container of that ordinal would be made from now.
func Made(pod *corev1.Pod, i int) Running {
	container := Container(pod, i)
	return Running{Image: container.Image, Env: MetadataRead(pod, container)}
}

// RunningIn is what the container of that ordinal runs, if it was not started by this package. A kubelet that has not carried out
// a change of the image yet shows the old image in its status. No status shows what the environment holds. While an update that
// changed the environment is under way, the container counts as not restarted for it.
func RunningIn(pod *corev1.Pod, i int) Running {
	container := Container(pod, i)
	r := Made(pod, i)
	if status := StatusOf(pod, container.Name); status != nil && status.Image != "" && !SameImage(status.Image, container.Image) {
		r.Image = status.Image
	}
	changing := ConditionStatus(pod, lifecycle.InPlaceUpdateReady) == corev1.ConditionFalse
	state, err := inplace.StateOf(pod)
	if err != nil || state == nil || !state.UpdateEnvFromMetadata || !changing && !inplace.UnderWay(pod) {
		return r
	}
	if waits := (inplace.UpdateWait{Container: container.Name, Code: inplace.NotRestarted}); changing ||
		slices.Contains(inplace.Completed(pod).Waits, waits) {
		r.Env += "of before" // no text of MetadataRead ends with that
	}
	return r
}

// Outdated reports whether the container of that ordinal, which was made from was, must be made anew because the pod names its
// image otherwise now: kubelets compare the text, even if it means the same image. With env, it must also be made anew if
// metadata that its environment reads has changed.
func Outdated(pod *corev1.Pod, i int, was Running, env bool) bool {
	container := Container(pod, i)
	return was.Image != container.Image || env && was.Env != MetadataRead(pod, container)
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
	for i := range min(Count(a), Count(b)) {
		if MetadataRead(a, Container(a, i)) != MetadataRead(b, Container(b, i)) {
			return false
		}
	}
	return true
}

// StatusOf is the status of the container or sidecar of that name, within the pod itself, or nil if the kubelet reports none.
func StatusOf(pod *corev1.Pod, container string) *corev1.ContainerStatus {
	for _, statuses := range [...][]corev1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		for i := range statuses {
			if statuses[i].Name == container {
				return &statuses[i]
			}
		}
	}
	return nil
}

// statuses is the list in which the status of the container of that ordinal belongs.
func statuses(pod *corev1.Pod, i int) *[]corev1.ContainerStatus {
	if i < len(pod.Spec.Containers) {
		return &pod.Status.ContainerStatuses
	}
	return &pod.Status.InitContainerStatuses
}

// ContainersReady reports whether the pod has containers and the kubelet reports each of them as ready.
func ContainersReady(pod *corev1.Pod) bool {
	for i := range Count(pod) {
		if status := StatusOf(pod, Container(pod, i).Name); status == nil || !status.Ready {
			return false
		}
	}
	return len(pod.Spec.Containers) > 0
}

// HasRun reports whether the container of that ordinal has run, according to its status.
func HasRun(pod *corev1.Pod, i int) bool {
	if i >= Count(pod) {
		return false
	}
	status := StatusOf(pod, Container(pod, i).Name)
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
