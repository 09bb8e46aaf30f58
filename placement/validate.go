package placement

import (
	"errors"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// labelOperators translates the operators of matchExpressions into those of label selectors.
var labelOperators = [...]struct {
	api      corev1.NodeSelectorOperator
	selector selection.Operator
}{
	{corev1.NodeSelectorOpIn, selection.In},
	{corev1.NodeSelectorOpNotIn, selection.NotIn},
	{corev1.NodeSelectorOpExists, selection.Exists},
	{corev1.NodeSelectorOpDoesNotExist, selection.DoesNotExist},
	{corev1.NodeSelectorOpGt, selection.GreaterThan},
	{corev1.NodeSelectorOpLt, selection.LessThan},
}

// Validate returns the mistakes in the template's nodeSelector and required node affinity, in the order of
// the spec (nodeSelector by key), with paths below path, which is the template's own: with spec.template an
// error names spec.template.spec.affinity and so on. A nil path makes the template the root. A nil template
// is the only mistake then.
//
// Two kinds are reported. Mistakes that make an affinity term match no node (P4): an unknown operator, a
// number of values that does not fit the operator, a key or value that is no label, a bound that is no
// integer, a matchField without exactly one value. And those that the API server refuses although a matcher
// follows them: a required affinity without terms, a matchField for anything but metadata.name or with a
// value that is no node name, a nodeSelector entry that is no label. An empty term matches no node but is
// no mistake. Preferred terms, pod affinity and tolerations are not looked at: they do not place daemon
// pods.
func Validate(template *corev1.PodTemplateSpec, path *field.Path) field.ErrorList {
	if template == nil {
		if path == nil {
			path = field.NewPath("template")
		}
		return field.ErrorList{field.Required(path, "a pod template is needed to place pods")}
	}
	spec := path.Child("spec")
	mistakes := validateSelector(template.Spec.NodeSelector, spec.Child("nodeSelector"))
	if required := requiredTerms(template.Spec.Affinity); required != nil {
		mistakes = append(mistakes, validateAffinity(required, spec.Child(
			"affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"))...)
	}
	return mistakes
}

// Warnings returns those mistakes of [Validate] that the API server takes, so that a set which has them may be running: bounds
// of Gt and Lt that are no integers. The term matches no node then, and the others decide. The paths are those of Validate.
func Warnings(template *corev1.PodTemplateSpec, path *field.Path) field.ErrorList {
	if template == nil {
		return nil
	}
	required := requiredTerms(template.Spec.Affinity)
	if required == nil {
		return nil
	}
	terms := path.Child("spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
	var warnings field.ErrorList
	for i := range required.NodeSelectorTerms {
		for j := range required.NodeSelectorTerms[i].MatchExpressions {
			expression := &required.NodeSelectorTerms[i].MatchExpressions[j]
			bounded := expression.Operator == corev1.NodeSelectorOpGt || expression.Operator == corev1.NodeSelectorOpLt
			if !bounded || len(expression.Values) != 1 {
				continue
			}
			mistakes := invalidExpression(expression, terms.Index(i).Child("matchExpressions").Index(j))
			values := terms.Index(i).Child("matchExpressions").Index(j).Child("values").String()
			for _, mistake := range mistakes {
				if strings.HasPrefix(mistake.Field, values) { // the key may be wrong, too, which the server refuses
					warnings = append(warnings, mistake)
				}
			}
		}
	}
	return warnings
}

func validateSelector(selector map[string]string, path *field.Path) field.ErrorList {
	var mistakes field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(selector)) {
		for _, message := range validation.IsQualifiedName(key) {
			mistakes = append(mistakes, field.Invalid(path.Key(key), key, message))
		}
		for _, message := range validation.IsValidLabelValue(selector[key]) {
			mistakes = append(mistakes, field.Invalid(path.Key(key), selector[key], message))
		}
	}
	return mistakes
}

func validateAffinity(required *corev1.NodeSelector, terms *field.Path) field.ErrorList {
	if len(required.NodeSelectorTerms) == 0 {
		return field.ErrorList{field.Required(terms, "without a term no node matches")}
	}
	var mistakes field.ErrorList
	for i := range required.NodeSelectorTerms {
		mistakes = append(mistakes, unmatchable(&required.NodeSelectorTerms[i], terms.Index(i))...)
		mistakes = append(mistakes, refused(&required.NodeSelectorTerms[i], terms.Index(i))...)
	}
	return mistakes
}

// unmatchable returns the mistakes for which a term matches no node. Compile leaves out exactly these terms.
func unmatchable(term *corev1.NodeSelectorTerm, path *field.Path) field.ErrorList {
	var mistakes field.ErrorList
	for i := range term.MatchExpressions {
		expression := &term.MatchExpressions[i]
		mistakes = append(mistakes, invalidExpression(expression, path.Child("matchExpressions").Index(i))...)
	}
	for i := range term.MatchFields {
		requirement, at := &term.MatchFields[i], path.Child("matchFields").Index(i)
		switch requirement.Operator {
		case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
			if len(requirement.Values) != 1 {
				mistakes = append(mistakes, field.Invalid(
					at.Child("values"), slices.Clone(requirement.Values), "exactly one value is needed"))
			}
		default:
			mistakes = append(mistakes, field.NotSupported(at.Child("operator"), requirement.Operator,
				[]corev1.NodeSelectorOperator{corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn}))
		}
	}
	return mistakes
}

// invalidExpression returns the mistakes that apimachinery finds in the expression, because in the controllers the label
// requirements of apimachinery decide which terms are dropped. It copies the values because the errors keep them.
func invalidExpression(expression *corev1.NodeSelectorRequirement, path *field.Path) field.ErrorList {
	known := make([]corev1.NodeSelectorOperator, 0, len(labelOperators))
	for _, operator := range labelOperators {
		if operator.api == expression.Operator {
			_, err := labels.NewRequirement(
				expression.Key, operator.selector, slices.Clone(expression.Values), field.WithPath(path))
			return fieldErrors(err, path)
		}
		known = append(known, operator.api)
	}
	return field.ErrorList{field.NotSupported(path.Child("operator"), expression.Operator, known)}
}

// refused returns the mistakes of matchFields that do not keep a term from matching: the controllers read
// an unknown field as empty.
func refused(term *corev1.NodeSelectorTerm, path *field.Path) field.ErrorList {
	var mistakes field.ErrorList
	for i := range term.MatchFields {
		requirement, at := &term.MatchFields[i], path.Child("matchFields").Index(i)
		if requirement.Key != metav1.ObjectNameField {
			mistakes = append(mistakes, field.NotSupported(
				at.Child("key"), requirement.Key, []string{metav1.ObjectNameField}))
			continue
		}
		for j, value := range requirement.Values {
			for _, message := range apivalidation.NameIsDNSSubdomain(value, false) {
				mistakes = append(mistakes, field.Invalid(at.Child("values").Index(j), value, message))
			}
		}
	}
	return mistakes
}

// fieldErrors takes an aggregate of *field.Error apart. Anything else becomes one error at path, so that no
// failure is lost.
func fieldErrors(err error, path *field.Path) field.ErrorList {
	if err == nil {
		return nil
	}
	parts := []error{err}
	if aggregate, ok := errors.AsType[utilerrors.Aggregate](err); ok {
		parts = aggregate.Errors()
	}
	list := make(field.ErrorList, 0, len(parts))
	for _, part := range parts {
		var known *field.Error
		if !errors.As(part, &known) {
			known = field.InternalError(path, part)
		}
		list = append(list, known)
	}
	return list
}

// asError returns the mistakes as one error, nil if there are none. field.ErrorList.ToAggregate alone will not do, because its
// result supports errors.Is but not errors.As.
func asError(mistakes field.ErrorList) error {
	if len(mistakes) == 0 {
		return nil
	}
	return &invalidTemplateError{mistakes.ToAggregate()}
}

// invalidTemplateError is an Aggregate of *field.Error that errors.As can look into. It is used by pointer:
// errors.Is compares errors, and an aggregate is a slice.
type invalidTemplateError struct{ utilerrors.Aggregate }

// Unwrap returns every mistake.
func (e *invalidTemplateError) Unwrap() []error { return e.Errors() }
