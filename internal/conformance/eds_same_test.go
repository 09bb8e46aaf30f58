package conformance_test

import (
	"testing"

	"github.com/daemonplan/daemonplan/internal/sameplans"
)

// edsPlans has for each file the number of plans for its cases, and a hash of the plans. Only a change of a rule may change the
// hash. Package sameplans has the same for the plans of the other recordings.
var edsPlans = map[string]string{
	"filter":        "263 39bd8165cf0d1e1d",
	"rolling":       "207 d5e9f37d7bf9490e",
	"ers-reconcile": "144 98ee83b6468c2191",
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
