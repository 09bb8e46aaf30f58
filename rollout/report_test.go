package rollout_test

import (
	"testing"
	"time"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout/history"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/status"
)

// How a canary stands in the status (S2, S3): as a word, and as a condition that outlives the trial.
func TestReportCanary(t *testing.T) {
	marked := func(node string) func(*lab) { // nothing is left to do
		return all(tryingOn(node), withMark("old", history.PromotedAnnotation, "x"))
	}
	validated := func(l *lab) { l.spec.Strategy.Canary.Commands.Validate = "agent-" + l.update }
	tests := []struct {
		name, why string
		spec      []kit.SpecOption
		set       func(*lab)
		fleet     []spot
		state     status.ConditionReason
		condition string // "": there is none
	}{
		{"its clock runs", "S2: its node is updated, and so nothing holds it", nil, marked("a"),
			[]spot{on("a", trialPod()), on("b", oldPod())}, status.CanaryOnTrial, "True"},
		{"others are held", "S2: what the selector holds is none of the canary's", []kit.SpecOption{nodeType("canary")}, marked("a"),
			[]spot{on("a", trialPod()).with(kit.Label("nodeType", "canary")), on("b", podAt("older")), on("c", oldPod())}, status.CanaryOnTrial, "True"},
		{"promoted by the clock", "C2", nil, sinceThen(20*time.Minute, "a"),
			[]spot{on("a", trialPod()), on("b", oldPod())}, status.RolloutInProgress, "False Promoted"},
		{"promoted by command", "C5", nil, all(tryingOn("a"), validated),
			[]spot{on("a", trialPod()), on("b", oldPod())}, status.RolloutInProgress, "False Validated"},
		{"first installation", "C6: it was never on trial", nil, func(l *lab) { l.snapshot.Revisions = nil },
			[]spot{on("a", newPod())}, status.RolloutComplete, ""},
		{"failed", "C4: it was, with that result", nil, all(tryingOn("a"), failedRevision),
			[]spot{on("a", trialPod()), on("b", oldPod())}, status.CanaryRejected, "False TimedOut"},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(append([]kit.SpecOption{kit.Canary("1")}, tt.spec...)...).add(tt.fleet...)
			tt.set(l)
			got := l.plan(t).Status
			if got.Reason != tt.state {
				t.Errorf("%v, want %v: %s", got.Reason, tt.state, tt.why)
			}
			condition := ""
			for _, c := range got.Conditions {
				if c.Type != status.ConditionCanary {
					continue
				}
				condition = string(c.Status)
				if condition == "False" {
					condition += " " + c.Reason
				}
			}
			if condition != tt.condition {
				t.Errorf("condition Canary is %q, want %q: %s", condition, tt.condition, tt.why)
			}
		})
	}
}

// A pod that is ready, and whose record of its in-place update nobody can read, does not wait for that update (I5).
func TestReportUnreadableRecord(t *testing.T) {
	spec := []kit.SpecOption{kit.InPlaceIfPossible(), kit.MinReadySeconds(60)}
	waits := []string{"a: starting>update wait MinReadySeconds a0 minReadySeconds until=+15s U"}
	record := newPod(updatable, unreadableRecord, readyFor(45*time.Second))
	state := newPod(updatable, unreadableRecord, inState(lifecycle.Updating), readyFor(45*time.Second))
	playScenes(t, []scene{
		{name: "the record alone", why: "B5: minReadySeconds is all that it waits for", spec: spec, fleet: []spot{on("a", record)}, want: waits},
		{name: "and the state of its hooks", why: "B5: whatever that says", spec: spec, fleet: []spot{on("a", state)}, want: waits},
	})
}
