package simulate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/internal/selectors"
	"github.com/daemonplan/daemonplan/rollout"
)

// Validate returns every mistake in the scenario at once, as an aggregate of *field.Error with paths such as events[3].share;
// [rollout.FieldErrors] lists them. If it returns nil, [New] accepts the scenario.
func (s Scenario) Validate() error {
	var errs field.ErrorList
	errs = append(errs, validateSpec(field.NewPath("spec"), &s.Spec)...)
	errs = append(errs, s.Fleet.validate(field.NewPath("fleet"))...)
	pools := s.pools()
	errs = append(errs, s.Model.validate(field.NewPath("model"), pools)...)
	errs = append(errs, s.Controller.validate(field.NewPath("controller"))...)
	for i := range s.Events {
		errs = append(errs, s.Events[i].validate(field.NewPath("events").Index(i), &s, pools)...)
	}
	errs = append(errs, validateDuration(field.NewPath("limit"), s.Limit)...)
	if len(errs) == 0 {
		return nil
	}
	return scenarioError{errs}
}

// scenarioError is a list of mistakes. [rollout.FieldErrors] and errors.As find each of them.
type scenarioError struct{ list field.ErrorList }

// Error lists the mistakes.
func (e scenarioError) Error() string { return e.list.ToAggregate().Error() }

// Errors and Unwrap list the mistakes one by one.
func (e scenarioError) Errors() []error { return e.list.ToAggregate().Errors() }
func (e scenarioError) Unwrap() []error { return e.Errors() }

// Is reports whether any of the mistakes is the target, as errors.Is asks.
func (e scenarioError) Is(target error) bool { return e.list.ToAggregate().Is(target) }

// pools are the names that pools of nodes have, or may come to have; nil if they cannot be known.
func (s *Scenario) pools() map[string]bool {
	pools := map[string]bool{}
	for i := range s.Fleet.Pools {
		pools[s.Fleet.Pools[i].Name] = true
	}
	for i := range s.Events {
		if e := &s.Events[i]; e.What == AddNodes {
			pools[e.Join.Name] = true
		}
		if _, ok := s.Events[i].Labels[PoolLabel]; ok {
			return nil
		}
	}
	if s.Fleet.Snapshot != nil {
		for _, node := range s.Fleet.Snapshot.Nodes {
			if node != nil {
				pools[node.Labels[PoolLabel]] = true
			}
		}
	}
	return pools
}

// validateSpec reports what [rollout.New] says about a spec.
func validateSpec(path *field.Path, spec *rollout.Spec) field.ErrorList {
	errs := spec.Validate(path)
	if len(errs) > 0 {
		return errs
	}
	if _, err := rollout.New(*spec); err != nil {
		return field.ErrorList{field.Invalid(path, spec.Name, err.Error())}
	}
	return nil
}

func validatePool(path *field.Path, pool string, pools map[string]bool) field.ErrorList {
	if pool == "" || pools == nil || pools[pool] {
		return nil
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(pools)), func(name string) bool { return name == "" })
	return field.ErrorList{field.NotSupported(path, pool, names)}
}

func (m *Model) validate(path *field.Path, pools map[string]bool) field.ErrorList {
	errs := validateDistribution(path.Child("schedule"), m.Schedule)
	for i := range m.Kubelets {
		errs = append(errs, m.Kubelets[i].validate(path.Child("kubelets").Index(i), pools)...)
	}
	errs = append(errs, m.Registry.validate(path.Child("registry"))...)
	errs = append(errs, validateDistribution(path.Child("hooks"), m.Hooks)...)
	return append(errs, validateShare(path.Child("stubbornHooks"), m.StubbornHooks)...)
}

func (k *Kubelet) validate(path *field.Path, pools map[string]bool) field.ErrorList {
	errs := validatePool(path.Child("pool"), k.Pool, pools)
	errs = append(errs, validateShare(path.Child("share"), k.Share)...)
	errs = append(errs, validateShare(path.Child("nodeShare"), k.NodeShare)...)
	for _, d := range []struct {
		name string
		Distribution
	}{
		{"create", k.Create},
		{"start", k.Start},
		{"ready", k.Ready},
		{"stop", k.Stop},
		{"restart", k.Restart},
		{"resize", k.Resize},
		{"crash", k.Crash},
		{"fail", k.Fail},
	} {
		errs = append(errs, validateDistribution(path.Child(d.name), d.Distribution)...)
	}
	return append(errs, validateCount(path.Child("crashes"), int64(k.Crashes))...)
}

func (r *Registry) validate(path *field.Path) field.ErrorList {
	errs := validateCount(path.Child("bandwidth"), r.Bandwidth)
	errs = append(errs, validateCount(path.Child("nodeBandwidth"), r.NodeBandwidth)...)
	errs = append(errs, validateRate(path.Child("requests"), r.Requests)...)
	for _, image := range slices.Sorted(maps.Keys(r.Sizes)) {
		errs = append(errs, validateCount(path.Child("sizes").Key(image), r.Sizes[image])...)
	}
	errs = append(errs, validateCount(path.Child("size"), r.Size)...)
	errs = append(errs, validateDistribution(path.Child("latency"), r.Latency)...)
	return append(errs, validateShare(path.Child("failedPulls"), r.FailedPulls)...)
}

// mostCallBurst is the largest burst. A larger one at the lowest rate would lead to durations that overflow.
const mostCallBurst = 1_000_000

func (c *Controller) validate(path *field.Path) field.ErrorList {
	errs := validateDuration(path.Child("interval"), c.Interval)
	errs = append(errs, validateRate(path.Child("callsPerSecond"), c.CallsPerSecond)...)
	if c.CallBurst < 0 || c.CallBurst > mostCallBurst {
		detail := fmt.Sprintf("must be from 0 to %d", mostCallBurst)
		errs = append(errs, field.Invalid(path.Child("callBurst"), c.CallBurst, detail))
	}
	errs = append(errs, validateDistribution(path.Child("lag"), c.Lag)...)
	shares := append(validateShare(path.Child("failedCalls"), c.FailedCalls),
		validateShare(path.Child("lostAnswers"), c.LostAnswers)...)
	if len(shares) == 0 && c.FailedCalls+c.LostAnswers > 1 {
		shares = append(shares, field.Invalid(path.Child("lostAnswers"), c.LostAnswers,
			"must not be more than 1 together with failedCalls"))
	}
	errs = append(errs, shares...)
	errs = append(errs, validateRecurrence(path.Child("crash"), c.Crash)...)
	return append(errs, validateDistribution(path.Child("restart"), c.Restart)...)
}

func validateDistribution(path *field.Path, d Distribution) field.ErrorList {
	if problem := d.problem(); problem != "" {
		return field.ErrorList{field.Invalid(path, d.String(), problem)}
	}
	return nil
}

// leastRecurrence is the least mean time after which something may recur. Without such a bound a run might never get past
// one instant.
const leastRecurrence = time.Millisecond

// validateRecurrence checks the time after which something happens again.
func validateRecurrence(path *field.Path, d Distribution) field.ErrorList {
	errs := validateDistribution(path, d)
	if len(errs) == 0 && d.isSet() && d.Mean() < leastRecurrence {
		errs = append(errs, field.Invalid(path, d.String(), fmt.Sprintf("must be at least %v on average", leastRecurrence)))
	}
	return errs
}

func validateDuration(path *field.Path, d time.Duration) field.ErrorList {
	switch {
	case d < 0:
		return field.ErrorList{field.Invalid(path, d.String(), "must not be negative")}
	case d > longest:
		return field.ErrorList{field.Invalid(path, d.String(), "must not be longer than ten years (87600h)")}
	}
	return nil
}

func validateShare(path *field.Path, share float64) field.ErrorList {
	if share >= 0 && share <= 1 { // not so for NaN
		return nil
	}
	return field.ErrorList{field.Invalid(path, share, "must be between 0 and 1")}
}

func validateCount(path *field.Path, count int64) field.ErrorList {
	if count < 0 {
		return field.ErrorList{field.Invalid(path, count, "must not be negative")}
	}
	return nil
}

// validateRate checks a number per second. One close to 0 would lead to durations that overflow.
func validateRate(path *field.Path, rate float64) field.ErrorList {
	const least, most = 0.001, 1e9
	if rate == 0 || rate >= least && rate <= most {
		return nil
	}
	return field.ErrorList{field.Invalid(path, rate, "must be 0, for no limit, or between 0.001 and 1000000000 a second")}
}

func validateLabels(path *field.Path, labels map[string]string) field.ErrorList {
	return selectors.ValidateLabels(labels, path)
}

func validateTaint(path *field.Path, taint *corev1.Taint) field.ErrorList {
	var errs field.ErrorList
	if taint.Key == "" {
		errs = append(errs, field.Required(path.Child("key"), ""))
	} else {
		for _, msg := range utilvalidation.IsQualifiedName(taint.Key) {
			errs = append(errs, field.Invalid(path.Child("key"), taint.Key, msg))
		}
	}
	for _, msg := range utilvalidation.IsValidLabelValue(taint.Value) {
		errs = append(errs, field.Invalid(path.Child("value"), taint.Value, msg))
	}
	effects := []corev1.TaintEffect{
		corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute,
	}
	if taint.Effect == "" {
		errs = append(errs, field.Required(path.Child("effect"), "one of "+joined(effects)))
	} else if !slices.Contains(effects, taint.Effect) {
		errs = append(errs, field.NotSupported(path.Child("effect"), taint.Effect, effects))
	}
	return errs
}

func joined[T ~string](values []T) string {
	var b strings.Builder
	for i, value := range values {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(value))
	}
	return b.String()
}
