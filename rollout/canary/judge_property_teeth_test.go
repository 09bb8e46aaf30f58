//go:build teeth

package canary_test

import (
	"testing"

	"github.com/daemonplan/daemonplan/rollout/canary"
)

// TestStoriesGoEverywhere holds that the stories come to every phase and reason that they can come to, so that no
// property holds for want of cases.
func TestStoriesGoEverywhere(t *testing.T) {
	seen := make(map[string]int)
	for seed := range 6000 {
		for _, m := range tell(canary.Judge, anyStory().Example(seed)) {
			seen[m.j.Phase.String()+" "+m.j.Reason.String()]++
			if m.obeysRetry() {
				seen["retry"]++
			}
		}
	}
	for _, want := range []string{
		"Idle Stable", "Idle Promoted", "Idle Validated", "Running NoNodes", "Running Starting", "Running Observing", "Running Settling",
		"Running AwaitingValidation", "Running Halted", "Paused ByCommand", "Paused TooManyRestarts", "Paused CannotStart", "Paused SlowStart",
		"Failed ByCommand", "Failed TooManyRestarts", "Failed RestartsGoOn", "Failed TimedOut", "retry",
	} {
		if seen[want] < 20 {
			t.Errorf("%s comes %d times", want, seen[want])
		}
	}
}
