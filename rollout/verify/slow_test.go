package verify_test

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
)

// handSlowly adds a slow start that began that long ago. Its limit rises by so many every minute, up to a maximum.
func handSlowly(increase, most string, since time.Duration) change {
	return func(s *handmade) {
		s.spec.Strategy.SlowStart = &rollout.SlowStart{Increase: new(intstr.Parse(increase)), MaxParallel: new(intstr.Parse(most))}
		s.snapshot.Memory.Version = rollout.MemoryVersion
		s.snapshot.Memory.Rollout = rollout.Record{Revision: freshHash, Began: handNow().Add(-since)}
	}
}

// handUnreachable makes the named nodes unreachable.
func handUnreachable(nodes ...string) change {
	return func(s *handmade) {
		for _, name := range nodes {
			for _, n := range s.snapshot.Nodes {
				if n.Name == name {
					n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
				}
			}
		}
	}
}

// handHomeless makes pods unschedulable.
func handHomeless(names ...string) change {
	return onPods(func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		})
	}, names...)
}

// handTerminating marks pods for deletion, so that they should be gone in that span.
func handTerminating(in time.Duration, names ...string) change {
	return onPods(func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: handNow().Add(in)} }, names...)
}

func handLeavingOut(quantity string) change {
	return handStrategy(func(s *rollout.Strategy) { s.MaxUnschedulable = new(intstr.Parse(quantity)) })
}

func handCreated(ago time.Duration, names ...string) change {
	return onPods(func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(handNow().Add(-ago)) }, names...)
}

func handSurgingBy(n int32) change {
	return func(s *handmade) {
		s.spec.Strategy.MaxUnavailable, s.spec.Strategy.MaxSurge = nil, new(intstr.FromInt32(n))
	}
}

func TestVerifyAcceptsSlowStart(t *testing.T) {
	old := handPods("available", "a-old", "b-old", "c-old", "d-old", "e-old")
	runAccepts(t, []acceptRow{
		{name: "one of five", why: "B7: the first step", scene: handFleet(old, atMost("5"), handSlowly("1", "250", 0))},
		{name: "the third step", why: "B7: 3 after two minutes", scene: handFleet(old, atMost("5"), handSlowly("1", "250", 2*time.Minute))},
		{name: "a percentage", why: "B7: 21% of 5 is 2", scene: handFleet(old, atMost("5"), handSlowly("21%", "100%", 0))},
		{name: "no more than the maximum", why: "B7", scene: handFleet(old, atMost("5"), handSlowly("2", "3", time.Hour))},
		{name: "missing pods first", why: "B7: replacements get what they leave", scene: handFleet(old, handPods("", "f", "g"), atMost("5"),
			handSlowly("3", "250", 0))},
		{name: "more missing than the limit", why: "B7: creates are slow too", scene: handFleet(handPods("", "a", "b", "c"), handSlowly("2", "250", 0))},
		{name: "one is under way", why: "B7: it takes a place", scene: handFleet(old, handPods("unready", "f-new"), atMost("5"),
			handCreated(30*time.Second, "f-new"), handSlowly("2", "250", 0))},
		{name: "one has been for too long", why: "B7: one interval", scene: handFleet(old, handPods("unready", "f-new"), atMost("5"),
			handCreated(time.Minute, "f-new"), handSlowly("2", "250", 0))},
		{name: "one terminates", why: "B7: it takes a place", scene: handFleet(old, handPods("available", "f-old"), handTerminating(30*time.Second, "f-old"),
			atMost("5"), handSlowly("2", "250", 0))},
		{name: "one terminates beside one that is to be replaced", why: "B7: their node has its place for both", scene: handFleet(
			handPods("available", "a-older", "a-old", "b-old"), handTerminating(30*time.Second, "a-older"), atMost("5"), handSlowly("1", "250", 0))},
		{name: "one has left", why: "B7: it took its place when it began to", scene: handFleet(old, inStateOf(lifecycle.PreparingDelete, "a-old"),
			atMost("5"), handSlowly("2", "250", 0))},
		{name: "a pod of the kind that is asked for leaves, beside the one that is held", why: "M3: it is not what stays, so it is not what was asked for",
			scene: handFleet(handPods("available", "a-old", "a-older"), preDelete, hookedBy("a-older"), inStateOf(lifecycle.PreparingDelete, "a-older"),
				onPods(func(p *corev1.Pod) { p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = "lost" }, "a-old"), partitionOf("1"), handSlowly("2", "250", 0),
				func(s *handmade) {
					s.snapshot.InFlight.Creates = []rollout.InFlightCreate{{Node: "a", Revision: staleHash}}
				})},
		{name: "one terminates for too long", why: "B8: it takes none", scene: handFleet(old, handPods("available", "f-old"),
			handTerminating(-1, "f-old"), atMost("5"), handSlowly("2", "250", 0))},
		{name: "complete", why: "B7: a rollout only", scene: handFleet(handPods("", "a", "b", "c"), handSlowly("1", "250", 0),
			func(s *handmade) { s.snapshot.Memory.Rollout.Completed = true })},
		{name: "promoted now", why: "B7: the clock begins anew", scene: handFleet(handWithTrial, handPods("available", "a-new"), handOldPods(), atMost("5"),
			handRecorded(func(r *canary.Record) { r.Elapsed = time.Hour }), handSlowly("1", "250", time.Hour))},
		{name: "paused for a while", why: "B7: that does not count", scene: handFleet(old, atMost("5"), handSlowly("1", "250", 3*time.Minute),
			func(s *handmade) { s.snapshot.Memory.Rollout.Paused = 2 * time.Minute })},
		{name: "paused", why: "B7: nor does this", scene: handFleet(old, handPods("", "f", "g", "h"), handSlowly("1", "250", 3*time.Minute),
			handStrategy(func(s *rollout.Strategy) { s.Paused = true }),
			func(s *handmade) { s.snapshot.Memory.Rollout.PausedSince = handNow().Add(-2 * time.Minute) })},
		{name: "with surge", why: "B7: a new pod beside the old one is under way", scene: handFleet(old, handSurgingBy(5), handSlowly("2", "250", 0))},
		{name: "in place", why: "B7: an update takes a place", scene: handFleet(old, atMost("5"), inPlaceBy("InPlaceIfPossible"), handSlowly("2", "250", 0))},
		{name: "Failed pods", why: "B7: broken ones too", scene: handFleet(handPods("failed", "a-old", "b-old", "c-old"), handSlowly("2", "250", 0))},
		{name: "unpaused just now", why: "B7: the pause that ends does not count either", scene: handFleet(old, atMost("5"), handSlowly("1", "250", 3*time.Minute),
			handPausedSince(2*time.Minute))},
		{name: "paused since what is to come", why: "B7: a clock was set back, and the pause is none", scene: handFleet(old, atMost("5"), handSlowly("1", "250", 3*time.Minute),
			handPausedSince(-time.Minute))},
		{name: "paused now, since what is to come", why: "B7: a clock was set back, and the pause is none", scene: handFleet(old, handPods("", "f", "g", "h", "i", "j"),
			handSlowly("1", "250", 3*time.Minute), handStrategy(func(s *rollout.Strategy) { s.Paused = true }), handPausedSince(-time.Minute))},
		{name: "paused for less than nothing", why: "B7: such a memory is taken for none", scene: handFleet(old, handPods("", "f", "g", "h", "i"),
			handSlowly("1", "250", 3*time.Minute), handStrategy(func(s *rollout.Strategy) { s.Paused = true }), handPausedSince(2*time.Minute),
			func(s *handmade) { s.snapshot.Memory.Rollout.Paused = -time.Minute })},
		{name: "unpaused, and paused for less than nothing", why: "B7: such a memory is taken for none", scene: handFleet(old, atMost("5"),
			handSlowly("1", "250", 3*time.Minute), handPausedSince(2*time.Minute),
			func(s *handmade) { s.snapshot.Memory.Rollout.Paused = -time.Minute })},
		{name: "an interval of a nanosecond", why: "B7: it has not passed either", scene: handFleet(old, atMost("5"), handSlowly("1", "250", 0),
			handStrategy(func(s *rollout.Strategy) { s.SlowStart.Interval = 1 }))},
		{name: "a held node's pod comes up", why: "B7: it takes a place at its old revision, too", scene: handFleet(handPods("unready", "a-old"),
			handCreated(30*time.Second, "a-old"), handOldPods(), atMost("5"), partitionOf("1"), handSlowly("2", "250", 0))},
		{name: "one was updated in place", why: "B7: its interval begins with that", scene: handFleet(handPods("unready", "a-new"), handOldPods(), atMost("5"),
			inPlaceBy(inplace.IfPossible), handUpdated(30*time.Second, "a-new"), handSlowly("2", "250", 0))},
		{name: "one is asked for", why: "B7: it takes a place, and is not missing besides", scene: handFleet(old, handPods("", "f"), atMost("5"), handSlowly("2", "250", 0),
			func(s *handmade) {
				s.snapshot.InFlight.Creates = []rollout.InFlightCreate{{Node: "f", Revision: freshHash}}
			})},
		{name: "one terminates, with surge", why: "B7: what follows it is created, and replaces nothing", scene: handFleet(old, handPods("available", "f-old"),
			handTerminating(30*time.Second, "f-old"), handSurgingBy(5), handSlowly("2", "250", 0))},
		{name: "a first installation beside a terminating pod, with surge", why: "T7, B7: its node has a place, and node a, which comes before it, waits for one",
			scene: handFleet(handPods("", "a", "c"), handPods("available", "b-old"), handTerminating(30*time.Second, "b-old"), handSurgingBy(1),
				handSlowly("1", "250", 0), partitionOf("1"), func(s *handmade) {
					s.snapshot.Revisions = s.snapshot.Revisions[1:]
					s.spec.Strategy.PartitionedScaling = true
				})},
		{name: "a first installation that replaces a Failed pod", why: "T7, B7: nodes that stay empty take no place", scene: handFleet(handPods("failed", "a-new"),
			handPods("", "b", "c", "d"), handOverride("o", "app-node", "1", 0), handSlowly("2", "250", 0), partitionOf("3"), func(s *handmade) {
				s.snapshot.Revisions = s.snapshot.Revisions[1:]
				s.spec.Strategy.PartitionedScaling = true
			})},
		{name: "an unreachable node", why: "B8: left out", scene: handFleet(handPods("unready", "a-new"), handOldPods(), handUnreachable("a"), atMost("1"),
			handLeavingOut("1"))},
		{name: "more of them than may be left out", why: "B8: the others count", scene: handFleet(handPods("unready", "a-new", "f-new"), handOldPods(),
			handUnreachable("a", "f"), atMost("2"), handLeavingOut("10%"))},
		{name: "no room", why: "B8: left out", scene: handFleet(handPods("unready", "a-new"), handOldPods(), handHomeless("a-new"), atMost("1"), handLeavingOut("1"))},
		{name: "no room, with surge", why: "B8: it holds no place", scene: handFleet(handOldPods(), handPods("unready", "b-new"), handHomeless("b-new"),
			handSurgingBy(1), handLeavingOut("1"))},
		{name: "terminating in time", why: "B8: it counts", scene: handFleet(handPods("available", "a-old"), handOldPods(), handTerminating(time.Second, "a-old"),
			atMost("1"), handLeavingOut("1"))},
		{name: "a deselected node, while another is unreachable", why: "M4: who is left out is not waited for", scene: handFleet(
			handPods("available", "a-new", "z-new"), handPods("", "b"), handUnreachable("b"), handSurgingBy(1), handLeavingOut("1"), func(s *handmade) {
				s.spec.Template.Spec.NodeSelector = map[string]string{"app-node": "yes"}
				s.snapshot.Revisions[1] = handRevision(freshHash, 2, s.spec.Template)
				s.snapshot.Nodes[1].Labels = nil
			})},
	})
}

// handPausedSince records that the rollout was paused that long ago, and has been paused since, or until now.
func handPausedSince(ago time.Duration) change {
	return func(s *handmade) { s.snapshot.Memory.Rollout.PausedSince = handNow().Add(-ago) }
}

// handUpdated records in pods an update in place that long ago.
func handUpdated(ago time.Duration, names ...string) change {
	return onPods(func(p *corev1.Pod) {
		p.Annotations = map[string]string{inplace.StateKey: fmt.Sprintf(`{"revision":%q,"updateTimestamp":%q}`, freshHash,
			handNow().Add(-ago).Format(time.RFC3339))}
	}, names...)
}

// handOldPods adds nodes b to d with available old pods.
func handOldPods() change { return handPods("available", "b-old", "c-old", "d-old") }

func TestVerifySlowStart(t *testing.T) {
	slow := handFleet(handPods("available", "a-old", "b-old", "c-old"), atMost("3"), handSlowly("1", "250", 0))
	runViolations(t, []violationRow{
		{
			name: "one replacement more", why: "B7", scene: slow, plant: func(s *handmade) { s.delete("b-old").bring() },
			want: 11, mention: "B7: 2 pods are replaced, right are at most 1: limit 1 - 0 under way - 0 missing",
		},
		{
			name: "one create more", why: "B7", scene: handFleet(handPods("", "a", "b"), handSlowly("1", "250", 0)),
			plant: func(s *handmade) { s.create("b").bring() }, want: 11, mention: "B7: 2 missing pods are created, right are at most 1",
		},
		{
			name: "a replacement before missing pods", why: "B7: deletes never outrun creates",
			scene: handFleet(handPods("available", "a-old"), handPods("", "b"), atMost("3"), handSlowly("1", "250", 0)),
			plant: func(s *handmade) { s.delete("a-old").bring() }, want: 11, mention: "right are at most 0: limit 1 - 0 under way - 1 missing",
		},
		{
			name: "a pod beside an old one more", why: "B7", scene: handFleet(handOldPods(), handSurgingBy(3), handSlowly("1", "250", 0)),
			plant: func(s *handmade) { s.create("c").bring() }, want: 11, mention: "B7: 2 pods are replaced",
		},
		{
			name: "a Failed pod more", why: "B7: broken ones too", scene: handFleet(handPods("failed", "a-old", "b-old"), handSlowly("1", "250", 0)),
			plant: func(s *handmade) { s.delete("b-old").bring() }, want: 11, mention: "B7: 2 pods are replaced",
		},
		{
			name: "a replacement while one is under way", why: "B7: no place is left", scene: handFleet(handPods("available", "a-old"), handPods("unready", "b-new"),
				handCreated(30*time.Second, "b-new"), atMost("3"), handSlowly("1", "1", 0)),
			plant: func(s *handmade) { s.delete("a-old").bring() }, want: 11, mention: "right are at most 0: limit 1 - 1 under way - 0 missing",
		},
		{
			name: "an update in place more", why: "B7: it is a replacement like any other", scene: handFleet(handPods("available", "a-old", "b-old"),
				inPlaceBy(inplace.IfPossible), atMost("3"), handSlowly("1", "250", 0)),
			plant: func(s *handmade) { conditionPatch(s, "a-old", lifecycle.InPlaceUpdateReady); s.bring() }, want: 11, mention: "B7: 2 pods are replaced, right are at most 1",
		},
		{
			name: "an update in place while one waits for its hook", why: "B7: its pod is on its way out", scene: handFleet(handPods("available", "a-old", "b-old"),
				inPlaceBy(inplace.IfPossible), inPlaceHook, hookedBy("b-old"), inStateOf(lifecycle.PreparingUpdate, "b-old"), atMost("3"), handSlowly("1", "250", 0)),
			plant: func(s *handmade) { conditionPatch(s, "a-old", lifecycle.InPlaceUpdateReady); s.bring() }, want: 11,
			mention: "B7: 1 pods are replaced, right are at most 0: limit 1 - 1 under way - 0 missing",
		},
		{
			name: "a replacement beside what follows a terminating pod", why: "B7: the terminating pod's node has its place for both",
			scene: handFleet(handOldPods(), handPods("available", "f-old"), handTerminating(30*time.Second, "f-old"), handSurgingBy(5), handSlowly("1", "250", 0)),
			plant: func(s *handmade) { s.create("b").bring() }, want: 11, mention: "limit 1 - 1 under way - 0 missing",
		},
		{
			name: "a replacement before missing pods of a first installation", why: "B7, T7: one of them is created",
			scene: handFleet(handPods("failed", "a-old"), handPods("", "b", "c"), atMost("3"), handSlowly("1", "250", 0), partitionOf("2"), func(s *handmade) {
				s.snapshot.Revisions = s.snapshot.Revisions[1:]
				s.spec.Strategy.PartitionedScaling = true
			}),
			plant: func(s *handmade) { s.delete("a-old").bring() }, want: 11, mention: "limit 1 - 0 under way - 1 missing",
		},
		{
			name: "a replacement beside what follows a terminating pod of a first installation", why: "B7, T7: its node keeps its place, whatever stays empty",
			scene: handFleet(handPods("failed", "a-old"), handPods("available", "b-new"), handPods("", "c"), handTerminating(30*time.Second, "b-new"),
				handSurgingBy(3), handSlowly("1", "250", 0), partitionOf("2"), func(s *handmade) {
					s.snapshot.Revisions = s.snapshot.Revisions[1:]
					s.spec.Strategy.PartitionedScaling = true
				}),
			plant: func(s *handmade) { s.delete("a-old").bring() }, want: 11, mention: "limit 1 - 1 under way - 0 missing",
		},
		{
			name: "a replacement beside what follows a leaving pod", why: "B7: the leaving pod's node has its place for both",
			scene: handFleet(handOldPods(), handPods("available", "f-old"), preDelete, hookedBy("f-old"), inStateOf(lifecycle.PreparingDelete, "f-old"),
				handSurgingBy(5), handSlowly("1", "250", 0)),
			plant: func(s *handmade) { s.create("b").bring() }, want: 11, mention: "limit 1 - 1 under way - 0 missing",
		},
		{
			name: "asleep until after the first of two places is free", why: "V15", scene: handFleet(handPods("available", "a-old"), handPods("unready", "b-new", "c-new"),
				handCreated(30*time.Second, "b-new"), handCreated(10*time.Second, "c-new"), atMost("5"), handSlowly("2", "2", 0)),
			plant: func(s *handmade) { s.plan.NextWake = handNow().Add(40 * time.Second) }, want: 15, mention: "B7: a node is no longer under way at 2026-01-15T12:00:30Z",
		},
		{
			name: "asleep until after the first step of another revision", why: "V15: the clock begins now", scene: handFleet(handOldPods(), atMost("3"), handSlowly("1", "250", time.Hour),
				func(s *handmade) { s.snapshot.Memory.Rollout.Revision = "other" }),
			plant: func(s *handmade) { s.plan.NextWake = handNow().Add(time.Minute + 1) }, want: 15, mention: "B7: the limit rises at 2026-01-15T12:01:00Z",
		},
		{
			name: "asleep until after a pod terminates for too long", why: "V15: B8 would free its place", scene: handFleet(handOldPods(), handPods("available", "f-old"),
				handTerminating(30*time.Second, "f-old"), atMost("5"), handSlowly("2", "250", 0)),
			plant: func(s *handmade) { s.plan.NextWake = handNow().Add(31 * time.Second) }, want: 15, mention: "node f: B8: pod f-old is terminating for too long",
		},
		{
			name: "another limit", why: "V12", scene: slow, plant: func(s *handmade) { s.plan.Budget.SlowStart = 2 },
			want: 12, mention: "budget.slowStart is 2, right is 1",
		},
		{
			name: "another number under way", why: "V12", scene: slow, plant: func(s *handmade) { s.plan.Budget.UnderWay = 1 },
			want: 12, mention: "budget.underWay is 1, right is 0",
		},
		{
			name: "asleep until after the next step", why: "V15", scene: slow, plant: func(s *handmade) { s.plan.NextWake = handNow().Add(61 * time.Second) },
			want: 15, mention: "B7: the limit rises at 2026-01-15T12:01:00Z",
		},
		{
			also: 28, name: "asleep until after a place is free", why: "V15", scene: handFleet(handPods("available", "a-old"), handPods("unready", "b-new"),
				handCreated(30*time.Second, "b-new"), atMost("3"), handSlowly("1", "1", 0)),
			plant: func(s *handmade) { s.plan.NextWake = time.Time{} }, want: 15, mention: "B7: a node is no longer under way at 2026-01-15T12:00:30Z",
		},
	})
}

func TestVerifyExempt(t *testing.T) {
	exempt := func(node string) func(*handmade) {
		return func(s *handmade) {
			d := s.decision(node)
			d.Exemption, d.Unavailable, d.Surging = rollout.ExemptionUnschedulable, false, false
			s.plan.Budget.Exempt++
		}
	}
	spent := func(unavailable, surging int32) func(*handmade) {
		return func(s *handmade) { s.spend(unavailable, surging) }
	}
	runViolations(t, []violationRow{
		{
			name: "a node that can be reached", why: "B8", scene: handFleet(handPods("unready", "a-new"), handLeavingOut("1")),
			plant: func(s *handmade) { s.decision("a").Exemption = rollout.ExemptionUnschedulable }, want: 1, mention: "node a: B8: left out of the budgets, although it can be reached",
		},
		{
			name: "a node that does not count", why: "B8", scene: handFleet(handPods("available", "a-new"), handUnreachable("a"), handLeavingOut("1")),
			plant: func(s *handmade) { s.decision("a").Exemption = rollout.ExemptionUnschedulable }, want: 1, mention: "or does not count",
		},
		{
			name: "too many", why: "B8", scene: handFleet(handPods("unready", "a-new", "b-new"), handUnreachable("a", "b"), handLeavingOut("1")),
			plant: func(s *handmade) { s.decision("b").Exemption = rollout.ExemptionUnschedulable }, want: 1, mention: "node b: B8: left out of the budgets as number 2, right are at most 1",
		},
		{
			name: "under surge", why: "B8", scene: handFleet(handPods("unready", "a-new"), handSurgingBy(1), handLeavingOut("1")),
			plant: func(s *handmade) { s.decision("a").Exemption = rollout.ExemptionUnschedulable }, want: 2, mention: "node a: B8",
		},
		{
			name: "with maxUnschedulable 0", why: "B8: none", scene: handFleet(handPods("unready", "a-new"), handUnreachable("a")),
			plant: func(s *handmade) { s.decision("a").Exemption = rollout.ExemptionUnschedulable }, want: 1, mention: "right are at most 0",
		},
		{
			name: "not counted", why: "V12", scene: handFleet(handPods("unready", "a-new"), handUnreachable("a"), handLeavingOut("1")),
			plant: func(s *handmade) { s.plan.Budget.Exempt = 0 }, want: 12, mention: "budget.exempt is 0, right is 1",
		},
		{
			name: "another maximum", why: "V12", scene: handFleet(handPods("available", "a-new"), handLeavingOut("1")),
			plant: func(s *handmade) { s.plan.Budget.MaxUnschedulable = 2 }, want: 12, mention: "budget.maxUnschedulable is 2, right is 1",
		},
		{
			name: "left out and counted", why: "B8", scene: handFleet(handPods("unready", "a-new"), handUnreachable("a"), handLeavingOut("1")),
			plant: func(s *handmade) { s.decision("a").Unavailable = true }, want: 12, mention: "node a: B2: unavailable is true, right is false",
		},
		{
			name: "the budget of who is left out is spent twice", why: "V1", scene: handFleet(handPods("unready", "a-new", "e-new"), handOldPods(),
				handUnreachable("a", "e"), atMost("2"), handLeavingOut("1")),
			plant: func(s *handmade) { s.delete("b-old").bring() }, want: 1, mention: "are unavailable after the plan, more than maxUnavailable 2",
		},
		{
			name: "who is left out is not what is chosen", why: "V12: the counters are those of the others", scene: handFleet(
				handPods("unready", "a-new"), handUnreachable("a"), handLeavingOut("1")),
			plant: spent(1, 0), want: 12, mention: "budget.unavailable is 1, right is 0",
		},
		{
			name: "asleep until a pod terminates for too long", why: "V15", scene: handFleet(handPods("available", "a-old"), handOldPods(),
				handTerminating(30*time.Second, "a-old"), handLeavingOut("1")),
			plant: func(s *handmade) { s.plan.NextWake = handNow().Add(31 * time.Second) }, want: 15, mention: "B8: pod a-old is terminating for too long",
		},
		{
			name: "chosen otherwise", why: "B8: any of them will do, but the counters must agree", scene: handFleet(
				handPods("unready", "a-new", "b-new"), handUnreachable("a", "b"), handLeavingOut("2")),
			plant: both(func(s *handmade) {
				s.decision("b").Exemption, s.plan.Budget.Exempt = rollout.ExemptionNone, 0
			}, exempt("a")), want: 12, mention: "node b: B2: unavailable is false, right is true",
		},
	})
}
