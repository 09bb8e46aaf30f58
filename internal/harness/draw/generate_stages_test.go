package draw_test

import (
	"testing"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/harness/draw"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// Stages are drawn at the end: what was drawn before is what it is without them.
func TestInStagesAddsStages(t *testing.T) {
	for seed := range 100 {
		plain, staged := draw.AnyCase().Example(seed), draw.InStages(draw.AnyCase()).Example(seed)
		staged.Spec.Strategy.Policy.Stages, staged.Spec.Strategy.Policy.Approved, staged.Spec.Strategy.Policy.Expedite = nil, nil, ""
		for _, n := range staged.Snapshot.Nodes {
			delete(n.Labels, harness.RingLabel)
		}
		for _, r := range staged.Snapshot.Revisions {
			if r != nil {
				delete(r.Annotations, history.CompletedAnnotation)
			}
		}
		plain.Snapshot.Memory, staged.Snapshot.Memory = rollout.Memory{}, rollout.Memory{}
		if plain.String() != staged.String() {
			t.Fatalf("seed %d: with stages\n%s\nwithout\n%s", seed, staged, plain)
		}
	}
}
