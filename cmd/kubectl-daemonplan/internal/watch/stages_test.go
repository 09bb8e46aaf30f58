package watch

import (
	"fmt"
	"strings"
	"testing"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/stage"
)

// The parts of the stages are listed with what each waits for. Of many, those are shown that the rollout is at.
func TestStagesAreShown(t *testing.T) {
	result := planned(t, "fleet.yaml")
	result.Plan.Parts = []rollout.PartState{
		{Stage: "ring-0", Phase: stage.Soaking, Nodes: 2, Settled: 2, Until: fleetTime.Add(90e9)},
		{Stage: "zones", Key: "zone", Value: "a", Phase: stage.Waiting, Nodes: 3, Behind: 3, Until: fleetTime.Add(90e9)},
		{Stage: "zones", Key: "zone", Phase: stage.Waiting, Nodes: 1, Behind: 1}, {Phase: stage.Skipped, Nodes: 1, Held: 1},
	}
	result.Plan.StaleApprovals = []stage.Approval{{Stage: "zones", Value: "a", Revision: "old"}}
	screen := shown(t, framed(result), fleetTime, 0, 120, 60)
	for _, want := range []string{
		"Stages\n  ring-0: Soaking, 2 of 2 nodes updated; soaks until 2026-03-02T09:16:30Z (1m30s)",
		"  zones (a): Waiting, 0 of 3 nodes updated; opens at 2026-03-02T09:16:30Z", "  zones (no zone): Waiting, 0 of 1 node updated\n",
		"  (all other nodes): Skipped, 0 of 1 node updated; 1 held", "  The approval of stage zones (a) is for revision old, and does nothing for ",
	} {
		if !strings.Contains(screen, want) {
			t.Errorf("the screen lacks %q:\n%s", want, screen)
		}
	}
	for i := range 30 {
		phase := stage.Waiting
		if i < 12 {
			phase = stage.Done
		}
		result.Plan.Parts = append(result.Plan.Parts[:i:i], rollout.PartState{Stage: "racks", Key: "rack", Value: fmt.Sprint(i), Phase: phase})
	}
	screen = shown(t, framed(result), fleetTime, 0, 120, 60)
	for text, want := range map[string]bool{"racks (9)": false, "racks (10)": true, "racks (12)": true, "racks (29)": true, "and 10 parts more": true} {
		if strings.Contains(screen, text) != want {
			t.Errorf("that the screen has %q is %v:\n%s", text, !want, screen)
		}
	}
}
