package verify_test

import (
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/verify"
)

func outdatedABCD() change { return handPods("available", "a-old", "b-old", "c-old", "d-old") }

func TestVerifyAcceptsHolds(t *testing.T) {
	rows := []acceptRow{
		{name: "partition", why: "T2: a and b are held, d and c are begun", scene: handFleet(outdatedABCD(), partitionOf("2"))},
		{name: "percent rounds down", why: "T2: 74% of 4 is 2", scene: handFleet(outdatedABCD(), partitionOf("74%"))},
		{name: "more than there are", why: "T2: as many as can be held", scene: handFleet(outdatedABCD(), partitionOf("9"))},
		{name: "a keep node first", why: "T2: it could not be updated anyway", scene: handFleet(outdatedABCD(), tainted("d"), partitionOf("1"))},
		{name: "the selector's nodes next", why: "T2: they are held anyway", scene: handFleet(outdatedABCD(), handSelecting("a", "b"), partitionOf("2"))},
		{name: "a patch in flight", why: "T2: it may bring the update, so that b is held for a", scene: handFleet(handPods("available", "a-old", "b-old"),
			atMost("4"), partitionOf("1"), handPatching("uid-a-old"))},
		{name: "an updated node takes no place", why: "T2: it is never held", scene: handFleet(handPods("available", "a-new", "b-old", "c-old"), partitionOf("1"))},
		{name: "paused and begun", why: "T4: what waits for its hook is finished", scene: handFleet(handPods("available", "a-old", "b-old"),
			inPlaceBy(inplace.IfPossible), inStateOf(lifecycle.PreparingUpdate, "b-old"), handStrategy(func(s *rollout.Strategy) { s.Paused = true }))},
		{name: "begun and held by now", why: "L3: it is taken back", scene: handFleet(handPods("available", "a-old", "b-old"),
			inPlaceBy(inplace.IfPossible), inStateOf(lifecycle.PreparingUpdate, "b-old"), partitionOf("2"))},
		{name: "in place only", why: "I1: the pod without the gate is held", scene: handFleet(handPods("available", "a-old", "b-old"), inPlaceBy(inplace.Only),
			onPods(func(p *corev1.Pod) { p.Spec.ReadinessGates = nil }, "b-old"))},
		{name: "a lost pod of a held node", why: "T1: with holdRevision it comes back as it was", scene: handFleet(
			handPods("available", "a-old"), onPods(func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }, "a-old"), handPods("available", "b", "c-old"),
			partitionOf("3"), handStrategy(holdingRevisions))},
		{name: "begun in place, and recreated by now", why: "T4: with that method nothing is under way", scene: handFleet(handPods("available", "a-old", "b-old"),
			inStateOf(lifecycle.PreparingUpdate, "b-old"), handStrategy(func(s *rollout.Strategy) { s.Paused = true }))},
		{name: "not ready by itself, while paused", why: "T4: nothing was begun there", scene: handFleet(handPods("unready", "a-old", "b-old"),
			inPlaceBy(inplace.IfPossible), handStrategy(func(s *rollout.Strategy) { s.Paused = true }))},
		{name: "made not ready, while paused", why: "T4: it is finished", scene: handFleet(handPods("available", "a-old", "b-old"), made(time.Minute, "b-old"),
			inPlaceBy(inplace.IfPossible), handStrategy(func(s *rollout.Strategy) { s.Paused = true }))},
		{name: "not ready, and nobody knows for what, while paused", why: "T4: without its condition nothing shows that it was begun", scene: handFleet(handPods("unready", "a-old", "b-old"),
			handWithoutCondition("b-old"), inPlaceBy(inplace.IfPossible), handStrategy(func(s *rollout.Strategy) { s.Paused = true }))},
		{name: "in place only, with resources that an override gave", why: "I2: a resize is about what the template says", scene: handFleet(handPods("available", "a-new", "b-old"),
			resizing(inplace.Options{Resize: true}), handOverridden("1", "a-new", "b-old"), handOverride("o", "app-node", "1", 0), inPlaceBy(inplace.Only))},
		{name: "in place only, with two revisions of one hash", why: "I3: nobody can tell what the pod is", scene: handFleet(handPods("available", "a-old", "b-old"),
			inPlaceBy(inplace.Only), handNamesake(0, nil))},
		{name: "a pod that leaves a node where none may be", why: "L2, M4: it is not taken back", scene: handFleet(handPods("available", "a-old", "z-new"), preDelete,
			hookedBy("z-new"), inStateOf(lifecycle.PreparingDelete, "z-new"), handDeselected("z"))},
		{name: "first installation", why: "T7: the last node by name stays empty", scene: handFleet(handInstallation())},
		{name: "first installation, a departing node loses its pod", why: "T7, M8: it keeps no place, as nothing comes back there", scene: handFleet(
			handInstallation(), handExempting("1"), handDeparting("a"), func(s *handmade) {
				gone := handMarked(handPod("a-new", freshHash, "available"))
				gone.Spec.NodeName = "a"
				s.snapshot.Pods = append(s.snapshot.Pods, gone)
			})},
		{name: "first installation, with a canary", why: "T7: nobody knows the template of the stable revision, so that a and b get none", scene: handFleet(
			handInstallation(), func(s *handmade) {
				s.spec.Strategy.Canary = &canary.Options{}
				s.snapshot.Memory = rollout.Memory{Version: rollout.MemoryVersion, Rollout: rollout.Record{Stable: "unknown"}}
				s.snapshot.Memory.Canary = canary.Record{Revision: freshHash, Nodes: []string{"c"}, Began: handNow()}
			})},
	}
	runAccepts(t, rows)
}

// handInstallation has no revision but the template's, and four empty nodes. One of them must stay empty.
func handInstallation() change {
	return func(s *handmade) {
		handPods("available", "a", "b", "c", "d")(s)
		s.snapshot.Revisions = s.snapshot.Revisions[1:]
		partitionOf("1")(s)
		s.spec.Strategy.PartitionedScaling = true
	}
}

// handPatching has a patch of these pods in flight.
func handPatching(uids ...types.UID) change {
	return func(s *handmade) { s.snapshot.InFlight.Patches = uids }
}

// lostOnHeld has an empty node a, which partition holds. The pod of c shows that the old revision is the stable one.
func lostOnHeld() func() *handmade {
	return handFleet(handPods("available", "a", "c-old"), partitionOf("2"), handStrategy(holdingRevisions))
}

// needingUsers makes pods of the update revision need a feature that only these nodes declare.
func needingUsers(nodes ...string) change {
	return func(s *handmade) {
		templates(func(*corev1.PodTemplateSpec) {}, func(t *corev1.PodTemplateSpec) {
			t.Spec.HostNetwork, t.Spec.HostUsers = true, new(false)
		})(s)
		for _, n := range s.snapshot.Nodes {
			if slices.Contains(nodes, n.Name) {
				n.Status.DeclaredFeatures = []string{"UserNamespacesHostNetworkSupport"}
			}
		}
	}
}

// TestVerifyUndeclared: T9.
func TestVerifyUndeclared(t *testing.T) {
	needing := handFleet(outdatedABCD(), atMost("4"), needingUsers("c", "d"))
	runAccepts(t, []acceptRow{
		{name: "two that can", why: "T9: c and d are updated, a and b keep what they have", scene: needing},
		{name: "a lost pod", why: "T9: it comes back at the revision that can run there", scene: handFleet(
			handPods("available", "a", "b", "c-old", "d-old"), needingUsers("c", "d"))},
		{name: "a canary node that cannot", why: "C1, T9: another is chosen, because the trial would wait there for ever", scene: handFleet(
			handWithTrial, handPods("available", "a-old", "b-old", "c-old"), handRecorded(func(r *canary.Record) {
				*r = canary.Record{Revision: "other", Nodes: []string{"b"}}
			}), needingUsers("c"))},
	})
	runViolations(t, []violationRow{
		{
			name: "a pod is deleted for one that cannot run", why: "T9, P-D: the new one would stay Pending", scene: needing,
			plant: func(s *handmade) { s.delete("b-old").bring() }, want: 6,
			mention: "delete of the outdated pod b-old begins a held node (declaredFeatures)",
		},
		{
			name: "a node that can is held", why: "T9: nothing is in the way there", scene: needing,
			plant: func(s *handmade) {
				d := s.decision("c")
				d.Target, d.Limit = rollout.TargetHeld, rollout.LimitUndeclared
			}, want: 12, mention: "node c: T1: target is held, right is update",
		},
	})
}

func TestVerifyPartition(t *testing.T) {
	held := handFleet(outdatedABCD(), atMost("4"), partitionOf("2"))
	decide := func(node string, apply func(*rollout.Decision)) func(*handmade) {
		return func(s *handmade) { apply(s.decision(node)) }
	}
	surging := handFleet(outdatedABCD(), partitionOf("2"), handStrategy(func(s *rollout.Strategy) {
		s.MaxUnavailable, s.MaxSurge = nil, newPercent("100%")
	}))
	withHook := handFleet(outdatedABCD(), atMost("4"), partitionOf("2"), preDelete, hookedBy("b-old"))
	inPlace := handFleet(handPods("unready", "a-old", "b-old"), partitionOf("1"), inPlaceBy(inplace.IfPossible))
	runViolations(t, []violationRow{
		{
			name: "a held pod is deleted", why: "V5: a and b keep what they have", scene: held,
			plant: func(s *handmade) { s.delete("b-old").bring() }, want: 5, mention: "delete of the outdated pod b-old begins a held node (partition)",
		},
		{
			name: "another one is deleted while a patch is in flight", why: "V5: both nodes could end updated",
			scene: handFleet(handPods("available", "a-old", "b-old"), atMost("4"), partitionOf("1"), handPatching("uid-a-old")),
			plant: func(s *handmade) { s.delete("b-old").bring() }, want: 5, mention: "delete of the outdated pod b-old begins a held node (partition)",
		},
		{
			name: "a new pod beside a held one", why: "V5: surge is an update too", scene: surging,
			plant: func(s *handmade) { s.create("b").bring() }, want: 5, mention: "create beside the outdated pod b-old begins a held node",
		},
		{
			name: "a held pod is prepared for its delete", why: "L2: the label means deletion", scene: withHook,
			plant: func(s *handmade) { labelPatch(s, "b-old", lifecycle.PreparingDelete); s.bring() },
			want:  5, mention: "b-old begins a held node",
		},
		{
			name: "a held pod is updated in place", why: "V5", scene: inPlace,
			plant: func(s *handmade) { // this moves the patches of b-old to a-old
				for i := range s.plan.Patches {
					p := &s.plan.Patches[i]
					p.Node, p.Pod, p.UID = "a", "a-old", "uid-a-old"
					p.Data = []byte(handReplaced(string(p.Data), "uid-b-old", "uid-a-old"))
				}
				a, b := s.decision("a"), s.decision("b")
				a.Verb, a.Reason, a.Patches, a.Limit = b.Verb, b.Reason, b.Patches, b.Limit
				b.Verb, b.Patches = rollout.VerbWait, 0
				s.plan.Budget.Waiting = 1
			},
			want: 5, mention: "patch of the outdated pod a-old begins a held node (partition)",
		},
		{
			name: "the target of a held node", why: "V5: what is held keeps its target held", scene: held,
			plant: decide("b", func(d *rollout.Decision) { d.Target = rollout.TargetUpdate }), want: 5, mention: "node b: T1: target is update, right is held",
		},
		{
			name: "held beyond the partition", why: "T2: c has no place", scene: held,
			plant: decide("c", func(d *rollout.Decision) { d.Target = rollout.TargetHeld }), want: 12, mention: "node c: T1: target is held, right is update",
		},
		{
			name: "held by something else", why: "T1: the decision says what holds", scene: held,
			plant: decide("a", func(d *rollout.Decision) { d.Limit = rollout.LimitPaused }), want: 12, mention: "T1: held by paused, right is partition",
		},
		{
			name: "the selector's place", why: "T2, T3: d is held by the selector, and takes a place", scene: handFleet(outdatedABCD(), handSelecting("a", "b", "c"), partitionOf("1")),
			plant: decide("d", func(d *rollout.Decision) { d.Limit = rollout.LimitPartition }), want: 12, mention: "held by partition, right is nodeSelector",
		},
		{
			name: "a keep node's place", why: "T2: the keep node takes it, not a", scene: handFleet(outdatedABCD(), tainted("d"), partitionOf("1"), atMost("1")),
			plant: decide("a", func(d *rollout.Decision) { d.Target = rollout.TargetHeld }), want: 12, mention: "node a: T1: target is held, right is update",
		},
		{
			name: "the size of the partition", why: "T2: 74% of 4 is 2", scene: handFleet(outdatedABCD(), partitionOf("74%")),
			plant: func(s *handmade) { s.plan.Budget.Partition = 3 }, want: 12, mention: "budget.partition is 3, right is 2",
		},
		{
			name: "an empty keep node in the base", why: "T2: only keep nodes with a live pod", scene: handFleet(outdatedABCD(), handPods("available", "k"), tainted("k"), partitionOf("50%")),
			plant: func(s *handmade) { s.plan.Budget.Partition = 3 }, want: 12, mention: "budget.partition is 3, right is 2",
		},
		{
			name: "places taken", why: "T2: as many as can be held", scene: handFleet(outdatedABCD(), partitionOf("9")),
			plant: func(s *handmade) { s.plan.Budget.Partitioned = 9 }, want: 12, mention: "budget.partitioned is 9, right is 4",
		},
		{
			name: "the lost pod of a held node at the update revision", why: "T1: holdRevision", scene: lostOnHeld(),
			plant: func(s *handmade) {
				s.plan.Creates[0].Revision, s.plan.Creates[0].Template = freshHash, nil
			},
			want: 5, mention: `T1: create at revision "fresh", right is`,
		},
		{
			name: "the lost pod of a held node from another template", why: "T1: it comes back as it was", scene: lostOnHeld(),
			plant: func(s *handmade) { s.plan.Creates[0].Template = new(handTemplate("v2")) }, want: 5, mention: "a template that is not that revision's",
		},
		{
			name: "the lost pod of a held node without a template", why: "nil is the Spec's", scene: lostOnHeld(),
			plant: func(s *handmade) { s.plan.Creates[0].Template = nil }, want: 5, mention: "a template that is not that revision's",
		},
		{
			name: "an old pod on a node that is not held", why: "T1: the update revision", scene: handFleet(handPods("available", "a-new", "b"), handStrategy(holdingRevisions)),
			plant: func(s *handmade) {
				s.plan.Creates[0].Revision, s.plan.Creates[0].Template = staleHash, new(handTemplate("v1"))
			},
			want: 3, mention: `T1: create at revision "stale"`,
		},
		{
			name: "an updated pod from a template", why: "T1: it is the Spec's", scene: handFleet(handPods("available", "a-new", "b")),
			plant: func(s *handmade) { s.plan.Creates[0].Template = new(handTemplate("v2")) }, want: 3, mention: "with a template, right is none",
		},
		{
			name: "a first installation too large", why: "T7: 4 - 1 - 0 nodes", scene: handFleet(handInstallation()),
			plant: func(s *handmade) { s.create("d") }, want: 5, mention: "T7: 4 missing pods are created, right are at most 3",
		},
		{
			name: "a first installation that has begun", why: "T7: 4 - 1 - 1 nodes; one whose pod terminates keeps its place", scene: handFleet(handInstallation(), func(s *handmade) {
				gone := handMarked(handPod("a-new", freshHash, "available"))
				gone.Spec.NodeName = "a"
				s.snapshot.Pods = append(s.snapshot.Pods, gone)
			}),
			plant: func(s *handmade) { s.create("d") }, want: 5, mention: "T7: 3 missing pods are created, right are at most 2",
		},
		{
			name: "a first installation on the wrong nodes", why: "T7: ascending by name", scene: handFleet(handInstallation()),
			plant: func(s *handmade) {
				s.plan.Creates[2].Node = "d"
				c, d := s.decision("c"), s.decision("d")
				c.Verb, d.Verb, c.Creates, d.Creates = d.Verb, c.Verb, 0, 1
			},
			want: 5, mention: "node d: T7: create, although c comes before it",
		},
	})
}

func TestVerifyHeldOtherwise(t *testing.T) {
	updating := func(changes ...change) func() *handmade {
		return handFleet(append([]change{handPods("unready", "a-old", "b-old"), inPlaceBy(inplace.IfPossible)}, changes...)...)
	}
	// begins is an update of b-old in place, as the planner makes it if nothing holds the node.
	begins := func(s *handmade) {
		free := *s
		free.spec.Strategy.Type, free.spec.Strategy.Paused, free.spec.Strategy.Frozen, free.spec.Strategy.NodeSelector = "", false, false, nil
		free.replan()
		for _, p := range free.plan.Patches {
			if p.Pod == "b-old" {
				s.plan.Patches = append(s.plan.Patches, p)
			}
		}
		b := s.decision("b")
		b.Verb, b.Reason, b.Limit, b.Patches = rollout.VerbUpdate, rollout.ReasonOutdatedNotReady, rollout.LimitNone, 2
	}
	obstructed := handFleet(handPods("available", "a-new", "b-old"), inPlaceBy(inplace.Only), onPods(func(p *corev1.Pod) { p.Spec.ReadinessGates = nil }, "b-old"))
	runViolations(t, []violationRow{
		{
			name: "a node that the selector does not match", why: "T3", scene: handFleet(outdatedABCD(), atMost("4"), handSelecting("a", "b")),
			plant: func(s *handmade) { s.delete("c-old").bring() }, want: 6, mention: "c-old begins a held node (nodeSelector)",
		},
		{
			name: "the selector in other words", why: "T3: explanations name it", scene: handFleet(outdatedABCD(), handSelecting("a", "b")),
			plant: func(s *handmade) { s.plan.NodeSelector = "canary" }, want: 12, mention: `T3: nodeSelector is "canary", right is "canary=yes"`,
		},
		{
			name: "in place where the selector does not match", why: "T3", scene: updating(handSelecting("a")),
			plant: begins, want: 6, mention: "patch of the outdated pod b-old begins a held node (nodeSelector)",
		},
		{
			name: "in place with OnDelete", why: "T5", scene: updating(handStrategy(func(s *rollout.Strategy) { s.Type = rollout.OnDelete })),
			plant: begins, want: 6, mention: "begins a held node (onDelete)",
		},
		{
			name: "in place while paused", why: "T4: no node is begun", scene: updating(handStrategy(func(s *rollout.Strategy) { s.Paused = true })),
			plant: begins, want: 6, mention: "begins a held node (paused)",
		},
		{
			name: "in place while frozen", why: "T4: neither", scene: updating(handStrategy(func(s *rollout.Strategy) { s.Frozen = true })),
			plant: begins, want: 6, mention: "begins a held node (frozen)",
		},
		{
			name: "recreated with InPlaceOnly", why: "I1: it is held", scene: obstructed,
			plant: func(s *handmade) { s.delete("b-old").bring() }, want: 6, mention: "I1: delete of the outdated pod b-old",
		},
		{
			name: "a pod that leaves a node where none may be is taken back", why: "L2, M4: it is to go", scene: handFleet(handPods("available", "a-new", "z-new"), preDelete,
				hookedBy("z-new"), inStateOf(lifecycle.PreparingDelete, "z-new"), handDeselected("z")),
			plant: func(s *handmade) { labelPatch(s, "z-new", lifecycle.Normal) }, want: 4, mention: "L2: takes back a pod that is to be deleted",
		},
		{
			name: "waits for the budget with InPlaceOnly", why: "I1: it is held, whatever the budget", scene: obstructed,
			plant: func(s *handmade) {
				b := s.decision("b")
				b.Verb, b.Reason, b.Limit, b.Target = rollout.VerbWait, rollout.ReasonBudget, rollout.LimitMaxUnavailable, rollout.TargetUpdate
			}, want: 12, mention: "node b: T1: target is update, right is held",
		},
		{
			name: "not held with InPlaceOnly", why: "I1: it stays as it is", scene: obstructed,
			plant: func(s *handmade) { s.decision("b").Target = rollout.TargetUpdate }, want: 12, mention: "T1: target is update, right is held",
		},
		{
			name: "held with InPlaceOnly, without a word why", why: "I1: it says why", scene: obstructed,
			plant: func(s *handmade) { s.decision("b").Obstruction = 0 }, want: 12, mention: "I1: decision hold Held",
		},
		{
			name: "recreated, without a word why", why: "I1: it says why", scene: handFleet(handPods("available", "b-old"), inPlaceBy(inplace.IfPossible),
				onPods(func(p *corev1.Pod) { p.Spec.ReadinessGates = nil }, "b-old")),
			plant: func(s *handmade) { s.decision("b").Obstruction = 0 }, want: 12, mention: "I1: decision replace Outdated",
		},
		{
			name: "a change that is no obstacle", why: "I2: the diff named can be made in place", scene: updating(),
			plant: func(s *handmade) { s.decision("b").Diff = s.plan.Diffs[0] }, want: 12, mention: "I2: decision with a diff",
		},
		{
			name: "a change to another revision", why: "I2: the one where the node is to end", scene: updating(),
			plant: func(s *handmade) { s.decision("b").Diff = &rollout.RevisionDiff{To: "elsewhere"} }, want: 12,
			mention: `I2: decision with a diff to revision "elsewhere"`,
		},
		{
			name: "a request settles only its kind", why: "M1: the requested old pod is not there yet", scene: handFleet(handPods("available", "a-new", "b"), func(s *handmade) {
				s.snapshot.InFlight.Creates = []rollout.InFlightCreate{{Node: "b", Revision: staleHash}}
			}),
			plant: func(s *handmade) { s.create("b").bring() }, want: 14, mention: "create, although one is in flight",
		},
	})
}

// handWithoutCondition removes the condition of updates in place from pods.
func handWithoutCondition(names ...string) change {
	return onPods(func(p *corev1.Pod) {
		p.Status.Conditions = slices.DeleteFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == lifecycle.InPlaceUpdateReady })
	}, names...)
}

func newPercent(quantity string) *intstr.IntOrString { return new(intstr.Parse(quantity)) }

func TestVerifyInPlaceReading(t *testing.T) {
	scene := func(changes ...change) func() *handmade {
		return handFleet(append([]change{handPods("available", "a-old", "b-old", "c-old"), inPlaceBy(inplace.IfPossible), atMost("1")}, changes...)...)
	}
	runViolations(t, []violationRow{
		{
			name: "a pod in PreparingUpdate serves", why: "B2: it may stop at any time", scene: scene(inPlaceHook, hookedBy("a-old"), inStateOf(lifecycle.PreparingUpdate, "a-old")),
			plant: func(s *handmade) { s.decision("a").Unavailable = false }, want: 12, mention: "node a: B2: unavailable is false, right is true",
		},
		{
			name: "a pod with a patch in flight serves", why: "B2: it may have been made unready", scene: scene(func(s *handmade) {
				s.snapshot.InFlight.Patches = []types.UID{"uid-a-old"}
			}),
			plant: func(s *handmade) { s.decision("a").Unavailable = false }, want: 12, mention: "node a: B2: unavailable is false",
		},
		{
			name: "a pod begun in this plan serves", why: "B2: it is made unready", scene: scene(),
			plant: func(s *handmade) { s.decision("c").Unavailable = false }, want: 12, mention: "node c: B2: unavailable is false",
		},
		{
			name: "a pod that leaves serves", why: "B2: leaving through a hook", scene: scene(preDelete, hookedBy("a-old"), inStateOf(lifecycle.PreparingDelete, "a-old")),
			plant: func(s *handmade) { s.decision("a").Unavailable = false }, want: 12, mention: "node a: B2: unavailable is false",
		},
		{
			name: "a node whose pod leaves is outdated", why: "State: it is terminating", scene: scene(preDelete, hookedBy("a-old"), inStateOf(lifecycle.PreparingDelete, "a-old")),
			plant: func(s *handmade) { s.decision("a").State = rollout.StateOutdated }, want: 12, mention: "decision with state outdated, right is terminating",
		},
		{
			name: "one that waits for its hook waits for the budget", why: "L3: it has its place", scene: scene(inPlaceHook, hookedBy("a-old"), inStateOf(lifecycle.PreparingUpdate, "a-old")),
			plant: func(s *handmade) { s.plan.Budget.Waiting++ }, want: 12, mention: "budget.waiting is 3, right is 2",
		},
		{
			name: "a wait for the budget without one", why: "it is under way", scene: scene(inPlaceHook, hookedBy("a-old"), inStateOf(lifecycle.PreparingUpdate, "a-old")),
			plant: func(s *handmade) { s.decision("a").Reason = rollout.ReasonBudget }, want: 12, mention: "node a: the node does not wait for the budget",
		},
		{
			name: "one too many", why: "V1: the budget counts updates in place", scene: scene(),
			plant: func(s *handmade) { // b's pod is made unready too
				conditionPatch(s, "b-old", lifecycle.InPlaceUpdateReady)
				s.bring()
			},
			want: 1, mention: "by its choice: b, c",
		},
		{
			name: "more than burst", why: "M6: new updates in place", scene: handFleet(handPods("available", "a-old", "b-old"), inPlaceBy(inplace.IfPossible), func(s *handmade) {
				s.spec.Burst = newPercent("50%")
			}),
			plant: func(s *handmade) {
				conditionPatch(s, "a-old", lifecycle.InPlaceUpdateReady)
				s.bring()
			},
			want: 11, mention: "2 new updates in place, right are at most 1",
		},
		{
			also: 28, name: "asleep in the grace period", why: "I4: it ends by the clock", scene: handFleet(handPods("available", "b-old"), inPlaceBy(inplace.IfPossible), made(10e9, "b-old"),
				handStrategy(func(s *rollout.Strategy) { s.InPlace.GracePeriodSeconds = 30 })),
			plant: func(s *handmade) { s.plan.NextWake, s.decision("b").Until = metav1.Time{}.Time, metav1.Time{}.Time },
			want:  15, mention: "I4: the grace period of pod b-old ends at 2026-01-15T12:00:20Z, before nextWake",
		},
		{
			name: "an update that claims no patch", why: "the verb tells of the plan's actions", scene: scene(),
			plant: func(s *handmade) { s.decision("a").Verb = rollout.VerbUpdate }, want: 12, mention: "verb update with 0 creates",
		},
	})
}

// TestRefusedUpdates: a pod whose update in place the API server has cut short is outdated, though it carries its revision (I1);
// of other pods a refusal says nothing. A plan that does not know of the refusal is right for these only.
func TestRefusedUpdates(t *testing.T) {
	half := func(p *corev1.Pod) {
		p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: lifecycle.InPlaceUpdateReady}}
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: lifecycle.InPlaceUpdateReady, Status: corev1.ConditionTrue,
			LastTransitionTime: metav1.NewTime(kit.Noon().Add(-time.Hour)),
		})
		p.Status.ContainerStatuses = []corev1.ContainerStatus{
			{Name: "main", ImageID: "any", Ready: true}, {Name: "side", ImageID: "any", Ready: true},
		}
		p.Spec.Containers[1].Image = "side:v0"
		p.Annotations = map[string]string{inplace.StateKey: `{"revision":"any","updateTimestamp":"2026-01-01T11:59:00Z",` +
			`"lastContainerStatuses":null,"nextContainerImages":{"side":"side:v1"}}`}
	}
	done := func(p *corev1.Pod) {
		half(p)
		p.Spec.Containers[1].Image = "side:v1"
		p.Annotations[inplace.StateKey] = `{"revision":"any","updateTimestamp":"2026-01-01T11:59:00Z","lastContainerStatuses":null}`
	}
	recorded := func(record string, change func(*corev1.Pod)) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			change(p)
			if p.Annotations[inplace.StateKey] = record; record == "" {
				delete(p.Annotations, inplace.StateKey)
			}
		}
	}
	state := func(state lifecycle.State, change func(*corev1.Pod)) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			change(p)
			p.Labels[lifecycle.StateLabel] = string(state)
		}
	}
	unready := func(p *corev1.Pod) {
		half(p)
		kit.Unready()(p)
		p.Status.Conditions = slices.DeleteFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == lifecycle.InPlaceUpdateReady
		})
	}
	spec := kit.Spec("agent", kit.InPlaceIfPossible(), func(s *rollout.Spec) {
		s.Template.Spec.Containers = append(s.Template.Spec.Containers, corev1.Container{Name: "side", Image: "side:v1"})
	})
	hash := kit.Hash(spec)
	planner, err := rollout.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		pod    func(*corev1.Pod)
		uid    types.UID
		of     string
		reason rollout.Reason
		cut    bool
	}{
		{"a later batch", half, "pod-a", hash, rollout.ReasonInPlaceUnfinished, true},
		{"no known reason", half, "pod-a", hash, rollout.ReasonNone, true},
		{"another pod", half, "pod-b", hash, rollout.ReasonInPlaceUnfinished, false},
		{"another revision", half, "pod-a", "other", rollout.ReasonInPlaceUnfinished, false},
		{"another step", half, "pod-a", hash, rollout.ReasonTakenBack, false},
		{"complete", done, "pod-a", hash, rollout.ReasonInPlaceUnfinished, false},
		{"complete, and not put back", state(lifecycle.Updated, done), "pod-a", hash, rollout.ReasonInPlaceUnfinished, true},
		{"complete, and Normal", state(lifecycle.Normal, done), "pod-a", hash, rollout.ReasonInPlaceUnfinished, false},
		{"half, and Normal", state(lifecycle.Normal, half), "pod-a", hash, rollout.ReasonInPlaceUnfinished, true},
		{"asked to be updated", state(lifecycle.PreparingUpdate, half), "pod-a", hash, rollout.ReasonInPlaceUnfinished, false},
		{"never updated", recorded("", unready), "pod-a", hash, rollout.ReasonInPlaceUnfinished, false},
		{"an unreadable record", recorded("{", unready), "pod-a", hash, rollout.ReasonInPlaceUnfinished, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			pod := kit.Pod("a", kit.Of(spec), kit.OnNode("a"))
			test.pod(pod)
			s := rollout.Snapshot{
				Now: kit.Noon(), Nodes: kit.Nodes("a"), Pods: []*corev1.Pod{pod},
				Revisions: []*appsv1.ControllerRevision{kit.Revision(spec, 1)},
			}
			blind, err := planner.Plan(s)
			if err != nil {
				t.Fatal(err)
			}
			s.InFlight.Refused = []rollout.RefusedPatch{{UID: test.uid, Revision: test.of, Reason: test.reason, Message: "no"}}
			plan, err := planner.Plan(s)
			if err != nil {
				t.Fatal(err)
			}
			if violations := verify.Plan(spec, s, &plan); len(violations) > 0 {
				t.Errorf("the right plan: %v", violations)
			}
			if violations := verify.Plan(spec, s, &blind); (len(violations) > 0) != test.cut {
				t.Errorf("the plan that knows of no refusal: %v, want violations: %v", violations, test.cut)
			}
		})
	}
}
