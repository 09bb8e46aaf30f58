package verify_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/predownload"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/outage"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/verify"
)

// handOutages adds a policy for outages that exempts so many nodes, and makes nodes without conditions Ready.
func handOutages(quantity string, options outage.Options) change {
	return func(s *handmade) {
		options.MaxExempt = new(intstr.Parse(quantity))
		s.spec.Strategy.Policy.Outages = &options
		for _, n := range s.snapshot.Nodes {
			if len(n.Status.Conditions) == 0 {
				n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
			}
		}
	}
}

func handExempting(quantity string) change { return handOutages(quantity, outage.Options{}) }

// handDown makes the named nodes not Ready for so long. Negative: since when nobody knows.
func handDown(ago time.Duration, nodes ...string) change {
	return onNodes(func(n *corev1.Node) {
		c := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionFalse}
		if ago >= 0 {
			c.LastTransitionTime = metav1.NewTime(handNow().Add(-ago))
		}
		n.Status.Conditions = []corev1.NodeCondition{c}
	}, nodes...)
}

// handDeparting puts the named nodes under maintenance. They are Ready.
func handDeparting(nodes ...string) change {
	return onNodes(func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: corev1.ConditionTrue}, {Type: "MaintenanceInProgress", Status: corev1.ConditionTrue},
		}
	}, nodes...)
}

func onNodes(apply func(*corev1.Node), nodes ...string) change {
	return func(s *handmade) {
		for _, n := range s.snapshot.Nodes {
			if slices.Contains(nodes, n.Name) {
				apply(n)
			}
		}
	}
}

// handStarted makes the pods ones that a kubelet has started, and containers that have been running for so long.
func handStarted(ago time.Duration, names ...string) change {
	return onPods(func(p *corev1.Pod) {
		at := metav1.NewTime(handNow().Add(-ago))
		p.Status.StartTime = &at
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at}},
		}}
	}, names...)
}

func handInFlight(names ...string) change {
	return func(s *handmade) {
		for _, name := range names {
			s.snapshot.InFlight.Deletes = append(s.snapshot.InFlight.Deletes, s.pod(name).UID)
		}
	}
}

// handUpdatedInPlace makes the pods ones that were updated in place that long ago.
func handUpdatedInPlace(ago time.Duration, names ...string) change {
	return onPods(func(p *corev1.Pod) {
		p.Annotations = map[string]string{inplace.StateKey: `{"revision":"fresh","updateTimestamp":"` +
			handNow().Add(-ago).Format(time.RFC3339) + `"}`}
	}, names...)
}

// The new pod of node a was created a minute ago, and is not available; that of node b is old.
func handBroken(changes ...change) func() *handmade {
	return handFleet(append([]change{
		handPods("unready", "a-new"), handPods("available", "b-old"), handCreated(time.Minute, "a-new"), atMost("1"), handExempting("1"),
	}, changes...)...)
}

// leftOut plants that the plan leaves a node out by B9.
func leftOut(node string) func(*handmade) {
	return func(s *handmade) { s.decision(node).Exemption = rollout.ExemptionOut }
}

const noEvidence = "node a: B9: left out of the budgets, although it does not count, or its update may have taken it down"

func TestVerifyAcceptsOutages(t *testing.T) {
	run := func(name, why string, scene func() *handmade) acceptRow {
		return acceptRow{name: name, why: why, scene: scene}
	}
	runAccepts(t, []acceptRow{
		run("down before", "B9", handBroken(handDown(time.Hour, "a"))),
		run("down after", "B9", handBroken(handDown(time.Second, "a"))),
		run("in the same second", "B9", handBroken(handDown(time.Minute, "a"))),
		run("started", "B9", handBroken(handDown(time.Hour, "a"), handStarted(time.Second, "a-new"))),
		run("proven", "B9", handBroken(handDown(time.Second, "a"), handStarted(time.Hour, "a-new"), handOutages("1", outage.Options{ProvenAfter: time.Minute}))),
		run("in flight", "B9", handBroken(handDown(time.Minute, "b"), handInFlight("b-old"))),
		run("in flight in the same second", "B9", handBroken(handDown(0, "b"), handInFlight("b-old"))),
		run("departing", "M8", handBroken(handDeparting("b"))),
		run("touched", "M8", handBroken(handDeparting("b"), handOutages("1", outage.Options{Touch: true}))),
	})
}

func TestVerifyOutages(t *testing.T) {
	proving := handOutages("1", outage.Options{ProvenAfter: time.Minute})
	a := leftOut("a")
	b8 := handLeavingOut("1")
	runViolations(t, []violationRow{
		{
			name: "a node that is up", why: "B9: it is not out", want: 24,
			scene: handBroken(),
			plant: a, mention: noEvidence,
		},
		{
			name: "a node that does not count", why: "B9: it is not down for the budget", want: 24,
			scene: handBroken(handPods("available", "c-new"), handDown(2*time.Hour, "c")),
			plant: leftOut("c"), mention: "node c: B9: left out of the budgets, although it does not count",
		},
		{
			name: "down in the second of its update", why: "B9: a tie is no evidence", want: 24,
			scene: handBroken(handDown(time.Minute, "a")),
			plant: a, mention: noEvidence,
		},
		{
			name: "down after its update", why: "B9", want: 24,
			scene: handBroken(handDown(time.Minute-time.Second, "a")),
			plant: a, mention: noEvidence,
		},
		{
			name: "down since when nobody knows", why: "B9", want: 24,
			scene: handBroken(handDown(-1, "a")),
			plant: a, mention: noEvidence,
		},
		{
			name: "started", why: "B9", want: 24,
			scene: handBroken(handDown(time.Hour, "a"), handStarted(0, "a-new")),
			plant: a, mention: noEvidence,
		},
		{
			name: "in a hook", why: "B9: asked nobody knows when", want: 24,
			scene: handBroken(handDown(time.Hour, "b"), inStateOf(lifecycle.PreparingDelete, "b-old")),
			plant: leftOut("b"), mention: "node b: B9",
		},
		{
			name: "in a hook that is not asked for", why: "B9", want: 24,
			scene: handBroken(handDown(time.Hour, "b"), inStateOf("Unheard", "b-old")),
			plant: leftOut("b"), mention: "node b: B9",
		},
		{
			name: "deleted before", why: "B9", want: 24,
			scene: handBroken(handDown(time.Minute, "b"), handTerminating(-2*time.Minute, "b-old")),
			plant: leftOut("b"), mention: "node b: B9",
		},
		{
			name: "deleted before, with a grace period", why: "B9: the request counts", want: 24,
			scene: handBroken(handDown(time.Minute, "b"), handTerminating(30*time.Second, "b-old"),
				onPods(func(p *corev1.Pod) { p.DeletionGracePeriodSeconds = new(int64(90)) }, "b-old")),
			plant: leftOut("b"), mention: "node b: B9",
		},
		{
			name: "down while its hook was asked", why: "B9", want: 24,
			scene: handBroken(handDown(time.Minute, "b"), handTerminating(0, "b-old"), inStateOf(lifecycle.PreparingDelete, "b-old"),
				onPods(func(p *corev1.Pod) {
					p.Annotations = map[string]string{lifecycle.TimestampAnnotation: handNow().Add(-2 * time.Minute).Format(time.RFC3339)}
				}, "b-old")),
			plant: leftOut("b"), mention: "node b: B9",
		},
		{
			name: "in a hook that was asked nobody knows when", why: "B9", want: 24,
			scene: handBroken(handDown(time.Hour, "b"), handTerminating(0, "b-old"), inStateOf(lifecycle.PreparingDelete, "b-old")),
			plant: leftOut("b"), mention: "node b: B9",
		},
		{
			name: "in flight, and down right now", why: "B9: a tie", want: 24,
			scene: handBroken(handDown(0, "b"), handInFlight("b-old")),
			plant: leftOut("b"), mention: "node b: B9",
		},
		{
			name: "a create in flight", why: "B9: its pod may run by now", want: 24,
			scene: handBroken(handPods("", "c"), handExempting("1"), handDown(time.Hour, "c"), func(s *handmade) {
				s.snapshot.InFlight.Creates = []rollout.InFlightCreate{{Node: "c", Revision: freshHash}}
			}),
			plant: leftOut("c"), mention: "node c: B9",
		},
		{
			name: "a patch in flight", why: "B9: it may have begun the update in place", want: 24,
			scene: handBroken(handDown(time.Hour, "b"), func(s *handmade) {
				s.snapshot.InFlight.Patches = []types.UID{s.pod("b-old").UID}
			}),
			plant: leftOut("b"), mention: "node b: B9",
		},
		{
			name: "updated in place before", why: "B9", want: 24,
			scene: handBroken(handDown(30*time.Second, "a"), handUpdatedInPlace(30*time.Second, "a-new")),
			plant: a, mention: noEvidence,
		},
		{
			name: "updated in place after, and started since", why: "B9", want: 24,
			scene: handBroken(handDown(50*time.Second, "a"), handUpdatedInPlace(30*time.Second, "a-new"),
				handStarted(30*time.Second, "a-new")),
			plant: a, mention: noEvidence,
		},
		{
			name: "updated in place after, and complete", why: "B9: a kubelet has done it", want: 24,
			scene: handBroken(handDown(50*time.Second, "a"), handUpdatedInPlace(30*time.Second, "a-new")),
			plant: a, mention: noEvidence,
		},
		{
			name: "updated in place, which cannot be read", why: "B9", want: 24,
			scene: handBroken(handDown(time.Hour, "a"), onPods(func(p *corev1.Pod) {
				p.Annotations = map[string]string{inplace.StateKey: "?"}
			}, "a-new")),
			plant: a, mention: noEvidence,
		},
		{
			name: "not proven for long enough", why: "B9: by a second", want: 24,
			scene: handBroken(handDown(time.Second, "a"), handCreated(time.Hour, "a-new"), handStarted(time.Minute, "a-new"), proving),
			plant: a, mention: noEvidence,
		},
		{
			name: "never proven", why: "B9: the default", want: 24,
			scene: handBroken(handDown(time.Second, "a"), handCreated(time.Hour, "a-new"), handStarted(time.Hour, "a-new")),
			plant: a, mention: noEvidence,
		},
		{
			name: "proven by the pod before its update in place", why: "B9", want: 24,
			scene: handBroken(handDown(time.Second, "a"), handStarted(time.Hour, "a-new"), handUpdatedInPlace(time.Minute, "a-new"), proving),
			plant: a, mention: noEvidence,
		},
		{
			name: "proven by one of two containers", why: "B9", want: 24,
			scene: handBroken(handDown(time.Second, "a"), handStarted(time.Hour, "a-new"), proving, onPods(func(p *corev1.Pod) {
				p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "more"})
			}, "a-new")),
			plant: a, mention: noEvidence,
		},
		{
			name: "the place of B8", why: "B9: it is for nodes that are out", want: 24,
			scene: handBroken(handHomeless("a-new"), b8, handStrategy(func(s *rollout.Strategy) { s.Paused = true })),
			plant: both(a, func(s *handmade) {
				s.decision("a").Unavailable, s.plan.Budget.Exempt = true, 0
				s.spend(1, 0)
			}), mention: noEvidence,
		},
		{
			name: "without the policy", why: "B9", want: 24,
			scene: handBroken(handDown(time.Hour, "a"), handStrategy(func(s *rollout.Strategy) { s.Policy.Outages = nil })),
			plant: a, mention: noEvidence,
		},
		{
			name: "none", why: "B9: at most 0", want: 24,
			scene: handBroken(handDown(time.Hour, "a"), handExempting("0")),
			plant: a, mention: "node a: B9: left out of the budgets as number 1, right are at most 0",
		},
		{
			name: "too many", why: "B9: at most 1", want: 24,
			scene: handBroken(handPods("unready", "c-new"), handCreated(time.Minute, "c-new"), handExempting("1"), handDown(time.Hour, "a", "c")),
			plant: leftOut("c"), mention: "node c: B9: left out of the budgets as number 2, right are at most 1",
		},
		{
			name: "B8 for what only B9 excuses", why: "B8: the node can be reached", scene: handBroken(handDown(time.Hour, "a"), handExempting("0"), b8),
			plant: func(s *handmade) { s.decision("a").Exemption = rollout.ExemptionUnschedulable }, want: 1,
			mention: "node a: B8: left out of the budgets, although it can be reached",
		},
		{
			name: "B8 beyond its own places", why: "B8: those of B9 are none of it", scene: handBroken(handHomeless("a-new")),
			plant: func(s *handmade) { s.decision("a").Exemption = rollout.ExemptionUnschedulable }, want: 1,
			mention: "node a: B8: left out of the budgets as number 1, right are at most 0",
		},
		{
			name: "an unknown exemption", why: "V12: there is no such rule", scene: handBroken(handDown(time.Hour, "a"), handExempting("0")),
			plant: func(s *handmade) { s.decision("a").Exemption = 77 }, want: 12, mention: "node a: decision with an unknown exemption (code 77)",
		},
		{
			name: "another maximum", why: "V12", scene: handBroken(), plant: func(s *handmade) { s.plan.Budget.MaxExempt = 2 }, want: 12,
			mention: "budget.maxExempt is 2, right is 1",
		},
		{
			name: "percentages round up", why: "V12: 1% of 2 is 1", scene: handBroken(handExempting("1%")), plant: func(s *handmade) { s.plan.Budget.MaxExempt = 0 }, want: 12,
			mention: "budget.maxExempt is 0, right is 1",
		},
		{
			name: "not counted", why: "V12", scene: handBroken(handDown(time.Hour, "a")), plant: func(s *handmade) { s.plan.Budget.ExemptOut = 0 }, want: 12,
			mention: "budget.exemptOut is 0, right is 1",
		},
		{
			name: "counted by B8", why: "V12: which rule it is makes a difference", scene: handBroken(handDown(time.Hour, "a")),
			plant: func(s *handmade) { s.plan.Budget.Exempt = 0 }, want: 12, mention: "budget.exempt is 0, right is 1",
		},
		{
			name: "left out and counted", why: "B2", scene: handBroken(handDown(time.Hour, "a")), plant: func(s *handmade) { s.decision("a").Unavailable = true }, want: 12,
			mention: "node a: B2: unavailable is true, right is false",
		},
		{
			name: "the budget of who is not left out is spent twice", why: "V1", scene: handBroken(handDown(time.Second, "a")),
			plant: func(s *handmade) { s.delete("b-old").bring() }, want: 1, mention: "are unavailable after the plan, more than maxUnavailable 1",
		},
		{
			name: "asleep when a tie is over", why: "V15: what is in flight is later from the next second on", scene: handBroken(handDown(0, "b"), handInFlight("b-old")),
			plant: func(s *handmade) { s.plan.NextWake = time.Time{} }, want: 15, mention: "node b: B9: what was requested is later than the outage at 2026-01-15T12:00:01Z",
		},
	})
}

func TestVerifyDeparting(t *testing.T) {
	stays := onNodes(func(n *corev1.Node) { n.Status.Conditions = n.Status.Conditions[:1] }, "b")
	departs := func(s *handmade) { s.decision("c").Reason = rollout.ReasonDeparting }
	// Node b, whose pod is outdated, departs.
	departing := func(changes ...change) func() *handmade {
		return handFleet(append([]change{
			handPods("available", "b-old", "c-new"), atMost("2"), handExempting("1"), handDeparting("b"),
		}, changes...)...)
	}
	tolerant := func(s *handmade) {
		s.spec.Template.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		s.snapshot.Revisions[1] = handRevision(freshHash, 2, s.spec.Template)
	}
	changed := func(apply func(*corev1.Node)) func(*handmade) { return func(s *handmade) { onNodes(apply, "b")(s) } }
	deletes := func(name string) func(*handmade) {
		return func(s *handmade) {
			s.delete(name).bring()
			s.plan.Budget.Waiting = 0 // what departs does not wait for the budget
		}
	}
	runViolations(t, []violationRow{
		{
			name: "a create", why: "M8", want: 26,
			scene: departing(handPods("", "d"), handExempting("1"), handDeparting("d")),
			plant: func(s *handmade) { s.create("d") }, mention: "node d: M8: create on a node that departs",
		},
		{
			name: "a delete", why: "M8", want: 26,
			scene: departing(),
			plant: deletes("b-old"), mention: "node b: M8: delete of pod b-old on a node that departs",
		},
		{
			name: "a delete of a failed pod", why: "M8", want: 26,
			scene: departing(handPods("failed", "d-new"), handExempting("1"), handDeparting("d")),
			plant: deletes("d-new"), mention: "node d: M8: delete of pod d-new on a node that departs",
		},
		{
			name: "a delete of a surplus pod", why: "M8", want: 26,
			scene: departing(handPods("available", "b-new")),
			plant: deletes("b-old"), mention: "node b: M8: delete of pod b-old on a node that departs",
		},
		{
			name: "a deletion that is prepared", why: "M8: the hook is not asked", want: 26,
			scene: departing(preDelete, hookedBy("b-old")),
			plant: both(func(s *handmade) { labelPatch(s, "b-old", lifecycle.PreparingDelete) }, (*handmade).bring), mention: "node b: M8: patch of pod b-old begins a deletion on a node that departs",
		},
		{
			name: "an update in place", why: "M8", want: 26,
			scene: departing(inPlaceBy(inplace.IfPossible), stays),
			plant: func(s *handmade) { handDeparting("b")(s) }, mention: "node b: M8: update in place of pod b-old on a node that departs",
		},
		{
			name: "a node that is marked", why: "M8", want: 26,
			scene: departing(stays),
			plant: changed(func(n *corev1.Node) {
				n.DeletionTimestamp = &metav1.Time{Time: handNow()}
			}), mention: "node b: M8: delete",
		},
		{
			name: "a node with a taint", why: "M8", want: 26,
			scene: departing(stays, tolerant),
			plant: changed(func(n *corev1.Node) {
				n.Spec.Taints = []corev1.Taint{{Key: "karpenter.sh/disrupted", Effect: corev1.TaintEffectNoSchedule}}
			}), mention: "node b: M8: delete",
		},
		{
			name: "a node with a taint of the policy", why: "M8", want: 26,
			scene: departing(stays, tolerant, handOutages("1", outage.Options{Taints: []string{"drain"}})),
			plant: changed(func(n *corev1.Node) {
				n.Spec.Taints = []corev1.Taint{{Key: "drain", Effect: corev1.TaintEffectNoSchedule, TimeAdded: &metav1.Time{Time: handNow()}}}
			}), mention: "node b: M8: delete",
		},
		{
			name: "a node with a condition of the policy", why: "M8", want: 26,
			scene: departing(stays, handOutages("1", outage.Options{Conditions: []string{"Drained"}})),
			plant: changed(func(n *corev1.Node) {
				n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: "Drained", Status: corev1.ConditionTrue})
			}), mention: "node b: M8: delete",
		},
		{
			name: "a pull", why: "D1: the node does not wait for an update", scene: departing(func(s *handmade) {
				s.spec.PreDownload = &predownload.Options{Parallelism: new(intstr.FromInt32(2))}
				s.spec.Template.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "registry"}}
				s.snapshot.Revisions[1] = handRevision(freshHash, 2, s.spec.Template)
			}), plant: handPull("b", newImage), want: 10, mention: "node b: D1: pull of " + newImage + " on a node that does not wait for an update",
		},
		{
			name: "said of a node that stays", why: "M8", want: 26,
			scene: departing(),
			plant: departs, mention: "node c: M8: the plan says that the node departs, and it does not",
		},
		{
			name: "said of a node that is down", why: "M8: NotReady alone is not departing", want: 26,
			scene: departing(handDown(time.Hour, "c")),
			plant: departs, mention: "node c: M8: the plan says that the node departs, and it does not",
		},
		{
			name: "said of a node that is to be touched", why: "M8", want: 26,
			scene: departing(handDeparting("c"), handOutages("1", outage.Options{Touch: true})),
			plant: departs, mention: "node c: M8: the plan says that the node departs, and it does not",
		},
		{
			name: "said of a node without the policy", why: "M8", want: 26,
			scene: departing(handDeparting("c"), handStrategy(func(s *rollout.Strategy) { s.Policy.Outages = nil })),
			plant: departs, mention: "node c: M8: the plan says that the node departs, and it does not",
		},
	})
}

// TestVerifierRereadsNodes: a Verifier that has seen a fleet finds what is wrong when only the object of a node has changed.
func TestVerifierRereadsNodes(t *testing.T) {
	spec, s, _ := verifierFleet(t)
	kit.MaxExempt("2")(&spec)
	s.Memory = rollout.Memory{}
	var verifier verify.Verifier
	look := func(name string, plan *rollout.Plan) []verify.Violation {
		is, right := verifier.Plan(spec, s, plan), verify.Plan(spec, s, plan)
		if !slices.Equal(is, right) {
			t.Errorf("%s: found %v, right is %v", name, is, right)
		}
		return right
	}
	planned := func() *rollout.Plan {
		plan, ok := handPlanned(spec, s)
		if !ok {
			t.Fatal("refused")
		}
		return &plan
	}
	change := func(kind corev1.NodeConditionType, status corev1.ConditionStatus) {
		s.Nodes = slices.Clone(s.Nodes)
		i := len(s.Nodes) - 1 // whose turn it is
		n := s.Nodes[i].DeepCopy()
		n.Status.Conditions = slices.DeleteFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == kind })
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{
			Type: kind, Status: status, LastTransitionTime: metav1.NewTime(s.Now.Add(-time.Minute)),
		})
		s.Nodes[i] = n
	}
	before := planned()
	if got := look("before", before); got != nil {
		t.Fatalf("found %v", got)
	}
	change("MaintenanceInProgress", corev1.ConditionTrue)
	departing := func(v verify.Violation) bool { return v.Invariant == 26 }
	if got := look("a node that departs", before); !slices.ContainsFunc(got, departing) {
		t.Errorf("found %v, want something of V26", got)
	}
	if got := look("planned for that", planned()); got != nil {
		t.Errorf("found %v", got)
	}
	gated := planned()
	change("MaintenanceInProgress", corev1.ConditionFalse)
	if got := look("it stays after all", gated); !slices.ContainsFunc(got, departing) {
		t.Errorf("found %v, want something of V26", got)
	}
	if got := look("as before", before); got != nil {
		t.Errorf("found %v", got)
	}
	// The pod is deleted, then the node goes down with it, or was down before.
	i := slices.IndexFunc(s.Pods, func(p *corev1.Pod) bool { return p.Spec.NodeName == s.Nodes[len(s.Nodes)-1].Name })
	s.Pods = slices.Clone(s.Pods)
	s.Pods[i] = s.Pods[i].DeepCopy()
	s.Pods[i].DeletionTimestamp = new(metav1.NewTime(s.Now.Add(-30 * time.Second)))
	change(corev1.NodeReady, corev1.ConditionFalse)
	excused := planned()
	if got := look("down before", excused); got != nil || excused.Budget.ExemptOut != 1 {
		t.Errorf("found %v, exempt %d", got, excused.Budget.ExemptOut)
	}
	change(corev1.NodeReady, corev1.ConditionTrue)
	if got := look("up again", excused); !slices.ContainsFunc(got, func(v verify.Violation) bool { return v.Invariant == 24 }) {
		t.Errorf("found %v, want something of V24", got)
	}
}
