package conformance_test

import (
	"testing"

	"github.com/daemonplan/daemonplan/internal/sameplans"
)

// edsPlans has for each file the number of plans for its cases, and a hash of the plans. Only a change of a rule may change the
// hash. Package sameplans has the same for the plans of the other recordings.
var edsPlans = map[string]string{
	"filter":        "261 0b6740a7b4b5f1f6",
	"rolling":       "207 6c5a39238c8b6d4a",
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
