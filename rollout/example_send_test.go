package rollout_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/rollout"
)

// The patches of one pod are sent one after the other, until one fails; those of different pods in parallel.
func ExamplePlan_PatchesByPod() {
	plan := rollout.Plan{Patches: []rollout.Patch{
		{Pod: "agent-b", UID: "b", Subresource: "status"}, {Pod: "agent-a", UID: "a"}, {Pod: "agent-b", UID: "b"},
	}}
	for _, patches := range plan.PatchesByPod() {
		fmt.Print(patches[0].Pod, ":")
		for _, patch := range patches {
			fmt.Printf(" %q", patch.Subresource)
		}
		fmt.Println()
	}
	// Output:
	// agent-b: "status" ""
	// agent-a: ""
}

// A rollback makes an old revision the newest again.
func ExampleRevisionAction_Patch() {
	action := rollout.RevisionAction{Verb: rollout.RenumberRevision, Name: "agent-84b74", UID: "r1", Number: 7}
	fmt.Println(string(action.Patch()))
	action = rollout.RevisionAction{
		Verb: rollout.AnnotateRevision, Name: "agent-84b74", UID: "r1",
		Annotations: map[string]string{"promoted": "yes"}, RemoveAnnotations: []string{"failed"},
	}
	fmt.Println(string(action.Patch()))
	// Output:
	// {"metadata":{"uid":"r1"},"revision":7}
	// {"metadata":{"annotations":{"failed":null,"promoted":"yes"},"uid":"r1"}}
}

// An orphan that the selector matches becomes the set's, unless it has changed since.
func ExampleAdoptPatch() {
	spec := agent()
	spec.UID = "set"
	orphan := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "agent-x", UID: "u1", ResourceVersion: "12", Labels: map[string]string{"app": "agent"}}}
	claims, err := rollout.Claim(spec, []*corev1.Pod{orphan})
	if err != nil {
		panic(err)
	}
	for _, pod := range claims.Adopt {
		fmt.Println(string(rollout.AdoptPatch(spec, &pod.ObjectMeta)))
	}
	// Output: {"metadata":{"ownerReferences":[{"apiVersion":"apps/v1","kind":"DaemonSet","name":"agent","uid":"set","controller":true,"blockOwnerDeletion":true}],"resourceVersion":"12","uid":"u1"}}
}

// A pod that the selector does not match any more is let go.
func ExampleReleasePatch() {
	spec := agent()
	spec.UID = "set"
	pod := &metav1.ObjectMeta{Name: "agent-x", UID: "u1", ResourceVersion: "12", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "agent", UID: "set", Controller: new(true)},
	}}
	fmt.Println(string(rollout.ReleasePatch(spec, pod)))
	// Output: {"metadata":{"ownerReferences":[],"resourceVersion":"12","uid":"u1"}}
}
