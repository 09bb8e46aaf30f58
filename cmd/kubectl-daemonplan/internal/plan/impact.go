package plan

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// Impact prints what the update changes in the pods, on which nodes and in which order, and which nodes it does not reach.
func (r *Result) Impact(out io.Writer) error {
	if err := r.Diff(out); err != nil {
		return err
	}
	var updated []string
	var others []group
	for i := range r.Plan.Decisions {
		d := &r.Plan.Decisions[i]
		if d.Node == "" {
			continue
		}
		if why := r.unreached(d); why != "" {
			others = gather(others, why, d.Node)
			continue
		}
		updated = append(updated, d.Node)
	}
	fmt.Fprintln(out)
	if len(updated) > 0 {
		fmt.Fprintf(out, "%s updated:\n", text.Agree(len(updated), "node is", "nodes are"))
		if err := r.reportOrder(out, len(updated)); err != nil {
			return err
		}
	}
	if len(others) > 0 {
		fmt.Fprintln(out, "Not updated:")
		slices.SortStableFunc(others, func(a, b group) int { return cmp.Compare(len(b.nodes), len(a.nodes)) })
		for _, g := range others {
			fmt.Fprintf(out, "  %s: %s (%s)\n", text.Cells(text.Counted(len(g.nodes), "node"), g.why, text.Some(g.nodes))...)
		}
	}
	fmt.Fprintln(out)
	return nil
}

// group is a list of nodes that have something in common.
type group struct {
	why   string
	nodes []string
}

func gather(groups []group, why, node string) []group {
	for i := range groups {
		if groups[i].why == why {
			groups[i].nodes = append(groups[i].nodes, node)
			return groups
		}
	}
	return append(groups, group{why: why, nodes: []string{node}})
}

// unreached is why the update does not touch a node; empty if it does, now or later.
func (r *Result) unreached(d *rollout.Decision) string {
	switch {
	case d.State == rollout.StateVanished:
		return "the node does not exist any more"
	case d.State == rollout.StateKept && r.By.IsStock() && !r.hasPod(d):
		return "" // that controller deletes the pod there, though no new one can start
	case d.State == rollout.StateIneligible || d.State == rollout.StateLeaving || d.State == rollout.StateKept:
		return "the set runs no new pod there: " + strings.ReplaceAll(r.Plan.Because(d), d.Node, "the node")
	case d.State == rollout.StateUpdated || d.State == rollout.StateStarting && r.hasPod(d):
		return "the pod is of the new revision already"
	case d.State == rollout.StateMissing && d.Verb == rollout.VerbCreate:
		return "there is no pod; a new one is created"
	case d.Verb == rollout.VerbHold:
		return "held at the old revision: " + limitText(d)
	default:
		return ""
	}
}

func limitText(d *rollout.Decision) string {
	if d.Limit == rollout.LimitNone {
		return d.Reason.String()
	}
	return d.Limit.String()
}

// hasPod reports whether a pod of the update revision is on the node.
func (r *Result) hasPod(d *rollout.Decision) bool {
	return slices.ContainsFunc(r.pods()[d.Node], func(hash string) bool { return hash == r.Plan.Status.UpdateRevision })
}

// pods are the revisions of the pods of each node.
func (r *Result) pods() map[string][]string {
	if r.hashes == nil {
		r.hashes = make(map[string][]string)
		for _, pod := range r.Snapshot.Pods {
			node := nodeOf(pod)
			r.hashes[node] = append(r.hashes[node], pod.Labels[appsv1.ControllerRevisionHashLabelKey])
		}
	}
	return r.hashes
}

// reportOrder prints which nodes are begun first. The rollout is played with the real planner, in a cluster where nothing takes
// time and nothing fails, up to a few groups of nodes.
func (r *Result) reportOrder(out io.Writer, total int) error {
	const most = 3
	groups, err := r.order(most)
	if err != nil {
		return err
	}
	shown := 0
	for i, nodes := range groups {
		word := []string{"first", "then", "then"}[i]
		if i == 0 && r.Snapshot.Now.Before(r.begins) {
			word = "first, in " + text.Duration(r.begins.Sub(r.Snapshot.Now))
		}
		fmt.Fprintf(out, "  %s: %s\n", text.Cells(word, text.Some(nodes))...)
		shown += len(nodes)
	}
	if shown < total {
		fmt.Fprintf(out, "  %s later, as the budget allows\n", text.Counted(total-shown, "node"))
	}
	return nil
}

// order lists the nodes that are begun together, the first groups of them.
func (r *Result) order(most int) ([][]string, error) {
	snapshot := r.Snapshot
	scenario := simulate.Scenario{
		Seed: chance, Spec: r.Spec, Fleet: simulate.Fleet{Snapshot: &snapshot, Claims: r.Input.Claims},
	}
	r.By.Simulate(&scenario, r.Set)
	s, err := simulate.New(scenario)
	if err != nil {
		return nil, err
	}
	var groups [][]string
	begun := make(map[string]bool)
	_, err = s.Run(func(_ *simulate.Simulation, step *simulate.Step) bool {
		var nodes []string
		for i := range step.Plan.Decisions {
			d := &step.Plan.Decisions[i]
			if begins(d.Verb) && !begun[d.Node] {
				begun[d.Node] = true
				nodes = append(nodes, d.Node)
			}
		}
		if len(nodes) > 0 {
			if len(groups) == 0 {
				r.begins = step.Snapshot.Now
			}
			groups = append(groups, nodes)
		}
		return len(groups) == most
	})
	if failed, ok := errors.AsType[*simulate.StepError](err); ok {
		return nil, fmt.Errorf("the order of the nodes cannot be told: %w", failed)
	}
	return groups, err
}

// begins reports whether the verb begins the update of a node.
func begins(verb rollout.Verb) bool {
	return verb == rollout.VerbReplace || verb == rollout.VerbUpdate || verb == rollout.VerbSurge || verb == rollout.VerbPrepare
}
