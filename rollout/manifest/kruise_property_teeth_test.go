//go:build teeth

package manifest_test

import (
	"testing"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/rollout"
)

// TestPlantedTranslations shows that the property rejects translations that are wrong.
func TestPlantedTranslations(t *testing.T) {
	for name, plant := range map[string]func(*rollout.Spec){
		"loses the partition": func(s *rollout.Spec) { s.Strategy.Partition = nil },
		"fills in a partition": func(s *rollout.Spec) {
			if s.Strategy.Partition == nil {
				s.Strategy.Partition = number(0)
			}
		},
		"mixes up the budgets": func(s *rollout.Spec) {
			s.Strategy.MaxSurge, s.Strategy.MaxUnavailable = s.Strategy.MaxUnavailable, s.Strategy.MaxSurge
		},
		"loses the node selector":        func(s *rollout.Spec) { s.Strategy.NodeSelector = nil },
		"takes one selector for another": func(s *rollout.Spec) { s.Strategy.NodeSelector = s.Selector },
		"never pauses":                   func(s *rollout.Spec) { s.Strategy.Paused = false },
		"always recreates":               func(s *rollout.Spec) { s.Strategy.Method = inplace.Recreate },
		"never partitions the scaling":   func(s *rollout.Spec) { s.Strategy.PartitionedScaling = false },
		"loses the burst":                func(s *rollout.Spec) { s.Burst = nil },
		"claims to be apps/v1":           func(s *rollout.Spec) { s.APIVersion = "apps/v1" },
		"mixes up two hooks": func(s *rollout.Spec) {
			s.Lifecycle.PreNormal, s.Lifecycle.InPlaceUpdate = s.Lifecycle.InPlaceUpdate, s.Lifecycle.PreNormal
		},
		"loses the hook before deletion":  func(s *rollout.Spec) { s.Lifecycle.PreDelete = nil },
		"never waits":                     func(s *rollout.Spec) { s.MinReadySeconds = 0 },
		"fills in the default of history": func(s *rollout.Spec) { s.RevisionHistoryLimit = s.Default().RevisionHistoryLimit },
		"looks below rollingUpdate of OnDelete": func(s *rollout.Spec) {
			if s.Strategy.Type == rollout.OnDelete {
				s.Strategy.Partition = number(1)
			}
		},
	} {
		caught := false
		for seed := range 100 {
			object := genKruise().Example(seed)
			set := decodeObject(t, object, false)
			plant(&set.Spec)
			caught = caught || settingsError(object, set.Spec) != nil
		}
		if !caught {
			t.Errorf("the property accepts a translation that %s", name)
		}
	}
}
