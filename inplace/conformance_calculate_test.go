package inplace_test

import (
	"encoding/json"
	"maps"
	"strings"
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

// calculateOutcome is what Kruise calculates. Of a change that is not in place only that is recorded.
type calculateOutcome struct {
	InPlace               bool
	ContainerImages       map[string]string
	ContainerResources    map[string]corev1.ResourceRequirements
	ContainerRefMetadata  map[string]inplace.RefMetadata
	UpdateEnvFromMetadata bool
	VerticalUpdateOnly    bool
	MetadataPatch         *struct{ Metadata metadataPatch }
}

// metadataPatch has pointers to maps, because Kruise writes null for a whole one.
type metadataPatch struct {
	Labels      map[string]*string
	Annotations map[string]*string
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
	patch := metadataPatch{Labels: changed(u.Labels), Annotations: changed(u.Annotations)}
	for _, ref := range u.Env {
		from := patch.Labels
		if ref.Annotation {
			from = patch.Annotations
		}
		if value := from[ref.Key]; value != nil {
			addRef(out.ContainerRefMetadata, ref.Container, ref.Annotation, ref.Key, *value)
		}
	}
	for _, ref := range u.Env {
		if ref.Annotation {
			delete(patch.Annotations, ref.Key)
		} else {
			delete(patch.Labels, ref.Key)
		}
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

// normalOutcome makes empty maps nil, so that outcomes that say the same read the same.
func normalOutcome(out calculateOutcome) calculateOutcome {
	if !out.InPlace {
		return calculateOutcome{}
	}
	if out.MetadataPatch != nil {
		if len(out.MetadataPatch.Metadata.Labels) == 0 {
			out.MetadataPatch.Metadata.Labels = nil
		}
		if len(out.MetadataPatch.Metadata.Annotations) == 0 {
			out.MetadataPatch.Metadata.Annotations = nil
		}
	}
	return out
}

// templates decodes both templates the plain way: recordings are no attack.
func (c *calculateCase) templates() (old, new corev1.PodTemplateSpec) {
	decode := func(data []byte) corev1.PodTemplateSpec {
		var document struct {
			Spec struct{ Template corev1.PodTemplateSpec }
		}
		if err := json.Unmarshal(data, &document); err != nil {
			panic(err)
		}
		return document.Spec.Template
	}
	return decode(c.Input.OldRevision.Data), decode(c.Input.NewRevision.Data)
}

// reads calls f with each label and annotation that a variable of a container reads.
func reads(template corev1.PodTemplateSpec, f func(container string, annotation bool, key string)) {
	for _, container := range template.Spec.Containers {
		for _, variable := range container.Env {
			if variable.ValueFrom == nil || variable.ValueFrom.FieldRef == nil {
				continue
			}
			path := strings.TrimSuffix(variable.ValueFrom.FieldRef.FieldPath, "']")
			if key, ok := strings.CutPrefix(path, "metadata.labels['"); ok {
				f(container.Name, false, key)
			} else if key, ok := strings.CutPrefix(path, "metadata.annotations['"); ok {
				f(container.Name, true, key)
			}
		}
	}
}

func metadataOf(template corev1.PodTemplateSpec, annotation bool) map[string]string {
	if annotation {
		return template.Annotations
	}
	return template.Labels
}

var calculateEntries = []entry[calculateCase]{
	{
		id: "wiped-map", rule: "I2",
		why: "Kruise drops all of a pod's annotations with the last one of the template; here only the template's own",
		expect: func(c *calculateCase) {
			patch := c.Expect.MetadataPatch
			if patch == nil {
				return
			}
			old, new := c.templates()
			if len(old.Annotations) > 0 && len(new.Annotations) == 0 {
				patch.Metadata.Annotations = map[string]*string{}
				for key := range old.Annotations {
					patch.Metadata.Annotations[key] = nil
				}
			}
			if len(old.Labels) > 0 && len(new.Labels) == 0 {
				patch.Metadata.Labels = map[string]*string{}
				for key := range old.Labels {
					patch.Metadata.Labels[key] = nil
				}
			}
		},
	},
	{
		id: "env-new-map", rule: "I2",
		why: "with the first label or annotation of a template Kruise leaves environment variables stale; here the containers restart",
		expect: func(c *calculateCase) {
			old, new := c.templates()
			patch := c.Expect.MetadataPatch
			if patch == nil || !c.Input.FeatureGates.InPlaceUpdateEnvFromMetadata {
				return
			}
			reads(new, func(container string, annotation bool, key string) {
				value, has := metadataOf(new, annotation)[key]
				if !has || len(metadataOf(old, annotation)) > 0 {
					return
				}
				addRef(c.Expect.ContainerRefMetadata, container, annotation, key, value)
				if c.Expect.ContainerRefMetadata == nil {
					c.Expect.ContainerRefMetadata = map[string]inplace.RefMetadata{}
				}
				c.Expect.UpdateEnvFromMetadata, c.Expect.VerticalUpdateOnly = true, false
				if annotation {
					delete(patch.Metadata.Annotations, key)
				} else {
					delete(patch.Metadata.Labels, key)
				}
			})
			c.Expect = normalOutcome(c.Expect)
		},
	},
	{
		id: "sidecarset-variable", rule: "I2",
		why: "Kruise leaves the variable of its SidecarSet stale, in whatever pod; here it is a variable like any other",
		expect: func(c *calculateCase) {
			old, new := c.templates()
			patch := c.Expect.MetadataPatch
			if patch == nil || !c.Input.FeatureGates.InPlaceUpdateEnvFromMetadata {
				return
			}
			for _, container := range new.Spec.Containers {
				for _, variable := range container.Env {
					if variable.Name != "SIDECARSET_VERSION" || variable.ValueFrom.FieldRef.FieldPath != "metadata.annotations['newann']" {
						continue
					}
					if value, has := new.Annotations["newann"]; has && old.Annotations["newann"] != value && patch.Metadata.Annotations["newann"] != nil {
						c.Expect.ContainerRefMetadata = map[string]inplace.RefMetadata{}
						addRef(c.Expect.ContainerRefMetadata, container.Name, true, "newann", value)
						delete(patch.Metadata.Annotations, "newann")
						c.Expect.UpdateEnvFromMetadata = true
						c.Expect = normalOutcome(c.Expect)
					}
				}
			}
		},
	},
	{
		id: "env-dropped", rule: "I2",
		why: "Kruise drops a label or annotation that a variable reads in place and leaves the variable stale; here it is an obstacle",
		expect: func(c *calculateCase) {
			old, new := c.templates()
			reads(new, func(_ string, annotation bool, key string) {
				_, had := metadataOf(old, annotation)[key]
				if _, has := metadataOf(new, annotation)[key]; had && !has {
					c.Expect = calculateOutcome{}
				}
			})
		},
	},
	{
		id: "env-gate-off", rule: "I2",
		why: "with its gate off Kruise changes metadata that a variable reads and leaves the variable stale; here it is an obstacle",
		expect: func(c *calculateCase) {
			old, new := c.templates()
			reads(new, func(_ string, annotation bool, key string) {
				before, had := metadataOf(old, annotation)[key]
				after, has := metadataOf(new, annotation)[key]
				if !c.Input.FeatureGates.InPlaceUpdateEnvFromMetadata && has && (!had || before != after) {
					c.Expect = calculateOutcome{}
				}
			})
		},
	},
	{
		id: "finalizers", rule: "I2",
		why: "Kruise adds the template's finalizers to running pods; here other metadata than labels and annotations is an obstacle",
		expect: func(c *calculateCase) {
			old, new := c.templates()
			if strings.Join(old.Finalizers, " ") != strings.Join(new.Finalizers, " ") {
				c.Expect = calculateOutcome{}
			}
		},
	},
	{
		id: "qos-class", rule: "I2",
		why: "Kruise sends a resize that changes the QoS class, which the API server refuses; here it is an obstacle",
		expect: func(c *calculateCase) {
			old, new := c.templates()
			if allEqualLimits(old) != allEqualLimits(new) {
				c.Expect = calculateOutcome{}
			}
		},
	},
}

// allEqualLimits reports whether a template makes Guaranteed pods; none of the recorded resizes touches BestEffort.
func allEqualLimits(template corev1.PodTemplateSpec) bool {
	for _, container := range template.Spec.Containers {
		limits, requests := maps.Clone(container.Resources.Limits), maps.Clone(container.Resources.Requests)
		for _, name := range []corev1.ResourceName{"cpu", "memory"} {
			limit, ok := limits[name]
			request, given := requests[name]
			if !ok || given && request.Cmp(limit) != 0 {
				return false
			}
		}
	}
	return true
}
