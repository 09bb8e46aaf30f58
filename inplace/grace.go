package inplace

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// grace is what Kruise keeps in the annotation [GraceKey]: the pod has the new revision label already, and gets the
// change itself when the period is over.
type grace struct {
	revision string
	period   time.Duration
	work     work
	metadata changedMetadata
}

// graceOf decodes the annotation; nil if pod has none. An empty one holds no change.
func graceOf(pod *corev1.Pod) (*grace, error) {
	text, ok := annotation(pod, GraceKey, oldGraceKey)
	if !ok {
		return nil, nil
	}
	if text == "" {
		return &grace{}, nil
	}
	var spec struct {
		Revision             string                 `json:"revision"`
		ContainerImages      map[string]string      `json:"containerImages"`
		ContainerRefMetadata map[string]RefMetadata `json:"containerRefMetadata"`
		ContainerResources   resourcesByContainer   `json:"containerResources"`
		MetadataPatch        []byte                 `json:"metaDataPatch"`
		GraceSeconds         int32                  `json:"graceSeconds"`
	}
	if err := utiljson.Unmarshal([]byte(text), &spec); err != nil {
		return nil, fmt.Errorf("%w in-place update grace period: %w", ErrUnreadable, err)
	}
	g := &grace{revision: spec.Revision, period: time.Duration(max(spec.GraceSeconds, 0)) * time.Second, work: work{}}
	for container, image := range spec.ContainerImages {
		g.work.setImage(container, image)
	}
	for container, resources := range spec.ContainerResources {
		g.work.setResources(container, resources)
	}
	for container, ref := range spec.ContainerRefMetadata {
		g.work.setRefs(container, ref)
	}
	if len(spec.MetadataPatch) == 0 {
		return g, nil
	}
	// Where the last label or annotation of the template is dropped, Kruise writes null for the whole map, which would
	// drop what others wrote. Which keys were meant cannot be known, so nothing is dropped.
	var patch struct {
		Metadata struct {
			Labels      map[string]*string `json:"labels"`
			Annotations map[string]*string `json:"annotations"`
		} `json:"metadata"`
	}
	if err := utiljson.Unmarshal(spec.MetadataPatch, &patch); err != nil {
		return nil, fmt.Errorf("%w in-place update grace period: metadata: %w", ErrUnreadable, err)
	}
	g.metadata = changedMetadata{labels: patch.Metadata.Labels, annotations: patch.Metadata.Annotations}
	return g, nil
}
