package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// PlannedDaemonSet runs one pod on each node that its template fits, and rolls out changes as daemonplan plans them.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=pds
// +kubebuilder:printcolumn:name="Desired",type=integer,JSONPath=`.status.desiredNumberScheduled`
// +kubebuilder:printcolumn:name="Current",type=integer,JSONPath=`.status.currentNumberScheduled`
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.numberReady`
// +kubebuilder:printcolumn:name="Up-to-date",type=integer,JSONPath=`.status.updatedNumberScheduled`
// +kubebuilder:printcolumn:name="Available",type=integer,JSONPath=`.status.numberAvailable`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.reason`,priority=1
// +kubebuilder:printcolumn:name="Waiting",type=string,JSONPath=`.status.waiting[0]`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type PlannedDaemonSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec PlannedDaemonSetSpec `json:"spec"`
	// +kubebuilder:default:={"observedGeneration":-1}
	Status PlannedDaemonSetStatus `json:"status,omitempty"`
}

// PlannedDaemonSetList is a list of PlannedDaemonSets.
//
// +kubebuilder:object:root=true
type PlannedDaemonSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []PlannedDaemonSet `json:"items"`
}

// PlannedDaemonSetSpec is rollout.Spec. What identifies the set there is the object's metadata here.
//
// +kubebuilder:validation:XValidation:rule="self.selector == oldSelf.selector",message="selector is immutable: pods of another selector would be left behind"
type PlannedDaemonSetSpec struct {
	// Selector of the pods. It must match the template's labels, and never changes.
	Selector *metav1.LabelSelector `json:"selector"`
	// Template of the pods.
	//
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	Template corev1.PodTemplateSpec `json:"template"`
	// UpdateStrategy says how changes reach the nodes. Default: one node at a time.
	UpdateStrategy UpdateStrategy `json:"updateStrategy,omitempty"`
	// MinReadySeconds is how long a pod must be Ready to count as available.
	//
	// +kubebuilder:validation:Minimum=0
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`
	// RevisionHistoryLimit is how many old revisions are kept. Default: 10.
	//
	// +kubebuilder:validation:Minimum=0
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`
	// Burst bounds the creates, the deletes and the new in-place updates of one plan each. Default: 250.
	Burst *intstr.IntOrString `json:"burst,omitempty"`
	// Lifecycle has the hooks that pods wait for.
	Lifecycle Lifecycle `json:"lifecycle,omitempty"`
	// Overrides give the containers on some nodes other resources.
	//
	// +listType=map
	// +listMapKey=name
	Overrides []Override `json:"overrides,omitempty"`
	// Predecessor is the set whose pods this one takes over and replaces.
	Predecessor *Predecessor `json:"predecessor,omitempty"`
	// PreDownload pulls images ahead of the rollout.
	PreDownload *PreDownload `json:"preDownload,omitempty"`
}

// Lifecycle has the hooks of pods.
type Lifecycle struct {
	// PreDelete is waited for before a pod is deleted.
	PreDelete *Hook `json:"preDelete,omitempty"`
	// InPlaceUpdate is waited for before and after an in-place update.
	InPlaceUpdate *Hook `json:"inPlaceUpdate,omitempty"`
	// PreNormal is waited for before a new pod is Normal.
	PreNormal *Hook `json:"preNormal,omitempty"`
}

// Hook is labels and finalizers that mark a pod as hooked.
type Hook struct {
	Labels          map[string]string `json:"labels,omitempty"`
	Finalizers      []string          `json:"finalizers,omitempty"`
	MarkPodNotReady bool              `json:"markPodNotReady,omitempty"`
}

// Override gives the containers on some nodes other resources.
type Override struct {
	// +kubebuilder:validation:MinLength=1
	Name         string               `json:"name"`
	NodeSelector metav1.LabelSelector `json:"nodeSelector,omitempty"`
	// Containers are the resources by container name; each replaces those of the template whole.
	Containers map[string]corev1.ResourceRequirements `json:"containers"`
}

// Predecessor is the set that this one takes over from.
type Predecessor struct {
	// UIDs of the controllers of its pods.
	UIDs []types.UID `json:"uids,omitempty"`
	// Selector of its pods that have no controller any more.
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}

// PreDownload says how images are pulled ahead.
type PreDownload struct {
	// Parallelism is on how many nodes an image is pulled at a time. Default: 1.
	Parallelism *intstr.IntOrString `json:"parallelism,omitempty"`
	// MinUpdatedReadyPods is how many nodes must have a ready updated pod before the first pull. Default: 0.
	MinUpdatedReadyPods *intstr.IntOrString `json:"minUpdatedReadyPods,omitempty"`
	// TimeoutSeconds of one pull. Default: 600.
	//
	// +kubebuilder:validation:Minimum=1
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`
	// BackoffLimit is how many times a pull that failed is tried again. Default: 3.
	//
	// +kubebuilder:validation:Minimum=0
	BackoffLimit *int32 `json:"backoffLimit,omitempty"`
}

// PlannedDaemonSetStatus is what the last plan saw.
type PlannedDaemonSetStatus struct {
	// ObservedGeneration is the generation that was planned for, or found to be invalid. Before that it is -1, so that tools wait
	// from the first instant on. A condition has one of its own.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// The counters mean what they mean in the status of a DaemonSet of apps/v1, counted by node.
	// +optional
	DesiredNumberScheduled int32 `json:"desiredNumberScheduled"`
	// +optional
	CurrentNumberScheduled int32 `json:"currentNumberScheduled"`
	// +optional
	NumberMisscheduled int32 `json:"numberMisscheduled"`
	// +optional
	NumberReady int32 `json:"numberReady"`
	// +optional
	UpdatedNumberScheduled int32 `json:"updatedNumberScheduled"`
	// +optional
	NumberAvailable int32 `json:"numberAvailable"`
	// +optional
	NumberUnavailable int32 `json:"numberUnavailable"`
	// UpdateRevision is the hash of the revision that is rolled out, StableRevision that of the last promoted one.
	UpdateRevision string `json:"updateRevision,omitempty"`
	StableRevision string `json:"stableRevision,omitempty"`
	// State is one word: Invalid, Running, Updating, Paused, Frozen, Canary, CanaryPaused, CanaryFailed, RolledBack or Stuck.
	// Reason says why. While it is Invalid, a controller that knows the last valid spec repairs what that ran, and begins
	// no node.
	State  string `json:"state,omitempty"`
	Reason string `json:"reason,omitempty"`
	// DisruptionsAllowed is how many more nodes the budget would let go now.
	// +optional
	DisruptionsAllowed int32 `json:"disruptionsAllowed"`
	// Waiting says what the nodes wait for that the rollout has not reached, one line for each cause.
	//
	// +listType=atomic
	Waiting []string `json:"waiting,omitempty"`
	// Conditions are Valid, Available, Progressing and, with a canary, Canary; and Ready, Reconciling and Stalled, by which tools
	// such as helm upgrade --wait, Flux and kpt wait.
	//
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Memory is what the planner has to remember that no object shows. Losing it is safe; a rollout may get slower.
	// A controller that runs has a copy, and writes it back.
	//
	// +kubebuilder:pruning:PreserveUnknownFields
	Memory *runtime.RawExtension `json:"memory,omitempty"`
}
