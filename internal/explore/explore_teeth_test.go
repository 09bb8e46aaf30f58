//go:build teeth

package main

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/stage"
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

func staged(stages ...stage.Stage) kit.SpecOption {
	return func(s *rollout.Spec) { s.Strategy.Policy.Stages = stages }
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
		{"asks no hook", "the hook is not looked at", "preDelete hook", func(
			w *world, spec int, s rollout.Snapshot,
		) (rollout.Plan, error) {
			without := w.Specs[spec]
			without.Lifecycle.PreDelete = nil
			other, err := rollout.New(without)
			if err != nil {
				return rollout.Plan{}, err
			}
			return other.Plan(s)
		}, "hooks: ", 2},
		{"goes on under paused", "paused is not looked at", "paused", as(func(s *rollout.Spec) {
			s.Strategy.Paused = false
		}), "held: ", 3},
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
		{"opens every part", "stages are not looked at", "stages", as(staged()), "P-C: ", 4},
		{"does not soak", "the time is not looked at", "stages with soak", as(staged(stage.Stage{Name: "ring", Key: "ring"})), "P-C: ", 8},
		{"asks for no approval", "approvals are not looked at", "stages with approval", as(staged(stage.Stage{Name: "ring", Key: "ring"})), "P-C: ", 4},
		{"marks too early", "what is rolled out somewhere is taken for rolled out", "", spoiled(func(p *rollout.Plan) {
			if p.Status.State == status.Updating && len(p.Creates) > 0 {
				marked := map[string]string{history.CompletedAnnotation: "2026-01-01T12:00:00Z"}
				name := "agent-" + p.Status.UpdateRevision
				p.Revisions = append(p.Revisions, rollout.RevisionAction{Verb: rollout.AnnotateRevision, Name: name, UID: types.UID(name), Annotations: marked})
			}
		}), "completed: ", 4},
		{"blames at once", "whoever does not serve has failed", "failures", spoiled(func(p *rollout.Plan) {
			for i := range p.Decisions {
				p.Decisions[i].Failed = p.Decisions[i].Unavailable
			}
		}), "P-B: ", 2},
		{"gives up at once", "failures are not counted", "rollback", spoiled(func(p *rollout.Plan) {
			if p.Budget.Unavailable > 0 && p.Status.State == status.Updating {
				failed := map[string]string{history.FailedAnnotation: "2026-01-01T12:00:00Z"}
				name := "agent-" + p.Status.UpdateRevision
				p.Revisions = append(p.Revisions, rollout.RevisionAction{Verb: rollout.AnnotateRevision, Name: name, UID: types.UID(name), Annotations: failed})
			}
		}), "P-B: the revision is given up", 2},
		{"asks again", "what was asked for and is not seen is asked for once more", "watch that lags", func(w *world, spec int, s rollout.Snapshot) (rollout.Plan, error) {
			s.InFlight = rollout.InFlight{}
			return w.planners[spec].Plan(s)
		}, "twins: ", 4},
		{"goes by the order", "the first node in the list goes first", "", func(w *world, spec int, s rollout.Snapshot) (rollout.Plan, error) {
			plan, err := w.planners[spec].Plan(s)
			for i := range plan.Deletes {
				for _, p := range s.Pods {
					if p.Spec.NodeName == s.Nodes[0].Name && p.DeletionTimestamp == nil {
						plan.Deletes[i].Pod, plan.Deletes[i].UID, plan.Deletes[i].Node = p.Name, p.UID, s.Nodes[0].Name
					}
				}
			}
			return plan, err
		}, "order: ", 2},
	} {
		t.Run(bug.name, func(t *testing.T) {
			c := small()
			if bug.feature != "" {
				c = small(featureOf(t, bug.feature))
			}
			c.Troubles = [kindsOfTrouble]int8{userChanges: 2, podFails: 1}
			switch bug.name {
			case "deletes by itself":
				c.Troubles[podDeleted] = 1
			case "asks again":
				c.Troubles[watchLags] = 1
			case "goes by the order":
				c.Order = true
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
