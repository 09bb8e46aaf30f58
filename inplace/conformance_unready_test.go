package inplace_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
)

type unreadyCase struct {
	Input struct {
		FeatureGates          gates
		Pod                   corev1.Pod
		ContainerImages       map[string]string
		ContainerResources    map[string]corev1.ResourceRequirements
		UpdateEnvFromMetadata bool
	}
	Expect struct{ NeedsBeUnready bool }
}

// These are the numbers of the entries of needs-unready.
const (
	nothingRestarts = iota
)

var unreadyPeer = peer[unreadyCase]{
	file: "kruise-inplace/needs-unready.jsonl",
	entries: []entry{
		nothingRestarts: {
			id: "nothing-restarts", rule: "I4",
			why: "Kruise makes a pod not ready for whatever is not a resize only; here only if a container restarts",
		},
	},
	recorded: func(c *unreadyCase) any { return c.Expect.NeedsBeUnready },
	model:    func(c *unreadyCase, on rules) any { return c.model(on) },
	ours:     needsUnready,
	vary:     (*unreadyCase).vary,
	reverse:  func(c *unreadyCase) { slices.Reverse(c.Input.Pod.Spec.Containers) },
}

// model is what Kruise does. If only resources change, it depends on the resize policies.
func (c *unreadyCase) model(on rules) bool {
	in := &c.Input
	gated := slices.ContainsFunc(in.Pod.Spec.ReadinessGates, func(gate corev1.PodReadinessGate) bool {
		return gate.ConditionType == lifecycle.InPlaceUpdateReady
	})
	resizes := in.FeatureGates.InPlaceWorkloadVerticalScaling
	changes := len(in.ContainerImages) > 0 || in.UpdateEnvFromMetadata
	if on.has(nothingRestarts) {
		changes = slices.ContainsFunc(in.Pod.Spec.Containers, func(container corev1.Container) bool {
			resources := in.ContainerResources[container.Name]
			_, image := in.ContainerImages[container.Name]
			// Amounts that change without the gate cannot change in place.
			return image || in.UpdateEnvFromMetadata || !resizes && len(resources.Limits)+len(resources.Requests) > 0
		})
	}
	if !changes && (resizes && len(in.ContainerResources) > 0 || on.has(nothingRestarts)) {
		return gated && c.policyRestarts()
	}
	return gated
}

// policyRestarts reports whether the policy of a container restarts it for a resource that is resized.
func (c *unreadyCase) policyRestarts() bool {
	for _, container := range c.Input.Pod.Spec.Containers {
		resources := c.Input.ContainerResources[container.Name]
		for _, policy := range container.ResizePolicy {
			_, limit := resources.Limits[policy.ResourceName]
			_, request := resources.Requests[policy.ResourceName]
			if policy.RestartPolicy == corev1.RestartContainer && (limit || request) {
				return true
			}
		}
	}
	return false
}

func needsUnready(_ testing.TB, c *unreadyCase) any {
	in, pod := &c.Input, c.Input.Pod.DeepCopy()
	pod.Labels = map[string]string{"app": "agent", "tier": "a"}
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		// A value that changes had another value before.
		if image, ok := in.ContainerImages[container.Name]; ok {
			container.Image = "before-" + image
		}
		for list, wanted := range map[*corev1.ResourceList]corev1.ResourceList{
			&container.Resources.Limits:   in.ContainerResources[container.Name].Limits,
			&container.Resources.Requests: in.ContainerResources[container.Name].Requests,
		} {
			*list = corev1.ResourceList{}
			for name, quantity := range wanted {
				quantity.Add(resource.MustParse("1"))
				(*list)[name] = quantity
			}
		}
	}
	change := podChange{images: in.ContainerImages, resources: in.ContainerResources}
	if in.UpdateEnvFromMetadata && len(pod.Spec.Containers) > 0 {
		change.refs = map[string]inplace.RefMetadata{pod.Spec.Containers[0].Name: {Labels: map[string]string{"tier": "b"}}}
	}
	u := change.of(pod, in.FeatureGates.options())
	return u.NeedsUnready(pod)
}

// vary changes which values change, the gates and the policies.
func (c *unreadyCase) vary(r *rand.Rand) {
	in := &c.Input
	if r.IntN(3) == 0 {
		in.FeatureGates.InPlaceWorkloadVerticalScaling = !in.FeatureGates.InPlaceWorkloadVerticalScaling
	}
	if r.IntN(3) == 0 {
		in.FeatureGates.InPlaceUpdateEnvFromMetadata = !in.FeatureGates.InPlaceUpdateEnvFromMetadata
	}
	for range 1 + r.IntN(4) {
		if len(in.Pod.Spec.Containers) == 0 {
			break
		}
		container := &in.Pod.Spec.Containers[r.IntN(len(in.Pod.Spec.Containers))]
		switch r.IntN(8) {
		case 0:
			in.ContainerImages = map[string]string{[]string{container.Name, "gone"}[r.IntN(2)]: "repo/app:v3"}
		case 1:
			in.ContainerImages = nil
		case 2:
			in.UpdateEnvFromMetadata = !in.UpdateEnvFromMetadata
		case 3:
			in.ContainerResources = nil
		case 4:
			in.ContainerResources = map[string]corev1.ResourceRequirements{container.Name: {}}
		case 5:
			in.ContainerResources = map[string]corev1.ResourceRequirements{container.Name: {
				Requests: corev1.ResourceList{[]corev1.ResourceName{"cpu", "memory"}[r.IntN(2)]: resource.MustParse("3")},
			}}
		case 6:
			container.ResizePolicy = []corev1.ContainerResizePolicy{{
				ResourceName:  []corev1.ResourceName{"cpu", "memory"}[r.IntN(2)],
				RestartPolicy: []corev1.ResourceResizeRestartPolicy{"NotRequired", "RestartContainer"}[r.IntN(2)],
			}}
		case 7:
			in.Pod.Spec.ReadinessGates = nil
			if r.IntN(2) == 0 {
				in.Pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: lifecycle.InPlaceUpdateReady}}
			}
		}
	}
}

// podChange is a change as Kruise calculates it, by container.
type podChange struct {
	images    map[string]string
	resources map[string]corev1.ResourceRequirements
	refs      map[string]inplace.RefMetadata
	metadata  metadataPatch
}

// of makes two templates from the change and compares them. The pod is made from the first one. If containers read metadata that
// changes, they need variables that read it, and the pod gets those variables, too.
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
	patch := func(values map[string]string, changes patchedMap) {
		if changes.Wiped {
			clear(values)
		}
		for key, value := range changes.Values {
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
	return inplace.Compare(old, new, options)
}

// templateFrom returns a template that pod could be made from.
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
