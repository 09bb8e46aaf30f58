package draw_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/harness/draw"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
)

func TestAnyCanaryScenarioKeepsTheContract(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := draw.AnyCanaryCase().Draw(t, "scenario")
		planner, err := rollout.New(s.Spec)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := planner.Plan(s.Snapshot); err != nil {
			t.Fatal(err)
		}
	})
}

// The other generators must not change for those who know nothing of canaries.
func TestAnyScenarioHasNoCanaries(t *testing.T) {
	gen := draw.AnyCase()
	for seed := range 300 {
		s := gen.Example(seed)
		if s.Spec.Strategy.Canary != nil || s.Spec.Strategy.SlowStart != nil || len(s.Spec.Overrides) > 0 ||
			s.Snapshot.Memory.Canary.Revision != "" {
			t.Fatalf("seed %d: %s", seed, s)
		}
		for _, r := range s.Snapshot.Revisions {
			if len(r.Annotations) > 0 {
				t.Fatalf("seed %d: revision %s has annotations %v", seed, r.Name, r.Annotations)
			}
		}
		for _, p := range s.Snapshot.Pods {
			if p.Annotations[placement.DigestAnnotation] != "" || p.Labels[rollout.CanaryLabel] != "" {
				t.Fatalf("seed %d: pod %s", seed, p.Name)
			}
		}
	}
}

// A world begins at rest: with the stable spec nothing is to be done but to write its marks.
func TestAnyCanaryWorldIsSettled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := draw.AnyCanaryWorld().Draw(t, "world")
		planner, err := rollout.New(w.Stable)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := planner.Plan(w.Snapshot)
		if err != nil {
			t.Fatal(err)
		}
		if len(plan.Patches)+len(plan.Deletes)+len(plan.Creates) > 0 || plan.Status.Available != plan.Status.Desired {
			t.Fatalf("not at rest: %+v", plan.Decisions)
		}
		if planner, err = rollout.New(w.Spec); err != nil {
			t.Fatal(err)
		}
		if plan, err = planner.Plan(w.Snapshot); err != nil {
			t.Fatal(err)
		}
		if plan.Canary.Phase != canary.Running || len(plan.Canary.Nodes) == 0 {
			t.Fatalf("no canary: %+v", plan.Canary)
		}
	})
}

func TestAnyIllnessKeepsTheRest(t *testing.T) {
	kinds := map[string]bool{}
	healthy := harness.Behavior{Jitter: 7, Waiting: map[string]string{"other": "ErrImagePull"}}
	for seed := range 100 {
		b := draw.AnyIllness(healthy, "7dc8f6cb89").Example(seed)
		kinds["crash"] = kinds["crash"] || len(b.Crashing) == 1
		kinds["fail"] = kinds["fail"] || len(b.Failing) == 1
		kinds["never"] = kinds["never"] || len(b.NeverReady) == 1
		if reason := b.Waiting["7dc8f6cb89"]; reason != "" {
			kinds[reason] = true
		}
		if b.Jitter != 7 || b.Waiting["other"] != "ErrImagePull" || len(healthy.Waiting) != 1 {
			t.Errorf("seed %d: %+v of %+v", seed, b, healthy)
		}
	}
	if len(kinds) != 7 || !kinds["crash"] || !kinds["fail"] || !kinds["never"] {
		t.Errorf("illnesses: %v", kinds)
	}
}
