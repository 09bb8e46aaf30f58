package manifest

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	edsAPIVersion  = "datadoghq.com/v1alpha1"
	edsKind        = "ExtendedDaemonSet"
	edsSettingKind = "ExtendedDaemonsetSetting"
)

// Annotations of an ExtendedDaemonSet that its controller and its kubectl plugin know. A switch is on if its value is
// "true", and off with any other value.
const (
	// EDSCanaryValidAnnotation promotes the revision that its value names.
	EDSCanaryValidAnnotation = "extendeddaemonset.datadoghq.com/canary-valid"
	// EDSCanaryPausedAnnotation pauses whatever revision is on trial.
	EDSCanaryPausedAnnotation = "extendeddaemonset.datadoghq.com/canary-paused"
	// EDSCanaryPausedReasonAnnotation says why the canary is paused. It has no effect.
	EDSCanaryPausedReasonAnnotation = "extendeddaemonset.datadoghq.com/canary-paused-reason"
	// EDSCanaryUnpausedAnnotation lifts automatic pauses of whatever revision is on trial.
	EDSCanaryUnpausedAnnotation = "extendeddaemonset.datadoghq.com/canary-unpaused"
	// EDSRollingUpdatePausedAnnotation pauses the rollout.
	EDSRollingUpdatePausedAnnotation = "extendeddaemonset.datadoghq.com/rolling-update-paused"
	// EDSRolloutFrozenAnnotation stops every create and delete.
	EDSRolloutFrozenAnnotation = "extendeddaemonset.datadoghq.com/rollout-frozen"
	// EDSOldDaemonSetAnnotation names the DaemonSet, in the same namespace, whose pods the set takes over.
	EDSOldDaemonSetAnnotation = "extendeddaemonset.datadoghq.com/old-daemonset"
)

// Annotations of an ExtendedDaemonSet that only this library knows. Their values are those of canary.Commands: they name
// the revision that the command is for, so that it cannot hit the next one (C5). EDS's controller ignores them.
const (
	// CanaryPauseAnnotation says which revision EDSCanaryPausedAnnotation is for. Without that one it has no effect.
	CanaryPauseAnnotation = "daemonplan.io/canary-pause"
	// CanaryUnpauseAnnotation says which revision EDSCanaryUnpausedAnnotation is for. Without that one it has no effect.
	CanaryUnpauseAnnotation = "daemonplan.io/canary-unpause"
	// CanaryValidateAnnotation counts instead of EDSCanaryValidAnnotation, also if that is not there.
	CanaryValidateAnnotation = "daemonplan.io/canary-validate"
	// CanaryFailAnnotation gives a revision up.
	CanaryFailAnnotation = "daemonplan.io/canary-fail"
	// CanaryRetryAnnotation revives a failed revision.
	CanaryRetryAnnotation = "daemonplan.io/canary-retry"
)

// The label and the annotation that EDS's controller puts on every pod.
const (
	edsNameLabel            = "extendeddaemonset.datadoghq.com/name"
	edsAutoscalerAnnotation = "cluster-autoscaler.kubernetes.io/daemonset-pod"
)

// eds is an ExtendedDaemonSet. The types of this file have every field that EDS knows, so that any other field is a mistake.
type eds struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              edsSpec `json:"spec"`
	Status            struct {
		Desired                  int32  `json:"desired"`
		Current                  int32  `json:"current"`
		Ready                    int32  `json:"ready"`
		Available                int32  `json:"available"`
		UpToDate                 int32  `json:"upToDate"`
		IgnoredUnresponsiveNodes int32  `json:"ignoredUnresponsiveNodes"`
		State                    string `json:"state"`
		Reason                   string `json:"reason"`
		ActiveReplicaSet         string `json:"activeReplicaSet"`
		Canary                   struct {
			ReplicaSet string   `json:"replicaSet"`
			Nodes      []string `json:"nodes"`
		} `json:"canary"`
		// Conditions have the fields of those of a Deployment.
		Conditions []appsv1.DeploymentCondition `json:"conditions"`
	} `json:"status"`
}

type edsSpec struct {
	Selector *metav1.LabelSelector  `json:"selector"`
	Template corev1.PodTemplateSpec `json:"template"`
	Strategy struct {
		RollingUpdate edsRollingUpdate `json:"rollingUpdate"`
		Canary        *edsCanary       `json:"canary"`
		// ReconcileFrequency is how often EDS reconciles. It is not used: Plan.NextWake says when to plan again.
		ReconcileFrequency *metav1.Duration `json:"reconcileFrequency"`
	} `json:"strategy"`
}

type edsRollingUpdate struct {
	MaxUnavailable            *intstr.IntOrString `json:"maxUnavailable"`
	MaxPodSchedulerFailure    *intstr.IntOrString `json:"maxPodSchedulerFailure"`
	MaxParallelPodCreation    *int32              `json:"maxParallelPodCreation"`
	SlowStartIntervalDuration *metav1.Duration    `json:"slowStartIntervalDuration"`
	SlowStartAdditiveIncrease *intstr.IntOrString `json:"slowStartAdditiveIncrease"`
}

type edsCanary struct {
	Replicas             *intstr.IntOrString   `json:"replicas"`
	Duration             *metav1.Duration      `json:"duration"`
	NodeSelector         *metav1.LabelSelector `json:"nodeSelector"`
	NodeAntiAffinityKeys []string              `json:"nodeAntiAffinityKeys"`
	AutoPause            struct {
		Enabled              *bool            `json:"enabled"`
		MaxRestarts          *int32           `json:"maxRestarts"`
		MaxSlowStartDuration *metav1.Duration `json:"maxSlowStartDuration"`
	} `json:"autoPause"`
	AutoFail struct {
		Enabled             *bool            `json:"enabled"`
		MaxRestarts         *int32           `json:"maxRestarts"`
		MaxRestartsDuration *metav1.Duration `json:"maxRestartsDuration"`
		CanaryTimeout       *metav1.Duration `json:"canaryTimeout"`
	} `json:"autoFail"`
	NoRestartsDuration *metav1.Duration `json:"noRestartsDuration"`
	ValidationMode     string           `json:"validationMode"`
}

// edsPaths are the places of a Spec's fields in the manifest. A field that is not listed has the same place, or none.
var edsPaths = [...][2]string{
	{"spec.name", "metadata.name"},
	{"spec.namespace", "metadata.namespace"},
	{"spec.uid", "metadata.uid"},
	{"spec.generation", "metadata.generation"},
	{"spec.burst", "spec.strategy.rollingUpdate.maxParallelPodCreation"},
	{"spec.predecessor", "metadata.annotations[" + EDSOldDaemonSetAnnotation + "]"},
	{"spec.strategy.maxUnavailable", "spec.strategy.rollingUpdate.maxUnavailable"},
	{"spec.strategy.maxUnschedulable", "spec.strategy.rollingUpdate.maxPodSchedulerFailure"},
	{"spec.strategy.slowStart.interval", "spec.strategy.rollingUpdate.slowStartIntervalDuration"},
	{"spec.strategy.slowStart.increase", "spec.strategy.rollingUpdate.slowStartAdditiveIncrease"},
	{"spec.strategy.slowStart.maxParallel", "spec.strategy.rollingUpdate.maxParallelPodCreation"},
	{"spec.strategy.canary.mode", "spec.strategy.canary.validationMode"},
	{"spec.strategy.canary.autoPause.disabled", "spec.strategy.canary.autoPause.enabled"},
	{"spec.strategy.canary.autoFail.disabled", "spec.strategy.canary.autoFail.enabled"},
	{"spec.strategy.canary.commands.pause", "metadata.annotations[" + CanaryPauseAnnotation + "]"},
	{"spec.strategy.canary.commands.unpause", "metadata.annotations[" + CanaryUnpauseAnnotation + "]"},
	{"spec.strategy.canary.commands.validate", "metadata.annotations[" + EDSCanaryValidAnnotation + "]"},
	{"spec.strategy.canary.commands.fail", "metadata.annotations[" + CanaryFailAnnotation + "]"},
	{"spec.strategy.canary.commands.retry", "metadata.annotations[" + CanaryRetryAnnotation + "]"},
	{"spec.strategy.policy", "metadata.annotations[" + PolicyAnnotation + "]"},
	{"spec.strategy.paused", "metadata.annotations[" + EDSRollingUpdatePausedAnnotation + "]"},
	{"spec.strategy.frozen", "metadata.annotations[" + EDSRolloutFrozenAnnotation + "]"},
}
