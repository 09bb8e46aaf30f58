// Package selectors reads labels and label selectors so that the same mistakes are told in the same order. Those functions of
// apimachinery that it hands them to, one entry at a time, go through maps in whatever order.
package selectors

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidateLabels reports every mistake in labels, ascending by key.
func ValidateLabels(set map[string]string, path *field.Path) field.ErrorList {
	var mistakes field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(set)) {
		mistakes = append(mistakes, validation.ValidateLabels(map[string]string{key: set[key]}, path)...)
	}
	return mistakes
}

// Validate reports every mistake in a selector: first in its labels, ascending by key, then in its expressions, in their order.
// Nil has none.
func Validate(selector *metav1.LabelSelector, path *field.Path) field.ErrorList {
	if selector == nil {
		return nil
	}
	mistakes := ValidateLabels(selector.MatchLabels, path.Child("matchLabels"))
	rest := metav1.LabelSelector{MatchExpressions: selector.MatchExpressions}
	return append(mistakes, validation.ValidateLabelSelector(&rest, validation.LabelSelectorValidationOptions{}, path)...)
}

// Compile is metav1.LabelSelectorAsSelector: nil selects nothing, an empty selector everything. Its error is about the first
// label that cannot be, ascending by key, or else about the first expression.
func Compile(selector *metav1.LabelSelector) (labels.Selector, error) {
	compiled, err := metav1.LabelSelectorAsSelector(selector)
	if err == nil {
		return compiled, nil
	}
	for _, key := range slices.Sorted(maps.Keys(selector.MatchLabels)) {
		one := metav1.LabelSelector{MatchLabels: map[string]string{key: selector.MatchLabels[key]}}
		if _, mistake := metav1.LabelSelectorAsSelector(&one); mistake != nil {
			return nil, mistake
		}
	}
	return nil, err
}
