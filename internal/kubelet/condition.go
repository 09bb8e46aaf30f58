package kubelet

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ConditionStatus is the status of a condition, or empty if the pod does not have it.
func ConditionStatus(pod *corev1.Pod, kind corev1.PodConditionType) corev1.ConditionStatus {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == kind {
			return c.Status
		}
	}
	return ""
}

// SetCondition removes the pod's condition of this type, adds the new one at the end of the list, and returns it, so that the
// caller can add a reason or a message. It does not write to the list that the pod had, because another copy of the pod may share
// it.
func SetCondition(
	pod *corev1.Pod, kind corev1.PodConditionType, status corev1.ConditionStatus, since time.Time,
) *corev1.PodCondition {
	conditions := make([]corev1.PodCondition, 0, len(pod.Status.Conditions)+1)
	for _, c := range pod.Status.Conditions {
		if c.Type != kind {
			conditions = append(conditions, c)
		}
	}
	conditions = append(conditions, corev1.PodCondition{Type: kind, Status: status, LastTransitionTime: metav1.NewTime(since)})
	pod.Status.Conditions = conditions
	return &conditions[len(conditions)-1]
}

// HasGate reports whether the pod has the readiness gate, open or not.
func HasGate(pod *corev1.Pod, kind corev1.PodConditionType) bool {
	return slices.Contains(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: kind})
}

// GatesOpen reports whether all readiness gates of the pod are True. It is true for a pod without any.
func GatesOpen(pod *corev1.Pod) bool {
	return !slices.ContainsFunc(pod.Spec.ReadinessGates, func(gate corev1.PodReadinessGate) bool {
		return ConditionStatus(pod, gate.ConditionType) != corev1.ConditionTrue
	})
}
