package watch

import (
	"strings"
	"testing"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/failure"
)

// Failed nodes are named, and so is why a revision is given up.
func TestFailuresAreShown(t *testing.T) {
	result := planned(t, "fleet.yaml")
	result.Spec.Strategy.Policy.Failures = &failure.Options{Action: failure.Rollback}
	result.Plan.Budget.Failed, result.Plan.Budget.MaxFailed, result.Plan.Budget.MaxQuarantined = 1, 2, 1
	first := &result.Plan.Decisions[0]
	first.Failed, first.Exemption = true, rollout.ExemptionQuarantined
	screen := shown(t, framed(result), fleetTime, 0, 160, 60)
	for _, want := range []string{
		" has failed on 1 node, at most 2 may, else all nodes go back: " + first.Node,
		"Left out of the budget: 1 node, of at most 1 (quarantine: the update revision has failed there): " + first.Node,
	} {
		if !strings.Contains(screen, want) {
			t.Errorf("the screen lacks %q:\n%s", want, screen)
		}
	}
	result.Plan.GaveUp = "3 nodes failed, at most 2 may: a, b, c"
	if screen = shown(t, framed(result), fleetTime, 0, 160, 60); !strings.Contains(screen, " is given up: 3 nodes failed, at most 2 may: a, b, c") {
		t.Errorf("the screen does not tell that the revision is given up:\n%s", screen)
	}
}
