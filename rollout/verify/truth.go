package verify

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"github.com/daemonplan/daemonplan/inplace"
)

// checkTruth is the heart of V9: the pod contains what its revision label says, or its state annotation says that it is
// to come. What others made of a container that the update does not change is theirs.
func (c *patchedPod) checkTruth(after *corev1.Pod) {
	if _, ok := c.first.Annotations[inplace.GraceKey]; ok && c.goesOn() {
		return // what Kruise has begun ends as its record says
	}
	template := c.templateAt(revisionOf(after))
	state, err := inplace.StateOf(after)
	if err != nil {
		c.wrong(9, "changes a pod whose state annotation cannot be read then: %v", err)
		return
	}
	if template == nil {
		return
	}
	if state == nil {
		state = &inplace.UpdateState{}
	}
	pending := c.pending
	if pending == nil {
		pending = &inplace.UpdateState{}
	}
	for _, containers := range [][]corev1.Container{after.Spec.InitContainers, after.Spec.Containers} {
		for i := range containers {
			c.checkContainer(&containers[i], template, state, pending)
		}
	}
	c.checkPod(after, template)
}

// checkPod is checkTruth for the tolerations of the template, and for the cpu and memory that it gives the pod as a whole.
func (c *patchedPod) checkPod(after *corev1.Pod, template *corev1.PodTemplateSpec) {
	if !c.pod.begun {
		return
	}
	for _, toleration := range template.Spec.Tolerations {
		same := func(has corev1.Toleration) bool { return apiequality.Semantic.DeepEqual(has, toleration) }
		before := c.old != nil && slices.ContainsFunc(c.old.Spec.Tolerations, same) // then it is others who took it away
		if !slices.ContainsFunc(after.Spec.Tolerations, same) && !before {
			c.wrong(9, "lacks the toleration %v, which the revision label says", toleration)
		}
	}
	if template.Spec.Resources == nil {
		return
	}
	var has corev1.ResourceRequirements
	if after.Spec.Resources != nil {
		has = *after.Spec.Resources
	}
	changed := c.old != nil && !apiequality.Semantic.DeepEqual(c.old.Spec.Resources, template.Spec.Resources)
	for _, l := range [][2]corev1.ResourceList{
		{has.Limits, template.Spec.Resources.Limits}, {has.Requests, template.Spec.Resources.Requests},
	} {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			if wanted, named := l[1][name]; named && changed && !equalQuantity(l[0], l[1], name) {
				c.wrong(9, "has another %s as a whole than %s, which the revision label says", name, wanted.String())
			}
		}
	}
}

// checkContainer is checkTruth for one container.
func (c *patchedPod) checkContainer(
	has *corev1.Container, template *corev1.PodTemplateSpec, state, pending *inplace.UpdateState,
) {
	want, had, before := containerOf(&template.Spec, has.Name), containerOf(&c.first.Spec, has.Name), &corev1.Container{}
	if c.old != nil {
		before = containerOf(&c.old.Spec, has.Name)
	}
	if want == nil || had == nil {
		return
	}
	next := pending.NextContainerImages[has.Name]
	others := before != nil && before.Image == want.Image && had.Image == has.Image && next == ""
	goesOn := has.Image == next && c.goesOn() // the annotation was the promise, and it is kept
	if has.Image != want.Image && state.NextContainerImages[has.Name] != want.Image && !others && !goesOn {
		c.wrong(9, "container %s has image %s, but the revision label says %s", has.Name, has.Image, want.Image)
	}
	c.checkResources(has, had, before, want, state.NextContainerResources[has.Name], pending.NextContainerResources[has.Name])
}

// checkResources is checkTruth for the cpu and memory that the template names.
func (c *patchedPod) checkResources(
	has, had, before, want *corev1.Container, next, pending corev1.ResourceRequirements,
) {
	if before == nil {
		before = &corev1.Container{}
	}
	type lists struct{ has, had, before, want, next, pending corev1.ResourceList }
	limits := lists{
		has.Resources.Limits, had.Resources.Limits, before.Resources.Limits, want.Resources.Limits, next.Limits, pending.Limits,
	}
	requests := lists{
		has.Resources.Requests, had.Resources.Requests, before.Resources.Requests, want.Resources.Requests, next.Requests,
		pending.Requests,
	}
	for _, l := range []lists{limits, requests} {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			wanted, named := l.want[name]
			_, later := l.pending[name]
			others := equalQuantity(l.before, l.want, name) && sameQuantity(l.had, l.has, name) && !later
			goesOn := c.goesOn() && equalQuantity(l.has, l.pending, name)
			limited := equalQuantity(l.has, want.Resources.Limits, name) // a request that is not named follows the limit
			if _, had := l.had[name]; !had && !named && !later && !limited && !sameQuantity(l.had, l.has, name) {
				c.wrong(9, "gives container %s %s that the template does not name", has.Name, name)
			}
			if named && !equalQuantity(l.has, l.want, name) && !equalQuantity(l.next, l.want, name) && !others && !goesOn {
				c.wrong(9, "container %s has another %s than %s, which the revision label says", has.Name, name, wanted.String())
			}
		}
	}
}

// equalQuantity reports whether both lists have the resource, and as much of it.
func equalQuantity(a, b corev1.ResourceList, name corev1.ResourceName) bool {
	one, has := a[name]
	other, had := b[name]
	return has && had && one.Cmp(other) == 0
}

// sameQuantity is equalQuantity, or neither has any.
func sameQuantity(a, b corev1.ResourceList, name corev1.ResourceName) bool {
	_, has := a[name]
	_, had := b[name]
	return !has && !had || equalQuantity(a, b, name)
}

// containerOf is the container or init container of that name; nil: there is none.
func containerOf(spec *corev1.PodSpec, name string) *corev1.Container {
	for _, list := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}
