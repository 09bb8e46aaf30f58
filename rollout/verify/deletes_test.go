package verify_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
)

func TestVerifyDeletes(t *testing.T) {
	// waiting binds the new pod to no node; the scheduler has refused it, or has not looked yet.
	waiting := func(refused bool) change {
		return onPods(func(p *corev1.Pod) {
			p.Spec.NodeName, p.Spec.Affinity = "", placement.Pin(nil, "a")
			if refused {
				p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
					Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
				})
			}
		}, "a-new")
	}
	withdraw := func(s *handmade) {
		s.delete("a-new").bring()
		s.plan.Budget.Waiting = 0 // with one pod less the node looks like a candidate, which it is in the next plan only
	}
	runViolations(t, []violationRow{
		{
			name: "the live one of two", why: "M3: a Failed pod makes no other one superfluous", scene: func() *handmade {
				s := newHandmade("1", "0")
				s.node("a", "dpu", handPod("a-1", freshHash, "failed"), handPod("a-2", freshHash, "unready"))
				return s.budget(1, 1, 0, 0)
			},
			plant: func(s *handmade) { s.delete("a-2") }, want: 4, mention: "delete of pod a-2, the best of revision fresh",
		},
		{
			name: "a new pod that the scheduler has not refused", why: "M3: it may be bound yet",
			scene: handFleet(handPods("available", "a-old"), handPods("unready", "a-new"), waiting(false)),
			plant: withdraw, want: 4, mention: "delete of pod a-new, the best of revision fresh",
		},
		{
			name: "a new pod without a place, with surge", why: "M3: there the old one waits for it",
			scene: handFleet(handPods("available", "a-old"), handPods("unready", "a-new"), waiting(true), handSurgingBy(1)),
			plant: withdraw, want: 4, mention: "delete of pod a-new, the best of revision fresh",
		},
		{
			name: "a new pod without a place, beside a broken one", why: "M3: that one goes",
			scene: handFleet(handPods("unready", "a-old", "a-new"), waiting(true)),
			plant: func(s *handmade) { s.delete("a-new").bring() }, want: 4, mention: "delete of pod a-new, the best of revision fresh",
		},
	})
	runAccepts(t, []acceptRow{
		{name: "a new pod without a place", why: "M3: the outdated one may be in its place", scene: func() *handmade {
			s := handFleet(handPods("available", "a-old"), handPods("unready", "a-new"), waiting(true))()
			if len(s.plan.Deletes) != 1 || s.plan.Deletes[0].Pod != "a-new" {
				t.Errorf("the plan deletes %v", s.plan.Deletes)
			}
			return s
		}},
		{name: "a broken pod, while its successor is asked for", why: "M3: what is in flight counts as done", scene: func() *handmade {
			s := handFleet(handPods("unready", "a-old"), handSurgingBy(1), func(s *handmade) {
				s.snapshot.InFlight.Creates = []rollout.InFlightCreate{{Node: "a", Revision: freshHash}}
			})()
			s.delete("a-old").bring()
			return s
		}},
	})
}
