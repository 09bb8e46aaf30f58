package inplace

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	componentresource "k8s.io/component-helpers/resource"
)

// hasWhole reports whether a pod has resources as a whole, beside those of its containers.
func hasWhole(spec *corev1.PodSpec) bool {
	return spec.Resources != nil && len(spec.Resources.Requests)+len(spec.Resources.Limits) > 0
}

// wholeOf returns the cpu and memory of a pod as a whole: what is given, and what the API server makes of the rest. A request is
// what all containers request, or if none does, the limit. A limit is what the containers may use together if each has one, and
// at least the request (the API server gives one since 1.37).
func wholeOf(spec *corev1.PodSpec, given corev1.ResourceRequirements) corev1.ResourceRequirements {
	pod := &corev1.Pod{}
	pod.Spec.Containers, pod.Spec.InitContainers = requestsFilled(spec.Containers), requestsFilled(spec.InitContainers)
	requests := componentresource.AggregateContainerRequests(pod, componentresource.PodResourcesOptions{})
	limits := componentresource.AggregateContainerLimits(pod, componentresource.PodResourcesOptions{})
	whole := corev1.ResourceRequirements{Requests: corev1.ResourceList{}, Limits: corev1.ResourceList{}}
	for _, name := range resizable {
		limit, limited := given.Limits[name]
		request, requested := given.Requests[name]
		if !requested {
			if request, requested = requests[name]; !requested {
				request, requested = limit, limited
			}
		}
		if !limited && requested && allLimited(pod, name) {
			limit, limited = limits[name], true
			if limit.Cmp(request) < 0 {
				limit = request
			}
		}
		if requested {
			whole.Requests[name] = request.DeepCopy()
		}
		if limited {
			whole.Limits[name] = limit.DeepCopy()
		}
	}
	return whole
}

// requestsFilled returns containers with the requests that the API server makes of limits.
func requestsFilled(containers []corev1.Container) []corev1.Container {
	filled := make([]corev1.Container, len(containers))
	for i := range containers {
		filled[i] = corev1.Container{Name: containers[i].Name, RestartPolicy: containers[i].RestartPolicy}
		requests := corev1.ResourceList{}
		maps.Copy(requests, containers[i].Resources.Limits)
		maps.Copy(requests, containers[i].Resources.Requests)
		filled[i].Resources = corev1.ResourceRequirements{Limits: containers[i].Resources.Limits, Requests: requests}
	}
	return filled
}

// allLimited reports whether every container has a limit of a resource.
func allLimited(pod *corev1.Pod, name corev1.ResourceName) bool {
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			if _, ok := containers[i].Resources.Limits[name]; !ok {
				return false
			}
		}
	}
	return true
}

// qosClasses returns the QoS class of the pod before and after all that is to change.
func (b *batch) qosClasses() (before, after corev1.PodQOSClass) {
	before = b.pod.Status.QOSClass
	if before == "" {
		before = qosClass(&b.pod.Spec)
	}
	spec := b.resized()
	if b.whole != nil {
		whole := corev1.ResourceRequirements{}
		if spec.Resources != nil {
			whole = *spec.Resources
		}
		spec.Resources = &corev1.ResourceRequirements{
			Limits: changedResources(whole.Limits, b.whole.Limits), Requests: changedResources(whole.Requests, b.whole.Requests),
		}
	}
	return before, qosClass(&spec)
}

// resized returns the spec of the pod with its containers as they are to be.
func (b *batch) resized() corev1.PodSpec {
	spec := b.pod.Spec
	spec.InitContainers, spec.Containers = slices.Clone(spec.InitContainers), slices.Clone(spec.Containers)
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			container := &containers[i]
			if c := b.work[container.Name]; c != nil && c.resizes() {
				container.Resources.Limits = changedResources(container.Resources.Limits, c.limits)
				container.Resources.Requests = changedResources(container.Resources.Requests, c.requests)
			}
		}
	}
	return spec
}

// resizeWhole finds what the pod as a whole is to have, by the template and by the containers that the pod will have: what the
// template leaves out, the API server has made from those, and it makes it once.
func (b *batch) resizeWhole(template *corev1.ResourceRequirements) {
	if template == nil {
		return
	}
	spec, has := b.resized(), corev1.ResourceRequirements{}
	if b.pod.Spec.Resources != nil {
		has = *b.pod.Spec.Resources
	}
	wanted := wholeOf(&spec, *template)
	for name := range wanted.Limits {
		_, given := template.Limits[name]
		if _, ok := has.Limits[name]; !ok && !given {
			delete(wanted.Limits, name) // servers before 1.37 make no limit
		}
	}
	settleResources(wanted.Limits, has.Limits)
	settleResources(wanted.Requests, has.Requests)
	if len(wanted.Limits)+len(wanted.Requests) > 0 {
		b.whole = &wanted
	}
}

func changedResources(has, changes corev1.ResourceList) corev1.ResourceList {
	list := corev1.ResourceList{}
	maps.Copy(list, has)
	maps.Copy(list, changes)
	return list
}
