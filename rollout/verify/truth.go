package verify

import (
	corev1 "k8s.io/api/core/v1"

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
	for i := range after.Spec.Containers {
		has := &after.Spec.Containers[i]
		want, had, before := containerNamed(template.Spec.Containers, has.Name),
			containerNamed(c.first.Spec.Containers, has.Name), &corev1.Container{}
		if c.old != nil {
			before = containerNamed(c.old.Spec.Containers, has.Name)
		}
		if want == nil || had == nil {
			continue
		}
		next := pending.NextContainerImages[has.Name]
		others := before != nil && before.Image == want.Image && had.Image == has.Image && next == ""
		goesOn := has.Image == next && c.goesOn() // the annotation was the promise, and it is kept
		if has.Image != want.Image && state.NextContainerImages[has.Name] != want.Image && !others && !goesOn {
			c.wrong(9, "container %s has image %s, but the revision label says %s", has.Name, has.Image, want.Image)
		}
		c.checkResources(has, had, before, want,
			state.NextContainerResources[has.Name], pending.NextContainerResources[has.Name])
	}
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

func containerNamed(list []corev1.Container, name string) *corev1.Container {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}
