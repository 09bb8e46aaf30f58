package verify_test

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// handUnpromoted removes the mark of a promotion from the stable revision.
func handUnpromoted(s *handmade) { s.snapshot.Revisions[0].Annotations = nil }

// handForgotten removes the memory.
func handForgotten(s *handmade) { s.snapshot.Memory = rollout.Memory{} }

// handAt gives pods the revision with the hash.
func handAt(hash string, names ...string) change {
	return onPods(func(p *corev1.Pod) { p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = hash }, names...)
}

// handTwins are two promoted revisions of one number, in both orders.
func handTwins(turned bool) change {
	return func(s *handmade) {
		twin := s.snapshot.Revisions[2]
		twin.Revision, twin.Annotations = s.snapshot.Revisions[0].Revision, s.snapshot.Revisions[0].Annotations
		if turned {
			slices.Reverse(s.snapshot.Revisions)
		}
	}
}

func TestVerifyAcceptsStable(t *testing.T) {
	failedBefore := func(revision string) change {
		return func(s *handmade) {
			handUnpromoted(s)
			handAt(olderHash, "b-old", "c-old", "d-old")(s)
			s.snapshot.Memory.Rollout.Stable = staleHash
			s.snapshot.Memory.Canary = canary.Record{Revision: revision, Verdict: &canary.Finding{Phase: canary.Failed}}
		}
	}
	runAccepts(t, []acceptRow{
		{name: "two of one number", why: "C6: one of them is the stable one", scene: handTrial(handTwins(false))},
		{name: "two of one number, in another order", why: "C6: the same one", scene: handTrial(handTwins(true))},
		{name: "the one remembered has failed since", why: "C6: it is the older one that runs", scene: handTrial(failedBefore(staleHash))},
		{name: "the one remembered, after another failed", why: "C6: it is known, although no pod carries it", scene: handTrial(failedBefore(freshHash))},
		{name: "the one remembered is not the last", why: "C6: it is known, and the others are not", scene: handTrial(handUnpromoted, func(s *handmade) {
			s.snapshot.Memory.Rollout.Stable = olderHash
		})},
		{name: "a first installation", why: "C6: it needs no canary", scene: handFleet(handWithTrial, handPods("", "a", "b"), func(s *handmade) {
			s.snapshot.Revisions, s.snapshot.Memory = s.snapshot.Revisions[1:2], rollout.Memory{}
		})},
		{name: "only a finished pod carries it", why: "C6: it shows what was there", scene: handFleet(handWithTrial, handUnpromoted,
			handPods("succeeded", "b-old"), handPods("available", "a-new", "c-new"))},
		{name: "its template cannot be read", why: "no node is vacated for it, and none gets it", scene: handFleet(handWithTrial,
			handPods("available", "a-old"), handPods("", "d"), handSlowly("1", "250", 0),
			func(s *handmade) { s.snapshot.Revisions[0].Data.Raw = []byte("{") })},
		{name: "a failed one, and nothing to go back to", why: "C7: it stays where it is", scene: handFleet(handWithTrial,
			handPods("available", "a-new", "b-new"), handMarkedBy(history.FailedAnnotation, "ByCommand"), func(s *handmade) {
				s.snapshot.Revisions = s.snapshot.Revisions[1:2]
			})},
		{name: "its pod is asked for on a keep node", why: "T2: the node is in the base of the partition", scene: handTrial(tainted("d"), partitionOf("50%"), func(s *handmade) {
			s.snapshot.Pods = s.snapshot.Pods[:3]
			s.snapshot.InFlight.Creates = []rollout.InFlightCreate{{Node: "d", Revision: staleHash}}
		})},
		{name: "its pod is on a keep node", why: "T2: the node is in the base of the partition", scene: handTrial(tainted("d"), partitionOf("50%"))},
		{name: "pods of both kinds are asked for", why: "it depends on which is seen first what the node is", scene: handFleet(
			handPods("", "a"), handSurgingBy(1), func(s *handmade) {
				s.snapshot.InFlight.Creates = []rollout.InFlightCreate{{Node: "a", Revision: freshHash}, {Node: "a", Revision: staleHash}}
			})},
		{name: "pods of both kinds are asked for, the old one first", why: "it depends on which is seen first what the node is", scene: handFleet(
			handPods("", "a"), handSurgingBy(1), func(s *handmade) {
				s.snapshot.InFlight.Creates = []rollout.InFlightCreate{{Node: "a", Revision: staleHash}, {Node: "a", Revision: freshHash}}
			})},
		{name: "pods of both kinds are asked for, and the plan expects the old one", why: "it depends on which is seen first what the node is", scene: func() *handmade {
			s := handFleet(handPods("", "a"), handSurgingBy(1), func(s *handmade) {
				s.snapshot.InFlight.Creates = []rollout.InFlightCreate{{Node: "a", Revision: freshHash}, {Node: "a", Revision: staleHash}}
			})()
			s.decision("a").State = rollout.StateSurging
			return s
		}},
		{name: "an old pod is asked for", why: "T2: its node is held like one that has it", scene: handFleet(
			handPods("", "a"), handPods("available", "b-old"), partitionOf("1"), func(s *handmade) {
				s.snapshot.InFlight.Creates = []rollout.InFlightCreate{{Node: "a", Revision: staleHash}}
			})},
		{name: "the canary node is the last to be held", why: "C7: one node is left for the partition", scene: handFleet(handWithTrial,
			handPods("available", "a-old", "b-old"), partitionOf("1"))},
		{name: "a lost pod of before the stable revision", why: "T1: it comes back as it was, and before the canary node is held", scene: handFleet(
			handWithTrial, handPods("available", "a-old", "b-old", "c-old"), handAt(olderHash, "a-old"),
			handRecorded(func(r *canary.Record) { r.Nodes = []string{"b"} }),
			onPods(func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }, "a-old"), func(s *handmade) { handMarked(s.pod("a-old")) },
			partitionOf("1"), handStrategy(holdingRevisions))},
	})
}

func TestVerifyStable(t *testing.T) {
	bothMarked := handTrial(func(s *handmade) { s.snapshot.Revisions[2].Annotations = s.snapshot.Revisions[0].Annotations })
	emptied := handFleet(handWithTrial, handUnpromoted, handPods("", "b"), handPods("available", "a-new"), handForgotten)
	rolledOut := handFleet(handWithTrial, handUnpromoted, handPods("", "c"), handPods("available", "a-new", "b-new"), handForgotten)
	runViolations(t, []violationRow{
		{
			name: "nothing to go back to, although the history has it", why: "C6: the one before is it, whoever carries it", scene: emptied,
			plant: func(s *handmade) { s.plan.Status.StableRevision = freshHash }, want: 12, mention: `status.stableRevision is "fresh", right is ["stale"]`,
		},
		{
			name: "goes back from what was rolled out", why: "C6: more nodes have it than a canary would", scene: rolledOut,
			plant: func(s *handmade) { s.plan.Status.StableRevision = staleHash }, want: 12, mention: `status.stableRevision is "stale", right is ["fresh"]`,
		},
		{
			name: "the lower of two that were promoted", why: "C6: the last one is it", scene: bothMarked,
			plant: func(s *handmade) { s.plan.Status.StableRevision = olderHash }, want: 12, mention: `status.stableRevision is "older", right is ["stale"]`,
		},
		{
			name: "the lower of two that were promoted, on trial", why: "C6: the last one is it", scene: bothMarked,
			plant: func(s *handmade) { s.plan.Canary.Stable = olderHash }, want: 12, mention: `with the stable revision "older", right are "fresh" and "stale"`,
		},
		{
			name: "the status has another one than the lost pods", why: "C6: what is lost is judged by the right one",
			scene: handTrial(func(s *handmade) { s.snapshot.Pods = s.snapshot.Pods[:3] }),
			plant: func(s *handmade) { s.plan.Status.StableRevision = olderHash }, want: 12, mention: `status.stableRevision is "older"`,
		},
		{
			name: "the last one with a mark goes", why: "R4: until the next one has its mark", scene: handTrial(
				func(s *handmade) { s.snapshot.Pods = s.snapshot.Pods[:1] },
				handRecorded(func(r *canary.Record) { r.Verdict = &canary.Finding{} })),
			plant: func(s *handmade) { s.deleteRevision(staleHash) }, want: 4, mention: "R4: delete of the stable revision agent-stale",
		},
		{
			name: "a canary node twice", why: "C1: each is one of those that are wanted",
			scene: handTrial(handTrying(func(o *canary.Options) { o.Replicas = new(intstr.FromInt32(2)) }),
				handStrategy(func(s *rollout.Strategy) { s.Paused = true })),
			plant: func(s *handmade) {
				s.plan.Canary.Nodes = []string{"a", "a"}
				s.plan.Memory.Canary.Nodes = s.plan.Canary.Nodes
			},
			want: 12, mention: "C1: canary node after a, right are nodes in ascending order, each once",
		},
	})
}
