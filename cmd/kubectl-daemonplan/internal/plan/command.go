package plan

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/command"
	"github.com/daemonplan/daemonplan/rollout/manifest"
)

// These commands show something. All others are those of package command.
const (
	wordGet        = "get"
	wordRevisions  = "revisions"
	wordCanaryPods = "canary pods"
	wordPods       = "pods"
	wordDiff       = "diff"
)

// spellings are the names in the kubectl plugin of ExtendedDaemonSet of commands that have another name here.
var spellings = [...][2]string{
	{"get-ers", wordRevisions},
	{"pause-rolling-update", "pause"},
	{"unpause-rolling-update", "unpause"},
	{"freeze-rollout", "freeze"},
	{"unfreeze-rollout", "unfreeze"},
	{"canary reset", "canary retry"},
}

// takeWords splits the words of a command and the name of a set off the beginning of the arguments.
func takeWords(args []string) (words, set string, rest []string, err error) {
	n := 0
	for n < len(args) && !strings.HasPrefix(args[n], "-") {
		n++
	}
	given, rest := args[:n], args[n:]
	if n == 0 {
		return "", "", rest, nil
	}
	length := 1
	if given[0] == "canary" {
		length = min(2, n)
	}
	words = strings.Join(given[:length], " ")
	for _, spelling := range spellings {
		if words == spelling[0] {
			words = spelling[1]
		}
	}
	if !slices.Contains(knownWords(), words) {
		return "", "", nil, fmt.Errorf("there is no command %q; there are %s; files are given with -f",
			words, strings.Join(knownWords(), ", "))
	}
	switch given = given[length:]; len(given) {
	case 0:
		return words, "", rest, nil
	case 1:
		return words, given[0], rest, nil
	default:
		return "", "", nil, fmt.Errorf("unexpected argument %q; files are given with -f", given[1])
	}
}

// knownWords are all commands.
func knownWords() []string {
	list := []string{wordGet, wordRevisions, wordPods, wordDiff, wordCanaryPods}
	for _, c := range command.All() {
		list = append(list, c.String())
	}
	return list
}

// view is what package command needs of a plan.
func (r *result) view() command.View {
	return command.View{
		Spec: r.set.Spec, Snapshot: r.snapshot, Plan: r.plan, Created: r.set.meta.CreationTimestamp.Time,
	}
}

// command prints the answer to the command: a table, or a patch and its effect.
func (r *result) command(out io.Writer, opts options) error {
	view := r.view()
	switch opts.words {
	case wordGet:
		fmt.Fprint(out, command.Table(command.Get(view)))
	case wordRevisions:
		fmt.Fprint(out, command.Table(command.Revisions(view)...))
	case wordCanaryPods:
		pods := command.CanaryPods(view)
		if pods == nil {
			return errors.New("canary pods: no revision is on trial")
		}
		for _, line := range r.canaryLines() {
			fmt.Fprintln(out, printable(line))
		}
		fmt.Fprint(out, command.Table(pods...))
	case wordPods:
		pods := command.NotReadyPods(view)
		fmt.Fprintf(out, "%s not ready.\n", agree(len(pods), "pod is", "pods are"))
		fmt.Fprint(out, command.Table(pods...))
	case wordDiff:
		if err := r.differ(out); err != nil {
			return err
		}
	default:
		return r.give(out, opts)
	}
	r.warn(out)
	return nil
}

// differ prints the changes from the active revision to the new one.
func (r *result) differ(out io.Writer) error {
	d, err := command.CompareRevisions(r.view())
	if err != nil {
		return fmt.Errorf("diff: %w", err)
	}
	if len(d.Changes) == 0 {
		fmt.Fprintf(out, "%s is the active revision, and there is no other one to compare with.\n", printable(d.To))
		return nil
	}
	fmt.Fprintf(out, "From %s to %s:\n", cells(d.From, d.To)...)
	for _, change := range d.Changes {
		fmt.Fprintf(out, "  %s\n", printable(change.String()))
	}
	return nil
}

// give prints the patch that gives a command to the set, and what the next plan would do.
func (r *result) give(out io.Writer, opts options) error {
	c, err := command.Parse(opts.words)
	if err != nil {
		return err
	}
	patch, err := c.Patch(r.view())
	if err != nil {
		return fmt.Errorf("%s: %w", r.input.origins[r.set], err)
	}
	next, err := r.after(patch, opts)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, printable(patch.Kubectl(r.set.Spec)))
	fmt.Fprintln(out)
	r.compare(out, next)
	next.warn(out)
	return nil
}

// after is the next plan if the set is patched and nothing else happens.
func (r *result) after(patch command.Patch, opts options) (*result, error) {
	patched, err := patch.Apply(r.set.object.JSON)
	if err != nil {
		return nil, err
	}
	decoded, err := manifest.Decode(patched)
	if err != nil {
		return nil, err
	}
	next := &set{Set: decoded, group: r.set.group, meta: r.set.meta, object: r.set.object}
	next.Spec.Namespace = r.set.Spec.Namespace
	next.Memory = r.set.Memory
	r.input.origins[next] = r.input.origins[r.set]
	r.input.surround(next)
	if err := opts.settings.apply(r.input, next); err != nil {
		return nil, err
	}
	return r.input.decide(next, r.snapshot.Now)
}

// compare prints how the next plan differs from this one, and which actions it has.
func (r *result) compare(out io.Writer, next *result) {
	fmt.Fprintf(out, "State: %s, then %s\n", cells(r.stateText(), next.stateText())...)
	if r.set.Spec.Strategy.Canary != nil {
		fmt.Fprintf(out, "Canary: %s\n  then: %s\n", cells(r.canaryLine(), next.canaryLine())...)
	}
	r.compareNodes(out, next)
	fmt.Fprintln(out, "\nThe next plan then:")
	next.reportActions(out)
	for _, line := range next.waitLines() {
		fmt.Fprintln(out, printable(line))
	}
	fmt.Fprintln(out, printable(next.wakeLine()))
}

func (r *result) stateText() string {
	return fmt.Sprintf("%s (%s)", r.plan.Status.State, r.plan.Status.Reason)
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
func (r *result) compareNodes(out io.Writer, next *result) {
	effects := command.Effects(r.plan, next.plan)
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
	fmt.Fprintf(out, "%s treated otherwise:\n", agree(len(effects), "node is", "nodes are"))
	for _, key := range order {
		group := alike[key]
		names := make([]string, len(group))
		for i, e := range group {
			names[i] = cmp.Or(e.Node, "<none>")
		}
		title, now, then := names[0], r.treated(group[0].Before), next.treated(group[0].After)
		if len(group) > 1 {
			title, now, then = fmt.Sprintf("%d nodes: %s", len(group), some(names)), key.now.String(), key.then.String()
		}
		fmt.Fprintf(out, "  %s\n    now:  %s\n    then: %s\n", cells(title, now, then)...)
	}
}

// treated is what the plan decides for a node, and why.
func (r *result) treated(d *rollout.Decision) string {
	if d == nil {
		return "nothing"
	}
	text := fmt.Sprintf("%s, %s: %s", d.State, d.Verb, r.plan.Because(d))
	if d.Verb == rollout.VerbNone {
		text = fmt.Sprintf("%s: %s", d.State, r.plan.Because(d))
	}
	return text
}
