//go:build teeth

package properties_test

import (
	"slices"
	"testing"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/stage"
	"github.com/daemonplan/daemonplan/status"
)

var principleMutants = []mutant{
	{"Updating while any node is outdated", "what is not complete is taken for what goes on", nothingUnsaid, spoiling(updatingForEver)},
	{"does not say what helps", "who is in the way is enough", nothingUnsaid, spoiling(
		func(_ rollout.Spec, _ rollout.Snapshot, p *rollout.Plan) {
			p.Blockers = slices.Clone(p.Blockers)
			for i := range p.Blockers {
				p.Blockers[i].Helps = nil
			}
		})},
	{"blames any node whose pod is not ready", "which revision the pod is of is not looked at", noBlame, spoiling(
		func(_ rollout.Spec, _ rollout.Snapshot, p *rollout.Plan) {
			p.Decisions = slices.Clone(p.Decisions)
			for i := range p.Decisions {
				p.Decisions[i].Failed = p.Decisions[i].Failed || p.Decisions[i].Unavailable
			}
		})},
	{"opens what looks done", "an empty frontier is taken for a lost one", noWayAround, spoiling(
		func(spec rollout.Spec, s rollout.Snapshot, p *rollout.Plan) {
			if stages := spec.Strategy.Policy.Stages; len(stages) > 0 && p.Memory.Rollout.Frontier.At.IsZero() && len(p.Parts) > 0 {
				p.Memory.Rollout.Frontier = stage.Frontier{Stage: stages[0].Name, At: s.Now, Layout: stage.Layout(stages, 0)}
			}
		})},
	{"a later part is begun first", "stages are a matter of order alone", noWayAround, alsoWith(noStages)},
	{"exempt nodes need no room", "who is left out of a count may be taken", noPermission, takesExempt},
	{"what joins gets the newest revision", "the highest revision that any pod carries", closedHold, spoiling(newestEverywhere)},
}

// updatingForEver says that a set which is stuck goes on by itself.
func updatingForEver(_ rollout.Spec, _ rollout.Snapshot, p *rollout.Plan) {
	if p.Status.State == status.Stuck {
		p.Status.State, p.Status.Reason, p.Blockers = status.Updating, status.WaitingForAvailability, nil
	}
}

// takesExempt leaves each node whose Ready pod is deleted out of the budget, whatever is down beside it.
func takesExempt(spec rollout.Spec, plan harness.PlanFunc) harness.PlanFunc {
	rollouttest.MaxUnavailable("100%")(&spec)
	return func(s rollout.Snapshot) (rollout.Plan, error) {
		all, err := realPlanner(spec)
		if err != nil {
			return rollout.Plan{}, err
		}
		p, err := all(s)
		p.Decisions = slices.Clone(p.Decisions)
		for i := range p.Decisions {
			if d := &p.Decisions[i]; d.Verb == rollout.VerbReplace {
				d.Exemption, d.Unavailable = rollout.ExemptionOut, false
			}
		}
		return p, err
	}
}

func TestPrinciplesRejectMutants(t *testing.T) {
	t.Parallel()
	named := unique(t)
	for _, m := range principleMutants {
		named(m.name, m.why)
		t.Run(m.name, func(t *testing.T) { rejects(t, m) })
	}
}
