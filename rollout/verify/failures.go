package verify

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/failure"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/status"
)

// failed is what is found here of the nodes that the update revision has failed on (F rules).
type failed struct {
	// options of the policy, with their defaults; nil: failures are not looked at.
	options *failure.Options
	// wasGivenUp: an earlier plan gave the update revision up. retries: it is to be rolled out once more. givenUp: it stays so.
	wasGivenUp, retries, givenUp bool
	// nodes have failed, and are not left out by B8 or B9; most of them may, and quarantined is how many are left out.
	nodes, most, quarantined int
	// givesUp: this plan is to give the revision up.
	givesUp bool
}

// observeGivenUp reads off the mark and the memory whether the update revision was given up (F3).
func (v *verifier) observeGivenUp() {
	f := &v.failed
	*f = failed{}
	if options := v.spec.Strategy.Policy.Failures; options != nil && v.spec.Strategy.Type == rollout.RollingUpdate {
		f.options = new(options.Default())
	}
	if f.options == nil || v.history.completed {
		return
	}
	record := v.remembered.Rollout
	f.wasGivenUp = v.isMarkedGivenUp() || record.Revision == v.plan.Status.UpdateRevision && record.GaveUp != ""
	if !f.wasGivenUp {
		return
	}
	name, _, _ := strings.Cut(f.options.Retry, "/")
	obeyed := v.history.update != nil && v.history.update.Annotations[history.RetriedAnnotation] == f.options.Retry
	f.retries = !obeyed && (name == canary.Any || v.namesUpdate(name))
	f.givenUp = !f.retries
}

func (v *verifier) isMarkedGivenUp() bool {
	return v.history.update != nil && v.history.update.Annotations[history.FailedAnnotation] == "TooManyFailures"
}

// watches reports whether failed nodes are counted: until the revision was rolled out everywhere, but not while it is tried.
func (v *verifier) watches() bool { return v.failed.options != nil && v.followsParts() }

// observeFailed finds which nodes have failed, whoever leaves them out (F1).
func (v *verifier) observeFailed() {
	if !v.watches() {
		return
	}
	retried := v.retriedAt()
	for _, node := range v.nodes {
		if node.out && node.outcome != placement.Leave && !v.failedBefore(node) {
			innocent, tie := v.innocence(node, false)
			node.failsAt = tie
			if innocent { // whoever may be left out of budgets (P-B)
				continue
			}
		}
		if v.limits.maxUnschedulable > 0 && node.isolated() { // B8
			continue
		}
		var pods []*corev1.Pod
		serves, restarts := false, false
		for _, p := range node.pods {
			if node.outcome != placement.Leave && p.live() && p.current && p.ran(node) {
				serves = serves || p.settled() && !p.terminal
				restarts = restarts || v.restartsTooOften(p.object) && !judgedBefore(p.object, retried) &&
					v.restarted(p.object, node.backSince()) > *v.failed.options.MaxRestarts
				pods = append(pods, p.object)
			}
		}
		if restarts {
			node.hasFailed = true
			continue
		}
		before, series := v.seriesOf(node, v.plan.Status.UpdateRevision)
		if serves || node.outcome == placement.Leave || len(pods) == 0 && (!series || node.outcome == placement.Keep) {
			continue
		}
		var pod *corev1.Pod // the oldest, if none stays
		for _, p := range pods {
			older := func() int { return p.CreationTimestamp.Compare(pod.CreationTimestamp.Time) }
			if pod == nil || cmp.Or(older(), strings.Compare(p.Name, pod.Name)) < 0 {
				pod = p
			}
		}
		if best := node.bestCurrent; best != nil && best.ran(node) {
			pod = best.object
		}
		node.failsAt = v.failsAt(pod, before, v.failed.options, retried, node.startedSince(pod), node.backSince())
		node.hasFailed = !node.failsAt.IsZero() && !node.failsAt.After(v.snapshot.Now)
	}
}

// failedBefore reports whether the pod of the update revision on the node was in trouble before the node was, so that the outage
// is not the cause.
func (v *verifier) failedBefore(node *node) bool {
	var pod *pod
	for _, p := range node.pods {
		if !p.live() || !p.current || !p.ran(node) {
			continue
		}
		if p.settled() && !p.terminal {
			return false
		}
		if pod == nil || cmp.Or(p.object.CreationTimestamp.Compare(pod.object.CreationTimestamp.Time),
			strings.Compare(p.object.Name, pod.object.Name)) < 0 {
			pod = p
		}
	}
	if best := node.bestCurrent; best != nil && best.ran(node) {
		pod = best
	}
	if pod == nil {
		return false
	}
	since := v.failsAt(pod.object, rollout.Backoff{}, &failure.Options{}, time.Time{}, time.Time{}, time.Time{})
	return since.Unix() < node.outSince.Unix()
}

// retriedAt is when the update revision came again after it was given up (F3); zero: it was not. Nothing that was before says
// that the revision has failed now.
func (v *verifier) retriedAt() time.Time {
	update := v.history.update
	if v.failed.retries || update != nil && update.Annotations[history.RetriedAnnotation] != "" {
		began, _ := v.rolloutClock()
		return began
	}
	return time.Time{}
}

// judgedBefore reports whether all that a pod restarted was known when the revision came again: it is older, and no container has
// ended since.
func judgedBefore(pod *corev1.Pod, retried time.Time) bool {
	return pod.CreationTimestamp.Time.Before(retried) && !slices.ContainsFunc(
		slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses), func(c corev1.ContainerStatus) bool {
			last := c.LastTerminationState.Terminated
			return last != nil && last.FinishedAt.After(retried)
		})
}

// restartsTooOften reports whether a pod that was not updated in place has restarted more often than may be.
func (t *terms) restartsTooOften(pod *corev1.Pod) bool {
	failures := t.spec.Strategy.Policy.Failures
	if failures == nil || failures.MaxRestarts == nil || t.spec.Strategy.Type != rollout.RollingUpdate {
		return false
	}
	if state, err := inplace.StateOf(pod); err == nil && state != nil {
		return false
	}
	return slices.ContainsFunc(slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses),
		func(c corev1.ContainerStatus) bool { return c.RestartCount > *failures.MaxRestarts })
}

// restarted is how often the container of a pod restarted that did so most, of those that ended after the node became Ready: what
// ended before may have been taken down with its node.
func (v *verifier) restarted(pod *corev1.Pod, up time.Time) int32 {
	most := int32(0)
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if last := c.LastTerminationState.Terminated; last == nil || up.IsZero() || last.FinishedAt.After(up) {
			most = max(most, c.RestartCount)
		}
	}
	return most
}

// seriesOf is what is remembered of failed pods of a revision that were deleted on the node, and whether anything is: for half an
// hour after the last of them.
func (v *verifier) seriesOf(node *node, hash string) (series rollout.Backoff, known bool) {
	for _, entry := range v.remembered.Backoffs {
		if entry.Node != node.name || entry.Revision != hash {
			continue
		}
		if v.snapshot.Now.Sub(entry.Since) > 30*time.Minute {
			continue
		}
		if !known || v.waitsLonger(entry, series) {
			series, known = entry, true
		}
	}
	if slices.ContainsFunc(series.Going, func(pod types.UID) bool { return v.kept.pods.byKey[pod] == nil }) {
		series.Deleted = min(series.Deleted, math.MaxInt32-1) + 1 // it is gone since
	}
	before := v.remembered.Rollout.Revision
	anew := before != "" && before != v.plan.Status.UpdateRevision || v.failed.retries
	if anew && hash == v.plan.Status.UpdateRevision || v.servedLong(node, hash) { // of an earlier rollout, or over
		series.First, series.Deleted, series.Going = time.Time{}, 0, nil
	}
	return series, known
}

// servedLong reports whether a pod of the revision has served there for as long as the deadline, so that what failed before is
// over (F1).
func (v *verifier) servedLong(node *node, hash string) bool {
	if !v.staging.followed {
		return false
	}
	return slices.ContainsFunc(node.pods, func(p *pod) bool {
		at := v.servedAt(p, hash)
		return !at.IsZero() && !at.After(v.snapshot.Now)
	})
}

// servedAt is when a pod of the revision that is available has been so for as long as the deadline; zero: nothing tells.
func (v *verifier) servedAt(p *pod, hash string) time.Time {
	isIt := p.hash == hash || p.atUpdate && v.isUpdate(hash)
	ready := conditionOf(p.object, corev1.PodReady)
	if !isIt || !p.live() || !p.settled() || p.terminal || ready == nil || ready.LastTransitionTime.IsZero() {
		return time.Time{}
	}
	deadline := 10 * time.Minute
	if options := v.failed.options; options != nil {
		deadline = options.Deadline
	}
	return ready.LastTransitionTime.Add(time.Duration(v.spec.MinReadySeconds)*time.Second + deadline)
}

// waitsLonger reports which of two entries of one key counts, which only a damaged memory has.
func (v *verifier) waitsLonger(a, b rollout.Backoff) bool {
	end := func(e rollout.Backoff) time.Time {
		return earliest(e.Since, v.snapshot.Now).Add(min(max(e.Delay, 0), 15*time.Minute))
	}
	if ends := end(a).Compare(end(b)); ends != 0 {
		return ends > 0
	}
	return a.Delay > b.Delay
}

// backSince is since when the node is Ready, and startedSince the same if its kubelet had not started the pod before; zero:
// nothing says so.
func (n *node) backSince() time.Time {
	if n.object == nil {
		return time.Time{}
	}
	i := slices.IndexFunc(n.object.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
	if i < 0 {
		return time.Time{}
	}
	return n.object.Status.Conditions[i].LastTransitionTime.Time
}

func (n *node) startedSince(pod *corev1.Pod) time.Time {
	back := n.backSince()
	if pod == nil || pod.Status.StartTime != nil && pod.Status.StartTime.Unix() < back.Unix() {
		return time.Time{}
	}
	return back
}

// failsAt is from when on the node has failed, if nothing changes; zero: never. The pod is not available; nil: there is none. Its
// node was down until back, which is why it did not serve; zero: it was not. It is Ready since up.
func (v *verifier) failsAt(
	pod *corev1.Pod, series rollout.Backoff, options *failure.Options, retried, back, up time.Time,
) time.Time {
	updated := false
	since, restarts := series.First, int64(max(0, series.Deleted))
	if pod != nil {
		if created := pod.CreationTimestamp.Time; since.IsZero() || created.Before(since) {
			since = created
		}
		if state, err := inplace.StateOf(pod); err == nil && state != nil {
			updated, since = true, latest(since, state.UpdateTimestamp.Time)
		}
		started, ended := pod.Status.StartTime, pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
		switch ready := conditionOf(pod, corev1.PodReady); {
		case ready == nil:
		case ready.Status == corev1.ConditionTrue && !ended: // it is on its way to be available
			since = latest(since, ready.LastTransitionTime.Time)
		case ready.Status != corev1.ConditionTrue && started != nil &&
			ready.LastTransitionTime.Sub(started.Time) > time.Second: // it was ready in between
			since = latest(since, ready.LastTransitionTime.Time)
		}
		since = latest(since, back)
		most := v.restarted(pod, up)
		if judgedBefore(pod, retried) {
			most = 0
		}
		restarts += int64(most)
	}
	switch {
	case options.MaxRestarts != nil && !updated && restarts > int64(*options.MaxRestarts):
		return v.snapshot.Now
	case since.IsZero():
		return time.Time{}
	default:
		return latest(since, retried).Add(options.Deadline)
	}
}

// countFailed finds how many nodes have failed, how many may, and what follows (F2, F3).
func (v *verifier) countFailed() {
	if !v.watches() {
		return
	}
	f := &v.failed
	f.most = ofDesired(f.options.MaxFailed, v.openNodes(), 0)
	for _, node := range v.nodes {
		if node.hasFailed {
			node.saysFailed = true
			f.nodes += node.weight
		}
	}
	if f.nodes <= f.most {
		return
	}
	v.staging.completes = false
	for _, node := range v.nodes {
		if node.outcome == placement.Run && node.closed == rollout.LimitNone && !node.goesBack {
			v.close(node, rollout.LimitFailures)
		}
	}
	update := v.plan.Status.UpdateRevision
	for base := range v.staging.bases {
		f.givesUp = f.givesUp || f.options.Action == failure.Rollback && base != update && v.templateOf(base) != nil
	}
}

// openNodes is how many nodes are to run the pod in parts that are open.
func (v *verifier) openNodes() int {
	open := 0
	for _, p := range v.staging.parts {
		if p.phase.IsOpen() {
			open += p.nodes
		}
	}
	return open
}

// checkFailures compares what the plan says of failures with what is right (V25, V12).
func (v *verifier) checkFailures() {
	f, b := &v.failed, &v.plan.Budget
	for _, d := range v.statements {
		if right := d.node != nil && d.node.saysFailed; d.Failed != right {
			v.report(12, d.Node, "F1: failed is %t, right is %t", d.Failed, right)
		}
	}
	for _, n := range []struct {
		name      string
		is, right int
	}{
		{"failed", int(b.Failed), f.nodes}, {"maxFailed", int(b.MaxFailed), f.most},
		{"maxQuarantined", int(b.MaxQuarantined), f.quarantined},
		{"quarantined", int(b.Quarantined), v.count(func(n *node) bool { return n.exemption == rollout.ExemptionQuarantined })},
	} {
		if n.is != n.right {
			v.report(12, "", "F2: budget.%s is %d, right is %d", n.name, n.is, n.right)
		}
	}
	gaveUp := f.givesUp || f.givenUp
	if (v.plan.GaveUp != "") != gaveUp {
		v.report(25, "", "F3: the plan says that the update revision is given up because %q, right is %t: %d nodes have failed, "+
			"at most %d may, and it was given up before is %t", v.plan.GaveUp, gaveUp, f.nodes, f.most, f.givenUp)
	}
	if v.plan.Memory.Rollout.GaveUp != v.plan.GaveUp {
		v.report(12, "", "F3: memory has that the revision is given up because %q, right is %q", v.plan.Memory.Rollout.GaveUp,
			v.plan.GaveUp)
	}
	v.checkFailureMarks(gaveUp)
	state := v.plan.Status.State
	if halted := v.halted(); f.givenUp != (state == status.RolledBack) && !halted {
		v.report(12, "", "F3: status.state is %s, and the revision is given up is %t", state, f.givenUp)
	}
	if v.plan.Status.Reason == status.TooManyFailures && !f.givenUp && f.nodes <= f.most {
		v.report(12, "", "F3: status.reason is %s, but only %d nodes have failed, and %d may", v.plan.Status.Reason, f.nodes,
			f.most)
	}
}

// checkFailureMarks sees to it that a verdict, or that it was taken back by a command, is written on the update revision (F3).
func (v *verifier) checkFailureMarks(gaveUp bool) {
	f, update := &v.failed, v.history.update
	if update == nil || v.history.asked[update.Name] {
		return
	}
	i := slices.IndexFunc(v.plan.Revisions, func(a rollout.RevisionAction) bool {
		return a.Verb == rollout.AnnotateRevision && a.Name == update.Name
	})
	var action rollout.RevisionAction
	if i >= 0 {
		action = v.plan.Revisions[i]
	}
	removes := func(key string) bool {
		_, there := update.Annotations[key]
		return !there || slices.Contains(action.RemoveAnnotations, key)
	}
	switch {
	case f.retries:
		if action.Annotations[history.RetriedAnnotation] != f.options.Retry || !removes(history.FailedAnnotation) {
			v.report(25, "", "F3: nothing writes on revision %s that it is retried", update.Name)
		}
	case !gaveUp || v.isMarkedGivenUp():
	case action.Annotations[history.FailedAnnotation] == "":
		v.report(25, "", "F3: nothing writes on revision %s that it is given up", update.Name)
	case !removes(history.PromotedAnnotation):
		v.report(4, "", "F3: keeps the mark of the promotion of revision %s beside that it is given up", update.Name)
	}
}

// checkFailureWake is the part of V15 about F1, and about what it remembers.
func (v *verifier) checkFailureWake() {
	for _, node := range v.nodes {
		v.checkWake(node.name, node.failsAt, "F1: the deadline passes")
		if !v.staging.followed || node.outcome != placement.Run || !node.hasFailed && node.closed == rollout.LimitNone {
			continue
		}
		if series, known := v.seriesOf(node, v.plan.Status.UpdateRevision); known {
			forgotten := earliest(series.Since, v.snapshot.Now).Add(30*time.Minute + 1)
			v.checkWake(node.name, forgotten, "F1: the failed pods of the node are forgotten")
		}
	}
}
