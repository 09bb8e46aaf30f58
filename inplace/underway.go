package inplace

import (
	corev1 "k8s.io/api/core/v1"
)

// UnderWay reports whether an update in place of a pod may be under way that leaves it ready: its last one resized containers,
// and the status of one does not show what its spec asks for; or it was to restart containers without which the pod serves on
// ([Options].ServeOn), which it may not have done yet. For the rest of updates there is [Unfinished].
//
// UnderWay is called for each pod of a fleet, and decodes something only for the second reason. [Completed] gives a certain
// answer.
func UnderWay(pod *corev1.Pod) bool {
	if over(pod) {
		return false
	}
	text, _ := annotation(pod, StateKey, oldStateKey)
	if mayHave(text, `"servesOn":true`) && !Completed(pod).Done {
		return true
	}
	return (mayHave(text, `"updateResources":true`) || mayHave(text, `"resized":true`)) && isResizing(pod)
}

// isResizing reports whether the status of a container, or of the pod as a whole, does not show what the spec asks for.
func isResizing(pod *corev1.Pod) bool {
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
