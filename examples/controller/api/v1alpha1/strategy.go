package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// UpdateStrategy is rollout.Strategy.
//
// +kubebuilder:validation:XValidation:rule="!has(self.canary) || self.type != 'OnDelete'",message="a canary needs type RollingUpdate"
// +kubebuilder:validation:XValidation:rule="!has(self.maxSurge) || self.method == 'Recreate' || string(self.maxSurge) in ['0', '0%']",message="maxSurge needs method Recreate"
type UpdateStrategy struct {
	// Type is RollingUpdate, or OnDelete: pods are replaced when somebody deletes them.
	//
	// +kubebuilder:validation:Enum=RollingUpdate;OnDelete
	// +kubebuilder:default=RollingUpdate
	Type string `json:"type,omitempty"`
	// MaxUnavailable is how many nodes may lack a serving pod. Default: 1, or 0 with maxSurge.
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	// MaxSurge is how many nodes may hold a new pod beside the old one. Default: 0.
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`
	// Partition is how many nodes are held at their old revision. Default: 0.
	Partition *intstr.IntOrString `json:"partition,omitempty"`
	// NodeSelector holds the nodes that it does not match. Default: all match.
	NodeSelector *metav1.LabelSelector `json:"nodeSelector,omitempty"`
	// PartitionedScaling leaves the nodes that partition would hold empty during a first installation.
	PartitionedScaling bool `json:"partitionedScaling,omitempty"`
	// HoldRevision brings lost pods of held nodes back at the revision they had.
	HoldRevision bool `json:"holdRevision,omitempty"`
	// Method is Recreate, InPlaceIfPossible or InPlaceOnly.
	//
	// +kubebuilder:validation:Enum=Recreate;InPlaceIfPossible;InPlaceOnly
	// +kubebuilder:default=Recreate
	Method string `json:"method,omitempty"`
	// InPlace says what may be updated in place.
	InPlace InPlace `json:"inPlace,omitempty"`
	// Canary tries each new revision on a few nodes first.
	Canary *Canary `json:"canary,omitempty"`
	// SlowStart lets a rollout gather speed.
	SlowStart *SlowStart `json:"slowStart,omitempty"`
	// MaxUnschedulable is how many nodes without room for their pod are left out of the budgets. Default: 0.
	MaxUnschedulable *intstr.IntOrString `json:"maxUnschedulable,omitempty"`
	// Policy says how the rollout goes about the fleet, with type RollingUpdate. It is written as in the annotation
	// daemonplan.io/policy of a DaemonSet.
	Policy *Policy `json:"policy,omitempty"`
	// Paused begins no node; repair goes on.
	Paused bool `json:"paused,omitempty"`
	// Frozen, in addition, creates and deletes nothing.
	Frozen bool `json:"frozen,omitempty"`
}

// InPlace says what may be updated in place beyond images, labels and annotations.
type InPlace struct {
	// Sidecars allows images of native sidecars to change: init containers that always restart. True by default.
	Sidecars *bool `json:"sidecars,omitempty"`
	// Tolerations allows tolerations to be added, which restarts nothing. True by default.
	Tolerations *bool `json:"tolerations,omitempty"`
	// RestartKeys are labels and annotations of the template, or their prefixes with the slash such as checksum/, whose change
	// asks for a restart: the pods are recreated then. kubectl.kubernetes.io/restartedAt always is one.
	//
	// +kubebuilder:validation:MaxItems=64
	RestartKeys []string `json:"restartKeys,omitempty"`
	// ServeOn are the containers and sidecars without which the pod serves on, such as an exporter beside an agent: where only
	// these restart, the pod is not made not ready for its update.
	//
	// +kubebuilder:validation:MaxItems=64
	ServeOn []string `json:"serveOn,omitempty"`
	// Resize allows cpu and memory to change and to be added: of containers and sidecars, and of other init containers and the
	// pod as a whole on nodes that declare it.
	Resize bool `json:"resize,omitempty"`
	// EnvFromMetadata allows labels and annotations to change that environment variables read.
	EnvFromMetadata bool `json:"envFromMetadata,omitempty"`
	// CgroupV1 says that there are nodes with cgroup v1.
	CgroupV1 bool `json:"cgroupV1,omitempty"`
	// GracePeriodSeconds between making a pod not ready and changing it.
	//
	// +kubebuilder:validation:Minimum=0
	GracePeriodSeconds int32 `json:"gracePeriodSeconds,omitempty"`
}

// Canary is canary.Options.
//
// +kubebuilder:validation:XValidation:rule="self.validationMode != 'manual' || (!has(self.duration) && !has(self.noRestartsDuration))",message="validationMode manual has no duration: the command validate promotes"
type Canary struct {
	// Replicas is the number of canary nodes. Default: 1.
	Replicas *intstr.IntOrString `json:"replicas,omitempty"`
	// ValidationMode is auto, by the clock, or manual, by command only.
	//
	// +kubebuilder:validation:Enum=auto;manual
	// +kubebuilder:default=auto
	ValidationMode string `json:"validationMode,omitempty"`
	// Duration is how long a revision is watched before it is promoted. Default: 10m.
	Duration *Duration `json:"duration,omitempty"`
	// NoRestartsDuration is how long no canary pod may have restarted before that. Default: 5m.
	NoRestartsDuration *Duration `json:"noRestartsDuration,omitempty"`
	// NodeSelector picks the nodes that may be canary nodes. Default: all.
	NodeSelector *metav1.LabelSelector `json:"nodeSelector,omitempty"`
	// NodeAntiAffinityKeys are node labels over whose values the canary nodes are spread.
	NodeAntiAffinityKeys []string `json:"nodeAntiAffinityKeys,omitempty"`
	// AutoPause pauses when a pod does not come up.
	AutoPause AutoPause `json:"autoPause,omitempty"`
	// AutoFail gives the revision up.
	AutoFail AutoFail `json:"autoFail,omitempty"`
	// Commands name the revision they are for, by hash.
	Commands Commands `json:"commands,omitempty"`
}

// AutoPause is canary.AutoPause.
type AutoPause struct {
	Disabled bool `json:"disabled,omitempty"`
	// +kubebuilder:validation:Minimum=0
	MaxRestarts          *int32    `json:"maxRestarts,omitempty"`
	MaxSlowStartDuration *Duration `json:"maxSlowStartDuration,omitempty"`
}

// AutoFail is canary.AutoFail.
type AutoFail struct {
	Disabled bool `json:"disabled,omitempty"`
	// +kubebuilder:validation:Minimum=0
	MaxRestarts         *int32    `json:"maxRestarts,omitempty"`
	MaxRestartsDuration *Duration `json:"maxRestartsDuration,omitempty"`
	CanaryTimeout       *Duration `json:"canaryTimeout,omitempty"`
}

// Commands are canary.Commands: each the hash of the revision that it is for.
type Commands struct {
	Pause    string `json:"pause,omitempty"`
	Unpause  string `json:"unpause,omitempty"`
	Validate string `json:"validate,omitempty"`
	Fail     string `json:"fail,omitempty"`
	Retry    string `json:"retry,omitempty"`
}

// Policy is rollout.Policy.
type Policy struct {
	// Outages leaves nodes that were down before their update out of the budgets, and departing nodes alone. Default: neither.
	Outages *Outages `json:"outages,omitempty"`
	// Domains bound how many nodes are disturbed at once by label. Default: none.
	Domains []Domain `json:"domains,omitempty"`
	// Stages open the fleet to a new revision one part after the other. Default: all nodes are open.
	Stages []Stage `json:"stages,omitempty"`
	// Approved are the approvals of parts of stages that need one. Default: none.
	Approved []Approval `json:"approved,omitempty"`
	// Expedite names a revision that passes the stages: its hash, the name of its ControllerRevision, or "*" for whatever
	// revision there is. Default: none.
	Expedite string `json:"expedite,omitempty"`
	// Failures stop the rollout, or take it back, when it fails on too many nodes. Default: nodes that fail count as
	// unavailable, and nothing else follows.
	Failures *Failures `json:"failures,omitempty"`
}

// Failures is failure.Options.
type Failures struct {
	// Deadline is how long a node's pod of the update revision may be unavailable until the node has failed. It must be more than
	// minReadySeconds. Default: 10m.
	Deadline *Duration `json:"deadline,omitempty"`
	// MaxRestarts is how often a pod that is not available may have restarted. Default: restarts are not looked at.
	MaxRestarts *int32 `json:"maxRestarts,omitempty"`
	// MaxFailed is how many nodes may have failed: a number, or a percentage of the nodes in open parts of stages, rounded down.
	// Default: 0.
	MaxFailed *intstr.IntOrString `json:"maxFailed,omitempty"`
	// Action is what is done while more have failed: Pause or Rollback. Default: Pause.
	Action string `json:"action,omitempty"`
	// Retry names the revision that is rolled out once more after a rollback; a slash and any new text make it a new order.
	// Default: none.
	Retry string `json:"retry,omitempty"`
	// Quarantine is how many failed nodes are left out of the budgets: as MaxFailed. Default: 0.
	Quarantine *intstr.IntOrString `json:"quarantine,omitempty"`
}

// Stage is stage.Stage.
type Stage struct {
	// Name of the stage: a DNS label, and unique.
	Name string `json:"name"`
	// Selector selects the nodes of the stage, of those that no stage before it selects. Default: all that are left.
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// Key is a label by whose values the stage is cut into parts, which are opened one after the other. Default: it is one part.
	Key string `json:"key,omitempty"`
	// Tolerance is how many nodes of a part may be unavailable when it is done: a number, or a percentage, rounded down.
	// Default: 0.
	Tolerance *intstr.IntOrString `json:"tolerance,omitempty"`
	// Soak is how long the next part waits after one of this stage is done. Default: 0s.
	Soak *Duration `json:"soak,omitempty"`
	// Approval says that each part of the stage needs an approval to be opened. Default: false.
	Approval bool `json:"approval,omitempty"`
}

// Approval is stage.Approval.
type Approval struct {
	// Stage is the name of the stage.
	Stage string `json:"stage"`
	// Value is the value of the stage's key for which it is. Default: all parts of the stage.
	Value string `json:"value,omitempty"`
	// Revision that it is for: its hash, or the name of its ControllerRevision.
	Revision string `json:"revision"`
}

// Domain is domain.Domain. Max or AtOnce is required.
type Domain struct {
	// Selector selects the nodes that the bounds are for. Default: all.
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// Key is the label whose values are bounded one by one. Default: the selected nodes are bounded together.
	Key string `json:"key,omitempty"`
	// Max is how many nodes of one value may be disturbed. Default: any number.
	Max *intstr.IntOrString `json:"max,omitempty"`
	// AtOnce is in how many values nodes may be disturbed. Default: in any number.
	AtOnce int32 `json:"atOnce,omitempty"`
}

// Outages is outage.Options.
type Outages struct {
	// MaxExempt is how many nodes that were down before their update are left out of the budgets. Default: 0.
	MaxExempt *intstr.IntOrString `json:"maxExempt,omitempty"`
	// ProvenAfter is how long a node's new pod must have run before the node went down, so that the update is not blamed.
	// Default: 0s, which blames it always.
	ProvenAfter *Duration `json:"provenAfter,omitempty"`
	// Taints are the keys of further taints that mark a departing node.
	Taints []string `json:"taints,omitempty"`
	// Conditions are the types of further conditions that mark a departing node while they are True.
	Conditions []string `json:"conditions,omitempty"`
	// Touch has departing nodes repaired and updated like any other.
	Touch bool `json:"touch,omitempty"`
}

// SlowStart is rollout.SlowStart.
type SlowStart struct {
	// Interval between two steps. Default: 1m.
	Interval *Duration `json:"interval,omitempty"`
	// Increase of the limit at each step. Default: 1.
	Increase *intstr.IntOrString `json:"increase,omitempty"`
	// MaxParallel is the highest limit. Default: 250.
	MaxParallel *intstr.IntOrString `json:"maxParallel,omitempty"`
}

// Duration is written as in Go: 90s, 10m, 1h30m.
//
// +kubebuilder:validation:Type=string
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="must be a duration such as 90s, 10m or 1h30m"
type Duration struct {
	metav1.Duration `json:",inline"`
}
