package tolerations

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Validate reports every mistake in tolerations that the API server refuses, with field paths below path, which is
// that of the list. The daemon defaults of P1 are not looked at. Nil or empty: none.
func Validate(list []corev1.Toleration, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range list {
		errs = append(errs, validate(&list[i], path.Index(i))...)
	}
	return errs
}

func validate(toleration *corev1.Toleration, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if toleration.Key != "" {
		for _, msg := range validation.IsQualifiedName(toleration.Key) {
			errs = append(errs, field.Invalid(path.Child("key"), toleration.Key, msg))
		}
	}
	switch toleration.Operator {
	case corev1.TolerationOpExists:
		if toleration.Value != "" {
			errs = append(errs, field.Invalid(path.Child("value"), toleration.Value, "must be empty when operator is Exists"))
		}
	case corev1.TolerationOpEqual, "":
		if toleration.Key == "" {
			errs = append(errs, field.Invalid(path.Child("operator"), toleration.Operator, "must be Exists when key is empty"))
		}
		for _, msg := range validation.IsValidLabelValue(toleration.Value) {
			errs = append(errs, field.Invalid(path.Child("value"), toleration.Value, msg))
		}
	default:
		errs = append(errs, field.NotSupported(path.Child("operator"), toleration.Operator,
			[]corev1.TolerationOperator{corev1.TolerationOpEqual, corev1.TolerationOpExists}))
	}
	switch toleration.Effect {
	case "", corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute:
	default:
		errs = append(errs, field.NotSupported(path.Child("effect"), toleration.Effect,
			[]corev1.TaintEffect{corev1.TaintEffectNoExecute, corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule}))
	}
	if toleration.TolerationSeconds != nil && toleration.Effect != corev1.TaintEffectNoExecute {
		errs = append(errs, field.Invalid(path.Child("effect"), toleration.Effect,
			"must be NoExecute when tolerationSeconds is set"))
	}
	return errs
}
