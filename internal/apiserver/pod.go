package apiserver

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/inplace"
)

// Admit writes to the new pod, which is the caller's own, what an API server adds to it: name, UID, the instant of its
// creation, the phase, and the requests that are not given. The resource version is the caller's to set.
func Admit(pod *corev1.Pod, name string, uid types.UID, now time.Time) {
	pod.Name, pod.UID, pod.CreationTimestamp = name, uid, metav1.NewTime(now)
	pod.Status.Phase = corev1.PodPending
	DefaultRequests(&pod.Spec)
}

// DefaultRequests sets the requests that are not given to the limits, in the spec itself.
func DefaultRequests(spec *corev1.PodSpec) {
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			resources := &containers[i].Resources
			for name, limit := range resources.Limits {
				if _, given := resources.Requests[name]; given {
					continue
				}
				if resources.Requests == nil {
					resources.Requests = corev1.ResourceList{}
				}
				resources.Requests[name] = limit.DeepCopy()
			}
		}
	}
}

// Delete is the pod after a request to delete it, which does not write to it: marked, with its grace period, if it is
// bound or has finalizers. It is the pod itself if that is marked already, and nil if no kubelet knows of it and nothing
// holds it: then it is gone at once.
func Delete(pod *corev1.Pod, now time.Time) *corev1.Pod {
	if pod.Spec.NodeName == "" && len(pod.Finalizers) == 0 {
		return nil
	}
	if pod.DeletionTimestamp != nil {
		return pod
	}
	marked := pod.DeepCopy()
	Terminate(marked, now, Grace(pod))
	return marked
}

// Terminate marks the pod itself for deletion at the given instant, with a grace period in seconds after it.
func Terminate(pod *corev1.Pod, now time.Time, grace int64) {
	pod.DeletionTimestamp = new(metav1.NewTime(now.Add(time.Duration(grace) * time.Second)))
	pod.DeletionGracePeriodSeconds = new(grace)
}

// DefaultGrace is the grace period, in seconds, of pods that name none.
const DefaultGrace = int64(corev1.DefaultTerminationGracePeriodSeconds)

// Grace is the grace period of the pod in seconds.
func Grace(pod *corev1.Pod) int64 {
	if grace := pod.Spec.TerminationGracePeriodSeconds; grace != nil {
		return max(*grace, 0)
	}
	return DefaultGrace
}

// Released reports whether a pod on its way out is gone at once, because it waited for nothing but its finalizers: no
// kubelet knows of it, and none is left.
func Released(pod *corev1.Pod) bool {
	return pod.Spec.NodeName == "" && pod.DeletionTimestamp != nil && len(pod.Finalizers) == 0
}

// UpdatedInPlace reports whether a patch has brought the pod to another revision in place, not merely relabelled it (R3):
// the annotation of such updates changed too.
func UpdatedInPlace(before, after *corev1.Pod) bool {
	const key = appsv1.DefaultDaemonSetUniqueLabelKey
	return before.Labels[key] != after.Labels[key] && before.Annotations[inplace.StateKey] != after.Annotations[inplace.StateKey]
}
