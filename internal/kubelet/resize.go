package kubelet

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Resized lists the resources, of cpu and memory, of which the container of that ordinal does not have the amounts of its spec
// yet. For a container that has never run the list is empty, because it gets them when it starts.
func Resized(pod *corev1.Pod, i int) []corev1.ResourceName {
	if !HasRun(pod, i) {
		return nil
	}
	container := Container(pod, i)
	var has corev1.ResourceRequirements
	if status := StatusOf(pod, container.Name); status.Resources != nil {
		has = *status.Resources
	}
	var changed []corev1.ResourceName
	for _, name := range [...]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if !SameQuantity(container.Resources.Limits, has.Limits, name) ||
			!SameQuantity(container.Resources.Requests, has.Requests, name) {
			changed = append(changed, name)
		}
	}
	return changed
}

// SameQuantity reports whether both lists have the same amount of the resource, or neither has the resource.
func SameQuantity(a, b corev1.ResourceList, name corev1.ResourceName) bool {
	x, inA := a[name]
	y, inB := b[name]
	return inA == inB && x.Cmp(y) == 0
}

// RestartsFor reports whether the container restarts when these resources change.
func RestartsFor(container *corev1.Container, changed []corev1.ResourceName) bool {
	return slices.ContainsFunc(container.ResizePolicy, func(policy corev1.ContainerResizePolicy) bool {
		return policy.RestartPolicy == corev1.RestartContainer && slices.Contains(changed, policy.ResourceName)
	})
}

// ResizeContainer gives the running container of that ordinal the resources of its spec. It does nothing to a container without a
// status, which gets them when it starts.
func ResizeContainer(pod *corev1.Pod, i int) {
	container := Container(pod, i)
	if status := StatusOf(pod, container.Name); status != nil {
		status.Resources = container.Resources.DeepCopy()
	}
}
