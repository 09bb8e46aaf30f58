package verify_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/stage"
	"github.com/daemonplan/daemonplan/status"
)

// handRing is a stage of the nodes that handInRing labels with that ring.
func handRing(ring string, apply ...func(*stage.Stage)) stage.Stage {
	s := stage.Stage{Name: "ring-" + ring, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"ring": ring}}}
	for _, f := range apply {
		f(&s)
	}
	return s
}

func handInRing(ring string, nodes ...string) change {
	return onNodes(func(n *corev1.Node) { n.Labels["ring"] = ring }, nodes...)
}

func handStages(stages ...stage.Stage) change {
	return handStrategy(func(s *rollout.Strategy) { s.Policy.Stages = stages })
}

func handApproved(revision string) change {
	return handStrategy(func(s *rollout.Strategy) {
		s.Policy.Approved = append(s.Policy.Approved, stage.Approval{Stage: "ring-1", Revision: revision})
	})
}

func soaks(s *stage.Stage)    { s.Soak = time.Hour }
func approves(s *stage.Stage) { s.Approval = true }

// handFrontier remembers ring 0 as done for so long.
func handFrontier(ago time.Duration) change {
	return func(s *handmade) {
		s.snapshot.Memory.Version = rollout.MemoryVersion
		s.snapshot.Memory.Rollout.Revision = freshHash
		s.snapshot.Memory.Rollout.Frontier = stage.Frontier{Stage: "ring-0", At: handNow().Add(-ago)}
	}
}

// handCompleted marks the old revision as rolled out everywhere.
func handCompleted(s *handmade) {
	s.snapshot.Revisions[0].Annotations = map[string]string{history.CompletedAnnotation: "2026-01-01T00:00:00Z"}
}

// handRings is a fleet of three nodes in a rollout with stages: a of ring 0, b of ring 1 and d of neither.
func handRings(first, second stage.Stage, changes ...change) func() *handmade {
	return handStaged(first, second, append([]change{handPods("available", "a-old", "b-old", "d-old")}, changes...)...)
}

// handStaged is handRings with pods of its own.
func handStaged(first, second stage.Stage, changes ...change) func() *handmade {
	policy := []change{atMost("9"), handStages(first, second)}
	return handFleet(slices.Concat(policy, changes, []change{handInRing("0", "a"), handInRing("1", "b")})...)
}

// begun makes the Decision about a node that waits for its part one of a node that is begun.
func (s *handmade) begun(node string) *handmade {
	d := s.decision(node)
	d.Limit, d.Part, d.Reason = rollout.LimitNone, 0, rollout.ReasonOutdated
	return s
}

// patchAsOpen adds the patches of pod b-old that the planner makes without stages.
func patchAsOpen(s *handmade) {
	open := s.spec
	open.Strategy.Policy.Stages = nil
	plan, ok := handPlanned(open, s.snapshot)
	if !ok {
		panic("no plan without stages")
	}
	for _, patch := range plan.Patches {
		if patch.Node == "b" {
			s.plan.Patches = append(s.plan.Patches, patch)
			s.begun("b").decision("b").Patches++
			s.decision("b").Verb = rollout.VerbUpdate
		}
	}
	s.bring()
}

// handSuperseded is a trial on node a of the update revision, while the stable one had come to node b alone, and d is still at the
// base.
func handSuperseded(changes ...change) func() *handmade {
	return handTrial(append([]change{
		handInRing("0", "a", "b", "c"), atMost("9"), handStages(handRing("0")), handAt(olderHash, "d-old"), func(s *handmade) {
			s.snapshot.Revisions[2].Annotations = map[string]string{history.CompletedAnnotation: "?"}
			s.pod("d-old").Spec.Containers = handTemplate("v0").Spec.Containers
		},
	}, changes...)...)
}

func TestVerifyAcceptsStages(t *testing.T) {
	ring0, ring1 := handRing("0"), handRing("1")
	zones := func(values ...string) change {
		return func(s *handmade) {
			s.spec.Strategy.Policy.Stages = []stage.Stage{{Name: "zones", Key: "zone"}}
			for i, value := range values {
				s.snapshot.Nodes[i].Labels["zone"] = value
			}
		}
	}
	pods := handPods("available", "a-new", "b-old", "c-old", "d-old")
	runAccepts(t, []acceptRow{
		{name: "ring by ring", why: "T8", scene: handRings(ring0, ring1)},
		{name: "approved by name", why: "T8: or by hash", scene: handRings(ring0, handRing("1", approves), handPods("available", "c-new"), handApproved("agent-"+freshHash))},
		{name: "an approval is stale", why: "T8", scene: handRings(ring0, handRing("1", approves), handApproved(staleHash))},
		{name: "large numbers", why: "T8: integers by number", scene: handFleet(pods, zones("99999999999999999998", "99999999999999999999", "100000000000000000000", ""))},
		{name: "two spellings of a number", why: "T8: they are two parts", scene: handFleet(pods, zones("01", "1", "001", "x"))},
		{name: "no number", why: "T8: signs make a text", scene: handFleet(pods, zones("2", "-1", "+3", "1.5"))},
		{name: "begun in place", why: "T8: it goes on in a part that was closed again", scene: handRings(
			ring0, ring1, inPlaceBy(inplace.Only), inPlaceHook, inStateOf(lifecycle.PreparingUpdate, "b-old"))},
		{name: "superseded", why: "T8: nobody gets the stable revision at once", scene: handSuperseded()},
		{name: "a lost pod of a superseded rollout", why: "T8: it comes back at the base", scene: handSuperseded(handPods("available", "e"))},
		{name: "one more of several that cannot be updated in place", why: "T8, I1: what others made of a pod is looked at closely only for the first", scene: handStaged(
			ring0, ring1, handPods("available", "a-old", "b-old", "c-old"), handInRing("0", "a", "b", "c"), inPlaceBy(inplace.Only),
			onPods(func(p *corev1.Pod) { p.Spec.Containers[0].Image = "agent:other" }, "c-old"))},
		{name: "a lost pod of the revision on trial", why: "T8, T6: what comes back is not that one", scene: handSuperseded(
			handPods("available", "e-new"), onPods(func(p *corev1.Pod) { handMarked(p).Status.Phase = corev1.PodFailed }, "e-new"))},
		{name: "a lost pod of a revision that has failed", why: "T8: it comes back at the base", scene: handStaged(
			ring0, ring1, handCompleted, handPods("available", "a-old", "b-old", "d-old"), handAt(olderHash, "b-old"), func(s *handmade) {
				older := handRevision(olderHash, 0, handTemplate("v0"))
				older.Annotations = map[string]string{history.FailedAnnotation: "?"}
				s.snapshot.Revisions = append(s.snapshot.Revisions, older)
				handMarked(s.pod("b-old")).Status.Phase = corev1.PodFailed
			})},
		{name: "a percentage is rounded down", why: "T8: half of three nodes is one", scene: handStaged(
			handRing("0", func(s *stage.Stage) { s.Tolerance = new(intstr.FromString("50%")) }), ring1,
			handPods("available", "a-new", "b-old"), handPods("unready", "c-new", "d-new"), handInRing("0", "c", "d"))},
		{name: "as many as are tolerated", why: "T8: two thirds of three nodes are two", scene: handStaged(
			handRing("0", func(s *stage.Stage) { s.Tolerance = new(intstr.FromString("67%")) }), ring1,
			handPods("available", "a-new", "b-old"), handPods("unready", "c-new", "d-new"), handInRing("0", "c", "d"))},
		{name: "the stable revision is the base", why: "T8: nodes go to it at once", scene: handTrial(
			atMost("9"), handStages(ring0), handAt(olderHash, "d-old"))},
		{name: "a node of the open part is out", why: "T8, B9: it is left out there", scene: handStaged(
			ring0, ring1, handPods("available", "a-new", "b-old"), handPods("unready", "c-new"), handInRing("0", "c"),
			handCreated(time.Minute, "c-new"), handExempting("1"), handDown(time.Hour, "c"))},
		{name: "a failed pod of a closed part goes in slow start", why: "T8, B7: it comes back as it was, and so is not replaced", scene: handStaged(
			ring0, ring1, handPods("available", "a-old"), handPods("failed", "b-old"), handStrategy(func(s *rollout.Strategy) {
				one := intstr.FromInt32(1)
				s.SlowStart = &rollout.SlowStart{Interval: time.Hour, Increase: &one, MaxParallel: &one}
			}))},
		{name: "expedited, and a later part is done first", why: "T8: the frontier does not pass the part before", scene: handStaged(
			ring0, ring1, handPods("available", "a-old", "b-new"), handStrategy(func(s *rollout.Strategy) { s.Policy.Expedite = "*" }))},
		{name: "a duplicate has the mark of the end", why: "T8: so is the revision, and says so", scene: handRings(
			ring0, ring1, handDuplicate(map[string]string{history.CompletedAnnotation: "?"}))},
	})
}

func TestVerifyStages(t *testing.T) {
	ring0, ring1 := handRing("0"), handRing("1")
	surging := handStrategy(func(s *rollout.Strategy) {
		s.MaxUnavailable, s.MaxSurge = new(intstr.FromInt32(0)), new(intstr.FromInt32(9))
	})
	deletes := func(s *handmade) { s.begun("b").delete("b-old").bring() }
	soaking := handStaged(handRing("0", soaks), ring1, handPods("available", "a-new", "b-old", "d-old"), handFrontier(59*time.Minute))
	lost := handStaged(handRing("0"), ring1, handPods("available", "a-old", "b", "d-old"))
	update := func(s *handmade) {
		for i := range s.plan.Creates {
			if create := &s.plan.Creates[i]; create.Node == "b" || create.Node == "e" {
				create.Revision, create.Template = freshHash, nil
			}
		}
	}
	runViolations(t, []violationRow{
		{
			also: 30, name: "a delete in a closed part", why: "V20", scene: handRings(ring0, ring1), plant: deletes, want: 20,
			mention: "node b: delete of the outdated pod b-old begins a held node (stage)",
		},
		{
			name: "a delete in a part that is not approved", why: "V20", plant: deletes, want: 20, mention: "begins a held node (approval)",
			scene: handStaged(handRing("0"), handRing("1", approves), handPods("available", "a-new", "b-old", "d-old")),
		},
		{
			name: "a delete before the part has soaked", why: "V21", scene: soaking, plant: deletes, want: 21, mention: "begins a held node (soak)",
		},
		{
			name: "a create before the part has soaked", why: "V21", want: 21, mention: "node b: T1: create at revision",
			scene: handStaged(handRing("0", soaks), ring1, handPods("available", "a-new", "b", "d-old"), handFrontier(59*time.Minute)),
			plant: update,
		},
		{
			name: "a create beside the old pod in a closed part", why: "V20", scene: handRings(ring0, ring1, surging), want: 20,
			plant:   func(s *handmade) { s.begun("b").create("b").bring() },
			mention: "node b: create beside the outdated pod b-old begins a held node (stage)",
		},
		{
			name: "an update in place in a closed part", why: "V20", scene: handRings(ring0, ring1, inPlaceBy(inplace.IfPossible)), plant: patchAsOpen,
			want: 20, mention: "node b: patch of the outdated pod b-old begins a node of a part that is not open (stage)",
		},
		{
			also: 30, name: "a pod is asked to leave a closed part", why: "V20, L2", scene: handRings(ring0, ring1, preDelete, hookedBy("b-old")), want: 20,
			plant:   func(s *handmade) { labelPatch(s.begun("b"), "b-old", lifecycle.PreparingDelete); s.begun("b").bring() },
			mention: "node b: delete of the outdated pod b-old begins a held node (stage)",
		},
		{
			name: "a pod leaves a closed part", why: "V20, L2: it is taken back", want: 20,
			scene: handRings(ring0, ring1, preDelete, inStateOf(lifecycle.PreparingDelete, "b-old")),
			plant: func(s *handmade) {
				s.unpatch("")
				s.begun("b").delete("b-old").bring()
			}, mention: "node b: delete of the outdated pod b-old begins a held node (stage)",
		},
		{
			name: "a lost pod comes back new", why: "V20", scene: lost, plant: update, want: 20, mention: `node b: T1: create at revision "fresh"`,
		},
		{
			name: "a lost pod comes back at another revision than it ran", why: "V20: what was seen counts before the base", want: 20,
			scene: handStaged(handRing("0"), ring1, handCompleted, handPods("available", "a-old", "b-new", "d-old"), onPods(func(p *corev1.Pod) {
				handMarked(p).Status.Phase = corev1.PodFailed
			}, "b-new")),
			plant: func(s *handmade) {
				create := &s.plan.Creates[0]
				create.Revision, create.Template = staleHash, new(handTemplate("v1"))
			}, mention: `node b: T1: create at revision "stale"`,
		},
		{
			name: "a failed pod of a closed part goes before its time", why: "T8, M2: it comes back as it was", want: 11,
			scene: handStaged(handRing("0"), ring1, handPods("available", "a-old", "d-old"), handPods("failed", "b-old"), func(s *handmade) {
				s.snapshot.Memory = handMemory(rollout.Backoff{Node: "b", Revision: staleHash, Delay: time.Minute, Since: handNow()})
			}),
			plant: func(s *handmade) {
				s.delete("b-old").bring()
			}, mention: "M2: delete of the Failed pod b-old",
		},
		{
			name: "the stable revision comes to all at once", why: "V20: its stages were not over when another was tried", want: 20, scene: handSuperseded(),
			plant: func(s *handmade) { s.begun("d").delete("d-old").bring() }, mention: "node d: delete of the outdated pod d-old begins a held node (stage)",
		},
		{
			name: "a lost pod of a superseded rollout gets the stable revision", why: "V20: it comes back at the base", want: 20,
			scene: handSuperseded(handPods("available", "e")), plant: func(s *handmade) {
				create := &s.plan.Creates[0]
				create.Revision, create.Template = staleHash, new(handTemplate("v1"))
			}, mention: `node e: T1: create at revision "stale"`,
		},
		{
			name: "a lost pod of a superseded rollout gets the revision on trial", why: "T6", want: 6,
			scene: handSuperseded(handPods("available", "e")), plant: update, mention: `node e: T1: create at revision "fresh"`,
		},
		{
			name: "asleep when the part has soaked", why: "V15", scene: soaking, plant: func(s *handmade) { s.plan.NextWake = handNow().Add(time.Hour) },
			want: 15, mention: "T8: a part has soaked at 2026-01-15T12:01:00Z, before nextWake",
		},
	})
}

func TestVerifyWhatPlansSayOfStages(t *testing.T) {
	ring0, ring1 := handRing("0"), handRing("1")
	rings := handRings(ring0, ring1)
	soaking := handStaged(handRing("0", soaks), ring1, handPods("available", "a-new", "b-old", "d-old"), handFrontier(59*time.Minute))
	plain := handFleet(handPods("available", "a-new"))
	parts := func(apply func([]rollout.PartState)) func(*handmade) {
		return func(s *handmade) { apply(s.plan.Parts) }
	}
	node := func(name string, apply func(*rollout.Decision)) func(*handmade) {
		return func(s *handmade) { apply(s.decision(name)) }
	}
	remembers := func(apply func(*rollout.Record)) func(*handmade) {
		return func(s *handmade) { apply(&s.plan.Memory.Rollout) }
	}
	later := func(p *rollout.PartState) { p.Behind-- }
	runViolations(t, []violationRow{
		{
			name: "no parts", why: "V12", scene: rings, plant: func(s *handmade) { s.plan.Parts = nil }, want: 12, mention: "the plan lists 0 parts, right are 3",
		},
		{
			name: "parts without stages", why: "V12", scene: plain, plant: func(s *handmade) { s.plan.Parts = []rollout.PartState{{}} }, want: 12,
			mention: "the plan lists 1 parts, right are 0",
		},
		{
			name: "a part is open too early", why: "V12", scene: rings, plant: parts(func(p []rollout.PartState) { p[1].Phase = stage.Open }), want: 12,
			mention: `T8: part {Stage:ring-1`,
		},
		{
			name: "a node less", why: "V12", scene: rings, plant: parts(func(p []rollout.PartState) { later(&p[0]) }), want: 12, mention: "T8: part {Stage:ring-0",
		},
		{
			name: "another value", why: "V12", scene: rings, plant: parts(func(p []rollout.PartState) { p[0].Value = "x" }), want: 12, mention: "T8: part {Stage:ring-0",
		},
		{
			name: "a part is done earlier", why: "V12", scene: soaking, plant: parts(func(p []rollout.PartState) { p[0].Done = handNow() }), want: 12,
			mention: `part "ring-0" "" done at 2026-01-15T12:00:00Z`,
		},
		{
			name: "a part waits for longer", why: "V12", scene: soaking, plant: parts(func(p []rollout.PartState) { p[1].Until = handNow() }), want: 12,
			mention: `part "ring-1" ""`,
		},
		{
			name: "blocked by a node of another part", why: "V12", scene: rings, plant: parts(func(p []rollout.PartState) { p[0].Blocking = []string{"b"} }), want: 12,
			mention: `node b: T8: named as a node that keeps part "ring-0" "" from being done`,
		},
		{
			name: "blocked by a node that is done", why: "V12", want: 12, mention: `node c: T8: named as a node that keeps part`,
			scene: handRings(ring0, ring1, handPods("available", "c-new"), handInRing("0", "c")),
			plant: parts(func(p []rollout.PartState) { p[0].Blocking = []string{"a", "c"} }),
		},
		{
			name: "blocked by nodes in any order", why: "V12", want: 12, mention: `names ["c" "a"] as blocking`,
			scene: handRings(ring0, ring1, handPods("available", "c-old"), handInRing("0", "c")),
			plant: parts(func(p []rollout.PartState) { p[0].Blocking = []string{"c", "a"} }),
		},
		{
			name: "waits for another part", why: "V12", scene: rings, plant: node("b", func(d *rollout.Decision) { d.Part = 3 }), want: 12,
			mention: "waits for part 3, right is 2",
		},
		{
			name: "waits for no part", why: "V12", scene: rings, plant: node("b", func(d *rollout.Decision) { d.Part = 0 }), want: 12,
			mention: "waits for part 0, right is 2",
		},
		{
			name: "another limit", why: "V12", scene: rings, plant: node("b", func(d *rollout.Decision) { d.Limit = rollout.LimitSoak }), want: 12,
			mention: "limit soak, right is stage",
		},
		{
			name: "gated by a budget", why: "V12", scene: rings, plant: node("b", func(d *rollout.Decision) { d.Limit, d.Part = rollout.LimitBurst, 0 }), want: 12,
			mention: "gated by burst, right is why its part is not open",
		},
		{
			name: "not held", why: "V12", scene: rings, plant: node("b", func(d *rollout.Decision) { d.Target = rollout.TargetUpdate }), want: 12,
			mention: "T1: target is update, right is held",
		},
		{
			name: "a stray pod waits for a part", why: "V12", want: 12, mention: "limit stage of a stray pod",
			scene: handFleet(handPods("available", "a-new"), func(s *handmade) { s.stray(handPod("x-old", staleHash, "available"), "x") }),
			plant: func(s *handmade) { s.plan.Decisions[len(s.plan.Decisions)-1].Limit = rollout.LimitStage },
		},
		{
			name: "an approval is not stale", why: "V12", scene: handRings(ring0, handRing("1", approves), handApproved(freshHash)), want: 12,
			plant: func(s *handmade) { s.plan.StaleApprovals = s.spec.Strategy.Policy.Approved }, mention: "T8: stale approvals are [",
		},
		{
			name: "an approval is stale, and not called so", why: "V12", scene: handRings(ring0, handRing("1", approves), handApproved(staleHash)), want: 12,
			plant: func(s *handmade) { s.plan.StaleApprovals = nil }, mention: "T8: stale approvals are []",
		},
		{
			also: 30, name: "the frontier runs ahead", why: "V12: ring 0 is not done", scene: rings, want: 12, mention: `T8: memory has the frontier at part "ring-0" ""`,
			plant: remembers(func(r *rollout.Record) { r.Frontier = stage.Frontier{Stage: "ring-0", At: handNow()} }),
		},
		{
			name: "the frontier goes back", why: "V12: it only advances", scene: soaking, plant: remembers(func(r *rollout.Record) { r.Frontier = stage.Frontier{} }),
			want: 12, mention: `at part "" "" since no time, right is "ring-0" "" since 2026-01-15T11:01:00Z`,
		},
		{
			name: "the clock of the soak begins anew", why: "V12: it runs from when the part was first seen done", scene: soaking, want: 12,
			plant: remembers(func(r *rollout.Record) { r.Frontier.At = handNow() }), mention: "since 2026-01-15T12:00:00Z, right is",
		},
		{
			name: "the clock of the soak is older than the part", why: "V12: At is now when the frontier moves", want: 12, mention: "right is \"ring-0\" \"\" since 2026-01-15T12:00:00Z",
			scene: handStaged(handRing("0", soaks), ring1, handPods("available", "a-new", "b-old", "d-old")),
			plant: remembers(func(r *rollout.Record) { r.Frontier.At = handNow().Add(-time.Minute) }),
		},
		{
			name: "the frontier is not written", why: "P-C: a lost memory loses no soak", want: 12, mention: `T8: the update revision has the frontier "", right is {Stage:ring-0`,
			scene: handStaged(handRing("0", soaks), ring1, handPods("available", "a-new", "b-old", "d-old")),
			plant: func(s *handmade) {
				s.plan.Revisions = slices.DeleteFunc(s.plan.Revisions, func(a rollout.RevisionAction) bool {
					return a.Annotations[history.FrontierAnnotation] != ""
				})
			},
		},
		{
			name: "the status waits for time", why: "V12", scene: rings, plant: func(s *handmade) { s.plan.Status.Reason = status.StageSoaking }, want: 12,
			mention: "status.reason is StageSoaking",
		},
		{
			name: "the status waits for a stage that is not there", why: "V12", scene: plain, plant: func(s *handmade) { s.plan.Status.Reason = status.ApprovalNeeded },
			want: 12, mention: "status.reason is ApprovalNeeded, but 0 nodes wait",
		},
		{
			name: "the status counts others", why: "V12", scene: rings, want: 12, mention: "but 2 nodes wait for their part",
			plant: func(s *handmade) {
				s.plan.Status.Conditions = slices.Clone(s.plan.Status.Conditions)
				for i := range s.plan.Status.Conditions {
					s.plan.Status.Conditions[i].Message = "1 of 3 nodes updated, 12 kept waiting by the policy"
				}
			},
		},
	})
}

func TestVerifyMarksOfStages(t *testing.T) {
	ring0, ring1 := handRing("0"), handRing("1")
	completed := map[string]string{history.CompletedAnnotation: "?"}
	marks := func(hash string) func(*handmade) {
		return func(s *handmade) { s.plan.Revisions = nil; s.annotating(hash, completed) }
	}
	deletes := func(hash string) func(*handmade) {
		return func(s *handmade) { s.plan.Revisions = nil; s.deleteRevision(hash) }
	}
	all := handStaged(handRing("0"), ring1, handPods("available", "a-new", "b-new", "d-new"))
	older := func(s *handmade) {
		s.snapshot.Revisions = append(s.snapshot.Revisions, handRevision(olderHash, 0, handTemplate("v0")))
	}
	limit := func(s *handmade) { s.spec.RevisionHistoryLimit = new(int32(0)) }
	runAccepts(t, []acceptRow{
		{name: "the end", why: "T8: every part is done", scene: all},
		{name: "the base", why: "T8: while no revision has the mark", scene: handRings(ring0, ring1)},
		{name: "kept up without stages", why: "T8: the set is one part", scene: handFleet(handPods("available", "a-new"), handCompleted)},
	})
	runViolations(t, []violationRow{
		{
			name: "before the end", why: "V4, T8", scene: handRings(ring0, ring1), plant: marks(freshHash), want: 4,
			mention: "T8: marks revision agent-fresh as rolled out everywhere",
		},
		{
			name: "before the end, without stages", why: "V4, T8", scene: handFleet(handPods("available", "a-old"), handCompleted), plant: marks(freshHash), want: 4,
			mention: "T8: marks revision agent-fresh as rolled out everywhere",
		},
		{
			name: "a mark that nobody asked for", why: "V4: unset policies change nothing", scene: handFleet(handPods("available", "a-new")), plant: marks(freshHash), want: 4,
			mention: "T8: marks revision agent-fresh as rolled out everywhere",
		},
		{
			name: "another than the base", why: "V4, T8", scene: handRings(ring0, ring1, older), plant: marks(olderHash), want: 4,
			mention: "annotates revision agent-older, which is neither the update nor the stable revision, nor the base",
		},
		{
			name: "the base beside a mark", why: "V4, T8: whose rollout came to its end is known", want: 4,
			scene: handRings(ring0, ring1, older, func(s *handmade) {
				s.snapshot.Revisions[2].Annotations, s.snapshot.Revisions[2].Revision = completed, 0
			}), plant: marks(staleHash), mention: "T8: marks revision agent-stale as rolled out everywhere",
		},
		{
			name: "the base goes", why: "V4, R4", want: 4, mention: "R4: delete of revision agent-older, the base of the stages",
			scene: handRings(ring0, ring1, older, limit, func(s *handmade) { s.snapshot.Revisions[2].Annotations = completed }), plant: deletes(olderHash),
		},
		{
			name: "the only duplicate that was rolled out everywhere goes", why: "V4, T8", want: 4, mention: "T8: delete of revision agent-twin, which alone says",
			scene: handRings(ring0, ring1, handDuplicate(completed)), plant: func(s *handmade) {
				s.plan.Revisions = nil
				s.deleteRevision("twin")
			},
		},
		{
			name: "a new revision says that it was rolled out", why: "V4, T8", want: 4, mention: "as rolled out everywhere",
			scene: handRings(ring0, ring1, func(s *handmade) { s.spec.Template = handTemplate("v3") }), plant: func(s *handmade) {
				for i := range s.plan.Revisions {
					if object := s.plan.Revisions[i].Object; object != nil {
						object.Annotations = completed
					}
				}
			},
		},
	})
}
