package verify_test

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
)

func TestVerifyNextWake(t *testing.T) {
	// a's pod becomes available at 12:01:00.
	waiting := func(state string, surge string) func() *handmade {
		return func() *handmade {
			s := newHandmade("1", "0")
			if surge != "0" {
				s = newHandmade("0", surge)
			}
			s.spec.MinReadySeconds = 61
			pod := handPod("a-1", freshHash, "ready")
			switch state {
			case "keep":
				s.keep("a", "pru", pod)
				return s.budget(s.plan.Budget.MaxUnavailable+1, 1, 0, 0)
			case "deselected":
				s.unselected(pod)
				s.withFacts("z", "pru")
				return s.budget(0, 0, 1, 0)
			case "outdated":
				pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = staleHash
				s.node("a", "dpr", pod)
				return s.budget(1, 1, 0, 0).delete("a-1")
			}
			s.node("a", "dpru", pod)
			return s.budget(1, 1, 0, 0)
		}
	}
	// the back-off of a's pod ends at 12:00:04.
	backoff := func() *handmade {
		s := newHandmade("1", "0")
		s.node("a", "dpu", handPod("a-1", freshHash, "failed"))
		s.snapshot.Memory = handMemory(rollout.Backoff{Node: "a", Revision: freshHash, Delay: 4 * time.Second, Since: handNow()})
		return s.budget(1, 1, 0, 0)
	}
	heldBackoff := func() *handmade {
		s := backoff()
		s.spec.Strategy.Paused = true
		s.pod("a-1").Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = staleHash
		s.snapshot.Memory.Backoffs[0].Revision = staleHash
		return s.withFacts("a", "dp")
	}
	never := func(s *handmade) { s.plan.NextWake, s.decision("a").Until = time.Time{}, time.Time{} }
	late := func(s *handmade) { s.plan.NextWake = s.plan.NextWake.Add(1) }
	const available, ended = "B5: pod a-1 becomes available at 2026-01-15T12:01:00Z", "M2: the back-off of pod a-1 ends at 2026-01-15T12:00:04Z"
	runViolations(t, []violationRow{
		{
			name: "now", why: "a controller would spin", scene: waiting("", "0"),
			plant: func(s *handmade) { s.plan.NextWake = handNow() }, want: 15, mention: "2026-01-15T12:00:00Z is not after now", raw: true,
		},
		{
			name: "after a wait of the plan's own", why: "the plan knows that the clock ends it", scene: handSteady,
			plant: func(s *handmade) { s.decision("a").Until = handNow().Add(time.Minute) },
			want:  15, mention: "node a: the clock ends a wait at 2026-01-15T12:01:00Z", raw: true,
		},
		{name: "never, inside minReadySeconds", why: "nothing else tells that the rollout may go on", scene: waiting("", "0"), plant: never, want: 15, mention: available, raw: true},
		{name: "late, inside minReadySeconds", why: "the very instant counts (B5)", scene: waiting("", "0"), plant: late, want: 15, mention: available, raw: true},
		{name: "never, on a keep node", why: "its pod counts for the budget (B2)", scene: waiting("keep", "0"), plant: never, want: 15, mention: available, raw: true},
		{name: "never, an outdated pod", why: "the status reports it available", scene: waiting("outdated", "0"), plant: never, want: 15, mention: available, raw: true},
		{
			name: "never, where pods linger", why: "M4: under surge an available pod of a deselected node stays", scene: waiting("deselected", "1"),
			plant: func(s *handmade) { s.plan.NextWake = time.Time{} }, want: 15, mention: "node z: " + available, raw: true,
		},
		{name: "never, in a back-off", why: "the Failed pod would stay for ever", scene: backoff, plant: never, want: 15, mention: ended, raw: true},
		{name: "late, in a back-off", why: "M2: at the very instant", scene: backoff, plant: late, want: 15, mention: ended, raw: true},
		{name: "never, in the back-off of a held node", why: "M2: held nodes do not skip it", scene: heldBackoff, plant: never, want: 15, mention: ended, raw: true},
	})
	runAccepts(t, []acceptRow{
		{name: "earlier for another reason", why: "NextWake is a bound", scene: func() *handmade {
			s := waiting("", "0")()
			s.settle()
			s.decision("a").Until, s.plan.NextWake = handNow(), handNow().Add(1)
			return s
		}, raw: true},
		{name: "never, on a leave node without surge", why: "M4: its pod goes in any case", scene: func() *handmade {
			s := newHandmade("1", "0")
			s.spec.MinReadySeconds = 61
			s.leave("a", "pru", handPod("a-1", freshHash, "ready"))
			s.budget(1, 0, 0, 0).delete("a-1").settle()
			s.plan.NextWake = time.Time{}
			return s
		}, raw: true},
		{name: "never, on a tainted node under surge", why: "M4: NoExecute drives the pod away in any case", scene: func() *handmade {
			s := newHandmade("0", "1")
			s.spec.MinReadySeconds = 61
			s.leave("a", "pru", handPod("a-1", freshHash, "ready"))
			s.budget(0, 0, 1, 0).delete("a-1").settle()
			s.plan.NextWake = time.Time{}
			return s
		}, raw: true},
		{name: "never, for a pod on its way out", why: "it will not be available", scene: func() *handmade {
			s := newHandmade("1", "0")
			s.spec.MinReadySeconds = 61
			s.node("a", "dp", handMarked(handPod("a-1", freshHash, "ready")))
			s.budget(1, 1, 0, 0).settle()
			s.plan.NextWake = time.Time{}
			return s
		}, raw: true},
		{name: "never, in a back-off while frozen", why: "T4: its end lets nothing be deleted", scene: func() *handmade {
			s := backoff()
			s.spec.Strategy.Frozen = true
			s.settle()
			never(s)
			return s
		}, raw: true},
		{name: "never, on a leave node with a Failed pod", why: "M4: it waits for no back-off", scene: func() *handmade {
			s := newHandmade("1", "0")
			s.leave("a", "pu", handPod("a-1", freshHash, "failed"))
			s.snapshot.Memory = handMemory(rollout.Backoff{Node: "a", Revision: freshHash, Delay: time.Minute, Since: handNow()})
			s.budget(1, 0, 0, 0).settle()
			s.plan.NextWake = time.Time{}
			return s
		}, raw: true},
		{name: "never, for a Failed pod that goes along with another", why: "M2: all of a node's go together", scene: func() *handmade {
			s := backoff()
			twin := handPod("a-2", staleHash, "failed")
			twin.Spec.NodeName = "a"
			s.snapshot.Pods = append(s.snapshot.Pods, twin)
			s.delete("a-1", "a-2").settle()
			never(s)
			return s
		}, raw: true},
		{name: "never, for a Failed outdated pod beyond burst", why: "M2: it waits for no back-off", scene: func() *handmade {
			s := backoff()
			s.pod("a-1").Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = staleHash
			s.snapshot.Memory.Backoffs[0].Revision = staleHash
			s.withFacts("a", "dp").settle()
			never(s)
			return s
		}, raw: true},
	})
}

// TestVerifyMemory: the memory has what the next plan needs for the back-off of failed pods (M2).
func TestVerifyMemory(t *testing.T) {
	failing := func() *handmade {
		s := newHandmade("1", "0")
		s.node("a", "dpu", handPod("a-1", freshHash, "failed"))
		s.node("b", "dpu", handPod("b-1", freshHash, "failed"))
		s.snapshot.Memory = handMemory(
			rollout.Backoff{Node: "b", Revision: freshHash, Delay: 4 * time.Second, Since: handNow()},
			rollout.Backoff{Node: "gone", Revision: freshHash, Delay: 4 * time.Second, Since: handNow()},
		)
		return s.budget(1, 2, 0, 0).delete("a-1")
	}
	of := func(node string, change func(*rollout.Backoff)) func(*handmade) {
		return func(s *handmade) {
			for i := range s.plan.Memory.Backoffs {
				if entry := &s.plan.Memory.Backoffs[i]; entry.Node == node {
					change(entry)
				}
			}
		}
	}
	const none, forgets = "node a: M2: no back-off of 1 s to 15 min in memory since now, although the Failed pod a-1 is deleted",
		`node b: M2: memory forgets that the back-off of revision "fresh" ends at 2026-01-15T12:00:04Z`
	runViolations(t, []violationRow{
		{name: "no version", why: "it counts as lost", scene: handSteady, plant: func(s *handmade) { s.plan.Memory.Version = 0 }, want: 12, mention: "memory.version is 0, right is 1", raw: true},
		{name: "emptied", why: "the next plan would not wait", scene: failing, plant: func(s *handmade) { s.plan.Memory.Backoffs = nil }, want: 12, mention: none, raw: true},
		{name: "of another node", why: "back-offs are per node", scene: failing, plant: of("a", func(b *rollout.Backoff) { b.Node = "c" }), want: 12, mention: none, raw: true},
		{name: "of another revision", why: "back-offs are per revision", scene: failing, plant: of("a", func(b *rollout.Backoff) { b.Revision = staleHash }), want: 12, mention: none, raw: true},
		{name: "since before", why: "it begins with the deletion", scene: failing, plant: of("a", func(b *rollout.Backoff) { b.Since = b.Since.Add(-1) }), want: 12, mention: none, raw: true},
		{name: "too short", why: "M2: 1 s at first", scene: failing, plant: of("a", func(b *rollout.Backoff) { b.Delay = time.Second - 1 }), want: 12, mention: none, raw: true},
		{name: "too long", why: "M2: 15 min at most", scene: failing, plant: of("a", func(b *rollout.Backoff) { b.Delay = 15*time.Minute + 1 }), want: 12, mention: none, raw: true},
		{name: "forgotten", why: "the back-off of b is under way", scene: failing, plant: of("b", func(b *rollout.Backoff) { b.Node = "c" }), want: 12, mention: forgets, raw: true},
		{name: "shortened", why: "the back-off of b is under way", scene: failing, plant: of("b", func(b *rollout.Backoff) { b.Delay-- }), want: 12, mention: forgets, raw: true},
	})
	s := failing()
	s.settle()
	of("a", func(b *rollout.Backoff) { b.Delay = 15 * time.Minute })(s)
	if got := s.verify(); got != nil {
		t.Errorf("15 min are the most there is, and what is over a node that is gone is forgotten, but: %v", got)
	}
}

// TestVerifyAcceptsSleep has plans that need no wake, although a span ends.
func TestVerifyAcceptsSleep(t *testing.T) {
	const grace = 30
	inGrace := func(changes ...change) func() *handmade {
		fleet := []change{handPods("available", "a-old", "b-old"), inPlaceBy(inplace.IfPossible), made(10*time.Second, "a-old", "b-old"),
			handStrategy(func(s *rollout.Strategy) { s.InPlace.GracePeriodSeconds = grace })}
		return handFleet(append(fleet, changes...)...)
	}
	// asleep is a plan without a wake.
	asleep := func(scene func() *handmade) func() *handmade {
		return func() *handmade {
			s := scene()
			s.plan.NextWake = time.Time{}
			for i := range s.plan.Decisions {
				s.plan.Decisions[i].Until = time.Time{}
			}
			return s
		}
	}
	ending := handTerminating(grace*time.Second, "a-old")
	// overtaking has a pod in the grace period of an update before, beside a surplus one, which the decision is about.
	overtaking := func(changes ...change) func() *handmade {
		return begun(append([]change{handPods("unready", "b-older"), overtaken("b-old")}, changes...)...)
	}
	// turnedDown has such a pod on a, whose turn comes after that of b, so that the plan has no place for it.
	turnedDown := func(limit change) func() *handmade {
		return handFleet(handPods("unready", "a-old", "a-older", "b-old"), inPlaceBy(inplace.IfPossible), overtaken("a-old"),
			limit)
	}
	forget := func(s *handmade) { s.plan.NextWake = time.Time{} }
	const overtakenEnds = "I4: the grace period of pod b-old ends at 2026-01-15T12:00:20Z, before nextWake"
	runAccepts(t, []acceptRow{
		{name: "in the grace period, with a patch in flight", why: "I4: what it brings is seen first", scene: asleep(inGrace(func(s *handmade) {
			s.snapshot.InFlight.Patches = []types.UID{"uid-a-old", "uid-b-old"}
		}))},
		{name: "in the grace period, with other resources wanted", why: "P8: the pods are recreated, one now", scene: asleep(inGrace(
			handOverride("o", "app-node", "1", 0), func(s *handmade) { s.spec.Burst = new(intstr.FromInt32(1)) }))},
		{name: "in the grace period, held by its hook", why: "L3: the hook comes first", scene: asleep(inGrace(inPlaceHook, hookedBy("a-old", "b-old"),
			inStateOf(lifecycle.PreparingUpdate, "a-old", "b-old")))},
		{name: "held by its hook, without a condition", why: "L3: the hook comes first", scene: asleep(handFleet(handPods("available", "a-old"), inPlaceBy(inplace.IfPossible),
			inPlaceHook, hookedBy("a-old"), inStateOf(lifecycle.PreparingUpdate, "a-old"), handWithoutCondition("a-old")))},
		{name: "in the grace period, with a record that cannot be read", why: "nobody knows what an earlier update left behind", scene: asleep(inGrace(
			inStateOf(lifecycle.PreparingUpdate, "a-old", "b-old"), onPods(func(p *corev1.Pod) {
				p.Annotations = map[string]string{inplace.StateKey: "{"}
			}, "a-old", "b-old")))},
		{name: "in the grace period, and on its way out by now", why: "L2: it is deleted when its hook lets it go", scene: asleep(inGrace(preDelete, hookedBy("a-old", "b-old"),
			inStateOf(lifecycle.PreparingDelete, "a-old", "b-old")))},
		{name: "in the grace period of an update before, turned down by burst", why: "M6: its turn has not come",
			scene: asleep(turnedDown(burstOfOne))},
		{name: "in the grace period of an update before, turned down by slow start", why: "B7: its turn has not come",
			scene: asleep(turnedDown(handSlowly("1", "1", 0)))},
		{name: "terminating, followed by what this plan creates", why: "B8: nobody knows whether the node will count then", scene: asleep(handFleet(
			handPods("available", "a-old"), ending, handSurgingBy(1), handLeavingOut("1")))},
		{name: "terminating, beside what this plan deletes", why: "B8: nobody knows whether the node will count then", scene: asleep(handFleet(
			handPods("available", "a-old"), ending, handPods("failed", "a-older"), handLeavingOut("1")))},
		{name: "terminating beside a pod that serves", why: "B8: the node does not count in any case", scene: asleep(handFleet(
			handPods("available", "a-old", "a-new"), ending, handLeavingOut("1")))},
	})
	runViolations(t, []violationRow{
		{
			name: "a grace period without its end", why: "I4: whoever asks wants to know how long", scene: inGrace(),
			plant: func(s *handmade) { s.decision("a").Until = time.Time{} }, want: 15, mention: "node a: I4: waits for the end of the grace period, right is to say when",
		},
		{
			name:  "asleep in the grace period of an update before, beside a surplus pod",
			why:   "I4: it ends by the clock, whatever else is done there",
			scene: overtaking(), plant: forget, want: 15, mention: overtakenEnds,
		},
		{
			name:  "asleep in the grace period of an update before, with little burst",
			why:   "M6: the plan says that its turn has come",
			scene: overtaking(burstOfOne), plant: forget, want: 15, mention: overtakenEnds,
		},
		{
			name:  "asleep in the grace period of an update before, beside a pod in its hook",
			why:   "L2: the decision tells of the hook only",
			scene: overtaking(preDelete, hookedBy("b-older"), inStateOf(lifecycle.PreparingDelete, "b-older")),
			plant: forget, want: 15, mention: overtakenEnds,
		},
		{
			name: "asleep until after a pod terminates for too long, beside one that comes up", why: "B8: the node holds a place of maxSurge", scene: handFleet(
				handPods("available", "a-old", "a-older"), handPods("unready", "a-new"), ending, handSurgingBy(1), handLeavingOut("1")),
			plant: func(s *handmade) { s.plan.NextWake = time.Time{} }, want: 15, also: 28, mention: "node a: B8: pod a-old is terminating for too long",
		},
		{
			name: "asleep while a pod terminates, in a slow start that nobody waits for", why: "B7 needs no wake there, but what terminates for too long does not move (P-A)",
			scene: handFleet(handPods("available", "a-old", "b-new"), ending, handSlowly("5", "5", 0)),
			plant: func(s *handmade) { s.plan.NextWake = time.Time{} }, want: 28, mention: "no clock runs",
		},
	})
}
