package rollout_test

import (
	"testing"

	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// Without a canary, and without the memory of one, the canary label is the user's: taken off pods whose template gives it, it
// would have to be taken off every new pod again.
func TestPlannerLeavesLabelsAlone(t *testing.T) {
	l := newLab(kit.PodTemplateLabel(rollout.CanaryLabel, "true")).add(on("a", trialPod()), on("b", trialPod()))
	compare(t, l, l.plan(t), "", []string{"a: updated>update none UpToDate", "b: updated>update none UpToDate"},
		"nothing is to be done")
}
