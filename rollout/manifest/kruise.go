package manifest

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// The versions of Advanced DaemonSet. Its kind is called DaemonSet too.
const (
	kruiseV1alpha1 = "apps.kruise.io/v1alpha1"
	kruiseV1beta1  = "apps.kruise.io/v1beta1"
)

// Annotations of an Advanced DaemonSet that carry settings.
const (
	kruiseProgressive = "daemonset.kruise.io/progressive-create-pod"
	kruiseParallelism = "apps.kruise.io/image-predownload-parallelism"
	kruiseTimeout     = "apps.kruise.io/image-predownload-timeout-seconds"
	kruiseMinReady    = "apps.kruise.io/image-predownload-min-updated-ready-pods"
)

// The values of rollingUpdateType. v1beta1 no longer has Surging.
const (
	kruiseStandard = "Standard"
	kruiseInPlace  = "InPlaceIfPossible"
	kruiseSurging  = "Surging"
)

// kruiseAlpha is an object of v1alpha1. The types of this file have every field that OpenKruise knows, so that any other
// field is a mistake.
type kruiseAlpha struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              kruiseSpec `json:"spec"`
	Status            struct {
		appsv1.DaemonSetStatus `json:",inline"`
		DaemonSetHash          string `json:"daemonSetHash"`
	} `json:"status"`
}

// kruiseBeta is an object of v1beta1: partitioned scaling is a field, and the revision in the status has another name.
type kruiseBeta struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		kruiseSpec    `json:",inline"`
		ScaleStrategy struct {
			PartitionedScaling bool `json:"partitionedScaling"`
		} `json:"scaleStrategy"`
	} `json:"spec"`
	Status struct {
		appsv1.DaemonSetStatus `json:",inline"`
		UpdateRevision         string `json:"updateRevision"`
	} `json:"status"`
}

// kruiseSpec is what both versions have.
type kruiseSpec struct {
	Selector       *metav1.LabelSelector  `json:"selector"`
	Template       corev1.PodTemplateSpec `json:"template"`
	UpdateStrategy struct {
		Type          string              `json:"type"`
		RollingUpdate kruiseRollingUpdate `json:"rollingUpdate"`
	} `json:"updateStrategy"`
	MinReadySeconds      int32               `json:"minReadySeconds"`
	BurstReplicas        *intstr.IntOrString `json:"burstReplicas"`
	RevisionHistoryLimit *int32              `json:"revisionHistoryLimit"`
	Lifecycle            struct {
		PreDelete     *kruiseHook `json:"preDelete"`
		InPlaceUpdate *kruiseHook `json:"inPlaceUpdate"`
		PreNormal     *kruiseHook `json:"preNormal"`
	} `json:"lifecycle"`
	// NodePatches change the template on some nodes. The field is read so that it can be refused.
	NodePatches any `json:"nodePatches"`
}

type kruiseRollingUpdate struct {
	Type           string                `json:"rollingUpdateType"`
	MaxUnavailable *intstr.IntOrString   `json:"maxUnavailable"`
	MaxSurge       *intstr.IntOrString   `json:"maxSurge"`
	Selector       *metav1.LabelSelector `json:"selector"`
	// Partition is an integer in v1alpha1 up to OpenKruise v1.8.
	Partition *intstr.IntOrString `json:"partition"`
	Paused    bool                `json:"paused"`
}

type kruiseHook struct {
	LabelsHandler     map[string]string `json:"labelsHandler"`
	FinalizersHandler []string          `json:"finalizersHandler"`
	MarkPodNotReady   bool              `json:"markPodNotReady"`
}

// kruisePaths are the places of a Spec's fields in both versions, beyond those that apps/v1 has too.
var kruisePaths = [...][2]string{
	{"spec.strategy.partition", "spec.updateStrategy.rollingUpdate.partition"},
	{"spec.strategy.nodeSelector", "spec.updateStrategy.rollingUpdate.selector"},
	{"spec.strategy.paused", "spec.updateStrategy.rollingUpdate.paused"},
	{"spec.strategy.method", "spec.updateStrategy.rollingUpdate.rollingUpdateType"},
	{"spec.burst", "spec.burstReplicas"},
	{"spec.lifecycle.preDelete.labels", "spec.lifecycle.preDelete.labelsHandler"},
	{"spec.lifecycle.preDelete.finalizers", "spec.lifecycle.preDelete.finalizersHandler"},
	{"spec.lifecycle.inPlaceUpdate.labels", "spec.lifecycle.inPlaceUpdate.labelsHandler"},
	{"spec.lifecycle.inPlaceUpdate.finalizers", "spec.lifecycle.inPlaceUpdate.finalizersHandler"},
	{"spec.lifecycle.preNormal.labels", "spec.lifecycle.preNormal.labelsHandler"},
	{"spec.lifecycle.preNormal.finalizers", "spec.lifecycle.preNormal.finalizersHandler"},
	{"spec.preDownload.parallelism", "metadata.annotations[" + kruiseParallelism + "]"},
	{"spec.preDownload.minUpdatedReadyPods", "metadata.annotations[" + kruiseMinReady + "]"},
	{"spec.preDownload.timeoutSeconds", "metadata.annotations[" + kruiseTimeout + "]"},
}

// The places that differ between the versions.
var (
	kruiseAlphaPaths = [...][2]string{
		{"spec.strategy.partitionedScaling", "metadata.annotations[" + kruiseProgressive + "]"},
	}
	kruiseBetaPaths = [...][2]string{
		{"spec.strategy.partitionedScaling", "spec.scaleStrategy.partitionedScaling"},
	}
)
