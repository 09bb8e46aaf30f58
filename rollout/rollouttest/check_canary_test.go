package rollouttest_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

func realPlanner(spec rollout.Spec) (rollouttest.PlanFunc, error) {
	planner, err := rollout.New(spec)
	if err != nil {
		return nil, err
	}
	return planner.Plan, nil
}

func TestCanaryOfTheRealPlannerIsPromoted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := rollouttest.AnyCanaryWorld(rollouttest.Released()).Draw(t, "world")
		if err := rollouttest.CheckCanaryEnds(realPlanner, w, rollouttest.EndsPromoted); err != nil {
			t.Fatal(err)
		}
	})
}

func TestCanaryOfTheRealPlannerIsSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := rollouttest.AnyCanaryWorld(rollouttest.Rolling()).Draw(t, "world")
		w.Mishaps = rollouttest.AnyMishaps(w.Snapshot.Nodes).Draw(t, "mishaps")
		if rapid.Bool().Draw(t, "ill") {
			w.Behavior = rollouttest.AnyIllness(w.Behavior, rollouttest.Hash(w.Spec)).Draw(t, "illness")
		}
		if err := rollouttest.CheckCanary(realPlanner, w); err != nil {
			t.Fatal(err)
		}
	})
}

func TestIllCanaryOfTheRealPlannerIsNotPromoted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fails := rollouttest.AutoFail(canary.AutoFail{CanaryTimeout: new(2 * time.Hour)})
		w := rollouttest.AnyCanaryWorld(rollouttest.Rolling(), fails).Draw(t, "world")
		w.Behavior = rollouttest.AnyIllness(w.Behavior, rollouttest.Hash(w.Spec)).Draw(t, "illness")
		if err := rollouttest.CheckCanaryEnds(realPlanner, w, rollouttest.EndsFailed); err != nil {
			t.Fatal(err)
		}
	})
}
