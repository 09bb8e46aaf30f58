package verify_test

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
)

func TestVerifyBudget(t *testing.T) {
	runViolations(t, []violationRow{
		{
			name: "one replaced too many", why: "d and c are unavailable after the plan, b would be the third of two",
			scene: handRolling, plant: func(s *handmade) { s.delete("b-old").spend(3, 0) },
			want: 1, mention: "3 nodes are unavailable after the plan, more than maxUnavailable 2; by its choice: b, c; right would be 1 fewer",
		},
		{
			name: "percent rounds up and no further", why: "B1: 25% of 5 is 2, not 3",
			scene: func() *handmade {
				s := handRolling()
				s.spec.Strategy.MaxUnavailable = new(intstr.FromString("25%"))
				s.node("e", "dprau", handPod("e-new", freshHash, "available"))
				return s
			},
			plant: func(s *handmade) { s.delete("b-old").spend(3, 0) },
			want:  1, mention: "maxUnavailable 2",
		},
		{
			name: "a pod requested to be deleted serves no more", why: "B2: what is in flight counts as done",
			scene: func() *handmade {
				s := newHandmade("1", "0")
				s.node("a", "dp", handPod("a-old", staleHash, "available"))
				s.node("b", "dpra", handPod("b-old", staleHash, "available"))
				s.snapshot.InFlight.Deletes = []types.UID{"uid-a-old"}
				return s.budget(1, 1, 0, 0)
			},
			plant: func(s *handmade) { s.delete("b-old").spend(2, 0) },
			want:  1, mention: "by its choice: b",
		},
		{
			name: "a new pod inside minReadySeconds does not serve", why: "B2: only outdated pods serve by being Ready",
			scene: func() *handmade {
				s := newHandmade("1", "0")
				s.spec.MinReadySeconds = 2
				s.node("a", "dpru", handPod("a-new", freshHash, "ready"))
				s.node("b", "dpr", handPod("b-old", staleHash, "ready"))
				return s.budget(1, 1, 0, 0)
			},
			plant: func(s *handmade) { s.delete("b-old").spend(2, 0) },
			want:  1, mention: "2 nodes",
		},
		{
			name: "a keep node with a broken new pod counts", why: "B2: a revision that breaks its nodes stops the rollout",
			scene: func() *handmade {
				s := newHandmade("1", "0")
				s.keep("a", "pu", handPod("a-new", freshHash, "unready"))
				s.node("b", "dpra", handPod("b-old", staleHash, "available"))
				return s.budget(1, 1, 0, 0)
			},
			plant: func(s *handmade) { s.delete("b-old").spend(2, 0) },
			want:  1, mention: "2 nodes",
		},
		{
			name: "under surge a serving pod goes before the new one serves", why: "B4: maxUnavailable is 0 with surge",
			scene: handSurging, plant: func(s *handmade) { s.delete("c-old").spend(1, 2) },
			want: 1, mention: "by its choice: c",
		},
	})
}

func TestVerifySurge(t *testing.T) {
	fill := func(add func(*handmade)) func() *handmade {
		return func() *handmade {
			s := newHandmade("0", "1")
			s.node("b", "dpra", handPod("b-old", staleHash, "available"))
			add(s)
			return s.budget(0, s.plan.Budget.Unavailable, 1, s.plan.Budget.Surging)
		}
	}
	begin := func(s *handmade) { s.create("b").spend(s.plan.Budget.Unavailable, 2) }
	runViolations(t, []violationRow{
		{
			name: "one begun too many", why: "c and d hold both places", scene: handSurging,
			plant: func(s *handmade) { s.create("b").spend(0, 3) },
			want:  2, mention: "3 nodes hold an unavailable new pod after the plan, more than maxSurge 2; begun beside a Ready old pod: b, d; right would be 1 fewer",
		},
		{
			name: "a keep node holds a place", why: "B4 names run and keep nodes",
			scene: fill(func(s *handmade) { s.keep("k", "pu", handPod("k-new", freshHash, "unready")); s.spend(1, 1) }),
			plant: begin, want: 2, mention: "begun beside a Ready old pod: b",
		},
		{
			name: "a Failed new pod holds a place", why: "B4: Failed included",
			scene: fill(func(s *handmade) { s.node("f", "dpu", handPod("f-new", freshHash, "failed")); s.spend(1, 1) }),
			plant: begin, want: 2, mention: "2 nodes hold",
		},
		{
			name: "a requested new pod holds a place", why: "an in-flight create is a pod that is not available",
			scene: fill(func(s *handmade) {
				s.node("f", "dpra", handPod("f-old", staleHash, "available"))
				s.snapshot.InFlight.Creates = []rollout.InFlightCreate{{Node: "f", Revision: freshHash}}
				s.spend(0, 1)
			}),
			plant: begin, want: 2, mention: "2 nodes hold",
		},
		{
			name: "a repair's new pod holds a place", why: "M7: budgets are counted after this plan's own repairs",
			scene: fill(func(s *handmade) { s.node("f", "d"); s.spend(1, 1).create("f") }),
			plant: begin, want: 2, mention: "2 nodes hold",
		},
		{
			name: "a broken node's new pod holds a place", why: "B4: it needs none, but holds one while it is not available",
			scene: fill(func(s *handmade) {
				s.node("f", "dp", handPod("f-old", staleHash, "unready"))
				s.spend(1, 1).create("f")
			}),
			plant: begin, want: 2, mention: "begun beside a Ready old pod: b;",
		},
		{
			name: "the outdated pod goes before there is a new one", why: "B4: the new one comes first, even beside a broken one",
			scene: fill(func(s *handmade) {
				s.node("f", "dp", handPod("f-old", staleHash, "unready"))
				s.spend(1, 1).create("f")
			}),
			plant: func(s *handmade) {
				s.plan.Creates, s.decision("f").Creates = nil, 0
				s.delete("f-old").spend(1, 0)
			},
			want: 2, mention: "f-old",
		},
		{
			name: "the outdated pod goes beside a terminating new one", why: "B4: a pod that is on its way out replaces nothing",
			scene: fill(func(s *handmade) {
				s.node("f", "dp", handPod("f-old", staleHash, "unready"), handMarked(handPod("f-new", freshHash, "available")))
				s.spend(1, 0)
			}),
			plant: func(s *handmade) { s.delete("f-old") },
			want:  2, mention: "f-old",
		},
		{
			name: "beside a terminating pod without surge", why: "M1: wait until it is gone",
			scene: func() *handmade {
				s := newHandmade("1", "0")
				s.node("a", "dp", handMarked(handPod("a-new", freshHash, "available")))
				return s.budget(1, 1, 0, 0)
			},
			plant: func(s *handmade) { s.create("a") }, want: 2, mention: "a-new",
		},
		{
			name: "beside an outdated pod without surge", why: "M1: a create needs an empty node", scene: handRolling,
			plant: func(s *handmade) { s.create("b") }, want: 2, mention: "b-old",
		},
	})
}

func TestVerifyBurst(t *testing.T) {
	crowd := func() *handmade {
		s := newHandmade("3", "0")
		s.spec.Burst = new(intstr.FromString("67%")) // of 4, rounded down: 2
		for _, name := range []string{"a", "b", "c"} {
			s.node(name, "d")
		}
		s.node("d", "dpu", handPod("d-1", freshHash, "failed"), handPod("d-2", freshHash, "failed"), handPod("d-3", freshHash, "failed"))
		s.plan.Budget.Burst = 2
		return s.budget(3, 4, 0, 0).create("a", "b").delete("d-1", "d-2")
	}
	backoff := func() *handmade {
		s := newHandmade("1", "0")
		s.node("a", "dpu", handPod("a-new", freshHash, "failed"))
		s.snapshot.Memory = rollout.Memory{Version: rollout.MemoryVersion, Backoffs: []rollout.Backoff{
			{Node: "a", Revision: freshHash, Delay: 4 * time.Second, Since: handNow().Add(-4 * time.Second)},
		}}
		return s.budget(1, 1, 0, 0).delete("a-new")
	}
	runViolations(t, []violationRow{
		{
			name: "one create too many", why: "M6: 67% of 4 rounds down to 2", scene: crowd,
			plant: func(s *handmade) { s.create("c") }, want: 11, mention: "3 creates, right are at most 2",
		},
		{
			name: "one delete too many", why: "M6: creates and deletes count apart, repairs too", scene: crowd,
			plant: func(s *handmade) { s.delete("d-3") }, want: 11, mention: "3 deletes, right are at most 2",
		},
		{
			name: "a Failed pod too early", why: "M2: the back-off still has a nanosecond to go", scene: backoff,
			plant: func(s *handmade) { s.snapshot.Memory.Backoffs[0].Since = handNow().Add(-4*time.Second + 1) },
			want:  11, mention: "a-new",
		},
		{
			name: "a Failed outdated pod of a held node too early", why: "M2: only nodes that are not held skip the back-off",
			scene: func() *handmade {
				s := backoff()
				s.spec.Strategy.Paused = true
				s.pod("a-new").Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = staleHash
				s.plan.Deletes[0].Revision, s.snapshot.Memory.Backoffs[0].Revision = staleHash, staleHash
				return s.withFacts("a", "dp")
			},
			plant: func(s *handmade) { s.snapshot.Memory.Backoffs[0].Delay = time.Hour },
			want:  11, mention: "2026-01-15T12:14:56Z",
		},
		{
			name: "a Failed pod too early beside a Succeeded one", why: "M2: only Failed pods take each other along",
			scene: func() *handmade {
				s := backoff()
				done := handPod("a-old", staleHash, "succeeded")
				done.Spec.NodeName = "a"
				s.snapshot.Pods = append(s.snapshot.Pods, done)
				return s
			},
			plant: func(s *handmade) { s.snapshot.Memory.Backoffs[0].Since = handNow() },
			want:  11, mention: "a-new",
		},
		{
			name: "one of two Failed pods too early", why: "M3: a pod that has failed as well makes it no surplus",
			scene: func() *handmade {
				s := backoff()
				twin := handPod("a-twin", freshHash, "failed")
				twin.Spec.NodeName = "a"
				s.snapshot.Pods = append(s.snapshot.Pods, twin)
				return s
			},
			plant: func(s *handmade) { s.snapshot.Memory.Backoffs[0].Since = handNow() },
			want:  11, mention: "a-new",
		},
	})
}

// TestVerifyAcceptsPercentages has numbers that need no rounding, and numbers for which the direction of rounding matters.
func TestVerifyAcceptsPercentages(t *testing.T) {
	seven := handPods("available", "a-old", "b-old", "c-old", "d-old", "e-old", "f-old", "g-old")
	runAccepts(t, []acceptRow{
		{name: "surge", why: "B1: 50% of 2 is 1", scene: handFleet(handPods("available", "a-old", "b-old"), handStrategy(func(s *rollout.Strategy) {
			s.MaxUnavailable, s.MaxSurge = nil, newPercent("50%")
		}))},
		{name: "unschedulable", why: "B8: 50% of 2 is 1", scene: handFleet(handPods("available", "a-old", "b-old"), handLeavingOut("50%"))},
		{name: "burst", why: "M6: 57% of 7 is 3", scene: handFleet(seven, func(s *handmade) { s.spec.Burst = newPercent("57%") })},
		{name: "partition", why: "T2: 57% of 7 is 3", scene: handFleet(seven, partitionOf("57%"))},
		{name: "slow start", why: "B7: 20% of 5 is 1", scene: handFleet(outdatedABCD(), handPods("available", "e-old"), handSlowly("20%", "100%", 0))},
		{name: "slow start at its most", why: "B7: 40% of 5 is 2", scene: handFleet(outdatedABCD(), handPods("available", "e-old"), atMost("5"),
			handSlowly("1", "40%", time.Hour))},
		{name: "no surge", why: "B1: 0% of any number is none", scene: handFleet(handPods("unready", "a-old"), handPods("available", "b-old"),
			handStrategy(func(s *rollout.Strategy) { s.MaxSurge = newPercent("0%") }))},
		{name: "canary", why: "C1: 50% of 4 is 2", scene: handTrial(handTrying(func(o *canary.Options) { o.Replicas = newPercent("50%") }))},
	})
}
