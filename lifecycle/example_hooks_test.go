package lifecycle_test

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/lifecycle"
)

// drain is the whole of a user's hook controller: called for each pod that changes, it goes by the state, does its
// work, and only then sees to the handler. It can be called at any time and as often as one likes.
func drain(pod *corev1.Pod, registry map[string]bool) {
	const handler = "example.com/registered"
	switch lifecycle.StateOf(pod) {
	case lifecycle.PreparingDelete, lifecycle.PreparingUpdate:
		if pod.Labels[handler] == "true" {
			delete(registry, pod.Name)  // first the work: no more requests for this pod,
			delete(pod.Labels, handler) // then let go
		}
	case lifecycle.PreparingNormal, lifecycle.Updated:
		if pod.Labels[handler] != "true" {
			registry[pod.Name] = true
			pod.Labels[handler] = "true"
		}
	}
}

// What somebody who uses hooks has to run beside the rollout: a controller that watches the pods of the set, and takes
// its label off those that are to be deleted or updated once it has done its work, and puts it on again afterwards.
func Example_hookController() {
	now := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	hook := &lifecycle.Hook{Labels: map[string]string{"example.com/registered": "true"}}
	hooks := lifecycle.Hooks{PreDelete: hook, InPlaceUpdate: hook, PreNormal: hook}

	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "agent-1", UID: "u-1", Labels: map[string]string{}}}
	pod.Labels[lifecycle.StateLabel] = string(hooks.InitialState())
	registry := map[string]bool{}

	// One round: the rollout asks, sends the patches, does what may proceed; then the hook controller runs.
	round := func(intent lifecycle.Intent, complete bool) {
		t := hooks.Next(pod, intent, complete)
		pod, _ = send(pod, t.Patches(pod, now)...)
		if t.Proceed && t.Intent == lifecycle.Update {
			pod.Labels[lifecycle.StateLabel] = string(t.To) // with the spec patch, see Metadata
		}
		fmt.Printf("%-6v %-15s proceed=%-5v waits for %v\n", intent, lifecycle.StateOf(pod), t.Proceed, t.Wait)
		drain(pod, registry)
	}
	round(lifecycle.Keep, true)
	round(lifecycle.Keep, true)
	fmt.Println("registered:", registry["agent-1"])
	round(lifecycle.Update, true)
	fmt.Println("registered:", registry["agent-1"])
	round(lifecycle.Update, true)
	round(lifecycle.Keep, false)
	round(lifecycle.Keep, true)
	round(lifecycle.Keep, true)
	fmt.Println("registered:", registry["agent-1"])
	round(lifecycle.Delete, true)
	round(lifecycle.Delete, true)
	fmt.Println("registered:", registry["agent-1"])
	// Output:
	// Keep   PreparingNormal proceed=false waits for preNormal
	// Keep   Normal          proceed=false waits for nothing
	// registered: true
	// Update PreparingUpdate proceed=false waits for inPlaceUpdate
	// registered: false
	// Update Updating        proceed=true  waits for nothing
	// Keep   Updating        proceed=false waits for completion of the in-place update
	// Keep   Updated         proceed=false waits for inPlaceUpdate to be put back
	// Keep   Normal          proceed=false waits for nothing
	// registered: true
	// Delete PreparingDelete proceed=false waits for preDelete
	// Delete PreparingDelete proceed=true  waits for nothing
	// registered: false
}

func drained() (lifecycle.Hooks, *corev1.Pod) {
	hooks := lifecycle.Hooks{PreDelete: &lifecycle.Hook{
		Labels: map[string]string{"drain": "on"}, Finalizers: []string{"example.com/drain"}, MarkPodNotReady: true,
	}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "agent-1", UID: "u-1", ResourceVersion: "7", Labels: map[string]string{"drain": "on"},
	}}
	pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: lifecycle.PodReady}}
	pod.Status.Conditions = []corev1.PodCondition{{Type: lifecycle.PodReady, Status: corev1.ConditionTrue}}
	return hooks, pod
}

var sunrise = time.Date(2026, 1, 15, 6, 0, 0, 0, time.UTC)

func ExampleHook_Matches() {
	hooks, pod := drained()
	fmt.Println(hooks.PreDelete.Matches(pod))
	delete(pod.Labels, "drain")
	fmt.Println(hooks.PreDelete.Matches(pod))
	// Output:
	// true
	// false
}

func ExampleHook_MatchesAll() {
	hooks, pod := drained()
	fmt.Println(hooks.PreDelete.MatchesAll(pod))
	pod.Finalizers = []string{"example.com/drain"}
	fmt.Println(hooks.PreDelete.MatchesAll(pod))
	// Output:
	// false
	// true
}

func ExampleHooks_Next() {
	hooks, pod := drained()
	t := hooks.Next(pod, lifecycle.Delete, true)
	fmt.Println(t.To, t.Proceed, t.Wait, t.Mark)

	delete(pod.Labels, "drain")
	t = hooks.Next(pod, lifecycle.Delete, true)
	fmt.Println(t.To == t.From, t.Proceed, t.Wait, t.Mark)
	// Output:
	// PreparingDelete false preDelete set
	// true true nothing keep
}

func ExampleHooks_Pending() {
	hooks, pod := drained()
	t := hooks.Next(pod, lifecycle.Delete, true)
	fmt.Println(t.Wait, hooks.Pending(pod, t.Wait))
	// Output: preDelete [label drain=on]
}

func ExampleHooks_MarksNotReady() {
	hooks, _ := drained()
	fmt.Println(hooks.MarksNotReady(), lifecycle.Hooks{}.MarksNotReady())
	// Output: true false
}

func ExampleHooks_Gates() {
	hooks, _ := drained()
	fmt.Println(hooks.Gates())
	// Output: [KruisePodReady]
}

func ExampleHooks_InitialState() {
	hooks := lifecycle.Hooks{PreNormal: &lifecycle.Hook{Finalizers: []string{"example.com/registered"}}}
	fmt.Println(hooks.InitialState())
	// Output: PreparingNormal
}

func ExampleHooks_Validate() {
	hooks := lifecycle.Hooks{PreDelete: &lifecycle.Hook{Labels: map[string]string{lifecycle.StateLabel: "Normal"}}}
	for _, err := range hooks.Validate(field.NewPath("spec", "lifecycle")) {
		fmt.Println(err.Field, err.Detail)
	}
	// Output: spec.lifecycle.preDelete.labels[lifecycle.apps.kruise.io/state] holds the state of the pod and cannot be a handler
}

func ExampleHooks_DeepCopy() {
	hooks, pod := drained()
	clone := hooks.DeepCopy()
	hooks.PreDelete.Labels["drain"] = "off"
	fmt.Println(hooks.PreDelete.Matches(pod), clone.PreDelete.Matches(pod))
	// Output: false true
}

func ExampleTransition_Patches() {
	hooks, pod := drained()
	for _, patch := range hooks.Next(pod, lifecycle.Delete, true).Patches(pod, sunrise) {
		fmt.Printf("%q %s\n", patch.Subresource, patch.Data)
	}
	// Output:
	// "status" {"metadata":{"uid":"u-1","resourceVersion":"7"},"status":{"conditions":[{"type":"KruisePodReady","status":"False","lastTransitionTime":"2026-01-15T06:00:00Z","message":"[{\"userAgent\":\"Lifecycle\",\"key\":\"preDeleteHook\"}]"}]}}
	// "" {"metadata":{"uid":"u-1","labels":{"lifecycle.apps.kruise.io/state":"PreparingDelete"},"annotations":{"lifecycle.apps.kruise.io/timestamp":"2026-01-15T06:00:00Z"}}}
}

func ExampleTransition_Changes() {
	hooks, pod := drained()
	fmt.Println(hooks.Next(pod, lifecycle.Keep, true).Changes(), hooks.Next(pod, lifecycle.Delete, true).Changes())
	// Output: false true
}

func ExampleTransition_Metadata() {
	hooks := lifecycle.Hooks{InPlaceUpdate: &lifecycle.Hook{Labels: map[string]string{"drain": "on"}}}
	pod := &corev1.Pod{} // drained, or never hooked
	t := hooks.Next(pod, lifecycle.Update, true)
	fmt.Println(t.Proceed)
	fmt.Println(t.Metadata(sunrise))
	// Output:
	// true
	// map[lifecycle.apps.kruise.io/state:Updating] map[lifecycle.apps.kruise.io/timestamp:2026-01-15T06:00:00Z]
}

func ExampleStateOf() {
	pod := &corev1.Pod{}
	fmt.Printf("%q\n", lifecycle.StateOf(pod))
	pod.Labels = map[string]string{lifecycle.StateLabel: "PreparingDelete"}
	fmt.Printf("%q\n", lifecycle.StateOf(pod))
	// Output:
	// ""
	// "PreparingDelete"
}

func ExampleSetNotReady() {
	_, pod := drained()
	patches, err := lifecycle.SetNotReady(pod, lifecycle.Message{UserAgent: "operator", Key: "repair"}, sunrise)
	fmt.Println(err)
	fmt.Printf("%s\n", patches[0].Data)
	// Output:
	// <nil>
	// {"metadata":{"uid":"u-1","resourceVersion":"7"},"status":{"conditions":[{"type":"KruisePodReady","status":"False","lastTransitionTime":"2026-01-15T06:00:00Z","message":"[{\"userAgent\":\"operator\",\"key\":\"repair\"}]"}]}}
}

func ExampleClearNotReady() {
	_, pod := drained()
	pod.Status.Conditions[0].Status = corev1.ConditionFalse
	pod.Status.Conditions[0].Message = "somebody wrote prose here"
	_, err := lifecycle.ClearNotReady(pod, lifecycle.Message{UserAgent: "operator", Key: "repair"}, sunrise)
	fmt.Println(err)
	// Output: the messages of condition KruisePodReady cannot be read: invalid character 's' looking for beginning of value
}

func ExampleUnfinished() {
	_, pod := drained()
	fmt.Println(lifecycle.Unfinished(pod))
	pod.Status.Conditions = nil // a new pod: nobody has begun the condition that its gate waits for
	fmt.Println(lifecycle.Unfinished(pod))
	// Output:
	// false
	// true
}

func ExampleHandler_String() {
	fmt.Println(lifecycle.Handler{Label: "drain", Value: "on"})
	fmt.Println(lifecycle.Handler{Finalizer: "example.com/drain"})
	// Output:
	// label drain=on
	// finalizer example.com/drain
}

func ExampleIntent_String() {
	fmt.Println(lifecycle.Keep, lifecycle.Delete, lifecycle.Update)
	// Output: Keep Delete Update
}

func ExampleHookWait_String() {
	fmt.Println(lifecycle.WaitPreDelete)
	// Output: preDelete
}

func ExampleMark_String() {
	fmt.Println(lifecycle.SetMark)
	// Output: set
}
