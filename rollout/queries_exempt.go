package rollout

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/internal/fleet"
	"github.com/daemonplan/daemonplan/rollout/outage"
)

// What several steps ask about nodes that are left out of the budgets (B8, B9, F4). None of it writes anything.

// spare is how many more nodes may be left out of the budgets: by B8 (maxUnschedulable), B9 (outages) and F4 (quarantine).
type spare struct{ unschedulable, out, quarantined int32 }

func (s spare) none() bool { return s.unschedulable <= 0 && s.out <= 0 && s.quarantined <= 0 }

// without returns what is left when the rule has left out one node more.
func (s spare) without(by Exemption) spare {
	switch by {
	case ExemptionUnschedulable:
		s.unschedulable--
	case ExemptionOut:
		s.out--
	case ExemptionQuarantined:
		s.quarantined--
	default: // no place is taken
	}
	return s
}

func (r *run) newSpare() spare {
	if r.spec.Strategy.Type != RollingUpdate {
		return spare{}
	}
	desired := r.plan.Budget.Desired
	return spare{
		unschedulable: r.unschedulable.RoundUp(desired), out: r.maxExempt.RoundUp(desired), quarantined: r.maxQuarantined,
	}
}

// exemption returns the rule that leaves a node which would count out of the budgets, if there is one of which a place is left.
// A node that B9 leaves out takes no place of B8. changes is when the clock may change that; zero: never.
func (r *run) exemption(i int32, left spare) (by Exemption, changes time.Time) {
	if left.out > 0 {
		var excused bool
		if excused, changes = r.excused(i); excused {
			return ExemptionOut, changes
		}
	}
	if left.unschedulable > 0 {
		isolated, at := r.isolated(&r.nodes[i])
		changes = earlier(changes, at)
		if isolated {
			return ExemptionUnschedulable, changes
		}
	}
	if left.quarantined > 0 && r.nodes[i].failed {
		return ExemptionQuarantined, changes
	}
	return ExemptionNone, changes
}

// exemptNow is exemption for a node that counts as the plan stands now; any other is not left out.
func (r *run) exemptNow(i int32, left spare) (by Exemption, changes time.Time) {
	if unavailable, surging := r.budgetUse(i); !unavailable && !surging {
		return ExemptionNone, changes
	}
	return r.exemption(i, left)
}

// excused reports whether something took the node down that is not its update (B9): it is out, and the evidence says so, or its
// trouble is inherited. changes is when the clock may change that; zero: never.
func (r *run) excused(i int32) (excused bool, changes time.Time) {
	if out := r.proving.Of(r.nodes[i].Object); out.Out {
		return r.isInnocent(i, out, byGivenUp)
	}
	return r.inheritsTrouble(i), changes
}

// accused says what may have taken a node down.
type accused bool

const (
	// byUpdate is the update revision, as far as it is seen on the node: that is what it is blamed for (F1).
	byUpdate accused = false
	// byGivenUp are also requests that are not seen yet, and revisions that were given up: where one of them is what a node has
	// to get rid of, its trouble is theirs. That is asked before a node is left out of the budgets (B9).
	byGivenUp accused = true
)

// isInnocent reports whether a node that is out went down before the update to one of the accused began, or long enough after it.
// changes is when the clock may change that; zero: never.
func (r *run) isInnocent(i int32, out outage.Outage, by accused) (innocent bool, changes time.Time) {
	n, now := &r.nodes[i], r.snapshot.Now
	update, requested, unseen := r.updateOf(i, by)
	if by == byUpdate {
		update.Accuse()
	}
	revision := r.revision.Update.Existing
	if revision != nil {
		update.NotBefore(revision.CreationTimestamp.Time)
	}
	if begun, known := r.begunAt(n.Name); n.first == n.end && !update.SomeBegan() {
		switch {
		case !begun.IsZero():
			update.Requested(begun) // its outdated pod is gone, and the new one is not seen
		case !known && revision != nil:
			update.Requested(time.Time{}) // nobody knows what was there
		}
	}
	if unseen && by == byGivenUp { // that keeps nobody out of the budgets, and is no evidence against anybody either (P-B)
		update.Unseen()
	}
	if requested {
		update.Requested(now)
		if tie := out.Since.Truncate(time.Second).Add(time.Second); tie.After(now) {
			changes = tie // an update that is requested then begins later than the outage
		}
	}
	return r.proving.Excuses(out, &update), changes
}

// updateOf returns what the node's pods say of its update, whether the deletion of an outdated one was requested and is not seen
// yet, and whether a request is not seen that may have brought the new revision. The pods of all that are accused count as new
// ones.
func (r *run) updateOf(i int32, by accused) (update outage.Update, requested, unseen bool) {
	n := &r.nodes[i]
	unseen = n.expects == expectsGoalPod
	look := func(p *pod) {
		if r.hasGoalRevision(n, p) || r.isUpdate(p) || bool(by) && r.hasFailed(r.revisionOf(p)) {
			update.NewPod(p.Object)
			return
		}
		update.OutdatedPod(p.Object)
		requested = requested || p.traits.hasAny(marked) && p.Object.DeletionTimestamp == nil
		unseen = unseen || p.traits.hasAny(patchInFlight)
	}
	for j := n.first; j < n.end; j++ {
		look(&r.pods[j])
	}
	ignored := r.ignoredOn(i)
	for j := range ignored {
		look(&ignored[j])
	}
	return update, requested, unseen
}

// begunAt returns when the memory says that the update of a node without pods began; zero: it does not. known reports whether the
// memory is of the whole rollout.
func (r *run) begunAt(node string) (at time.Time, known bool) {
	for _, begun := range r.record.Begun {
		if begun.Node == node {
			return begun.At, true
		}
	}
	return time.Time{}, !r.record.Lost
}

// inheritsTrouble reports whether a pod is there that is not available, and neither has this rollout begun the node nor may it
// begin it now: its part is not open, partition, selector or T9 holds it, or the trial is elsewhere. Nothing that the rollout
// does mends it.
func (r *run) inheritsTrouble(i int32) bool {
	n := &r.nodes[i]
	closed := n.closed == LimitStage || n.closed == LimitSoak || n.closed == LimitApproval
	held := n.heldBy == LimitPartition || n.heldBy == LimitNodeSelector || n.heldBy == LimitUndeclared
	elsewhere := n.goal == toStable && (r.trial.Phase == canary.Running || r.trial.Phase == canary.Paused)
	if r.outcome(i) != placement.Run || n.first == n.end || !closed && !held && !elsewhere || r.bestAvailable(n) != none {
		return false
	}
	update, requested, unseen := r.updateOf(i, byGivenUp)
	return !update.SomeBegan() && !requested && !unseen
}

// isDeparting reports whether M8 leaves the node alone.
func (r *run) isDeparting(n *fleet.Node) bool {
	return r.sparesDeparting() && r.outages.Of(n.Object).Departing
}

// isolated reports whether nothing that is done to the node would help now (B8): it is out of reach, or the scheduler finds no
// room for its pod. changes is when the clock may change that; zero: never.
func (r *run) isolated(n *node) (isolated bool, changes time.Time) {
	isolated, changes = r.outOfReach(n)
	for j := n.first; j < n.end && !isolated; j++ {
		object := r.pods[j].Object
		isolated = object.DeletionTimestamp == nil && isUnschedulable(object)
	}
	return isolated, changes
}

// outOfReach reports whether the node is unreachable, or the deletion of one of its pods is overdue. changes is when the first
// deletion becomes overdue; zero: none will.
func (r *run) outOfReach(n *node) (out bool, changes time.Time) {
	if isUnreachable(n.Object) {
		return true, changes
	}
	for j := n.first; j < n.end; j++ {
		deleted := r.pods[j].Object.DeletionTimestamp
		switch {
		case deleted == nil:
		case !r.snapshot.Now.Before(deleted.Time): // the deletion timestamp includes the grace period
			return true, changes
		default:
			changes = earlier(changes, deleted.Time)
		}
	}
	return false, changes
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
