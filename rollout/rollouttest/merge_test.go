package rollouttest

import (
	"encoding/json"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// What is merged here is what apimachinery's own merges, the order of lists included.
func TestStrategicMergeIsThatOfApimachinery(t *testing.T) {
	pod := Pod("p", Of(Spec("agent", InPlace(), Requests("cpu", "100m"))), OnNode("a"), Finalizer("x/y"))
	pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "side", Image: "side:v1"})
	original, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	for _, patch := range []string{
		`{}`,
		`{"metadata":{"labels":{"x":"y","app":null}}}`,
		`{"metadata":{"annotations":{"x":"y"},"finalizers":["x/y","x/z"]}}`,
		`{"spec":{"containers":[{"name":"side","image":"side:v2"},{"name":"main","image":"agent:v2"}]}}`,
		`{"spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":"200m","memory":"1Gi"}}}]}}`,
		`{"spec":{"containers":[{"name":"new","image":"x","env":[{"name":"A","value":"B"}]}]}}`,
		`{"status":{"conditions":[{"type":"Ready","status":"False","reason":"x"},{"type":"x","status":"True"}]}}`,
		`{"status":{"containerStatuses":[]}}`,
		`{"spec":{"readinessGates":[{"conditionType":"x"}]}}`,
	} {
		want, err := strategicpatch.StrategicMergePatch(original, []byte(patch), corev1.Pod{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := strategicMergePatch(original, []byte(patch))
		if err != nil {
			t.Fatal(err)
		}
		var a, b corev1.Pod
		if err := json.Unmarshal(got, &a); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(want, &b); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(a, b) {
			t.Errorf("%s: got\n%s\nwant\n%s", patch, got, want)
		}
	}
}
