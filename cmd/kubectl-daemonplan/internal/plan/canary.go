package plan

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// trial is the state of a revision's canary.
type trial struct {
	Phase  string `json:"phase"`
	Reason string `json:"reason"`
	// Message is the reason in one sentence.
	Message string `json:"message"`
	// Node, Pod and Container are where the reason occurred. Detail is what the kubelet reports, and Restarts how often the
	// container restarted.
	Node      string `json:"node,omitempty"`
	Pod       string `json:"pod,omitempty"`
	Container string `json:"container,omitempty"`
	Detail    string `json:"detail,omitempty"`
	Restarts  int32  `json:"restarts,omitempty"`
	// Revision is the hash of the revision on trial. Stable is the hash of the revision to go back to.
	Revision string `json:"revision"`
	Stable   string `json:"stable,omitempty"`
	// Nodes are the canary's nodes, and Wanted is how many there should be.
	Nodes  []string `json:"nodes"`
	Wanted int32    `json:"wanted"`
	// Until is when the wait ends, if the clock alone ends it, else absent.
	Until string `json:"until,omitempty"`
	// Stale lists the commands that name another revision.
	Stale []string `json:"stale,omitempty"`
}

// trial is the canary's state in the plan; nil if the strategy has no canary.
func (r *Result) trial() *trial {
	if r.Spec.Strategy.Canary == nil {
		return nil
	}
	c := &r.Plan.Canary
	return &trial{
		Phase: c.Phase.String(), Reason: c.Reason.String(), Message: c.Message(),
		Node: c.Node, Pod: c.Pod, Container: c.Container, Detail: c.Detail, Restarts: c.Restarts,
		Revision: c.Revision, Stable: c.Stable, Nodes: append([]string{}, c.Nodes...), Wanted: c.Wanted,
		Until: timestamp(c.Until), Stale: c.Stale,
	}
}

// canaryLines describe the state of the canary; none without one.
func (r *Result) canaryLines() []string {
	if r.Spec.Strategy.Canary == nil {
		return nil
	}
	lines := []string{"Canary: " + r.canaryLine()}
	c := &r.Plan.Canary
	if c.Phase == canary.Running || c.Phase == canary.Paused {
		line := fmt.Sprintf("  revision %s on %s, of %d wanted",
			r.revisionName(c.Revision), text.Counted(len(c.Nodes), "node"), c.Wanted)
		if len(c.Nodes) > 0 {
			line += " (" + text.Some(c.Nodes) + ")"
		}
		lines = append(lines, line+"; all others at "+r.revisionName(c.Stable))
	}
	if c.Phase == canary.Failed {
		lines = append(lines, fmt.Sprintf("  revision %s is given up; all nodes go to %s",
			r.revisionName(c.Revision), r.revisionName(c.Stable)))
	}
	for _, stale := range c.Stale {
		lines = append(lines, "  ignored command "+stale+": that revision is not on trial")
	}
	if reason := r.Set.CanaryPausedReason; reason != "" && c.Phase == canary.Paused {
		lines = append(lines, "  the reason given for the pause: "+reason)
	}
	return lines
}

// canaryLine is phase, reason and end.
func (r *Result) canaryLine() string {
	c := &r.Plan.Canary
	line := fmt.Sprintf("%s (%s): %s", c.Phase, c.Reason, c.Message())
	if !c.Until.IsZero() {
		line += fmt.Sprintf("; until %s (in %s)", timestamp(c.Until), text.Duration(c.Until.Sub(r.Snapshot.Now)))
	}
	return line
}

// revisionName is the name of the revision of that hash, or the hash.
func (r *Result) revisionName(hash string) string {
	for _, object := range r.revisionObjects() {
		if hash != "" && history.HashOf(object) == hash {
			return object.Name
		}
	}
	return cmp.Or(hash, "<unknown>")
}

// paceLines show how slow start limits the rollout, and which nodes are left out of the budget.
func (r *Result) paceLines() []string {
	var lines []string
	b := &r.Plan.Budget
	if b.SlowStart > 0 {
		lines = append(lines, fmt.Sprintf("Slow start: %s be under way now, %s before this plan",
			text.Agree(int(b.SlowStart), "node may", "nodes may"), text.Agree(int(b.UnderWay), "was", "were")))
	}
	for _, rule := range []struct {
		exemption rollout.Exemption
		most      int32
		name      string
	}{
		{rollout.ExemptionUnschedulable, b.MaxUnschedulable, "maxUnschedulable"},
		{rollout.ExemptionOut, b.MaxExempt, "maxExempt: they are down or departing, and their update is not the cause"},
		{rollout.ExemptionQuarantined, b.MaxQuarantined, "quarantine: the update revision has failed there"},
	} {
		var nodes []string
		for i := range r.Plan.Decisions {
			if d := &r.Plan.Decisions[i]; d.Exemption == rule.exemption {
				nodes = append(nodes, d.Node)
			}
		}
		if len(nodes) > 0 {
			lines = append(lines, fmt.Sprintf("Left out of the budget: %s, of at most %d (%s): %s",
				text.Counted(len(nodes), "node"), rule.most, rule.name, text.Some(nodes)))
		}
	}
	return lines
}

// override is a conflict between overrides, or an annotation of a node that cannot be read.
type override struct {
	Node      string `json:"node"`
	Nodes     int32  `json:"nodes,omitempty"` // the number of nodes, of which Node is the first
	Container string `json:"container"`
	// Winner and Loser of a conflict are names of ExtendedDaemonsetSettings.
	Winner string `json:"winner,omitempty"`
	Loser  string `json:"loser,omitempty"`
	// Problem is what is wrong with an annotation.
	Problem string `json:"problem,omitempty"`
}

// overrides are the conflicts, followed by the annotations that cannot be read.
func (r *Result) overrides() []override {
	var list []override
	for _, c := range r.Plan.OverrideConflicts {
		list = append(list, override{Node: c.Node, Nodes: c.Nodes, Container: c.Container, Winner: c.Winner, Loser: c.Loser})
	}
	for _, m := range r.Plan.MalformedOverrides {
		list = append(list, override{Node: m.Node, Container: m.Container, Problem: m.Problem})
	}
	return list
}

// String describes the conflict or the problem in one line.
func (o override) String() string {
	if o.Problem != "" {
		return fmt.Sprintf("annotation of node %s for the resources of %s cannot be read, and counts for nothing: %s",
			o.Node, o.Container, o.Problem)
	}
	where := "on node " + o.Node
	if o.Nodes > 1 {
		where = fmt.Sprintf("on %d nodes, the first of them %s", o.Nodes, o.Node)
	}
	return fmt.Sprintf("settings %s and %s both give resources to %s %s; the newer one, %s, counts",
		o.Winner, o.Loser, o.Container, where, o.Winner)
}

// resourcesText lists the resources that a pod gets in place of the template's; empty if there are none.
func resourcesText(list []placement.Resources) string {
	var words []string
	for _, one := range list {
		words = append(words, quantities(one.Resources.Limits, "limit of "+one.Container)...)
		words = append(words, quantities(one.Resources.Requests, "request of "+one.Container)...)
		if len(one.Resources.Limits)+len(one.Resources.Requests) == 0 {
			words = append(words, "no limits and requests of "+one.Container)
		}
	}
	return strings.Join(words, ", ")
}

// annotationsText lists the annotations that an action sets on a revision or removes from it.
func annotationsText(action *rollout.RevisionAction) string {
	changes := make(map[string]*string, len(action.Annotations)+len(action.RemoveAnnotations))
	for key, value := range action.Annotations {
		changes[key] = &value
	}
	for _, key := range action.RemoveAnnotations {
		changes[key] = nil
	}
	return strings.Join(pairs("annotation", changes), ", ")
}
