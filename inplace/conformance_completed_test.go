package inplace_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/inplace"
)

type completedCase struct {
	Features []string
	Input    struct {
		FeatureGates gates
		Pod          corev1.Pod
	}
	Expect struct {
		Completed bool
		Message   string
	}
}

func completed(_ testing.TB, c *completedCase) any {
	return inplace.Completed(&c.Input.Pod).Done
}

var completedEntries = []entry[completedCase]{}

type needsUnreadyCase struct {
	Input struct {
		FeatureGates          gates
		Pod                   corev1.Pod
		ContainerImages       map[string]string
		ContainerResources    map[string]corev1.ResourceRequirements
		UpdateEnvFromMetadata bool
	}
	Expect struct{ NeedsBeUnready bool }
}

func needsUnready(t testing.TB, c *needsUnreadyCase) any {
	t.Helper()
	in := &c.Input
	in.Pod.Labels = map[string]string{"app": "agent", "tier": "a"}
	for i := range in.Pod.Spec.Containers {
		container := &in.Pod.Spec.Containers[i]
		// What is resized had another value before.
		for list, wanted := range map[*corev1.ResourceList]corev1.ResourceList{
			&container.Resources.Limits:   in.ContainerResources[container.Name].Limits,
			&container.Resources.Requests: in.ContainerResources[container.Name].Requests,
		} {
			*list = corev1.ResourceList{}
			for name, quantity := range wanted {
				quantity.Add(quantity)
				(*list)[name] = quantity
			}
		}
	}
	change := podChange{images: in.ContainerImages, resources: in.ContainerResources}
	if in.UpdateEnvFromMetadata {
		change.refs = map[string]inplace.RefMetadata{in.Pod.Spec.Containers[0].Name: {Labels: map[string]string{"tier": "b"}}}
	}
	u := change.of(&in.Pod, in.FeatureGates.options())
	return u.NeedsUnready(&in.Pod)
}

var needsUnreadyEntries = []entry[needsUnreadyCase]{
	{
		id: "metadata-only", rule: "I4",
		why: "Kruise makes a pod not ready for a change of metadata alone; here only if a container restarts",
		expect: func(c *needsUnreadyCase) {
			if len(c.Input.ContainerImages)+len(c.Input.ContainerResources) == 0 && !c.Input.UpdateEnvFromMetadata {
				c.Expect.NeedsBeUnready = false
			}
		},
	},
}

// podChange is a change as Kruise calculates it, by container.
type podChange struct {
	images    map[string]string
	resources map[string]corev1.ResourceRequirements
	refs      map[string]inplace.RefMetadata
	metadata  metadataPatch
}

// of turns the change back into two templates, of which pod is made from the first, and compares them. Metadata that
// containers read needs variables that read it: pod gets those too.
func (c podChange) of(pod *corev1.Pod, options inplace.Options) *inplace.Update {
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		for key := range c.refs[container.Name].Labels {
			container.Env = append(container.Env, fieldRef("metadata.labels['"+key+"']"))
		}
		for key := range c.refs[container.Name].Annotations {
			container.Env = append(container.Env, fieldRef("metadata.annotations['"+key+"']"))
		}
	}
	old := templateFrom(pod)
	new := templateFrom(pod)
	patch := func(values map[string]string, changes map[string]*string) {
		for key, value := range changes {
			if value == nil {
				delete(values, key)
			} else {
				values[key] = *value
			}
		}
	}
	patch(new.Labels, c.metadata.Labels)
	patch(new.Annotations, c.metadata.Annotations)
	for i := range new.Spec.Containers {
		container := &new.Spec.Containers[i]
		if image, ok := c.images[container.Name]; ok {
			container.Image = image
		}
		for name, quantity := range c.resources[container.Name].Limits {
			container.Resources.Limits[name] = quantity
		}
		for name, quantity := range c.resources[container.Name].Requests {
			container.Resources.Requests[name] = quantity
		}
		for key, value := range c.refs[container.Name].Labels {
			new.Labels[key] = value
		}
		for key, value := range c.refs[container.Name].Annotations {
			new.Annotations[key] = value
		}
	}
	return inplace.Diff(old, new, options)
}

// templateFrom is a template that pod could be made from.
func templateFrom(pod *corev1.Pod) *corev1.PodTemplateSpec {
	pod = pod.DeepCopy()
	template := &corev1.PodTemplateSpec{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec}
	template.Name, template.Namespace, template.UID, template.ResourceVersion = "", "", "", ""
	template.Labels, template.Annotations = map[string]string{}, map[string]string{}
	for key, value := range pod.Labels {
		if key != revisionLabel {
			template.Labels[key] = value
		}
	}
	for key, value := range pod.Annotations {
		if !strings.Contains(key, "inplace-update") {
			template.Annotations[key] = value
		}
	}
	template.Spec.NodeName, template.Spec.ReadinessGates = "", nil
	return template
}

const revisionLabel = "controller-revision-hash"

func fieldRef(path string) corev1.EnvVar {
	name := strings.NewReplacer("metadata.", "", "['", "_", "']", "").Replace(path)
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
}
