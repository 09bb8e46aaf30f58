package simulate

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/status"
)

func TestTallyFollowsTheCanary(t *testing.T) {
	const s = time.Second
	plan := func(at time.Duration, revision string, phase canary.Phase, reason canary.PhaseReason, updated int32) tallyOp {
		return tallyPlanOf(at, rollout.Plan{
			Canary: rollout.Canary{Finding: canary.Finding{Phase: phase, Reason: reason}, Revision: revision},
			Status: status.Status{Counts: status.Counts{Updated: updated}},
		})
	}
	promoted := []tallyOp{
		plan(1*s, "v2", canary.Running, canary.Starting, 0), plan(2*s, "v2", canary.Running, canary.Observing, 3),
		plan(3*s, "v2", canary.Running, canary.Observing, 2), plan(4*s, "v2", canary.Idle, canary.Promoted, 3),
		plan(5*s, "v2", canary.Idle, canary.Promoted, 50), plan(6*s, "v2", canary.Idle, canary.Stable, 90),
	}
	failed := []tallyOp{
		plan(7*s, "v3", canary.Running, canary.Starting, 1), plan(8*s, "v3", canary.Failed, canary.TooManyRestarts, 4),
		plan(9*s, "v3", canary.Failed, canary.TooManyRestarts, 5),
	}
	tests := []struct {
		name, why string
		ops       []tallyOp
		want      CanaryReport
	}{
		{"none", "without options there is no canary", []tallyOp{plan(1, "", canary.Idle, canary.ReasonNone, 9)}, CanaryReport{}},
		{
			"first", "a first installation needs none, and the report says so",
			[]tallyOp{plan(1, "v1", canary.Idle, canary.FirstInstallation, 9)}, CanaryReport{Reason: canary.FirstInstallation},
		},
		{
			"promoted", "nodes count until it is decided; later plans only say that the revision is stable", promoted,
			CanaryReport{Reason: canary.Promoted, Nodes: 3, Promoted: 4 * s},
		},
		{
			"failed", "the last trial counts, and of it what it was before it failed", append(promoted[:6:6], failed...),
			CanaryReport{Phase: canary.Failed, Reason: canary.TooManyRestarts, Nodes: 4, Failed: 8 * s},
		},
		{
			"rolled back", "that the old revision is stable does not undo how the trial came out",
			append(failed[:3:3], plan(10*s, "v2", canary.Idle, canary.Stable, 90)),
			CanaryReport{Phase: canary.Failed, Reason: canary.TooManyRestarts, Nodes: 4, Failed: 8 * s},
		},
		{
			"validated after it failed", "both are known",
			append(failed[:3:3], plan(10*s, "v3", canary.Idle, canary.Validated, 90)),
			CanaryReport{Reason: canary.Validated, Nodes: 4, Failed: 8 * s, Promoted: 10 * s},
		},
		{
			"still running", "it is where it was last",
			[]tallyOp{plan(1*s, "v2", canary.Running, canary.Starting, 2), plan(2*s, "v2", canary.Paused, canary.ByCommand, 1)},
			CanaryReport{Phase: canary.Paused, Reason: canary.ByCommand, Nodes: 2},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.name == "" || test.why == "" {
				t.Fatal("a row needs a name and a why")
			}
			tally := newTally("agent", 1)
			for _, op := range test.ops {
				op.tell(tally)
			}
			if diff := cmp.Diff(test.want, tally.report(20*s, EndDone, nil).Canary); diff != "" {
				t.Errorf("%s\n-want +got\n%s", test.why, diff)
			}
		})
	}
}
