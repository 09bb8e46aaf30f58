package lifecycle_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/lifecycle"
)

// send does with patches what an API server does: it refuses those for another pod or an outdated one, changes through
// each subresource what that may change, and counts the resource version up.
func send(pod *corev1.Pod, patches ...lifecycle.Patch) (*corev1.Pod, error) {
	for _, patch := range patches {
		if patch.Type != types.StrategicMergePatchType {
			return pod, fmt.Errorf("patch type %q", patch.Type)
		}
		var meta struct {
			Metadata struct{ UID, ResourceVersion string }
		}
		if err := json.Unmarshal(patch.Data, &meta); err != nil {
			return pod, err
		}
		if uid := meta.Metadata.UID; uid != string(pod.UID) {
			return pod, fmt.Errorf("conflict: UID %q, not %q", pod.UID, uid)
		}
		if version := meta.Metadata.ResourceVersion; version != "" && version != pod.ResourceVersion {
			return pod, fmt.Errorf("conflict: resource version %q, not %q", pod.ResourceVersion, version)
		}
		next, err := merge(pod, patch.Data)
		if err != nil {
			return pod, err
		}
		switch patch.Subresource {
		case "":
			next.Status = pod.Status
		case "status":
			next.ObjectMeta, next.Spec = *pod.ObjectMeta.DeepCopy(), pod.Spec
		default:
			return pod, fmt.Errorf("subresource %q", patch.Subresource)
		}
		next.ResourceVersion = pod.ResourceVersion + "'"
		pod = next
	}
	return pod, nil
}

// merge returns the strategic merge of the fields that this package patches: labels and annotations by key, finalizers as a
// set, conditions by type and then field by field. Anything else is refused. apimachinery's own merge needs modules
// that the library does without.
func merge(pod *corev1.Pod, data []byte) (*corev1.Pod, error) {
	var patch struct {
		Metadata struct {
			UID, ResourceVersion string
			Labels, Annotations  map[string]string
			Finalizers           []string
		}
		Status struct{ Conditions []json.RawMessage }
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&patch); err != nil {
		return nil, err
	}
	next := pod.DeepCopy()
	next.Labels = union(next.Labels, patch.Metadata.Labels)
	next.Annotations = union(next.Annotations, patch.Metadata.Annotations)
	for _, f := range patch.Metadata.Finalizers {
		if !slices.Contains(next.Finalizers, f) {
			next.Finalizers = append(next.Finalizers, f)
		}
	}
	for _, text := range patch.Status.Conditions {
		var key struct{ Type corev1.PodConditionType }
		if err := json.Unmarshal(text, &key); err != nil {
			return nil, err
		}
		c := find(next, key.Type)
		if c == nil {
			next.Status.Conditions = append(next.Status.Conditions, corev1.PodCondition{})
			c = &next.Status.Conditions[len(next.Status.Conditions)-1]
		}
		if err := json.Unmarshal(text, c); err != nil { // only the fields that are there
			return nil, err
		}
	}
	return next, nil
}

func union(base, more map[string]string) map[string]string {
	if base == nil && more != nil {
		base = map[string]string{}
	}
	maps.Copy(base, more)
	return base
}

// mustSend is send for tests in which nothing else writes the pod.
func mustSend(t *testing.T, pod *corev1.Pod, patches ...lifecycle.Patch) *corev1.Pod {
	t.Helper()
	pod, err := send(pod, patches...)
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

func find(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}
