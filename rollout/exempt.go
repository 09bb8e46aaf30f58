package rollout

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/placement"
)

// Leaving nodes out of the budgets is part of step 7 (B8).

// exempt leaves a node out of the budgets, if nothing can be done there for now and not too many are left out already.
func (r *run) exempt(i int32) {
	budget, d := &r.plan.Budget, r.decision(i)
	if !d.Unavailable && !d.Surging || budget.Exempt >= budget.MaxUnschedulable || !r.isolated(&r.nodes[i]) {
		return
	}
	budget.Exempt++
	d.Exempt, d.Unavailable, d.Surging = true, false, false
}

// exemptMissing is how many run nodes without an available pod are left out when available pods are compared with
// desired (M4).
func (r *run) exemptMissing() int32 {
	limit := r.plan.Budget.MaxUnschedulable
	var count int32
	for i := 0; i < len(r.nodes) && count < limit; i++ {
		if n := &r.nodes[i]; r.outcome(int32(i)) == placement.Run && r.bestAvailable(n) == none && r.isolated(n) {
			count++
		}
	}
	return count
}

// isolated tells whether nothing done to the node would help now: the scheduler finds no room for its pod, its pod should
// be gone and is not, or the node is unreachable.
func (r *run) isolated(n *node) bool {
	if isUnreachable(n.object) {
		return true
	}
	for j := n.first; j < n.end; j++ {
		object := r.pods[j].object
		if deleted := object.DeletionTimestamp; deleted != nil {
			if !r.snapshot.Now.Before(deleted.Time) { // the timestamp has the grace period in it
				return true
			}
			r.wake(deleted.Time)
			continue
		}
		if isUnschedulable(object) {
			return true
		}
	}
	return false
}

// isDown tells whether the node says that it is not ready, or nobody has heard from it.
func isDown(n *corev1.Node) bool {
	for i := range n.Status.Conditions {
		if c := &n.Status.Conditions[i]; c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			return true
		}
	}
	return isUnreachable(n)
}

func isUnreachable(n *corev1.Node) bool {
	for i := range n.Spec.Taints {
		if n.Spec.Taints[i].Key == corev1.TaintNodeUnreachable {
			return true
		}
	}
	for i := range n.Status.Conditions {
		if c := &n.Status.Conditions[i]; c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionUnknown
		}
	}
	return false
}

func isUnschedulable(pod *corev1.Pod) bool {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodScheduled {
			return c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable
		}
	}
	return false
}
