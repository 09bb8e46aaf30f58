package objects

import (
	"encoding/json"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/internal/apiserver"
	"github.com/daemonplan/daemonplan/internal/kubelet"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
)

// AtRevision labels the pod with the hash of its revision.
func AtRevision(hash string) func(*corev1.Pod) {
	return Label(appsv1.DefaultDaemonSetUniqueLabelKey, hash)
}

// Label sets a label of the pod.
func Label(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		if p.Labels == nil {
			p.Labels = map[string]string{}
		}
		p.Labels[key] = value
	}
}

// Annotation sets an annotation of the pod.
func Annotation(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Annotations = With(p.Annotations, key, value) }
}

// Updating makes the pod one in the middle of an in-place update: its in-place readiness condition is False, so that
// it is neither ready nor available whatever its Ready condition says (B5).
func Updating() func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		kubelet.SetCondition(p, lifecycle.InPlaceUpdateReady, corev1.ConditionFalse, Noon())
	}
}

// StartedAt sets when the kubelet took notice of the pod, and nothing else.
func StartedAt(at time.Time) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.StartTime = new(metav1.NewTime(at)) }
}

// RunningSince makes the containers of the pod ones that have been running since the given instant, unless they wait or have
// ended. It is for after the options that say which there are.
func RunningSince(at time.Time) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses = slices.Clone(p.Status.ContainerStatuses)
		for i := range p.Spec.Containers {
			name := p.Spec.Containers[i].Name
			if kubelet.StatusOf(p, name) == nil {
				p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: name})
			}
			if state := &kubelet.StatusOf(p, name).State; state.Waiting == nil && state.Terminated == nil {
				state.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(at)}
			}
		}
	}
}

// Evicted makes the pod one that a kubelet threw out at the given instant: it has Failed for good.
func Evicted(at time.Time) func(*corev1.Pod) {
	return func(p *corev1.Pod) { kubelet.Evict(p, at) }
}

// Overridden gives the pod the resources that its node overrides, and their digest (P8). It is for after
// rollouttest.Of.
func Overridden(by placement.Overridden) func(*corev1.Pod) { return by.Apply }

// Gated gives the pod a readiness gate and makes its condition True, since an hour before [Noon].
func Gated(kind corev1.PodConditionType) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		if !kubelet.HasGate(p, kind) {
			p.Spec.ReadinessGates = append(slices.Clip(p.Spec.ReadinessGates),
				corev1.PodReadinessGate{ConditionType: kind})
		}
		kubelet.SetCondition(p, kind, corev1.ConditionTrue, HourAgo().Time)
	}
}

// Condition sets a condition of the pod.
func Condition(kind corev1.PodConditionType, status corev1.ConditionStatus, since time.Time) func(*corev1.Pod) {
	return func(p *corev1.Pod) { kubelet.SetCondition(p, kind, status, since) }
}

// MarkedNotReady closes the pod's readiness gate KruisePodReady with these messages (L4), since [Noon].
func MarkedNotReady(messages ...lifecycle.Message) func(*corev1.Pod) {
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
func InState(state lifecycle.State) func(*corev1.Pod) {
	return Label(lifecycle.StateLabel, string(state))
}

// Finalizer adds a finalizer to the pod.
func Finalizer(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Finalizers = append(slices.Clone(p.Finalizers), name) }
}

// Containers makes the kubelet report that all containers have been running what the pod says since an hour before
// [Noon]. It is for after the options that say what that is.
func Containers() func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses = nil
		for i := range p.Spec.Containers {
			c := &p.Spec.Containers[i]
			status := corev1.ContainerStatus{
				Name: c.Name, Ready: true, Started: new(true), Image: c.Image, ImageID: kubelet.ImageID(c.Image),
				ContainerID: kubelet.ContainerID(p, c.Name, 0),
				State:       corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: HourAgo()}},
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
// after rollouttest.Of with the old spec, and keeps what the pod has beside it. The revision that the pod is to be at is the
// spec's.
func UpdatingTo(spec rollout.Spec, began time.Time) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		state := inplace.UpdateState{
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
			if !overridden && !SameResources(wanted.Resources, containers[i].Resources) {
				state.UpdateResources = true
				containers[i].Resources = *wanted.Resources.DeepCopy()
				moved = append(moved, wanted.Name)
			}
		}
		slices.Sort(moved)
		state.ContainerBatchesRecord = []inplace.Batch{{Timestamp: metav1.NewTime(began), Containers: slices.Compact(moved)}}
		p.Spec.Containers = containers
		apiserver.DefaultRequests(&p.Spec)
		MetadataOf(spec)(p)
		AtRevision(state.Revision)(p)
		text, err := json.Marshal(state)
		if err == nil { // it is: a state always encodes
			Annotation(inplace.StateKey, string(text))(p)
		}
		Gated(lifecycle.InPlaceUpdateReady)(p)
		kubelet.SetCondition(p, lifecycle.InPlaceUpdateReady, corev1.ConditionFalse, began)
		kubelet.SetCondition(p, corev1.PodReady, corev1.ConditionFalse, began)
	}
}

// MetadataOf gives the pod the labels and annotations of the template, as an update in place does.
func MetadataOf(spec rollout.Spec) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		for key, value := range spec.Template.Labels {
			p.Labels = With(p.Labels, key, value)
		}
		for key, value := range spec.Template.Annotations {
			p.Annotations = With(p.Annotations, key, value)
		}
	}
}

// SameResources reports whether b has the limits of a, and requests whatever a requests.
func SameResources(a, b corev1.ResourceRequirements) bool {
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

// Dress gives the pod what the planner of the spec would give it beside the template: readiness gates, open, and the
// state of a pod that has been Normal for long.
func Dress(p *corev1.Pod, spec *rollout.Spec) {
	if UpdatesInPlace(spec) {
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
			Label(key, value)(p)
		}
		for _, name := range hook.Finalizers {
			if !slices.Contains(p.Finalizers, name) {
				Finalizer(name)(p)
			}
		}
	}
}

// RevisionOf is the hash that the pod carries as a label; empty if it carries none.
func RevisionOf(p *corev1.Pod) string { return p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] }
