package rollout_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/failure"
	"github.com/daemonplan/daemonplan/rollout/history"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/verify"
	"github.com/daemonplan/daemonplan/status"
)

func TestFailuresF(t *testing.T) { playVerified(t, failureScenes()) }

// failures are options with these bounds; "" stands for the default.
func failures(maxFailed, quarantine string, change ...func(*failure.Options)) kit.SpecOption {
	var options failure.Options
	if maxFailed != "" {
		options.MaxFailed = new(intstr.Parse(maxFailed))
	}
	if quarantine != "" {
		options.Quarantine = new(intstr.Parse(quarantine))
	}
	for _, c := range change {
		c(&options)
	}
	return kit.Failures(options)
}

func rollback(o *failure.Options) { o.Action = failure.Rollback }

func retry(value string) func(*failure.Options) { return func(o *failure.Options) { o.Retry = value } }

// stuckFor is a pod of the update revision that was created so long ago and was never ready.
func stuckFor(d time.Duration) podOf {
	return newPod(kit.Created(ago(d)), kit.Unready(), unreadySince(ago(d)))
}

// unstartedPod is one that no kubelet has started.
func unstartedPod(p *corev1.Pod) { p.Status.StartTime = nil }

// backSince is a node that is Ready since then.
func backSince(at time.Time) kit.NodeOption {
	return func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(at)},
		}
	}
}

// downSince is a node that is not Ready since then.
func downSince(at time.Time) kit.NodeOption {
	return func(n *corev1.Node) {
		backSince(at)(n)
		n.Status.Conditions[0].Status = corev1.ConditionFalse
	}
}

// unreadySince dates the pod's start and its condition Ready.
func unreadySince(at time.Time) kit.PodOption {
	return func(p *corev1.Pod) {
		p.Status.StartTime = new(metav1.NewTime(at))
		for i := range p.Status.Conditions {
			p.Status.Conditions[i].LastTransitionTime = metav1.NewTime(at)
		}
	}
}

// TestSeriesBeginsWithTheFirst: of several failed pods that one plan deletes, the one that was created first begins the series
// (F1), whatever their order. They count once, and not before they are gone.
func TestSeriesBeginsWithTheFirst(t *testing.T) {
	failed := func(age time.Duration) podOf {
		return newPod(kit.Failed(), kit.Created(ago(age)), unreadySince(ago(age)))
	}
	for _, pods := range [][]podOf{
		{failed(20 * time.Minute), failed(time.Minute)}, {failed(time.Minute), failed(20 * time.Minute)},
	} {
		l := newLab(failures("5", "")).add(on("a", pods...))
		plan := l.plan(t)
		want := []rollout.Backoff{{
			Node: "a", Revision: plan.Status.UpdateRevision, Delay: time.Second, Since: kit.Noon(), First: ago(20 * time.Minute),
			Going: []types.UID{"pod-a0", "pod-a1"},
		}}
		if diff := cmp.Diff(want, plan.Memory.Backoffs); len(plan.Deletes) != 2 || diff != "" {
			t.Errorf("%d pods are deleted, and remembered is, -want +got:\n%s", len(plan.Deletes), diff)
		}
		// Nothing of it was carried out: whoever asks for the same again counts nothing.
		for range 3 {
			l.snapshot.Memory, l.snapshot.Now = plan.Memory, l.snapshot.Now.Add(time.Minute)
			if plan = l.plan(t); plan.Memory.Backoffs[0].Deleted != 0 || len(plan.Memory.Backoffs[0].Going) != 2 {
				t.Errorf("nothing is gone, and remembered is %+v", plan.Memory.Backoffs)
			}
		}
		l.snapshot.Memory, l.snapshot.Pods = plan.Memory, nil
		if plan = l.plan(t); plan.Memory.Backoffs[0].Deleted != 1 || plan.Memory.Backoffs[0].Going != nil {
			t.Errorf("both are gone, and remembered is %+v", plan.Memory.Backoffs)
		}
		for _, v := range verify.Plan(l.spec, l.snapshot, &plan) {
			t.Error(v)
		}
	}
}

// TestSeriesBeginsWithTheTrouble: a pod that served for an hour, or was updated in place a minute ago, or whose node was down until
// then, begins a series when it fails or its node is back, and not when it was created (F1, P-B).
func TestSeriesBeginsWithTheTrouble(t *testing.T) {
	for name, failed := range map[string]podOf{
		"served until a minute ago": newPod(kit.Failed(), kit.Created(ago(time.Hour)), func(p *corev1.Pod) {
			unreadySince(ago(time.Minute))(p)
			p.Status.StartTime = new(metav1.NewTime(ago(time.Hour)))
		}),
		"its node was down": newPod(kit.Failed(), kit.Created(ago(time.Hour)), unreadySince(ago(time.Hour)), unstartedPod),
		"updated in place": newPod(kit.Failed(), kit.Created(ago(time.Hour)), unreadySince(ago(time.Hour)), func(p *corev1.Pod) {
			p.Annotations = map[string]string{
				inplace.StateKey: fmt.Sprintf(`{"revision":"x","updateTimestamp":%q}`, ago(time.Minute).UTC().Format(time.RFC3339)),
			}
		}),
	} {
		t.Run(name, func(t *testing.T) {
			node := on("a", failed)
			if name == "its node was down" {
				node = node.with(backSince(ago(time.Minute)))
			}
			l := newLab(failures("", "", rollback)).add(node, on("b", oldPod()))
			plan := l.plan(t)
			if got := plan.Memory.Backoffs; len(got) != 1 || !got[0].First.Equal(ago(time.Minute)) {
				t.Errorf("remembered is %+v, want a series since a minute ago", got)
			}
			l.snapshot.Memory, l.snapshot.Pods = plan.Memory, l.snapshot.Pods[1:]
			if plan = l.plan(t); plan.GaveUp != "" || plan.Budget.Failed > 0 {
				t.Errorf("%d nodes have failed, and it is given up because %q", plan.Budget.Failed, plan.GaveUp)
			}
			for _, v := range verify.Plan(l.spec, l.snapshot, &plan) {
				t.Error(v)
			}
		})
	}
}

func failureScenes() []scene {
	with := func(options ...kit.SpecOption) []kit.SpecOption { return append(options, kit.MaxUnavailable("9")) }
	goes := func(node string) string { return node + ": outdated>update replace Outdated " + node + "0 U" }
	const waits = "b: outdated>held wait Gated b0 failures"
	starting := func(node, more string) string { return node + ": starting>update wait NotReady " + node + "0 " + more }
	const late, early = 10 * time.Minute, 10*time.Minute - time.Second
	twice := int32(2)
	byRestarts := func(o *failure.Options) { o.MaxRestarts = &twice }
	restarted := func(times int32) podOf {
		return newPod(kit.Created(ago(time.Minute)), kit.Unready(), func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", RestartCount: 1}, {Name: "other", RestartCount: times}}
		})
	}
	restartedAndUp := newPod(func(p *corev1.Pod) { p.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 3}} })
	ended := func(d time.Duration) podOf { // so long ago, the third time
		return newPod(kit.Created(ago(time.Hour)), func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{
				Name: "main", RestartCount: 3,
				LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(ago(d))}},
			}}
		})
	}
	series := []rollout.Backoff{{Node: "a", Revision: "update", Delay: time.Second, Since: ago(time.Minute), First: ago(late), Deleted: 3}}
	return []scene{
		{
			name: "a node has failed", why: "F1, F3: nothing is begun; the default tolerates none", spec: with(failures("", "")),
			fleet: []spot{on("a", stuckFor(late)), on("b", oldPod())}, want: []string{starting("a", "U F"), waits},
			spent: "unavailable 1 of 9, surging 0 of 0, waiting 0",
		},
		{
			name: "the deadline has not passed", why: "F1: the node may yet come up", spec: with(failures("", "")),
			fleet: []spot{on("a", stuckFor(early)), on("b", oldPod())}, acts: "delete b0 Outdated", want: []string{starting("a", "U"), goes("b")},
		},
		{
			name: "Ready again after an outage", why: "P-B: a node rebooted after an hour of good service, and its pod waits for minReadySeconds",
			spec: append(with(failures("", "")), kit.MinReadySeconds(30)), fleet: []spot{on("a", newPod(kit.Created(ago(time.Hour)), kit.Ready(ago(10*time.Second)))), on("b", oldPod())},
			acts: "delete b0 Outdated", want: []string{"a: starting>update wait MinReadySeconds a0 minReadySeconds until=+20s U", goes("b")},
		},
		{
			name: "a node that was down is back", why: "P-B: nothing of the revision ran there before", spec: with(failures("", "")),
			fleet: []spot{on("a", newPod(kit.Created(ago(time.Hour)), kit.Unready(), unstartedPod)).with(backSince(ago(time.Minute))), on("b", oldPod())},
			acts:  "delete b0 Outdated", want: []string{starting("a", "U"), goes("b")},
		},
		{
			name: "a node that was down is back for long", why: "F1: since then the deadline has passed", spec: with(failures("", "")),
			fleet: []spot{on("a", newPod(kit.Created(ago(time.Hour)), kit.Unready(), unstartedPod)).with(backSince(ago(late))), on("b", oldPod())},
			want:  []string{starting("a", "U F"), waits},
		},
		{
			name: "a node went down in the second of its update", why: "P-B: nobody knows which came first, which is no evidence against the update",
			spec:  with(failures("", "")),
			fleet: []spot{on("a", newPod(kit.Created(ago(late)), kit.Unready(), unreadySince(ago(late)), unstartedPod)).with(downSince(ago(late))), on("b", oldPod())},
			acts:  "delete b0 Outdated", want: []string{starting("a", "U"), goes("b")},
		},
		{
			name: "a node went down after its update", why: "F1: that may be the update's doing", spec: with(failures("", "")),
			fleet: []spot{on("a", newPod(kit.Created(ago(late+time.Second)), kit.Unready(), unreadySince(ago(late+time.Second)), unstartedPod)).with(downSince(ago(late))), on("b", oldPod())},
			want:  []string{starting("a", "U F"), waits},
		},
		{
			name: "another deadline", why: "F1", spec: with(failures("", "", func(o *failure.Options) { o.Deadline = time.Hour })),
			fleet: []spot{on("a", stuckFor(late)), on("b", oldPod())}, acts: "delete b0 Outdated", want: []string{starting("a", "U"), goes("b")},
		},
		{
			name: "one failure is tolerated", why: "F2", spec: with(failures("1", "")),
			fleet: []spot{on("a", stuckFor(late)), on("b", oldPod())}, acts: "delete b0 Outdated", want: []string{starting("a", "U F"), goes("b")},
		},
		{
			name: "percentages are rounded down", why: "F2: 49% of two nodes are none", spec: with(failures("49%", "")),
			fleet: []spot{on("a", stuckFor(late)), on("b", oldPod())}, want: []string{starting("a", "U F"), waits},
		},
		{
			name: "percentages are of open parts", why: "F2: 50% of the one node of ring 0 are none", spec: with(failures("50%", ""), kit.Stages(ring("0"))),
			fleet: []spot{on("a", stuckFor(late)).with(kit.Label("ring", "0")), on("b", oldPod()), on("c", oldPod())},
			want:  []string{starting("a", "U F"), "b: outdated>held wait Gated b0 stage", "c: outdated>held wait Gated c0 stage"},
		},
		{
			name: "restarts", why: "F1: one more than maxRestarts, while the pod is not available", spec: with(failures("", "", byRestarts)),
			fleet: []spot{on("a", restarted(3)), on("b", oldPod())}, want: []string{starting("a", "U F"), waits},
		},
		{
			name: "restarts of an available pod", why: "F1: it crashes again and again, and is available in between", spec: with(failures("", "", byRestarts)),
			fleet: []spot{on("a", restartedAndUp), on("b", oldPod())}, want: []string{"a: updated>update none UpToDate F", waits},
		},
		{
			name: "not too many restarts", why: "F1", spec: with(failures("", "", byRestarts)),
			fleet: []spot{on("a", restarted(2)), on("b", oldPod())}, acts: "delete b0 Outdated", want: []string{starting("a", "U"), goes("b")},
		},
		{
			name: "restarts by reboots", why: "P-B: the node became Ready after the container had ended", spec: with(failures("", "", byRestarts)),
			fleet: []spot{on("a", ended(2*time.Minute)).with(backSince(ago(time.Minute))), on("b", oldPod())},
			acts:  "delete b0 Outdated", want: []string{"a: updated>update none UpToDate", goes("b")},
		},
		{
			name: "a restart after a reboot", why: "F1: the container ended while the node was Ready", spec: with(failures("", "", byRestarts)),
			fleet: []spot{on("a", ended(time.Minute)).with(backSince(ago(2 * time.Minute))), on("b", oldPod())},
			want:  []string{"a: updated>update none UpToDate F", waits},
		},
		{
			name: "a young pod of a series", why: "F1: the deadline runs from the first pod that M2 deleted", spec: with(failures("", "")), backoffs: series,
			fleet: []spot{on("a", stuckFor(time.Second)), on("b", oldPod())}, want: []string{starting("a", "U F"), waits},
		},
		{
			name: "deleted pods are restarts", why: "F1", spec: with(failures("", "", byRestarts, func(o *failure.Options) { o.Deadline = 24 * time.Hour })), backoffs: series,
			fleet: []spot{on("a", stuckFor(time.Second)), on("b", oldPod())}, want: []string{starting("a", "U F"), waits},
		},
		{
			name: "the pod of a series was deleted", why: "F1, F3: it has failed all the same, and gets its revision back", spec: with(failures("", "")), backoffs: series,
			fleet: []spot{on("a"), on("b", oldPod())}, acts: "create a Missing", want: []string{"a: missing>update create Missing U F", waits},
		},
		{
			name: "what is lost comes back as it was", why: "F3: no node gets a revision that fails", spec: with(failures("", "")),
			fleet: []spot{on("a", stuckFor(late)), on("b")}, acts: "create b Missing at old", want: []string{starting("a", "U F"), "b: missing>held create Missing U"},
		},
		{
			name: "down for another reason", why: "F1, B8: it has not failed", spec: with(failures("", ""), kit.MaxUnschedulable("1")),
			fleet: []spot{on("a", newPod(kit.Unscheduled("a", kit.Noon()), kit.Created(ago(late)))), on("b", oldPod())}, acts: "delete b0 Outdated",
			want: []string{starting("a", "X"), goes("b")},
		},
		{
			name: "quarantine", why: "F4: it takes no room, and counts for F2", spec: []kit.SpecOption{failures("1", "1")},
			fleet: []spot{on("a", stuckFor(late)), on("b", oldPod())}, acts: "delete b0 Outdated", want: []string{starting("a", "X F"), goes("b")},
			spent: "unavailable 1 of 1, surging 0 of 0, waiting 0",
		},
		{
			name: "quarantine is for so many", why: "F4: ascending by name", spec: []kit.SpecOption{failures("2", "1")},
			fleet: []spot{on("a", stuckFor(late)), on("b", stuckFor(late)), on("c", oldPod())},
			want:  []string{starting("a", "X F"), starting("b", "U F"), "c: outdated>update wait Budget c0 maxUnavailable"},
		},
		{
			name: "quarantine and stages", why: "F4: the part is done without the node", spec: with(failures("1", "1"), kit.Stages(ring("0"))),
			fleet: []spot{
				on("a", stuckFor(late)).with(kit.Label("ring", "0")), on("b", newPod()).with(kit.Label("ring", "0")), on("c", oldPod()),
			},
			acts: "delete c0 Outdated", want: []string{starting("a", "X F"), "b: updated>update none UpToDate", goes("c")},
		},
		{
			name: "the only node of a part, broken and in quarantine", why: "F4, T8: nothing shows that the revision works there",
			spec:  with(failures("1", "1"), kit.Stages(ring("0"))),
			fleet: []spot{on("a", stuckFor(late)).keep().with(kit.Label("ring", "0")), on("b", oldPod())},
			want:  []string{"a: kept>none none Kept X F", "b: outdated>held wait Gated b0 stage"},
		},
		{
			name: "a keep node", why: "F1: a node that the revision broke", spec: with(failures("", "")),
			fleet: []spot{on("a", stuckFor(late)).keep(), on("b", oldPod())}, want: []string{"a: kept>none none Kept U F", waits},
		},
		{
			name: "the revision was completed", why: "F2: judged until it is marked", spec: with(failures("", "")), set: completed("update"),
			fleet: []spot{on("a", stuckFor(late)), on("b", oldPod())}, acts: "delete b0 Outdated", want: []string{starting("a", "U"), goes("b")},
		},
		{
			name: "every pod is available at this instant", why: "F2: it crashes again and again, so that the revision is given up and not completed", set: markedBySomebody,
			spec:  with(failures("", "", rollback, byRestarts)),
			fleet: []spot{on("a", restartedAndUp), on("b", newPod())}, want: []string{"a: updated>update none UpToDate F", "b: updated>update none UpToDate"},
		},
		{
			name: "rollback begins with a verdict", why: "F3: the next plan goes back", spec: with(failures("", "", rollback)),
			fleet: []spot{on("a", stuckFor(late)), on("b", oldPod())}, want: []string{starting("a", "U F"), waits},
		},
		{
			name: "given up", why: "F3: all nodes go back to the base", spec: with(failures("", "", rollback)), set: givenUp,
			fleet: []spot{on("a", stuckFor(late)), on("b", oldPod()), on("c", newPod()), on("d")}, acts: "delete a0 OutdatedNotReady, delete c0 Outdated, create d Missing at old",
			want: []string{
				"a: outdated>stable replace OutdatedNotReady a0 U", "b: stable>stable none Stable", "c: outdated>stable replace Outdated c0 U",
				"d: missing>stable create Missing U",
			},
		},
		{
			name: "given up, and marked by somebody else", why: "F3: only this mark is one of failures", spec: with(failures("", "", rollback)), set: markedBySomebody,
			fleet: []spot{on("b", oldPod())}, acts: "delete b0 Outdated", want: []string{goes("b")},
		},
		{
			name: "retried", why: "F3: only that revives it", spec: with(failures("", "", rollback, retry("*"))), set: givenUp,
			fleet: []spot{on("b", oldPod())}, acts: "delete b0 Outdated", want: []string{goes("b")},
		},
		{
			name: "retried a short time after the last failed pod was deleted", why: "F1, F3: the node gets another try, not the verdict of the last one",
			spec: with(failures("", "", rollback, byRestarts, retry("*"))), set: givenUp, backoffs: series,
			fleet: []spot{on("a", oldPod())}, acts: "delete a0 Outdated", want: []string{goes("a")},
		},
		{
			name: "a retry of another revision", why: "F3: it names none", spec: with(failures("", "", rollback, retry("other"))), set: givenUp,
			fleet: []spot{on("b", oldPod())}, want: []string{"b: stable>stable none Stable"},
		},
		{
			name: "nothing to go back to", why: "F3: then it pauses", spec: with(failures("", "", rollback)), set: func(l *lab) { l.snapshot.Revisions = l.snapshot.Revisions[1:] },
			fleet: []spot{on("a", stuckFor(late)), on("b", oldPod())}, want: []string{starting("a", "U F"), waits},
		},
		{
			name: "surge", why: "F1: the new pod is not available, whatever is beside it", spec: []kit.SpecOption{failures("", ""), kit.MaxSurge("9")},
			fleet: []spot{on("a", stuckFor(late), oldPod()), on("b", oldPod())}, want: []string{"a: surging>update wait NotReady a0 S F", waits},
		},
	}
}

// markedBySomebody marks the update revision as one that somebody gave up.
func markedBySomebody(l *lab) {
	for _, r := range l.snapshot.Revisions {
		if history.HashOf(r) == l.update {
			r.Annotations = map[string]string{history.FailedAnnotation: "Because"}
		}
	}
}

// givenUp marks the update revision as one that failed on too many nodes.
func givenUp(l *lab) {
	for _, r := range l.snapshot.Revisions {
		if history.HashOf(r) == l.update {
			r.Annotations = map[string]string{
				history.FailedAnnotation: failure.Reason, history.FailedMessageAnnotation: "1 node failed, at most 0 may: a",
			}
		}
	}
}

// TestRetryBeginsSlowStartAnew: slow start (B7) of a revision that is rolled out once more begins with the retry.
func TestRetryBeginsSlowStartAnew(t *testing.T) {
	l := newLab(failures("", "", rollback, retry("*/1")), kit.SlowStart(time.Second, "1", "5")).add(on("a", oldPod()), on("b", oldPod()))
	l.snapshot.Memory = rollout.Memory{
		Version: rollout.MemoryVersion,
		Rollout: rollout.Record{Revision: l.hash("update"), Began: ago(time.Hour), GaveUp: "1 node failed, at most 0 may: a"},
	}
	plan := l.plan(t)
	if plan.Budget.SlowStart != 1 {
		t.Errorf("%d nodes may be under way, want 1", plan.Budget.SlowStart)
	}
	for _, v := range verify.Plan(l.spec, l.snapshot, &plan) {
		t.Error(v)
	}
}

// TestRetryBesideFailingPods: a pod of the revision that is still there when it is retried has not failed again at once (F1, F3): the
// deadline begins with the retry, and what restarted before does not count.
func TestRetryBesideFailingPods(t *testing.T) {
	crashed := func(p *corev1.Pod) {
		ended := &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(ago(time.Minute))}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 9, LastTerminationState: corev1.ContainerState{Terminated: ended}}}
	}
	byRestarts := func(o *failure.Options) { o.MaxRestarts = new(int32(2)) }
	for name, option := range map[string]func(*failure.Options){"deadline": func(*failure.Options) {}, "restarts": byRestarts} {
		t.Run(name, func(t *testing.T) {
			l := newLab(failures("", "", rollback, retry("*/1"), option)).add(
				on("a", newPod(kit.Created(ago(time.Hour)), kit.Unready(), unreadySince(ago(time.Hour)), crashed)), on("b", oldPod()))
			givenUp(l)
			check := func(what string, failed int32) rollout.Plan {
				plan := l.plan(t)
				if plan.Budget.Failed != failed || (plan.GaveUp != "") != (failed > 0) {
					t.Errorf("%s: %d nodes have failed, want %d; given up because %q", what, plan.Budget.Failed, failed, plan.GaveUp)
				}
				for _, v := range verify.Plan(l.spec, l.snapshot, &plan) {
					t.Error(v)
				}
				return plan
			}
			plan := check("the retry", 0)
			for i, r := range l.snapshot.Revisions { // its marks arrive
				if r = r.DeepCopy(); history.HashOf(r) == l.update {
					r.Annotations = map[string]string{history.RetriedAnnotation: "*/1"}
				}
				l.snapshot.Revisions[i] = r
			}
			l.snapshot.Memory = plan.Memory
			l.snapshot.Now = l.snapshot.Now.Add(9 * time.Minute)
			plan = check("within the deadline", 0)
			if want := kit.Noon().Add(failure.DefaultDeadline); !plan.NextWake.Equal(want) {
				t.Errorf("it wakes at %v, want %v", plan.NextWake, want)
			}
			if name == "restarts" {
				for i, p := range l.snapshot.Pods {
					if p.Status.ContainerStatuses != nil {
						p = p.DeepCopy()
						p.Status.ContainerStatuses[0].LastTerminationState.Terminated.FinishedAt = metav1.NewTime(kit.Noon().Add(time.Second))
						l.snapshot.Pods[i] = p
					}
				}
				check("once more since", 1)
				return
			}
			l.snapshot.Memory, l.snapshot.Now = plan.Memory, kit.Noon().Add(failure.DefaultDeadline)
			check("after the deadline", 1)
		})
	}
}

// TestSeriesOfOneRevision: Failed pods that carry the hash of a duplicate of the update revision, or tell of it by their template
// generation only, are of one series with those that carry its own hash (F1, M2).
func TestSeriesOfOneRevision(t *testing.T) {
	generation := func(p *corev1.Pod) {
		delete(p.Labels, appsv1.DefaultDaemonSetUniqueLabelKey)
		p.Labels[rollout.TemplateGenerationLabel] = "5"
	}
	for name, failed := range map[string]podOf{
		"its own hash":        newPod(kit.Failed(), kit.Created(ago(time.Minute))),
		"a duplicate's":       podAt(twin, kit.Failed(), kit.Created(ago(time.Minute))),
		"template generation": newPod(kit.Failed(), kit.Created(ago(time.Minute)), generation),
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(failures("", ""), func(s *rollout.Spec) { s.TemplateGeneration = new(int64(5)) }).add(on("a", failed), on("b", oldPod()))
			if name == "a duplicate's" {
				l.numbered(t, numbered{"update", 2}, numbered{"twin", 1})
			}
			plan := l.plan(t)
			if got := plan.Memory.Backoffs; len(got) != 1 || got[0].Revision != plan.Status.UpdateRevision || len(got[0].Going) != 1 || !got[0].First.Equal(ago(time.Minute)) {
				t.Errorf("remembered is %+v, want one pod of revision %s on its way since a minute ago", got, plan.Status.UpdateRevision)
			}
			for _, v := range verify.Plan(l.spec, l.snapshot, &plan) {
				t.Error(v)
			}
			l.snapshot.Memory = plan.Memory // a second one waits for the back-off of the first
			if again := l.plan(t); len(again.Deletes) > 1 {
				t.Errorf("it is deleted again at once: %v", again.Deletes)
			}
		})
	}
}

// TestSeriesOfAPodOnItsWayOut: a Failed pod that its hook has let go belongs to the series of its node, whether the memory of the
// plan that asked the hook is there or lost; it counts once (F1, L2).
func TestSeriesOfAPodOnItsWayOut(t *testing.T) {
	for name, memory := range map[string]rollout.Memory{
		"lost": {},
		"kept": {Version: rollout.MemoryVersion, Backoffs: []rollout.Backoff{{
			Node: "a", Delay: 4 * time.Second, Since: ago(2 * time.Second), First: ago(time.Minute), Going: []types.UID{"pod-a0"},
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			failed := newPod(kit.Failed(), kit.Created(ago(time.Minute)), asked)
			l := newLab(failures("", ""), draining).add(on("a", failed), on("b", oldPod()))
			want := time.Second
			if len(memory.Backoffs) > 0 {
				memory.Backoffs[0].Revision, want = kit.Hash(l.spec), memory.Backoffs[0].Delay
			}
			l.snapshot.Memory = memory
			plan := l.plan(t)
			if got := plan.Memory.Backoffs; len(plan.Deletes) != 1 || len(got) != 1 || len(got[0].Going) != 1 || got[0].Delay != want {
				t.Errorf("%d pods are deleted, and remembered is %+v", len(plan.Deletes), got)
			}
			for _, v := range verify.Plan(l.spec, l.snapshot, &plan) {
				t.Error(v)
			}
			l.snapshot.Memory, l.snapshot.Pods = plan.Memory, l.snapshot.Pods[1:]
			if again := l.plan(t); again.Memory.Backoffs[0].Deleted != 1 {
				t.Errorf("it is gone, and remembered is %+v", again.Memory.Backoffs)
			}
		})
	}
}

// TestVerdictsOfFailuresAndCanaries: with a canary, a revision that was given up and is retried goes on trial again, whatever is written on it.
// Promoted and given up in one plan, it gets the mark of the fail alone.
func TestVerdictsOfFailuresAndCanaries(t *testing.T) {
	check := func(l *lab, phase canary.Phase) rollout.Plan {
		plan := l.plan(t)
		if plan.Canary.Phase != phase {
			t.Errorf("the canary is %v, want %v", plan.Canary.Phase, phase)
		}
		for _, v := range verify.Plan(l.spec, l.snapshot, &plan) {
			t.Error(v)
		}
		return plan
	}
	retried := newLab(failures("", "", rollback, retry("*/1")), kit.Canary("1")).add(on("a", oldPod()), on("b", oldPod()))
	retried.snapshot.Revisions[1].Annotations = map[string]string{history.FailedAnnotation: failure.Reason}
	check(retried, canary.Running)

	promoted := newLab(failures("", "", rollback), kit.Canary("1"), kit.Command(canary.Commands{Validate: canary.Any}))
	plan := check(promoted.add(on("a", stuckFor(time.Hour)), on("b", oldPod())), canary.Idle)
	if plan.GaveUp == "" {
		t.Error("the revision is not given up")
	}
}

// TestForgottenSeriesWake: a series of failed pods is forgotten half an hour after the last of them was deleted. Until then its node
// has failed, and gets its revision back.
func TestForgottenSeriesWake(t *testing.T) {
	departing := kit.Taint("karpenter.sh/disrupted", "", corev1.TaintEffectPreferNoSchedule)
	for name, options := range map[string][]kit.SpecOption{
		"failures": {failures("", ""), kit.MaxExempt("0")}, "stages": {kit.Stages(ring("1")), kit.MaxExempt("0")},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(options...).add(on("a").with(departing), on("b", oldPod()).with(kit.Label("ring", "1")))
			l.snapshot.Memory.Version = rollout.MemoryVersion
			l.snapshot.Memory.Backoffs = []rollout.Backoff{
				{Node: "a", Revision: l.plan(t).Status.UpdateRevision, Delay: time.Second, Since: ago(29 * time.Minute), First: ago(time.Hour), Deleted: 3},
			}
			if wake, want := l.plan(t).NextWake, kit.Noon().Add(time.Minute+1); !wake.Equal(want) {
				t.Errorf("wakes at %v, want %v", wake, want)
			}
		})
	}
}

// TestOnlyFailedNodesLeft: a part that only failed nodes keep from being done, as many as may, does not go on by itself, and neither
// does a whole rollout. The status says so, and who they are.
func TestOnlyFailedNodesLeft(t *testing.T) {
	for name, fleet := range map[string][]spot{
		"a part": {in(on("a", stuckFor(time.Hour)), "0"), in(on("b", newPod()), "0"), on("c", oldPod())}, "the end": {in(on("a", stuckFor(time.Hour)), "0"), on("b", newPod())},
	} {
		l := newLab(failures("1", ""), kit.MaxUnavailable("9"), kit.Stages(ring("0"))).add(fleet...)
		completed("old")(l)
		s := l.plan(t).Status
		if s.State != status.Stuck || s.Reason != status.FailedNodesLeft || !strings.Contains(s.Conditions[1].Message, ": a") {
			t.Errorf("%s: %v, %v: %s; want Stuck, FailedNodesLeft, and a's name", name, s.State, s.Reason, s.Conditions[1].Message)
		}
	}
}

// TestRollbackGoesFromPlanToPlan: the verdict is in the memory until its mark is seen, and one verdict is enough.
func TestRollbackGoesFromPlanToPlan(t *testing.T) {
	l := newLab(failures("", "", rollback)).add(on("a", stuckFor(time.Hour)), on("b", oldPod()))
	plan := l.plan(t)
	const message = "1 node failed, at most 0 may: a"
	var set map[string]string
	for _, action := range plan.Revisions {
		if action.Name == l.snapshot.Revisions[1].Name {
			set = action.Annotations
		}
	}
	want := map[string]string{history.FailedAnnotation: "TooManyFailures", history.FailedMessageAnnotation: message}
	if diff := cmp.Diff(want, set); diff != "" {
		t.Errorf("marks, -want +got:\n%s", diff)
	}
	if plan.GaveUp != message || plan.Memory.Rollout.GaveUp != message {
		t.Errorf("the plan gives up because %q, and remembers %q; want %q", plan.GaveUp, plan.Memory.Rollout.GaveUp, message)
	}
	if plan.Status.State != status.Stuck || plan.Status.Reason != status.TooManyFailures {
		t.Errorf("status %v, %v; want Stuck, TooManyFailures", plan.Status.State, plan.Status.Reason)
	}

	l.snapshot.Memory = plan.Memory // and the mark is not seen yet
	plan = l.plan(t)
	if got := acts(plan); got != "delete a0 OutdatedNotReady" {
		t.Errorf("the next plan does %q, want it to take a back", got)
	}
	if plan.Status.State != status.RolledBack || plan.GaveUp != message {
		t.Errorf("status %v and %q, want RolledBack and %q", plan.Status.State, plan.GaveUp, message)
	}
	if got, want := plan.Status.Conditions[1].Message, "0 of 2 nodes updated and available; "+message; got != want {
		t.Errorf("the condition Progressing says %q, want %q", got, want)
	}
	const explained = "b: stable; nothing to do: its pod is at the stable revision and available, as the update revision was given up: " + message
	if got := plan.Explain("b"); got != explained {
		t.Errorf("explains\n got: %s\nwant: %s", got, explained)
	}
}

// TestRetryTriesTheCanaryAnew: what is remembered of the trial that promoted a revision before it was given up does not count (F3, C6).
func TestRetryTriesTheCanaryAnew(t *testing.T) {
	l := newLab(failures("", "", rollback, retry("*")), kit.Canary("1")).add(on("a", oldPod()), on("b", oldPod()))
	givenUp(l)
	l.snapshot.Memory = rollout.Memory{
		Version: rollout.MemoryVersion, Canary: canary.Record{Revision: l.update, Verdict: &canary.Finding{Phase: canary.Idle}},
	}
	if plan := l.plan(t); plan.Canary.Phase != canary.Running {
		t.Errorf("the canary is %v, want Running", plan.Canary.Phase)
	}
}

// TestFailuresInAnOpenPart: nodes of a part that is open wait for failures, and for no part (F3).
func TestFailuresInAnOpenPart(t *testing.T) {
	l := newLab(failures("", ""), kit.MaxUnavailable("9"), kit.Stages(ring("0"))).add(
		on("a", stuckFor(time.Hour)).with(kit.Label("ring", "0")), on("b", oldPod()).with(kit.Label("ring", "0")), on("c", oldPod()))
	plan := l.plan(t)
	for i, want := range []int32{0, 0, 2} {
		if got := plan.Decisions[i].Part; got != want {
			t.Errorf("%s waits for part %d, want %d", plan.Decisions[i].Node, got, want)
		}
	}
	var waits []string
	for _, w := range plan.Waits() {
		waits = append(waits, w.String())
	}
	want := []string{
		"1 node waits: the pod does not serve: it is not Ready, and nothing says why (a)",
		"1 node waits: stage ring-0 comes first, and is not done: a, b (c)", "1 node waits: the update revision has failed on more than 0 nodes: a (b)",
	}
	if diff := cmp.Diff(want, waits); diff != "" {
		t.Errorf("waits, -want +got:\n%s", diff)
	}
}
