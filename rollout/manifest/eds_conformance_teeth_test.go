//go:build teeth

package manifest_test

import (
	"testing"
	"time"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
)

// TestEDSDefaultsTeeth shows that the comparison rejects defaults and checks that are wrong.
func TestEDSDefaultsTeeth(t *testing.T) {
	cases := recordedDefaultsCases(t)
	for name, plant := range map[string]func(*rollout.Spec){
		"has another duration": func(s *rollout.Spec) {
			if c := s.Strategy.Canary; c != nil && c.Duration == nil && c.Mode != canary.Manual {
				c.Duration = minutes(9)
			}
		},
		"takes manual for auto": func(s *rollout.Spec) {
			if c := s.Strategy.Canary; c != nil {
				c.Mode = canary.Auto
			}
		},
		"makes a canary of none":   func(s *rollout.Spec) { s.Strategy.Canary = &canary.Options{} },
		"loses the canary":         func(s *rollout.Spec) { s.Strategy.Canary = nil },
		"switches auto-pause on":   func(s *rollout.Spec) { trialOf(s).AutoPause.Disabled = false },
		"switches auto-fail off":   func(s *rollout.Spec) { trialOf(s).AutoFail.Disabled = true },
		"loses the timeout":        func(s *rollout.Spec) { trialOf(s).AutoFail.CanaryTimeout = nil },
		"loses the slow start":     func(s *rollout.Spec) { trialOf(s).AutoPause.MaxSlowStartDuration = nil },
		"loses the spread":         func(s *rollout.Spec) { trialOf(s).NodeAntiAffinityKeys = nil },
		"loses the canary's nodes": func(s *rollout.Spec) { trialOf(s).NodeSelector = nil },
		"is as fast as it can":     func(s *rollout.Spec) { s.Strategy.SlowStart.Increase = percent("100%") },
		"is slower": func(s *rollout.Spec) {
			s.Strategy.SlowStart.Interval = 5 * time.Minute
		},
		"exempts no node":           func(s *rollout.Spec) { s.Strategy.MaxUnschedulable = nil },
		"keeps the template's name": func(s *rollout.Spec) { s.Template.Name = "named" },
	} {
		caught := false
		for _, c := range cases {
			spec, unread, _ := c.spec(t)
			plant(&spec)
			caught = caught || c.defaultsDifference(spec, unread) != ""
		}
		if !caught {
			t.Errorf("the comparison accepts a translation that %s", name)
		}
	}
	for name, plant := range map[string]func(refused []string) []string{
		"refuses nothing":            func([]string) []string { return nil },
		"refuses canaries":           func(refused []string) []string { return append(refused, "spec.strategy.canary.replicas") },
		"refuses an unknown field":   func(refused []string) []string { return append(refused, "spec.template") },
		"refuses durations always":   func(refused []string) []string { return append(refused, "spec.strategy.canary.duration") },
		"refuses budgets regardless": func(refused []string) []string { return append(refused, "spec.strategy.rollingUpdate.maxUnavailable") },
	} {
		caught := false
		for _, c := range cases {
			spec, _, refused := c.spec(t)
			caught = caught || len(c.explain(spec, plant(refused), make(map[string]int))) > 0
		}
		if !caught {
			t.Errorf("the comparison accepts a check that %s", name)
		}
	}
}
