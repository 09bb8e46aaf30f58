package verify

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"github.com/daemonplan/daemonplan/inplace"
)

// In what templates differ beyond what a running pod can take, and what its node has to be able to for that.

// differsInMore is asked once of two templates.
func (v *verifier) differsInMore(old, new *corev1.PodTemplateSpec) string {
	key := [2]*corev1.PodTemplateSpec{old, new}
	why, ok := v.differs[key]
	if !ok {
		why = differsInMore(old, new, v.spec.Strategy.InPlace)
		v.differs[key] = why
	}
	return why
}

// differsInMore tells what keeps a pod of one template from being made one of the other in place (I2); empty: nothing. It
// takes over what may change and looks whether the rest is the same.
func differsInMore(old, new *corev1.PodTemplateSpec, options inplace.Options) string {
	rest := old.DeepCopy()
	rest.Labels, rest.Annotations = new.Labels, new.Annotations
	for _, lists := range [][2][]corev1.Container{
		{rest.Spec.Containers, new.Spec.Containers}, {rest.Spec.InitContainers, new.Spec.InitContainers},
	} {
		for i := range min(len(lists[0]), len(lists[1])) {
			if why := takeContainer(&lists[0][i], &lists[1][i], options); why != "" {
				return why
			}
		}
	}
	if options.Resize && rest.Spec.Resources != nil && new.Spec.Resources != nil {
		takeResources(&rest.Spec.Resources.Limits, new.Spec.Resources.Limits)
		takeResources(&rest.Spec.Resources.Requests, new.Spec.Resources.Requests)
	} else if options.Resize && rest.Spec.Resources == nil {
		rest.Spec.Resources = new.Spec.Resources
	}
	if options.Tolerations == nil || *options.Tolerations {
		added := false
		for _, toleration := range rest.Spec.Tolerations {
			same := func(other corev1.Toleration) bool { return apiequality.Semantic.DeepEqual(toleration, other) }
			added = added || !slices.ContainsFunc(new.Spec.Tolerations, same)
		}
		if !added {
			rest.Spec.Tolerations = new.Spec.Tolerations
		}
	}
	if !apiequality.Semantic.DeepEqual(rest, new) {
		return "more than images, labels, annotations, tolerations that are added and, where enabled, cpu and memory"
	}
	for _, containers := range [][]corev1.Container{new.Spec.InitContainers, new.Spec.Containers} {
		for i := range containers {
			if readsMetadata(&containers[i], "labels", appsv1.DefaultDaemonSetUniqueLabelKey) {
				return "what an env reads: the label of the revision"
			}
		}
	}
	for _, key := range slices.Concat(changedKeys(old.Labels, new.Labels), changedKeys(old.Annotations, new.Annotations)) {
		for _, asks := range append([]string{"kubectl.kubernetes.io/restartedAt"}, options.RestartKeys...) {
			if key == asks || asks != "" && asks[len(asks)-1] == '/' && strings.HasPrefix(key, asks) {
				return key + ", whose change asks for a restart"
			}
		}
	}
	for _, containers := range [][]corev1.Container{new.Spec.InitContainers, new.Spec.Containers} {
		for i := range containers {
			for _, key := range changedKeys(old.Labels, new.Labels) {
				if readsMetadata(&containers[i], "labels", key) && !options.EnvFromMetadata {
					return "the label " + key + ", which an env reads"
				}
			}
			for _, key := range changedKeys(old.Annotations, new.Annotations) {
				if readsMetadata(&containers[i], "annotations", key) && !options.EnvFromMetadata {
					return "the annotation " + key + ", which an env reads"
				}
			}
		}
	}
	return ""
}

// takeContainer takes over what may change of a container; of an init container, which has a restart policy if it is a sidecar,
// as well. It tells what else would have to change with that.
func takeContainer(to, from *corev1.Container, options inplace.Options) string {
	sidecar := to.RestartPolicy != nil && *to.RestartPolicy == corev1.ContainerRestartPolicyAlways
	if !sidecar || options.Sidecars == nil || *options.Sidecars {
		unsaid := to.ImagePullPolicy == "" && from.ImagePullPolicy == "" && to.Image != ""
		if unsaid && pullsAlways(to.Image) != pullsAlways(from.Image) {
			return "the pull policy of container " + to.Name + ", which follows the tag latest"
		}
		to.Image = from.Image
	}
	if options.Resize {
		takeResources(&to.Resources.Limits, from.Resources.Limits)
		takeResources(&to.Resources.Requests, from.Resources.Requests)
	}
	return ""
}

// pullsAlways reports whether an image is one of the tag latest, which no tag and no digest means, too.
func pullsAlways(image string) bool {
	name, _, digest := strings.Cut(image[strings.LastIndexByte(image, '/')+1:], "@")
	_, tag, tagged := strings.Cut(name, ":")
	return tag == "latest" || !tagged && !digest
}

// takeResources overwrites cpu and memory, and adds what is new.
func takeResources(to *corev1.ResourceList, from corev1.ResourceList) {
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if quantity, has := from[name]; has {
			if *to == nil {
				*to = corev1.ResourceList{}
			}
			(*to)[name] = quantity
		}
	}
}

// lacking tells what a node lacks to take the change in place; empty: nothing. Kubelets before 1.33 restart no sidecar. The API
// server refuses to resize init containers that end, and pods that have resources as a whole, on nodes that do not declare it.
func lacking(node *corev1.Node, old, new *corev1.PodTemplateSpec) string {
	declares := func(feature string) bool {
		return node != nil && slices.Contains(node.Status.DeclaredFeatures, feature)
	}
	resizes := false
	for i := range new.Spec.InitContainers {
		now := &new.Spec.InitContainers[i]
		was := containerOf(&old.Spec, now.Name)
		if was == nil {
			continue
		}
		differs := !apiequality.Semantic.DeepEqual(was.Resources, now.Resources)
		resizes = resizes || differs
		switch sidecar := now.RestartPolicy != nil; {
		case differs && !sidecar && !declares("InPlacePodVerticalScalingInitContainers"):
			return "resizes init containers"
		case sidecar && was.Image != now.Image && node != nil:
			var minor int
			if n, _ := fmt.Sscanf(node.Status.NodeInfo.KubeletVersion, "v1.%d", &minor); n == 1 && minor < 33 {
				return "restarts sidecars"
			}
		}
	}
	for i := range new.Spec.Containers {
		was := containerOf(&old.Spec, new.Spec.Containers[i].Name)
		resizes = resizes || was != nil && !apiequality.Semantic.DeepEqual(was.Resources, new.Spec.Containers[i].Resources)
	}
	whole := new.Spec.Resources != nil && len(new.Spec.Resources.Limits)+len(new.Spec.Resources.Requests) > 0
	resizes = resizes || !apiequality.Semantic.DeepEqual(old.Spec.Resources, new.Spec.Resources)
	if whole && resizes && !declares("InPlacePodLevelResourcesVerticalScaling") {
		return "resizes pods as a whole"
	}
	return ""
}

func readsMetadata(container *corev1.Container, field, key string) bool {
	for _, variable := range container.Env {
		if variable.ValueFrom != nil && variable.ValueFrom.FieldRef != nil &&
			variable.ValueFrom.FieldRef.FieldPath == "metadata."+field+"['"+key+"']" {
			return true
		}
	}
	return false
}
