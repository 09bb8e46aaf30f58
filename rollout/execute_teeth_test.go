//go:build teeth

package rollout_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/rollout"
)

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
