package conformance_test

import (
	"testing"

	"github.com/daemonplan/daemonplan/internal/sameplans"
)

// edsPlans is how many plans there are for the cases of a file, and a hash of all that they say. Only a rule that changes may change
// it: see package sameplans, which holds the plans for the other recordings.
var edsPlans = map[string]string{
	"filter":        "261 f55d0619eae4ae70",
	"rolling":       "207 8295147495148518",
	"ers-reconcile": "144 ce928b1069c12b4e",
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
