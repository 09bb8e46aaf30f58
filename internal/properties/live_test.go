package properties_test

import (
	"testing"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout"
)

// The properties of a planner over the whole way of a rollout, from any state that a snapshot can show.
var (
	live     = property{"V16, V18 live", manyPlans(objects.Released()), once(checkLive)}
	liveHeld = property{"V16, V18 live, some held", manyPlans(objects.Rolling()), once(checkLive)}
	noThrash = property{"V17 no thrash", manyPlans(objects.Rolling()), once(checkNoThrash)}
	hesitant = property{"V18 carried out in parts", manyPlans(objects.Rolling()), once(checkHesitant)}
	amnesiac = property{"V18 without memory", manyPlans(objects.Rolling()), once(checkAmnesiac)}
	changed  = property{"V18 with another spec on the way", manyPlans(objects.Rolling()), checkChanged}
	minds    = property{"V18 with many specs on the way", manyMinds(), checkMinds}
)

func TestRolloutIsLive(t *testing.T) { test(t, live, liveHeld) }

func TestRolloutDoesNotThrash(t *testing.T) { test(t, noThrash) }

func TestRolloutRecovers(t *testing.T) { test(t, hesitant, amnesiac, changed, minds) }

func checkLive(c trial, plan harness.PlanFunc) error {
	return harness.CheckLive(c.Spec, plan, c.Snapshot, c.behavior)
}

func checkNoThrash(c trial, plan harness.PlanFunc) error {
	return harness.CheckNoThrash(c.Spec, plan, c.Snapshot, c.behavior)
}

// checkHesitant carries out no plan as a whole: the controller is stopped over and over again.
func checkHesitant(c trial, plan harness.PlanFunc) error {
	step := 0
	parts := func(s rollout.Snapshot) (rollout.Plan, error) {
		p, err := plan(s)
		step++
		return harness.Prefix(p, 1+(step*c.count)%4), err
	}
	if err := harness.CheckLive(c.Spec, parts, c.Snapshot, c.behavior); err != nil {
		return err
	}
	step = 0
	return harness.CheckNoThrash(c.Spec, parts, c.Snapshot, c.behavior)
}

// checkAmnesiac loses the memory before every plan.
func checkAmnesiac(c trial, plan harness.PlanFunc) error {
	forgetful := func(s rollout.Snapshot) (rollout.Plan, error) {
		s.Memory = rollout.Memory{}
		return plan(s)
	}
	if err := harness.CheckLive(c.Spec, forgetful, c.Snapshot, c.behavior); err != nil {
		return err
	}
	return harness.CheckNoThrash(c.Spec, forgetful, c.Snapshot, c.behavior)
}

// checkChanged puts another spec into force after some steps: what the first one left behind is a beginning like any
// other, and each spec change recreates a node at most once.
func checkChanged(c trial, f factory) error {
	first, err := f(c.Spec)
	if err != nil {
		return err
	}
	second, err := f(c.next)
	if err != nil {
		return err
	}
	// A watch that lags would leave requests in flight, which another cluster cannot take over.
	cluster, err := harness.NewCluster(c.Spec, c.Snapshot, harness.Behavior{Jitter: c.behavior.Jitter})
	if err != nil {
		return err
	}
	if _, err := cluster.Run(first, c.count, nil); err != nil {
		return err
	}
	s := cluster.Snapshot()
	if err := harness.CheckLive(c.next, second, s, c.behavior); err != nil {
		return err
	}
	return harness.CheckNoThrash(c.next, second, s, c.behavior)
}

// checkMinds lets users change their minds: the cluster is the same all the way.
func checkMinds(c trial, f factory) error {
	return harness.CheckChanges(f, c.Snapshot, c.behavior, c.changes...)
}
