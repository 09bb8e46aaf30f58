package judge

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/outage"
)

// policy in force: OnDelete uses none (T5).
func (v *view) policy() rollout.Policy {
	if v.spec.Strategy.Type == rollout.OnDelete {
		return rollout.Policy{}
	}
	return v.spec.Strategy.Policy
}

// signs by which a node departs, whatever the policy says (M8).
var (
	departingTaints = []string{
		"ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted", "node.kubernetes.io/out-of-service",
	}
	departingConditions = []string{"GracefulNodeShutdownInProgress", "MaintenanceInProgress"}
)

// judgeOut takes down whether the node is out and since when, and whether it is to be left alone (B9, M8).
func (v *view) judgeOut(n *seenNode) {
	options := v.policy().Outages
	if options == nil { // what takes nodes down is evidence all the same (P-B)
		options = &outage.Options{Touch: true}
	}
	var departs, down []time.Time // since when, by each sign
	if n.DeletionTimestamp != nil {
		departs = append(departs, asked(n.DeletionTimestamp.Time, n.DeletionGracePeriodSeconds))
	}
	for _, taint := range n.Spec.Taints {
		if slices.Contains(departingTaints, taint.Key) || slices.Contains(options.Taints, taint.Key) {
			since := time.Time{}
			if taint.TimeAdded != nil {
				since = taint.TimeAdded.Time
			}
			departs = append(departs, since)
		}
	}
	ready := false
	for _, c := range n.Status.Conditions {
		since, kind := c.LastTransitionTime.Time, string(c.Type)
		switch {
		case kind == "Ready" && c.Status == corev1.ConditionTrue:
			ready = true
		case kind == "Ready":
			down = append(down, since)
		case c.Status != corev1.ConditionTrue:
		case slices.Contains(departingConditions, kind), slices.Contains(options.Conditions, kind):
			departs = append(departs, since)
		}
	}
	n.out = !ready || len(departs) > 0
	n.departs = len(departs) > 0 && !options.Touch
	for _, since := range append(departs, down...) {
		if !since.IsZero() && (n.since.IsZero() || since.Before(n.since)) {
			n.since = since
		}
	}
}

// asked is when a deletion was asked for: the mark is at the end of the grace period.
func asked(mark time.Time, grace *int64) time.Time {
	if grace == nil {
		return mark
	}
	return mark.Add(-time.Duration(*grace) * time.Second)
}

// counting is how many of the nodes count against a budget, and how many do not, if as many as may be are left out: those that
// are out and whose update may not have caused it (B9), and those that B8 names. Which of too many are left out goes by name. The
// judge takes those that suit the controller best.
func (v *view) counting(nodes []*seenNode) (count, left int) {
	left = v.leftOut(nodes, v.quarantine())
	return len(nodes) - left, left
}

// leftOut is how many of the nodes are left out at most, if so many failed ones are (F4).
func (v *view) leftOut(nodes []*seenNode, quarantine int) int {
	const out, stuck, failed = 1, 2, 4
	var reasons [8]int // how many nodes there are with these reasons
	for _, n := range nodes {
		of := 0
		if v.excused(n) {
			of |= out
		}
		if v.isolated(n) {
			of |= stuck
		}
		if n.first(v.isOfUpdate) != nil || slices.Contains(n.asked, v.update) || len(n.pods) == 0 {
			of |= failed
		}
		reasons[of]++
	}
	mostOut, mostStuck := v.mayBeLeftOut()
	left := len(nodes)
	for taken := range 8 { // whose places are all used
		count := 0
		for bit, most := range map[int]int{out: mostOut, stuck: mostStuck, failed: quarantine} {
			if taken&bit != 0 {
				count += most
			}
		}
		for of, n := range reasons {
			if of&^taken != 0 {
				count += n
			}
		}
		left = min(left, count)
	}
	return left
}

// isOfUpdate reports whether the pod is of the update revision, so that it may have failed on the pod's node.
func (v *view) isOfUpdate(p *seenPod) bool { return v.update != "" && hashOf(p.Pod) == v.update }

// mayBeLeftOut is how many nodes may be left out by B9, and by B8.
func (v *view) mayBeLeftOut() (out, stuck int) {
	if options := v.policy().Outages; options != nil {
		out = rounded(options.MaxExempt, v.desired, true)
	}
	return out, rounded(v.spec.Strategy.MaxUnschedulable, v.desired, true)
}

// isolated reports whether B8 names the node: its pod finds no room, or should be gone and is not, or the node is unreachable.
func (v *view) isolated(n *seenNode) bool {
	return unreachable(n.Node) || n.first(func(p *seenPod) bool { return stranded(p.Pod, v.now) }) != nil
}

// excused reports whether the node is out, and what the controller saw is evidence that its update has not caused it (B9),
// for one of the revisions that it may be to end at.
func (v *view) excused(n *seenNode) bool {
	if v.mayInherit(n) {
		return true
	}
	return n.out && slices.ContainsFunc(v.goals(), func(goal string) bool { return v.excusedFor(n, goal) })
}

// mayInherit reports whether nothing that this rollout did may be in the way on the node (B9): something may keep it from being
// begun, and none of its pods is available, or of the revision of the spec, or on its way out.
func (v *view) mayInherit(n *seenNode) bool {
	s := &v.spec.Strategy
	waits := len(v.policy().Stages) > 0 || rounded(s.Partition, len(v.nodes), true) > 0 || s.NodeSelector != nil || v.trial
	touched := func(p *seenPod) bool {
		of := v.revisions[hashOf(p.Pod)]
		return p.available || p.asked || p.requested || !live(p.Pod) || hashOf(p.Pod) == v.update || of != nil && of.failed
	}
	return waits && v.policy().Outages != nil && n.verdict == runs && len(n.pods) > 0 && len(n.asked) == 0 &&
		n.first(touched) == nil
}

// goals are the revisions at one of which nodes may be to end; "" stands for one that no pod is at.
func (v *view) goals() []string {
	update := v.revisions[v.update]
	certain := update != nil && !v.open && !update.failed && !v.spec.Strategy.HoldRevision
	if certain && !v.overrides() {
		return []string{v.update}
	}
	all := []string{v.update, ""} // what is at the right revision may be outdated for its resources alone (P8)
	for hash := range v.revisions {
		if !certain {
			all = append(all, hash)
		}
	}
	return all
}

// excusedFor is excused for a node that is to end at the revision.
func (v *view) excusedFor(n *seenNode, goal string) bool {
	var begun []time.Time // when the update of the node began, by each sign of it; zero: nobody knows
	var fresh []*seenPod
	started, hooked := false, false
	if slices.Contains(n.asked, goal) {
		begun = append(begun, time.Time{})
	}
	for _, p := range n.pods {
		if hashOf(p.Pod) == goal && !ofPredecessor(p.Pod, &v.spec) {
			at, is := brought(p.Pod)
			hooked = hooked || inHook(p.Pod)
			fresh, begun, started = append(fresh, p), append(begun, at), started || is
			continue
		}
		if inHook(p.Pod) {
			hooked = hooked || live(p.Pod) // an outdated one that goes was let go
			begun = append(begun, hookSince(p.Pod))
		}
		if !live(p.Pod) {
			begun = append(begun, asked(p.DeletionTimestamp.Time, p.DeletionGracePeriodSeconds))
		}
		switch {
		case p.asked:
			begun = append(begun, v.now)
		case p.requested: // a patch: it may be at the new revision by now
			begun = append(begun, time.Time{})
		}
	}
	if len(begun) == 0 {
		return true
	}
	if n.since.IsZero() {
		return false
	}
	unseen := slices.Contains(n.asked, goal) || n.first(func(p *seenPod) bool { return p.requested && !p.asked }) != nil
	if of := v.revisions[v.update]; of != nil && !started && !unseen && n.since.Unix() < of.created.Unix() {
		return true // nothing began before there was a revision
	}
	if before := n.since.Unix() < slices.MinFunc(begun, time.Time.Compare).Unix(); before && !started {
		return true
	}
	after := time.Duration(0)
	if options := v.policy().Outages; options != nil {
		after = options.ProvenAfter
	}
	if after == 0 || len(fresh) != 1 || hooked {
		return false
	}
	ran := ranSince(fresh[0].Pod)
	return !ran.IsZero() && !ran.Add(after).After(n.since)
}

// inHook reports whether a hook holds the pod, or it was made unready for an update in place that has not changed it yet.
func inHook(p *corev1.Pod) bool {
	if !normal(p) {
		return true
	}
	updated, err := inplace.StateOf(p)
	if err != nil || !is(p, lifecycle.InPlaceUpdateReady, corev1.ConditionFalse) {
		return false
	}
	since := condition(p, lifecycle.InPlaceUpdateReady).LastTransitionTime.Time
	if updated == nil {
		return p.Annotations[inplace.GraceKey] == ""
	}
	later := func(b inplace.Batch) bool { return !since.After(b.Timestamp.Time) }
	return since.After(updated.UpdateTimestamp.Time) && !slices.ContainsFunc(updated.ContainerBatchesRecord, later)
}

// hookSince is since when it does; zero: nobody knows.
func hookSince(p *corev1.Pod) time.Time {
	if !normal(p) {
		at, err := time.Parse(time.RFC3339, p.Annotations[lifecycle.TimestampAnnotation])
		if err != nil {
			return time.Time{}
		}
		return at
	}
	return condition(p, lifecycle.InPlaceUpdateReady).LastTransitionTime.Time
}

// brought is when the pod came to its revision, and whether a kubelet has started it there.
func brought(p *corev1.Pod) (at time.Time, started bool) {
	updated, err := inplace.StateOf(p)
	switch {
	case err != nil:
		return time.Time{}, true
	case updated == nil:
		return p.CreationTimestamp.Time, p.Status.StartTime != nil
	}
	at = updated.UpdateTimestamp.Time
	for _, s := range p.Status.ContainerStatuses {
		began := []time.Time{containerBegan(s.State), containerBegan(s.LastTerminationState)}
		started = started || slices.ContainsFunc(began, func(b time.Time) bool { return !b.IsZero() && b.Unix() >= at.Unix() })
	}
	return at, started || settled(p)
}

// ranSince is since when all containers run what the pod says; zero: one does not, or nobody knows.
func ranSince(p *corev1.Pod) time.Time {
	updated, err := inplace.StateOf(p)
	if err != nil {
		return time.Time{}
	}
	var last time.Time
	if updated != nil {
		last = updated.UpdateTimestamp.Time
	}
	for _, c := range p.Spec.Containers {
		i := slices.IndexFunc(p.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Name == c.Name })
		if i < 0 {
			return time.Time{}
		}
		began := containerBegan(p.Status.ContainerStatuses[i].State)
		if began.IsZero() {
			return time.Time{}
		}
		if began.After(last) {
			last = began
		}
	}
	return last
}

func containerBegan(s corev1.ContainerState) time.Time {
	switch {
	case s.Running != nil:
		return s.Running.StartedAt.Time
	case s.Terminated != nil:
		return s.Terminated.StartedAt.Time
	}
	return time.Time{}
}

// judgeDeparting: nothing is created, deleted or begun where the controller saw the node departing (M8, V26).
func (j *Judge) judgeDeparting(w *write, what string) {
	if w.node.departs {
		j.find(Departing, w.node.Name, w.pod, "it was %s while the node departs", what)
	}
}
