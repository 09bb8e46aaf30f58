package kubelet

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/lifecycle"
)

// Bind gives the pod its node, as the scheduler does, and lets the kubelet there take notice of it (StartTime) at once.
func Bind(pod *corev1.Pod, node string, now time.Time) {
	pod.Spec.NodeName = node
	SetCondition(pod, corev1.PodScheduled, corev1.ConditionTrue, now)
	pod.Status.StartTime = new(metav1.NewTime(now))
}

// Unschedulable makes the pod one for which the scheduler has found no room on its node.
func Unschedulable(pod *corev1.Pod, now time.Time) {
	SetCondition(pod, corev1.PodScheduled, corev1.ConditionFalse, now).Reason = corev1.PodReasonUnschedulable
}

// Settled reports whether a kubelet has nothing to report about a pod that came up: it is Running and Ready, and says since
// when.
func Settled(pod *corev1.Pod) bool {
	ready := false
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			ready = c.Status == corev1.ConditionTrue && !c.LastTransitionTime.IsZero()
		}
	}
	return ready && lifecycle.Ready(pod) && pod.Status.Phase == corev1.PodRunning
}

// Ready makes the pod Running and Ready, which is for the caller to ask only when all its containers are ready
// ([StartContainers]) and its gates open ([GatesOpen]). It completes an in-place update of a pod without the readiness
// gate as well, which no planner completes: Kruise does, of pods that were made before it had gates.
func Ready(pod *corev1.Pod, now time.Time) {
	pod.Status.Phase = corev1.PodRunning
	SetCondition(pod, corev1.PodReady, corev1.ConditionTrue, now)
	if !HasGate(pod, lifecycle.InPlaceUpdateReady) &&
		ConditionStatus(pod, lifecycle.InPlaceUpdateReady) == corev1.ConditionFalse {
		SetCondition(pod, lifecycle.InPlaceUpdateReady, corev1.ConditionTrue, now)
	}
}

// Unready makes the pod not Ready, and nothing else.
func Unready(pod *corev1.Pod, now time.Time) {
	SetCondition(pod, corev1.PodReady, corev1.ConditionFalse, now)
}

// Fail makes the pod one that has Failed for good.
func Fail(pod *corev1.Pod, now time.Time) {
	pod.Status.Phase = corev1.PodFailed
	Unready(pod, now)
}

// ReasonEvicted is why an evicted pod has Failed.
const ReasonEvicted = "Evicted"

// Evict makes the pod one that has Failed because its kubelet threw it out.
func Evict(pod *corev1.Pod, now time.Time) {
	Fail(pod, now)
	pod.Status.Reason = ReasonEvicted
}
