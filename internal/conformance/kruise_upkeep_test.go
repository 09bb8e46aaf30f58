package conformance_test

import (
	"testing"

	"github.com/daemonplan/daemonplan/internal/conformance"
	"github.com/daemonplan/daemonplan/internal/conformance/peer"
)

// TestConformanceKruiseUpkeep checks that every patch of our plans is a difference that is explained, or upkeep.
func TestConformanceKruiseUpkeep(t *testing.T) {
	t.Setenv(conformance.EnvDir, "")
	fates, upkeep := 0, 0
	for _, file := range files[peer.Kruise] {
		for _, c := range cases(t, file) {
			spec := specOf(t, c)
			if c.Refused(spec) != "" {
				continue
			}
			s, plan := situationOf(t, c, spec), planOf(t, c, spec)
			for _, patch := range plan.Patches {
				switch {
				case peer.FateBy(patch) != "":
					fates++
				case s.Upkeep(patch):
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
