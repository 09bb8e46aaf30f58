package verify

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
)

// change is how two states of one pod differ, in what a rollout may change; other tells that there is more.
type change struct {
	labels, annotations []string            // keys
	finalizers          []string            // that were added
	images, resources   []string            // names of containers and init containers
	whole               bool                // cpu or memory of the pod as a whole
	tolerations         []corev1.Toleration // that were added
	conditions          []corev1.PodConditionType
	other               bool
}

func changeBetween(before, after *corev1.Pod) change {
	var c change
	c.labels = changedKeys(before.Labels, after.Labels)
	c.annotations = changedKeys(before.Annotations, after.Annotations)
	for _, name := range after.Finalizers {
		if !slices.Contains(before.Finalizers, name) {
			c.finalizers = append(c.finalizers, name)
		}
	}
	rest := *after
	rest.Labels, rest.Annotations = before.Labels, before.Annotations
	rest.Finalizers = slices.DeleteFunc(slices.Clone(rest.Finalizers), func(name string) bool {
		return slices.Contains(c.finalizers, name)
	})
	for _, lists := range [][2]*[]corev1.Container{
		{&before.Spec.Containers, &rest.Spec.Containers}, {&before.Spec.InitContainers, &rest.Spec.InitContainers},
	} {
		if len(*lists[0]) != len(*lists[1]) {
			continue
		}
		*lists[1] = slices.Clone(*lists[1])
		for i := range *lists[1] {
			c.container(&(*lists[0])[i], &(*lists[1])[i])
		}
	}
	c.pod(&before.Spec, &rest.Spec)
	for i, now := range after.Status.Conditions {
		if i >= len(before.Status.Conditions) || !apiequality.Semantic.DeepEqual(before.Status.Conditions[i], now) {
			c.conditions = append(c.conditions, now.Type)
		}
	}
	c.other = len(after.Status.Conditions) < len(before.Status.Conditions)
	rest.Status.Conditions = before.Status.Conditions
	c.other = c.other || !apiequality.Semantic.DeepEqual(before, &rest)
	return c
}

// container takes what may change of one container out of the comparison.
func (c *change) container(before, rest *corev1.Container) {
	if before.Image != rest.Image {
		c.images = append(c.images, before.Name)
		rest.Image = before.Image
	}
	if takesResize(&before.Resources, &rest.Resources) {
		c.resources = append(c.resources, before.Name)
	}
}

// takesResize reports whether cpu or memory change or are added, and takes that out of rest.
func takesResize(before, rest *corev1.ResourceRequirements) bool {
	found := false
	rest.Limits, rest.Requests = maps.Clone(rest.Limits), maps.Clone(rest.Requests)
	for _, lists := range [][2]corev1.ResourceList{{before.Limits, rest.Limits}, {before.Requests, rest.Requests}} {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			old, had := lists[0][name]
			now, has := lists[1][name]
			switch {
			case !has || had && old.Cmp(now) == 0:
				continue
			case had:
				lists[1][name] = old
			default:
				delete(lists[1], name)
			}
			found = true
		}
	}
	return found
}

// pod takes what may change of the pod as a whole out of the comparison.
func (c *change) pod(before, rest *corev1.PodSpec) {
	if rest.Resources != nil {
		had, has := &corev1.ResourceRequirements{}, *rest.Resources
		if before.Resources != nil {
			had = before.Resources
		}
		if c.whole = takesResize(had, &has); c.whole && apiequality.Semantic.DeepEqual(*had, has) {
			rest.Resources = before.Resources
		}
	}
	if n := len(before.Tolerations); len(rest.Tolerations) > n &&
		apiequality.Semantic.DeepEqual(before.Tolerations, rest.Tolerations[:n]) {
		c.tolerations, rest.Tolerations = rest.Tolerations[n:], before.Tolerations
	}
}

// none reports whether nothing differs.
func (c *change) none() bool {
	return len(c.labels)+len(c.annotations)+len(c.finalizers)+len(c.images)+len(c.resources)+len(c.tolerations)+
		len(c.conditions) == 0 && !c.whole && !c.other
}

func changedKeys(before, after map[string]string) []string {
	keys := make(map[string]bool)
	for key, value := range before {
		if now, has := after[key]; !has || now != value {
			keys[key] = true
		}
	}
	for key := range after {
		if _, had := before[key]; !had {
			keys[key] = true
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

// conditionOf is the first condition of the type; nil: the pod has none.
func conditionOf(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

// gated reports whether the pod has the readiness gate, without which the condition has no effect (I3, L4).
func gated(pod *corev1.Pod, kind corev1.PodConditionType) bool {
	return slices.Contains(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: kind})
}
