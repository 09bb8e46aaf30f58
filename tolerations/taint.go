package tolerations

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Tolerates reports whether the toleration covers the taint (P2, P3). An empty effect covers every effect
// and an empty key every key; the operator Exists covers every value, Equal and the empty operator only the
// same one. An empty toleration thus covers exactly the taints with an empty value. tolerationSeconds is
// not looked at: a taint tolerated for zero seconds is tolerated.
//
// Any other operator covers nothing. That includes Lt and Gt, which kube-controller-manager v1.36 reads
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

// Untolerated returns the first of the taints that has one of the effects and that none of the tolerations
// covers, and whether there is one. Without effects it looks at NoSchedule and NoExecute, the two that keep a
// daemon pod from a node (P2); PreferNoSchedule and unknown effects count only if asked for. With
// NoExecute alone it says whether a running pod has to go (P3).
//
// The taint returned shares its TimeAdded with the input.
func Untolerated(
	tolerations []corev1.Toleration, taints []corev1.Taint, effects ...corev1.TaintEffect,
) (corev1.Taint, bool) {
	for i := range taints {
		taint := &taints[i]
		if considered(taint.Effect, effects) && !anyTolerates(tolerations, taint) {
			return *taint, true
		}
	}
	return corev1.Taint{}, false
}

func considered(effect corev1.TaintEffect, effects []corev1.TaintEffect) bool {
	if len(effects) == 0 {
		return effect == corev1.TaintEffectNoSchedule || effect == corev1.TaintEffectNoExecute
	}
	return slices.Contains(effects, effect)
}

func anyTolerates(tolerations []corev1.Toleration, taint *corev1.Taint) bool {
	for i := range tolerations {
		if Tolerates(&tolerations[i], taint) {
			return true
		}
	}
	return false
}
