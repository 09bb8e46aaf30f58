package verify_test

import (
	"testing"

	"github.com/daemonplan/daemonplan/rollout"
)

func TestVerifyDeletes(t *testing.T) {
	runViolations(t, []violationRow{
		{
			name: "the live one of two", why: "M3: a Failed pod makes no other one superfluous", scene: func() *handmade {
				s := newHandmade("1", "0")
				s.node("a", "dpu", handPod("a-1", freshHash, "failed"), handPod("a-2", freshHash, "unready"))
				return s.budget(1, 1, 0, 0)
			},
			plant: func(s *handmade) { s.delete("a-2") }, want: 4, mention: "delete of pod a-2, the best of revision fresh",
		},
	})
	runAccepts(t, []acceptRow{
		{name: "a broken pod, while its successor is asked for", why: "M3: what is in flight counts as done", scene: func() *handmade {
			s := handFleet(handPods("unready", "a-old"), handSurgingBy(1), func(s *handmade) {
				s.snapshot.InFlight.Creates = []rollout.InFlightCreate{{Node: "a", Revision: freshHash}}
			})()
			s.delete("a-old").bring()
			return s
		}},
	})
}
