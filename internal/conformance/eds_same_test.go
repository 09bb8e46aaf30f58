package conformance_test

import (
	"testing"

	"github.com/daemonplan/daemonplan/internal/sameplans"
)

// edsPlans has for each file the number of plans for its cases, and a hash of the plans. Only a change of a rule may change the
// hash. Package sameplans has the same for the plans of the other recordings.
var edsPlans = map[string]string{
	"filter":        "261 1330f70f6414eae8",
	"rolling":       "207 03e0867b198f4460",
	"ers-reconcile": "144 8713bc8f6695beee",
}

func TestEDSPlansAreTheSame(t *testing.T) {
	if edsElsewhere() {
		t.Skip("these are other recordings")
	}
	for file, want := range edsPlans {
		recorder := sameplans.NewRecorder(nil)
		for _, c := range edsLines[edsCase](t, file) {
			calls, _ := edsCalls(t, file, c)
			for i := range calls {
				recorder.Plan(&calls[i].plan)
			}
		}
		if got, err := recorder.Sum(); err != nil || got != want {
			t.Errorf("%s: plans have changed: %s, and were %q (error: %v)", file, got, want, err)
		}
	}
}
