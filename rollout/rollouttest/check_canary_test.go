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

// Wherever a world leads, what is wrong on the way is found, with what happened until then.
func TestCheckCanaryRejectsWhatIsWrongOnTheWay(t *testing.T) {
	deletes := bug{after: func(s rollout.Snapshot, p *rollout.Plan) {
		if p.Canary.Phase == canary.Running && len(s.Memory.Canary.Nodes) > 0 {
			p.Deletes = append(p.Deletes, rollout.Delete{Node: "d", Pod: "agent-d", UID: "pod-agent-d"})
		}
	}}
	fails := func(rollout.Spec) (rollouttest.PlanFunc, error) { return failing, nil }
	none := func(rollout.Spec) (rollouttest.PlanFunc, error) { return nil, errPlan }
	paused := befallen(tryOut(), rollouttest.Mishap{After: 6, Kind: rollouttest.PauseSet})
	for _, check := range []func(func(rollout.Spec) (rollouttest.PlanFunc, error), rollouttest.World) error{
		rollouttest.CheckCanary,
		func(planner func(rollout.Spec) (rollouttest.PlanFunc, error), w rollouttest.World) error {
			return rollouttest.CheckCanaryEnds(planner, w, rollouttest.EndsPromoted)
		},
	} {
		mustContain(t, check(deletes.planner, tryOut()), "C7: delete of agent-d on node d, which serves")
		mustContain(t, check(deletes.planner, tryOut()), "\n12:00:00 revision created agent-")
		mustContain(t, check(deletes.planner, paused), "before pause set: ")
		mustContain(t, check(fails, tryOut()), "step 1: no plan")
		mustContain(t, check(none, tryOut()), "no plan")
	}
}

// A canary node that is gone counts no longer: those that are left are enough, from that very plan on (C1, C2).
func TestCheckCanaryWithoutNodesThatAreGone(t *testing.T) {
	for after := range 14 {
		for _, node := range []string{"a", "b"} {
			w := befallen(tryOut(rollouttest.Canary("2"), rollouttest.CanaryFor(0, time.Minute), rollouttest.MaxUnavailable("1")),
				rollouttest.Mishap{After: after, Kind: rollouttest.DeleteNode, Node: node})
			if err := rollouttest.CheckCanaryEnds(realPlanner, w, rollouttest.EndsPromoted); err != nil {
				t.Errorf("node %s is deleted after %d plans: %v", node, after, err)
			}
		}
	}
}
