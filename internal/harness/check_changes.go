package harness

import (
	"fmt"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/verify"
)

// Change is a spec that a user puts into force on the way.
type Change struct {
	// After so many plans with the spec before, or earlier if everything rests by then.
	After int
	// Spec that is in force from then on.
	Spec rollout.Spec
}

// CheckChanges checks V16 to V18, and what [verify.Plan] checks, for a cluster whose users change the spec on the way.
// The first of the changes is what is in force at the beginning; its After does not matter. Every plan is verified. With
// the last spec the cluster must settle as [CheckLive] says; that one must be [objects.Rolling], the others may stop the set.
// Between two changes no node is recreated or updated more than once ([CheckNoThrash]).
//
// The planner of each spec comes from the function. The cluster is one and the same all the way, so that a kubelet that is
// behind or a watch that lags meets the next spec in the middle of things.
func CheckChanges(
	planner func(rollout.Spec) (PlanFunc, error), snapshot rollout.Snapshot, behavior Behavior, changes ...Change,
) error {
	if len(changes) == 0 {
		return nil
	}
	c, err := NewCluster(changes[0].Spec, snapshot, behavior)
	if err != nil {
		return fmt.Errorf("V18: %w", err)
	}
	check := Recheck(new(verify.Verifier).Plan)
	for i, change := range changes {
		if err := c.SetSpec(change.Spec); err != nil {
			return fmt.Errorf("V18: %w", err)
		}
		plan, err := planner(change.Spec)
		if err != nil {
			return fmt.Errorf("V18: %w", err)
		}
		verified := func(s rollout.Snapshot) (rollout.Plan, error) {
			p, err := plan(s)
			if err == nil {
				err = check(change.Spec, s, p)
			}
			return p, err
		}
		first, begin := len(c.events), c.Snapshot()
		if i < len(changes)-1 {
			_, err = c.Run(verified, changes[i+1].After, nil)
		} else {
			err = c.checkLive(verified, begin)
		}
		if err != nil {
			return fmt.Errorf("V18: with spec %d of %d: %w\n%s", i+1, len(changes), err, recent(c))
		}
		if err := thrash(c.events[first:]); err != nil {
			return fmt.Errorf("V17: with spec %d of %d: %w\n%s", i+1, len(changes), err, recent(c))
		}
	}
	return nil
}
