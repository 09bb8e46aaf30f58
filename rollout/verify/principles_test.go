package verify_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/stage"
	"github.com/daemonplan/daemonplan/rollout/verify"
	"github.com/daemonplan/daemonplan/status"
)

// TestVerifyPrinciples plants what the principles forbid (V28 to V32) in plans that are right. Other invariants may be broken as well.
func TestVerifyPrinciples(t *testing.T) {
	ring0, ring1 := handRing("0"), handRing("1")
	frontier := func(name string) func(*handmade) {
		return func(s *handmade) {
			s.plan.Memory.Rollout.Frontier = stage.Frontier{
				Stage: name, At: handNow(), Layout: stage.Layout(s.spec.Strategy.Policy.Stages, slices.IndexFunc(s.spec.Strategy.Policy.Stages, func(of stage.Stage) bool { return of.Name == name })),
			}
		}
	}
	born := func(ago time.Duration) change {
		return func(s *handmade) {
			s.snapshot.Revisions[1].CreationTimestamp = metav1.NewTime(handNow().Add(-ago))
		}
	}
	broken := handFleet(handPods("available", "b-new"), handStuck(time.Hour, "a-new"))
	rows := []violationRow{
		{
			name: "Updating for ever", why: "P-A: an hour is too long, and nothing is in motion",
			scene: broken,
			plant: func(s *handmade) {
				s.plan.Status.State, s.plan.Status.Reason, s.plan.Blockers = status.Updating, status.WaitingForAvailability, nil
			}, want: 28,
		},
		{
			name: "stuck without a word", why: "P-A: who is in the way is named",
			scene: broken,
			plant: func(s *handmade) { s.plan.Blockers = nil }, want: 28,
		},
		{
			name: "stuck without help", why: "P-A: what would help is said",
			scene: broken,
			plant: func(s *handmade) { s.plan.Blockers[0].Helps = nil }, want: 28,
		},
		{
			name: "stuck, and nobody named", why: "P-A: a node to look at",
			scene: broken,
			plant: func(s *handmade) { s.plan.Blockers[0].Nodes = nil }, want: 28,
		},
		{
			name: "something in the way while it goes on", why: "P-A: then nobody has to act",
			scene: handFleet(handPods("available", "a-new", "b-new")),
			plant: func(s *handmade) {
				s.plan.Blockers = []rollout.Blocker{{Why: "nothing", Helps: []string{"nothing"}}}
			}, want: 28,
		},
		{
			name: "blamed without having it", why: "P-B: b is at the old revision",
			scene: handFleet(handPods("available", "b-old"), handStuck(time.Hour, "a-new"), handFailures(1, 0)),
			plant: func(s *handmade) { s.decision("b").Failed = true }, want: 29,
		},
		{
			name: "blamed although it was down before", why: "P-B: there was no revision yet",
			scene: handFleet(handPods("available", "b-old"), handPods("unready", "a-new"), handFailures(1, 0), born(time.Minute), handDown(time.Hour, "a"), handUnstarted("a-new")),
			plant: func(s *handmade) { s.decision("a").Failed = true }, want: 29,
		},
		{
			name: "begun before its turn", why: "P-C: ring 0 was not passed",
			scene: handRings(ring0, ring1),
			plant: func(s *handmade) { s.delete("b-old").begun("b") }, want: 30,
		},
		{
			name: "begun because of a canary", why: "P-C: that ring 1 has the revision opens nothing behind it",
			scene: handStaged(ring0, ring1, handPods("available", "a-old", "b-new", "d-old")),
			plant: func(s *handmade) { s.delete("d-old").begun("d") }, want: 30,
		},
		{
			name: "a tainted ring is passed", why: "P-C: it waits until the taint is gone",
			scene: handStaged(ring0, ring1, handPods("available", "a-old", "b-old", "d-old"), handTaintedNode("a")),
			plant: func(s *handmade) { s.delete("b-old").begun("b") }, want: 30,
		},
		{
			name: "an empty frontier is taken for a lost one", why: "P-C: nobody in ring 0 has the revision",
			scene: handRings(ring0, ring1),
			plant: frontier("ring-0"), want: 30,
		},
		{
			name: "passed without an approval", why: "P-C: ring 1 is not approved",
			scene: handStaged(ring0, handRing("1", approves), handPods("available", "a-new", "b-new", "d-old"), handFrontier(time.Hour)),
			plant: frontier("ring-1"), want: 30,
		},
		{
			name: "passed while the one before soaks", why: "P-C: an hour is not over",
			scene: handStaged(handRing("0", soaks), ring1, handPods("available", "a-new", "b-new", "d-old"), handFrontier(time.Minute)),
			plant: frontier("ring-1"), want: 30,
		},
		{
			name: "the last pod of a node that is left out", why: "P-D: nothing else serves there, and the budget has no room",
			scene: handFleet(atMost("1"), handPods("available", "a-old", "b-old"), handPods("unready", "c-new"), handCreated(time.Minute, "c-new")),
			plant: func(s *handmade) {
				s.delete("a-old")
				d := s.decision("a")
				d.Exemption, d.Unavailable = rollout.ExemptionQuarantined, false
			}, want: 31,
		},
		{
			name: "a node that joins gets what nobody has proven", why: "P-E: the base is known",
			scene: handStaged(ring0, ring1, handPods("available", "a-old", "d-old", "b"), handCompleted),
			plant: func(s *handmade) { s.plan.Creates[0].Revision = freshHash }, want: 32,
		},
	}
	seen := uniqueNames{}
	for _, row := range rows {
		seen.check(t, row.name, row.why)
		t.Run(row.name, func(t *testing.T) {
			s := row.scene()
			s.settle()
			if got := s.verify(); len(got) > 0 {
				t.Fatalf("the plan without the bug is right (%s), but: %v", row.why, got)
			}
			row.plant(s)
			got := s.verify()
			if !slices.ContainsFunc(got, func(v verify.Violation) bool { return v.Invariant == row.want }) {
				t.Errorf("found %v, want V%d: %s", got, row.want, row.why)
			}
		})
	}
}

// uniqueNames refuses rows of a table that have no name of their own or no reason.
type uniqueNames map[string]bool

func (r uniqueNames) check(t *testing.T, name, why string) {
	t.Helper()
	if name == "" || why == "" || r[name] {
		t.Fatalf("row %q needs a unique name and a why", name)
	}
	r[name] = true
}

// handUnstarted are pods that no kubelet has started.
func handUnstarted(names ...string) change {
	return func(s *handmade) {
		for _, name := range names {
			s.pod(name).Status.StartTime = nil
		}
	}
}

// handTaintedNode taints nodes, so that they only may keep their pod.
func handTaintedNode(names ...string) change {
	return onNodes(func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "full", Effect: corev1.TaintEffectNoSchedule})
	}, names...)
}
