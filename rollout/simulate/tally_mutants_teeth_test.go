//go:build teeth

package simulate

import (
	"slices"
	"testing"
	"time"

	"github.com/daemonplan/daemonplan/rollout"
)

// The property finds each of these mistakes.
func TestTallyMutantsAreRejected(t *testing.T) {
	mutants := []struct {
		name string
		tell func(*tally, tallyOp)
	}{
		{"surging nodes are unavailable", func(t *tally, op tallyOp) {
			if op.kind == tallyNode && op.to == NodeSurging {
				op.to = NodeStarting
			}
			op.tell(t)
		}},
		{"nodes outside are desired", func(t *tally, op tallyOp) {
			if op.kind == tallyNode && op.to == NodeOutside {
				op.to = NodeOld
			}
			op.tell(t)
		}},
		{"nodes stay in the zone in which they joined", func(t *tally, op tallyOp) {
			if i, ok := t.index[op.node]; ok && op.kind == tallyNode && t.nodes[i].state != 0 {
				op.zone = t.zones.list[t.nodes[i].zone].name
			}
			op.tell(t)
		}},
		{"the first arrival counts", func(t *tally, op tallyOp) {
			var since time.Duration
			i, known := t.index[op.node]
			if known {
				since = t.nodes[i].since
			}
			op.tell(t)
			if known && op.kind == tallyNode && op.to == NodeNew && since > 0 {
				t.nodes[i].since = since
			}
		}},
		{"each beginning is a new one", func(t *tally, op tallyOp) {
			if i, ok := t.index[op.node]; ok && op.kind == tallyBegun {
				t.nodes[i].begun = false
			}
			op.tell(t)
		}},
		{"what came to nothing goes on", func(t *tally, op tallyOp) {
			i, ok := t.index[op.node]
			begun := ok && t.nodes[i].begun
			op.tell(t)
			if begun && op.kind == tallyNode && op.to == NodeOld {
				t.nodes[i].begun = true
			}
		}},
		{"the run was finished by the last change of any node", func(t *tally, op tallyOp) {
			op.tell(t)
			if op.kind == tallyNode {
				t.finished = op.at
			}
		}},
		{"the budget counts past the end of the run", func(t *tally, op tallyOp) {
			op.tell(t)
			t.finishedUse = t.budget.until(op.at + 5).sum
		}},
		{"peaks are those of the last zone", func(t *tally, op tallyOp) {
			op.tell(t)
			for i := range t.zones.list {
				t.zones.list[i].down.peak = max(t.zones.list[i].down.now, t.zones.list[0].down.peak)
			}
		}},
		{"waits are counted at their beginning only", func(t *tally, op tallyOp) {
			if op.kind != tallyPlan {
				t.waits.since = op.at
			}
			op.tell(t)
		}},
		{"what is held waits", func(t *tally, op tallyOp) {
			if op.kind == tallyPlan {
				plan := *op.plan
				plan.Decisions = slices.Clone(plan.Decisions)
				for i := range plan.Decisions {
					plan.Decisions[i].Verb = rollout.VerbWait
				}
				op.plan = &plan
			}
			op.tell(t)
		}},
	}
	for _, mutant := range mutants {
		t.Run(mutant.name, func(t *testing.T) {
			for seed := range 500 {
				if tallyDiffers(tallyRuns().Example(seed), EndDone, mutant.tell) != "" {
					return
				}
			}
			t.Error("500 runs do not show it")
		})
	}
}
