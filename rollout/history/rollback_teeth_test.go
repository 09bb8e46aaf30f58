//go:build teeth

package history_test

import (
	"math"
	"testing"

	"github.com/daemonplan/daemonplan/rollout/history"
)

func TestRollbackPropertySeesBugs(t *testing.T) {
	for name, mutant := range map[string]rollingBack{
		"to the oldest": func(w world, number int64) (history.RollbackPlan, error) {
			lowest := int64(math.MaxInt64)
			for _, revision := range w.in.Revisions {
				lowest = min(lowest, revision.Revision)
			}
			return planRollback(w, lowest)
		},
		"keeps the template": func(w world, number int64) (history.RollbackPlan, error) {
			got, err := planRollback(w, number)
			got.Template = w.template
			return got, err
		},
		"changes the wrong way": func(w world, number int64) (history.RollbackPlan, error) {
			got, err := planRollback(w, number)
			got.Changes = history.Changes(got.Template, w.template)
			return got, err
		},
	} {
		t.Run(name, func(t *testing.T) { refutes(t, worlds(), comesBack(mutant)) })
	}
}
