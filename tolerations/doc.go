// Package tolerations answers two questions about daemon pods: which tolerations they have, and whether one covers a
// taint of a node.
//
// A daemon pod has the tolerations of its template and a fixed set of defaults, so that it starts on nodes
// that are not ready yet and stays on nodes that break:
//
//	pod.Spec.Tolerations = tolerations.ForDaemon(&template.Spec)
//	covered := tolerations.Tolerates(&pod.Spec.Tolerations[0], &node.Spec.Taints[0])
//
// Whether a node's taints keep a pod away, and which does so first, is a verdict of package placement.
//
// # Contract
//
// Every function is a function of its arguments. Inputs are neither written nor retained, results of
// ForDaemon share no memory with them, and nil arguments are answered, not refused.
//
// # Guarantees
//
// The defaults are rule P1: not-ready and unreachable with NoExecute; disk-pressure, memory-pressure,
// pid-pressure and unschedulable with NoSchedule; for pods on the host network network-unavailable with
// NoSchedule. All have the prefix node.kubernetes.io/, operator Exists and no period. ForDaemon adds them
// in the order of the Kubernetes DaemonSet controller v1.37.2 and is idempotent: its result, put into the
// spec, gives the same result.
//
// # Differences from the controllers
//
// Kubernetes v1.37.2 and OpenKruise Advanced DaemonSet: none. A not-ready:NoSchedule taint is tolerated by
// neither them nor this package unless the template says so. The operators Lt and Gt, behind a feature gate
// that is off by default, cover nothing.
//
// The Datadog ExtendedDaemonSet tolerates network-unavailable for every pod; P1 does so for pods on the host
// network only, because any other pod cannot start before its node's network works.
package tolerations
