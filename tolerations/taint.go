package tolerations

import (
	corev1 "k8s.io/api/core/v1"
)

// Tolerates reports whether the toleration covers the taint (P2, P3). An empty effect covers every effect
// and an empty key every key; the operator Exists covers every value, Equal and the empty operator only the
// same one. An empty toleration thus covers exactly the taints with an empty value. tolerationSeconds is
// not looked at: a taint tolerated for zero seconds is tolerated.
//
// Any other operator covers nothing. That includes Lt and Gt, which kube-controller-manager v1.37 reads
// only with the feature gate TaintTolerationComparisonOperators, off by default. A nil toleration covers
// nothing, and nothing covers a nil taint.
func Tolerates(toleration *corev1.Toleration, taint *corev1.Taint) bool {
	if toleration == nil || taint == nil {
		return false
	}
	if toleration.Effect != "" && toleration.Effect != taint.Effect {
		return false
	}
	if toleration.Key != "" && toleration.Key != taint.Key {
		return false
	}
	switch toleration.Operator {
	case corev1.TolerationOpExists:
		return true
	case corev1.TolerationOpEqual, "":
		return toleration.Value == taint.Value
	default:
		return false
	}
}
