package rollout

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/placement"
)

// Leaving nodes out of the budgets is part of step 7 (B8: maxUnschedulable).

// exempt leaves a node out of the budgets, if nothing that is done there would help now and fewer than maxUnschedulable nodes
// are left out so far.
func (r *run) exempt(i int32) {
	budget, d := &r.plan.Budget, r.decision(i)
	if !d.Unavailable && !d.Surging || budget.Exempt >= budget.MaxUnschedulable {
		return
	}
	isolated, changes := r.isolated(&r.nodes[i])
	r.wake(changes)
	if !isolated {
		return
	}
	budget.Exempt++
	d.Exempt, d.Unavailable, d.Surging = true, false, false
}

// exemptMissing counts the run nodes without an available pod that are left out when available pods are compared with desired
// (M4). changes is when the clock may change the count; zero: never.
func (r *run) exemptMissing() (count int32, changes time.Time) {
	limit := r.plan.Budget.MaxUnschedulable
	for i := 0; i < len(r.nodes) && count < limit; i++ {
		n := &r.nodes[i]
		if r.outcome(int32(i)) != placement.Run || r.bestAvailable(n) != none {
			continue
		}
		isolated, at := r.isolated(n)
		changes = earlier(changes, at)
		if isolated {
			count++
		}
	}
	return count, changes
}

// isolated reports whether nothing that is done to the node would help now (B8): the scheduler finds no room for its pod, the
// deletion of its pod is overdue, or the node is unreachable. changes is when the first deletion of one of its pods becomes
// overdue; zero: none will.
func (r *run) isolated(n *node) (isolated bool, changes time.Time) {
	if isUnreachable(n.Object) {
		return true, changes
	}
	for j := n.first; j < n.end; j++ {
		object := r.pods[j].Object
		if deleted := object.DeletionTimestamp; deleted != nil {
			if !r.snapshot.Now.Before(deleted.Time) { // the deletion timestamp includes the grace period
				return true, changes
			}
			changes = earlier(changes, deleted.Time)
			continue
		}
		if isUnschedulable(object) {
			return true, changes
		}
	}
	return false, changes
}

// earlier returns the earlier of two instants; the zero time is later than any other.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// isDown reports whether the node's Ready condition is there and not True, or the node is unreachable.
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
