package inplace_test

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
)

// agent returns a template with one container.
func agent(image string) *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "agent"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "agent", Image: image}}},
	}
}

// agentPod returns a running pod of agent("agent:1").
func agentPod() *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "agent-x", UID: "1234", Labels: map[string]string{"app": "agent", "controller-revision-hash": "v1"},
	}}
	pod.Spec = *agent("agent:1").Spec.DeepCopy()
	pod.Spec.NodeName = "node-a"
	pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: lifecycle.InPlaceUpdateReady}}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: lifecycle.InPlaceUpdateReady, Status: corev1.ConditionTrue}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "agent", Image: "agent:1", ImageID: "sha256:1", Ready: true}}
	return pod
}

var noon = time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)

// From the first patch to the last.
func Example() {
	pod := agentPod()
	update := inplace.Compare(agent("agent:1"), agent("agent:2"), inplace.Options{GracePeriodSeconds: 10})
	begin := func(now time.Time) inplace.Step {
		step, err := update.Begin(pod, inplace.Target{Revision: "v2"}, inplace.Metadata{}, now)
		if err != nil {
			fmt.Println(err)
		}
		return step
	}
	send := func(step inplace.Step) {
		for _, patch := range step.Patches {
			fmt.Printf("patch %q\n", patch.Subresource)
			pod = apply(panics{}, pod, patch)
		}
	}

	step := begin(noon)
	send(step)
	fmt.Println("wait", step.Until.Sub(noon))
	send(begin(noon.Add(10 * time.Second)))
	fmt.Println(pod.Labels["controller-revision-hash"], pod.Spec.Containers[0].Image, inplace.Completed(pod).Waits)

	pod.Status.ContainerStatuses[0].ImageID = "sha256:2" // the kubelet has done its part
	step, _ = inplace.Continue(pod, noon.Add(15*time.Second))
	send(step)
	fmt.Println(inplace.Completed(pod).Done, inplace.Unfinished(pod))
	// Output:
	// patch "status"
	// wait 10s
	// patch ""
	// v2 agent:2 [container agent: it still runs the image of before]
	// patch "status"
	// true false
}

// panics fails an example.
type panics struct{}

func (panics) Helper()                      {}
func (panics) Fatal(args ...any)            { panic(fmt.Sprint(args...)) }
func (panics) Fatalf(f string, args ...any) { panic(fmt.Sprintf(f, args...)) }

func ExampleCompare() {
	old, changed := agent("agent:1"), agent("agent:2")
	changed.Spec.HostNetwork = true
	changed.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "LEVEL", Value: "debug"}}

	update := inplace.Compare(old, changed, inplace.Options{})
	fmt.Println(update.InPlace())
	for _, obstacle := range update.Obstacles {
		fmt.Println(obstacle)
	}
	for _, change := range update.Images {
		fmt.Println(change.Container, change.Old, change.New)
	}
	// Output:
	// false
	// spec.containers[agent].env[LEVEL]: cannot change in a running pod (added)
	// spec.hostNetwork: cannot change in a running pod
	// agent agent:1 agent:2
}

func ExampleDiffRevisions() {
	revision := func(image string) *appsv1.ControllerRevision {
		data := `{"spec":{"template":{"$patch":"replace","spec":{"containers":[{"name":"agent","image":"` + image + `"}]}}}}`
		return &appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: []byte(data)}}
	}
	update, err := inplace.DiffRevisions(revision("agent:1"), revision("agent:2"), inplace.Options{})
	fmt.Println(update.InPlace(), update.Images, err)

	_, err = inplace.DiffRevisions(revision("agent:1"), nil, inplace.Options{})
	fmt.Println(err)
	// Output:
	// true [{agent agent:1 agent:2}] <nil>
	// unreadable revision: nil
}

func ExampleUpdate_InPlace() {
	fmt.Println(inplace.Compare(agent("agent:1"), agent("agent:2"), inplace.Options{}).InPlace())
	fmt.Println(inplace.Compare(nil, agent("agent:2"), inplace.Options{}).InPlace())
	// Output:
	// true
	// false
}

func ExampleUpdate_Restarts() {
	labelled := agent("agent:1")
	labelled.Labels["team"] = "infra"
	fmt.Println(inplace.Compare(agent("agent:1"), labelled, inplace.Options{}).Restarts())
	fmt.Println(inplace.Compare(agent("agent:1"), agent("agent:2"), inplace.Options{}).Restarts())
	// Output:
	// false
	// true
}

func ExampleUpdate_NeedsUnready() {
	labelled := agent("agent:1")
	labelled.Labels["team"] = "infra"
	fmt.Println(inplace.Compare(agent("agent:1"), labelled, inplace.Options{}).NeedsUnready(agentPod()))
	fmt.Println(inplace.Compare(agent("agent:1"), agent("agent:2"), inplace.Options{}).NeedsUnready(agentPod()))
	// Output:
	// false
	// true
}

func ExampleUpdate_Equal() {
	one := inplace.Compare(agent("agent:1"), agent("agent:2"), inplace.Options{})
	same := inplace.Compare(agent("agent:1"), agent("agent:2"), inplace.Options{})
	other := inplace.Compare(agent("agent:1"), agent("agent:3"), inplace.Options{})
	fmt.Println(one.Equal(same), one.Equal(other))
	// Output: true false
}

// The caller's label, that of a lifecycle hook, goes into the patch of the pod.
func ExampleUpdate_Begin() {
	labelled := agent("agent:1")
	labelled.Labels["team"] = "infra"
	update := inplace.Compare(agent("agent:1"), labelled, inplace.Options{})
	metadata := inplace.Metadata{Labels: map[string]string{"lifecycle.apps.kruise.io/state": "Updating"}}

	step, err := update.Begin(agentPod(), inplace.Target{Revision: "v2"}, metadata, noon)
	for _, patch := range step.Patches {
		fmt.Println(patch.Type, patch.Subresource == "")
		var body struct {
			Metadata struct{ Labels map[string]string }
		}
		unmarshal(panics{}, patch.Data, &body)
		fmt.Println(body.Metadata.Labels)
	}
	fmt.Println(step.Begun, err)
	// Output:
	// application/strategic-merge-patch+json true
	// map[controller-revision-hash:v2 lifecycle.apps.kruise.io/state:Updating team:infra]
	// true <nil>
}

func ExampleObstruct() {
	pod := agentPod()
	fmt.Printf("%q\n", inplace.Obstruct(pod))
	pod.Spec.ReadinessGates = nil
	fmt.Printf("%q\n", inplace.Obstruct(pod))
	// Output:
	// ""
	// "no readiness gate InPlaceUpdateReady"
}

// A new pod with the readiness gate is ready once it has the condition.
func ExampleContinue() {
	pod := agentPod()
	pod.Status.Conditions = nil
	step, err := inplace.Continue(pod, noon)
	fmt.Println(len(step.Patches), step.Patches[0].Subresource, err)
	fmt.Println(string(step.Patches[0].Data))
	// Output:
	// 1 status <nil>
	// {"metadata":{"uid":"1234"},"status":{"conditions":[{"type":"InPlaceUpdateReady","status":"True","lastTransitionTime":"2026-01-15T12:00:00Z","reason":"","message":""}]}}
}

// The user has taken the new revision back while the grace period runs.
func ExampleCancel() {
	update := inplace.Compare(agent("agent:1"), agent("agent:2"), inplace.Options{GracePeriodSeconds: 30})
	step, _ := update.Begin(agentPod(), inplace.Target{Revision: "v2"}, inplace.Metadata{}, noon)
	pod := apply(panics{}, agentPod(), step.Patches...)
	fmt.Println(inplace.Preparing(pod), condition(pod))

	step, err := inplace.Cancel(pod, noon.Add(10*time.Second))
	pod = apply(panics{}, pod, step.Patches...)
	fmt.Println(inplace.Preparing(pod), condition(pod), err)
	// Output:
	// true False
	// false True <nil>
}

func ExamplePreparing() {
	pod := agentPod()
	fmt.Println(inplace.Preparing(pod))
	pod.Status.Conditions[0].Status = corev1.ConditionFalse // and no patch has changed the pod since
	fmt.Println(inplace.Preparing(pod))
	// Output:
	// false
	// true
}

func ExampleCompleted() {
	pod := agentPod()
	pod.Annotations = map[string]string{
		inplace.StateKey: `{"updateTimestamp":"2026-01-15T12:00:00Z","lastContainerStatuses":{"agent":{"imageID":"sha256:1"}},` +
			`"nextContainerImages":{"sidecar":"sidecar:2"}}`,
	}
	pod.Spec.Containers[0].Image = "agent:2"
	pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "sidecar", Image: "sidecar:1"})
	completion := inplace.Completed(pod)
	fmt.Println(completion.Done)
	for _, wait := range completion.Waits {
		fmt.Println(wait)
	}
	// Output:
	// false
	// container agent: it still runs the image of before
	// container sidecar: it is in a later batch
}

func ExampleUnfinished() {
	pod := agentPod()
	fmt.Println(inplace.Unfinished(pod))
	pod.Status.Conditions[0].Status = corev1.ConditionFalse
	fmt.Println(inplace.Unfinished(pod))
	// Output:
	// false
	// true
}

func ExampleStateOf() {
	pod := agentPod()
	state, err := inplace.StateOf(pod)
	fmt.Println(state == nil, err)
	pod.Annotations = map[string]string{inplace.StateKey: `{"revision":"v2","updateTimestamp":"2026-01-15T12:00:00Z"}`}
	state, err = inplace.StateOf(pod)
	fmt.Println(state.Revision, state.UpdateTimestamp.UTC(), err)
	// Output:
	// true <nil>
	// v2 2026-01-15 12:00:00 +0000 UTC <nil>
}

func ExampleUpdateState_UnmarshalJSON() {
	var state inplace.UpdateState
	fmt.Println(state.UnmarshalJSON([]byte(`{"nextContainerImages":{"agent":"agent:2"}}`)), state.NextContainerImages)
	fmt.Println(state.UnmarshalJSON([]byte(`{"nextContainerResources":{"agent":{"limits":{"cpu":"1e-30000000"}}}}`)))
	// Output:
	// <nil> map[agent:agent:2]
	// field [agent].limits[cpu]: a quantity too long to read
}

func ExampleObstacle_String() {
	fmt.Println(inplace.Obstacle{Path: "spec.volumes[logs]", Code: inplace.Immutable, Detail: "added"})
	// Output: spec.volumes[logs]: cannot change in a running pod (added)
}

func ExampleCode_String() {
	fmt.Println(inplace.ResourceFixed)
	// Output: only cpu and memory can be resized
}

func ExampleObstruction_String() {
	fmt.Println(inplace.Unbound)
	// Output: not bound to a node
}

func ExampleUpdateWait_String() {
	fmt.Println(inplace.UpdateWait{Container: "agent", Code: inplace.NotRestarted})
	// Output: container agent: it has not restarted
}

func ExampleWaitCode_String() {
	fmt.Println(inplace.ResizeDeferred)
	// Output: the node has no room for its resources now
}
