package rollout_test

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/internal/conformance"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
)

// Some patches of a plan are no decision that was recorded. Between its two phases, outside both, OpenKruise goes over
// all pods and makes those ready again whose in-place update is complete, new ones with the readiness gate first of all.
// Our plan does that in the same plan (I5). How to read it: such a patch is upkeep, and no difference; whether an update
// is complete is compared with other recordings, in package inplace.

// upkeep tells whether the patch does nothing but make a pod ready that OpenKruise makes ready too. No recorded pod has
// an in-place update that is not complete.
func (s *situation) upkeep(patch rollout.Patch) bool {
	pod := s.pod(patch.Pod)
	var change corev1.Pod
	if pod == nil || patch.Subresource != "status" || json.Unmarshal(patch.Data, &change) != nil {
		return false
	}
	want := condition(pod, lifecycle.InPlaceUpdateReady)
	got := condition(&change, lifecycle.InPlaceUpdateReady)
	return hasGate(pod) && !marked(pod) && !lifecycle.Terminal(pod) && (want == nil || want.Status != corev1.ConditionTrue) &&
		got != nil && got.Status == corev1.ConditionTrue &&
		change.Labels == nil && change.Annotations == nil && len(change.Finalizers) == 0
}

// TestConformanceKruiseUpkeep holds every patch of our plans to be a difference that is explained, or upkeep.
func TestConformanceKruiseUpkeep(t *testing.T) {
	t.Setenv(conformance.EnvDir, "")
	fates, upkeep := 0, 0
	for _, file := range files[kruise] {
		for _, c := range cases(t, file) {
			spec := c.spec(t)
			if c.refused(spec) != "" {
				continue
			}
			s, plan := newSituation(c, spec), c.plan(t, spec)
			for _, patch := range plan.Patches {
				switch {
				case fateBy(patch) != "":
					fates++
				case s.upkeep(patch):
					upkeep++
				default:
					t.Errorf("%s: patch of pod %s (%s) is neither a decision nor upkeep: %s", c.Name, patch.Pod, patch.Reason, patch.Data)
				}
			}
		}
	}
	t.Logf("%d patches are decisions, %d upkeep", fates, upkeep)
	if fates == 0 || upkeep == 0 {
		t.Error("one of the two kinds does not occur")
	}
}
