package rollout

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout/failure"
)

// Counting the nodes that the update revision has failed on, and what follows, belongs to step 5 (F rules). Package failure
// judges one node. What was decided before, a revision that was given up, is found in steps 3 and 4.

// endSeries ends the series of nodes that were served for as long as the deadline: what failed before that is over (F1).
func (r *run) endSeries() {
	if len(r.backoffs.entries) == 0 {
		return
	}
	for i := range r.nodes {
		for _, p := range r.podsOf(&r.nodes[i]) {
			r.endSeriesOf(&p)
		}
	}
	for key := range r.backoffs.entries { // a node that was set aside has one pod, which is available
		i, _ := slices.BinarySearchFunc(r.plan.Decisions, key.node, func(d Decision, name string) int {
			return strings.Compare(d.Node, name)
		})
		if i < len(r.plan.Decisions) && r.plan.Decisions[i].Node == key.node && r.plan.Decisions[i].State == StateUpdated {
			p := r.pod(r.podFacts.List.At(r.podFacts.First[i]), none, 0)
			r.endSeriesOf(&p)
		}
	}
}

// endSeriesOf ends the series of the pod's node and revision, if it is available and has been for long enough.
func (r *run) endSeriesOf(p *pod) {
	key := backoffKey{node: p.Object.Spec.NodeName, revision: r.revisionOf(p)}
	ready, _ := lifecycle.ReadySince(p.Object)
	if !p.inService() || p.traits.hasAny(marked) || ready.IsZero() || !r.backoffs.hasSeries(key) {
		return // nobody knows for how long it has served, or that is of no interest
	}
	served := ready.Add(time.Duration(r.spec.MinReadySeconds)*time.Second + r.failing.Deadline)
	if served.After(r.snapshot.Now) {
		r.wake(served)
		return
	}
	r.backoffs.endSeries(key)
}

// findFailed finds the nodes that the update revision has failed on, whoever is left out of the budgets (F1). Evidence that
// something else took a node down clears it, however many are cleared.
func (r *run) findFailed() {
	if !r.watchesFailures() {
		return
	}
	since := failure.Series{Retried: r.retriedAt()}
	for i := range r.nodes {
		n := &r.nodes[i]
		innocent := false
		pod, watched := r.unavailablePod(int32(i))
		out := r.proving.Of(n.Object)
		if pod != nil && failure.UnavailableSince(pod).Unix() < out.Since.Unix() {
			out.Out = false // its trouble is older than the outage
		}
		if out.Out && r.outcome(int32(i)) != placement.Leave { // whoever may be left out of budgets
			var changes time.Time
			innocent, changes = r.isInnocent(int32(i), out, byUpdate)
			r.wake(changes)
		}
		if !innocent && r.unschedulable.Value > 0 { // the user says that such nodes are not the revision's doing (B8)
			var changes time.Time
			innocent, changes = r.isolated(n)
			r.wake(changes)
		}
		if innocent {
			continue
		}
		since.Up = upSince(n.Object)
		if n.failed = r.isRestarting(int32(i), since); n.failed {
			continue
		}
		if !watched {
			continue
		}
		series := r.backoffs.series(n.Name, r.revision.Update.Hash)
		series.Retried, series.Up = since.Retried, since.Up
		if pod != nil {
			series.Back = failure.StartedSince(n.Object, pod)
		}
		verdict := r.failures.Of(pod, series, r.snapshot.Now)
		n.failed = verdict.Failed
		r.wake(verdict.At)
	}
}

// countFailed sums up the nodes that have failed. If they are too many, it closes all others, and gives the revision up if it
// is to be taken back (F2, F3): step act marks it, and report remembers it. runs is how many nodes are to run the pod in the
// parts that are open.
func (r *run) countFailed(runs int32) {
	if !r.watchesFailures() {
		return
	}
	r.maxFailed = r.failedLimit.RoundDown(runs)
	for i := range r.nodes { // who is left out of the budgets is blamed all the same: that is a matter of evidence alone
		if r.nodes[i].failed {
			r.decision(int32(i)).Failed = true
			r.failed++
		}
	}
	if r.failed <= r.maxFailed {
		return
	}
	r.stages.Completed = false // pods that crash again and again may be available for a moment, all at once
	for i := range r.nodes {
		if n := &r.nodes[i]; n.closed == LimitNone && n.goal == toUpdate {
			r.closeNode(int32(i), LimitFailures)
		}
	}
	base := r.revision.Base
	if r.failures.Action == failure.Rollback && base.Hash != r.revision.Update.Hash && r.templateOf(base.Hash) != nil {
		r.plan.GaveUp = r.failedText()
	}
}

// isRestarting reports whether a pod of the update revision on the node restarts too often, available or not.
func (r *run) isRestarting(i int32, since failure.Series) bool {
	outcome := r.outcome(i)
	return outcome != placement.Leave && slices.ContainsFunc(r.podsOf(&r.nodes[i]), func(p pod) bool {
		runs := p.traits.hasAny(atGoal) && !p.traits.hasAny(marked) && (outcome == placement.Run || p.traits.hasAny(bound))
		return runs && p.traits.hasAny(restarting) && r.failures.Restarting(p.Object, since)
	})
}

// unavailablePod returns the node's pod of the update revision if it is not available, and whether the node is watched for
// failures: it is to run the pod or may keep it, and has such a pod, or had one of which M2 has deleted failed ones; then the
// pod may be nil. Of several, it is the one that stays (M3), or the oldest if all have ended.
func (r *run) unavailablePod(i int32) (pod *corev1.Pod, watched bool) {
	n, outcome := &r.nodes[i], r.outcome(i)
	if outcome == placement.Leave {
		return nil, false
	}
	for j := n.first; j < n.end; j++ {
		switch p := &r.pods[j]; {
		case !p.traits.hasAny(atGoal) || p.traits.hasAny(marked) || outcome == placement.Keep && !p.traits.hasAny(bound):
		case p.inService():
			return nil, false
		case pod == nil || j == n.goalPod:
			pod = p.Object
		}
	}
	return pod, pod != nil || outcome == placement.Run && r.backoffs.knows(n.Name, r.revision.Update.Hash)
}
