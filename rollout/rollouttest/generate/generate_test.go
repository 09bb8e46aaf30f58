package generate_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/rollouttest/generate"
)

// TestWhatIsDrawnIsValid: whatever is drawn, the planner takes it, and options have the last word.
func TestWhatIsDrawnIsValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		specs, canary := generate.Spec(rollouttest.Frozen()), false
		if rapid.Bool().Draw(t, "canary") {
			specs, canary = generate.CanarySpec(rollouttest.Frozen(), objects.Rolling(), rollouttest.Canary("1")), true
		}
		spec := specs.Draw(t, "spec")
		if tried := spec.Strategy.Canary != nil; tried != canary {
			t.Fatalf("a canary: %t, want %t", tried, canary)
		}
		if spec.Strategy.Frozen == canary {
			t.Fatalf("frozen: %t", spec.Strategy.Frozen)
		}
		planner, err := rollout.New(spec)
		if err != nil {
			t.Fatal(err)
		}
		snapshot := generate.Snapshot(spec).Draw(t, "snapshot")
		plan, err := planner.Plan(snapshot)
		if err != nil {
			t.Fatal(err)
		}
		rollouttest.AssertValid(t, spec, snapshot, plan)
	})
}
