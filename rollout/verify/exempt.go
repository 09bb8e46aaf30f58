package verify

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
)

// observeExempt finds which of the nodes that the plan leaves out of the budgets may be: they would count, and nothing done there
// would help now (B8), or their outage is not put down to their update (B9, V24). Which of several they are is for the plan to
// say.
func (v *verifier) observeExempt() {
	invariant := 1
	if v.surges() {
		invariant = 2
	}
	unschedulable, out, quarantined := 0, 0, 0
	for _, d := range v.statements {
		node := d.node
		if node == nil || node.exempt {
			continue
		}
		switch d.Exemption {
		case rollout.ExemptionNone:
			continue
		case rollout.ExemptionUnschedulable:
			if !node.isolated() || !node.unavailable && !node.surging {
				v.report(invariant, d.Node, "B8: left out of the budgets, although it can be reached, or does not count")
				continue
			}
			if unschedulable++; unschedulable > v.limits.maxUnschedulable {
				v.report(invariant, d.Node, "B8: left out of the budgets as number %d, right are at most %d", unschedulable,
					v.limits.maxUnschedulable)
				continue
			}
		case rollout.ExemptionOut:
			if !v.excused(node) || !node.unavailable && !node.surging {
				v.report(24, d.Node, "B9: left out of the budgets, although it does not count, or its update may have taken it "+
					"down")
				continue
			}
			if out++; out > v.limits.maxExempt {
				v.report(24, d.Node, "B9: left out of the budgets as number %d, right are at most %d", out, v.limits.maxExempt)
				continue
			}
		case rollout.ExemptionQuarantined:
			if !node.hasFailed || !node.unavailable && !node.surging {
				v.report(25, d.Node, "F4: left out of the budgets in quarantine, although it has not failed, or does not count")
				continue
			}
			if quarantined++; quarantined > v.failed.quarantined {
				v.report(25, d.Node, "F4: left out of the budgets in quarantine as number %d, right are at most %d", quarantined,
					v.failed.quarantined)
				continue
			}
		default:
			v.report(12, d.Node, "decision with an unknown exemption (code %d)", uint8(d.Exemption))
			continue
		}
		node.exempt, node.exemption = true, d.Exemption
	}
}

// exemptMissing is how many nodes without an available pod do not count where available pods are compared with desired (M4).
func (v *verifier) exemptMissing() int {
	out, isolated, quarantined := 0, 0, 0
	for _, node := range v.nodes {
		switch {
		case node.outcome != placement.Run || node.any(func(p *pod) bool { return p.active() && p.avail && !p.leaving }):
		case out < v.limits.maxExempt && v.excused(node):
			out++
		case node.isolated() && isolated < v.limits.maxUnschedulable:
			isolated = min(isolated+node.weight, v.limits.maxUnschedulable)
		case node.hasFailed && quarantined < v.failed.quarantined:
			quarantined++
		}
	}
	return out + isolated + quarantined
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
