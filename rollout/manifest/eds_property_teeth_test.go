//go:build teeth

package manifest_test

import (
	"testing"

	"github.com/daemonplan/daemonplan/rollout"
)

// TestEDSPlantedTranslations shows that the property rejects translations that are wrong.
func TestEDSPlantedTranslations(t *testing.T) {
	for name, plant := range map[string]func(*rollout.Spec){
		"loses the budget":                     func(s *rollout.Spec) { s.Strategy.MaxUnavailable = nil },
		"loses the places for stranded nodes":  func(s *rollout.Spec) { s.Strategy.MaxUnschedulable = nil },
		"mixes up the budgets":                 func(s *rollout.Spec) { s.Strategy.MaxUnschedulable = s.Strategy.MaxUnavailable },
		"fills in the increase":                func(s *rollout.Spec) { s.Strategy.SlowStart.Increase = number(1) },
		"loses the interval":                   func(s *rollout.Spec) { s.Strategy.SlowStart.Interval = 0 },
		"loses the limit":                      func(s *rollout.Spec) { s.Strategy.SlowStart.MaxParallel = nil },
		"never pauses":                         func(s *rollout.Spec) { s.Strategy.Paused = false },
		"always pauses":                        func(s *rollout.Spec) { s.Strategy.Paused = true },
		"never freezes":                        func(s *rollout.Spec) { s.Strategy.Frozen = false },
		"always has a canary":                  func(s *rollout.Spec) { s.Strategy.Canary = trialOf(s) },
		"never has a canary":                   func(s *rollout.Spec) { s.Strategy.Canary = nil },
		"always checks":                        func(s *rollout.Spec) { trialOf(s).AutoPause.Disabled = false },
		"mixes up the checks":                  func(s *rollout.Spec) { trialOf(s).AutoFail.Disabled = trialOf(s).AutoPause.Disabled },
		"mixes up the limits":                  func(s *rollout.Spec) { trialOf(s).AutoFail.MaxRestarts = trialOf(s).AutoPause.MaxRestarts },
		"mixes up the durations":               func(s *rollout.Spec) { trialOf(s).NoRestartsDuration = trialOf(s).Duration },
		"takes one timeout for another":        func(s *rollout.Spec) { trialOf(s).AutoFail.CanaryTimeout = trialOf(s).AutoFail.MaxRestartsDuration },
		"loses the time that a start may take": func(s *rollout.Spec) { trialOf(s).AutoPause.MaxSlowStartDuration = nil },
		"loses the nodes of the canary":        func(s *rollout.Spec) { trialOf(s).NodeSelector = nil },
		"loses the spread":                     func(s *rollout.Spec) { trialOf(s).NodeAntiAffinityKeys = nil },
		"loses the mode":                       func(s *rollout.Spec) { trialOf(s).Mode = "" },
		"loses the size":                       func(s *rollout.Spec) { trialOf(s).Replicas = nil },
		"claims to be apps/v1":                 func(s *rollout.Spec) { s.APIVersion = "apps/v1" },
	} {
		caught := false
		for seed := range 100 {
			object := genEDS().Example(seed)
			set := decodeObject(t, object, false)
			plant(&set.Spec)
			caught = caught || edsSettingsError(object, set.Spec) != nil
		}
		if !caught {
			t.Errorf("the property accepts a translation that %s", name)
		}
	}
}
