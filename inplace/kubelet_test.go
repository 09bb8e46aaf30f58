package inplace_test

import (
	"maps"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// instance is a container that runs: what it was made from.
type instance struct {
	image     string
	env       map[string]string
	resources corev1.ResourceRequirements
	id        int
	since     time.Time
}

// kubelet brings the containers of one pod to their spec, each in its own time. It restarts those whose environment is
// out of date, too, as Kruise's daemon does.
type kubelet struct {
	runs map[string]*instance
	last int
	// oneID: all images have one ID, and the status names the first one: pulled by another name, nothing changes but
	// the container.
	oneID bool
	// noContainerIDs: a runtime that reports none.
	noContainerIDs bool
	// noResources: an old kubelet that reports none.
	noResources bool
	// broken images cannot be pulled.
	broken map[string]bool
}

// environment returns what the variables of a container read from a pod.
func environment(pod *corev1.Pod, c corev1.Container) map[string]string {
	values := map[string]string{}
	for _, variable := range c.Env {
		if annotation, key, ok := readBy(variable); ok && annotation {
			values["annotation "+key] = pod.Annotations[key]
		} else if ok {
			values["label "+key] = pod.Labels[key]
		}
	}
	return values
}

// serving returns the containers of a pod that run: sidecars and the others.
func serving(pod *corev1.Pod) []corev1.Container {
	sidecars := slices.DeleteFunc(slices.Clone(pod.Spec.InitContainers), func(c corev1.Container) bool { return c.RestartPolicy == nil })
	return append(sidecars, pod.Spec.Containers...)
}

// sync brings one container to its spec, if it can. It returns whether the container was restarted.
func (k *kubelet) sync(pod *corev1.Pod, c corev1.Container, now time.Time) (restarted bool) {
	i := k.runs[c.Name]
	restart := i == nil || i.image != c.Image || !maps.Equal(i.env, environment(pod, c))
	if !restart && !equality.Semantic.DeepEqual(i.resources, c.Resources) {
		for _, policy := range c.ResizePolicy {
			before, after := i.resources.Limits[policy.ResourceName], c.Resources.Limits[policy.ResourceName]
			requested, requests := i.resources.Requests[policy.ResourceName], c.Resources.Requests[policy.ResourceName]
			if policy.RestartPolicy == corev1.RestartContainer && (before.Cmp(after) != 0 || requested.Cmp(requests) != 0) {
				restart = true
			}
		}
	}
	if restart && k.broken[c.Image] {
		return false
	}
	if restart {
		k.last++
		i = &instance{image: c.Image, env: environment(pod, c), id: k.last, since: now}
		k.runs[c.Name] = i
	}
	i.resources = *c.Resources.DeepCopy()
	return restart
}

// report writes the status of the pod.
func (k *kubelet) report(pod *corev1.Pod, now time.Time) {
	pod.Status.ContainerStatuses = nil
	ready := true
	for _, c := range serving(pod) {
		i := k.runs[c.Name]
		if i == nil {
			ready = false
			continue
		}
		status := corev1.ContainerStatus{Name: c.Name, Image: i.image, ImageID: "id-of-" + i.image, Ready: now.After(i.since), State: running(i.since)}
		if k.oneID {
			status.Image, status.ImageID = "first:name", "id"
		}
		if !k.noContainerIDs {
			status.ContainerID = "containerd://" + strconv.Itoa(i.id)
		}
		if !k.noResources {
			status.Resources = i.resources.DeepCopy()
		}
		ready = ready && status.Ready
		if c.RestartPolicy != nil {
			pod.Status.InitContainerStatuses = []corev1.ContainerStatus{status} // there is but one sidecar
		} else {
			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, status)
		}
	}
	wanted := corev1.ConditionFalse
	if ready && condition(pod) == corev1.ConditionTrue {
		wanted = corev1.ConditionTrue
	}
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady && c.Status != wanted {
			c.Status, c.LastTransitionTime = wanted, metav1.NewTime(now)
		}
	}
}
