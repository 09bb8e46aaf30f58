package rollouttest

import (
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/internal/apiserver"
	"github.com/daemonplan/daemonplan/internal/kubelet"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
)

// PodOption changes one thing about a pod. Options are applied in order, so that a later one overrides an earlier. Where none
// does what a test needs, any function of that type will do.
type PodOption func(*corev1.Pod)

// Pod returns a healthy pod of that name: namespace "default", UID "pod-<name>", created an hour before [Noon],
// Running and Ready since then. It is on no node, at no revision and of no set until an option says so.
func Pod(name string, options ...PodOption) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name:              name,
		Namespace:         rollout.DefaultNamespace,
		UID:               types.UID("pod-" + name),
		CreationTimestamp: objects.HourAgo(),
	}}
	Ready(objects.HourAgo().Time)(pod)
	for _, option := range options {
		option(pod)
	}
	return pod
}

// Of makes the pod one that the spec's planner would have created: namespace, labels, pod spec and owner of the set,
// at the spec's update revision. For a set that updates in place, or has hooks, it also gets readiness gates, open,
// running containers ([Containers]) and the state Normal. It overrides options before it that say otherwise, and leaves the
// pod's node alone.
func Of(spec rollout.Spec) PodOption {
	return func(p *corev1.Pod) {
		spec := spec.Default()
		node, affinity := p.Spec.NodeName, p.Spec.Affinity
		p.Labels = maps.Clone(spec.Template.Labels)
		p.Annotations = maps.Clone(spec.Template.Annotations)
		p.Finalizers = slices.Clone(spec.Template.Finalizers)
		p.Spec = *spec.Template.Spec.DeepCopy()
		p.Spec.NodeName, p.Spec.Affinity = node, affinity
		AtRevision(Hash(spec))(p)
		ControlledBy(spec)(p)
		objects.Dress(p, &spec)
	}
}

// ControlledBy puts the pod into the namespace of the spec's set and makes the set its controller, so that [rollout.Snapshot] may
// hold it. A set without a UID controls nothing. [Of] includes it.
func ControlledBy(spec rollout.Spec) PodOption {
	return func(p *corev1.Pod) {
		spec := spec.Default()
		p.Namespace = spec.Namespace
		if spec.UID != "" {
			p.OwnerReferences = []metav1.OwnerReference{{
				APIVersion: spec.APIVersion, Kind: spec.Kind, Name: spec.Name, UID: spec.UID,
				Controller: new(true), BlockOwnerDeletion: new(true),
			}}
		}
	}
}

// OnNode binds the pod to the node, as the scheduler does with a pod that is pinned to it. The node need not exist.
func OnNode(node string) PodOption {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = placement.Pin(p.Spec.Affinity, node)
		p.Spec.NodeName = node
	}
}

// PinnedTo pins the pod to the node by its affinity only (P6): it is Pending, because the scheduler has not bound it
// yet.
func PinnedTo(node string) PodOption {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = placement.Pin(p.Spec.Affinity, node)
		p.Spec.NodeName = ""
		Pending()(p)
	}
}

// AtRevision labels the pod with the hash of its revision (see [Hash]), which need not be one that there is. The template that
// [Of] gave it stays.
func AtRevision(hash string) PodOption {
	return PodLabel(appsv1.DefaultDaemonSetUniqueLabelKey, hash)
}

// PodLabel sets a label of the pod, beside those of its template.
func PodLabel(key, value string) PodOption {
	return func(p *corev1.Pod) {
		if p.Labels == nil {
			p.Labels = map[string]string{}
		}
		p.Labels[key] = value
	}
}

// Created sets when the pod was created, and nothing else. Without it that is an hour before [Noon].
func Created(at time.Time) PodOption {
	return func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(at) }
}

// Ready makes the pod Running and Ready since the given instant. Without it that is an hour before [Noon].
func Ready(since time.Time) PodOption {
	return func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodRunning
		kubelet.SetCondition(p, corev1.PodReady, corev1.ConditionTrue, since)
	}
}

// Unready makes the pod Running and not Ready, since [Noon].
func Unready() PodOption {
	return func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodRunning
		kubelet.SetCondition(p, corev1.PodReady, corev1.ConditionFalse, Noon())
	}
}

// Pending makes the pod one that has not started, without any condition.
func Pending() PodOption {
	return func(p *corev1.Pod) { p.Status = corev1.PodStatus{Phase: corev1.PodPending} }
}

// Failed makes the pod one that has Failed for good, and is not Ready since [Noon].
func Failed() PodOption {
	return finished(corev1.PodFailed)
}

// Succeeded makes the pod one that has ended by itself, and is not Ready since [Noon].
func Succeeded() PodOption {
	return finished(corev1.PodSucceeded)
}

func finished(phase corev1.PodPhase) PodOption {
	return func(p *corev1.Pod) {
		p.Status.Phase = phase
		kubelet.SetCondition(p, corev1.PodReady, corev1.ConditionFalse, Noon())
	}
}

// Terminating marks the pod for deletion at the given instant, with a grace period of 30 seconds after it.
func Terminating(at time.Time) PodOption {
	return func(p *corev1.Pod) { apiserver.Terminate(p, at, apiserver.DefaultGrace) }
}

// PodAnnotation sets an annotation of the pod, beside those of its template.
func PodAnnotation(key, value string) PodOption {
	return func(p *corev1.Pod) { p.Annotations = objects.With(p.Annotations, key, value) }
}
