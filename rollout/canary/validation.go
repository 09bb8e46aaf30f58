package canary

import (
	"time"

	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/internal/selectors"
)

// Validate returns every mistake in the options, with field paths below path, in the order of the fields; nil if there is
// none. Unset fields count with their defaults. A nil path is allowed. Commands are never wrong: one that names no revision
// on trial is stale (C5).
func (o Options) Validate(path *field.Path) field.ErrorList {
	o = o.Default()
	var errs field.ErrorList
	if _, err := parseReplicas(*o.Replicas); err != nil {
		errs = append(errs, field.Invalid(path.Child("replicas"), o.Replicas.String(), err.Error()))
	}
	errs = append(errs, o.validateMode(path)...)
	errs = append(errs, selectors.Validate(o.NodeSelector, path.Child("nodeSelector"))...)
	for i, key := range o.NodeAntiAffinityKeys {
		for _, msg := range utilvalidation.IsQualifiedName(key) {
			errs = append(errs, field.Invalid(path.Child("nodeAntiAffinityKeys").Index(i), key, msg))
		}
	}
	errs = append(errs, o.AutoPause.validate(path.Child("autoPause"))...)
	return append(errs, o.validateAutoFail(path.Child("autoFail"))...)
}

func (o Options) validateMode(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	durations := []struct {
		name  string
		value *time.Duration
	}{{"duration", o.Duration}, {"noRestartsDuration", o.NoRestartsDuration}}
	switch o.Mode {
	case Auto:
		for _, d := range durations {
			errs = append(errs, notNegative(path.Child(d.name), d.value)...)
		}
	case Manual:
		for _, d := range durations {
			if d.value != nil {
				errs = append(errs, field.Forbidden(path.Child(d.name), "has no effect with validationMode manual"))
			}
		}
	default:
		errs = append(errs, field.NotSupported(path.Child("validationMode"), o.Mode, []Mode{Auto, Manual}))
	}
	return errs
}

func (a AutoPause) validate(path *field.Path) field.ErrorList {
	errs := restartsNotNegative(path, *a.MaxRestarts)
	return append(errs, notNegative(path.Child("maxSlowStartDuration"), a.MaxSlowStartDuration)...)
}

func (o Options) validateAutoFail(path *field.Path) field.ErrorList {
	fail, pause := o.AutoFail, o.AutoPause
	errs := restartsNotNegative(path, *fail.MaxRestarts)
	if !fail.Disabled && !pause.Disabled && *fail.MaxRestarts < *pause.MaxRestarts {
		errs = append(errs, field.Invalid(path.Child("maxRestarts"), *fail.MaxRestarts,
			"must not be less than autoPause.maxRestarts, or the canary would fail before it pauses"))
	}
	errs = append(errs, notNegative(path.Child("maxRestartsDuration"), fail.MaxRestartsDuration)...)
	timeoutPath := path.Child("canaryTimeout")
	switch {
	case fail.CanaryTimeout == nil:
	case *fail.CanaryTimeout <= 0:
		errs = append(errs, field.Invalid(timeoutPath, fail.CanaryTimeout.String(), "must be positive"))
	case o.Mode == Auto && *fail.CanaryTimeout <= *o.Duration:
		errs = append(errs, field.Invalid(timeoutPath, fail.CanaryTimeout.String(),
			"must be more than duration ("+o.Duration.String()+"), or the canary would fail before it is promoted"))
	}
	return errs
}

func restartsNotNegative(path *field.Path, restarts int32) field.ErrorList {
	if restarts < 0 {
		return field.ErrorList{field.Invalid(path.Child("maxRestarts"), restarts, "must not be negative")}
	}
	return nil
}

func notNegative(path *field.Path, d *time.Duration) field.ErrorList {
	if d != nil && *d < 0 {
		return field.ErrorList{field.Invalid(path, d.String(), "must not be negative")}
	}
	return nil
}
