package apiserver

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/inplace"
)

// Admit writes to the new pod, which must be the caller's own, what an API server adds to it: name, UID, the instant of its
// creation, the phase, and the requests that are not given. The caller sets the resource version.
func Admit(pod *corev1.Pod, name string, uid types.UID, now time.Time) {
	pod.Name, pod.UID, pod.CreationTimestamp = name, uid, metav1.NewTime(now)
	pod.Status.Phase = corev1.PodPending
	DefaultRequests(&pod.Spec)
}

// DefaultRequests sets requests that are not given to the limits. It writes to the spec.
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

// Delete is the pod after a request to delete it. It does not write to the pod. If the pod is bound or has finalizers, the result
// is a copy that is marked for deletion with its grace period, and shares the rest with the pod, or the pod itself if that is
// marked already. Otherwise the result is nil: no kubelet knows of the pod and no finalizer holds it, so it is gone at once.
func Delete(pod *corev1.Pod, now time.Time) *corev1.Pod {
	if pod.Spec.NodeName == "" && len(pod.Finalizers) == 0 {
		return nil
	}
	if pod.DeletionTimestamp != nil {
		return pod
	}
	marked := new(corev1.Pod)
	*marked = *pod
	Terminate(marked, now, Grace(pod))
	return marked
}

// Terminate marks the pod for deletion: it writes to the pod the grace period in seconds, and the instant at which that ends.
func Terminate(pod *corev1.Pod, now time.Time, grace int64) {
	pod.DeletionTimestamp = new(metav1.NewTime(now.Add(time.Duration(grace) * time.Second)))
	pod.DeletionGracePeriodSeconds = new(grace)
}

// DefaultGrace is the grace period, in seconds, of pods that specify none.
const DefaultGrace = int64(corev1.DefaultTerminationGracePeriodSeconds)

// Grace is the grace period of the pod in seconds.
func Grace(pod *corev1.Pod) int64 {
	if grace := pod.Spec.TerminationGracePeriodSeconds; grace != nil {
		return max(*grace, 0)
	}
	return DefaultGrace
}

// Released reports whether a pod that is marked for deletion is gone at once. That is so if no kubelet knows of it and it has no
// finalizer left.
func Released(pod *corev1.Pod) bool {
	return pod.Spec.NodeName == "" && pod.DeletionTimestamp != nil && len(pod.Finalizers) == 0
}

// UpdatedInPlace reports whether a patch has brought the pod to another revision by an update in place. A pod that was only
// relabelled with the hash of its revision (R3) keeps the annotation of such updates as it was.
func UpdatedInPlace(before, after *corev1.Pod) bool {
	const key = appsv1.DefaultDaemonSetUniqueLabelKey
	return before.Labels[key] != after.Labels[key] && before.Annotations[inplace.StateKey] != after.Annotations[inplace.StateKey]
}
