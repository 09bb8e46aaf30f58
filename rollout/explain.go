package rollout

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/rollout/canary"
)

// Explain says in words what the plan does about one node and why: one line for a node of the snapshot, one line
// per pod for a node that exists only as the target of pods. For any other name it says that there is no such node.
// The text is for people; programs read [Decision].
func (p *Plan) Explain(node string) string {
	var lines []string
	// The decisions about nodes of the snapshot are sorted by node, and so are those about other pods behind them.
	nodes := p.nodes()
	byNode := func(d Decision, name string) int { return strings.Compare(d.Node, name) }
	for _, decisions := range [...][]Decision{nodes, p.Decisions[len(nodes):]} {
		for i, _ := slices.BinarySearchFunc(decisions, node, byNode); i < len(decisions) && decisions[i].Node == node; i++ {
			lines = append(lines, p.explain(&decisions[i]))
		}
	}
	if len(lines) == 0 {
		return fmt.Sprintf("%s: the snapshot has no such node, and no pod that belongs there", node)
	}
	return strings.Join(lines, "\n")
}

// nodes returns the decisions about nodes of the snapshot.
func (p *Plan) nodes() []Decision {
	n, _ := slices.BinarySearchFunc(p.Decisions, true, func(d Decision, _ bool) int {
		if d.State == StateVanished || d.State == StateUnattributed {
			return 0
		}
		return -1
	})
	return p.Decisions[:n]
}

func (p *Plan) explain(d *Decision) string {
	var b strings.Builder
	if d.Node == "" {
		b.WriteString("no node")
	} else {
		b.WriteString(d.Node)
	}
	state := d.State.String()
	if d.State == StateStarting && p.CauseOf(d.Node) != nil {
		state = "failing"
	}
	fmt.Fprintf(&b, ": %s; ", state)
	b.WriteString(p.action(d))
	b.WriteString(": ")
	b.WriteString(p.Because(d))
	if !d.Until.IsZero() {
		fmt.Fprintf(&b, ", until %s", d.Until.UTC().Format(time.RFC3339))
	}
	switch {
	case p.Budget.MaxSurge > 0 && d.Surging:
		b.WriteString("; holds a place of maxSurge")
	case p.Budget.MaxUnavailable > 0 && d.Unavailable:
		b.WriteString("; counts against maxUnavailable")
	case d.Exemption == ExemptionOut && (d.Reason == ReasonGated || d.Reason == ReasonHeld):
		fmt.Fprintf(&b, "; is left out of the budget until its turn comes: its pod did not serve before, "+
			"and nothing may be begun there (maxExempt %d, %d used)", p.Budget.MaxExempt, p.Budget.ExemptOut)
	case d.Exemption == ExemptionOut:
		fmt.Fprintf(&b, "; is left out of the budget until the node is back: it is down or departing, "+
			"and its update is not the cause (maxExempt %d, %d used)", p.Budget.MaxExempt, p.Budget.ExemptOut)
	case d.Exemption == ExemptionQuarantined:
		fmt.Fprintf(&b, "; is left out of the budget in quarantine, as the update revision has failed there "+
			"(quarantine %d, %d used)", p.Budget.MaxQuarantined, p.Budget.Quarantined)
	case d.Exempt():
		b.WriteString("; is left out of the budget by maxUnschedulable")
	}
	if d.Failed && d.Exemption != ExemptionQuarantined {
		fmt.Fprintf(&b, "; the update revision has failed there (%d of at most %d nodes)", p.Budget.Failed, p.Budget.MaxFailed)
	}
	if d.Canary {
		b.WriteString("; is a canary node")
	}
	for _, m := range p.malformedOn(d.Node) {
		fmt.Fprintf(&b, "; its annotation for container %s is ignored: %s", m.Container, m.Problem)
	}
	return b.String()
}

// malformedOn returns the annotations of a node that cannot be read.
func (p *Plan) malformedOn(node string) []MalformedOverride {
	byNode := func(m MalformedOverride, name string) int { return strings.Compare(m.Node, name) }
	first, _ := slices.BinarySearchFunc(p.MalformedOverrides, node, byNode)
	end := first
	for end < len(p.MalformedOverrides) && p.MalformedOverrides[end].Node == node {
		end++
	}
	return p.MalformedOverrides[first:end]
}

// action returns what is done, as a sentence without its subject.
func (p *Plan) action(d *Decision) string {
	switch d.Verb {
	case VerbNone:
		return "nothing to do"
	case VerbWait:
		return "waits"
	case VerbHold:
		return "is held"
	case VerbPatch:
		return "patch pod " + d.Pod
	case VerbDelete:
		return "delete " + pods(d)
	case VerbCreate:
		return "create a pod"
	case VerbPrepare:
		return "prepare pod " + d.Pod
	case VerbUpdate:
		return "update pod " + d.Pod + " in place"
	case VerbReplace:
		return "replace " + pods(d)
	case VerbSurge:
		return "create a new pod beside the old one"
	default:
		return d.Verb.String()
	}
}

// pods returns the name of the one pod to delete, or the number of several.
func pods(d *Decision) string {
	if d.Deletes == 1 {
		return "pod " + d.Pod
	}
	return fmt.Sprintf("%d pods", d.Deletes)
}

// Because returns the reason of a decision of this plan in words and figures: the part of [Plan.Explain] that says why. If the
// node's pod does not serve, it ends with the cause, in the words of the objects. A nil decision gives "".
func (p *Plan) Because(d *Decision) string {
	if d == nil {
		return ""
	}
	because, c := p.because(d), p.CauseOf(d.Node)
	if c == nil {
		return because
	}
	switch {
	case d.Reason == ReasonNotReady && d.Pod == c.Pod:
		because += ": "
	case d.Reason == ReasonTerminating:
		because += ": pod " + c.Pod + ": "
	default:
		because += "; pod " + c.Pod + " does not serve: "
	}
	because += c.String()
	if !c.Since.IsZero() {
		because += ", since " + c.Since.UTC().Format(time.RFC3339)
	}
	return because
}

// because returns the reason without the cause.
func (p *Plan) because(d *Decision) string {
	switch d.Reason {
	case ReasonIneligible, ReasonLeaving:
		return d.Placement.String()
	case ReasonKept:
		return d.Placement.String() + ", but a pod that runs may stay"
	case ReasonServing:
		return d.Placement.String() + ", but its pod " + d.Pod + " serves until available pods outnumber desired"
	case ReasonBudget:
		return "its pod " + d.Pod + outdated(d) + ", but " + p.spent(d) + p.notInPlace(d)
	case ReasonGated:
		return "its pod " + d.Pod + outdated(d) + ", but " + p.gated(d)
	case ReasonPrepared:
		return "pod " + d.Pod + " is prepared and no hook holds it, but it is ready: " + p.noRoom(d)
	case ReasonHeld:
		return "its pod " + d.Pod + outdated(d) + ", but " + p.held(d)
	case ReasonStable:
		return text(reasonTexts[:], d.Reason) + ", " + p.elsewhere()
	case ReasonPartitionedScaling:
		return fmt.Sprintf("partition %d: a first installation leaves as many nodes empty", p.Budget.Partition)
	case ReasonOutdated, ReasonOutdatedNotReady:
		if d.Target == TargetBase {
			return "its part is not open, and its revision, which was not rolled out everywhere, has failed: " +
				"it goes back to the one that was" + p.notInPlace(d)
		}
		if d.Reason == ReasonOutdatedNotReady {
			return text(reasonTexts[:], d.Reason) + p.notInPlace(d)
		}
		return "the pod" + outdated(d) + ", and the budget allows it" + p.notInPlace(d)
	case ReasonTerminating, ReasonFrozen, ReasonDeparting, ReasonBurst, ReasonSlowStart:
		if d.State == StateLeaving || d.State == StateKept {
			return d.Placement.String() + "; " + p.obstacle(d.Reason)
		}
		return p.obstacle(d.Reason)
	case ReasonSuperseded, ReasonNotReadyBesideNew, ReasonOutdatedFailed:
		return fmt.Sprintf(text(goalTexts[:], d.Reason), goalName(d))
	case ReasonNotReady, ReasonMinReadySeconds:
		return "pod " + d.Pod + " " + fmt.Sprintf(text(goalTexts[:], d.Reason), goalName(d))
	case ReasonBackoff, ReasonPreDelete, ReasonPreNormal, ReasonPutBack, ReasonUpdateHook, ReasonGracePeriod, ReasonUpdating,
		ReasonInPlaceUnreadable, ReasonTakenBack:
		return "pod " + d.Pod + " " + text(podTexts[:], d.Reason)
	default:
		return text(reasonTexts[:], d.Reason)
	}
}

// outdated returns what is wrong with an outdated pod, to follow its name.
func outdated(d *Decision) string {
	if d.ResourcesDiffer {
		return " has other resources than are wanted on the node"
	}
	return " is outdated"
}

// notInPlace returns what keeps the pod from being updated in place, as the end of a sentence; "" if nothing does.
func (p *Plan) notInPlace(d *Decision) string {
	if !d.obstructed() {
		return ""
	}
	return "; not in place: " + p.obstruction(d)
}

// noRoom returns why a prepared pod has to wait.
func (p *Plan) noRoom(d *Decision) string {
	if domain := p.domainOf(d); domain != nil {
		return domain.spent()
	}
	switch d.Limit {
	case LimitMaxSurge:
		return "it goes when the node's new pod is available"
	case LimitSlowStart:
		return p.slow()
	default:
		return fmt.Sprintf("without it more nodes than maxUnavailable %d would be down", p.Budget.MaxUnavailable)
	}
}

// goalName returns the revision where the node is to end, in words.
func goalName(d *Decision) string {
	switch d.Target {
	case TargetStable:
		return "the stable revision"
	case TargetBase:
		return "the revision that was rolled out everywhere before"
	default:
		return "the update revision"
	}
}

// elsewhere returns why a node is to be at the stable revision.
func (p *Plan) elsewhere() string {
	switch {
	case p.GaveUp != "":
		return "as the update revision was given up: " + p.GaveUp
	case p.Canary.Phase == canary.Failed:
		return "as the update revision has failed"
	case p.Canary.Phase == canary.Paused:
		return "while the canary is paused"
	case p.Canary.Reason == canary.NoNodes:
		return "while the canary of the update revision has no node"
	default:
		return "while the update revision is tried on other nodes"
	}
}

// obstacle returns what keeps a repair waiting.
func (p *Plan) obstacle(reason Reason) string {
	if reason == ReasonSlowStart {
		return p.slow()
	}
	if reason == ReasonBurst {
		return fmt.Sprintf("this plan already has the %d creates, deletes or updates in place that burst allows", p.Budget.Burst)
	}
	return text(reasonTexts[:], reason)
}

func (p *Plan) slow() string {
	return fmt.Sprintf("slow start allows %d under way now, and %d were before this plan", p.Budget.SlowStart, p.Budget.UnderWay)
}

func (p *Plan) spent(d *Decision) string {
	if domain := p.domainOf(d); domain != nil {
		return domain.spent()
	}
	all := p.Budget.Unavailable
	switch d.Limit {
	case LimitSlowStart:
		return p.slow()
	case LimitMaxSurge:
		all = p.Budget.Surging
	case LimitMaxUnavailable:
	default:
		return d.Limit.ofNode()
	}
	return fmt.Sprintf("%s %d is used up by %s", d.Limit, p.size(d.Limit), list(p.BudgetUsers, int(all)))
}

// reasonTexts complete the sentence "state; action: ".
var reasonTexts = [reasons]string{
	ReasonNone:              "no reason",
	ReasonUpToDate:          "its pod is at the update revision and available",
	ReasonStable:            "its pod is at the stable revision and available",
	ReasonCanaryLabel:       "the canary label is put on its pod, or taken off",
	ReasonMissing:           "the node is eligible and has no pod",
	ReasonBesideTerminating: "the node's pods are terminating, and maxSurge lets the new one start at once",
	ReasonFailed:            "the pod has failed",
	ReasonSucceeded:         "the pod has ended, and a daemon pod is to run for ever",
	ReasonUnschedulableBesideReady: "the scheduler finds no place for it beside the outdated pod, which is ready; " +
		"it comes back when that is updated",
	ReasonSurplus:            "another pod of the node was chosen to stay",
	ReasonNodeGone:           "the pod is pinned to a node that does not exist",
	ReasonDuplicateRevision:  "the pod's revision equals the update revision and is merged into it",
	ReasonReleased:           "the pod is to leave, and no preDelete hook holds it",
	ReasonNewPod:             "the readiness gates of the new pod are opened",
	ReasonBegun:              "its update was begun, and goes on",
	ReasonInPlaceUnfinished:  "an in-place update or a hook goes on",
	ReasonOutdatedNotReady:   "the outdated pod is not ready, so replacing it disturbs nobody",
	ReasonTerminating:        "the node's pods are terminating",
	ReasonRequested:          "an earlier request is not observed yet",
	ReasonRevisionUnreadable: "the revision that the node is to have cannot be read",
	ReasonFrozen:             "the set is frozen",
	ReasonRepairFirst:        "this sync of the controller repairs other nodes, and one that repairs updates none",
	ReasonDeparting: "the node is leaving the cluster or under maintenance: " +
		"no pod is created or deleted there until that ends",
	ReasonVanished:       "the pod's node does not exist, which is for the pod garbage collector to mend",
	ReasonUnattributable: "no node can be read off the pod, so it is left alone",
}

// podTexts say something of the decision's pod, and follow its name.
var podTexts = [reasons]string{
	ReasonTakenBack:         "was to be deleted or updated, and is not any more",
	ReasonBackoff:           "has failed, and failed pods of this node were deleted a short time ago",
	ReasonPreDelete:         "is to be deleted, and waits for its preDelete hook",
	ReasonPreNormal:         "waits for its preNormal hook",
	ReasonPutBack:           "was updated, and waits for its inPlaceUpdate hook to be put back",
	ReasonUpdateHook:        "is to be updated in place, and waits for its inPlaceUpdate hook",
	ReasonGracePeriod:       "was made unready, and is updated in place after the grace period",
	ReasonInPlaceUnreadable: "has a record of its last in-place update that cannot be read, so it is left alone",
	ReasonUpdating:          "is being updated in place",
}

// goalTexts speak of the revision where the node is to end: its name stands for the verb %s. The last two follow the pod's name.
var goalTexts = [reasons]string{
	ReasonSuperseded:        "the pod of %s is available",
	ReasonNotReadyBesideNew: "the outdated pod is not ready, and one of %s is there",
	ReasonOutdatedFailed:    "the outdated pod has failed, and %s may mend it",
	ReasonNotReady:          "of %s is not ready yet",
	ReasonMinReadySeconds:   "of %s has not been ready for minReadySeconds",
}

// held returns what holds a node, with the figures of this plan.
func (p *Plan) held(d *Decision) string {
	switch d.Limit {
	case LimitPartition:
		return p.partition()
	case LimitNodeSelector:
		return "selector " + p.NodeSelector + " does not match the node"
	case LimitCanary:
		if p.Canary.Phase == canary.Failed || p.GaveUp != "" {
			return "the update revision has failed, and there is none to go back to"
		}
		return d.Limit.ofNode()
	case LimitInPlaceOnly:
		return d.Limit.ofNode() + ": " + p.obstruction(d)
	case LimitUndeclared:
		return "the new pod needs " + p.needs() + ", which the node does not declare"
	default:
		return d.Limit.ofNode()
	}
}

// needs returns the features that a pod of the update revision needs of its node.
func (p *Plan) needs() string { return strings.Join(p.Features, " and ") }

func (p *Plan) partition() string {
	return fmt.Sprintf("partition %d: %d of %d places taken", p.Budget.Partition, p.Budget.Partitioned, p.Budget.Partition)
}

// obstruction returns why a pod cannot be updated in place: what is wrong with the pod, or the first obstacle of the change and
// how many more there are.
func (p *Plan) obstruction(d *Decision) string {
	if d.Diff == nil {
		if detail := p.Obstructions[d.Node]; detail != "" {
			return d.Obstruction.String() + ": " + detail
		}
		return d.Obstruction.String()
	}
	update := d.Diff.Update
	if update == nil || len(update.Obstacles) == 0 {
		return ""
	}
	if update.Obstacles[0].Code == inplace.NoTemplate {
		return fmt.Sprintf("the history has no readable revision %q", d.Diff.From)
	}
	first := update.Obstacles[0].String()
	if more := len(update.Obstacles) - 1; more > 0 {
		return fmt.Sprintf("%s, and %d more", first, more)
	}
	return first
}

// text looks the sentence of an enumeration value up in its table. A value without a sentence reads "code" and its number.
func text[T ~uint8](texts []string, v T) string {
	if int(v) < len(texts) && texts[v] != "" {
		return texts[v]
	}
	return fmt.Sprintf("code %d", v)
}
