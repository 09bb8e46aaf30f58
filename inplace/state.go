package inplace

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// These are the annotations of pods in which Kruise keeps in-place updates.
const (
	// StateKey holds a [UpdateState].
	StateKey = "apps.kruise.io/inplace-update-state"
	// GraceKey holds what Kruise will change when the grace period is over. This package does not write it, but finishes
	// the changes that it finds there.
	GraceKey = "apps.kruise.io/inplace-update-grace"

	// The keys of Kruise before 1.0, read where the newer ones are not there.
	oldStateKey = "inplace-update-state"
	oldGraceKey = "inplace-update-grace"
)

// UpdateState is the annotation [StateKey]: how far an in-place update is. Its JSON is the one that Kruise reads and writes,
// with more fields, those that say daemonplan, which Kruise ignores and drops.
type UpdateState struct {
	// Revision is the hash that the pod is updated to.
	Revision string `json:"revision"`
	// UpdateTimestamp is when the update began, in whole seconds.
	UpdateTimestamp metav1.Time `json:"updateTimestamp"`
	// LastContainerStatuses are the containers whose image was changed, as they were just before.
	LastContainerStatuses map[string]ContainerStatus `json:"lastContainerStatuses"`
	// UpdateEnvFromMetadata reports whether labels or annotations that environment variables read are part of the update.
	UpdateEnvFromMetadata bool `json:"updateEnvFromMetadata,omitempty"`
	// UpdateResources reports whether cpu or memory are part of it.
	UpdateResources bool `json:"updateResources,omitempty"`
	// UpdateImages reports whether images are part of it.
	UpdateImages bool `json:"updateImages,omitempty"`
	// NextContainerImages are the images of later batches, by container.
	NextContainerImages map[string]string `json:"nextContainerImages,omitempty"`
	// NextContainerRefMetadata are the labels and annotations of later batches, by the container that reads them.
	NextContainerRefMetadata map[string]RefMetadata `json:"nextContainerRefMetadata,omitempty"`
	// NextContainerResources are the cpu and memory of later batches, by container.
	NextContainerResources map[string]corev1.ResourceRequirements `json:"nextContainerResources,omitempty"`
	// PreCheckBeforeNext is what must hold before the next batch.
	PreCheckBeforeNext *PreCheck `json:"preCheckBeforeNext,omitempty"`
	// ContainerBatchesRecord are the batches so far.
	ContainerBatchesRecord []Batch `json:"containerBatchesRecord,omitempty"`
	// Records are the containers of the batches so far, with what this package has to know of each; under the empty name it is
	// the pod as a whole. Kruise writes none; then what they would say is guessed so that rather too much is waited for.
	Records map[string]Record `json:"daemonplanRecords,omitempty"`
	// Generation is that of the pod's spec with the patches of the last batch (metadata.generation, Kubernetes 1.35 and later):
	// the update is not complete while the kubelet has seen less. Zero: it is not known.
	Generation int64 `json:"daemonplanGeneration,omitempty"`
	// ServeOn are those containers of later batches without which the pod serves on, sorted ([Options].ServeOn). Kruise drops
	// them, and makes the pod not ready for their batch.
	ServeOn []string `json:"daemonplanServeOn,omitempty"`
}

// ContainerStatus is what a container reported just before its update.
type ContainerStatus struct {
	// ImageID as in the container's status; empty if it had none.
	ImageID string `json:"imageID,omitempty"`
}

// RefMetadata are labels and annotations that environment variables of a container read.
type RefMetadata struct {
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// PreCheck is what must hold before the next batch.
type PreCheck struct {
	// ContainersRequiredReady are containers that must be ready, sorted.
	ContainersRequiredReady []string `json:"containersRequiredReady,omitempty"`
}

// Batch is a set of containers that were updated together.
type Batch struct {
	// Timestamp of the update, in whole seconds.
	Timestamp metav1.Time `json:"timestamp"`
	// Containers are their names, sorted.
	Containers []string `json:"containers"`
}

// Record is what a container ran when its update began, so that an update that changes nothing for it, such as one
// that is taken back before the kubelet saw it, is not waited for.
type Record struct {
	// Timestamp of the container's last update, in whole seconds.
	Timestamp metav1.Time `json:"timestamp"`
	// ContainerID as in the container's status.
	ContainerID string `json:"containerID,omitempty"`
	// StartedAt is when the container had started. Nil: it did not run.
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// Image that the container was made from, as the spec has it. Empty: the image is not part of the update.
	Image string `json:"image,omitempty"`
	// Metadata that the container's environment was made from. Nil: it is not part of the update. A label or annotation
	// that was not there is recorded as empty, which is what the variable reads.
	Metadata *RefMetadata `json:"metadata,omitempty"`
	// Resized reports whether cpu or memory are part of the update.
	Resized bool `json:"resized,omitempty"`
	// Resources are the cpu and memory that the update has asked for, of a pod that has a generation. If its spec says something
	// else by now, others have resized the container since, and their resize is not waited for. Nil: it is not known.
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
	// ServesOn reports whether the pod serves on without the container, and so may be ready although that has not restarted.
	ServesOn bool `json:"servesOn,omitempty"`
	// Last is, of a sidecar whose image was changed, what it reported just before. Those of other containers are in
	// LastContainerStatuses; Kruise would wait for ever for a sidecar there.
	Last *ContainerStatus `json:"last,omitempty"`
}

// StateOf decodes the state annotation of pod, also under its older key. A nil pod, or one without the annotation, gives nil and
// no error. If the annotation cannot be decoded, the error wraps [ErrUnreadable].
func StateOf(pod *corev1.Pod) (*UpdateState, error) {
	text, ok := annotation(pod, StateKey, oldStateKey)
	if !ok {
		return nil, nil
	}
	state := &UpdateState{}
	if err := utiljson.Unmarshal([]byte(text), state); err != nil {
		return nil, fmt.Errorf("%w in-place update state: %w", ErrUnreadable, err)
	}
	return state, nil
}

// UnmarshalJSON decodes a state. A quantity that would take an unbounded time to read is an error.
func (s *UpdateState) UnmarshalJSON(data []byte) error {
	type plain UpdateState
	// The field here hides the one of plain.
	var fields struct {
		plain
		NextContainerResources resourcesByContainer `json:"nextContainerResources"`
	}
	if err := utiljson.Unmarshal(data, &fields); err != nil {
		return err
	}
	*s = UpdateState(fields.plain)
	s.NextContainerResources = fields.NextContainerResources
	return nil
}

// UnmarshalJSON decodes a record. A quantity that would take an unbounded time to read is an error.
func (r *Record) UnmarshalJSON(data []byte) error {
	type plain Record
	var fields struct {
		plain
		Resources *checkedResources `json:"resources"`
	}
	if err := utiljson.Unmarshal(data, &fields); err != nil {
		return err
	}
	*r = Record(fields.plain)
	r.Resources = (*corev1.ResourceRequirements)(fields.Resources)
	return nil
}

// checkedResources are decoded only after their quantities were checked, as resourcesByContainer.
type checkedResources corev1.ResourceRequirements

func (r *checkedResources) UnmarshalJSON(data []byte) error {
	return decodeChecked(data, (*corev1.ResourceRequirements)(r))
}

// resourcesByContainer is decoded only after its quantities were checked, because anybody can write annotations (see
// quantities.Unbounded).
type resourcesByContainer map[string]corev1.ResourceRequirements

func (r *resourcesByContainer) UnmarshalJSON(data []byte) error {
	return decodeChecked(data, (*map[string]corev1.ResourceRequirements)(r))
}

// annotation returns the value under the first of the keys that pod has.
func annotation(pod *corev1.Pod, keys ...string) (string, bool) {
	if pod == nil {
		return "", false
	}
	for _, key := range keys {
		if text, ok := pod.Annotations[key]; ok {
			return text, true
		}
	}
	return "", false
}

// next returns what later batches change.
func (s *UpdateState) next() work {
	w := work{}
	for container, image := range s.NextContainerImages {
		w.setImage(container, image)
	}
	for container, resources := range s.NextContainerResources {
		w.setResources(container, resources)
	}
	for container, ref := range s.NextContainerRefMetadata {
		w.setRefs(container, ref)
	}
	return w
}

// last returns what a container reported before its image was changed; ok is false if it was not.
func (s *UpdateState) last(container string) (last ContainerStatus, ok bool) {
	if record := s.Records[container]; record.Last != nil {
		return *record.Last, true
	}
	last, ok = s.LastContainerStatuses[container]
	return last, ok
}

// updatedAt returns when a container was updated last.
func (s *UpdateState) updatedAt(container string) time.Time {
	if record, ok := s.Records[container]; ok {
		return record.Timestamp.Time
	}
	at := s.UpdateTimestamp.Time
	for _, batch := range s.ContainerBatchesRecord {
		if batch.Timestamp.After(at) && slices.Contains(batch.Containers, container) {
			at = batch.Timestamp.Time
		}
	}
	return at
}

// lastPatch returns when the spec was patched last.
func (s *UpdateState) lastPatch() time.Time {
	at := s.UpdateTimestamp.Time
	for _, batch := range s.ContainerBatchesRecord {
		if batch.Timestamp.After(at) {
			at = batch.Timestamp.Time
		}
	}
	return at
}

// batched returns the containers of the batches so far; if the state lists none, all containers of the pod.
func (s *UpdateState) batched(pod *corev1.Pod) map[string]bool {
	names := map[string]bool{}
	for _, batch := range s.ContainerBatchesRecord {
		for _, name := range batch.Containers {
			names[name] = true
		}
	}
	if len(names) == 0 {
		for i := range pod.Spec.Containers {
			names[pod.Spec.Containers[i].Name] = true
		}
	}
	return names
}

// sortedKeys returns the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
