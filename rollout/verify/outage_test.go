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
	row := func(name, why string, scene func() *handmade, plant func(*handmade), mention string) violationRow {
		return violationRow{name: name, why: why, scene: scene, plant: plant, want: 24, mention: mention}
	}
	proving := handOutages("1", outage.Options{ProvenAfter: time.Minute})
	a := leftOut("a")
	b8 := handLeavingOut("1")
	runViolations(t, []violationRow{
		row("a node that is up", "B9: it is not out", handBroken(), a, noEvidence),
		row("a node that does not count", "B9: it is not down for the budget", handBroken(handPods("available", "c-new"), handDown(2*time.Hour, "c")), leftOut("c"),
			"node c: B9: left out of the budgets, although it does not count"),
		row("down in the second of its update", "B9: a tie is no evidence", handBroken(handDown(time.Minute, "a")), a, noEvidence),
		row("down after its update", "B9", handBroken(handDown(time.Minute-time.Second, "a")), a, noEvidence),
		row("down since when nobody knows", "B9", handBroken(handDown(-1, "a")), a, noEvidence),
		row("started", "B9", handBroken(handDown(time.Hour, "a"), handStarted(0, "a-new")), a, noEvidence),
		row("in a hook", "B9", handBroken(handDown(time.Hour, "a"), inStateOf(lifecycle.PreparingDelete, "a-new")), a, noEvidence),
		row("in a hook that is not asked for", "B9", handBroken(handDown(time.Hour, "a"), inStateOf("Unheard", "a-new")), a, noEvidence),
		row("deleted before", "B9", handBroken(handDown(time.Minute, "b"), handTerminating(-2*time.Minute, "b-old")), leftOut("b"), "node b: B9"),
		row("deleted before, with a grace period", "B9: the request counts", handBroken(handDown(time.Minute, "b"), handTerminating(30*time.Second, "b-old"),
			onPods(func(p *corev1.Pod) { p.DeletionGracePeriodSeconds = new(int64(90)) }, "b-old")), leftOut("b"), "node b: B9"),
		row("down while its hook was asked", "B9", handBroken(handDown(time.Minute, "b"), handTerminating(0, "b-old"), inStateOf(lifecycle.PreparingDelete, "b-old"),
			onPods(func(p *corev1.Pod) {
				p.Annotations = map[string]string{lifecycle.TimestampAnnotation: handNow().Add(-2 * time.Minute).Format(time.RFC3339)}
			}, "b-old")), leftOut("b"), "node b: B9"),
		row("in a hook that was asked nobody knows when", "B9", handBroken(handDown(time.Hour, "b"), handTerminating(0, "b-old"), inStateOf(lifecycle.PreparingDelete, "b-old")),
			leftOut("b"), "node b: B9"),
		row("in flight, and down right now", "B9: a tie", handBroken(handDown(0, "b"), handInFlight("b-old")), leftOut("b"), "node b: B9"),
		row("updated in place before", "B9", handBroken(handDown(30*time.Second, "a"), handUpdatedInPlace(30*time.Second, "a-new")), a, noEvidence),
		row("updated in place after, and started since", "B9", handBroken(handDown(50*time.Second, "a"), handUpdatedInPlace(30*time.Second, "a-new"),
			handStarted(30*time.Second, "a-new")), a, noEvidence),
		row("updated in place after, and complete", "B9: a kubelet has done it", handBroken(handDown(50*time.Second, "a"), handUpdatedInPlace(30*time.Second, "a-new")), a, noEvidence),
		row("updated in place, which cannot be read", "B9", handBroken(handDown(time.Hour, "a"), onPods(func(p *corev1.Pod) {
			p.Annotations = map[string]string{inplace.StateKey: "?"}
		}, "a-new")), a, noEvidence),
		row("not proven for long enough", "B9: by a second", handBroken(handDown(time.Second, "a"), handCreated(time.Hour, "a-new"), handStarted(time.Minute, "a-new"), proving), a, noEvidence),
		row("never proven", "B9: the default", handBroken(handDown(time.Second, "a"), handCreated(time.Hour, "a-new"), handStarted(time.Hour, "a-new")), a, noEvidence),
		row("proven by the pod before its update in place", "B9", handBroken(handDown(time.Second, "a"), handStarted(time.Hour, "a-new"), handUpdatedInPlace(time.Minute, "a-new"), proving), a, noEvidence),
		row("proven by one of two containers", "B9", handBroken(handDown(time.Second, "a"), handStarted(time.Hour, "a-new"), proving, onPods(func(p *corev1.Pod) {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "more"})
		}, "a-new")), a, noEvidence),
		row("the place of B8", "B9: it is for nodes that are out", handBroken(handHomeless("a-new"), b8, handStrategy(func(s *rollout.Strategy) { s.Paused = true })),
			both(a, func(s *handmade) {
				s.decision("a").Unavailable, s.plan.Budget.Exempt = true, 0
				s.spend(1, 0)
			}), noEvidence),
		row("without the policy", "B9", handBroken(handDown(time.Hour, "a"), handStrategy(func(s *rollout.Strategy) { s.Policy.Outages = nil })), a, noEvidence),
		row("none", "B9: at most 0", handBroken(handDown(time.Hour, "a"), handExempting("0")), a, "node a: B9: left out of the budgets as number 1, right are at most 0"),
		row("too many", "B9: at most 1", handBroken(handPods("unready", "c-new"), handCreated(time.Minute, "c-new"), handExempting("1"), handDown(time.Hour, "a", "c")), leftOut("c"),
			"node c: B9: left out of the budgets as number 2, right are at most 1"),
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
		{
			name: "asleep when a tie of a create is over", why: "V15", scene: handBroken(handPods("", "c"), handExempting("1"), handDown(0, "c"), func(s *handmade) {
				s.snapshot.InFlight.Creates = []rollout.InFlightCreate{{Node: "c", Revision: freshHash}}
			}),
			plant: func(s *handmade) { s.plan.NextWake = handNow().Add(2 * time.Second) }, want: 15, mention: "node c: B9: what was requested is later than the outage at 2026-01-15T12:00:01Z",
		},
	})
}

func TestVerifyDeparting(t *testing.T) {
	row := func(name, why string, scene func() *handmade, plant func(*handmade), mention string) violationRow {
		return violationRow{name: name, why: why, scene: scene, plant: plant, want: 26, mention: mention}
	}
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
		row("a create", "M8", departing(handPods("", "d"), handExempting("1"), handDeparting("d")), func(s *handmade) { s.create("d") }, "node d: M8: create on a node that departs"),
		row("a delete", "M8", departing(), deletes("b-old"), "node b: M8: delete of pod b-old on a node that departs"),
		row("a delete of a failed pod", "M8", departing(handPods("failed", "d-new"), handExempting("1"), handDeparting("d")), deletes("d-new"), "node d: M8: delete of pod d-new on a node that departs"),
		row("a delete of a surplus pod", "M8", departing(handPods("available", "b-new")), deletes("b-old"), "node b: M8: delete of pod b-old on a node that departs"),
		row("a deletion that is prepared", "M8: the hook is not asked", departing(preDelete, hookedBy("b-old")),
			both(func(s *handmade) { labelPatch(s, "b-old", lifecycle.PreparingDelete) }, (*handmade).bring), "node b: M8: patch of pod b-old begins a deletion on a node that departs"),
		row("an update in place", "M8", departing(inPlaceBy(inplace.IfPossible), stays), func(s *handmade) { handDeparting("b")(s) }, "node b: M8: update in place of pod b-old on a node that departs"),
		row("a node that is marked", "M8", departing(stays), changed(func(n *corev1.Node) {
			n.DeletionTimestamp = &metav1.Time{Time: handNow()}
		}), "node b: M8: delete"),
		row("a node with a taint", "M8", departing(stays, tolerant), changed(func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "karpenter.sh/disrupted", Effect: corev1.TaintEffectNoSchedule}}
		}), "node b: M8: delete"),
		row("a node with a taint of the policy", "M8", departing(stays, tolerant, handOutages("1", outage.Options{Taints: []string{"drain"}})),
			changed(func(n *corev1.Node) {
				n.Spec.Taints = []corev1.Taint{{Key: "drain", Effect: corev1.TaintEffectNoSchedule, TimeAdded: &metav1.Time{Time: handNow()}}}
			}), "node b: M8: delete"),
		row("a node with a condition of the policy", "M8", departing(stays, handOutages("1", outage.Options{Conditions: []string{"Drained"}})),
			changed(func(n *corev1.Node) {
				n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: "Drained", Status: corev1.ConditionTrue})
			}), "node b: M8: delete"),
		{
			name: "a pull", why: "D1: the node does not wait for an update", scene: departing(func(s *handmade) {
				s.spec.PreDownload = &predownload.Options{Parallelism: new(intstr.FromInt32(2))}
				s.spec.Template.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "registry"}}
				s.snapshot.Revisions[1] = handRevision(freshHash, 2, s.spec.Template)
			}), plant: handPull("b", newImage), want: 10, mention: "node b: D1: pull of " + newImage + " on a node that does not wait for an update",
		},
		row("said of a node that stays", "M8", departing(), departs, "node c: M8: the plan says that the node departs, and it does not"),
		row("said of a node that is down", "M8: NotReady alone is not departing", departing(handDown(time.Hour, "c")), departs,
			"node c: M8: the plan says that the node departs, and it does not"),
		row("said of a node that is to be touched", "M8", departing(handDeparting("c"), handOutages("1", outage.Options{Touch: true})), departs,
			"node c: M8: the plan says that the node departs, and it does not"),
		row("said of a node without the policy", "M8", departing(handDeparting("c"), handStrategy(func(s *rollout.Strategy) { s.Policy.Outages = nil })), departs,
			"node c: M8: the plan says that the node departs, and it does not"),
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
