package rollout_test

import (
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
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
