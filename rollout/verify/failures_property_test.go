package verify_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/harness/draw"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/verify"
)

// TestVerifyAcceptsPlansWithFailures: the plans of the planner are right, of whatever snapshot with failures.
func TestVerifyAcceptsPlansWithFailures(t *testing.T) { rapid.Check(t, acceptsFailures) }

func acceptsFailures(t *rapid.T) {
	options := rapid.SampledFrom([][]rollouttest.SpecOption{
		nil, {objects.Released(), rollouttest.MaxUnavailable("100%")}, {objects.Released(), rollouttest.MaxSurge("100%")},
	}).Draw(t, "budget of its own")
	cases := draw.AnyCase(options...)
	if rapid.SampledFrom([]bool{false, false, true}).Draw(t, "canary") {
		cases = draw.AnyCanaryCase(options...)
	}
	if rapid.SampledFrom([]bool{false, false, true}).Draw(t, "stages") {
		cases = draw.InStages(cases)
	}
	c := draw.InFailures(cases).Draw(t, "scenario")
	plan := planFor(t, c)
	var verifier verify.Verifier
	found := verify.Plan(c.Spec, c.Snapshot, &plan)
	alike := verifier.Plan(c.Spec, c.Snapshot, &plan)
	if len(found) > 0 || len(alike) > 0 {
		t.Fatalf("Plan finds %v, Verifier %v", found, alike)
	}
}
