package inplace

import (
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/lifecycle"
)

// body is a strategic merge patch of a pod. The UID makes the API server refuse it for a namesake.
type body struct {
	Metadata bodyMetadata `json:"metadata"`
	Spec     *bodySpec    `json:"spec,omitempty"`
	Status   *bodyStatus  `json:"status,omitempty"`
}

type bodyMetadata struct {
	UID types.UID `json:"uid,omitempty"`
	// ResourceVersion makes the API server refuse the patch if the pod has changed since.
	ResourceVersion string `json:"resourceVersion,omitempty"`
	// A key with null is dropped from the pod. Keys that are not listed stay.
	Labels      map[string]*string `json:"labels,omitempty"`
	Annotations map[string]*string `json:"annotations,omitempty"`
}

type bodySpec struct {
	InitContainers []bodyContainer `json:"initContainers,omitempty"`
	Containers     []bodyContainer `json:"containers,omitempty"`
	// Resources of the pod as a whole.
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
	// Tolerations replace those of the pod.
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
}

// add adds a container to its list.
func (s *bodySpec) add(container bodyContainer, init bool) {
	if init {
		s.InitContainers = append(s.InitContainers, container)
	} else {
		s.Containers = append(s.Containers, container)
	}
}

func (s *bodySpec) isEmpty() bool {
	return len(s.InitContainers)+len(s.Containers)+len(s.Tolerations) == 0 && s.Resources == nil
}

type bodyContainer struct {
	Name      string                       `json:"name"`
	Image     string                       `json:"image,omitempty"`
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
}

type bodyStatus struct {
	Conditions []bodyCondition `json:"conditions"`
}

type bodyCondition struct {
	Type               corev1.PodConditionType `json:"type"`
	Status             corev1.ConditionStatus  `json:"status"`
	LastTransitionTime metav1.Time             `json:"lastTransitionTime"`
	// Reason and Message are written even if empty, because otherwise the previous ones would stay.
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// patch encodes b. The types of b cannot fail to be encoded.
func patch(subresource string, b body) (lifecycle.Patch, error) {
	data, err := json.Marshal(b)
	if err != nil {
		return lifecycle.Patch{}, fmt.Errorf("encoding a patch: %w", err)
	}
	return lifecycle.Patch{Type: types.StrategicMergePatchType, Subresource: subresource, Data: data}, nil
}

// unreadyPatch makes pod not ready (I4). It sets the Ready condition, too: the kubelet does that only when it looks again, and
// endpoints have to lose the pod before that.
func unreadyPatch(pod *corev1.Pod, metadata bodyMetadata, now time.Time) (lifecycle.Patch, error) {
	conditions := []bodyCondition{{
		Type: lifecycle.InPlaceUpdateReady, Status: corev1.ConditionFalse,
		LastTransitionTime: metav1.NewTime(now), Reason: "StartInPlaceUpdate",
	}}
	if ready := conditionOf(pod, corev1.PodReady); ready != nil && ready.Status == corev1.ConditionTrue {
		conditions = append(conditions, bodyCondition{
			Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(now),
			Reason:  "ReadinessGatesNotReady",
			Message: fmt.Sprintf("condition of readiness gate %q is %q", lifecycle.InPlaceUpdateReady, corev1.ConditionFalse),
		})
	}
	return patch("status", body{Metadata: metadata, Status: &bodyStatus{Conditions: conditions}})
}

// readyPatch lets pod be ready again. The Ready condition itself is left to the kubelet.
func readyPatch(pod *corev1.Pod, now time.Time) (lifecycle.Patch, error) {
	return patch("status", body{
		Metadata: bodyMetadata{UID: pod.UID},
		Status: &bodyStatus{Conditions: []bodyCondition{{
			Type: lifecycle.InPlaceUpdateReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now),
		}}},
	})
}

// conditionOf returns a pod's condition; nil if it has none of the type. Of several the first that is not True counts,
// as in package lifecycle.
func conditionOf(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	var found *corev1.PodCondition
	for i := range pod.Status.Conditions {
		condition := &pod.Status.Conditions[i]
		if condition.Type != kind {
			continue
		}
		if condition.Status != corev1.ConditionTrue {
			return condition
		}
		if found == nil {
			found = condition
		}
	}
	return found
}
