package lifecycle

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Validate returns every mistake in h, with its path below path; nil if there is none. Label keys, label values and
// finalizers have to be valid in Kubernetes, and [StateLabel], which changes by itself, is no handler. Hooks without
// handlers are valid, and so are a finalizer that is listed twice and a label with the value "".
func (h Hooks) Validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	errs = append(errs, h.PreDelete.validate(path.Child("preDelete"))...)
	errs = append(errs, h.InPlaceUpdate.validate(path.Child("inPlaceUpdate"))...)
	return append(errs, h.PreNormal.validate(path.Child("preNormal"))...)
}

func (h *Hook) validate(path *field.Path) field.ErrorList {
	if h == nil {
		return nil
	}
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(h.Labels)) {
		at := path.Child("labels").Key(key)
		for _, problem := range validation.IsQualifiedName(key) {
			errs = append(errs, field.Invalid(at, key, problem))
		}
		for _, problem := range validation.IsValidLabelValue(h.Labels[key]) {
			errs = append(errs, field.Invalid(at, h.Labels[key], problem))
		}
		if key == StateLabel {
			errs = append(errs, field.Invalid(at, key, "holds the state of the pod and cannot be a handler"))
		}
	}
	for i, name := range h.Finalizers {
		for _, problem := range validation.IsQualifiedName(name) {
			errs = append(errs, field.Invalid(path.Child("finalizers").Index(i), name, problem))
		}
	}
	return errs
}
