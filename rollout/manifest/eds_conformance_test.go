package manifest_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/internal/conformance"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/manifest"
)

// recordedDefaults is a case of defaults-validation: a spec, and what EDS made of it.
type recordedDefaults struct {
	name  string
	Input struct {
		DefaultValidationMode canary.Mode
		Spec                  map[string]any
	}
	Expect struct {
		DefaultedSpec   map[string]any
		ValidationError string
		ValidationPanic string
	}
}

// edsEntry is a deliberate difference in what is valid. Defaults have none.
type edsEntry struct {
	id, rule, why string
	// field that only we refuse, if its value is none; "": what only EDS refuses.
	field string
}

// edsEntries is the table of deliberate differences.
var edsEntries = []edsEntry{
	{"no-budget", "B1", "EDS never replaces a pod whose node would miss it; its documentation refuses 0", "spec.strategy.rollingUpdate.maxUnavailable"},
	{"no-canary-node", "C1", "EDS goes on without a canary", "spec.strategy.canary.replicas"},
	{"no-interval", "B7", "EDS divides by it", "spec.strategy.rollingUpdate.slowStartIntervalDuration"},
	{"no-increase", "B7", "EDS never creates a pod", "spec.strategy.rollingUpdate.slowStartAdditiveIncrease"},
	{"no-parallel", "B7", "EDS never creates a pod", "spec.strategy.rollingUpdate.maxParallelPodCreation"},
	{"no-timeout-by-hand", "C4", "EDS panics at a timeout of a canary that is validated by hand; here it fails in time", ""},
}

// edsRefusals are the fields that EDS means.
var edsRefusals = map[string]string{
	"canary autoFail.maxRestarts must be higher than autoPause.maxRestarts":     "spec.strategy.canary.autoFail.maxRestarts",
	"canary duration does not have effect with validationMode=manual":           "spec.strategy.canary.duration",
	"canary noRestartsDuration does not have effect with validationMode=manual": "spec.strategy.canary.noRestartsDuration",
	"canary autoFail.canaryTimeout must be greater than the canary duration":    "spec.strategy.canary.autoFail.canaryTimeout",
}

func recordedDefaultsCases(t *testing.T) []recordedDefaults {
	t.Helper()
	var cases []recordedDefaults
	for name, line := range conformance.Lines(t, "eds/defaults-validation.jsonl") {
		c := recordedDefaults{name: name}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		cases = append(cases, c)
	}
	return cases
}

// decode reads the recorded spec as a manifest. EDS does not look at the template but for its name; New wants a container.
func (c *recordedDefaults) decode(t *testing.T, without ...string) (manifest.Set, error) {
	t.Helper()
	object := map[string]any{
		"apiVersion": "datadoghq.com/v1alpha1", "kind": "ExtendedDaemonSet", "metadata": map[string]any{"name": "agent"}, "spec": c.Input.Spec,
	}
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	object = make(map[string]any)
	if err := json.Unmarshal(text, &object); err != nil {
		t.Fatal(err)
	}
	put(object, []string{"spec", "template", "spec"}, map[string]any{"containers": []any{map[string]any{"name": "a", "image": "a"}}})
	for _, field := range without {
		path := strings.Split(field, ".")
		parent, _ := lookUp(object, path[:len(path)-1]).(map[string]any)
		delete(parent, path[len(path)-1])
	}
	if text, err = json.Marshal(object); err != nil {
		t.Fatal(err)
	}
	set, err := manifest.Decode(text)
	if trial := set.Spec.Strategy.Canary; trial != nil && trial.Mode == "" {
		// The operator's own default: what a caller who knows it does.
		trial.Mode = c.Input.DefaultValidationMode
	}
	return set, err
}

// spec returns the recorded one in the library's words, as far as it can be read, and what is wrong with it.
func (c *recordedDefaults) spec(t *testing.T) (spec rollout.Spec, unread, refused []string) {
	t.Helper()
	set, err := c.decode(t)
	if err != nil {
		unread = paths(rollout.FieldErrors(err))
		if set, err = c.decode(t, unread...); err != nil {
			t.Fatalf("%s: without %q: %v", c.name, unread, err)
		}
	}
	_, err = rollout.New(set.Spec)
	return set.Spec, unread, slices.Concat(unread, paths(manifest.FieldErrors(set.Spec, err)))
}

// defaultsDifference compares the defaults field by field. Fields that could not be read are not compared.
func (c *recordedDefaults) defaultsDifference(spec rollout.Spec, unread []string) string {
	var want map[string]any
	text, err := json.Marshal(c.Expect.DefaultedSpec["strategy"])
	if err == nil {
		err = json.Unmarshal(text, &want)
	}
	if err != nil {
		return err.Error()
	}
	delete(want, "reconcileFrequency") // a plan says itself when to plan again
	got := inWordsOfEDS(spec.Default())
	for _, field := range unread {
		path := strings.Split(strings.TrimPrefix(field, "spec.strategy."), ".")
		for _, side := range []map[string]any{got, want} {
			parent, _ := lookUp(side, path[:len(path)-1]).(map[string]any)
			delete(parent, path[len(path)-1])
		}
	}
	diff := cmp.Diff(want, got)
	if spec.Template.Name != "" {
		diff += "the template has a name\n"
	}
	return diff
}

// inWordsOfEDS returns the strategy as a defaulted manifest spells it.
func inWordsOfEDS(spec rollout.Spec) map[string]any {
	value := func(v *intstr.IntOrString) any {
		switch {
		case v == nil:
			return nil
		case v.Type == intstr.String:
			return v.StrVal
		}
		return float64(v.IntVal)
	}
	s := spec.Strategy
	out := map[string]any{"rollingUpdate": map[string]any{
		"maxUnavailable": value(s.MaxUnavailable), "maxPodSchedulerFailure": value(s.MaxUnschedulable),
		"maxParallelPodCreation": value(s.SlowStart.MaxParallel), "slowStartAdditiveIncrease": value(s.SlowStart.Increase),
		"slowStartIntervalDuration": s.SlowStart.Interval.String(),
	}}
	if s.Canary == nil {
		return out
	}
	set := func(fields map[string]any, name string, d *time.Duration) {
		if d != nil {
			fields[name] = d.String()
		}
	}
	pause := map[string]any{"enabled": !s.Canary.AutoPause.Disabled, "maxRestarts": float64(*s.Canary.AutoPause.MaxRestarts)}
	set(pause, "maxSlowStartDuration", s.Canary.AutoPause.MaxSlowStartDuration)
	fail := map[string]any{"enabled": !s.Canary.AutoFail.Disabled, "maxRestarts": float64(*s.Canary.AutoFail.MaxRestarts)}
	set(fail, "maxRestartsDuration", s.Canary.AutoFail.MaxRestartsDuration)
	set(fail, "canaryTimeout", s.Canary.AutoFail.CanaryTimeout)
	trial := map[string]any{
		"replicas": value(s.Canary.Replicas), "validationMode": string(s.Canary.Mode), "autoPause": pause, "autoFail": fail,
	}
	set(trial, "duration", s.Canary.Duration)
	set(trial, "noRestartsDuration", s.Canary.NoRestartsDuration)
	selector := map[string]any{} // nil and empty are the same: all nodes
	if s.Canary.NodeSelector != nil && s.Canary.NodeSelector.MatchLabels != nil {
		labels := make(map[string]any)
		for key, label := range s.Canary.NodeSelector.MatchLabels {
			labels[key] = label
		}
		selector["matchLabels"] = labels
	}
	trial["nodeSelector"] = selector
	if keys := s.Canary.NodeAntiAffinityKeys; keys != nil {
		var list []any
		for _, key := range keys {
			list = append(list, key)
		}
		trial["nodeAntiAffinityKeys"] = list
	}
	out["canary"] = trial
	return out
}

// explain puts each field that only one side refuses down to an entry. What it cannot explain it returns.
func (c *recordedDefaults) explain(spec rollout.Spec, refused []string, count map[string]int) (unexplained []string) {
	if c.Expect.ValidationPanic != "" {
		// Our invariant: a canary that nobody validates in time fails, so the timeout stands without a duration.
		trial := spec.Strategy.Canary.Default()
		if trial.Mode == canary.Manual && *trial.AutoFail.CanaryTimeout > 0 && trial.Duration == nil {
			count["no-timeout-by-hand"]++
		} else {
			unexplained = append(unexplained, "panic: "+c.Expect.ValidationPanic)
		}
	}
	theirs, known := edsRefusals[c.Expect.ValidationError]
	if c.Expect.ValidationError != "" && (!known || !slices.Contains(refused, theirs)) {
		unexplained = append(unexplained, "only EDS refuses: "+c.Expect.ValidationError)
	}
	for _, field := range refused {
		if field == theirs {
			continue
		}
		if c.Expect.ValidationError+c.Expect.ValidationPanic != "" && slices.Contains(edsRefusalFields(), field) {
			continue // EDS reports the first mistake only, or ends at it
		}
		i := slices.IndexFunc(edsEntries, func(e edsEntry) bool { return e.field == field })
		if i < 0 || !isNone(lookUp(map[string]any{"spec": c.Expect.DefaultedSpec}, strings.Split(field, "."))) {
			unexplained = append(unexplained, "only we refuse: "+field)
			continue
		}
		count[edsEntries[i].id]++
	}
	return unexplained
}

func edsRefusalFields() (fields []string) {
	for _, field := range edsRefusals {
		fields = append(fields, field)
	}
	return fields
}

// isNone is our invariant for every field of the entries: none at all is never a speed, a budget or a size.
func isNone(value any) bool {
	return slices.Contains([]any{0.0, "0%", "0s"}, value)
}

// TestEDSDefaults compares with every recorded case: the defaults, which have no deliberate difference, and what is valid.
func TestEDSDefaults(t *testing.T) {
	cases := recordedDefaultsCases(t)
	count := make(map[string]int)
	agree, differ, verdicts := 0, 0, 0
	for _, c := range cases {
		spec, unread, refused := c.spec(t)
		if diff := c.defaultsDifference(spec, unread); diff != "" {
			differ++
			t.Errorf("%s: defaults: -EDS +daemonplan\n%s", c.name, diff)
		}
		before := fmt.Sprint(count)
		unexplained := c.explain(spec, refused, count)
		for _, u := range unexplained {
			t.Errorf("%s: %s", c.name, u)
		}
		if len(unexplained) == 0 && before == fmt.Sprint(count) {
			agree++
		}
		if valid := c.Expect.ValidationError+c.Expect.ValidationPanic == ""; valid != (len(refused) == 0) {
			verdicts++
		}
	}
	t.Logf("%d cases: the defaults of %d differ; what is valid agrees in every field in %d; the verdict differs in %d",
		len(cases), differ, agree, verdicts)
	seen := make(map[string]bool)
	for _, e := range edsEntries {
		if e.id == "" || e.rule == "" || e.why == "" || seen[e.id] {
			t.Errorf("entry %+v needs a unique id, a rule and a reason", e)
		}
		seen[e.id] = true
		t.Logf("%s (%s): %d: %s", e.id, e.rule, count[e.id], e.why)
		if count[e.id] == 0 {
			t.Errorf("entry %s explains nothing", e.id)
		}
	}
}

// trialOf returns the canary of the spec, or one of nothing.
func trialOf(s *rollout.Spec) *canary.Options {
	if s.Strategy.Canary == nil {
		return new(canary.Options)
	}
	return s.Strategy.Canary
}
