package harness

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout"
)

// leftAlone reports whether the rules leave the node alone, because it is on its way out of the cluster (M8).
func (r *rest) leftAlone(name string) bool { return leftAlone(&r.spec, r.nodes[name]) }

func (r *rest) anyLeftAlone() bool { return slices.ContainsFunc(r.names, r.leftAlone) }

// sparesNodes reports whether the spec asks for nodes on their way out, and leaves them alone.
func sparesNodes(spec *rollout.Spec) bool {
	options := spec.Strategy.Policy.Outages
	return options != nil && !options.Touch && spec.Strategy.Type != rollout.OnDelete
}

// leftAlone reads M8 off the node, one sign after the other.
func leftAlone(spec *rollout.Spec, node *corev1.Node) bool {
	if !sparesNodes(spec) {
		return false
	}
	options := spec.Strategy.Policy.Outages
	if node.DeletionTimestamp != nil {
		return true
	}
	for _, t := range node.Spec.Taints {
		switch {
		case t.Key == "ToBeDeletedByClusterAutoscaler", t.Key == "karpenter.sh/disrupted",
			t.Key == "node.kubernetes.io/out-of-service",
			slices.Contains(options.Taints, t.Key):
			return true
		}
	}
	for _, c := range node.Status.Conditions {
		says := c.Type == "GracefulNodeShutdownInProgress" || c.Type == "MaintenanceInProgress" ||
			slices.Contains(options.Conditions, string(c.Type))
		if says && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

// drains reads M8 off a node: no update is begun there while it is being drained, or is.
func (r *rest) drains(name string) bool {
	return sparesNodes(&r.spec) && slices.ContainsFunc(r.nodes[name].Status.Conditions, func(c corev1.NodeCondition) bool {
		return (c.Type == "DrainInProgress" || c.Type == "Drained") && c.Status == corev1.ConditionTrue
	})
}

// canRun reports whether the node declares that it can do what is drawn of all that has to be declared: a pod that shares the
// network of its host and has users of its own.
func canRun(node *corev1.Node, spec *corev1.PodSpec) bool {
	ownUsers := spec.HostUsers != nil && !*spec.HostUsers
	return !spec.HostNetwork || !ownUsers || slices.Contains(node.Status.DeclaredFeatures, "UserNamespacesHostNetworkSupport")
}

// maintenance is the condition by which nodes depart in mishaps.
const maintenance = "MaintenanceInProgress"
