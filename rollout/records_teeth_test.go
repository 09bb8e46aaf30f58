//go:build teeth

package rollout_test

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/rollout"
)

// TestMistakesInSettingAsideAreFound: whatever is forgotten where nodes are set aside, some plan differs.
func TestMistakesInSettingAsideAreFound(t *testing.T) {
	for _, mistake := range slices.Sorted(maps.Keys(rollout.AsideMistakes)) {
		t.Run(mistake, func(t *testing.T) {
			found := false
			for seed := range 400 {
				c := rapid.Custom(drawAside).Example(seed)
				err := comparePlans(c, func(p *rollout.Planner) *rollout.Planner { return rollout.SetAside(p, mistake) })
				if found = err != nil; found {
					break
				}
			}
			if !found {
				t.Error("no plan differs")
			}
		})
	}
}

// TestPlansPatchRevisions: nearly every plan that TestRevisionActionPatchProperty draws patches a revision.
func TestPlansPatchRevisions(t *testing.T) {
	const plans = 20
	patching := 0
	for seed := range plans {
		plan := rapid.Custom(func(t *rapid.T) rollout.Plan {
			_, plan := drawRevising(t)
			return plan
		}).Example(seed)
		if patchesRevisions(plan) {
			patching++
		}
	}
	if patching < plans/2 {
		t.Errorf("only %d of %d plans patch a revision", patching, plans)
	}
}
