package inplace

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
)

// What Compare finds in containers: images, pull policies and resources.

// initContainers compares those that run before the others: native sidecars, which go on beside them, and those that have ended.
func (d *differ) initContainers() {
	const path = "spec.initContainers"
	old, new := d.old.Spec.InitContainers, d.new.Spec.InitContainers
	before, after := namesOf(reflect.ValueOf(old)), namesOf(reflect.ValueOf(new))
	if before == nil || !slices.Equal(before, after) {
		d.compare(InitContainer, path, old, new)
		return
	}
	for i, name := range before {
		d.initContainer(elementPath(path, name), old[i], new[i])
	}
}

// initContainer compares two init containers of one name. A sidecar can change its image. The resources of one that has ended are
// only counted, and the API server takes no change of them if their resize policy says that it restarts the container.
func (d *differ) initContainer(path string, old, new corev1.Container) {
	if isSidecar(&old) && isSidecar(&new) {
		d.image(path, &old, &new)
		d.pullPolicy(path, &old, &new)
		if old.Image != new.Image && !allowed(d.update.options.Sidecars) {
			d.obstacle(SidecarDisabled, path+".image", "")
		}
		old.Image, new.Image = "", ""
	}
	if !isSidecar(&new) && restartsWhenResized(&new) {
		d.compare(InitContainer, path, old, new)
		return
	}
	d.resources(path+".resources", old.Name, old.Resources, new.Resources)
	old.Resources.Limits, old.Resources.Requests, new.Resources.Limits, new.Resources.Requests = nil, nil, nil, nil
	d.compare(InitContainer, path, old, new)
}

// isSidecar reports whether an init container is a native sidecar.
func isSidecar(container *corev1.Container) bool {
	return container.RestartPolicy != nil && *container.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

func restartsWhenResized(container *corev1.Container) bool {
	return slices.ContainsFunc(container.ResizePolicy, func(p corev1.ContainerResizePolicy) bool {
		return p.RestartPolicy == corev1.RestartContainer
	})
}

func (d *differ) containers() {
	const path = "spec.containers"
	before, after := namesOf(reflect.ValueOf(d.old.Spec.Containers)), namesOf(reflect.ValueOf(d.new.Spec.Containers))
	if before == nil || after == nil {
		// Containers without names of their own can be compared only all together. The API server admits no such template.
		if !apiequality.Semantic.DeepEqual(d.old.Spec.Containers, d.new.Spec.Containers) {
			d.obstacle(Immutable, path, "a container without a name of its own")
		}
		return
	}
	if reordered(before, after) {
		d.obstacle(ContainersReordered, path, "")
	}
	for i, name := range before {
		if j := slices.Index(after, name); j < 0 {
			d.obstacle(ContainerRemoved, elementPath(path, name), "")
		} else {
			d.container(elementPath(path, name), d.old.Spec.Containers[i], d.new.Spec.Containers[j])
		}
	}
	for _, name := range after {
		if !slices.Contains(before, name) {
			d.obstacle(ContainerAdded, elementPath(path, name), "")
		}
	}
}

// container compares two containers of one name.
func (d *differ) container(path string, old, new corev1.Container) {
	d.image(path, &old, &new)
	d.resources(path+".resources", old.Name, old.Resources, new.Resources)
	d.pullPolicy(path, &old, &new)
	old.Image, new.Image = "", ""
	old.Resources.Limits, old.Resources.Requests, new.Resources.Limits, new.Resources.Requests = nil, nil, nil, nil
	d.compare(Immutable, path, old, new)
}

func (d *differ) image(path string, old, new *corev1.Container) {
	if old.Image == new.Image {
		return
	}
	d.update.Images = append(d.update.Images, ImageChange{Container: old.Name, Old: old.Image, New: new.Image})
	if old.Image == "" || new.Image == "" {
		d.obstacle(ImageMissing, path+".image", "")
	}
}

// pullPolicy finds a policy that would have to change. The API server gives a pod one that the template leaves out by the tag of
// the image, and a running pod keeps it: with IfNotPresent and the tag latest it would run the image that its node happens to
// have. If both policies mean the same, they are made the same for what is compared next.
func (d *differ) pullPolicy(path string, old, new *corev1.Container) {
	switch before, after := pullPolicyOf(old), pullPolicyOf(new); {
	case old.Image == "" || new.Image == "":
	case before == after:
		old.ImagePullPolicy, new.ImagePullPolicy = before, after
	case old.ImagePullPolicy == new.ImagePullPolicy:
		d.obstacle(Immutable, path+".imagePullPolicy", fmt.Sprintf("by the tag of the image %s becomes %s", before, after))
	}
}

func pullPolicyOf(container *corev1.Container) corev1.PullPolicy {
	switch {
	case container.ImagePullPolicy != "" || container.Image == "":
		return container.ImagePullPolicy
	case pullsLatest(container.Image):
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}

// resources compares the sizes of a container, or of the pod as a whole, which has no name.
func (d *differ) resources(path, container string, old, new corev1.ResourceRequirements) {
	d.resourceList(path+".limits", true, container, old.Limits, new.Limits)
	d.resourceList(path+".requests", false, container, old.Requests, new.Requests)
}

func (d *differ) resourceList(path string, limit bool, container string, old, new corev1.ResourceList) {
	for _, name := range resourceNames(old, new) {
		before, had := old[name]
		after, has := new[name]
		at := elementPath(path, string(name))
		switch {
		case had && has && before.Cmp(after) == 0:
			continue
		case !isResizable(name):
			d.obstacle(ResourceFixed, at, "")
		case !has:
			d.obstacle(ResourceRemoved, at, "")
		default:
			switch {
			case d.update.options.Resize:
			case had:
				d.obstacle(ResizeDisabled, at, "")
			default:
				d.obstacle(ResourceAdded, at, "")
			}
			d.update.Resources = append(d.update.Resources, ResourceChange{
				Container: container, Limit: limit, Resource: name, Old: before.DeepCopy(), New: after.DeepCopy(), Added: !had,
			})
		}
	}
}

// resourceNames returns the names in either list, sorted; cpu comes before memory.
func resourceNames(lists ...corev1.ResourceList) []corev1.ResourceName {
	names := map[corev1.ResourceName]bool{}
	for _, list := range lists {
		for name := range list {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}
