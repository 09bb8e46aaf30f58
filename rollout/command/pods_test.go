package command_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/command"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

func TestPods(t *testing.T) {
	waiting := func(reason string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			rollouttest.Unready()(pod)
			pod.Status.ContainerStatuses[0].Ready = false
			pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
		}
	}
	for _, c := range []struct {
		name, why string
		change    func(*corev1.Pod) // of the canary's pod
		want      string
	}{
		{"healthy", "no reason", nil, "kind-worker foo-xdj4b-zvss2 1/1 Running 0 - - True 8s"},
		{"crash loop", "what the container waits for", waiting("CrashLoopBackOff"), "kind-worker foo-xdj4b-zvss2 0/1 Running 0 CrashLoopBackOff daemon True 8s"},
		{"image", "the same", waiting("ErrImagePull"), "kind-worker foo-xdj4b-zvss2 0/1 Running 0 ErrImagePull daemon True 8s"},
		{"evicted", "the pod says why", func(pod *corev1.Pod) { rollouttest.Failed()(pod); pod.Status.Reason = "Evicted" },
			"kind-worker foo-xdj4b-zvss2 1/1 Failed 0 Evicted - True 8s"},
		{"failed", "the phase is all there is", func(pod *corev1.Pod) { rollouttest.Failed()(pod); pod.Status.Reason = "" },
			"kind-worker foo-xdj4b-zvss2 1/1 Failed 0 Failed - True 8s"},
		{"leaving", "nothing else matters", func(pod *corev1.Pod) { rollouttest.Terminating(rollouttest.Noon())(pod) },
			"kind-worker foo-xdj4b-zvss2 1/1 Running 0 Terminating - True 8s"},
		{"condition", "the kubelet says why", func(pod *corev1.Pod) {
			rollouttest.Unready()(pod)
			pod.Status.Conditions = append([]corev1.PodCondition{{Type: corev1.PodInitialized, Status: "False", Reason: "Other"}}, pod.Status.Conditions...)
			for i := range pod.Status.Conditions {
				if pod.Status.Conditions[i].Type == corev1.PodReady {
					pod.Status.Conditions[i].Reason = "ReadinessGatesNotReady"
				}
			}
		}, "kind-worker foo-xdj4b-zvss2 1/1 Running 0 ReadinessGatesNotReady - True 8s"},
		{"unschedulable", "the scheduler says why", func(pod *corev1.Pod) {
			pod.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable},
			}}
		}, "kind-worker foo-xdj4b-zvss2 0/1 Pending 0 Unschedulable - True 8s"},
		{"no word", "not ready is all that is known", func(pod *corev1.Pod) { pod.Status = corev1.PodStatus{} },
			"kind-worker foo-xdj4b-zvss2 0/1 - 0 NotReady - True 8s"},
		{"readiness gate", "the first that is not open", func(pod *corev1.Pod) {
			pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "open"}, {ConditionType: "shut"}, {ConditionType: "unknown"}}
			pod.Status.Conditions = []corev1.PodCondition{{Type: "open", Status: "True"}, {Type: "shut", Status: "False"}, {Type: "Ready", Status: "False"}}
		}, "kind-worker foo-xdj4b-zvss2 1/1 Running 0 shut - True 8s"},
		{"restarts", "of all containers, init containers included", func(pod *corev1.Pod) {
			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses,
				corev1.ContainerStatus{Name: "b", RestartCount: 4}, corev1.ContainerStatus{Name: "a", RestartCount: 2})
			pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "init", RestartCount: 1}, {Name: "copy"}}
		}, "kind-worker foo-xdj4b-zvss2 1/3 Running 7 - a,b True 8s"},
		{"pending on no node", "the node it is pinned to", func(pod *corev1.Pod) { pod.Spec.NodeName = ""; rollouttest.PinnedTo("kind-worker")(pod) },
			"kind-worker foo-xdj4b-zvss2 0/1 Pending 0 NotScheduled - True 8s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "" || c.why == "" {
				t.Fatal("a row needs a name and a reason")
			}
			view := demo(canary.Running)
			if c.change != nil {
				c.change(view.Snapshot.Pods[2])
			}
			list := command.CanaryPods(view)
			if len(list) != 1 || list[0].Revision != newName {
				t.Fatalf("%+v", list)
			}
			if got := strings.Join(list[0].Cells(), " "); got != c.want {
				t.Errorf("%s\n got %s\nwant %s", c.why, got, c.want)
			}
			if healthy := strings.HasSuffix(c.want, " - - True 8s") || strings.HasSuffix(c.want, " - a,b True 8s"); healthy != (len(command.NotReadyPods(view)) == 0) {
				t.Errorf("not ready: %+v", command.NotReadyPods(view))
			}
		})
	}
}

func TestCanaryPods(t *testing.T) {
	view := demo(canary.Idle)
	view.Plan.Canary.Nodes = []string{"kind-worker"}
	if list := command.CanaryPods(view); list != nil {
		t.Errorf("without a canary: %+v", list)
	}

	// A canary node without its pod is listed, between those with theirs.
	view = demo(canary.Running)
	view.Plan.Canary.Nodes = []string{"kind-control-plane", "kind-gone", "kind-worker"}
	view.Snapshot.Nodes[0].Status.Conditions = []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}, {Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse},
	}
	view.Snapshot.Nodes = append([]*corev1.Node{nil}, view.Snapshot.Nodes...)
	view.Snapshot.Pods = append(view.Snapshot.Pods, demoPod("foo-xdj4b-stray", "kind-worker2", newHash, time.Minute),
		demoPod("foo-xdj4b-aaaaa", "kind-worker", newHash, time.Minute), demoPod("foo-xdj4b-lost0", "", newHash, time.Minute))
	view.Plan.Decisions[0].Reason = rollout.ReasonMissing
	for _, gone := range []string{"a", "b", "c", "kind-gone", "z"} { // about pods: their order is another one
		view.Plan.Decisions = append(view.Plan.Decisions, rollout.Decision{
			Node: gone, Pod: "foo-8z7lr-" + gone, State: rollout.StateVanished, Reason: rollout.ReasonVanished,
		})
	}
	view.Plan.Decisions = append(view.Plan.Decisions, rollout.Decision{State: rollout.StateUnattributed})
	want := `NODE                 POD               READY   PHASE     RESTARTS   REASON              NOT READY   NODE READY   AGE
<none>               foo-xdj4b-lost0   1/1     Running   0          -                   -           -            60s
kind-control-plane   <none>                                         it has no pod yet               Unknown
kind-gone            <none>                                                                         -
kind-worker          foo-xdj4b-aaaaa   1/1     Running   0          -                   -           True         60s
kind-worker          foo-xdj4b-zvss2   1/1     Running   0          -                   -           True         8s
kind-worker2         foo-xdj4b-stray   1/1     Running   0          -                   -           True         60s
`
	got := command.Table(command.CanaryPods(view)...)
	want = strings.Replace(want, "it has no pod yet", strings.TrimSpace(view.Plan.Because(&view.Plan.Decisions[0])), 1)
	if strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(want), " ") {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}

	// After it failed its nodes are to be without.
	view.Plan.Canary.Phase = canary.Failed
	if list := command.CanaryPods(view); len(list) != 4 || list[0].Name == "" {
		t.Errorf("after it failed: %+v", list)
	}
}

// TestCanaryPodsWithoutNodes: no decision is about a node when all nodes are gone, and none says why a canary node has no pod.
func TestCanaryPodsWithoutNodes(t *testing.T) {
	vanished := rollout.Decision{Node: "kind-worker", Pod: "foo-8z7lr-old00", State: rollout.StateVanished, Reason: rollout.ReasonVanished}
	for _, decisions := range [][]rollout.Decision{nil, {vanished}} {
		view := demo(canary.Running)
		view.Snapshot.Nodes, view.Snapshot.Pods, view.Plan.Decisions = nil, nil, decisions
		list := command.CanaryPods(view)
		if len(list) != 1 || list[0].Node != "kind-worker" || list[0].Reason != "" {
			t.Errorf("with the decisions %+v: %+v", decisions, list)
		}
	}
}

// TestPodsAreInOrder of nodes, names and UIDs, whatever the order of the snapshot.
func TestPodsAreInOrder(t *testing.T) {
	again := demoPod("foo-8z7lr-jlvrq", "kind-control-plane", oldHash, time.Minute)
	again.UID = "another"
	view := demo(canary.Running)
	view.Snapshot.Pods = append(view.Snapshot.Pods, again)
	for range 2 {
		var got []string
		for _, pod := range view.Snapshot.Pods {
			rollouttest.Unready()(pod)
		}
		for _, one := range command.NotReadyPods(view) {
			got = append(got, one.Node+" "+one.Name+" "+view.Snapshot.Now.Sub(one.Created).String())
		}
		want := []string{
			"kind-control-plane foo-8z7lr-jlvrq 1m0s", "kind-control-plane foo-8z7lr-jlvrq 1m28s", "kind-worker foo-xdj4b-zvss2 8s",
			"kind-worker2 foo-8z7lr-bp9w8 1m48s",
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		slices.Reverse(view.Snapshot.Pods)
	}
}
