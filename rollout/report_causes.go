package rollout

import (
	"slices"
	"strings"
	"time"

	"github.com/daemonplan/daemonplan/diagnosis"
	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/failure"
	"github.com/daemonplan/daemonplan/status"
)

// What step report says of pods that do not serve: why, since when, and if nothing is in motion any more, what would help.

// reportCauses says of each node whose pod does not serve why, unless that is what every pod goes through: it starts, or it is
// terminating within its grace period.
func (r *run) reportCauses() {
	for i := range r.nodes {
		n := &r.nodes[i]
		j := r.notServing(int32(i))
		if j == none {
			continue
		}
		cause, found := diagnosis.Of(r.pods[j].Object, n.Object, r.snapshot.Now)
		failing, _ := r.isFailing(j)
		switch {
		case found || !failing:
		case r.pods[j].traits.hasAny(ready) && !r.pods[j].traits.hasAny(available):
			cause, found = diagnosis.Cause{
				Reason: readyUnknown, Message: "it is Ready, and does not say since when, which minReadySeconds asks for",
			}, true
		default: // it is Ready, and what it should be it is not
			cause, found = diagnosis.Cause{
				Reason: "InPlaceUpdateIncomplete", Message: "its update in place has not come to its end",
				Since: failure.UnavailableSince(r.pods[j].Object),
			}, true
		}
		ended := r.pods[j].traits.hasAny(finished) && cause.Message == "" && cause.Container == "" // which the node's state says
		if !found || (cause.Ordinary() || ended) && !failing {
			continue
		}
		r.plan.Causes = append(r.plan.Causes, NodeCause{Node: n.Name, Pod: r.pods[j].Name, Cause: cause})
	}
}

// readyUnknown is the reason for a pod that is Ready since an unknown time.
const readyUnknown = "ReadySinceUnknown"

// notServing returns the pod that keeps the node from being served, where nothing is done about it: that at the node's goal, else
// the outdated one, else one that is terminating or has ended; none: the node is served, or not to be.
func (r *run) notServing(i int32) int32 {
	n, d := &r.nodes[i], r.decision(i)
	acts := d.Creates+d.Deletes+d.Patches > 0
	switch counts := d.Placement.Outcome == placement.Run || d.Unavailable; {
	case acts || !counts || n.first == n.end || d.Limit == LimitGracePeriod:
		return none
	case n.goalPod != none && !r.pods[n.goalPod].inService():
		return n.goalPod
	case r.serving(n) || n.outdatedPod != none && r.isOnItsWay(&r.pods[n.outdatedPod]):
		return none
	case n.outdatedPod != none:
		return n.outdatedPod
	default:
		return n.end - 1
	}
}

// reportBlockers says of a rollout that stands still who is in the way, since when, why, and what would help (P-A).
func (r *run) reportBlockers() {
	for i := range r.nodes {
		why, since, helps := r.blocks(int32(i))
		if why == "" {
			continue
		}
		r.plan.block(r.nodes[i].Name, why, since, helps)
	}
	if len(r.plan.Blockers) == 0 {
		r.plan.Blockers = []Blocker{r.blocksAll()}
	}
	for i := range r.plan.Blockers {
		b := &r.plan.Blockers[i]
		for k, help := range b.Helps {
			b.Helps[k] = strings.ReplaceAll(help, nodePlace, list(b.Nodes, int(b.Count)))
		}
	}
}

// nodePlace stands for the names of nodes in a help.
const nodePlace = "<nodes>"

// blocks returns why the node is in the way of the rollout, since when, and what would help; "" if it is not, or only waits for
// others.
func (r *run) blocks(i int32) (why string, since time.Time, helps []string) {
	n, d := &r.nodes[i], r.decision(i)
	// A pod that is not ready because of a refusal has no cause of its own.
	if d.Limit == LimitInPlaceOnly && d.Obstruction == inplace.Refused {
		why = "the API server refused to update its pod in place, and the method is InPlaceOnly: " + r.plan.Obstructions[d.Node]
		return why, since, []string{
			"set the method to InPlaceIfPossible", "delete the pods of " + nodePlace + " by hand",
			"see the words of the API server: what it refuses is tried again from time to time",
		}
	}
	if c := r.plan.CauseOf(n.Name); c != nil {
		return c.Brief(), c.Since, r.helpsFor(i, c)
	}
	switch {
	case d.Canary && d.State != StateUpdated && d.Reason != ReasonBudget && r.trial.Reason == canary.Starting:
		helps = []string{"bring " + nodePlace + " back", "try the revision on other nodes (strategy.canary.nodeSelector)"}
		if n.first < n.end {
			if cause, found := diagnosis.Of(r.pods[n.end-1].Object, n.Object, r.snapshot.Now); found && !cause.Ordinary() {
				return "it is to try the revision: " + cause.Brief(), cause.Since, helps
			}
		}
		return "it is to try the revision: " + r.plan.Because(d), since, helps
	case d.Placement.Outcome != placement.Run:
		return "", since, nil
	case n.departing && d.State != StateUpdated:
		return "it is leaving the cluster or under maintenance, and is left alone", r.outages.Of(n.Object).Since,
			[]string{"end the maintenance of " + nodePlace + " or take it out of the cluster", "set outages.touch"}
	case d.Limit == LimitDraining:
		return "it is being drained, or has been, and no update is begun there", r.outages.Of(n.Object).DrainingSince, []string{
			"clear the conditions DrainInProgress and Drained of " + nodePlace + " when the drain is over", "set outages.touch",
		}
	case d.Limit == LimitInPlaceOnly:
		return "its pod cannot be updated in place, and the method is InPlaceOnly: " + r.plan.obstruction(d), since,
			[]string{"set the method to InPlaceIfPossible", "delete the pods of " + nodePlace + " by hand"}
	case d.Limit == LimitUndeclared:
		return "the new pod needs " + r.plan.needs() + ", which it does not declare", since, []string{
			"bring the kubelet of " + nodePlace + " to a version that has it", "take what needs it out of the template",
		}
	case d.Limit == LimitPartition && (d.Verb == VerbHold || r.plan.nextPart() != nil):
		return "the partition holds it", since, []string{"lower strategy.partition"}
	case d.Limit == LimitNodeSelector && d.Unavailable:
		return "the strategy's nodeSelector holds it", since, []string{"let strategy.nodeSelector match " + nodePlace}
	case d.Reason == ReasonRevisionUnreadable:
		return "the revision that it is to have cannot be read", since, []string{"roll out a template that can be"}
	default:
		return "", since, nil
	}
}

// blocksAll returns what is in the way if it is no node: something in the spec, or what the state stands for.
func (r *run) blocksAll() Blocker {
	switch r.plan.Status.Reason {
	case status.CanaryWithoutNodes:
		why := "no node may try the revision: none that is to run the pod is selected for the canary"
		return Blocker{Why: why, Helps: []string{
			"let strategy.canary.nodeSelector and strategy.nodeSelector match nodes that are to run the pod",
			"promote the revision without a trial (strategy.canary.commands.validate)",
		}}
	case status.StageWithoutEvidence:
		return Blocker{Why: r.obstacle(), Helps: []string{
			"bring back the nodes of that part, or lower what leaves them out", "expedite the revision",
		}}
	case status.TooManyFailures, status.FailedNodesUseUpBudget, status.FailedNodesLeft:
		return Blocker{Why: r.failedText(), Helps: []string{
			"roll out a template that mends it, or the one before", "raise failures.maxFailed or failures.quarantine",
		}}
	case status.HeldPodsUseUpBudget:
		return Blocker{Why: "nodes that the spec holds back do not serve, and use up the budget", Helps: []string{
			"lower strategy.partition, or let strategy.nodeSelector match them", "raise strategy.maxUnavailable",
		}}
	default:
		return Blocker{Why: "nothing is in motion", Helps: []string{"see what each node waits for (Plan.Waits, Plan.Explain)"}}
	}
}

// helpsFor returns what would help a node whose pod does not serve.
func (r *run) helpsFor(i int32, c *NodeCause) []string {
	n, d := &r.nodes[i], r.decision(i)
	helps := causeHelps(c)
	if excluded := r.exclusions(n); len(excluded) > 0 {
		helps = []string{
			"set maxUnavailable in the place of maxSurge: no second pod can be bound there, because " + excluded[0].String(),
		}
	}
	if n.closed != LimitNone && n.closed != LimitFailures { // nothing that this rollout may do mends it before its turn comes
		helps = append(helps, "delete the pod if that mends it",
			"raise outages.maxExempt to leave "+nodePlace+" out until its turn comes",
			"expedite the revision")
	} else if r.proving.Of(n.Object).Out {
		helps = append(helps, "raise outages.maxExempt to leave "+nodePlace+" out")
	}
	if d.Failed {
		helps = append(helps, "raise failures.maxFailed or failures.quarantine")
	}
	return helps
}

// exclusions returns what keeps the node's new pod from being bound beside the outdated one.
func (r *run) exclusions(n *node) []placement.Exclusion {
	if n.goalPod == none || n.outdatedPod == none || r.pods[n.goalPod].Object.Spec.NodeName != "" {
		return nil
	}
	return r.Exclusions(r.templateOf(r.hashes[r.pods[n.outdatedPod].hash].value), nil)
}

// causeHelps returns what mends a cause.
func causeHelps(c *NodeCause) []string {
	switch {
	case c.Reason == diagnosis.DeletionOverdue && len(c.Finalizers) > 0:
		return []string{"see why nobody takes the finalizer " + strings.Join(c.Finalizers, ", ") + " off pod " + c.Pod}
	case c.Reason == diagnosis.DeletionOverdue, c.Reason == diagnosis.NodeNotReady:
		return []string{"bring " + nodePlace + " back", "delete the Node if it is gone for good"}
	case c.Reason == "Unschedulable":
		return []string{"make room for pod " + c.Pod + " on its node", "lower what the template requests"}
	case strings.Contains(c.Reason, "Image"):
		return []string{
			"correct the image or its pull secret in the template",
			"see whether " + nodePlace + " reaches the registry",
		}
	case c.Reason == readyUnknown:
		return []string{"delete the pod " + c.Pod + ", so that a new one tells", "set minReadySeconds to 0"}
	case strings.Contains(c.Reason, "ContainerConfig"):
		return []string{"create the ConfigMap or Secret that the template names, or correct its name"}
	case c.Ended:
		return []string{
			"see kubectl logs --previous " + c.Pod + " -c " + c.Container, "roll out a template that mends it, or the one before",
		}
	default:
		return []string{"see kubectl describe pod " + c.Pod, "roll out a template that mends it, or the one before"}
	}
}

// block adds a node to those that are in the way for the same reason.
func (p *Plan) block(node, why string, since time.Time, helps []string) {
	i := slices.IndexFunc(p.Blockers, func(b Blocker) bool { return b.Why == why })
	if i < 0 {
		i = len(p.Blockers)
		p.Blockers = append(p.Blockers, Blocker{Why: why, Helps: helps, Since: since})
	}
	b := &p.Blockers[i]
	b.Count++
	b.Nodes = appendUser(b.Nodes, node)
	b.Since = earlier(b.Since, since)
}
