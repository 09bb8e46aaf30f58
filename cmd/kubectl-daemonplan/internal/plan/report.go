package plan

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/command"
	"github.com/daemonplan/daemonplan/status"
)

// report prints the plan as text. With wide, it adds a line for every node.
func (r *result) report(out io.Writer, wide bool) {
	r.reportStatus(out)
	fmt.Fprintf(out, "\n%s\n", printable(r.stateLine()))
	fmt.Fprintln(out, r.budgetLine())
	for _, line := range slices.Concat(r.strategyLines(), r.paceLines(), r.canaryLines()) {
		fmt.Fprintln(out, printable(line))
	}
	fmt.Fprintln(out)
	r.reportRevisions(out)
	fmt.Fprintln(out)
	r.reportInPlace(out)
	r.warn(out)
	for _, one := range r.overrides() {
		fmt.Fprintf(out, "Overrides: %s.\n", printable(one.String()))
	}
	r.reportActions(out)
	r.reportPods(out)
	fmt.Fprintln(out)
	for _, line := range r.waitLines() {
		fmt.Fprintln(out, printable(line))
	}
	fmt.Fprintln(out, printable(r.wakeLine()))
	for _, line := range r.claimLines() {
		fmt.Fprintln(out, line)
	}
	if line := r.ignoredLine(); line != "" {
		fmt.Fprintln(out, line)
	}
	if wide {
		fmt.Fprintln(out)
		r.reportNodes(out)
	}
}

// reportStatus prints the same as "kubectl get ds", with the same widths, or as "kubectl get eds".
func (r *result) reportStatus(out io.Writer) {
	if r.set.group == groupEDS {
		fmt.Fprint(out, command.Table(command.Get(r.view())))
		return
	}
	table := tabwriter.NewWriter(out, 6, 4, 3, ' ', 0)
	fmt.Fprintln(table, "NAME\tDESIRED\tCURRENT\tREADY\tUP-TO-DATE\tAVAILABLE\tNODE SELECTOR\tAGE")
	s := r.plan.Status
	fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\t%s\t%s\n", cells(r.set.Spec.Name, s.Desired, s.Current, s.Ready, s.Updated,
		s.Available, labels.FormatLabels(r.set.Spec.Template.Spec.NodeSelector), r.age())...)
	_ = table.Flush() // it writes to memory
}

func (r *result) age() string {
	created := r.set.meta.CreationTimestamp
	if created.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(r.snapshot.Now.Sub(created.Time))
}

// stateLine is the state, the reason for it, and how far the rollout is.
func (r *result) stateLine() string {
	line := fmt.Sprintf("%s (%s)", r.plan.Status.State, r.plan.Status.Reason)
	for _, condition := range r.plan.Status.Conditions {
		if condition.Type == status.ConditionProgressing {
			return line + ": " + condition.Message
		}
	}
	return line
}

// budgetLine shows how many nodes the rollout may make unavailable, and how many count as unavailable. The second number may be
// higher, as at a first installation, where no node has an available pod yet.
func (r *result) budgetLine() string {
	b, strategy := r.plan.Budget, r.set.Spec.Default().Strategy
	limit, spent := "maxUnavailable", agree(int(b.Unavailable), "node counts as unavailable", "nodes count as unavailable")
	value, most := strategy.MaxUnavailable, b.MaxUnavailable
	switch {
	case strategy.Type != rollout.RollingUpdate:
		return "Budget: none, the strategy is " + string(strategy.Type)
	case b.MaxSurge > 0:
		limit, spent = "maxSurge", agree(int(b.Surging), "node holds a place of it", "nodes hold a place of it")
		value, most = strategy.MaxSurge, b.MaxSurge
	}
	if value.Type == intstr.String {
		limit = fmt.Sprintf("%s %s of %d =", limit, value, b.Desired)
	}
	return fmt.Sprintf("Budget: %s %d; %s after this plan%s", limit, most, spent, r.partitionText())
}

// partitionText shows how many nodes are to stay at their old revision; empty without a partition.
func (r *result) partitionText() string {
	b, value := r.plan.Budget, r.set.Spec.Default().Strategy.Partition
	if b.Partition == 0 {
		return ""
	}
	text := "; partition "
	if value.Type == intstr.String {
		text += value.StrVal + " = "
	}
	return fmt.Sprintf("%s%d, %s taken", text, b.Partition, agree(int(b.Partitioned), "place is", "places are"))
}

// strategyLines show how pods are updated, and which nodes are. There are none if all nodes are updated by recreation.
func (r *result) strategyLines() []string {
	var lines []string
	strategy := r.set.Spec.Default().Strategy
	if strategy.Method != inplace.Recreate {
		line := "Method: " + string(strategy.Method)
		switch {
		case strategy.InPlace.CgroupV1:
			line += ", cpu and memory too (cgroup v1)"
		case strategy.InPlace.Resize:
			line += ", cpu and memory too"
		}
		lines = append(lines, line)
	}
	if r.plan.NodeSelector != "" {
		lines = append(lines, "Selector: "+r.plan.NodeSelector+"; other nodes are held")
	}
	if r.set.Spec.Strategy.PartitionedScaling {
		lines = append(lines, "Partitioned scaling: a first installation leaves the partition empty")
	}
	return lines
}

// reportActions prints the actions in the order in which they are to be executed.
func (r *result) reportActions(out io.Writer) {
	if r.plan.Empty() {
		fmt.Fprintln(out, "Nothing to do now.")
		return
	}
	reasons := r.reasons()
	for _, action := range r.plan.Revisions {
		if action.Verb == rollout.AnnotateRevision {
			fmt.Fprintf(out, "Annotate revision %s: %s\n", cells(action.Name, annotationsText(&action))...)
			continue
		}
		fmt.Fprintf(out, "%s revision %s (number %d)\n", cells(capital(action.Verb.String()), action.Name, action.Number)...)
	}
	r.reportPatches(out, reasons)
	if n := len(r.plan.Pulls); n > 0 {
		fmt.Fprintf(out, "Start %s:\n", counted(n, "pull"))
		list := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		for _, action := range r.plan.Pulls {
			fmt.Fprintf(list, "  %s\t%s\trevision %s\n", cells(action.Node, action.Image, action.Revision)...)
		}
		_ = list.Flush() // it writes to memory
	}
	if n := len(r.plan.Deletes); n > 0 {
		list := section(out, "Delete", n)
		for _, action := range r.plan.Deletes {
			fmt.Fprintf(list, "  %s\t%s\t%s\n", cells(action.Node, action.Pod, reasons(action.Node, action.Reason))...)
		}
		_ = list.Flush() // it writes to memory
	}
	if n := len(r.plan.Creates); n > 0 {
		list := section(out, "Create", n)
		for _, action := range r.plan.Creates {
			because := reasons(action.Node, action.Reason)
			if action.Canary {
				because += ", for the canary"
			}
			if text := resourcesText(action.Resources); text != "" {
				because += "; " + text
			}
			fmt.Fprintf(list, "  %s\trevision %s\t%s\n", cells(action.Node, action.Revision, because)...)
		}
		_ = list.Flush() // it writes to memory
	}
}

func section(out io.Writer, verb string, n int) *tabwriter.Writer {
	fmt.Fprintf(out, "%s %s:\n", verb, counted(n, "pod"))
	return tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
}

// reasons returns a function that explains an action on a node. The result is the reason code and, if the node's decision has the
// same reason, the text of that.
func (r *result) reasons() func(node string, reason rollout.Reason) string {
	decisions := make(map[string]*rollout.Decision)
	for i := range r.plan.Decisions {
		d := &r.plan.Decisions[i]
		decisions[d.Node] = d
	}
	return func(node string, reason rollout.Reason) string {
		d := decisions[node]
		if d == nil || d.Reason != reason {
			return reason.String()
		}
		return reason.String() + ": " + r.plan.Because(d)
	}
}

// waitLines show what nodes wait for: one line for each limit, and one line for each reason that is no limit but something under
// way.
func (r *result) waitLines() []string {
	var lines []string
	for _, wait := range r.plan.Waits() {
		line := wait.String()
		if len(wait.Because) > 0 {
			line = fmt.Sprintf("%s: %s %d is used up by %s",
				nodesWait(len(wait.Nodes)), wait.Limit, r.most(wait.Limit), some(wait.Because))
		}
		lines = append(lines, line)
	}
	underWay := make(map[rollout.Reason][]string)
	for i := range r.plan.Decisions {
		if d := &r.plan.Decisions[i]; d.Verb == rollout.VerbWait && d.Limit == rollout.LimitNone {
			underWay[d.Reason] = append(underWay[d.Reason], d.Node)
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(underWay)) {
		nodes := underWay[reason]
		lines = append(lines, fmt.Sprintf("%s: %s (%s)", nodesWait(len(nodes)), reason, some(nodes)))
	}
	return lines
}

func nodesWait(n int) string { return agree(n, "node waits", "nodes wait") }

// most is how many nodes a limit allows.
func (r *result) most(limit rollout.Limit) int32 {
	switch limit {
	case rollout.LimitMaxSurge:
		return r.plan.Budget.MaxSurge
	case rollout.LimitSlowStart:
		return r.plan.Budget.SlowStart
	default:
		return r.plan.Budget.MaxUnavailable
	}
}

// some lists the first few names.
func some(names []string) string {
	const most = 8
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// wakeLine says when the plan is to be made again, and why then. A fraction of a second is rounded up, because a plan that is
// made earlier would find that nothing has changed.
func (r *result) wakeLine() string {
	wake := r.plan.NextWake
	if wake.IsZero() {
		return "Look again when something changes: time alone changes nothing."
	}
	in := wake.Sub(r.snapshot.Now)
	if rest := in % time.Second; rest > 0 {
		in += time.Second - rest
	}
	line := fmt.Sprintf("Look again at %s (in %s)", r.snapshot.Now.Add(in).UTC().Format(time.RFC3339Nano), in)
	for i := range r.plan.Decisions {
		d := &r.plan.Decisions[i]
		if d.Until.Equal(wake) {
			return line + ": " + d.Node + " waits until then, because " + r.plan.Because(d)
		}
	}
	return line + "."
}

func (r *result) claimLines() []string {
	var lines []string
	if line := r.takeoverLine(); line != "" {
		lines = append(lines, line)
	}
	if n := len(r.claims.Adopt); n > 0 {
		lines = append(lines, agree(n, "pod is", "pods are")+" owned by nobody and counted here: to be adopted.")
	}
	if n := len(r.claims.Release); n > 0 {
		lines = append(lines, agree(n, "pod is", "pods are")+" no more matched by the selector: to be released.")
	}
	return lines
}

func (r *result) reportNodes(out io.Writer) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NODE\tSTATE\tTARGET\tVERB\tREASON\tLIMIT\tUNTIL\tPOD")
	for i := range r.plan.Decisions {
		d := &r.plan.Decisions[i]
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", cells(cmp.Or(d.Node, "<none>"), d.State, d.Target, d.Verb,
			d.Reason, dash(d.Limit.String()), dash(timestamp(d.Until)), cmp.Or(d.Pod, "-"))...)
	}
	_ = table.Flush() // it writes to memory
}

// explain prints the explanation of one node.
func (r *result) explain(out io.Writer, node string) error {
	answers := 0
	for i := range r.plan.Decisions {
		if r.plan.Decisions[i].Node == node {
			answers++
		}
	}
	if answers == 0 {
		return fmt.Errorf("-explain: there is no node %q in the input", node)
	}
	// A node that is gone has one line for each of its pods. If there are more lines, names contain line breaks.
	text := strings.ReplaceAll(r.plan.Explain(node), node, printable(node))
	lines := strings.Split(text, "\n")
	if len(lines) != answers {
		lines = []string{text}
	}
	for _, line := range lines {
		fmt.Fprintln(out, printable(line))
	}
	r.explainPods(out, node)
	r.warn(out)
	return nil
}

func timestamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return metav1.NewTime(t).UTC().Format(time.RFC3339)
}

func dash(text string) string {
	if text == "" || text == rollout.LimitNone.String() {
		return "-"
	}
	return text
}

func capital(text string) string {
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
