package rollouttest

import (
	"slices"

	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/predownload"
	"github.com/daemonplan/daemonplan/rollout"
)

// Options for what OpenKruise's Advanced DaemonSet adds.

// Partition holds that many nodes at their old revision (T2): "2", or a percentage such as "10%", rounded down. Without it
// that is 0.
func Partition(quantity string) SpecOption {
	return func(s *rollout.Spec) { s.Strategy.Partition = new(intstr.Parse(quantity)) }
}

// StrategyNodeSelector holds the nodes that do not have the label (T3). Several are ANDed; of two with one key the later counts.
// Without it no node is held so.
func StrategyNodeSelector(key, value string) SpecOption {
	return func(s *rollout.Spec) {
		selector := &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
		if old := s.Strategy.NodeSelector; old != nil {
			maps.Copy(selector.MatchLabels, old.MatchLabels)
			selector.MatchLabels[key], selector.MatchExpressions = value, old.MatchExpressions
		}
		s.Strategy.NodeSelector = selector
	}
}

// PartitionedScaling leaves the nodes of the [Partition] empty during a first installation (T7). Without it they get their
// pod.
func PartitionedScaling() SpecOption {
	return func(s *rollout.Spec) { s.Strategy.PartitionedScaling = true }
}

// HoldRevision lets pods that are lost on held nodes come back at the revision they ran (T1). Without it they come back at the
// update revision.
func HoldRevision() SpecOption {
	return func(s *rollout.Spec) { s.Strategy.HoldRevision = true }
}

// InPlaceIfPossible updates pods in place if that is possible, and recreates the others (I1). Without it, and without
// [InPlaceOnly], all are recreated. A budget of maxSurge, which cannot go with it, becomes one of maxUnavailable.
func InPlaceIfPossible() SpecOption { return method(inplace.IfPossible) }

// InPlaceOnly updates pods in place, and holds those for which that is not possible (I1). In all else it is as
// [InPlaceIfPossible].
func InPlaceOnly() SpecOption { return method(inplace.Only) }

func method(method inplace.Method) SpecOption {
	return func(s *rollout.Spec) {
		s.Strategy.Method = method
		if s.Strategy.MaxSurge != nil {
			s.Strategy.MaxUnavailable, s.Strategy.MaxSurge = s.Strategy.MaxSurge, nil
		}
	}
}

// Resize lets cpu and memory change in place (I2), with [InPlaceIfPossible] or [InPlaceOnly]. Without it a pod with other
// resources is recreated.
func Resize() SpecOption {
	return func(s *rollout.Spec) { s.Strategy.InPlace.Resize = true }
}

// EnvFromMetadata lets labels and annotations that environment variables read change in place, and the containers restart
// (I2). Without it such a pod is recreated.
func EnvFromMetadata() SpecOption {
	return func(s *rollout.Spec) { s.Strategy.InPlace.EnvFromMetadata = true }
}

// GracePeriod sets how long a pod is not ready before it is updated in place (I4). Without it that is 0.
func GracePeriod(seconds int32) SpecOption {
	return func(s *rollout.Spec) { s.Strategy.InPlace.GracePeriodSeconds = seconds }
}

// Sidecars says whether images of native sidecars may change in place (I2), with [InPlaceIfPossible] or [InPlaceOnly]. Without it
// they may.
func Sidecars(allowed bool) SpecOption {
	return func(s *rollout.Spec) { s.Strategy.InPlace.Sidecars = &allowed }
}

// AddedTolerations says whether tolerations may be added in place (I2), with [InPlaceIfPossible] or [InPlaceOnly]. Without it
// they may.
func AddedTolerations(allowed bool) SpecOption {
	return func(s *rollout.Spec) { s.Strategy.InPlace.Tolerations = &allowed }
}

// RestartKeys name labels and annotations of the template, or their prefixes with the slash, whose change asks for a restart: the
// pods are recreated then, or held with [InPlaceOnly] (I2). Without it only kubectl.kubernetes.io/restartedAt does.
func RestartKeys(keys ...string) SpecOption {
	return func(s *rollout.Spec) { s.Strategy.InPlace.RestartKeys = slices.Clone(keys) }
}

// ServeOn names containers and sidecars without which a pod serves on: where only these restart, it is not made not ready for its
// update in place (I4). Without it every restart makes it so.
func ServeOn(containers ...string) SpecOption {
	return func(s *rollout.Spec) { s.Strategy.InPlace.ServeOn = slices.Clone(containers) }
}

// PreDeleteHook sets the hook that pods wait for before they are deleted (L2). Whether pods carry its handlers is for the
// template to say: see [PodTemplateLabel]. Without it nobody is waited for. The spec gets a copy of the hook.
func PreDeleteHook(hook lifecycle.Hook) SpecOption {
	return func(s *rollout.Spec) { s.Lifecycle.PreDelete = lifecycle.Hooks{PreDelete: &hook}.DeepCopy().PreDelete }
}

// InPlaceUpdateHook sets the hook that pods wait for before and after they are updated in place (L3). Otherwise it is as
// [PreDeleteHook].
func InPlaceUpdateHook(hook lifecycle.Hook) SpecOption {
	return func(s *rollout.Spec) {
		s.Lifecycle.InPlaceUpdate = lifecycle.Hooks{InPlaceUpdate: &hook}.DeepCopy().InPlaceUpdate
	}
}

// PreNormalHook sets the hook that new pods wait for before they are Normal (L3). Otherwise it is as [PreDeleteHook].
func PreNormalHook(hook lifecycle.Hook) SpecOption {
	return func(s *rollout.Spec) { s.Lifecycle.PreNormal = lifecycle.Hooks{PreNormal: &hook}.DeepCopy().PreNormal }
}

// HookLabel is a hook with one label as its handler. For finalizers, and for more than one, write a [lifecycle.Hook].
func HookLabel(key, value string) lifecycle.Hook {
	return lifecycle.Hook{Labels: map[string]string{key: value}}
}

// PreDownload pulls images ahead of the rollout on so many nodes at a time (D1): "2", or a percentage such as "10%"; "0"
// pauses. Without it nothing is pulled ahead. What else the spec says about pulls stays.
func PreDownload(parallelism string) SpecOption {
	return func(s *rollout.Spec) {
		var options predownload.Options
		if s.PreDownload != nil {
			options = *s.PreDownload
		}
		options.Parallelism = new(intstr.Parse(parallelism))
		s.PreDownload = &options
	}
}

// PodTemplateLabel sets a label of the template, beside the label app that the selector asks for.
func PodTemplateLabel(key, value string) SpecOption {
	return func(s *rollout.Spec) { s.Template.Labels = objects.With(s.Template.Labels, key, value) }
}

// PodTemplateAnnotation sets an annotation of the template.
func PodTemplateAnnotation(key, value string) SpecOption {
	return func(s *rollout.Spec) { s.Template.Annotations = objects.With(s.Template.Annotations, key, value) }
}

// Requests sets a request of the first container, such as "cpu" to "100m". Without it there are none. It panics for a quantity
// that cannot be read.
func Requests(name corev1.ResourceName, quantity string) SpecOption {
	return objects.FirstContainer(func(c *corev1.Container) {
		c.Resources.Requests = withQuantity(c.Resources.Requests, name, quantity)
	})
}

// Limits sets a limit of the first container. Without it there are none. It panics for a quantity that cannot be read.
func Limits(name corev1.ResourceName, quantity string) SpecOption {
	return objects.FirstContainer(func(c *corev1.Container) {
		c.Resources.Limits = withQuantity(c.Resources.Limits, name, quantity)
	})
}

// Env adds an environment variable with a value to the first container.
func Env(name, value string) SpecOption {
	return objects.FirstContainer(func(c *corev1.Container) {
		c.Env = append(slices.Clip(c.Env), corev1.EnvVar{Name: name, Value: value})
	})
}

func withQuantity(list corev1.ResourceList, name corev1.ResourceName, quantity string) corev1.ResourceList {
	list = list.DeepCopy()
	if list == nil {
		list = corev1.ResourceList{}
	}
	list[name] = resource.MustParse(quantity)
	return list
}
