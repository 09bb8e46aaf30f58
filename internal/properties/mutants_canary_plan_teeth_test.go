//go:build teeth

package properties_test

import (
	"slices"
	"testing"
	"time"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// trialMutants are for the properties of one plan, and of the way from any state.
var trialMutants = []mutant{
	{
		"no budget, with a canary", "canary nodes are past it", triedBudget, asIf(rollouttest.MaxUnavailable("100%")),
	},
	{
		"surge without limit, with a canary", "the new pods are not counted", triedSurge, asIf(rollouttest.MaxSurge("100%")),
	},
	{
		"two pods at the revision on trial", "the canary's pod is overlooked", triedOnePerNode,
		spoiling(func(spec rollout.Spec, _ rollout.Snapshot, p *rollout.Plan) {
			alsoCreate(spec, p, rollout.StateUpdated)
		}),
	},
	{
		"creates on trial everywhere", "a lost pod is taken for a new one", triedSafe,
		spoiling(func(spec rollout.Spec, _ rollout.Snapshot, p *rollout.Plan) {
			for i := range p.Creates {
				p.Creates[i].Revision, p.Creates[i].Template = rollouttest.Hash(spec), nil
			}
		}),
	},
	{
		"deletes what is stable", "every pod that is not updated is outdated", triedHandsOff,
		spoiling(func(_ rollout.Spec, s rollout.Snapshot, p *rollout.Plan) { alsoDelete(s, p, rollout.StateStable) }),
	},
	{
		"a place of the partition less, with a canary", "off by one", triedPartition, asIf(onePlaceLess),
	},
	{
		"begins outside the canary", "the targets are for lost pods only", triedHeld,
		spoiling(func(_ rollout.Spec, s rollout.Snapshot, p *rollout.Plan) {
			for _, d := range p.Decisions {
				if d.Verb == rollout.VerbHold {
					alsoDelete(s, p, d.State)
					return
				}
			}
		}),
	},
	{
		"frozen like paused, with a canary", "the canary goes on", triedFrozen,
		asIf(func(s *rollout.Spec) { s.Strategy.Frozen, s.Strategy.Paused = false, true }),
	},
	{
		"a pod of another template in place", "the canary's template is always the update's", triedInPlace,
		rewriting(func(_ rollout.Snapshot, patch *rollout.Patch, data map[string]any) map[string]any {
			if labels := labelsIn(data); labels != nil && patch.Reason != rollout.ReasonCanaryLabel {
				delete(data, "spec")
			}
			return data
		}),
	},
	{
		"no slow start in one plan", "the limit is not looked at", slowly, asIf(func(s *rollout.Spec) { s.Strategy.SlowStart = nil }),
	},
	{
		"slow start in the wrong place", "the limit is for creates only", slowly,
		spoiling(func(_ rollout.Spec, s rollout.Snapshot, p *rollout.Plan) {
			if len(p.Deletes) > 0 {
				alsoDelete(s, p, rollout.StateOutdated)
			}
		}),
	},
	{
		"another canary node", "what is shown is not what is done", triedAccount,
		spoiling(func(_ rollout.Spec, _ rollout.Snapshot, p *rollout.Plan) {
			if n := len(p.Canary.Nodes); n > 0 {
				p.Canary.Nodes = p.Canary.Nodes[:n-1]
			}
		}),
	},
	{
		"a canary that is always on", "the phase is not that of the verdict", triedAccount,
		spoiling(func(_ rollout.Spec, _ rollout.Snapshot, p *rollout.Plan) {
			if p.Canary.Phase == canary.Failed {
				p.Canary.Phase = canary.Running
			}
		}),
	},
	{
		"resources of the template", "overrides are forgotten in creates", overridden,
		spoiling(func(_ rollout.Spec, _ rollout.Snapshot, p *rollout.Plan) {
			p.Creates = slices.Clone(p.Creates)
			for i := range p.Creates {
				p.Creates[i].Resources = nil
			}
		}),
	},
	{
		"exempts too many", "the limit is not looked at", exempted, asIf(rollouttest.MaxUnschedulable("100%")),
	},
	{
		"a predecessor's pods count as updated", "their hash says so", succeeding,
		asIf(func(s *rollout.Spec) { s.Predecessor = nil }),
	},
	{
		"no canary in one plan", "the strategy is not looked at", triedSafe, asIf(func(s *rollout.Spec) { s.Strategy.Canary = nil }),
	},
	{
		"promotes at once", "the clock is not looked at", triedSafe,
		asIf(func(s *rollout.Spec) {
			if s.Strategy.Canary != nil && s.Strategy.Canary.Mode != canary.Manual {
				rollouttest.CanaryFor(0, 0)(s)
			}
		}),
	},
	{
		"hands out the record", "the canary's nodes are passed on instead of copied", triedPure,
		spoiling(func(_ rollout.Spec, s rollout.Snapshot, p *rollout.Plan) {
			if len(s.Memory.Canary.Nodes) > 0 {
				p.Memory.Canary.Nodes = s.Memory.Canary.Nodes
			}
		}),
	},
	{
		"takes the nodes as they come", "the canary is on the first of the list", triedPure,
		spoiling(func(_ rollout.Spec, s rollout.Snapshot, p *rollout.Plan) {
			if len(p.Canary.Nodes) > 0 {
				p.Canary.Nodes = []string{s.Nodes[0].Name}
			}
		}),
	},
	{
		"forgets marks in flight", "a verdict is given until it is seen", triedIdempotent,
		misreading(func(s *rollout.Snapshot) { s.InFlight.Revisions = nil }),
	},
	{
		"forgets labels in flight", "a label is put on until it is seen", triedIdempotent,
		misreading(func(s *rollout.Snapshot) { s.InFlight.Patches = nil }),
	},
	{
		"never wakes for a canary", "its clock passes unnoticed", triedWake,
		spoiling(func(_ rollout.Spec, _ rollout.Snapshot, p *rollout.Plan) {
			if p.Canary.Phase == canary.Running {
				p.NextWake = time.Time{}
			}
		}),
	},
	{
		"wakes late for a canary", "the instant is rounded up", triedWake,
		spoiling(func(_ rollout.Spec, _ rollout.Snapshot, p *rollout.Plan) {
			if !p.Canary.Until.IsZero() && !p.NextWake.IsZero() {
				p.NextWake = p.NextWake.Add(time.Second)
			}
		}),
	},
	{
		"nobody wakes the canary", "NextWake is missing while nothing else happens", triedLive,
		spoiling(func(_ rollout.Spec, _ rollout.Snapshot, p *rollout.Plan) {
			if p.Canary.Phase == canary.Running {
				p.NextWake = time.Time{}
			}
		}),
	},
	{
		"does not go back", "a failed canary is left alone", triedLive,
		spoiling(func(_ rollout.Spec, _ rollout.Snapshot, p *rollout.Plan) {
			if p.Canary.Phase == canary.Failed {
				p.Deletes, p.Creates = nil, nil
			}
		}),
	},
	{
		"replaces what was promoted", "the pods that tried it are made anew", triedNoThrash,
		spoiling(func(_ rollout.Spec, s rollout.Snapshot, p *rollout.Plan) {
			if p.Canary.Phase == canary.Idle && s.Now.After(rollouttest.Noon()) {
				alsoDelete(s, p, rollout.StateUpdated)
			}
		}),
	},
	{
		"counts on whole plans, with a canary", "the mark is made with the last delete, or never", triedHesitant,
		spoiling(func(_ rollout.Spec, s rollout.Snapshot, p *rollout.Plan) {
			if s.Now.After(rollouttest.Noon()) && len(p.Deletes) == 0 {
				p.Revisions = slices.DeleteFunc(slices.Clone(p.Revisions), func(a rollout.RevisionAction) bool {
					_, mark := a.Annotations[history.PromotedAnnotation]
					return mark
				})
			}
		}),
	},
	{
		"unsafe along the way, with a canary", "right for the first plan only", triedAlong,
		spoiling(func(_ rollout.Spec, s rollout.Snapshot, p *rollout.Plan) {
			if s.Now.After(rollouttest.Noon()) {
				alsoDelete(s, p, rollout.StateStable)
			}
		}),
	},
}

func TestTriedPropertiesRejectMutants(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, m := range trialMutants {
		if m.name == "" || m.why == "" || seen[m.name] {
			t.Errorf("mutant %q needs a reason and a name of its own", m.name)
		}
		seen[m.name] = true
		t.Run(m.name, func(t *testing.T) { rejects(t, m) })
	}
}
