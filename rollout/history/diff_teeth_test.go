//go:build teeth

package history_test

import (
	"slices"
	"testing"

	"github.com/daemonplan/daemonplan/rollout/history"
)

func TestDiffPropertySeesBugs(t *testing.T) {
	after := func(bug func([]history.Change) []history.Change) diffing {
		return func(a, b []byte) ([]history.Change, error) {
			changes, err := history.DiffData(a, b)
			return bug(changes), err
		}
	}
	without := func(drop func(history.Change) bool) diffing {
		return after(func(changes []history.Change) []history.Change { return slices.DeleteFunc(changes, drop) })
	}
	for name, mutant := range map[string]diffing{
		"restarts for all": after(func(changes []history.Change) []history.Change {
			for i := range changes {
				changes[i].Restarts, changes[i].Why = true, history.Different
			}
			return changes
		}),
		"no order":     without(func(c history.Change) bool { return c.Op == history.Moved }),
		"no unknown":   without(func(c history.Change) bool { return c.Why == history.Unknown }),
		"no additions": without(func(c history.Change) bool { return c.Op == history.Added }),
		"no removals":  without(func(c history.Change) bool { return c.Op == history.Removed }),
		"no equivalents": func(a, b []byte) ([]history.Change, error) {
			return without(func(c history.Change) bool { return c.Why == history.Equivalent && c.Op == history.Added })(a, b)
		},
		"unsorted": after(func(changes []history.Change) []history.Change {
			slices.Reverse(changes)
			return changes
		}),
		"differs from itself": after(func(changes []history.Change) []history.Change {
			return append(changes, history.Change{Path: "~", Old: "1", New: "2", Why: history.Equivalent})
		}),
	} {
		t.Run(name, func(t *testing.T) { refutes(t, pairs(), showsWhatMatters(mutant)) })
	}
}
