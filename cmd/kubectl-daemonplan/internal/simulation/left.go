package simulation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
	"github.com/daemonplan/daemonplan/diagnosis"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// leftNodes are nodes that are not where the rollout is to bring them, and the one cause for all of them.
type leftNodes struct {
	Cause string `json:"cause"`
	// Nodes are their names, in ascending order. Since is when each came into that state, in words; empty: that is of no
	// interest.
	Nodes []string `json:"nodes"`
	Since []string `json:"since,omitempty"`
	// DownBefore means that these nodes were not Ready before the run began, and have not come back.
	DownBefore bool `json:"downBefore,omitempty"`
	// WaitFor is what these nodes wait for, so that they are the consequence and not the cause: "stage", or "others", which use
	// up what they wait for. Empty: they cannot be updated as they are.
	WaitFor string `json:"waitFor,omitempty"`
}

// What nodes wait for that could be updated.
const (
	forStage  = "stage"
	forOthers = "others"
)

// leftCounts is how many nodes are left that cannot be updated, that wait for a stage, and that wait for others.
type leftCounts struct {
	CannotBeUpdated int `json:"cannotBeUpdated"`
	WaitForStage    int `json:"waitForStage"`
	WaitForOthers   int `json:"waitForOthers"`
}

// countLeft counts the nodes of the groups.
func countLeft(groups []leftNodes) leftCounts {
	var c leftCounts
	for i := range groups {
		n := len(groups[i].Nodes)
		switch groups[i].WaitFor {
		case forStage:
			c.WaitForStage += n
		case forOthers:
			c.WaitForOthers += n
		default:
			c.CannotBeUpdated += n
		}
	}
	return c
}

// String says it in words; empty: no node is left.
func (c leftCounts) String() string {
	var parts []string
	if n := c.CannotBeUpdated; n > 0 {
		parts = append(parts, text.Counted(n, "node")+" cannot be updated")
	}
	if n := c.WaitForStage; n > 0 {
		parts = append(parts, text.Agree(n, "node waits", "nodes wait")+" for a stage")
	}
	if n := c.WaitForOthers; n > 0 {
		parts = append(parts, text.Agree(n, "node waits", "nodes wait")+" for others")
	}
	return strings.Join(parts, ", ")
}

// leftOver groups the nodes that are not where they are to be by cause: causes first, then those that wait for others, the
// larger groups first.
func leftOver(s *simulate.Simulation, plan *rollout.Plan) []leftNodes {
	decisions := make(map[string]*rollout.Decision, len(plan.Decisions))
	for i := range plan.Decisions {
		decisions[plan.Decisions[i].Node] = &plan.Decisions[i]
	}
	pods := make(map[string]*corev1.Pod)
	for _, pod := range s.Pods() {
		if old := pods[pod.Spec.NodeName]; old == nil || !old.CreationTimestamp.After(pod.CreationTimestamp.Time) {
			pods[pod.Spec.NodeName] = pod
		}
	}
	start := s.Now().Add(-s.Elapsed())
	var groups []leftNodes
	for _, node := range s.Nodes() {
		state, decision := s.NodeState(node.Name), decisions[node.Name]
		if settled(state, decision) {
			continue
		}
		found := leftNodes{}
		since := ""
		switch {
		case state == simulate.NodeLost:
			found.Cause, since = "NotReady", sinceReady(node, start)
			found.DownBefore = downBefore(node, start)
		case (state == simulate.NodeBroken || state == simulate.NodeSurging) && brokenCause(pods[node.Name], s.Now()) != "":
			found.Cause = brokenCause(pods[node.Name], s.Now())
		case decision != nil:
			found.Cause, found.WaitFor = waitCause(plan, decision)
		default:
			found.Cause = "the state of the node is " + state.String()
		}
		i := slices.IndexFunc(groups, func(g leftNodes) bool {
			return g.Cause == found.Cause && g.DownBefore == found.DownBefore
		})
		if i < 0 {
			i, groups = len(groups), append(groups, found)
		}
		groups[i].Nodes = append(groups[i].Nodes, node.Name)
		if since != "" {
			groups[i].Since = append(groups[i].Since, since)
		}
	}
	slices.SortStableFunc(groups, func(a, b leftNodes) int {
		return cmp.Or(one(a.WaitFor != "")-one(b.WaitFor != ""), len(b.Nodes)-len(a.Nodes), strings.Compare(a.Cause, b.Cause))
	})
	return groups
}

// settled reports whether a node is where it is to be.
func settled(state simulate.NodeState, d *rollout.Decision) bool {
	if state == simulate.NodeOutside || state == simulate.NodeNew {
		return true
	}
	if d == nil {
		return false
	}
	switch d.Reason {
	case rollout.ReasonUpToDate, rollout.ReasonStable, rollout.ReasonIneligible, rollout.ReasonKept, rollout.ReasonHeld,
		rollout.ReasonPartitionedScaling:
		return state.Serving() || state == simulate.NodeEmpty && d.Reason == rollout.ReasonPartitionedScaling
	default:
		return false
	}
}

// sinceReady says since when a node is not Ready: from the beginning of the run, or, if that was before, the time of the
// dump.
func sinceReady(node *corev1.Node, start time.Time) string {
	for i := range node.Status.Conditions {
		c := &node.Status.Conditions[i]
		switch {
		case c.Type != corev1.NodeReady || c.LastTransitionTime.IsZero():
		case c.LastTransitionTime.After(start):
			return "since " + asDuration(float64(c.LastTransitionTime.Sub(start)))
		default:
			return "since " + c.LastTransitionTime.UTC().Format("2006-01-02 15:04Z")
		}
	}
	return ""
}

// downBefore reports whether a node that is not Ready was so before the run began.
func downBefore(node *corev1.Node, start time.Time) bool {
	i := slices.IndexFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
	return i >= 0 && !node.Status.Conditions[i].LastTransitionTime.IsZero() &&
		node.Status.Conditions[i].LastTransitionTime.Time.Before(start)
}

// onlyDownBefore reports whether nodes are left, and all of them were down before the run began.
func onlyDownBefore(left []leftNodes) bool {
	return len(left) > 0 && !slices.ContainsFunc(left, func(g leftNodes) bool { return !g.DownBefore })
}

// brokenCause says what is wrong with a pod that does not serve, if that is more than every pod goes through; "" for any other.
// Numbers that differ from pod to pod, such as restarts, are left out, so that nodes with one cause are one group.
func brokenCause(pod *corev1.Pod, now time.Time) string {
	cause, found := diagnosis.Of(pod, nil, now)
	if !found || cause.Ordinary() {
		return ""
	}
	return text.Printable(cause.Brief())
}

// waitCause says what a node waits for, without the name of its pod, and whether that is a stage or other nodes.
func waitCause(plan *rollout.Plan, d *rollout.Decision) (cause, waitFor string) {
	switch d.Limit {
	case rollout.LimitStage, rollout.LimitSoak, rollout.LimitApproval:
		waitFor = forStage
	default:
	}
	switch {
	case d.Reason == rollout.ReasonBudget && d.Limit != rollout.LimitNone:
		return fmt.Sprintf("wait for %s, which other nodes use up", d.Limit), forOthers
	case d.Pod != "":
		return strings.ReplaceAll(plan.Because(d), d.Pod+" ", ""), waitFor
	default:
		return plan.Because(d), waitFor
	}
}

// sum is how many nodes are in the groups.
func sum(groups []leftNodes) int {
	n := 0
	for i := range groups {
		n += len(groups[i].Nodes)
	}
	return n
}

// named are the first names of a group, and how many there are beside them.
func (g *leftNodes) named() string {
	const most = 5
	var names []string
	for i, name := range g.Nodes[:min(most, len(g.Nodes))] {
		name = text.Printable(name)
		if i < len(g.Since) {
			name += " " + g.Since[i]
		}
		names = append(names, name)
	}
	text := strings.Join(names, ", ")
	if more := len(g.Nodes) - most; more > 0 {
		text += fmt.Sprintf(" and %s more", asCount(float64(more)))
	}
	return text
}

// causes are the groups in words, one line each.
func causes(groups []leftNodes) []string {
	var lines []string
	for i := range groups {
		g := &groups[i]
		lines = append(lines, fmt.Sprintf("%s: %s: %s", text.Counted(len(g.Nodes), "node"), g.Cause, g.named()))
	}
	return lines
}
