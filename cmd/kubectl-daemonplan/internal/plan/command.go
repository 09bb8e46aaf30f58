package plan

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/command"
)

// view is what package command needs of a plan.
func (r *Result) view() command.View {
	return command.View{
		Spec: r.Spec, Snapshot: r.Snapshot, Plan: r.Plan, Created: r.Set.Meta.CreationTimestamp.Time,
	}
}

// Get has one line about the set.
func (r *Result) Get() (Sheet, error) {
	return Sheet{Table: command.Table(command.Get(r.view())), After: r.warningLines()}, nil
}

// ListRevisions has one line for each revision.
func (r *Result) ListRevisions() (Sheet, error) {
	return Sheet{Table: command.Table(command.Revisions(r.view())...), After: r.warningLines()}, nil
}

// NotReadyPods has the pods that are not ready.
func (r *Result) NotReadyPods() (Sheet, error) {
	pods := command.NotReadyPods(r.view())
	return Sheet{
		Before: []string{text.Agree(len(pods), "pod is", "pods are") + " not ready."},
		Table:  command.Table(pods...), After: r.warningLines(),
	}, nil
}

// NodeRows has one line for each node.
func (r *Result) NodeRows() Sheet {
	return Sheet{Before: r.whose(), Table: r.nodeTable(), After: r.warningLines()}
}

// CanaryPods has the canary, with its pods.
func (r *Result) CanaryPods() (Sheet, error) {
	pods := command.CanaryPods(r.view())
	if pods == nil {
		return Sheet{}, errors.New("canary pods: no revision is on trial")
	}
	return Sheet{Before: r.canaryLines(), Table: command.Table(pods...), After: r.warningLines()}, nil
}

// Give is the patch that gives a command to the set, and the next plan if the set is patched and nothing else happens.
func (r *Result) Give(c command.Command, settings Settings) (command.Patch, *Result, error) {
	patch, err := c.Patch(r.view())
	if err != nil {
		return command.Patch{}, nil, fmt.Errorf("%s: %w", r.Input.SetPlace(r.Set), err)
	}
	patched, err := patch.Apply(r.Set.Object.JSON)
	if err != nil {
		return command.Patch{}, nil, err
	}
	set, err := r.Set.With(patched)
	if err != nil {
		return command.Patch{}, nil, err
	}
	next, err := r.With(set, settings)
	return patch, next, err
}

// With is the plan with another set in the place of this one.
func (r *Result) With(set *objects.Set, settings Settings) (*Result, error) {
	r.Input.Adopt(set, r.Set)
	r.Input.Surround(set)
	if err := settings.Apply(r.Input, set); err != nil {
		return nil, err
	}
	return Decide(r.Input, set, r.Snapshot.Now, r.By)
}

// Compare prints how the next plan differs from this one, and which actions it has.
func (r *Result) Compare(out io.Writer, next *Result) {
	r.TellWhose(out)
	fmt.Fprintf(out, "State: %s, then %s\n", text.Cells(r.stateText(), next.stateText())...)
	if r.Spec.Strategy.Canary != nil {
		fmt.Fprintf(out, "Canary: %s\n  then: %s\n", text.Cells(r.canaryLine(), next.canaryLine())...)
	}
	r.compareNodes(out, next)
	fmt.Fprintln(out, "\nThe next plan then:")
	next.reportActions(out)
	next.reportWaits(out)
	next.warn(out)
}

func (r *Result) stateText() string {
	return fmt.Sprintf("%s (%s)", r.Plan.Status.State, r.Plan.Status.Reason)
}

// treatment is what a plan decides for nodes. It leaves out the names of pods and the numbers, so that the treatments of several
// nodes can be equal.
type treatment struct {
	state  rollout.NodeState
	verb   rollout.Verb
	reason rollout.Reason
	limit  rollout.Limit
	none   bool // there is no decision
}

func treatmentOf(d *rollout.Decision) treatment {
	if d == nil {
		return treatment{none: true}
	}
	return treatment{state: d.State, verb: d.Verb, reason: d.Reason, limit: d.Limit}
}

// String is the treatment of several nodes.
func (t treatment) String() string {
	switch {
	case t.none:
		return "nothing"
	case t.limit != rollout.LimitNone:
		return fmt.Sprintf("%s, %s: %s (%s)", t.state, t.verb, t.reason, t.limit)
	default:
		return fmt.Sprintf("%s, %s: %s", t.state, t.verb, t.reason)
	}
}

// compareNodes prints the nodes for which the next plan decides something else. Nodes with the same two decisions are one entry.
func (r *Result) compareNodes(out io.Writer, next *Result) {
	effects := command.Effects(r.Plan, next.Plan)
	if len(effects) == 0 {
		fmt.Fprintln(out, "No node is treated otherwise.")
		return
	}
	type both struct{ now, then treatment }
	var order []both
	alike := make(map[both][]command.Effect)
	for _, e := range effects {
		key := both{treatmentOf(e.Before), treatmentOf(e.After)}
		if alike[key] == nil {
			order = append(order, key)
		}
		alike[key] = append(alike[key], e)
	}
	fmt.Fprintf(out, "%s treated otherwise:\n", text.Agree(len(effects), "node is", "nodes are"))
	for _, key := range order {
		group := alike[key]
		names := make([]string, len(group))
		for i, e := range group {
			names[i] = cmp.Or(e.Node, "<none>")
		}
		title, now, then := names[0], r.treated(group[0].Before), next.treated(group[0].After)
		if len(group) > 1 {
			title, now, then = fmt.Sprintf("%d nodes: %s", len(group), text.Some(names)), key.now.String(), key.then.String()
		}
		fmt.Fprintf(out, "  %s\n    now:  %s\n    then: %s\n", text.Cells(title, now, then)...)
	}
}

// treated is what the plan decides for a node, and why.
func (r *Result) treated(d *rollout.Decision) string {
	if d == nil {
		return "nothing"
	}
	words := fmt.Sprintf("%s, %s: %s", d.State, d.Verb, r.Plan.Because(d))
	if d.Verb == rollout.VerbNone {
		words = fmt.Sprintf("%s: %s", d.State, r.Plan.Because(d))
	}
	return words
}
