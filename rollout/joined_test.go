package rollout_test

import (
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/verify"
)

// TestRulesThatMeet plays scenes in which two rules concern one node, and has the verifier look at the same plans.
func TestRulesThatMeet(t *testing.T) {
	playScenes(t, joinedScenes())
	for _, s := range joinedScenes() {
		l := s.lab()
		for _, v := range verify.Plan(l.spec, l.snapshot, new(l.plan(t))) {
			t.Errorf("%s: %s", s.name, v)
		}
	}
}

func joinedScenes() []scene {
	gated := func(p *corev1.Pod) {
		p.Spec.ReadinessGates = append(p.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: lifecycle.PodReady})
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: lifecycle.PodReady, Status: corev1.ConditionTrue})
	}
	marking := func(s *rollout.Spec) { draining(s); s.Lifecycle.PreDelete.MarkPodNotReady = true }
	return []scene{
		{
			name: "a surplus pod that is prepared, and whose deletion marks it as not ready", why: "B3, L4: the mark takes it away, so that it needs room",
			spec: []kit.SpecOption{method(inplace.IfPossible), marking, kit.MinReadySeconds(60)},
			fleet: []spot{
				on("a", oldPod(gated, hooked), oldPod(gated, hooked, updatable, inState(lifecycle.PreparingUpdate), readyFor(10*time.Second))),
				on("b", oldPod(asked)),
			},
			patching: []string{"a0"},
			acts:     "patch a1/status Surplus, patch a1 Surplus",
			want:     []string{"a: outdated>update prepare Surplus a1 U", "b: terminating>update wait Prepared b0 maxUnavailable U"},
		},
		{
			name: "a canary is paused beside a pod that leaves", why: "C7, L2: a paused canary replaces nothing, so that the pod is taken back",
			spec: []kit.SpecOption{draining, kit.Canary("1"), big("3")}, set: paused("a"),
			fleet: []spot{on("a", newPod(withTwoCPUs(), asked)).with(kit.Label("size", "big")), on("b", oldPod())},
			acts:  "patch a0 TakenBack",
			want:  []string{"a: outdated>held patch TakenBack a0 canary U C", "b: stable>stable none Stable"},
		},
		{
			name: "only in place beside a pod that leaves", why: "I1, L2: no update deletes the pod, so that it is taken back",
			spec:  []kit.SpecOption{draining, kit.InPlaceOnly()},
			fleet: []spot{on("a", oldPod(asked))},
			acts:  "patch a0 TakenBack", want: []string{"a: outdated>held patch TakenBack a0 inPlaceOnly U"},
		},
		{
			name: "a patch is in flight for the new one of two pods", why: "B4: the new pod serves when the patch is seen; minReadySeconds is not what is waited for",
			spec:  []kit.SpecOption{kit.MaxSurge("1")},
			fleet: []spot{on("a", oldPod(), newPod())}, patching: []string{"a1"},
			want: []string{"a: surging>update wait Requested a1"},
		},
		{
			name: "slow start beside a terminating pod under surge", why: "B7, M1: the node has its place already",
			spec: []kit.SpecOption{kit.MaxSurge("1"), kit.SlowStart(time.Minute, "1", "1")}, set: rolling(0),
			fleet: []spot{on("a", oldPod(terminating())), on("b", oldPod())},
			acts:  "create a BesideTerminating",
			want:  []string{"a: terminating>update create BesideTerminating U S", "b: outdated>update wait Budget b0 maxSurge"},
		},
		{
			name: "slow start with a damaged memory", why: "B7, V15: a negative pause counts as none, so that the limit rises in 30s",
			spec: []kit.SpecOption{kit.SlowStart(time.Minute, "1", "250")}, set: func(l *lab) {
				rolling(30 * time.Second)(l)
				l.snapshot.Memory.Rollout.Paused = -time.Hour
			},
			fleet: []spot{on("a", fresh(10*time.Minute)), on("b", oldPod(kit.Unready())), on("c", oldPod(kit.Unready()))},
			acts:  "delete c0 OutdatedNotReady",
			want: []string{"a: starting>update wait NotReady a0 U", "b: outdated>update wait Budget b0 slowStart U",
				"c: outdated>update replace OutdatedNotReady c0 U"},
		},
		{
			name: "a back-off beside a pod that leaves", why: "M2, L2: the limit is that of the reason, and Until ends it",
			spec:     []kit.SpecOption{draining},
			fleet:    []spot{on("a", newPod(kit.Failed()), oldPod(hooked, asked))},
			backoffs: []rollout.Backoff{{Node: "a", Revision: "update", Delay: time.Minute, Since: ago(10 * time.Second)}},
			want:     []string{"a: broken>update wait Backoff a0 backoff until=+50s U"},
		},
	}
}

// TestWakeForLingeringPod is V15 where a canary makes the clock matter to a node that may not run the pod: its taint is tolerated
// by the stable revision, which another rule keeps from the node, so that the pod lingers while too few others are available (M4).
func TestWakeForLingeringPod(t *testing.T) {
	l := newLab(kit.Canary("1"), kit.MaxSurge("1"), kit.MinReadySeconds(60), kit.Frozen())
	old := l.spec.Default()
	kit.Image("agent:v1")(&old)
	kit.Tolerating("gone", corev1.TaintEffectNoExecute)(&old)
	old.Template.Spec.NodeSelector = map[string]string{"disk": "ssd"}
	l.old = kit.Hash(old)
	l.snapshot.Revisions = []*appsv1.ControllerRevision{kit.Revision(old, 1), kit.Revision(l.spec, 2)}
	isFast := kit.Label("disk", "ssd")
	l.add(on("a", trialPod()).with(isFast), on("b", oldPod(kit.Unready())).with(isFast), on("x", oldPod(readyFor(30*time.Second))).leave())
	tryingOn("a")(l)
	plan := l.plan(t)
	if want := kit.Noon().Add(30 * time.Second); !plan.NextWake.Equal(want) {
		t.Errorf("the next wake is at %v, want %v: the pod on x becomes available then, and lingers\n%v", plan.NextWake, want, lines(plan))
	}
	now := lines(plan)
	l.snapshot.Now = l.snapshot.Now.Add(30 * time.Second)
	if then := lines(l.plan(t)); slices.Equal(now, then) {
		t.Errorf("nothing is decided otherwise after 30s: %v", now)
	}
}

// The stable revision's template says where its pods may be, so that a template that fits fewer nodes, or more, changes nothing
// outside the canary (T6).
func TestCanaryPlacement(t *testing.T) {
	onlyBig := func(s *rollout.Spec) { s.Template.Spec.NodeSelector = map[string]string{"size": "big"} }
	isBig := kit.Label("size", "big")
	overriding := func(container string, s *rollout.Spec) {
		s.Overrides = []placement.Override{{
			Name: "big", NodeSelector: metav1.LabelSelector{MatchLabels: map[string]string{"size": "big"}},
			Containers: map[string]corev1.ResourceRequirements{container: limits("2")},
		}}
	}
	marked := all(withMark("old", history.PromotedAnnotation, "x"), tryingOn("a"))
	noNetwork := kit.Taint(corev1.TaintNodeNetworkUnavailable, "", corev1.TaintEffectNoSchedule)
	stays := func(node string) string { return node + ": stable>stable none Stable" }
	tests := []struct {
		name, why       string
		old, now        func(*rollout.Spec)
		set             func(*lab)
		fleet           []spot
		acts            string
		want            []string
		desired, wanted int32
	}{
		{"fits fewer nodes", "the others keep their stable pods", nil, onlyBig, nil,
			[]spot{on("a", oldPod()), on("b", oldPod()).with(isBig), on("c", oldPod())}, "delete b0 Outdated",
			[]string{stays("a"), "b: outdated>update replace Outdated b0 U C", stays("c")}, 3, 1},
		{"fits no node", "the canary is stuck, and nothing else changes", nil, onlyBig, nil,
			[]spot{on("a", oldPod()), on("b", oldPod())}, "", []string{stays("a"), stays("b")}, 2, 1},
		{"fits more nodes", "those that the stable revision does not run on get nothing", onlyBig, nil, nil,
			[]spot{on("a", oldPod()).with(isBig), on("b"), on("c", oldPod()).with(isBig)}, "delete a0 Outdated",
			[]string{"a: outdated>update replace Outdated a0 U C", "b: ineligible>none none Ineligible", stays("c")}, 2, 1},
		{"fits more nodes, lost elsewhere", "T6", onlyBig, nil, tryingOn("a"),
			[]spot{on("a", newPod()).with(isBig), on("b"), on("c", oldPod()).with(isBig)}, "patch a0 CanaryLabel",
			[]string{"a: updated>update patch CanaryLabel a0 C", "b: ineligible>none none Ineligible", stays("c")}, 2, 1},
		{"failed", "C7: they are where the stable revision runs", nil, onlyBig, failedRevision,
			[]spot{on("a", oldPod()), on("b", newPod()).with(isBig), on("c")}, "delete b0 Outdated, create c Missing at old",
			[]string{stays("a"), "b: outdated>stable replace Outdated b0 U", "c: missing>stable create Missing U"}, 3, 1},
		{"fits by affinity", "as by nodeSelector", nil, kit.Affinity("size", "big"), nil,
			[]spot{on("a", oldPod()), on("b", oldPod()).with(isBig), on("c", oldPod())}, "delete b0 Outdated",
			[]string{stays("a"), "b: outdated>update replace Outdated b0 U C", stays("c")}, 3, 1},
		{"fits one node by name", "as by nodeSelector", nil, func(s *rollout.Spec) { s.Template.Spec.NodeName = "b" }, nil,
			[]spot{on("a", oldPod()), on("b", oldPod()), on("c", oldPod())}, "delete b0 Outdated",
			[]string{stays("a"), "b: outdated>update replace Outdated b0 U C", stays("c")}, 3, 1},
		{"tolerates more", "those that the stable revision does not tolerate get nothing", nil, kit.Tolerating("gpu", corev1.TaintEffectNoSchedule),
			marked, []spot{on("a", trialPod()), on("b").with(kit.Taint("gpu", "", corev1.TaintEffectNoSchedule))}, "",
			[]string{"a: updated>update none UpToDate C", "b: ineligible>none none Ineligible"}, 1, 1},
		{"needs no network", "P1: on the network of the host it tolerates more", nil, func(s *rollout.Spec) { s.Template.Spec.HostNetwork = true },
			marked, []spot{on("a", trialPod()), on("b").with(noNetwork)}, "",
			[]string{"a: updated>update none UpToDate C", "b: ineligible>none none Ineligible"}, 1, 1},
		{"a container is renamed", "P8: its override is none for the stable revision", nil, func(s *rollout.Spec) {
			s.Template.Spec.Containers[0].Name = "renamed"
			overriding("renamed", s)
		}, tryingOn("a"), []spot{on("a", trialPod()), on("b", oldPod()).with(isBig)}, "",
			[]string{"a: updated>update none UpToDate C", stays("b")}, 2, 1},
		{"an init container is added", "P8: its override is none for the stable revision", nil, func(s *rollout.Spec) {
			s.Template.Spec.InitContainers = []corev1.Container{{Name: "setup", Image: "setup"}}
			overriding("setup", s)
		}, tryingOn("a"), []spot{on("a", trialPod()), on("b", oldPod()).with(isBig)}, "",
			[]string{"a: updated>update none UpToDate C", stays("b")}, 2, 1},
		{"has the resources that some nodes had", "P8: what changes nothing now is still one for the stable revision", nil, func(s *rollout.Spec) {
			s.Template.Spec.Containers[0].Resources = limits("2")
			overriding(s.Template.Spec.Containers[0].Name, s)
		}, tryingOn("a"), []spot{on("a", trialPod()), on("b", oldPod(withTwoCPUs())).with(isBig)}, "",
			[]string{"a: updated>update none UpToDate C", stays("b")}, 2, 1},
		{"promoted", "C6: from then on it says for all where they run, and no canary node is wanted", nil, onlyBig,
			withMark("update", history.PromotedAnnotation, "x"), []spot{on("a", oldPod()), on("b", newPod()).with(isBig)}, "delete a0 Leaving",
			[]string{"a: leaving>none delete Leaving a0", "b: updated>update none UpToDate"}, 1, 0},
		{"cannot be read", "fail closed: no node is vacated", nil, onlyBig, func(l *lab) {
			withMark("old", history.PromotedAnnotation, "x")(l)
			l.snapshot.Revisions[0].Data.Raw = []byte(`{"spec":{}}`)
		}, []spot{on("a", oldPod()), on("b", newPod()).with(isBig)}, "patch b0 CanaryLabel",
			[]string{"a: kept>none none Kept", "b: updated>update patch CanaryLabel b0 C"}, 1, 1},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(kit.Canary("1"), kit.MaxUnavailable("100%"))
			old := l.spec.Default()
			kit.Image("agent:v1")(&old)
			if tt.old != nil {
				tt.old(&old)
			}
			if tt.now != nil {
				tt.now(&l.spec)
			}
			l.old, l.update = kit.Hash(old), kit.Hash(l.spec)
			l.snapshot.Revisions = []*appsv1.ControllerRevision{kit.Revision(old, 1), kit.Revision(l.spec, 2)}
			l.add(tt.fleet...)
			if tt.set != nil {
				tt.set(l)
			}
			plan := l.plan(t)
			compare(t, l, plan, tt.acts, tt.want, tt.why)
			if plan.Status.Desired != tt.desired || plan.Canary.Wanted != tt.wanted {
				t.Errorf("desired %d, canary nodes wanted %d; want %d, %d", plan.Status.Desired, plan.Canary.Wanted, tt.desired, tt.wanted)
			}
			if violations := verify.Plan(l.spec, l.snapshot, &plan); len(violations) > 0 {
				t.Errorf("the plan is wrong: %v", violations)
			}
		})
	}
}

func TestCanaryJoined(t *testing.T) { playScenes(t, canaryJoinedScenes()) }

// canaryJoinedScenes join a canary with what else holds nodes and spends budgets.
func canaryJoinedScenes() []scene {
	stays := func(node string) string { return node + ": stable>stable none Stable" }
	inPlace := []kit.SpecOption{kit.Canary("1"), kit.InPlaceIfPossible()}
	overridden := func(l *lab) {
		paused("a")(l)
		kit.ResourcesFor(l.spec, l.spec.Template.Spec.Containers[0].Name, `{"limits":{"cpu":"1"}}`)(l.snapshot.Nodes[0])
	}
	return []scene{
		{
			name: "partition 50%", why: "C7: the canary's nodes are the first to be updated, though the first by name are held",
			spec:  []kit.SpecOption{kit.Canary("1"), partition("50%")},
			fleet: []spot{on("a", oldPod()), on("b", oldPod())},
			acts:  "delete a0 Outdated",
			want:  []string{"a: outdated>update replace Outdated a0 U C", stays("b")},
		},
		{
			name: "partition 100%", why: "T2, V5: no node may be updated, not even for a canary",
			spec:  []kit.SpecOption{kit.Canary("1"), partition("100%")},
			fleet: []spot{on("a", oldPod()), on("b", oldPod())},
			want:  []string{"a: outdated>held hold Held a0 partition C", stays("b")},
		},
		{
			name: "selector", why: "C1: only nodes that the strategy lets go",
			spec:  []kit.SpecOption{kit.Canary("1"), nodeType("canary")},
			fleet: []spot{on("a", oldPod()), on("b", oldPod()).with(kit.Label("nodeType", "canary"))},
			acts:  "delete b0 Outdated",
			want:  []string{stays("a"), "b: outdated>update replace Outdated b0 U C"},
		},
		{
			name: "failed, with partition and selector", why: "C7: going back is past T2 and T3",
			spec: []kit.SpecOption{kit.Canary("1"), partition("100%"), nodeType("other")}, set: failedRevision,
			fleet: []spot{on("a", newPod()), on("b", oldPod())},
			acts:  "delete a0 Outdated",
			want:  []string{"a: outdated>stable replace Outdated a0 U", stays("b")},
		},
		{
			name: "failed, and one held before", why: "C7: nodes go back to the stable revision, not on to it past what the user holds",
			spec: []kit.SpecOption{kit.Canary("1"), nodeType("other")}, set: failedRevision,
			fleet: []spot{on("a", podAt("older")), on("b", oldPod()), on("c", podAt("older")).with(kit.Label("nodeType", "other"))},
			acts:  "delete c0 Outdated",
			want:  []string{"a: outdated>held hold Held a0 nodeSelector", stays("b"), "c: outdated>stable replace Outdated c0 U"},
		},
		{
			name: "failed, and others held by the partition", why: "T2, C7: what was held before the stable revision stays held",
			spec: []kit.SpecOption{kit.Canary("1"), partition("50%")}, set: failedRevision,
			fleet: []spot{on("a", oldPod()), on("b", podAt("older")), on("c", podAt("older")), on("d", newPod())},
			acts:  "delete d0 Outdated",
			want: []string{
				stays("a"), "b: outdated>held hold Held b0 partition", "c: outdated>held hold Held c0 partition", "d: outdated>stable replace Outdated d0 U",
			},
		},
		{
			name: "running, and others held by the partition", why: "T2: a trial does not update what the rollout before left held",
			spec: []kit.SpecOption{kit.Canary("1"), partition("50%")}, set: tryingOn("d"),
			fleet: []spot{on("a", oldPod()), on("b", podAt("older")), on("c", podAt("older")), on("d", trialPod())},
			want: []string{
				stays("a"), "b: outdated>held hold Held b0 partition", "c: outdated>held hold Held c0 partition", "d: updated>update none UpToDate C",
			},
		},
		{
			name: "failed and paused", why: "C7: but not past T4",
			spec: []kit.SpecOption{kit.Canary("1"), kit.Paused()}, set: failedRevision,
			fleet: []spot{on("a", newPod()), on("b", oldPod())},
			want:  []string{"a: outdated>held hold Held a0 paused", stays("b")},
		},
		{
			name: "surge", why: "B4: the canary takes one of the places",
			spec:  []kit.SpecOption{kit.Canary("2"), kit.MaxSurge("1")},
			fleet: []spot{on("a", oldPod()), on("b", oldPod()), on("c", oldPod())},
			acts:  "create b Outdated",
			want: []string{
				"a: outdated>update wait Budget a0 maxSurge C", "b: outdated>update surge Outdated S C", stays("c"),
			},
		},
		{
			name: "surge, failed beside the stable pod", why: "M3: what is there stays, the failed revision goes",
			spec: []kit.SpecOption{kit.Canary("1"), kit.MaxSurge("1")}, set: failedRevision,
			fleet: []spot{on("a", oldPod(), newPod(kit.Unready())), on("b", oldPod())},
			acts:  "delete a1 Superseded",
			want:  []string{"a: surging>stable delete Superseded a1", stays("b")},
		},
		{
			name: "in place", why: "I1: the canary's pods are updated in place", spec: inPlace,
			fleet: []spot{on("a", oldPod(updatable)), on("b", oldPod(updatable))},
			acts:  "patch a0/status Outdated, patch a0 Outdated",
			want:  []string{"a: outdated>update update Outdated a0 U C", stays("b")},
		},
		{
			name: "in place, failed", why: "C7: back in place, to the stable revision", spec: inPlace, set: failedRevision,
			fleet: []spot{on("a", newPod(updatable)), on("b", oldPod(updatable))},
			acts:  "patch a0 Outdated", // the lab's pods run what the old revision says: only the label changes
			want:  []string{"a: outdated>stable update Outdated a0 U", stays("b")},
		},
		{
			name: "in place, failed, and the stable revision cannot be read", why: "fail closed, but what was begun is completed",
			spec: inPlace, set: func(l *lab) {
				failedRevision(l)
				l.snapshot.Revisions[0].Data.Raw = []byte(`{"spec":{}}`)
			},
			fleet: []spot{on("a", newPod(restarted(ago(time.Minute)))), on("b", oldPod())},
			acts:  "patch a0/status InPlaceUnfinished",
			want:  []string{"a: outdated>stable patch InPlaceUnfinished a0 U", stays("b")},
		},
		{
			name: "a request of before the fail", why: "C7: its pod is there, and goes back",
			spec: []kit.SpecOption{kit.Canary("1")}, set: failedRevision, requested: []string{"a"},
			fleet: []spot{on("a", newPod()), on("b", oldPod())},
			acts:  "delete a0 Outdated",
			want:  []string{"a: outdated>stable replace Outdated a0 U", stays("b")},
		},
		{
			name: "paused, other resources", why: "C7, P8: a paused canary replaces nothing", spec: []kit.SpecOption{kit.Canary("1")}, set: overridden,
			fleet: []spot{on("a", trialPod()), on("b", oldPod())},
			want:  []string{"a: outdated>held hold Held a0 canary C", stays("b")},
		},
		{
			name: "held at what others are at", why: "T1: after the promotion too what is lost on a held node does not come back updated",
			spec:  []kit.SpecOption{kit.Canary("1"), holdRevision, partition("2")},
			set:   all(withMark("update", history.PromotedAnnotation, "x")),
			fleet: []spot{on("a", newPod()), on("b"), on("c", oldPod())}, acts: "create b Missing at old",
			want: []string{"a: updated>update none UpToDate", "b: missing>held create Missing U", "c: outdated>held hold Held c0 partition"},
		},
		{
			name: "held at what it ran", why: "T1, T6: with holdRevision what is lost comes back as it was, also during a canary",
			spec: []kit.SpecOption{kit.Canary("1"), holdRevision, nodeType("canary")}, set: all(withMark("old", history.PromotedAnnotation, "x"), tryingOn("b")),
			fleet: []spot{on("a", oldPod(terminating())), on("b", trialPod()).with(kit.Label("nodeType", "canary"))},
			want:  []string{"a: terminating>stable wait Terminating U", "b: updated>update none UpToDate C"},
		},
	}
}
