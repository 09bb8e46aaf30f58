package conformance_test

import (
	corev1 "k8s.io/api/core/v1"
)

func marked(p *corev1.Pod) bool { return p.DeletionTimestamp != nil }

func count(yes bool) int32 {
	if yes {
		return 1
	}
	return 0
}

func condition(p *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == kind {
			return &p.Status.Conditions[i]
		}
	}
	return nil
}
