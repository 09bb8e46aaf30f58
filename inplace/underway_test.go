package inplace_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/daemonplan/daemonplan/inplace"
)

func TestUnderWay(t *testing.T) {
	cpu := func(n string) corev1.ResourceRequirements {
		return corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(n)}}
	}
	resized := func(annotation string, status ...corev1.ContainerStatus) *corev1.Pod {
		p := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "agent", Resources: cpu("2")}}}}
		p.Annotations = map[string]string{inplace.StateKey: annotation}
		p.Status.ContainerStatuses = status
		return p
	}
	with := func(given string) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: "agent", Resources: new(cpu(given))}
	}
	const state = `{"revision":"v2","updateResources":true}`
	tests := []struct {
		name, why string
		pod       *corev1.Pod
		want      bool
	}{
		{"nil", "nothing to resize", nil, false},
		{"given", "the status shows what the spec asks for", resized(state, with("2")), false},
		{"not given", "the status shows what was before", resized(state, with("1")), true},
		{"no status", "nothing shows it", resized(state), true},
		{"no resize", "the last update resized nothing, so a difference is somebody else's", resized(`{"updateImages":true}`, with("1")), false},
		{"no update", "as before", resized("", with("1")), false},
		{"escaped", "who knows what it says: looked at", resized(`{"\u0075pdateResources":true}`, with("1")), true},
		{"ended", "it will never be resized", func() *corev1.Pod {
			p := resized(state, with("1"))
			p.Status.Phase = corev1.PodFailed
			return p
		}(), false},
	}
	seen := map[string]bool{}
	for _, tt := range tests {
		if tt.name == "" || tt.why == "" || seen[tt.name] {
			t.Fatalf("row %q needs a unique name and a why", tt.name)
		}
		seen[tt.name] = true
		t.Run(tt.name, func(t *testing.T) {
			if got := inplace.UnderWay(tt.pod); got != tt.want {
				t.Errorf("got %t, want %t: %s", got, tt.want, tt.why)
			}
		})
	}
}

// Where UnderWay says no, a pod that is ready has no resize to wait for.
func TestUnderWayIsAQuickCompleted(t *testing.T) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "agent"}}}}
	pod.Annotations = map[string]string{inplace.StateKey: `{"revision":"v2","updateResources":true,"lastContainerStatuses":{}}`}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "agent"}}
	if inplace.UnderWay(pod) || !inplace.Completed(pod).Done {
		t.Error("a container without resources has nothing to wait for")
	}
}

func ExampleUnderWay() {
	request := func(cpu string) corev1.ResourceRequirements {
		return corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}
	}
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "agent", Resources: request("2")}}}}
	pod.Annotations = map[string]string{inplace.StateKey: `{"revision":"v2","updateResources":true}`}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "agent", Resources: new(request("1"))}}
	fmt.Println(inplace.UnderWay(pod))
	pod.Status.ContainerStatuses[0].Resources = new(request("2"))
	fmt.Println(inplace.UnderWay(pod))
	// Output:
	// true
	// false
}
