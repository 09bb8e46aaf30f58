//go:build teeth

package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/status"
)

// as plans by another spec than the one in force.
func as(options ...kit.SpecOption) planner {
	return func(w *world, spec int, snapshot rollout.Snapshot) (rollout.Plan, error) {
		other, err := rollout.New(kit.Changed(w.Specs[spec], options...))
		if err != nil {
			return rollout.Plan{}, err
		}
		return other.Plan(snapshot)
	}
}

// spoiled is the right plan, but for what spoil does to it.
func spoiled(spoil func(*rollout.Plan)) planner {
	return func(w *world, spec int, snapshot rollout.Snapshot) (rollout.Plan, error) {
		plan, err := w.planners[spec].Plan(snapshot)
		spoil(&plan)
		return plan, err
	}
}

func featureOf(t *testing.T, name string) feature {
	t.Helper()
	list := features()
	i := slices.IndexFunc(list, func(f feature) bool { return f.name == name })
	if i < 0 {
		t.Fatalf("there is no feature %q", name)
	}
	return list[i]
}

// TestStatementsFindPlantedBugs: for each statement there is a planner that breaks it, and the exploration says so, by a way
// that is as short as it can be.
func TestStatementsFindPlantedBugs(t *testing.T) {
	for _, bug := range []struct {
		name, why, feature string
		plan               planner
		finds              string
		steps              int // of the way
	}{
		{"takes two nodes", "the budget is counted wrong", "", as(kit.MaxUnavailable("2")), "budget: ", 2},
		{"creates twice", "a pod is created beside the one that it has asked for", "", spoiled(func(p *rollout.Plan) {
			p.Creates = append(p.Creates, p.Creates...)
		}), "twins: ", 3},
		{"surges on two nodes", "the budget is counted wrong", "maxSurge", as(kit.MaxSurge("2")), "surge: ", 2},
		{"asks no hook", "the hook is not looked at", "preDelete hook", func(w *world, spec int, s rollout.Snapshot) (rollout.Plan, error) {
			without := w.Specs[spec]
			without.Lifecycle.PreDelete = nil
			other, err := rollout.New(without)
			if err != nil {
				return rollout.Plan{}, err
			}
			return other.Plan(s)
		}, "hooks: ", 2},
		{"goes on under paused", "paused is not looked at", "paused", as(func(s *rollout.Spec) { s.Strategy.Paused = false }), "held: ", 3},
		{"goes on under frozen", "frozen is not looked at", "frozen", as(func(s *rollout.Spec) { s.Strategy.Frozen = false }), "held: ", 3},
		{"deletes by itself", "the type is not looked at", "OnDelete", as(kit.MaxUnavailable("1"), func(s *rollout.Spec) {
			s.Strategy.Type = rollout.RollingUpdate
		}), "held: ", 2},
		{"goes beyond the partition", "the partition is not looked at", "partition", as(kit.Partition("0")), "held: ", 7},
		{"brings the old one back", "the revision of the lost pod is taken for the target", "", func(w *world, spec int, s rollout.Snapshot) (rollout.Plan, error) {
			return w.planners[0].Plan(s)
		}, "downgrade: ", 4},
		{"says that it goes on", "the state is not looked at", "", spoiled(func(p *rollout.Plan) {
			p.Status.State = status.Updating
		}), "P-A: nothing will ever happen", 3},
		{"says that it is done", "the state is not looked at", "", func(w *world, spec int, s rollout.Snapshot) (rollout.Plan, error) {
			plan, err := w.planners[spec].Plan(s)
			plan.Deletes = nil
			plan.Status.State = status.Running
			return plan, err
		}, "P-A: the state is Running", 4},
		{"goes round and round", "a pod of the update revision is replaced again and again", "maxUnavailable 2", spoiled(func(p *rollout.Plan) {
			for i := range p.Decisions {
				if d := &p.Decisions[i]; len(p.Deletes)+len(p.Creates) == 0 && d.State == rollout.StateUpdated && d.Node == nodeName(0) {
					p.Deletes = append(p.Deletes, rollout.Delete{Pod: d.Pod, UID: "node-0.a", Node: d.Node})
				}
			}
		}), "liveness: ", 0},
	} {
		t.Run(bug.name, func(t *testing.T) {
			c := small()
			if bug.feature != "" {
				c = small(featureOf(t, bug.feature))
			}
			c.Troubles = [kindsOfTrouble]int8{userChanges: 2, podFails: 1}
			if bug.name == "deletes by itself" {
				c.Troubles[podDeleted] = 1
			}
			w, err := newWorld(c)
			if err != nil {
				t.Fatal(err)
			}
			w.plan = bug.plan
			_, f, err := explore(w)
			if err != nil {
				t.Fatal(err)
			}
			if f == nil || !strings.HasPrefix(f.wrong, bug.finds) {
				t.Fatalf("%s: found %v, want %q", bug.why, f, bug.finds)
			}
			moves := slices.DeleteFunc(slices.Clone(f.way), func(line string) bool { return strings.HasPrefix(line, "-> ") })
			if bug.steps > 0 && len(moves) != bug.steps {
				t.Errorf("the way has %d moves, want %d: %s", len(moves), bug.steps, f)
			}
		})
	}
}
