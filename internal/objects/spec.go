package objects

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/predownload"
	"github.com/daemonplan/daemonplan/rollout"
)

// Noon is the instant at which scenarios of tests begin: 2026-01-01 12:00 UTC.
func Noon() time.Time {
	return time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)
}

// HourAgo is an hour before [Noon]: objects are that old unless an option says otherwise.
func HourAgo() metav1.Time { return metav1.NewTime(Noon().Add(-time.Hour)) }

// MainContainer is the name of the container of a spec that package rollouttest makes.
const MainContainer = "main"

// Released lifts whatever holds nodes back: the spec is [Rolling], without partition and node selector, and recreates
// what cannot be updated in place. Then every node ends at the update revision (V16).
func Released() func(*rollout.Spec) {
	return func(s *rollout.Spec) {
		Rolling()(s)
		s.Strategy.Partition, s.Strategy.NodeSelector, s.Strategy.PartitionedScaling = nil, nil, false
		if s.Strategy.Method == inplace.Only {
			s.Strategy.Method = inplace.IfPossible
		}
	}
}

// Rolling lifts what stops the whole set: the spec is neither paused nor frozen nor OnDelete. Single nodes may still be
// held, by partition, node selector or the method InPlaceOnly. Such a set comes to rest by itself.
func Rolling() func(*rollout.Spec) {
	return func(s *rollout.Spec) {
		s.Strategy.Type, s.Strategy.Paused, s.Strategy.Frozen = rollout.RollingUpdate, false, false
	}
}

// TemplateGeneration sets the deprecated generation that decides for pods without a revision hash (R5).
func TemplateGeneration(generation int64) func(*rollout.Spec) {
	return func(s *rollout.Spec) { s.TemplateGeneration = new(generation) }
}

// RequiredAffinity is the required node affinity of the pod spec, which is added if there is none.
func RequiredAffinity(spec *corev1.PodSpec) *corev1.NodeSelector {
	if spec.Affinity == nil {
		spec.Affinity = &corev1.Affinity{}
	}
	if spec.Affinity.NodeAffinity == nil {
		spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	node := spec.Affinity.NodeAffinity
	if node.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		node.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{}
	}
	return node.RequiredDuringSchedulingIgnoredDuringExecution
}

// CgroupV1 says that no node can resize a container and change an image in one step (I4).
func CgroupV1() func(*rollout.Spec) {
	return func(s *rollout.Spec) { s.Strategy.InPlace.CgroupV1 = true }
}

// HookFinalizer is a hook with one finalizer handler.
func HookFinalizer(name string) lifecycle.Hook {
	return lifecycle.Hook{Finalizers: []string{name}}
}

// MarkPodNotReady is the hook with pods marked as not ready while it is waited for (L4).
func MarkPodNotReady(hook lifecycle.Hook) lifecycle.Hook {
	hook.MarkPodNotReady = true
	return hook
}

// MinUpdatedReadyPods lets pulls begin when so many nodes have a ready pod of the update revision: "2", or a percentage
// (D1). A spec without pulls gets them on one node at a time.
func MinUpdatedReadyPods(quantity string) func(*rollout.Spec) {
	return func(s *rollout.Spec) {
		if s.PreDownload == nil {
			s.PreDownload = &predownload.Options{Parallelism: new(intstr.FromInt32(1))}
		}
		options := *s.PreDownload
		options.MinUpdatedReadyPods = new(intstr.Parse(quantity))
		s.PreDownload = &options
	}
}

// PodTemplateFinalizer adds a finalizer to the template.
func PodTemplateFinalizer(name string) func(*rollout.Spec) {
	return func(s *rollout.Spec) {
		s.Template.Finalizers = append(slices.Clip(s.Template.Finalizers), name)
	}
}

// EnvFromLabel lets an environment variable of the first container read a label of the pod.
func EnvFromLabel(name, key string) func(*rollout.Spec) {
	return FirstContainer(func(c *corev1.Container) {
		c.Env = append(slices.Clip(c.Env), corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['" + key + "']"},
		}})
	})
}

// RestartToResize makes the first container restart when the amount of the resource changes.
func RestartToResize(name corev1.ResourceName) func(*rollout.Spec) {
	return FirstContainer(func(c *corev1.Container) {
		c.ResizePolicy = append(slices.Clip(c.ResizePolicy),
			corev1.ContainerResizePolicy{ResourceName: name, RestartPolicy: corev1.RestartContainer})
	})
}

// FirstContainer changes the first container of the template. The specs that options are applied to may share theirs.
func FirstContainer(change func(*corev1.Container)) func(*rollout.Spec) {
	return func(s *rollout.Spec) {
		if len(s.Template.Spec.Containers) == 0 {
			return
		}
		containers := make([]corev1.Container, len(s.Template.Spec.Containers))
		copy(containers, s.Template.Spec.Containers)
		change(&containers[0])
		s.Template.Spec.Containers = containers
	}
}

// With returns a copy of the map in which the key has the value. The map may be nil.
func With(m map[string]string, key, value string) map[string]string {
	m = maps.Clone(m)
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}

// UpdatesInPlace reports whether the planner of the spec makes pods with what in-place updates need.
func UpdatesInPlace(s *rollout.Spec) bool {
	return s.Strategy.Method == inplace.IfPossible || s.Strategy.Method == inplace.Only
}

// Effect is what the overrides of the spec and of the node do to a template of the set there.
func Effect(spec *rollout.Spec, template *corev1.PodTemplateSpec, node *corev1.Node) placement.Overridden {
	defaulted := spec.Default()
	compiled, err := placement.CompileOverrides(defaulted.Namespace, defaulted.Name, template, defaulted.Overrides)
	if err != nil {
		return placement.Overridden{}
	}
	return compiled.Evaluate(node)
}
