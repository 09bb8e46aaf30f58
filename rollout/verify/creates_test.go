package verify_test

import (
	"slices"
	"testing"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/verify"
)

// handFirstOf is a fleet whose template has no revision yet. An empty node b gets a pod of that revision at once.
func handFirstOf() func() *handmade {
	return handTrial(handUnpromoted, func(s *handmade) {
		s.spec.Template = handTemplate("v3")
		s.snapshot.Pods = s.snapshot.Pods[1:]
	})
}

func TestVerifyCreates(t *testing.T) {
	runViolations(t, []violationRow{
		{
			name: "its revision is in an action that creates nothing", why: "R3: the revision comes first", scene: handFirstOf(),
			plant: func(s *handmade) {
				i := slices.IndexFunc(s.plan.Revisions, func(a rollout.RevisionAction) bool { return a.Verb == rollout.CreateRevision })
				object := s.plan.Revisions[i].Object
				s.plan.Revisions = slices.Delete(s.plan.Revisions, i, i+1)
				s.plan.Revisions[0].Object = object
			},
			want: 3, mention: "which neither exists nor is created by this plan nor requested",
		},
		{
			name: "its revision is not the one that is requested", why: "R3: that is another set's", scene: func() *handmade {
				s := newHandmade("1", "0")
				s.node("a", "d")
				s.snapshot.Revisions = nil
				s.snapshot.InFlight.Revisions = []string{"agent-" + handNewHash()}
				s.plan.Status.UpdateRevision = handNewHash()
				s.budget(1, 1, 0, 0).create("a")
				s.plan.Creates[0].Revision = handNewHash()
				return s
			},
			plant: func(s *handmade) { s.snapshot.InFlight.Revisions = []string{handNewHash()} }, want: 3, mention: "which neither exists",
		},
		{
			name: "in a first installation that is to stay empty", why: "T7: 4 - 4 nodes", scene: handFleet(handInstallation(), partitionOf("4")),
			plant: func(s *handmade) { s.create("a") }, want: 5, mention: "T7: 1 missing pods are created, right are at most 0",
		},
	})
	runAccepts(t, []acceptRow{
		{name: "a first installation, while a pod of another set terminates", why: "T7: its node waits, and is passed over", scene: handFleet(handInstallation(), func(s *handmade) {
			gone := handMarked(handPod("a-x", "unknown", "available"))
			gone.Spec.NodeName = "a"
			s.snapshot.Pods = append(s.snapshot.Pods, gone)
		})},
	})
}

// TestVerifyCreateNowhere: no Decision can be about a node that is not in the snapshot, so the plan breaks V12 as well.
func TestVerifyCreateNowhere(t *testing.T) {
	s := handSteady()
	s.plan.Creates = []rollout.Create{{Node: "nowhere", Revision: freshHash, Reason: rollout.ReasonMissing}}
	s.settle()
	want := verify.Violation{Invariant: 3, Node: "nowhere", Message: "create on a node that is not in the snapshot"}
	if got := s.verify(); !slices.Contains(got, want) {
		t.Errorf("got %v, want among them: %v", got, want)
	}
}
