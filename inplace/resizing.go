package inplace

import (
	corev1 "k8s.io/api/core/v1"
)

// Resizing reports whether a resize of pod may be under way: its last update in place resized containers, and the status of
// one does not show what its spec asks for. The pod may be ready all the while. Resizing decodes nothing, because it is called
// for each pod of a fleet; [Completed] gives a certain answer.
func Resizing(pod *corev1.Pod) bool {
	if over(pod) {
		return false
	}
	text, _ := annotation(pod, StateKey, oldStateKey)
	if !mayHave(text, `"updateResources":true`) && !mayHave(text, `"resized":true`) {
		return false
	}
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			container := &containers[i]
			if hasEnded(pod, container.Name) {
				continue
			}
			status := statusOf(pod, container.Name)
			if status == nil || resizeWait(pod, container, status, false) != 0 {
				return true
			}
		}
	}
	return len(wholeWaits(pod)) > 0
}
