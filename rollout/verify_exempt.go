package rollout

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
	for i := range v.plan.Decisions {
		d := &v.plan.Decisions[i]
		node := v.nodeOf[d.Node]
		if node == nil || !d.Exempt || node.exempt {
			continue
		}
		if !v.isolated(node) || !v.isUnavailable(node) && !v.isSurging(node) {
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
	bare := v.count(func(node *verifiedNode) bool {
		return node.outcome == placement.Run && v.isolated(node) &&
			!node.any(func(p *verifiedPod) bool { return p.active() && p.avail && !p.leaving })
	})
	return min(bare, v.limits.maxUnschedulable)
}

// isolated tells whether nothing done to the node would help now (B8): it is unreachable, the scheduler finds no room for its
// pod, or its pod should be gone by now.
func (v *verifier) isolated(node *verifiedNode) bool {
	for _, taint := range node.object.Spec.Taints {
		if taint.Key == corev1.TaintNodeUnreachable {
			return true
		}
	}
	i := slices.IndexFunc(node.object.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
	if i >= 0 && node.object.Status.Conditions[i].Status == corev1.ConditionUnknown {
		return true
	}
	return node.any(func(p *verifiedPod) bool {
		if deleted := p.object.DeletionTimestamp; deleted != nil {
			return !deleted.After(v.snapshot.Now)
		}
		scheduled := conditionOf(p.object, corev1.PodScheduled)
		return scheduled != nil && scheduled.Status == corev1.ConditionFalse && scheduled.Reason == corev1.PodReasonUnschedulable
	})
}
