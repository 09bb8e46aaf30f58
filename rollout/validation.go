package rollout

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/internal/count"
	"github.com/daemonplan/daemonplan/internal/selectors"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout/domain"
	"github.com/daemonplan/daemonplan/rollout/stage"
	"github.com/daemonplan/daemonplan/tolerations"
)

// Validate reports every mistake in the spec, with field paths below path (usually field.NewPath("spec")), in the
// order of the fields; nil: there is none. Unset fields count with their defaults. Validate checks what decides placement and
// rollout, and what the API server would refuse about the containers' identity. It ignores the rest of the pod template.
func (s Spec) Validate(path *field.Path) field.ErrorList {
	s = s.Default()
	errs := s.validateIdentity(path)
	errs = append(errs, s.validateSelector(path)...)
	errs = append(errs, s.validateTemplate(path.Child("template"))...)
	errs = append(errs, s.Strategy.validate(s.MinReadySeconds, path.Child("strategy"))...)
	if s.MinReadySeconds < 0 {
		errs = append(errs, field.Invalid(path.Child("minReadySeconds"), s.MinReadySeconds, "must not be negative"))
	}
	if *s.RevisionHistoryLimit < 0 {
		errs = append(errs, field.Invalid(path.Child("revisionHistoryLimit"), *s.RevisionHistoryLimit, "must not be negative"))
	}
	if burst, err := validateQuantity(path.Child("burst"), *s.Burst, math.MaxInt32); err != nil {
		errs = append(errs, err)
	} else if !burst.Percent && burst.Value == 0 {
		errs = append(errs, field.Invalid(path.Child("burst"), s.Burst.String(),
			"must be at least 1; strategy.frozen stops all creates and deletes"))
	}
	errs = append(errs, placement.ValidateOverrides(s.Overrides, path.Child("overrides"))...)
	errs = append(errs, s.validatePredecessor(path.Child("predecessor"))...)
	errs = append(errs, s.Lifecycle.Validate(path.Child("lifecycle"))...)
	if s.PreDownload != nil {
		errs = append(errs, s.PreDownload.Validate(path.Child("preDownload"))...)
	}
	return errs
}

// specError lets errors.As find each mistake, which the Aggregate of apimachinery does not.
type specError struct{ utilerrors.Aggregate }

// Unwrap lists the mistakes.
func (e specError) Unwrap() []error { return e.Errors() }

// FieldErrors lists the mistakes in an error of [New]; nil for any other error.
func FieldErrors(err error) field.ErrorList {
	aggregate, ok := errors.AsType[utilerrors.Aggregate](err)
	if !ok {
		return nil
	}
	var list field.ErrorList
	for _, e := range aggregate.Errors() {
		if f, ok := errors.AsType[*field.Error](e); ok {
			list = append(list, f)
		}
	}
	return list
}

func (s Spec) validateIdentity(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if s.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), "pods and revisions are named after the set"))
	} else {
		for _, msg := range utilvalidation.IsDNS1123Subdomain(s.Name) {
			errs = append(errs, field.Invalid(path.Child("name"), s.Name, msg))
		}
	}
	for _, msg := range utilvalidation.IsDNS1123Label(s.Namespace) {
		errs = append(errs, field.Invalid(path.Child("namespace"), s.Namespace, msg))
	}
	if s.Generation < 0 {
		errs = append(errs, field.Invalid(path.Child("generation"), s.Generation, "must not be negative"))
	}
	return errs
}

func (s Spec) validateSelector(path *field.Path) field.ErrorList {
	at := path.Child("selector")
	if s.Selector == nil {
		return field.ErrorList{field.Required(at, "says which pods belong to the set")}
	}
	errs := selectors.Validate(s.Selector, at)
	if len(s.Selector.MatchLabels)+len(s.Selector.MatchExpressions) == 0 {
		return append(errs, field.Invalid(at, s.Selector, "must not be empty: it would select every pod"))
	}
	selector, err := selectors.Compile(s.Selector)
	if err != nil {
		if len(errs) == 0 {
			errs = append(errs, field.Invalid(at, s.Selector, err.Error()))
		}
		return errs
	}
	if !selector.Matches(labels.Set(s.Template.Labels)) {
		errs = append(errs, field.Invalid(path.Child("template", "metadata", "labels"), s.Template.Labels,
			fmt.Sprintf("must match the selector %q", selector)))
	}
	return errs
}

func (s Spec) validatePredecessor(path *field.Path) field.ErrorList {
	if s.Predecessor == nil {
		return nil
	}
	var errs field.ErrorList
	for i, uid := range s.Predecessor.UIDs {
		if uid == "" || uid == s.UID {
			errs = append(errs, field.Invalid(path.Child("uids").Index(i), uid, "must not be empty, nor the set's own"))
		}
	}
	return append(errs, selectors.Validate(s.Predecessor.Selector, path.Child("selector"))...)
}

func (s Spec) validateTemplate(path *field.Path) field.ErrorList {
	spec, at := &s.Template.Spec, path.Child("spec")
	errs := selectors.ValidateLabels(s.Template.Labels, path.Child("metadata", "labels"))
	if len(spec.Containers) == 0 {
		errs = append(errs, field.Required(at.Child("containers"), "at least one container is needed"))
	}
	seen := make(map[string]bool)
	errs = append(errs, validateContainers(at.Child("initContainers"), spec.InitContainers, seen)...)
	errs = append(errs, validateContainers(at.Child("containers"), spec.Containers, seen)...)
	if len(spec.EphemeralContainers) > 0 {
		errs = append(errs, field.Forbidden(at.Child("ephemeralContainers"), "a template cannot have ephemeral containers"))
	}
	if spec.RestartPolicy != "" && spec.RestartPolicy != corev1.RestartPolicyAlways {
		errs = append(errs, field.NotSupported(at.Child("restartPolicy"), spec.RestartPolicy,
			[]corev1.RestartPolicy{corev1.RestartPolicyAlways}))
	}
	if spec.ActiveDeadlineSeconds != nil {
		errs = append(errs, field.Forbidden(at.Child("activeDeadlineSeconds"), "a daemon pod is to run for ever"))
	}
	if spec.NodeName != "" {
		for _, msg := range utilvalidation.IsDNS1123Subdomain(spec.NodeName) {
			errs = append(errs, field.Invalid(at.Child("nodeName"), spec.NodeName, msg))
		}
	}
	errs = append(errs, tolerations.Validate(spec.Tolerations, at.Child("tolerations"))...)
	// What the API server takes may be running, and has to be planned for (Planner.Warnings).
	taken := placement.Warnings(&s.Template, path)
	for _, mistake := range placement.Validate(&s.Template, path) {
		if !slices.ContainsFunc(taken, func(w *field.Error) bool { return w.Error() == mistake.Error() }) {
			errs = append(errs, mistake)
		}
	}
	return errs
}

// validateContainers adds to seen the names of the containers, because containers and init containers share one name space.
func validateContainers(path *field.Path, containers []corev1.Container, seen map[string]bool) field.ErrorList {
	var errs field.ErrorList
	for i := range containers {
		c, at := &containers[i], path.Index(i)
		switch {
		case c.Name == "":
			errs = append(errs, field.Required(at.Child("name"), "every container needs a name"))
		case seen[c.Name]:
			errs = append(errs, field.Duplicate(at.Child("name"), c.Name))
		default:
			for _, msg := range utilvalidation.IsDNS1123Label(c.Name) {
				errs = append(errs, field.Invalid(at.Child("name"), c.Name, msg))
			}
		}
		seen[c.Name] = true
		if c.Image == "" {
			errs = append(errs, field.Required(at.Child("image"), "every container needs an image"))
		}
	}
	return errs
}

func (s Strategy) validate(minReadySeconds int32, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch s.Type {
	case RollingUpdate:
		errs = s.validateBudgets(path)
	case OnDelete:
		// The API server does not look at the budgets of OnDelete either; they take no effect.
	default:
		return field.ErrorList{field.NotSupported(path.Child("type"), s.Type, []StrategyType{RollingUpdate, OnDelete})}
	}
	if _, err := validateQuantity(path.Child("partition"), *s.Partition, 100); err != nil {
		errs = append(errs, err)
	}
	errs = append(errs, selectors.Validate(s.NodeSelector, path.Child("nodeSelector"))...)
	if _, err := validateQuantity(path.Child("maxUnschedulable"), *s.MaxUnschedulable, 100); err != nil {
		errs = append(errs, err)
	}
	errs = append(errs, s.validateSlowStart(path.Child("slowStart"))...)
	if s.Type == RollingUpdate { // OnDelete does not use policies
		errs = append(errs, s.Policy.validate(minReadySeconds, path.Child("policy"))...)
	}
	if s.Canary != nil {
		if s.Type == OnDelete {
			errs = append(errs, field.Forbidden(path.Child("canary"),
				"not together with OnDelete, which updates no node by itself"))
		}
		errs = append(errs, s.Canary.Validate(path.Child("canary"))...)
	}
	switch s.Method {
	case inplace.Recreate, inplace.IfPossible, inplace.Only:
	default:
		errs = append(errs, field.NotSupported(path.Child("method"), s.Method,
			[]inplace.Method{inplace.Recreate, inplace.IfPossible, inplace.Only}))
	}
	for i, key := range s.InPlace.RestartKeys {
		whole := key
		if strings.HasSuffix(key, "/") {
			whole += "x" // a prefix is right if a key of it is
		}
		if len(utilvalidation.IsQualifiedName(whole)) > 0 {
			errs = append(errs, field.Invalid(path.Child("inPlace", "restartKeys").Index(i), key,
				"must be the key of a label or annotation, or the prefix of keys with its slash, such as checksum/"))
		}
	}
	for i, name := range s.InPlace.ServeOn {
		if len(utilvalidation.IsDNS1123Label(name)) > 0 {
			errs = append(errs, field.Invalid(path.Child("inPlace", "serveOn").Index(i), name,
				"must be the name of a container or sidecar, such as exporter"))
		}
	}
	if grace := s.InPlace.GracePeriodSeconds; grace < 0 {
		errs = append(errs, field.Invalid(path.Child("inPlace", "gracePeriodSeconds"), grace, "must not be negative"))
	}
	return errs
}

func (p Policy) validate(minReadySeconds int32, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if p.Outages != nil {
		errs = p.Outages.Validate(path.Child("outages"))
	}
	errs = append(errs, domain.Validate(p.Domains, path.Child("domains"))...)
	errs = append(errs, stage.Validate(p.Stages, p.Approved, path)...)
	if p.Failures != nil {
		errs = append(errs, p.Failures.Validate(minReadySeconds, path.Child("failures"))...)
	}
	return errs
}

// validateSlowStart checks the bounds of slow start: with a limit of 0 no pod could ever be created (B7).
func (s Strategy) validateSlowStart(path *field.Path) field.ErrorList {
	if s.SlowStart == nil {
		return nil
	}
	var errs field.ErrorList
	if s.SlowStart.Interval <= 0 {
		errs = append(errs, field.Invalid(path.Child("interval"), s.SlowStart.Interval.String(), "must be positive"))
	}
	for _, q := range []struct {
		name  string
		value intstr.IntOrString
	}{{"increase", *s.SlowStart.Increase}, {"maxParallel", *s.SlowStart.MaxParallel}} {
		at := path.Child(q.name)
		if quantity, err := validateQuantity(at, q.value, math.MaxInt32); err != nil {
			errs = append(errs, err)
		} else if quantity.Value == 0 {
			errs = append(errs, field.Invalid(at, q.value.String(), "must be positive: no pod could ever be created"))
		}
	}
	return errs
}

// validateBudgets checks B1: the two budgets are neither both zero nor both non-zero, and there is no surge with an in-place
// method.
func (s Strategy) validateBudgets(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	unavailable, errU := validateQuantity(path.Child("maxUnavailable"), *s.MaxUnavailable, 100)
	surge, errS := validateQuantity(path.Child("maxSurge"), *s.MaxSurge, 100)
	for _, err := range []*field.Error{errU, errS} {
		if err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		return errs
	}
	switch {
	case surge.Value > 0 && (s.Method == inplace.IfPossible || s.Method == inplace.Only):
		errs = append(errs, field.Invalid(path.Child("maxSurge"), s.MaxSurge.String(),
			fmt.Sprintf("must be 0 or unset with method %s: a pod that is updated in place has none beside it", s.Method)))
	case unavailable.Value > 0 && surge.Value > 0:
		errs = append(errs, field.Invalid(path.Child("maxSurge"), s.MaxSurge.String(),
			"must be 0 or unset while maxUnavailable is not 0: only one of the two budgets can be in use"))
	case unavailable.Value == 0 && surge.Value == 0:
		errs = append(errs, field.Invalid(path.Child("maxUnavailable"), s.MaxUnavailable.String(),
			"must not be 0 while maxSurge is 0: no node could ever be updated; strategy.paused stops a rollout"))
	}
	return errs
}

func validateQuantity(path *field.Path, v intstr.IntOrString, maxPercent int32) (count.Quantity, *field.Error) {
	q, err := count.Parse(v)
	switch {
	case err != nil:
		return count.Quantity{}, field.Invalid(path, v.String(), err.Error())
	case q.Value < 0:
		return count.Quantity{}, field.Invalid(path, q.Value, "must not be negative")
	case q.Percent && q.Value > maxPercent:
		return count.Quantity{}, field.Invalid(path, v.String(), fmt.Sprintf("must not be more than %d%%", maxPercent))
	}
	return q, nil
}
