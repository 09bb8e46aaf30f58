package verify_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	_ "github.com/daemonplan/daemonplan/internal/fixedseed"
	"github.com/daemonplan/daemonplan/internal/fuzzing"
	"github.com/daemonplan/daemonplan/internal/harness/draw"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/verify"
)

// acceptsCanaryPlans: the verifier finds nothing wrong with what the planner does with a canary, slow start, maxUnschedulable and
// overrides, whatever the fleet, the history and the memory.
func acceptsCanaryPlans(t *rapid.T) {
	c := draw.AnyCanaryCase().Draw(t, "scenario")
	if got := verify.Plan(c.Spec, c.Snapshot, new(planFor(t, c))); got != nil {
		t.Fatalf("right plan, but: %v", got)
	}
}

func TestVerifyAcceptsCanaryPlans(t *testing.T) { rapid.Check(t, acceptsCanaryPlans) }

func FuzzVerifyAcceptsCanaryPlans(f *testing.F) {
	fuzzing.Property(f, rapid.MakeFuzz(acceptsCanaryPlans))
}

// anyTrialOf draws anything that a plan may say of canaries, overrides and budgets, whether it makes sense or not.
func anyTrialOf(t *rapid.T, plan *rollout.Plan, nodes, revisions []string) {
	node, code := rapid.SampledFrom(nodes), rapid.Uint8()
	hash := rapid.SampledFrom([]string{"", "x", "654f5d894"})
	plan.Canary = rollout.Canary{
		Finding:  canary.Finding{Phase: canary.Phase(code.Draw(t, "phase") % 6), Reason: canary.PhaseReason(code.Draw(t, "canary reason"))},
		Revision: hash.Draw(t, "on trial"), Stable: hash.Draw(t, "stable"), Wanted: rapid.Int32().Draw(t, "wanted"),
		Nodes: rapid.SliceOfN(node, 0, 3).Draw(t, "canary nodes"),
	}
	plan.Memory.Canary = canary.Record{
		Revision: hash.Draw(t, "remembered"), Nodes: rapid.SliceOfN(node, 0, 3).Draw(t, "remembered nodes"),
		Elapsed: time.Duration(rapid.Int64().Draw(t, "elapsed")),
	}
	for i := range plan.Decisions {
		plan.Decisions[i].Exemption = rollout.Exemption(rapid.IntRange(0, int(rollout.ExemptionOut)).Draw(t, "exemption"))
		plan.Decisions[i].Canary = rapid.Bool().Draw(t, "is canary")
	}
	for i := range plan.Creates {
		plan.Creates[i].Canary = rapid.Bool().Draw(t, "create for the canary")
	}
	if rapid.Bool().Draw(t, "marks") {
		plan.Revisions = append(plan.Revisions, rollout.RevisionAction{
			Verb: rollout.AnnotateRevision, Name: rapid.SampledFrom(revisions).Draw(t, "marked"),
			Annotations:       map[string]string{history.PromotedAnnotation: "x"},
			RemoveAnnotations: []string{history.FailedAnnotation, "x"},
		})
	}
}
