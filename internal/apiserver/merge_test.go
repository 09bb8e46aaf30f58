package apiserver_test

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/daemonplan/daemonplan/internal/apiserver"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// The merge gives the same as apimachinery's own, also in the order of lists.
func TestStrategicMergeIsThatOfApimachinery(t *testing.T) {
	pod := rollouttest.Pod("p", rollouttest.Of(rollouttest.Spec("agent", rollouttest.InPlaceIfPossible(), rollouttest.Requests("cpu", "100m"))),
		rollouttest.OnNode("a"), objects.Finalizer("x/y"))
	pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{
		Name: "side", Image: "side:v1", Ports: []corev1.ContainerPort{{ContainerPort: 80}, {ContainerPort: 81}},
		LivenessProbe: &corev1.Probe{PeriodSeconds: 7},
	})
	original, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	for _, patch := range []string{
		`{}`,
		`{"metadata":{"labels":{"x":"y","app":null}}}`,
		`{"metadata":{"labels":null}}`,
		`{"metadata":{"annotations":{"x":"y"},"finalizers":["x/y","x/z"]}}`,
		`{"metadata":{"finalizers":["x/z"]}}`,
		`{"metadata":{"ownerReferences":[{"uid":"x","name":"n"}]}}`,
		`{"spec":{"containers":[{"name":"side","image":"side:v2"},{"name":"main","image":"agent:v2"}]}}`,
		`{"spec":{"containers":[{"name":"main","image":null}]}}`,
		`{"spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":"200m","memory":"1Gi"}}}]}}`,
		`{"spec":{"containers":[{"name":"main","resources":null}]}}`,
		`{"spec":{"containers":[{"name":"new","image":"x","env":[{"name":"A","value":"B"}]}]}}`,
		`{"spec":{"containers":[{"name":"new"},{"name":"side"}]}}`,
		`{"spec":{"containers":[{"name":"side","ports":[{"containerPort":81,"name":"b"},{"containerPort":82}]}]}}`,
		`{"spec":{"containers":[{"name":"side","command":["a","b"],"livenessProbe":{"httpGet":{"port":80}}}]}}`,
		`{"spec":{"volumes":[{"name":"v","hostPath":{"path":"/x"}}],"nodeSelector":{"a":"b"}}}`,
		`{"status":{"conditions":[{"type":"Ready","status":"False","reason":"x"},{"type":"x","status":"True"}]}}`,
		`{"status":{"conditions":[{"type":"x","status":"True"},{"type":"y","status":"True"},{"type":"Ready","status":"False"}]}}`,
		`{"status":{"containerStatuses":[]}}`,
		`{"status":{"startTime":"2026-01-01T12:00:00Z","qosClass":"Burstable"}}`,
		`{"spec":{"readinessGates":[{"conditionType":"x"}]}}`,
		`{"spec":{"terminationGracePeriodSeconds":7,"hostNetwork":true}}`,
		`{"spec":null}`,
	} {
		want, err := strategicpatch.StrategicMergePatch(original, []byte(patch), corev1.Pod{})
		if err != nil {
			t.Fatalf("%s: %v", patch, err)
		}
		got := pod.DeepCopy()
		if err := apiserver.StrategicMerge(got, []byte(patch)); err != nil {
			t.Errorf("%s: %v", patch, err)
			continue
		}
		var wanted corev1.Pod
		if err := json.Unmarshal(want, &wanted); err != nil {
			t.Fatal(err)
		}
		if !apiequality.Semantic.DeepEqual(*got, wanted) {
			t.Errorf("%s: got\n%s\nwant\n%s", patch, encoded(t, got), want)
		}
	}
}

func encoded(t *testing.T, p *corev1.Pod) string {
	t.Helper()
	text, err := json.MarshalIndent(p, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
