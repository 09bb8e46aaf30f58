package tolerations

import (
	corev1 "k8s.io/api/core/v1"
)

// daemonDefaults holds the tolerations of P1 that every daemon pod has, in the order in which
// kube-controller-manager appends them: revisions and pods compared by content must not differ by order.
var daemonDefaults = [...]corev1.Toleration{
	exists(corev1.TaintNodeNotReady, corev1.TaintEffectNoExecute),
	exists(corev1.TaintNodeUnreachable, corev1.TaintEffectNoExecute),
	exists(corev1.TaintNodeDiskPressure, corev1.TaintEffectNoSchedule),
	exists(corev1.TaintNodeMemoryPressure, corev1.TaintEffectNoSchedule),
	exists(corev1.TaintNodePIDPressure, corev1.TaintEffectNoSchedule),
	exists(corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule),
}

// hostNetworkDefault is the one P1 adds for pods that can start before the node's pod network works.
var hostNetworkDefault = corev1.Toleration{
	Key: corev1.TaintNodeNetworkUnavailable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule,
}

// ForDaemon returns the tolerations a daemon pod with this spec has: those of the spec, in their order, with
// the daemon defaults of P1 added at the end in a fixed order. A default that the spec already has (same key,
// operator, value and effect) is not added again but stays where it is, without tolerationSeconds: a daemon pod
// tolerates a broken node for good, so a finite period is overruled wherever it occurs.
//
// The result is a new slice that shares no memory with spec. A nil spec has no tolerations of its own and no
// host network.
func ForDaemon(spec *corev1.PodSpec) []corev1.Toleration {
	if spec == nil {
		spec = &corev1.PodSpec{}
	}
	merged := make([]corev1.Toleration, len(spec.Tolerations), len(spec.Tolerations)+len(daemonDefaults)+1)
	for i := range spec.Tolerations {
		spec.Tolerations[i].DeepCopyInto(&merged[i])
	}
	for _, toleration := range daemonDefaults {
		merged = withDefault(merged, toleration)
	}
	if spec.HostNetwork {
		merged = withDefault(merged, hostNetworkDefault)
	}
	return merged
}

// withDefault replaces every toleration that equals the default but for its period, as the controller does,
// and appends the default if there is none.
func withDefault(merged []corev1.Toleration, toleration corev1.Toleration) []corev1.Toleration {
	found := false
	for i := range merged {
		if merged[i].MatchToleration(&toleration) {
			merged[i] = toleration
			found = true
		}
	}
	if found {
		return merged
	}
	return append(merged, toleration)
}

func exists(key string, effect corev1.TaintEffect) corev1.Toleration {
	return corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: effect}
}
