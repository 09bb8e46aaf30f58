package verify

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
)

// backoffKey is what M2 counts by.
type backoffKey struct{ node, revision string }

// checkDeletes is V4, and what V5, V6, V8, V11, V12 and V14 say of one delete. A patch that labels a pod to be deleted when
// its hook lets it go (L2) is judged like its delete.
func (v *verifier) checkDeletes() {
	seen := make(map[types.UID]bool)
	for i := range v.plan.Deletes {
		d := &v.plan.Deletes[i]
		switch pod := v.podOf(d.UID); {
		case pod == nil:
			v.report(14, d.Node, "delete of pod %s with UID %q, which is not in the snapshot", d.Pod, d.UID)
		case seen[d.UID]:
			v.report(14, d.Node, "pod %s is deleted twice", d.Pod)
		case pod.marked:
			v.report(14, d.Node, "delete of pod %s, which is marked for deletion or requested to be", d.Pod)
		default:
			if carries := revisionOf(pod.object); d.Pod != pod.object.Name || d.Node != pod.name || d.Revision != carries {
				v.report(12, d.Node, "delete of pod %q at revision %q, but UID %q is pod %q of node %q at revision %q",
					d.Pod, d.Revision, d.UID, pod.object.Name, pod.name, carries)
			}
			v.checkHook(d, pod)
			v.checkDelete(pod)
		}
		seen[d.UID] = true
	}
	for _, pod := range v.pods {
		if !pod.dismissed {
			continue
		}
		if !v.spec.Lifecycle.PreDelete.Matches(pod.object) {
			v.report(4, pod.name, "L2: patch of pod %s prepares a deletion that no hook holds up; right is to delete it",
				pod.object.Name)
		}
		v.checkDelete(pod)
	}
	v.checkLeaving()
}

// checkHook is V8.
func (v *verifier) checkHook(d *rollout.Delete, pod *pod) {
	switch {
	case v.spec.Lifecycle.PreDelete.Matches(pod.object):
		v.report(8, pod.name, "L2: delete of pod %s, which the preDelete hook holds: %v; right is to label it and to wait",
			pod.object.Name, v.spec.Lifecycle.Pending(pod.object, lifecycle.WaitPreDelete))
	case d.Reason == rollout.ReasonReleased && !pod.leaving:
		v.report(8, pod.name, "L2: delete of pod %s because its hook has released it, but it was not labelled to leave",
			pod.object.Name)
	}
}

// checkDelete judges the delete of an unmarked pod.
func (v *verifier) checkDelete(pod *pod) {
	switch {
	case pod.name == "":
		v.report(4, "", "P7: delete of pod %s, of which no node can be told; right is to leave it alone", pod.object.Name)
	case pod.node == nil && pod.object.Spec.NodeName != "":
		v.report(4, pod.name, "M5: delete of pod %s, bound to a node that is gone; right is to leave it to the pod "+
			"garbage collector", pod.object.Name)
	case pod.node == nil || pod.node.outcome == placement.Leave:
		// M5 and M4 want it; checkLeaving has the exception.
	case pod.leaves() || pod.leaving && pod.failed:
		// L2: it was on its way out. The back-off of a Failed one was kept when it began to leave.
	case pod.terminal:
		v.checkBackoff(pod)
	case v.surplus(pod):
		// M3.
	case pod.current && v.withdrawn(pod):
		// M3: it may find no place beside the outdated one.
	case pod.current:
		v.report(4, pod.name, "delete of pod %s, the best of revision %s, where the node is to end; right is to leave it alone "+
			"(M3)", pod.object.Name, v.goalHash(pod.node))
	case v.superseded(pod):
		// M3, B4.
	default:
		v.checkReplace(pod)
	}
}

// checkReplace judges the delete of an outdated live pod that nothing on the node makes superfluous: only a
// rollout may want it. Whether the budget allows it is V1.
func (v *verifier) checkReplace(pod *pod) {
	node := pod.node
	hold, invariant := v.bar(node)
	switch {
	// Of pods that are not Ready all are to go; the burst may have kept a worse one for the next plan.
	case pod.ready && node.outdatedStays:
		v.report(4, node.name, "M3: delete of pod %s, although a worse outdated one stays; right is the other way round",
			pod.object.Name)
	case node.outcome == placement.Keep:
		v.report(4, node.name, "M4: delete of pod %s on a node that could not get another; right is to leave it running",
			pod.object.Name)
	case hold != rollout.LimitNone:
		v.report(invariant, node.name, "delete of the outdated pod %s begins a held node (%s)", pod.object.Name, hold)
	case v.spec.Strategy.Method == inplace.Only:
		v.report(6, node.name, "I1: delete of the outdated pod %s, although the method is InPlaceOnly; right is to update it in "+
			"place or to hold it", pod.object.Name)
	case !v.surges() && pod.ready && (len(node.requested) > 0 || node.others(pod) > 0):
		v.report(4, node.name, "B3, M1: delete of the Ready pod %s, although another live pod keeps its successor away; "+
			"right is to wait until that one is gone", pod.object.Name)
	case v.surges() && !pod.ready && !v.frees(pod):
		v.report(2, node.name, "B4: delete of the outdated pod %s before there is a new one", pod.object.Name)
	}
}

// frees reports whether a pod that serves nobody goes so that a new one can come, which is not created beside two: what else is
// on the node is on its way out, and waits for the new one.
func (v *verifier) frees(going *pod) bool {
	out := func(p *pod) bool { return p.leaves() || p.leaving && p.goes() }
	return going.node.any(func(p *pod) bool { return p != going && !p.marked && out(p) }) &&
		!going.node.any(func(p *pod) bool { return p != going && p.stays() && !out(p) && !p.goes() })
}

// surplus reports whether M3 prefers another pod of the node: one that is where the node is to end if this one is, else one
// that is not. Whether that one may go for its part is judged by itself.
func (v *verifier) surplus(pod *pod) bool {
	best := pod.node.bestOutdated
	if pod.current {
		best = pod.node.bestCurrent
	}
	return best != nil && betterOf(best, pod) < 0
}

// withdrawn reports whether the scheduler finds no place for a new pod, without maxSurge, that an outdated Ready pod may be in
// (M3).
func (v *verifier) withdrawn(pod *pod) bool {
	old := pod.node.bestOutdated
	refused := conditionOf(pod.object, corev1.PodScheduled)
	return !v.surges() && pod.node.outcome == placement.Run && old != nil && old.ready && !old.marked &&
		refused != nil && refused.Status == corev1.ConditionFalse && refused.Reason == corev1.PodReasonUnschedulable
}

// superseded reports whether an outdated pod has done its duty: the new one is available, or it is there and
// the old one is not Ready (M3).
func (v *verifier) superseded(pod *pod) bool {
	node := pod.node
	if pod.ready {
		return node.currentServes
	}
	return node.currentStays || node.outcome != placement.Keep && node.requestsGoal
}

// betterOf is M3's order of pods, the one to keep first. Of two that serve alike the one that was on its way out goes.
func betterOf(a, b *pod) int {
	return cmp.Or(
		trueFirst(a.serves(), b.serves()),
		trueFirst(a.avail, b.avail),
		trueFirst(a.ready, b.ready),
		trueFirst(a.object.Spec.NodeName != "", b.object.Spec.NodeName != ""),
		trueFirst(!a.patched, !b.patched),
		trueFirst(!a.leaving, !b.leaving),
		a.object.CreationTimestamp.Compare(b.object.CreationTimestamp.Time),
		cmp.Compare(a.object.Name, b.object.Name),
		cmp.Compare(a.object.UID, b.object.UID),
	)
}

func trueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	default:
		return 1
	}
}

// checkLeaving is M4 under surge: an available pod of a node that left by selector, affinity or name goes
// only while enough others are available. Pods count once per node: a second one there, on its way out or
// in, replaces none elsewhere. It is counted over the whole plan, for deletes have no order.
func (v *verifier) checkLeaving() {
	if !v.surges() {
		return
	}
	stay := 0
	var bared []string
	for _, node := range v.nodes {
		switch {
		case node.any(func(p *pod) bool { return p.active() && p.avail && !p.leaving && !p.goes() }):
			stay += node.weight
		case node.outcome == placement.Leave && !node.tainted &&
			node.any(func(p *pod) bool { return p.active() && p.avail && !p.leaving }):
			bared = append(bared, node.name)
		}
	}
	if stay >= v.limits.desired-v.exemptMissing() {
		return
	}
	for _, name := range bared {
		v.report(4, name, "M4: delete of the available pods here leaves %d nodes with an available pod, but %d are to run "+
			"one; right is to wait until they outnumber them", stay, v.limits.desired)
	}
}

// checkBackoff is M2 for a pod that has ended: Failed pods wait, unless outdated on a node that is not
// held, or not the only pod of its kind (M3). All of a node's go together, so one that is due takes the
// others along.
func (v *verifier) checkBackoff(pod *pod) {
	if pod.failed && !v.goesAtOnce(pod) && !pod.node.backoffEnds.IsZero() {
		v.report(11, pod.name, "M2: delete of the Failed pod %s, whose back-off ends at %s", pod.object.Name,
			pod.node.backoffEnds.UTC().Format(time.RFC3339Nano))
	}
}

func (v *verifier) goesAtOnce(pod *pod) bool {
	if !pod.current && v.mayReachGoal(pod.node) {
		return true
	}
	if pod.current {
		return pod.node.currentGoesOn
	}
	return pod.node.outdatedGoesOn
}

// backoffEnd is when the next delete of a Failed pod of this node and revision is due; zero: at any time.
func (v *verifier) backoffEnd(pod *pod) time.Time {
	return v.backoffs[v.backoffKeyOf(pod)]
}

// backoffKeyOf is the node and the revision that a Failed pod counts for: the update revision for whatever is of it, with a
// hash of its own or of a duplicate, or without one (R3, R5).
func (v *verifier) backoffKeyOf(pod *pod) backoffKey {
	if pod.atUpdate {
		return backoffKey{pod.name, v.plan.Status.UpdateRevision}
	}
	return backoffKey{pod.name, pod.hash}
}

// backoffEnds reads a memory (M2): 15 minutes are the most there is to wait, and of two entries for one key the
// later end counts.
func (v *verifier) backoffEnds(memory rollout.Memory) map[backoffKey]time.Time {
	ends := make(map[backoffKey]time.Time)
	if memory.Version != rollout.MemoryVersion {
		return ends
	}
	for _, entry := range memory.Backoffs {
		key := backoffKey{entry.Node, entry.Revision}
		since := entry.Since
		if since.After(v.snapshot.Now) {
			since = v.snapshot.Now // a clock was set back
		}
		if end := since.Add(min(max(entry.Delay, 0), 15*time.Minute)); end.After(ends[key]) {
			ends[key] = end
		}
	}
	return ends
}
