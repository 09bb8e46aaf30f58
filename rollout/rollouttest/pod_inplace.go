package rollouttest

import (
	"encoding/json"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/internal/apiserver"
	"github.com/daemonplan/daemonplan/internal/kubelet"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
)

// Options for pods that are updated in place, or wait for hooks.

// Gated gives the pod a readiness gate and makes its condition True, since an hour before [Noon].
func Gated(kind corev1.PodConditionType) PodOption {
	return func(p *corev1.Pod) {
		if !kubelet.HasGate(p, kind) {
			p.Spec.ReadinessGates = append(slices.Clip(p.Spec.ReadinessGates),
				corev1.PodReadinessGate{ConditionType: kind})
		}
		kubelet.SetCondition(p, kind, corev1.ConditionTrue, hourAgo().Time)
	}
}

// Condition sets a condition of the pod.
func Condition(kind corev1.PodConditionType, status corev1.ConditionStatus, since time.Time) PodOption {
	return func(p *corev1.Pod) { kubelet.SetCondition(p, kind, status, since) }
}

// MarkedNotReady closes the pod's readiness gate KruisePodReady with these messages (L4), since [Noon].
func MarkedNotReady(messages ...lifecycle.Message) PodOption {
	return func(p *corev1.Pod) {
		Gated(lifecycle.PodReady)(p)
		closed := kubelet.SetCondition(p, lifecycle.PodReady, corev1.ConditionFalse, Noon())
		text, err := json.Marshal(messages)
		if err == nil { // it is: messages are strings
			closed.Message = string(text)
		}
		kubelet.SetCondition(p, corev1.PodReady, corev1.ConditionFalse, Noon())
	}
}

// InState labels the pod with the state of its hooks (L1).
func InState(state lifecycle.State) PodOption {
	return PodLabel(lifecycle.StateLabel, string(state))
}

// PodAnnotation sets an annotation of the pod.
func PodAnnotation(key, value string) PodOption {
	return func(p *corev1.Pod) { p.Annotations = with(p.Annotations, key, value) }
}

// Finalizer adds a finalizer to the pod.
func Finalizer(name string) PodOption {
	return func(p *corev1.Pod) { p.Finalizers = append(slices.Clone(p.Finalizers), name) }
}

// Containers makes the kubelet report that all containers have been running what the pod says since an hour before
// [Noon]. It is for after the options that say what that is.
func Containers() PodOption {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses = nil
		for i := range p.Spec.Containers {
			c := &p.Spec.Containers[i]
			status := corev1.ContainerStatus{
				Name: c.Name, Ready: true, Started: new(true), Image: c.Image, ImageID: ImageID(c.Image),
				ContainerID: kubelet.ContainerID(p, c.Name, 0),
				State:       corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: hourAgo()}},
			}
			if len(c.Resources.Limits)+len(c.Resources.Requests) > 0 {
				status.Resources = c.Resources.DeepCopy()
			}
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, status)
		}
	}
}

// UpdatingTo puts the pod into the middle of an in-place update to the spec, which began at the given instant: the pod
// says what it should be, is closed by its readiness gate, and its containers still run what they did before. It is for
// after [Of] with the old spec, and keeps what the pod has beside it. The revision that the pod is to be at is the spec's.
func UpdatingTo(spec rollout.Spec, began time.Time) PodOption {
	return func(p *corev1.Pod) {
		state := inplace.Progress{
			Revision: Hash(spec), UpdateTimestamp: metav1.NewTime(began),
			LastContainerStatuses: map[string]inplace.ContainerStatus{},
		}
		_, overridden := p.Annotations[placement.DigestAnnotation] // such resources no update in place touches (P8)
		containers := slices.Clone(p.Spec.Containers)
		var moved []string
		for i := range containers {
			at := slices.IndexFunc(spec.Template.Spec.Containers, func(c corev1.Container) bool {
				return c.Name == containers[i].Name
			})
			if at < 0 {
				continue
			}
			wanted := &spec.Template.Spec.Containers[at]
			if wanted.Image != containers[i].Image {
				state.UpdateImages = true
				last := inplace.ContainerStatus{}
				if status := kubelet.StatusOf(p, wanted.Name); status != nil {
					last.ImageID = status.ImageID
				}
				state.LastContainerStatuses[wanted.Name] = last
				moved = append(moved, wanted.Name)
				containers[i].Image = wanted.Image
			}
			if !overridden && !sameResources(wanted.Resources, containers[i].Resources) {
				state.UpdateResources = true
				containers[i].Resources = *wanted.Resources.DeepCopy()
				moved = append(moved, wanted.Name)
			}
		}
		slices.Sort(moved)
		state.ContainerBatchesRecord = []inplace.Batch{{Timestamp: metav1.NewTime(began), Containers: slices.Compact(moved)}}
		p.Spec.Containers = containers
		apiserver.DefaultRequests(&p.Spec)
		metadataOf(spec)(p)
		AtRevision(state.Revision)(p)
		text, err := json.Marshal(state)
		if err == nil { // it is: a state always encodes
			PodAnnotation(inplace.StateKey, string(text))(p)
		}
		Gated(lifecycle.InPlaceUpdateReady)(p)
		kubelet.SetCondition(p, lifecycle.InPlaceUpdateReady, corev1.ConditionFalse, began)
		kubelet.SetCondition(p, corev1.PodReady, corev1.ConditionFalse, began)
	}
}

// metadataOf gives the pod the labels and annotations of the template, as an update in place does.
func metadataOf(spec rollout.Spec) PodOption {
	return func(p *corev1.Pod) {
		for key, value := range spec.Template.Labels {
			p.Labels = with(p.Labels, key, value)
		}
		for key, value := range spec.Template.Annotations {
			p.Annotations = with(p.Annotations, key, value)
		}
	}
}

func sameResources(a, b corev1.ResourceRequirements) bool {
	for _, name := range [...]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if !kubelet.SameQuantity(a.Limits, b.Limits, name) {
			return false
		}
		if wanted, given := a.Requests[name]; given {
			if has := b.Requests[name]; has.Cmp(wanted) != 0 {
				return false
			}
		}
	}
	return true
}

// dress gives the pod what the planner of the spec would give it beside the template: readiness gates, open, and the
// state of a pod that has been Normal for long.
func dress(p *corev1.Pod, spec *rollout.Spec) {
	if updatesInPlace(spec) {
		apiserver.DefaultRequests(&p.Spec)
		Gated(lifecycle.InPlaceUpdateReady)(p)
		Containers()(p)
	}
	for _, gate := range spec.Lifecycle.Gates() {
		Gated(gate)(p)
	}
	if spec.Lifecycle.InitialState() == "" {
		return
	}
	InState(lifecycle.Normal)(p)
	if hook := spec.Lifecycle.PreNormal; hook != nil {
		for key, value := range hook.Labels {
			PodLabel(key, value)(p)
		}
		for _, name := range hook.Finalizers {
			if !slices.Contains(p.Finalizers, name) {
				Finalizer(name)(p)
			}
		}
	}
}
