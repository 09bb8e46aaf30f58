package kubelet

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
)

// Bind gives the pod its node, as the scheduler does.
func Bind(pod *corev1.Pod, node string, now time.Time) {
	pod.Spec.NodeName = node
	SetCondition(pod, corev1.PodScheduled, corev1.ConditionTrue, now)
}

// Notice sets the pod's StartTime, as a kubelet does when it first sees a pod that is bound to its node: at once if it is up.
func Notice(pod *corev1.Pod, now time.Time) { pod.Status.StartTime = new(metav1.NewTime(now)) }

// Unschedulable sets the condition of a pod for which the scheduler has found no room on its node, with what it says of that.
func Unschedulable(pod *corev1.Pod, message string, now time.Time) {
	condition := SetCondition(pod, corev1.PodScheduled, corev1.ConditionFalse, now)
	condition.Reason, condition.Message = corev1.PodReasonUnschedulable, message
}

// Excluded returns what the scheduler says of a pod that another one of its set keeps off the node; "": that one does not. From
// another node it does so by a claim that only one pod may use, which holds for the whole cluster. Claims are those of which it
// is known how many pods may use them.
func Excluded(pod, other *corev1.Pod, node *corev1.Node, claims []*corev1.PersistentVolumeClaim) string {
	if other.Spec.NodeName == "" || lifecycle.Terminal(other) {
		return ""
	}
	template := func(p *corev1.Pod) *corev1.PodTemplateSpec {
		return &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: p.Labels}, Spec: p.Spec}
	}
	for _, exclusion := range placement.Excludes(template(other), template(pod), pod.Namespace, node, claims) {
		switch {
		case node == nil || other.Spec.NodeName == node.Name:
			return "a pod of the set is there: " + exclusion.String()
		case exclusion.Code == placement.PodClaim:
			return "a pod of the set is on another node: " + exclusion.String()
		}
	}
	return ""
}

// Settled reports whether a kubelet has nothing more to report about a pod that has started: the pod is Running and Ready, and
// its condition has the time since when.
func Settled(pod *corev1.Pod) bool {
	ready := false
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			ready = c.Status == corev1.ConditionTrue && !c.LastTransitionTime.IsZero()
		}
	}
	return ready && lifecycle.Ready(pod) && pod.Status.Phase == corev1.PodRunning
}

// Ready makes the pod Running and Ready. The caller must check first that all its containers are ready ([StartContainers]) and
// its gates open ([GatesOpen]). If the pod does not have the readiness gate of in-place updates, Ready also completes such an
// update. No planner completes that one. OpenKruise does, for pods that were made before it had gates.
func Ready(pod *corev1.Pod, now time.Time) {
	pod.Status.Phase = corev1.PodRunning
	SetCondition(pod, corev1.PodReady, corev1.ConditionTrue, now)
	if !HasGate(pod, lifecycle.InPlaceUpdateReady) &&
		ConditionStatus(pod, lifecycle.InPlaceUpdateReady) == corev1.ConditionFalse {
		SetCondition(pod, lifecycle.InPlaceUpdateReady, corev1.ConditionTrue, now)
	}
}

// Unready makes the pod not Ready, and changes nothing else. It is not Ready since now, or for longer if it was not Ready before:
// since its kubelet has first seen it if it never was.
func Unready(pod *corev1.Pod, now time.Time) {
	switch ConditionStatus(pod, corev1.PodReady) {
	case corev1.ConditionFalse:
		return
	case "":
		if start := pod.Status.StartTime; start != nil {
			now = start.Time
		}
	default: // it was until now
	}
	SetCondition(pod, corev1.PodReady, corev1.ConditionFalse, now)
}

// Fail sets the phase Failed, which is final.
func Fail(pod *corev1.Pod, now time.Time) {
	pod.Status.Phase = corev1.PodFailed
	Unready(pod, now)
}

// ReasonEvicted is the reason in the status of a pod that was evicted.
const ReasonEvicted = "Evicted"

// Evict makes the pod Failed because its kubelet evicted it.
func Evict(pod *corev1.Pod, now time.Time) {
	Fail(pod, now)
	pod.Status.Reason = ReasonEvicted
}
