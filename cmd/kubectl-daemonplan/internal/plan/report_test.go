package plan

import (
	"strings"
	"testing"

	"github.com/daemonplan/daemonplan/rollout"
)

// Who reads "3 nodes wait: NotReady" looks for nodes that are not ready, while their new pods are not.
func TestUnderWayWordsSayOfWhat(t *testing.T) {
	for _, reason := range []rollout.Reason{
		rollout.ReasonNotReady, rollout.ReasonTerminating, rollout.ReasonRequested, rollout.ReasonUpdating,
		rollout.ReasonRepairFirst, rollout.ReasonInPlaceUnreadable, rollout.ReasonRevisionUnreadable,
	} {
		if got := underWayWords(reason); got == reason.String() || !strings.Contains(got, " ") {
			t.Errorf("nodes wait: %s", got)
		}
	}
	if got := underWayWords(rollout.ReasonNotReady); !strings.Contains(got, "pods") {
		t.Errorf("nodes wait: %s", got)
	}
}
