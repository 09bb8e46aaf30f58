package inplace

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// work is what is to change in containers, by name. The zero value may be read, but not written.
type work map[string]*containerWork

type containerWork struct {
	image string // empty: stays
	// limits and requests of cpu and memory.
	limits, requests corev1.ResourceList
	// implied are requests that the template does not give. If a pod has them, they change with the limits.
	implied corev1.ResourceList
	// resized reports whether resources belong to the update, even if none is left to change.
	resized bool
	// labels and annotations that environment variables read.
	labels, annotations map[string]string
}

func (w work) of(container string) *containerWork {
	c := w[container]
	if c == nil {
		c = &containerWork{
			limits: corev1.ResourceList{}, requests: corev1.ResourceList{}, implied: corev1.ResourceList{},
			labels: map[string]string{}, annotations: map[string]string{},
		}
		w[container] = c
	}
	return c
}

func (w work) setImage(container, image string) {
	w.of(container).image = image
}

// setResources takes over what can be resized.
func (w work) setResources(container string, resources corev1.ResourceRequirements) {
	c := w.of(container)
	for _, name := range resizable {
		if quantity, ok := resources.Limits[name]; ok {
			c.limits[name], c.resized = quantity.DeepCopy(), true
		}
		if quantity, ok := resources.Requests[name]; ok {
			c.requests[name], c.resized = quantity.DeepCopy(), true
		}
	}
}

func (w work) setRefs(container string, ref RefMetadata) {
	c := w.of(container)
	maps.Copy(c.labels, ref.Labels)
	maps.Copy(c.annotations, ref.Annotations)
}

// add lays other over w: where both change the same thing, other wins.
func (w work) add(other work) {
	for name, from := range other {
		to := w.of(name)
		if from.image != "" {
			to.image = from.image
		}
		maps.Copy(to.limits, from.limits)
		maps.Copy(to.requests, from.requests)
		maps.Copy(to.implied, from.implied)
		to.resized = to.resized || from.resized
		maps.Copy(to.labels, from.labels)
		maps.Copy(to.annotations, from.annotations)
	}
}

// trim removes requests and limits that the pod lacks from what an annotation says, because a patch would add them.
func (w work) trim(pod *corev1.Pod) {
	lacks := func(has corev1.ResourceList) func(corev1.ResourceName, resource.Quantity) bool {
		return func(name corev1.ResourceName, _ resource.Quantity) bool { _, ok := has[name]; return !ok }
	}
	for name, c := range w {
		if container := containerOf(pod, name); container != nil {
			maps.DeleteFunc(c.limits, lacks(container.Resources.Limits))
			maps.DeleteFunc(c.requests, lacks(container.Resources.Requests))
		}
	}
}

// settle removes from w what pod has already, because such a change would be waited for in vain. It also removes containers that
// the pod lacks, because a patch would add them; they can only come from an annotation.
func (w work) settle(pod *corev1.Pod) {
	for name, c := range w {
		container := containerOf(pod, name)
		if container == nil {
			delete(w, name)
			continue
		}
		if c.image == container.Image {
			c.image = ""
		}
		for key, quantity := range c.implied {
			if _, given := container.Resources.Requests[key]; given {
				c.requests[key] = quantity
			}
		}
		clear(c.implied)
		settleResources(c.limits, container.Resources.Limits)
		settleResources(c.requests, container.Resources.Requests)
		settleMetadata(c.labels, pod.Labels)
		settleMetadata(c.annotations, pod.Annotations)
		if c.image == "" && !c.resized && !c.reads() {
			delete(w, name)
		}
	}
}

func settleResources(wanted, has corev1.ResourceList) {
	for key, quantity := range wanted {
		if present, ok := has[key]; ok && present.Cmp(quantity) == 0 {
			delete(wanted, key)
		}
	}
}

func settleMetadata(wanted, has map[string]string) {
	for key, value := range wanted {
		if present, ok := has[key]; ok && present == value {
			delete(wanted, key)
		}
	}
}

// reads reports whether metadata that the container's environment reads is to change.
func (c *containerWork) reads() bool {
	return len(c.labels) > 0 || len(c.annotations) > 0
}

// resizes reports whether any of the container's resources is still to change.
func (c *containerWork) resizes() bool {
	return len(c.limits) > 0 || len(c.requests) > 0
}

// resize reports whether any container is to be resized.
func (w work) resize() bool {
	for _, c := range w {
		if c.resizes() {
			return true
		}
	}
	return false
}

// interrupts reports whether any container restarts without which the pod does not serve on (I4). The resize policies of the pod
// decide whether a resize restarts one.
func (w work) interrupts(pod *corev1.Pod, serveOn []string) bool {
	for name, c := range w {
		container := containerOf(pod, name)
		restarts := container != nil && (c.image != "" || c.reads() || c.resizeRestarts(container))
		if restarts && !slices.Contains(serveOn, name) {
			return true
		}
	}
	return false
}

func (c *containerWork) resizeRestarts(container *corev1.Container) bool {
	for _, policy := range container.ResizePolicy {
		_, limit := c.limits[policy.ResourceName]
		_, request := c.requests[policy.ResourceName]
		_, implied := c.implied[policy.ResourceName]
		if policy.RestartPolicy == corev1.RestartContainer && (limit || request || implied) {
			return true
		}
	}
	return false
}

// resources returns what is to be resized, for a patch or an annotation.
func (c *containerWork) resources() corev1.ResourceRequirements {
	var resources corev1.ResourceRequirements
	if len(c.limits) > 0 {
		resources.Limits = c.limits
	}
	if len(c.requests) > 0 {
		resources.Requests = c.requests
	}
	return resources
}

func (c *containerWork) refs() RefMetadata {
	var ref RefMetadata
	if len(c.labels) > 0 {
		ref.Labels = c.labels
	}
	if len(c.annotations) > 0 {
		ref.Annotations = c.annotations
	}
	return ref
}

// containerOf returns the container or init container of that name, of which a pod has one; nil if it has none.
func containerOf(pod *corev1.Pod, name string) *corev1.Container { return containerIn(&pod.Spec, name) }

func containerIn(spec *corev1.PodSpec, name string) *corev1.Container {
	for i := range spec.Containers {
		if spec.Containers[i].Name == name {
			return &spec.Containers[i]
		}
	}
	return initContainerIn(spec, name)
}

func initContainerIn(spec *corev1.PodSpec, name string) *corev1.Container {
	for i := range spec.InitContainers {
		if spec.InitContainers[i].Name == name {
			return &spec.InitContainers[i]
		}
	}
	return nil
}

// hasEnded reports whether the container is an init container that is no sidecar: it has run to its end in a pod that runs.
func hasEnded(pod *corev1.Pod, name string) bool {
	container := initContainerIn(&pod.Spec, name)
	return container != nil && !isSidecar(container)
}

// statusOf returns the status of a container or init container; nil if none is reported.
func statusOf(pod *corev1.Pod, name string) *corev1.ContainerStatus {
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		for i := range statuses {
			if statuses[i].Name == name {
				return &statuses[i]
			}
		}
	}
	return nil
}

// changedMetadata are labels and annotations to write at once. A nil value: the key is dropped.
type changedMetadata struct {
	labels, annotations map[string]*string
}

func (m *changedMetadata) add(other changedMetadata) {
	if m.labels == nil {
		m.labels, m.annotations = map[string]*string{}, map[string]*string{}
	}
	maps.Copy(m.labels, other.labels)
	maps.Copy(m.annotations, other.annotations)
}
