package inplace_test

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/lifecycle"
)

// apply does what the API server does with a patch: it refuses another UID, and each subresource changes its part only.
func apply(t fataler, pod *corev1.Pod, patches ...lifecycle.Patch) *corev1.Pod {
	t.Helper()
	for _, patch := range patches {
		if patch.Type != types.StrategicMergePatchType {
			t.Fatalf("patch of type %s", patch.Type)
		}
		before, err := json.Marshal(pod)
		if err != nil {
			t.Fatal(err)
		}
		after, err := mergePatch(before, patch.Data)
		if err != nil {
			t.Fatalf("patch %s: %v", patch.Data, err)
		}
		next := &corev1.Pod{}
		if err := json.Unmarshal(after, next); err != nil {
			t.Fatalf("patch %s: %v", patch.Data, err)
		}
		if next.UID != pod.UID {
			t.Fatalf("patch %s is for the pod with UID %q", patch.Data, next.UID)
		}
		pod = admit(t, pod, next, patch)
	}
	return pod
}

// admit keeps of a patched pod what the subresource may change, and fails for what the API server refuses.
func admit(t fataler, old, new *corev1.Pod, patch lifecycle.Patch) *corev1.Pod {
	t.Helper()
	if len(old.Spec.Containers) != len(new.Spec.Containers) || len(old.Spec.InitContainers) != len(new.Spec.InitContainers) {
		t.Fatalf("patch %s changes the set of containers", patch.Data)
	}
	out := old.DeepCopy()
	switch patch.Subresource {
	case "status":
		out.Status = new.Status
	case "resize":
		out.Spec.Resources = new.Spec.Resources
		for i := range out.Spec.Containers {
			out.Spec.Containers[i].Resources = new.Spec.Containers[i].Resources
		}
		for i := range out.Spec.InitContainers {
			out.Spec.InitContainers[i].Resources = new.Spec.InitContainers[i].Resources
		}
	case "":
		out.Labels, out.Annotations = new.Labels, new.Annotations
		for i := range out.Spec.Containers {
			out.Spec.Containers[i].Image = new.Spec.Containers[i].Image
		}
		for i := range out.Spec.InitContainers {
			out.Spec.InitContainers[i].Image = new.Spec.InitContainers[i].Image
		}
		for i, toleration := range old.Spec.Tolerations {
			if i >= len(new.Spec.Tolerations) || new.Spec.Tolerations[i] != toleration {
				t.Fatalf("patch %s takes a toleration away", patch.Data)
			}
		}
		out.Spec.Tolerations = new.Spec.Tolerations
	default:
		t.Fatalf("patch of subresource %q", patch.Subresource)
	}
	want, got := new.DeepCopy(), out.DeepCopy()
	if patch.Subresource == "status" {
		want.ObjectMeta, got.ObjectMeta = old.ObjectMeta, old.ObjectMeta
	}
	if text(want) != text(got) {
		t.Fatalf("patch %s of subresource %q changes more than it may:\n%s\n%s", patch.Data, patch.Subresource, text(want), text(got))
	}
	return out
}

// text returns the JSON of a value.
func text(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// fataler is what *testing.T and *rapid.T have in common here.
type fataler interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

func unmarshal(t fataler, data []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
}
