package command_test

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/command"
	"github.com/daemonplan/daemonplan/rollout/manifest"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// The table of ExtendedDaemonSet's demo while the canary runs.
func ExampleGet() {
	fmt.Print(command.Table(command.Get(demo(canary.Running))))
	// Output:
	// NAME   DESIRED   CURRENT   READY   UP-TO-DATE   AVAILABLE   STATUS   ACTIVE      CANARY      AGE
	// foo    3         3         3       3            3           Canary   foo-8z7lr   foo-xdj4b   85s
}

func ExampleRevisions() {
	fmt.Print(command.Table(command.Revisions(demo(canary.Running))...))
	// Output:
	// NAME        STATUS   DESIRED   CURRENT   READY   AVAILABLE   AGE
	// foo-xdj4b   canary   1         1         1       1           40s
	// foo-8z7lr   active   2         2         2       2           2m
}

func ExampleCanaryPods() {
	view := demo(canary.Running)
	pod := view.Snapshot.Pods[2].DeepCopy()
	rollouttest.Unready()(pod)
	pod.Status.ContainerStatuses[0] = corev1.ContainerStatus{
		Name: "daemon", RestartCount: 3,
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
	}
	view.Snapshot.Pods[2] = pod
	fmt.Print(command.Table(command.CanaryPods(view)...))
	// Output:
	// NODE          POD               READY   PHASE     RESTARTS   REASON             NOT READY   NODE READY   AGE
	// kind-worker   foo-xdj4b-zvss2   0/1     Running   3          CrashLoopBackOff   daemon      True         8s
}

func ExampleNotReadyPods() {
	view := demo(canary.Running)
	pod := view.Snapshot.Pods[0].DeepCopy()
	rollouttest.Terminating(rollouttest.Noon().Add(30 * time.Second))(pod)
	view.Snapshot.Pods[0] = pod
	for _, pod := range command.NotReadyPods(view) {
		fmt.Println(pod.Node, pod.Name, pod.Reason)
	}
	// Output: kind-worker2 foo-8z7lr-bp9w8 Terminating
}

func ExampleCommand_Patch() {
	view := demo(canary.Running)
	patch, err := command.CanaryPause.Patch(view)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(patch.Kubectl(view.Spec))

	_, err = command.CanaryRetry.Patch(view)
	fmt.Println(err)
	// Output:
	// kubectl patch extendeddaemonsets.datadoghq.com foo -n default --type merge -p '{"metadata":{"annotations":{"daemonplan.io/canary-pause":"foo-xdj4b","daemonplan.io/canary-unpause":null,"extendeddaemonset.datadoghq.com/canary-paused":"true","extendeddaemonset.datadoghq.com/canary-unpaused":null}}}'
	// canary retry: revision foo-xdj4b has not failed
}

// What a command would do is what the next plan for the patched manifest does.
func ExamplePatch_Apply() {
	const object = `{"apiVersion": "apps.kruise.io/v1beta1", "kind": "DaemonSet", "metadata": {"name": "agent", "namespace": "web"},
		"spec": {"selector": {"matchLabels": {"app": "agent"}}, "template": {"metadata": {"labels": {"app": "agent"}},
		"spec": {"containers": [{"name": "agent", "image": "agent:v2"}]}}}}`
	set, err := manifest.Decode([]byte(object))
	if err != nil {
		fmt.Println(err)
		return
	}
	patch, err := command.Pause.Patch(command.View{Spec: set.Spec})
	if err != nil {
		fmt.Println(err)
		return
	}
	patched, err := patch.Apply([]byte(object))
	if err != nil {
		fmt.Println(err)
		return
	}
	next, err := manifest.Decode(patched)
	fmt.Println(set.Spec.Strategy.Paused, "->", next.Spec.Strategy.Paused, err)
	// Output: false -> true <nil>
}

func ExamplePatch_Kubectl() {
	patch, err := command.Freeze.Patch(demo(canary.Idle))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(patch.Kubectl(demo(canary.Idle).Spec))
	// Output: kubectl patch extendeddaemonsets.datadoghq.com foo -n default --type merge -p '{"metadata":{"annotations":{"extendeddaemonset.datadoghq.com/rollout-frozen":"true"}}}'
}

func ExampleEffects() {
	before := demo(canary.Running).Plan
	after := demo(canary.Failed).Plan
	after.Decisions[1].Target, after.Decisions[1].State = rollout.TargetStable, rollout.StateOutdated
	after.Decisions[1].Verb = rollout.VerbReplace
	for _, effect := range command.Effects(before, after) {
		fmt.Println(effect.Node, effect.Before.Verb, "->", effect.After.Verb)
	}
	// Output: kind-worker none -> replace
}

func ExampleAll() {
	for _, c := range command.All() {
		if _, err := c.Patch(demo(canary.Failed)); err == nil {
			fmt.Println(c)
		}
	}
	// Output:
	// canary retry
	// pause
	// freeze
}

func ExampleParse() {
	c, err := command.Parse("canary validate")
	fmt.Println(c, err)
	_, err = command.Parse("canary kill")
	fmt.Println(err != nil)
	// Output:
	// canary validate <nil>
	// true
}

func ExampleCommand_String() {
	fmt.Println(command.CanaryUnpause)
	// Output: canary unpause
}

func ExampleRefusal_String() {
	fmt.Println(command.NothingOnTrial)
	// Output: nothing on trial
}

func ExampleRole_String() {
	fmt.Println(command.Active, command.OnTrial, command.TrialFailed, command.Old)
	// Output: active canary canary-failed old
}

func ExampleError_Error() {
	_, err := command.CanaryValidate.Patch(demo(canary.Idle))
	fmt.Println(err)
	// Output: canary validate: no revision is on trial: foo-xdj4b is the active one
}

func ExampleTable() {
	fmt.Print(command.Table(
		command.Row{Name: "agent", Desired: 12, Active: "agent-7d9c5"},
		command.Row{Name: "new\nline", Desired: 1},
	))
	// Output:
	// NAME        DESIRED   CURRENT   READY   UP-TO-DATE   AVAILABLE   STATUS    ACTIVE        CANARY   AGE
	// agent       12        0         0       0            0           Unknown   agent-7d9c5            <unknown>
	// new\nline   1         0         0       0            0           Unknown                          <unknown>
}

func ExampleRow_Header() {
	fmt.Println(command.Row{}.Header()[:3])
	// Output: [NAME DESIRED CURRENT]
}

func ExampleRow_Cells() {
	fmt.Println(command.Get(demo(canary.Running)).Cells()[6:9])
	// Output: [Canary foo-8z7lr foo-xdj4b]
}

func ExampleRevision_Header() {
	fmt.Println(command.Revision{}.Header()[:2])
	// Output: [NAME STATUS]
}

func ExampleRevision_Cells() {
	fmt.Println(command.Revision{Name: "foo-8z7lr", Role: command.Active, Desired: 3}.Cells()[:3])
	// Output: [foo-8z7lr active 3]
}

func ExamplePod_Header() {
	fmt.Println(command.Pod{}.Header()[:3])
	// Output: [NODE POD READY]
}

// A canary node without a pod has a line of its own.
func ExamplePod_Cells() {
	fmt.Printf("%q\n", command.Pod{Node: "kind-worker", Reason: "a pod is being deleted"}.Cells()[:6])
	// Output: ["kind-worker" "<none>" "" "" "" "a pod is being deleted"]
}
