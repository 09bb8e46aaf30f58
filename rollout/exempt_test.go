package rollout_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// unschedulable returns a pod for which the scheduler finds no room.
func unschedulable() podOf {
	return pinned(newPod(func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{
			{Type: "example.com/Quota", Status: corev1.ConditionTrue},
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable},
		}
	}))
}

// goneBy returns a pod whose grace period ends so long after now.
func goneBy(at time.Duration) kit.PodOption {
	return func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.NewTime(kit.Noon().Add(at))) }
}

// unreachable gives the node the condition of one that nobody has heard from. What others than the kubelet report stays.
func unreachable(n *corev1.Node) { nodeReady(corev1.ConditionUnknown)(n) }

// nodeReady gives the node the condition, behind another one.
func nodeReady(status corev1.ConditionStatus) kit.NodeOption {
	return func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{
			{Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionFalse}, {Type: corev1.NodeReady, Status: status},
		}
	}
}

// deletedBy returns a pod with goneBy.
func deletedBy(at time.Duration, p podOf) podOf {
	return func(l *lab, node, name string) *corev1.Pod {
		pod := p(l, node, name)
		goneBy(at)(pod)
		return pod
	}
}

func TestExemptB8(t *testing.T) { playScenes(t, exemptScenes()) }

func exemptScenes() []scene {
	limit := func(value string) []kit.SpecOption { return []kit.SpecOption{kit.MaxUnschedulable(value)} }
	goes := func(node string) string { return node + ": outdated>update replace Outdated " + node + "0 U" }
	waits := func(node string) string {
		return node + ": outdated>update wait Budget " + node + "0 maxUnavailable"
	}
	stuck := func(at time.Duration) podOf { return oldPod(goneBy(at)) }
	return []scene{
		{
			name: "unschedulable", why: "B8: the scheduler's report leaves the node out", spec: limit("1"),
			fleet: []spot{on("a", unschedulable()), on("b", oldPod())}, acts: "delete b0 Outdated",
			want:  []string{"a: starting>update wait NotReady a0 X", goes("b")},
			spent: "unavailable 1 of 1, surging 0 of 0, waiting 0",
		},
		{
			name: "no limit", why: "B8: by default no node is left out",
			fleet: []spot{on("a", unschedulable()), on("b", oldPod())},
			want:  []string{"a: starting>update wait NotReady a0 U", waits("b")},
		},
		{
			name: "more than the limit", why: "B8: the first by name are left out", spec: limit("1"),
			fleet: []spot{on("a", unschedulable()), on("b", unschedulable()), on("c", oldPod())},
			want:  []string{"a: starting>update wait NotReady a0 X", "b: starting>update wait NotReady b0 U", waits("c")},
		},
		{
			name: "percentages round up", why: "B8: 34% of 3 is 2", spec: limit("34%"),
			fleet: []spot{on("a", unschedulable()), on("b", unschedulable()), on("c", oldPod())}, acts: "delete c0 Outdated",
			want: []string{"a: starting>update wait NotReady a0 X", "b: starting>update wait NotReady b0 X", goes("c")},
		},
		{
			name: "terminating beyond its grace period", why: "B8: the deletion timestamp has the grace period in it; at that very instant", spec: limit("1"),
			fleet: []spot{on("a", stuck(0)), on("b", oldPod())}, acts: "delete b0 Outdated",
			want: []string{"a: terminating>update wait Terminating X", goes("b")},
		},
		{
			name: "terminating within its grace period", why: "B8: it will be gone soon", spec: limit("1"),
			fleet: []spot{on("a", stuck(time.Nanosecond)), on("b", oldPod())},
			want:  []string{"a: terminating>update wait Terminating U", waits("b")},
		},
		{
			name: "terminating before it was scheduled", why: "B8: it will be gone soon, and found no room before", spec: limit("1"),
			fleet: []spot{on("a", deletedBy(time.Minute, unschedulable())), on("b", oldPod())},
			want:  []string{"a: terminating>update wait Terminating U", waits("b")},
		},
		{
			name: "unreachable by condition", why: "B8", spec: limit("1"),
			fleet: []spot{on("a", newPod(kit.Unready())).with(unreachable), on("b", oldPod())}, acts: "delete b0 Outdated",
			want: []string{"a: starting>update wait NotReady a0 X", goes("b")},
		},
		{
			name: "unreachable by taint", why: "B8: the default tolerations let the pod stay (P1)", spec: limit("1"),
			fleet: []spot{on("a", newPod(kit.Unready())).with(kit.Taint(corev1.TaintNodeUnreachable, "", corev1.TaintEffectNoExecute)), on("b", oldPod())},
			acts:  "delete b0 Outdated",
			want:  []string{"a: starting>update wait NotReady a0 X", goes("b")},
		},
		{
			name: "not ready is not unreachable", why: "B8: a node whose kubelet answers may be the revision's fault", spec: limit("1"),
			fleet: []spot{on("a", newPod(kit.Unready())).with(nodeReady(corev1.ConditionFalse)), on("b", oldPod())},
			want:  []string{"a: starting>update wait NotReady a0 U", waits("b")},
		},
		{
			name: "only what would count", why: "B8: an unreachable node whose pod serves takes no place of those left out", spec: limit("1"),
			fleet: []spot{on("a", newPod()).with(unreachable), on("b", unschedulable()), on("c", oldPod())}, acts: "delete c0 Outdated",
			want: []string{"a: updated>update none UpToDate", "b: starting>update wait NotReady b0 X", goes("c")},
		},
		{
			name: "surge places", why: "B8: they hold none", spec: []kit.SpecOption{kit.MaxSurge("1"), kit.MaxUnschedulable("1")},
			fleet: []spot{on("a", oldPod(), unschedulable()), on("b", oldPod())}, acts: "create b Outdated",
			want:  []string{"a: surging>update wait NotReady a1 X", "b: outdated>update surge Outdated S"},
			spent: "unavailable 0 of 0, surging 1 of 1, waiting 0",
		},
		{
			name: "a new pod beside one that is not ready", why: "B8: on a node left out it takes no surge place, so that another node is updated",
			spec:  []kit.SpecOption{kit.MaxSurge("1"), kit.MaxUnschedulable("1")},
			fleet: []spot{on("a", oldPod(kit.Unready())).with(unreachable), on("b", oldPod())}, acts: "create a OutdatedNotReady, create b Outdated",
			want:  []string{"a: outdated>update surge OutdatedNotReady X", "b: outdated>update surge Outdated S"},
			spent: "unavailable 0 of 0, surging 1 of 1, waiting 0",
		},
		{
			name: "replacing it costs nothing", why: "B3: it is unavailable already, whatever the budget counts", spec: limit("1"),
			fleet: []spot{on("a", oldPod(kit.Unready())).with(unreachable), on("b", oldPod())}, acts: "delete a0 OutdatedNotReady, delete b0 Outdated",
			want: []string{"a: outdated>update replace OutdatedNotReady a0 X", goes("b")},
		},
		{
			name: "available pods that outnumber desired", why: "M4: nodes left out are not waited for",
			spec: []kit.SpecOption{kit.MaxSurge("1"), kit.MaxUnschedulable("1"), kit.TemplateNodeSelector("daemon", "yes")},
			fleet: []spot{
				on("a", newPod(kit.Unready())).with(unreachable, kit.Label("daemon", "yes")),
				on("b", newPod()).with(kit.Label("daemon", "yes")), on("c", newPod()),
			},
			acts: "delete c0 Leaving",
			want: []string{"a: starting>update wait NotReady a0 X", "b: updated>update none UpToDate", "c: leaving>none delete Leaving c0"},
		},
		{
			name: "available pods that outnumber desired, by the last node", why: "M4: whatever other nodes come before the one left out",
			spec: []kit.SpecOption{kit.MaxSurge("1"), kit.MaxUnschedulable("1"), kit.TemplateNodeSelector("daemon", "yes")},
			fleet: []spot{
				on("a", newPod()), on("b", newPod()).with(kit.Label("daemon", "yes")),
				on("c", newPod(kit.Unready())).with(unreachable, kit.Label("daemon", "yes")),
			},
			acts: "delete a0 Leaving",
			want: []string{"a: leaving>none delete Leaving a0", "b: updated>update none UpToDate", "c: starting>update wait NotReady c0 X"},
		},
		{
			name: "available pods that do not outnumber desired", why: "M4: of nodes without an available pod, those that are to run it and could not be helped",
			spec: []kit.SpecOption{kit.MaxSurge("1"), kit.MaxUnschedulable("100%"), kit.TemplateNodeSelector("daemon", "yes")},
			fleet: []spot{
				on("a", newPod()).with(unreachable, kit.Label("daemon", "yes")), on("b", newPod(kit.Unready())).with(kit.Label("daemon", "yes")),
				on("c", newPod()), on("d", newPod(terminating())).with(unreachable),
			},
			want: []string{
				"a: updated>update none UpToDate", "b: starting>update wait NotReady b0 U S", "c: leaving>none wait Serving c0 desired",
				"d: leaving>none wait Terminating",
			},
		},
	}
}

// The plan comes back when a grace period ends that B8 goes by.
func TestExemptWake(t *testing.T) {
	l := newLab(kit.MaxUnschedulable("1")).add(on("a", oldPod(goneBy(time.Minute))), on("b", oldPod()))
	if got, want := l.plan(t).NextWake, kit.Noon().Add(time.Minute); !got.Equal(want) {
		t.Errorf("wakes at %v, want %v", got, want)
	}
	l.spec.Strategy.MaxUnschedulable = nil
	if got, want := l.plan(t).NextWake, kit.Noon().Add(time.Minute); !got.Equal(want) {
		t.Errorf("wakes at %v, want %v: no node is left out, but the pod should be gone by then", got, want)
	}
}

// The budget shows how many nodes are left out, of how many.
func TestExemptBudget(t *testing.T) {
	l := newLab(kit.MaxUnschedulable("50%")).add(on("a", unschedulable()), on("b", oldPod()), on("c", newPod()))
	got := l.plan(t).Budget
	if want := (rollout.Budget{Desired: 3, MaxUnavailable: 1, Unavailable: 1, Burst: 250, MaxUnschedulable: 2, Exempt: 1}); got != want {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}
