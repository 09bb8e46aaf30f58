package inplace

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// resizable are the resources that can change in a running pod, in the order in which changes are listed.
var resizable = [...]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}

func isResizable(name corev1.ResourceName) bool {
	return name == resizable[0] || name == resizable[1]
}

// qosClass returns the QoS class of a pod. Kubernetes fixes it at admission, where requests that are not given have
// become equal to the limits. Resources of the pod as a whole, if there are any, decide alone.
func qosClass(spec *corev1.PodSpec) corev1.PodQOSClass {
	if hasWhole(spec) {
		return qosOf([]corev1.Container{{Resources: wholeOf(spec, *spec.Resources)}})
	}
	all := make([]corev1.Container, 0, len(spec.InitContainers)+len(spec.Containers))
	all = append(append(all, spec.InitContainers...), spec.Containers...)
	return qosOf(all)
}

func qosOf(containers []corev1.Container) corev1.PodQOSClass {
	guaranteed, bestEffort := true, true
	for i := range containers {
		for _, name := range resizable {
			limit := containers[i].Resources.Limits[name]
			request, given := containers[i].Resources.Requests[name]
			if !given {
				request = limit
			}
			if positive(limit) || positive(request) {
				bestEffort = false
			}
			if !positive(limit) || limit.Cmp(request) != 0 {
				guaranteed = false
			}
		}
	}
	switch {
	case bestEffort:
		return corev1.PodQOSBestEffort
	case guaranteed:
		return corev1.PodQOSGuaranteed
	}
	return corev1.PodQOSBurstable
}

func positive(quantity resource.Quantity) bool {
	return quantity.Sign() > 0
}
