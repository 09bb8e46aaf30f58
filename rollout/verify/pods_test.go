package verify_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/rollout"
)

func TestVerifyOnePerNode(t *testing.T) {
	missing := func() *handmade {
		s := handSteady()
		s.node("c", "d")
		s.keep("k", "")
		s.leave("l", "")
		return s.budget(1, 1, 0, 0).create("c")
	}
	runViolations(t, []violationRow{
		{
			name: "on a keep node", why: "a running pod may stay there, a new one may not start", scene: missing,
			plant: func(s *handmade) { s.create("k") }, want: 3, mention: "node k: create on a node that is to keep",
		},
		{
			name: "on a leave node", why: "no pod may be there", scene: missing,
			plant: func(s *handmade) { s.create("l") }, want: 3, mention: "node l: create on a node that is to leave",
		},
		{
			name: "beside a live pod of the revision, with surge", why: "the node has what it needs", scene: handSurging,
			plant: func(s *handmade) {
				s.create("a").spend(0, 3)
				s.plan.Creates = s.plan.Creates[1:]
				s.decision("d").Creates = 0
				s.decision("d").Verb = rollout.VerbWait
				s.spend(0, 2).settle()
				s.decision("a").Surging = true
			},
			want: 3, mention: "a-new", raw: true,
		},
		{
			name: "two on one node", why: "one pod per node", scene: missing,
			plant: func(s *handmade) { s.create("c") }, want: 3, mention: "more than one",
		},
		{
			name: "at the old revision", why: "T1: lost pods come back at the update revision", scene: missing,
			plant: func(s *handmade) { s.plan.Creates[0].Revision = staleHash }, want: 3, mention: staleHash,
		},
		{
			name: "at no revision", why: "each create names its revision", scene: missing,
			plant: func(s *handmade) { s.plan.Creates[0].Revision = "" }, want: 3, mention: `revision ""`,
		},
		{
			name: "beside a Failed pod, with surge", why: "M1: never beside a Failed one",
			scene: func() *handmade {
				s := newHandmade("0", "2")
				s.node("a", "dp", handPod("a-old", staleHash, "failed"))
				return s.budget(0, 1, 2, 0).delete("a-old")
			},
			plant: func(s *handmade) { s.create("a").spend(1, 1) }, want: 3, mention: "a-old",
		},
		{
			name: "beside a Failed pod of the revision, with surge", why: "B4: it holds a place and gets no second",
			scene: func() *handmade {
				s := newHandmade("0", "2")
				s.node("a", "dpu", handPod("a-new", freshHash, "failed"))
				return s.budget(0, 1, 2, 1)
			},
			plant: func(s *handmade) { s.create("a") }, want: 3, mention: "a-new",
		},
	})
}

func TestVerifyHandsOff(t *testing.T) {
	runViolations(t, []violationRow{
		{
			name: "a healthy updated pod", why: "nothing asks for its delete", scene: handSteady,
			plant: func(s *handmade) { s.delete("b-new").spend(1, 0) }, want: 4, mention: "b-new",
		},
		{
			name: "a starting updated pod", why: "a replacement would start no faster", scene: handSurging,
			plant: func(s *handmade) {
				s.delete("c-new").spend(0, 1).settle()
				s.plan.Budget.Waiting = 1
			},
			want: 4, mention: "c-new", raw: true,
		},
		{
			name: "the better of two updated pods", why: "M3: the available one stays",
			scene: func() *handmade {
				s := newHandmade("1", "0")
				s.node("a", "dprau", handPod("a-good", freshHash, "available"), handPod("a-bad", freshHash, "unready"))
				return s.budget(1, 0, 0, 0).delete("a-bad")
			},
			plant: func(s *handmade) {
				s.plan.Deletes, s.decision("a").Deletes = nil, 0
				s.delete("a-good").spend(1, 0)
			},
			want: 4, mention: "a-good",
		},
		{
			name: "the better of two outdated pods", why: "M3: the Ready one stays",
			scene: func() *handmade {
				s := newHandmade("1", "0")
				s.node("a", "dpra", handPod("a-good", staleHash, "available"), handPod("a-bad", staleHash, "unready"))
				return s.budget(1, 0, 0, 0).delete("a-bad")
			},
			plant: func(s *handmade) {
				s.plan.Deletes, s.decision("a").Deletes = nil, 0
				s.delete("a-good").spend(1, 0).settle()
				s.plan.Budget.Waiting = 0
			},
			want: 4, mention: "a worse outdated one stays", raw: true,
		},
		{
			name: "an outdated pod of a keep node", why: "M4: the node could not get another",
			scene: func() *handmade {
				s := handRolling()
				s.keep("k", "pra", handPod("k-old", staleHash, "available"))
				return s
			},
			plant: func(s *handmade) { s.delete("k-old") }, want: 4, mention: "node k: M4",
		},
		{
			name: "a pod of no node", why: "P7: what cannot be understood is left alone",
			scene: func() *handmade { s := handSteady(); s.stray(handPod("lost", staleHash, "unready"), ""); return s },
			plant: func(s *handmade) { s.delete("lost") }, want: 4, mention: "lost",
		},
		{
			name: "a pod pinned to two nodes", why: "P7: one value attributes, two do not",
			scene: func() *handmade {
				s := handSteady()
				lost := handPinned(handPod("lost", staleHash, "unready"))
				field := &lost.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchFields[0]
				field.Values = append(field.Values, "a")
				s.stray(lost, "")
				return s
			},
			plant: func(s *handmade) { s.delete("lost") }, want: 4, mention: "lost",
		},
		{
			name: "a pod bound to a vanished node", why: "M5: it is the pod garbage collector's",
			scene: func() *handmade {
				s := handSteady()
				p := handPod("orphan", staleHash, "failed")
				p.Spec.NodeName = "gone"
				s.stray(p, "gone")
				return s
			},
			plant: func(s *handmade) { s.delete("orphan") }, want: 4, mention: "node gone: M5",
		},
		{
			name: "an available pod of a deselected node, under surge", why: "M4: two pods for two nodes are not too many",
			scene: func() *handmade {
				s := newHandmade("0", "1")
				s.node("a", "dprau", handPod("a-new", freshHash, "available"))
				s.node("b", "dpu", handPod("b-new", freshHash, "unready"))
				s.unselected(handPod("z-new", freshHash, "available"))
				return s.budget(0, 1, 1, 1)
			},
			plant: func(s *handmade) { s.delete("z-new") }, want: 4, mention: "leaves 1 nodes with an available pod, but 2",
		},
	})
}

// TestVerifyCompany: a node may begin its update only if its outdated pod is its only live one.
func TestVerifyCompany(t *testing.T) {
	// pair has an old available pod and another one that is deleted, although it need not be. There is room for b.
	pair := func(maxUnavailable, maxSurge, state string) func() *handmade {
		return func() *handmade {
			s := newHandmade(maxUnavailable, maxSurge)
			s.node("a", "dpra", handPod("a-1", staleHash, "available"), handPod("a-2", staleHash, state))
			n, surge := int32(0), int32(1)
			if maxSurge == "0" {
				n, surge = 1, 0
			}
			return s.budget(n, 0, surge, 0).delete("a-2")
		}
	}
	undelete := func(s *handmade) { s.plan.Deletes, s.decision("a").Deletes = nil, 0 }
	backoff := func() *handmade {
		s := newHandmade("1", "0")
		s.node("a", "dprau", handPod("a-1", staleHash, "available"), handPod("a-2", freshHash, "failed"))
		s.snapshot.Memory = handMemory(rollout.Backoff{Node: "a", Revision: freshHash, Delay: time.Minute, Since: handNow()})
		return s.budget(1, 0, 0, 0)
	}
	runViolations(t, []violationRow{
		{
			name: "create beside two", why: "M3: the surplus one goes first", scene: pair("0", "1", "unready"),
			plant: func(s *handmade) { undelete(s); s.create("a").spend(0, 1) }, want: 3, mention: "node a: M3: create beside 2 live pods",
		},
		{
			name: "delete beside a Failed one in back-off", why: "M1: nothing could follow", scene: backoff,
			plant: func(s *handmade) { s.delete("a-1").spend(1, 0) }, want: 4, mention: "B3, M1: delete of the Ready pod a-1",
		},
		{
			name: "delete beside a Failed outdated one", why: "M1: nothing could follow", scene: pair("1", "0", "failed"),
			plant: func(s *handmade) {
				undelete(s)
				s.delete("a-1").spend(1, 0)
			},
			want: 4, mention: "B3, M1: delete of the Ready pod a-1",
		},
		{
			name: "delete beside a starting new one", why: "M3: it goes when that one is available",
			scene: func() *handmade {
				s := newHandmade("1", "0")
				s.node("a", "dprau", handPod("a-1", staleHash, "available"), handPod("a-2", freshHash, "unready"))
				return s.budget(1, 0, 0, 0)
			},
			plant: func(s *handmade) { s.delete("a-1").spend(1, 0) }, want: 4, mention: "B3, M1",
		},
		{
			name: "delete beside a requested new one", why: "M3: it goes when that one is available",
			scene: func() *handmade {
				s := newHandmade("1", "0")
				s.node("a", "dpra", handPod("a-1", staleHash, "available"))
				s.snapshot.InFlight.Creates = []rollout.InFlightCreate{{Node: "a"}}
				return s.budget(1, 0, 0, 0)
			},
			plant: func(s *handmade) { s.delete("a-1").spend(1, 0) }, want: 4, mention: "B3, M1",
		},
	})
	runAccepts(t, []acceptRow{
		{name: "create beside one, the other goes", why: "M3: one old and one new", scene: func() *handmade { return pair("0", "1", "unready")().create("a").spend(0, 1) }},
		{name: "both go", why: "B3: none stays in the way", scene: func() *handmade { return pair("1", "0", "failed")().delete("a-1").spend(1, 0) }},
		{name: "an unready one beside a Failed one in back-off", why: "B3: it disturbs nobody", scene: func() *handmade {
			s := backoff()
			pod := handPod("x", staleHash, "unready")
			s.pod("a-1").Status = pod.Status
			return s.withFacts("a", "dpu").delete("a-1").spend(1, 0)
		}},
		{name: "an unready one beside a Failed one, later", why: "B3: it waits for nothing but this plan", scene: func() *handmade {
			s := backoff()
			s.pod("a-1").Status = handPod("x", staleHash, "unready").Status
			return s.withFacts("a", "dpu").spend(1, 0)
		}},
		{name: "beside a terminating one", why: "it goes by itself", scene: func() *handmade {
			s := pair("1", "0", "unready")()
			undelete(s)
			handMarked(s.pod("a-2"))
			return s.delete("a-1").spend(1, 0)
		}},
	})
}

func TestVerifyHeld(t *testing.T) {
	hold := func(base func() *handmade, strategy func(*rollout.Strategy)) func() *handmade {
		return func() *handmade {
			s := base()
			strategy(&s.spec.Strategy)
			return s
		}
	}
	idle := func() *handmade {
		s := handRolling()
		s.plan.Deletes = nil
		for i := range s.plan.Decisions {
			s.plan.Decisions[i].Deletes, s.plan.Decisions[i].Verb = 0, rollout.VerbHold
		}
		return s.spend(1, 0)
	}
	idleSurge := func() *handmade {
		s := handSurging()
		s.plan.Creates, s.decision("d").Creates, s.decision("d").Verb = nil, 0, rollout.VerbHold
		return s.spend(0, 1)
	}
	paused := func(st *rollout.Strategy) { st.Paused = true }
	frozen := func(st *rollout.Strategy) { st.Frozen = true }
	onDelete := func(st *rollout.Strategy) { st.Type = rollout.OnDelete }
	runViolations(t, []violationRow{
		{
			name: "paused, within the budget", why: "T4: no node is begun", scene: hold(idle, paused),
			plant: func(s *handmade) { s.delete("c-old").spend(2, 0) }, want: 6, mention: "c-old",
		},
		{
			name: "paused, not Ready", why: "T4: replacing a broken outdated pod begins the node too", scene: hold(idle, paused),
			plant: func(s *handmade) { s.delete("d-old") }, want: 6, mention: "d-old",
		},
		{
			name: "paused, surge", why: "T4: a new pod beside an old one begins the node", scene: hold(idleSurge, paused),
			plant: func(s *handmade) { s.create("d").spend(0, 2) }, want: 6, mention: "d-old",
		},
		{
			name: "paused, surge, beside a requested pod", why: "what is in flight counts as done, and it is outdated",
			scene: hold(func() *handmade {
				s := idleSurge()
				s.node("e", "d")
				s.snapshot.InFlight.Creates = []rollout.InFlightCreate{{Node: "e", Revision: staleHash}}
				return s.spend(1, 1)
			}, paused),
			plant: func(s *handmade) { s.create("e").spend(1, 2) }, want: 6, mention: "node e",
		},
		{
			name: "OnDelete", why: "T5: all nodes are held",
			scene: hold(func() *handmade { return idle().budget(0, 1, 0, 0) }, onDelete),
			plant: func(s *handmade) { s.delete("d-old") }, want: 6, mention: "d-old",
		},
		{
			name: "frozen, a create", why: "T4: nothing is created, not even a missing pod",
			scene: hold(func() *handmade { s := handSteady(); s.node("c", "d"); return s.spend(1, 0) }, frozen),
			plant: func(s *handmade) { s.create("c") }, want: 7, mention: "node c",
		},
		{
			name: "frozen, a delete", why: "T4: nothing is deleted, not even a Failed pod",
			scene: hold(func() *handmade {
				s := handSteady()
				s.node("c", "dpu", handPod("c-new", freshHash, "failed"))
				return s.spend(1, 0)
			}, frozen),
			plant: func(s *handmade) { s.delete("c-new") }, want: 7, mention: "c-new",
		},
		{
			name: "frozen, a revision deleted", why: "T4 says nothing, and a revision is something", scene: hold(func() *handmade {
				s := handSteady()
				s.spec.RevisionHistoryLimit = new(int32(0))
				return s
			}, frozen),
			plant: func(s *handmade) { s.deleteRevision(staleHash) }, want: 7, mention: "agent-stale",
		},
		{
			name: "frozen, a revision created", why: "T4: nothing is created", scene: hold(handNewRevision, frozen),
			plant: func(s *handmade) { s.createRevision() }, want: 7, mention: "create of revision agent-",
		},
	})
}

func TestVerifyIdempotent(t *testing.T) {
	failing := func() *handmade {
		s := handSteady()
		s.node("c", "dpu", handPod("c-new", freshHash, "failed"))
		s.node("d", "d")
		return s.spend(2, 0).delete("c-new").create("d")
	}
	runViolations(t, []violationRow{
		{
			name: "an unknown UID", why: "a namesake is not the same pod", scene: failing,
			plant: func(s *handmade) { s.plan.Deletes[0].UID = "uid-other" }, want: 14, mention: "uid-other",
		},
		{
			name: "a marked pod", why: "it is on its way",
			scene: func() *handmade {
				s := handSteady()
				s.node("c", "dp", handMarked(handPod("c-new", freshHash, "unready")))
				return s.spend(1, 0)
			},
			plant: func(s *handmade) { s.delete("c-new") }, want: 14, mention: "c-new",
		},
		{
			name: "a marked pod of a vanished node", why: "M5: once",
			scene: func() *handmade {
				s := handSteady()
				s.stray(handMarked(handPinned(handPod("c-new", freshHash, "unready"))), "gone")
				return s
			},
			plant: func(s *handmade) { s.delete("c-new") }, want: 14, mention: "c-new",
		},
		{
			name: "a delete in flight", why: "a stale cache must not make the planner act twice",
			scene: func() *handmade {
				s := handSteady()
				s.node("c", "dp", handPod("c-new", freshHash, "unready"))
				s.snapshot.InFlight.Deletes = []types.UID{"uid-c-new"}
				return s.withFacts("c", "dp").spend(1, 0)
			},
			plant: func(s *handmade) { s.delete("c-new") }, want: 14, mention: "c-new",
		},
		{
			name: "a pod deleted twice", why: "the second one would fail", scene: failing,
			plant: func(s *handmade) { s.delete("c-new") }, want: 14, mention: "twice",
		},
		{
			name: "a create in flight", why: "the pod may exist already",
			scene: func() *handmade {
				s := handSteady()
				s.node("c", "d")
				s.snapshot.InFlight.Creates = []rollout.InFlightCreate{{Node: "c", Revision: freshHash}, {Node: "elsewhere"}}
				return s.spend(1, 0)
			},
			plant: func(s *handmade) { s.create("c") }, want: 14, mention: "node c",
		},
		{
			name: "a create of another revision in flight, without surge", why: "M1: its pod will be on the node",
			scene: func() *handmade {
				s := handSteady()
				s.node("c", "d")
				s.snapshot.InFlight.Creates = []rollout.InFlightCreate{{Node: "c", Revision: staleHash}}
				return s.spend(1, 0)
			},
			plant: func(s *handmade) { s.create("c") }, want: 14, mention: "node c",
		},
	})
}
