package predownload

import (
	"encoding/json"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// jobObject is an ImagePullJob as the API server wants it, with only the fields that a Job can set.
type jobObject struct {
	APIVersion string      `json:"apiVersion"`
	Kind       string      `json:"kind"`
	Metadata   jobMetadata `json:"metadata"`
	Spec       jobSpec     `json:"spec"`
}

// jobMetadata leaves out creationTimestamp, which metav1.ObjectMeta writes as null.
type jobMetadata struct {
	Name            string                  `json:"name"`
	Namespace       string                  `json:"namespace,omitempty"`
	Labels          map[string]string       `json:"labels,omitempty"`
	OwnerReferences []metav1.OwnerReference `json:"ownerReferences,omitempty"`
}

type jobSpec struct {
	Image            string                `json:"image"`
	PullSecrets      []string              `json:"pullSecrets,omitempty"`
	PodSelector      *metav1.LabelSelector `json:"podSelector"`
	Parallelism      intstr.IntOrString    `json:"parallelism"`
	PullPolicy       jobPullPolicy         `json:"pullPolicy"`
	CompletionPolicy jobCompletionPolicy   `json:"completionPolicy"`
	SandboxConfig    *jobSandboxConfig     `json:"sandboxConfig,omitempty"`
}

type jobPullPolicy struct {
	TimeoutSeconds int32 `json:"timeoutSeconds"`
	BackoffLimit   int32 `json:"backoffLimit"`
}

type jobCompletionPolicy struct {
	Type                    string `json:"type"`
	TTLSecondsAfterFinished int32  `json:"ttlSecondsAfterFinished"`
}

type jobSandboxConfig struct {
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// MarshalJSON returns the job as an ImagePullJob of apps.kruise.io/v1alpha1, which every version of OpenKruise serves,
// ready to be created. A job without a pod selector is an error, because OpenKruise would run it on all nodes.
func (j Job) MarshalJSON() ([]byte, error) {
	if j.PodSelector == nil || len(j.PodSelector.MatchLabels)+len(j.PodSelector.MatchExpressions) == 0 {
		return nil, errors.New("predownload: a job without a pod selector would pull on every node")
	}
	object := jobObject{
		APIVersion: "apps.kruise.io/v1alpha1",
		Kind:       "ImagePullJob",
		Metadata:   jobMetadata{Name: j.Name, Namespace: j.Namespace, Labels: j.Labels},
		Spec: jobSpec{
			Image:            j.Image,
			PullSecrets:      j.PullSecrets,
			PodSelector:      j.PodSelector,
			Parallelism:      j.Parallelism,
			PullPolicy:       jobPullPolicy{TimeoutSeconds: j.TimeoutSeconds, BackoffLimit: j.BackoffLimit},
			CompletionPolicy: jobCompletionPolicy{Type: "Always", TTLSecondsAfterFinished: j.TTLSecondsAfterFinished},
		},
	}
	if j.Owner != (metav1.OwnerReference{}) {
		object.Metadata.OwnerReferences = []metav1.OwnerReference{j.Owner}
	}
	if len(j.Labels)+len(j.Annotations) > 0 {
		object.Spec.SandboxConfig = &jobSandboxConfig{Labels: j.Labels, Annotations: j.Annotations}
	}
	return json.Marshal(object)
}
