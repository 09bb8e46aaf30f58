package draw_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/harness/draw"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// Whatever is drawn keeps the contract: the spec is valid, and the snapshot can be planned for.
func TestAnyScenarioKeepsTheContract(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := draw.AnyCase().Draw(t, "scenario")
		planner, err := rollout.New(s.Spec)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := planner.Plan(s.Snapshot); err != nil {
			t.Fatal(err)
		}
	})
}

// Examples are drawn from a seed alone.
func TestAnyScenarioIsDeterministic(t *testing.T) {
	a, b := draw.AnyCase().Example(7), draw.AnyCase().Example(7)
	if a.String() != b.String() {
		t.Errorf("one seed, two scenarios:\n%s\n%s", a, b)
	}
	if c := draw.AnyCase().Example(8); a.String() == c.String() {
		t.Error("two seeds, one scenario")
	}
}

func TestAnySpecAppliesOptions(t *testing.T) {
	gen := draw.AnySpec(objects.Released(), kit.Burst("7"))
	for seed := range 50 {
		s := gen.Example(seed)
		if s.Strategy.Paused || s.Strategy.Frozen || s.Strategy.Type != rollout.RollingUpdate || s.Burst.IntVal != 7 {
			t.Fatalf("options were not applied: %+v", s.Strategy)
		}
	}
}
