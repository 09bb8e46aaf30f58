package verify

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/placement"
)

// observeExempt finds which of the nodes that the plan leaves out of the budgets may be: nothing done there would help now,
// and they would count (B8). Which of several they are is for the plan to say.
func (v *verifier) observeExempt() {
	invariant := 1
	if v.surges() {
		invariant = 2
	}
	count := 0
	for _, d := range v.statements {
		node := d.node
		if node == nil || !d.Exempt || node.exempt {
			continue
		}
		if !node.isolated() || !node.unavailable && !node.surging {
			v.report(invariant, d.Node, "B8: left out of the budgets, although it can be reached, or does not count")
			continue
		}
		if count++; count > v.limits.maxUnschedulable {
			v.report(invariant, d.Node, "B8: left out of the budgets as number %d, right are at most %d", count,
				v.limits.maxUnschedulable)
			continue
		}
		node.exempt = true
	}
}

// exemptMissing is how many nodes without an available pod do not count where available pods are compared with desired (M4).
func (v *verifier) exemptMissing() int {
	bare := v.count(func(node *node) bool {
		return node.outcome == placement.Run && node.isolated() &&
			!node.any(func(p *pod) bool { return p.active() && p.avail && !p.leaving })
	})
	return min(bare, v.limits.maxUnschedulable)
}

// isolated reports whether nothing done to the node would help now (B8): it is unreachable, the scheduler finds no room for its
// pod, or its pod should be gone by now.
func (n *node) isolated() bool {
	return n.cutOff || n.any(func(p *pod) bool { return p.stuck })
}

// isCutOff reports whether the node is unreachable.
func isCutOff(node *corev1.Node) bool {
	for _, taint := range node.Spec.Taints {
		if taint.Key == corev1.TaintNodeUnreachable {
			return true
		}
	}
	i := slices.IndexFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
	return i >= 0 && node.Status.Conditions[i].Status == corev1.ConditionUnknown
}

// isStuck reports whether the scheduler finds no room for the pod, or whether it should be gone by now.
func (v *verifier) isStuck(pod *pod) bool {
	if pod.isDeleted {
		return !pod.gone.After(v.snapshot.Now)
	}
	return pod.unschedulable
}

// isUnschedulable reports whether the scheduler says that it finds no room for the pod.
func isUnschedulable(pod *corev1.Pod) bool {
	scheduled := conditionOf(pod, corev1.PodScheduled)
	return scheduled != nil && scheduled.Status == corev1.ConditionFalse && scheduled.Reason == corev1.PodReasonUnschedulable
}
