package kubelet

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// StartContainer makes the container of that ordinal from the pod's spec and metadata of now, and returns what it was made from.
// The container then runs, and is as ready as it was. If sameID lists its image, the container keeps the image ID that it had.
func StartContainer(pod *corev1.Pod, i int, sameID []string, now time.Time) Running {
	container := Container(pod, i)
	status := StatusOf(pod, container.Name)
	if status == nil {
		// A container without a status was not counted yet: its first start makes the count 0.
		list := statuses(pod, i)
		*list = append(slices.Clip(*list), corev1.ContainerStatus{Name: container.Name, RestartCount: -1})
		status = &(*list)[len(*list)-1]
	}
	if status.State.Waiting == nil { // a container that waits was counted before, or has never run
		status.RestartCount++
	}
	if status.ImageID == "" || !slices.Contains(sameID, container.Image) {
		status.ImageID = ImageID(container.Image)
	}
	status.Image = container.Image
	status.ContainerID = ContainerID(pod, container.Name, status.RestartCount)
	status.Started = new(true)
	status.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(now)}}
	status.Resources = nil
	if !apiequality.Semantic.DeepEqual(container.Resources, corev1.ResourceRequirements{}) {
		status.Resources = container.Resources.DeepCopy()
	}
	return Made(pod, i)
}

// StartContainers makes all containers ready, and starts those that do not run because they have no status or wait. It writes
// what those were made from to running, which has an element for each container, or is nil for callers who do not need it.
func StartContainers(pod *corev1.Pod, running []Running, sameID []string, now time.Time) {
	for i := range Count(pod) {
		name := Container(pod, i).Name
		if status := StatusOf(pod, name); status == nil || status.State.Waiting != nil {
			start(pod, running, i, sameID, now)
		}
		SetContainerReady(pod, name, true)
	}
}

// CreateContainers starts all containers for the first time. The pod is then Running, but neither the containers nor the pod are
// ready yet. It writes to running as [StartContainers] does.
func CreateContainers(pod *corev1.Pod, running []Running, sameID []string, now time.Time) {
	pod.Status.Phase = corev1.PodRunning
	for i := range Count(pod) {
		start(pod, running, i, sameID, now)
	}
	Unready(pod, now)
}

func start(pod *corev1.Pod, running []Running, i int, sameID []string, now time.Time) {
	made := StartContainer(pod, i, sameID, now)
	if i < len(running) {
		running[i] = made
	}
}

// RestartContainer ends the container of that ordinal, makes it from the pod's spec and metadata of now, and returns what it was
// made from. Neither the container nor the pod is ready then.
func RestartContainer(pod *corev1.Pod, i int, sameID []string, now time.Time) Running {
	made := StartContainer(pod, i, sameID, now)
	fall(pod, i, now)
	return made
}

// HoldUpContainer ends the container of that ordinal for an update in place. Instead of starting again, the container waits for
// the given reason. Its status shows what it ran before. The result is what it will be made from. A container without a status is
// started.
func HoldUpContainer(pod *corev1.Pod, i int, reason string, sameID []string, now time.Time) Running {
	name := Container(pod, i).Name
	var was corev1.ContainerStatus
	reported := StatusOf(pod, name)
	if reported != nil {
		was = *reported
	}
	made := StartContainer(pod, i, sameID, now)
	if reported != nil {
		status := StatusOf(pod, name)
		status.Image, status.ImageID, status.ContainerID = was.Image, was.ImageID, was.ContainerID
		wait(status, reason)
	}
	fall(pod, i, now)
	return made
}

// fall makes the container not ready, and the pod not Ready if it was Ready.
func fall(pod *corev1.Pod, i int, now time.Time) {
	SetContainerReady(pod, Container(pod, i).Name, false)
	if ConditionStatus(pod, corev1.PodReady) == corev1.ConditionTrue {
		Unready(pod, now)
	}
}

// SetContainerReady sets whether the container of that name is ready, if it has a status.
func SetContainerReady(pod *corev1.Pod, container string, ready bool) {
	if status := StatusOf(pod, container); status != nil {
		status.Ready = ready
	}
}
