package rollouttest

import (
	"fmt"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/daemonplan/daemonplan/rollout"
)

// CheckReading finds a caller who breaks the contract of [rollout.Snapshot.Reading]. It plans with the Reading of the snapshot
// and without, and returns an error that shows how the two plans differ, or nil if they do not. A difference means that a node
// or a pod was changed in place since the plan that the Reading is from, by the caller or by whoever else has the objects of its
// cache. A test of a controller calls it before each plan. The error is that of [rollout.Planner.Plan] if there is no plan.
func CheckReading(planner *rollout.Planner, snapshot rollout.Snapshot) error {
	got, err := planner.Plan(snapshot)
	if err != nil {
		return err
	}
	snapshot.Reading = nil
	want, err := planner.Plan(snapshot)
	if err != nil {
		return err
	}
	for i := range min(len(got.Decisions), len(want.Decisions)) {
		if a, b := &want.Decisions[i], &got.Decisions[i]; a.Node != b.Node || !cmp.Equal(a, b) {
			return fmt.Errorf("node %s or one of its pods was changed in place since it was read; its decision differs with the "+
				"Reading (-anew +read before):\n%s", a.Node, cmp.Diff(a, b))
		}
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		return fmt.Errorf("an object was changed in place since it was read; the plan differs with the Reading (-anew +read "+
			"before):\n%s", diff)
	}
	return nil
}
