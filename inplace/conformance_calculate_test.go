package inplace_test

import (
	"encoding/json"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/daemonplan/daemonplan/inplace"
)

// gates are the feature gates of Kruise.
type gates struct {
	InPlaceWorkloadVerticalScaling bool
	InPlaceUpdateEnvFromMetadata   bool
}

func (g gates) options() inplace.Options {
	return inplace.Options{Resize: g.InPlaceWorkloadVerticalScaling, EnvFromMetadata: g.InPlaceUpdateEnvFromMetadata}
}

type calculateCase struct {
	Input struct {
		FeatureGates             gates
		OldRevision, NewRevision struct{ Data json.RawMessage }
	}
	Expect calculateOutcome
}

// calculateOutcome is what Kruise calculates. If a change cannot be made in place, only that is recorded.
type calculateOutcome struct {
	InPlace               bool
	ContainerImages       map[string]string
	ContainerResources    map[string]corev1.ResourceRequirements
	ContainerRefMetadata  map[string]inplace.RefMetadata
	UpdateEnvFromMetadata bool
	VerticalUpdateOnly    bool
	MetadataPatch         *struct{ Metadata metadataPatch }
}

// metadataPatch is the part of a merge patch about labels and annotations. With a null Kruise drops all that a pod has.
type metadataPatch struct {
	Labels, Annotations patchedMap
}

type patchedMap struct {
	Wiped  bool
	Values map[string]*string
}

func (m *patchedMap) UnmarshalJSON(data []byte) error {
	m.Wiped = string(data) == "null"
	return json.Unmarshal(data, &m.Values)
}

func (p *metadataPatch) of(annotation bool) *patchedMap {
	if annotation {
		return &p.Annotations
	}
	return &p.Labels
}

func revision(data []byte) *appsv1.ControllerRevision {
	return &appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: data}}
}

func calculate(t testing.TB, c *calculateCase) any {
	t.Helper()
	u, err := inplace.DiffRevisions(revision(c.Input.OldRevision.Data), revision(c.Input.NewRevision.Data), c.Input.FeatureGates.options())
	if err != nil {
		t.Fatal(err)
	}
	if !u.InPlace() {
		return calculateOutcome{}
	}
	out := calculateOutcome{
		InPlace: true, ContainerImages: map[string]string{}, ContainerResources: map[string]corev1.ResourceRequirements{},
		ContainerRefMetadata:  map[string]inplace.RefMetadata{},
		UpdateEnvFromMetadata: len(u.Env) > 0,
		VerticalUpdateOnly:    len(u.Resources) > 0 && len(u.Images) == 0 && len(u.Env) == 0,
	}
	for _, change := range u.Images {
		out.ContainerImages[change.Container] = change.New
	}
	for _, change := range u.Resources {
		resources := out.ContainerResources[change.Container]
		list := &resources.Requests
		if change.Limit {
			list = &resources.Limits
		}
		if *list == nil {
			*list = corev1.ResourceList{}
		}
		(*list)[change.Resource] = change.New
		out.ContainerResources[change.Container] = resources
	}
	patch := metadataPatch{Labels: patchedMap{Values: changed(u.Labels)}, Annotations: patchedMap{Values: changed(u.Annotations)}}
	for _, ref := range u.Env {
		if value := patch.of(ref.Annotation).Values[ref.Key]; value != nil {
			addRef(out.ContainerRefMetadata, ref.Container, ref.Annotation, ref.Key, *value)
		}
	}
	for _, ref := range u.Env {
		delete(patch.of(ref.Annotation).Values, ref.Key)
	}
	if len(u.Labels)+len(u.Annotations) > 0 {
		out.MetadataPatch = &struct{ Metadata metadataPatch }{patch}
	}
	return normalOutcome(out)
}

func changed(changes []inplace.MetadataChange) map[string]*string {
	values := map[string]*string{}
	for _, change := range changes {
		if change.Dropped {
			values[change.Key] = nil
		} else {
			values[change.Key] = &change.New
		}
	}
	return values
}

func addRef(refs map[string]inplace.RefMetadata, container string, annotation bool, key, value string) {
	ref := refs[container]
	into := &ref.Labels
	if annotation {
		into = &ref.Annotations
	}
	if *into == nil {
		*into = map[string]string{}
	}
	(*into)[key] = value
	refs[container] = ref
}

// normalOutcome makes empty maps nil, so that equal outcomes are equal in every field.
func normalOutcome(out calculateOutcome) calculateOutcome {
	if !out.InPlace {
		return calculateOutcome{}
	}
	if out.MetadataPatch != nil {
		for _, annotation := range []bool{false, true} {
			if m := out.MetadataPatch.Metadata.of(annotation); len(m.Values) == 0 {
				m.Values = nil
			}
		}
	}
	return out
}
