package peer

import (
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Set is what the model reads of either DaemonSet: apps/v1, or apps.kruise.io/v1beta1.
type Set struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Selector             *metav1.LabelSelector  `json:"selector"`
		Template             corev1.PodTemplateSpec `json:"template"`
		MinReadySeconds      int32                  `json:"minReadySeconds,omitempty"`
		RevisionHistoryLimit *int32                 `json:"revisionHistoryLimit,omitempty"`
		UpdateStrategy       struct {
			Type          string         `json:"type"`
			RollingUpdate *RollingUpdate `json:"rollingUpdate,omitempty"`
		} `json:"updateStrategy"`
		BurstReplicas *intstr.IntOrString `json:"burstReplicas,omitempty"`
		ScaleStrategy *ScaleStrategy      `json:"scaleStrategy,omitempty"`
		Lifecycle     *struct {
			PreDelete *Hook `json:"preDelete,omitempty"`
		} `json:"lifecycle,omitempty"`
	} `json:"spec"`
	Status struct {
		DesiredNumberScheduled int32  `json:"desiredNumberScheduled"`
		CollisionCount         *int32 `json:"collisionCount,omitempty"`
	} `json:"status"`
}

// ScaleStrategy is that of an Advanced DaemonSet.
type ScaleStrategy struct {
	PartitionedScaling bool `json:"partitionedScaling,omitempty"`
}

// RollingUpdate are the settings of rolling updates: those of apps/v1 and what an Advanced DaemonSet has beside them.
type RollingUpdate struct {
	RollingUpdateType string                `json:"rollingUpdateType,omitempty"`
	MaxUnavailable    *intstr.IntOrString   `json:"maxUnavailable,omitempty"`
	MaxSurge          *intstr.IntOrString   `json:"maxSurge,omitempty"`
	Partition         *intstr.IntOrString   `json:"partition,omitempty"`
	Selector          *metav1.LabelSelector `json:"selector,omitempty"`
	Paused            bool                  `json:"paused,omitempty"`
}

// Hook is a lifecycle hook of an Advanced DaemonSet.
type Hook struct {
	LabelsHandler     map[string]string `json:"labelsHandler,omitempty"`
	FinalizersHandler []string          `json:"finalizersHandler,omitempty"`
	MarkPodNotReady   bool              `json:"markPodNotReady,omitempty"`
}

// hook returns the preDelete hook of the set, if any.
func (s *Set) hook() *Hook {
	if s.Spec.Lifecycle == nil {
		return nil
	}
	return s.Spec.Lifecycle.PreDelete
}

// Rolling returns the settings of rolling updates; absent ones are unset.
func (s *Set) Rolling() RollingUpdate {
	u := s.Spec.UpdateStrategy
	if u.RollingUpdate == nil || u.Type == string(appsv1.OnDeleteDaemonSetStrategyType) {
		return RollingUpdate{}
	}
	return *u.RollingUpdate
}

// Zero reports whether a budget is set and zero: 0, 0%, or 0 in more digits. An unset one is not zero.
func Zero(v *intstr.IntOrString) bool {
	switch {
	case v == nil:
		return false
	case v.Type == intstr.Int:
		return v.IntVal == 0
	default:
		return v.Type == intstr.String && strings.Trim(v.StrVal, "0") == "%"
	}
}

// Unfit reports whether the API server refuses a quantity: a negative one, one that is neither an integer nor a percentage, and
// one of more than most percent.
func Unfit(v *intstr.IntOrString, most int) bool {
	switch {
	case v == nil:
		return false
	case v.Type == intstr.Int:
		return v.IntVal < 0
	}
	digits, isPercentage := strings.CutSuffix(v.StrVal, "%")
	percent, err := strconv.ParseUint(digits, 10, 31)
	return v.Type != intstr.String || !isPercentage || err != nil || percent > uint64(most)
}
