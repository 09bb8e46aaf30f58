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
