package judge

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
)

// ownKeys are the labels and annotations that the controller writes on pods itself.
var ownKeys = [...]string{
	hashLabel, lifecycle.StateLabel, lifecycle.TimestampAnnotation, inplace.StateKey, inplace.GraceKey, rollout.CanaryLabel,
	rollout.TemplateGenerationLabel, placement.DigestAnnotation,
}

// judgeContents: a patch changes what an update in place may change (I2, V9): images, resources if the spec lets them, to
// those of the revision that the pod then names, and labels and annotations that a template names.
func (j *Judge) judgeContents(w *write) {
	before, after := w.before, w.pod
	to, from := j.template(hashOf(after)), j.template(hashOf(before))
	if before.UID != after.UID {
		j.find(InPlace, w.node.Name, after, "the patch gave the name to another pod")
		return
	}
	if !sameButContainers(before, after) {
		j.find(InPlace, w.node.Name, after, "a patch changed more of its spec than images and resources")
	}
	for i := range after.Spec.Containers {
		is := &after.Spec.Containers[i]
		was := container(before.Spec.Containers, is.Name)
		if was == nil {
			j.find(InPlace, w.node.Name, after, "container %s came by a patch", is.Name)
			continue
		}
		var should *corev1.Container
		if to != nil {
			should = container(to.Spec.Containers, is.Name)
		}
		if is.Image != was.Image && (should == nil || should.Image != is.Image) {
			j.find(InPlace, w.node.Name, after, "container %s got image %s, which is not that of its revision", is.Name, is.Image)
		}
		if !equality.Semantic.DeepEqual(is.Resources, was.Resources) && !j.view.spec.Strategy.InPlace.Resize {
			j.find(InPlace, w.node.Name, after, "container %s was resized, which the spec does not allow", is.Name)
		}
	}
	j.judgeMetadata(w, from, to)
}

func (j *Judge) judgeMetadata(w *write, from, to *corev1.PodTemplateSpec) {
	named := func(pick func(*corev1.PodTemplateSpec) map[string]string, key string) bool {
		for _, t := range []*corev1.PodTemplateSpec{from, to, &j.view.spec.Template} {
			if t != nil {
				if _, ok := pick(t)[key]; ok {
					return true
				}
			}
		}
		return slices.Contains(ownKeys[:], key) || j.handler(key)
	}
	labels := func(t *corev1.PodTemplateSpec) map[string]string { return t.Labels }
	annotations := func(t *corev1.PodTemplateSpec) map[string]string { return t.Annotations }
	for _, key := range differing(w.before.Labels, w.pod.Labels) {
		if !named(labels, key) {
			j.find(InPlace, w.node.Name, w.pod, "a patch changed label %s, which no template names", key)
		}
	}
	for _, key := range differing(w.before.Annotations, w.pod.Annotations) {
		if !named(annotations, key) {
			j.find(InPlace, w.node.Name, w.pod, "a patch changed annotation %s, which no template names", key)
		}
	}
}

// handler reports whether a label is one of a hook: its controller may have changed it beside the patch.
func (j *Judge) handler(key string) bool {
	hooks := j.view.spec.Lifecycle
	for _, hook := range []*lifecycle.Hook{hooks.PreDelete, hooks.InPlaceUpdate, hooks.PreNormal} {
		if hook != nil {
			if _, ok := hook.Labels[key]; ok {
				return true
			}
		}
	}
	return false
}

// template of the revision; nil: it is not known.
func (j *Judge) template(hash string) *corev1.PodTemplateSpec {
	for _, r := range j.cluster.Revisions {
		if r.Labels[hashLabel] == hash {
			return j.reader.template(r.Data.Raw)
		}
	}
	return nil
}

// Restarted tells that a container is about to be started again. One that all revisions of the pod so far have alike, whose
// environment reads nothing that could have changed, and which has not ended by itself, has no reason to.
func (j *Judge) Restarted(pod *corev1.Pod, name string) {
	of := j.pods[pod.UID]
	for _, p := range j.cluster.Pods {
		if other := j.pods[p.UID]; other != nil && p.UID != pod.UID && target(p) == target(pod) {
			other.excused += 2
		}
	}
	if of == nil || j.view == nil || len(of.hashes) < 2 {
		return
	}
	for i := range pod.Status.ContainerStatuses {
		s := &pod.Status.ContainerStatuses[i]
		if s.Name == name && (s.State.Running == nil || s.LastTerminationState.Terminated != nil) {
			return
		}
	}
	var first *corev1.Container
	for _, hash := range of.hashes {
		t := j.template(hash)
		if t == nil {
			return
		}
		c := container(t.Spec.Containers, name)
		if c == nil || readsMetadata(c) {
			return
		}
		if first == nil {
			first = c
		}
		if c.Image != first.Image || !equality.Semantic.DeepEqual(c.Resources, first.Resources) {
			return
		}
	}
	j.find(Restart, target(pod), pod, "container %s restarts, and is the same in all revisions that the pod was at", name)
}

func readsMetadata(c *corev1.Container) bool {
	return slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.ValueFrom != nil && e.ValueFrom.FieldRef != nil })
}

func container(list []corev1.Container, name string) *corev1.Container {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}

// sameContainers reports whether both pods have the same images and resources.
func sameContainers(a, b *corev1.Pod) bool {
	return equality.Semantic.DeepEqual(a.Spec.Containers, b.Spec.Containers)
}

// sameButContainers reports whether the specs differ in nothing but images and resources. Where a pod runs is for the
// scheduler.
func sameButContainers(a, b *corev1.Pod) bool {
	x, y := a.Spec.DeepCopy(), b.Spec.DeepCopy()
	for _, s := range []*corev1.PodSpec{x, y} {
		s.NodeName = ""
		for i := range s.Containers {
			s.Containers[i].Image, s.Containers[i].Resources = "", corev1.ResourceRequirements{}
		}
	}
	return equality.Semantic.DeepEqual(x, y)
}

// differing are the keys that both maps do not have alike.
func differing(a, b map[string]string) []string {
	keys := map[string]bool{}
	for key, value := range a {
		if other, ok := b[key]; !ok || other != value {
			keys[key] = true
		}
	}
	for key := range b {
		if _, ok := a[key]; !ok {
			keys[key] = true
		}
	}
	return slices.Sorted(maps.Keys(keys))
}
