package manifest_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/conformance"
	_ "github.com/daemonplan/daemonplan/internal/fixedseed"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
)

// edsSettings returns those of an ExtendedDaemonSet whose value a Spec has as it is. Durations are in the words of the manifest.
func edsSettings() []setting {
	rolling := func(name string) []string { return []string{"spec", "strategy", "rollingUpdate", name} }
	text := func(d *time.Duration) *metav1.Duration {
		if d == nil {
			return nil
		}
		return &metav1.Duration{Duration: *d}
	}
	list := []setting{
		{[]string{"apiVersion"}, func(s *rollout.Spec) any { return s.APIVersion }},
		{[]string{"kind"}, func(s *rollout.Spec) any { return s.Kind }},
		{[]string{"metadata", "name"}, func(s *rollout.Spec) any { return s.Name }},
		{[]string{"metadata", "namespace"}, func(s *rollout.Spec) any { return s.Namespace }},
		{[]string{"metadata", "uid"}, func(s *rollout.Spec) any { return s.UID }},
		{[]string{"metadata", "generation"}, func(s *rollout.Spec) any { return s.Generation }},
		{rolling("maxUnavailable"), func(s *rollout.Spec) any { return s.Strategy.MaxUnavailable }},
		{rolling("maxPodSchedulerFailure"), func(s *rollout.Spec) any { return s.Strategy.MaxUnschedulable }},
		{rolling("slowStartAdditiveIncrease"), func(s *rollout.Spec) any { return s.Strategy.SlowStart.Increase }},
		{rolling("maxParallelPodCreation"), func(s *rollout.Spec) any {
			if s.Strategy.SlowStart.MaxParallel == nil {
				return (*int32)(nil)
			}
			return &s.Strategy.SlowStart.MaxParallel.IntVal
		}},
		{rolling("slowStartIntervalDuration"), func(s *rollout.Spec) any {
			if s.Strategy.SlowStart.Interval == 0 {
				return (*metav1.Duration)(nil)
			}
			return text(&s.Strategy.SlowStart.Interval)
		}},
	}
	trial := func(of func(*canary.Options) any, path ...string) {
		list = append(list, setting{append([]string{"spec", "strategy", "canary"}, path...), func(s *rollout.Spec) any { return of(trialOf(s)) }})
	}
	enabled := func(disabled bool) *bool {
		if !disabled {
			return nil // on is the default
		}
		return new(false)
	}
	trial(func(c *canary.Options) any { return c.Replicas }, "replicas")
	trial(func(c *canary.Options) any { return string(c.Mode) }, "validationMode")
	trial(func(c *canary.Options) any { return text(c.Duration) }, "duration")
	trial(func(c *canary.Options) any { return text(c.NoRestartsDuration) }, "noRestartsDuration")
	trial(func(c *canary.Options) any { return c.NodeSelector }, "nodeSelector")
	trial(func(c *canary.Options) any { return c.NodeAntiAffinityKeys }, "nodeAntiAffinityKeys")
	trial(func(c *canary.Options) any { return enabled(c.AutoPause.Disabled) }, "autoPause", "enabled")
	trial(func(c *canary.Options) any { return c.AutoPause.MaxRestarts }, "autoPause", "maxRestarts")
	trial(func(c *canary.Options) any { return text(c.AutoPause.MaxSlowStartDuration) }, "autoPause", "maxSlowStartDuration")
	trial(func(c *canary.Options) any { return enabled(c.AutoFail.Disabled) }, "autoFail", "enabled")
	trial(func(c *canary.Options) any { return c.AutoFail.MaxRestarts }, "autoFail", "maxRestarts")
	trial(func(c *canary.Options) any { return text(c.AutoFail.MaxRestartsDuration) }, "autoFail", "maxRestartsDuration")
	trial(func(c *canary.Options) any { return text(c.AutoFail.CanaryTimeout) }, "autoFail", "canaryTimeout")
	return list
}

// edsSettingsError returns the property: every setting of the object is in the spec, and the spec has no other.
func edsSettingsError(object map[string]any, spec rollout.Spec) error {
	for _, s := range edsSettings() {
		got := s.of(&spec)
		value := lookUp(object, s.path)
		if value == true && s.path[len(s.path)-1] == "enabled" {
			value = nil
		}
		text, err := json.Marshal(value)
		if err != nil {
			return err
		}
		want := reflect.New(reflect.TypeOf(got))
		if err := json.Unmarshal(text, want.Interface()); err != nil {
			return err
		}
		if diff := cmp.Diff(want.Elem().Interface(), got); diff != "" {
			return fmt.Errorf("%s (-manifest +spec):\n%s", strings.Join(s.path, "."), diff)
		}
	}
	if has := lookUp(object, []string{"spec", "strategy", "canary"}) != nil; has != (spec.Strategy.Canary != nil) {
		return fmt.Errorf("canary: manifest %v, spec %v", has, !has)
	}
	for key, on := range map[string]bool{"rolling-update-paused": spec.Strategy.Paused, "rollout-frozen": spec.Strategy.Frozen} {
		value := lookUp(object, []string{"metadata", "annotations", "extendeddaemonset.datadoghq.com/" + key})
		if on != (value == "true") {
			return fmt.Errorf("%s: manifest %v, spec %v", key, value, on)
		}
	}
	return nil
}

// genEDS draws an ExtendedDaemonSet with any of the settings.
func genEDS() *rapid.Generator[map[string]any] {
	word := rapid.StringMatching(`[a-z]{1,4}`)
	values := map[reflect.Type]*rapid.Generator[any]{
		reflect.TypeFor[string]():              word.AsAny(),
		reflect.TypeFor[types.UID]():           word.AsAny(),
		reflect.TypeFor[*bool]():               rapid.Bool().AsAny(),
		reflect.TypeFor[*int32]():              rapid.Int32Range(0, 400).AsAny(),
		reflect.TypeFor[int64]():               rapid.Int64Range(0, 5).AsAny(),
		reflect.TypeFor[*metav1.Duration]():    rapid.SampledFrom([]any{"1s", "90s", "1h0m0s", "250ms"}),
		reflect.TypeFor[*intstr.IntOrString](): rapid.OneOf(rapid.Int32Range(0, 5).AsAny(), rapid.StringMatching(`[1-9]%`).AsAny()),
		reflect.TypeFor[[]string]():            rapid.SliceOfN(word, 1, 2).AsAny(),
		reflect.TypeFor[*metav1.LabelSelector](): rapid.Custom(func(t *rapid.T) any {
			return map[string]any{"matchLabels": rapid.MapOfN(word, word, 1, 2).Draw(t, "labels")}
		}),
	}
	return rapid.Custom(func(t *rapid.T) map[string]any {
		object := make(map[string]any)
		for _, s := range edsSettings() {
			if name := s.path[len(s.path)-1]; rapid.Bool().Draw(t, name) {
				put(object, s.path, values[reflect.TypeOf(s.of(&rollout.Spec{Strategy: rollout.Strategy{SlowStart: new(rollout.SlowStart)}}))].Draw(t, name))
			}
		}
		for _, key := range []string{"rolling-update-paused", "rollout-frozen", "canary-paused", "canary-unpaused", "canary-valid"} {
			if rapid.Bool().Draw(t, key) {
				put(object, []string{"metadata", "annotations", "extendeddaemonset.datadoghq.com/" + key},
					rapid.SampledFrom([]any{"true", "false", "True", ""}).Draw(t, key+" value"))
			}
		}
		if strategy, ok := lookUp(object, []string{"spec", "strategy"}).(map[string]any); ok && rapid.IntRange(0, 3).Draw(t, "canary") == 0 {
			delete(strategy, "canary")
		}
		put(object, []string{"apiVersion"}, "datadoghq.com/v1alpha1")
		put(object, []string{"kind"}, "ExtendedDaemonSet")
		return object
	})
}

func TestEDSSettings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		object := genEDS().Draw(t, "object")
		set := decodeObject(t, object, rapid.Bool().Draw(t, "yaml"))
		if err := edsSettingsError(object, set.Spec); err != nil {
			t.Fatal(err)
		}
	})
}

// TestEDSRecorded decodes the sets that the controller was recorded with, status and all.
func TestEDSRecorded(t *testing.T) {
	for _, file := range []string{"eds/eds-reconcile.jsonl", "eds/ers-reconcile.jsonl"} {
		t.Run(file, func(t *testing.T) {
			for name, line := range conformance.Lines(t, file) {
				var c struct {
					Input struct{ ExtendedDaemonSet map[string]any }
				}
				if err := json.Unmarshal(line, &c); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				object := c.Input.ExtendedDaemonSet
				object["apiVersion"], object["kind"] = "datadoghq.com/v1alpha1", "ExtendedDaemonSet" // clients leave them out
				set := decodeObject(t, object, false)
				if err := edsSettingsError(object, set.Spec); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				nodes, _ := lookUp(object, []string{"status", "canary", "nodes"}).([]any)
				if len(nodes) < len(set.Memory.Canary.Nodes) || len(nodes) > 0 && len(set.Memory.Canary.Nodes) == 0 {
					t.Errorf("%s: canary nodes %v remembered as %v", name, nodes, set.Memory.Canary.Nodes)
				}
			}
		})
	}
}
