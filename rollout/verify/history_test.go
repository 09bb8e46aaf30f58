package verify_test

import (
	"math"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// TestVerifyNewRevision: R1 and R3 define the object to create, and the pods that need it.
func TestVerifyNewRevision(t *testing.T) {
	creating := func() *handmade { return handNewRevision().createRevision() }
	owned := func() *handmade {
		s := handNewRevision()
		s.spec.UID = "uid-set"
		s.createRevision().plan.Revisions[0].Object.OwnerReferences = []metav1.OwnerReference{
			{UID: "uid-other"}, {UID: "uid-set", Controller: new(true)},
		}
		return s
	}
	object := func(change func(*appsv1.ControllerRevision)) func(*handmade) {
		return func(s *handmade) { change(s.plan.Revisions[0].Object) }
	}
	installing := func() *handmade {
		s := newHandmade("1", "0")
		s.node("a", "d")
		s.snapshot.Revisions = nil
		s.plan.Status.UpdateRevision = handNewHash()
		s.createRevision().budget(1, 1, 0, 0).create("a")
		s.plan.Revisions[0].Number, s.plan.Revisions[0].Object.Revision = 1, 1
		s.plan.Creates[0].Revision = handNewHash()
		return s
	}
	runViolations(t, []violationRow{
		{
			name: "number of the action", why: "R3: max+1", scene: creating,
			plant: func(s *handmade) { s.plan.Revisions[0].Number = -5 }, want: 12, mention: "with number -5 and its object's 2, right is 2",
		},
		{
			name: "number of the object", why: "R3: max+1", scene: creating,
			plant: object(func(o *appsv1.ControllerRevision) { o.Revision = 3 }), want: 12, mention: "with number 2 and its object's 3, right is 2",
		},
		{
			name: "number of an older one", why: "R3: max+1 over all", scene: creating,
			plant: func(s *handmade) {
				s.snapshot.Revisions = append(s.snapshot.Revisions, handRevision("more", 7, handTemplate("v0")))
			},
			want: 12, mention: "right is 8",
		},
		{
			name: "namespace", why: "the set is in another", scene: creating,
			plant: object(func(o *appsv1.ControllerRevision) { o.Namespace = "" }), want: 12, mention: "right is default/agent-",
		},
		{
			name: "name", why: "R1: set and hash", scene: creating,
			plant: func(s *handmade) { s.plan.Revisions[0].Name, s.plan.Revisions[0].Object.Name = "x", "x" },
			want:  12, mention: "create of revision default/x with hash",
		},
		{
			name: "no hash label", why: "R1: pods refer to it", scene: creating,
			plant: object(func(o *appsv1.ControllerRevision) { o.Labels = nil }), want: 12, mention: `with hash ""`,
		},
		{
			name: "owner of another set", why: "it would be claimed by that one", scene: owned,
			plant: object(func(o *appsv1.ControllerRevision) { o.OwnerReferences[1].UID = "uid-other" }),
			want:  12, mention: `controlled by UID "uid-other", right is "uid-set"`,
		},
		{
			name: "no owner", why: "it would outlive the set", scene: owned,
			plant: object(func(o *appsv1.ControllerRevision) { o.OwnerReferences = o.OwnerReferences[:1] }),
			want:  12, mention: `controlled by UID "", right is "uid-set"`,
		},
		{
			name: "an owner without a UID of the set", why: "nobody owns it then", scene: creating,
			plant: object(func(o *appsv1.ControllerRevision) {
				o.OwnerReferences = []metav1.OwnerReference{{UID: "uid-other", Controller: new(true)}}
			}),
			want: 12, mention: `controlled by UID "uid-other", right is ""`,
		},
		{
			name: "pods without their revision", why: "R3: nobody could tell what they are at", scene: installing,
			plant: func(s *handmade) { s.plan.Revisions = nil }, want: 3, mention: "node a: R3: create at revision",
		},
		{
			name: "pods of a revision in flight for another set", why: "R3: it is not theirs", scene: installing,
			plant: func(s *handmade) {
				s.plan.Revisions = nil
				s.snapshot.InFlight.Revisions = []string{"other-" + handNewHash()}
			},
			want: 3, mention: "which neither exists nor",
		},
		{
			name: "another hash", why: "R1: the template gives it", scene: installing,
			plant: func(s *handmade) {
				s.plan.Revisions = nil
				s.plan.Status.UpdateRevision, s.plan.Creates = "any", nil
				s.decision("a").Creates, s.decision("a").Verb = 0, rollout.VerbWait
			},
			want: 12, mention: `status.updateRevision is "any"`,
		},
		{
			name: "the hash of before the collision", why: "R3: the count is remembered",
			scene: func() *handmade {
				s := handNewRevision()
				s.snapshot.Memory = handMemory()
				s.snapshot.Memory.CollisionCount = new(int32(3))
				s.plan.Status.UpdateRevision = history.Hash(&s.spec.Template, new(int32(3)))
				return s
			},
			plant: func(s *handmade) { s.plan.Status.UpdateRevision = handNewHash() }, want: 12, mention: "status.updateRevision is",
		},
	})
	runAccepts(t, []acceptRow{
		{name: "first installation", why: "number 1", scene: installing},
		{name: "owned", why: "by the set", scene: owned},
		{name: "pods of a revision in flight", why: "it counts as there", scene: func() *handmade {
			s := installing()
			s.plan.Revisions = nil
			s.snapshot.InFlight.Revisions = []string{"agent-" + handNewHash()}
			return s
		}},
		{name: "a name that is taken", why: "R3: the next collision count", scene: func() *handmade {
			s := handNewRevision()
			s.snapshot.Revisions[0].Name = "agent-" + handNewHash()
			s.plan.Status.UpdateRevision = history.Hash(&s.spec.Template, new(int32(1)))
			return s
		}},
		{name: "a hash that is taken, at the last count", why: "R3: 0 follows", scene: func() *handmade {
			s := handNewRevision()
			s.snapshot.Memory = handMemory()
			s.snapshot.Memory.CollisionCount = new(int32(math.MaxInt32))
			taken := history.Hash(&s.spec.Template, new(int32(math.MaxInt32)))
			s.snapshot.Revisions = append(s.snapshot.Revisions, handRevision(taken, 1, handTemplate("v0")))
			s.snapshot.Revisions[1].Name = "agent-other" // pods refer to their revision by the hash
			s.plan.Status.UpdateRevision = history.Hash(&s.spec.Template, new(int32(0)))
			return s
		}},
		{name: "a count in a memory of another version", why: "it counts as lost", scene: func() *handmade {
			s := handNewRevision()
			s.snapshot.Memory = rollout.Memory{Version: rollout.MemoryVersion + 1, CollisionCount: new(int32(3))}
			return s
		}},
		{name: "at the end of the numbers", why: "it stays there", scene: func() *handmade {
			s := creating()
			s.snapshot.Revisions[0].Revision = math.MaxInt64
			s.plan.Revisions[0].Number, s.plan.Revisions[0].Object.Revision = math.MaxInt64, math.MaxInt64
			return s
		}},
	})
}

func TestVerifyHistoryOrder(t *testing.T) {
	renumbering := func() *handmade {
		s := handSteady()
		s.snapshot.Revisions[0].Revision = 3
		s.plan.Revisions = []rollout.RevisionAction{{Verb: rollout.RenumberRevision, Name: "agent-fresh", UID: "uid-agent-fresh", Number: 4}}
		return s
	}
	// old has revisions 1 to 4 beside the update revision. One of them may stay.
	old := func(deleted ...string) func() *handmade {
		return func() *handmade {
			s := handSteady()
			s.spec.RevisionHistoryLimit = new(int32(1))
			s.snapshot.Revisions[1].Revision = 8
			for i, hash := range []string{"v2nd", "v3rd", "v4th"} {
				s.snapshot.Revisions = append(s.snapshot.Revisions, handRevision(hash, int64(i+2), handTemplate(hash)))
			}
			for _, hash := range deleted {
				s.deleteRevision(hash)
			}
			return s
		}
	}
	runViolations(t, []violationRow{
		{
			name: "renumbered too low", why: "R3: to max+1 of the others", scene: renumbering,
			plant: func(s *handmade) { s.plan.Revisions[0].Number = 1 }, want: 4, mention: "R3: renumber of revision agent-fresh from 2 to 1, right is to 4",
		},
		{
			name: "renumbered too high", why: "R3: to max+1 of the others", scene: renumbering,
			plant: func(s *handmade) { s.plan.Revisions[0].Number = 5 }, want: 4, mention: "from 2 to 5, right is to 4",
		},
		{
			name: "renumbered without need", why: "R3: it is the newest", scene: renumbering,
			plant: func(s *handmade) { s.snapshot.Revisions[1].Revision = 4 }, want: 4, mention: "from 4 to 4",
		},
		{
			name: "the newest of all renumbered", why: "R3: the others count, not itself", scene: renumbering,
			plant: func(s *handmade) { s.snapshot.Revisions[1].Revision, s.plan.Revisions[0].Number = 4, 5 }, want: 4, mention: "from 4 to 5, right is to 4",
		},
		{
			name: "the newest deleted", why: "R4: the oldest go", scene: old(staleHash, "v2nd", "v3rd"),
			plant: func(s *handmade) {
				s.plan.Revisions = nil
				s.deleteRevision("v2nd")
				s.deleteRevision("v3rd")
				s.deleteRevision("v4th")
			},
			want: 4, mention: "R4: delete of revision agent-v4th with number 4, although 1 stays",
		},
		{
			name: "the second oldest deleted", why: "R4: the oldest go first", scene: old(staleHash),
			plant: func(s *handmade) { s.plan.Revisions = nil; s.deleteRevision("v2nd") },
			want:  4, mention: "R4: delete of revision agent-v2nd with number 2, although 1 stays",
		},
	})
	runAccepts(t, []acceptRow{
		{name: "an older one that pods carry stays", why: "R4: it may not go", scene: func() *handmade {
			s := old("v2nd")()
			s.node("c", "dpra", handPod("c-old", staleHash, "available"))
			return s
		}},
		{name: "an older one in flight", why: "it counts as gone", scene: func() *handmade {
			s := old("v2nd")()
			s.snapshot.InFlight.Revisions = []string{"agent-stale"}
			return s
		}},
		{name: "either of two equally old", why: "R4 names no other order", scene: func() *handmade {
			s := old("v2nd")()
			s.snapshot.Revisions[0].Revision = 2
			return s
		}},
		{name: "a duplicate that is older stays", why: "R3: it is no history", scene: func() *handmade {
			s := old(staleHash)()
			s.snapshot.Revisions = append(s.snapshot.Revisions, handRevision("twin", 0, s.spec.Template))
			return s
		}},
	})
}
