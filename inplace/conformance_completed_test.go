package inplace_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

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

func completed(t testing.TB, c *completedCase) any {
	t.Helper()
	return inplace.Completed(c.pod(t)).Done
}

// pod is the recorded one. Without its gate Kruise neither writes nor reads that resources are part of an update.
func (c *completedCase) pod(t testing.TB) *corev1.Pod {
	t.Helper()
	pod := c.Input.Pod.DeepCopy()
	for key, value := range pod.Annotations {
		if !c.Input.FeatureGates.InPlaceWorkloadVerticalScaling {
			pod.Annotations[key] = strings.Replace(value, `"updateResources":true`, `"updateResources":false`, 1)
		}
	}
	return pod
}

// done is I5 for a state that Kruise wrote and that has neither batches nor a grace period, sentence by sentence. No
// recorded container has a start time: one that must have restarted must have another image.
func (c *completedCase) done() bool {
	pod := &c.Input.Pod
	var state struct {
		LastContainerStatuses                  map[string]struct{ ImageID string }
		UpdateEnvFromMetadata, UpdateResources bool
	}
	for _, key := range []string{"inplace-update-state", "apps.kruise.io/inplace-update-state"} {
		if value, ok := pod.Annotations[key]; ok {
			if err := json.Unmarshal([]byte(value), &state); err != nil {
				return false
			}
		}
	}
	statuses := map[string]corev1.ContainerStatus{}
	for _, status := range pod.Status.ContainerStatuses {
		statuses[status.Name] = status
	}
	specs := map[string]corev1.Container{}
	for _, container := range pod.Spec.Containers {
		specs[container.Name] = container
	}
	for name, last := range state.LastContainerStatuses {
		status, ok := statuses[name]
		if !ok || status.ImageID == last.ImageID && spellOut(status.Image) != spellOut(specs[name].Image) {
			return false
		}
	}
	anyReads := strings.Contains(text(pod.Spec), "fieldRef")
	for name, container := range specs {
		last, image := state.LastContainerStatuses[name]
		replaced := image && last.ImageID != statuses[name].ImageID
		reads := !anyReads || strings.Contains(text(container), "fieldRef")
		if state.UpdateEnvFromMetadata && reads && !replaced {
			return false
		}
		if state.UpdateResources && c.Input.FeatureGates.InPlaceWorkloadVerticalScaling {
			has := statuses[name].Resources
			if has == nil && !replaced || has != nil && !equality.Semantic.DeepEqual(container.Resources, *has) {
				return false
			}
		}
	}
	return true
}

// spellOut writes an image name in full.
func spellOut(image string) string {
	parts := strings.Split(image, "/")
	if len(parts) == 1 {
		parts = append([]string{"library"}, parts...)
	}
	if !strings.ContainsAny(parts[0], ".:") {
		parts = append([]string{"docker.io"}, parts...)
	}
	if last := parts[len(parts)-1]; !strings.ContainsAny(last, "@:") {
		parts[len(parts)-1] = last + ":latest"
	}
	return strings.Join(parts, "/")
}

var completedEntries = []entry[completedCase]{
	{
		id: "image-spelling", rule: "I5",
		why: "Kruise waits for ever for an image of the same ID that the status spells otherwise",
		expect: func(c *completedCase) {
			if strings.HasSuffix(c.Expect.Message, "imageID not changed") {
				c.Expect.Completed = c.done()
			}
		},
	},
	{
		id: "env-restarted", rule: "I5",
		why: "Kruise needs its daemon's hashes to know that environments are up to date; here a start after the change is enough",
		expect: func(c *completedCase) {
			if strings.Contains(c.Expect.Message, "hash consistent") {
				c.Expect.Completed = c.done()
			}
		},
	},
	{
		id: "hashes-agree", rule: "I5",
		why: "Kruise believes its daemon's hashes that a container is up to date; here only what the kubelet reports counts",
		expect: func(c *completedCase) {
			if c.Expect.Completed && c.Input.Pod.Annotations["apps.kruise.io/runtime-containers-meta"] != "" {
				c.Expect.Completed = c.done()
			}
		},
	},
	{
		id: "resources-unreported", rule: "I5",
		why: "Kruise waits for ever for resources that a kubelet does not report; here a container with a new image has them",
		expect: func(c *completedCase) {
			if strings.HasSuffix(c.Expect.Message, "resources not changed") {
				c.Expect.Completed = c.done()
			}
		},
	},
	{
		id: "hashes-unreadable", rule: "I5",
		why: "Kruise waits for ever if its daemon's hashes are unreadable; here they are not read",
		expect: func(c *completedCase) {
			if strings.Contains(c.Expect.Message, "JSON") && slices.Contains(c.Features, "malformedMeta") {
				c.Expect.Completed = c.done()
			}
		},
	},
}

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
		maps.Copy(container.Resources.Limits, c.resources[container.Name].Limits)
		maps.Copy(container.Resources.Requests, c.resources[container.Name].Requests)
		maps.Copy(new.Labels, c.refs[container.Name].Labels)
		maps.Copy(new.Annotations, c.refs[container.Name].Annotations)
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
