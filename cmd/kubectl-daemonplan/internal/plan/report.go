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

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/command"
	"github.com/daemonplan/daemonplan/status"
)

// Report prints the plan as text. With wide, it adds a line for every node. Without it, the report of a large fleet is brief: it
// has groups and numbers of nodes.
func (r *Result) Report(out io.Writer, wide bool) {
	shown := *r
	shown.brief = !wide && r.isLarge()
	shown.report(out)
	if shown.omits {
		fmt.Fprintln(out, "The fleet is large, and these are groups: -o wide has a line for every node.")
	}
	if wide {
		fmt.Fprintln(out)
		fmt.Fprint(out, r.nodeTable())
	}
}

func (r *Result) report(out io.Writer) {
	r.reportProgress(out)
	fmt.Fprintln(out)
	r.reportRevisions(out)
	fmt.Fprintln(out)
	r.reportInPlace(out)
	r.warn(out)
	for _, one := range r.overrides() {
		fmt.Fprintf(out, "Overrides: %s.\n", text.Printable(one.String()))
	}
	r.reportActions(out)
	r.reportPods(out)
	fmt.Fprintln(out)
	r.reportWaits(out)
	r.reportContrast(out)
	for _, line := range r.claimLines() {
		fmt.Fprintln(out, line)
	}
	if line := r.ignoredLine(); line != "" {
		fmt.Fprintln(out, line)
	}
}

// Status prints how far the rollout is, and what nodes wait for. If it goes on only when somebody acts, the error is that.
func (r *Result) Status(out io.Writer) error {
	r.TellWhose(out)
	r.reportProgress(out)
	fmt.Fprintln(out)
	r.reportWaits(out)
	r.warn(out)
	overview := r.overview()
	return overview.Stopped()
}

// reportProgress prints the status, the state, and what limits the rollout.
func (r *Result) reportProgress(out io.Writer) {
	r.reportStatus(out)
	fmt.Fprintf(out, "\n%s\n", text.Printable(r.stateLine()))
	fmt.Fprintln(out, r.budgetLine())
	for _, line := range slices.Concat(r.strategyLines(), r.paceLines(), r.failureLines(), r.canaryLines()) {
		fmt.Fprintln(out, text.Printable(line))
	}
	r.reportParts(out)
}

// reportWaits prints what nodes wait for, and when to look again.
func (r *Result) reportWaits(out io.Writer) {
	waits := r.first(r.waitLines(), briefWaits, "more line of nodes that wait", "more lines of nodes that wait")
	for _, line := range append(waits, r.wakeLine()) {
		fmt.Fprintln(out, r.cut(text.Printable(line)))
	}
}

// reportStatus prints the same as "kubectl get ds", with the same widths, or as "kubectl get eds".
func (r *Result) reportStatus(out io.Writer) {
	if r.Set.Group == objects.GroupEDS {
		fmt.Fprint(out, command.Table(command.Get(r.view())))
		return
	}
	table := tabwriter.NewWriter(out, 6, 4, 3, ' ', 0)
	fmt.Fprintln(table, "NAME\tDESIRED\tCURRENT\tREADY\tUP-TO-DATE\tAVAILABLE\tNODE SELECTOR\tAGE")
	s := r.Plan.Status
	fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\t%s\t%s\n", text.Cells(r.Set.Spec.Name, s.Desired, s.Current, s.Ready, s.Updated,
		s.Available, labels.FormatLabels(r.Spec.Template.Spec.NodeSelector), r.age())...)
	_ = table.Flush() // it writes to memory
}

func (r *Result) age() string {
	created := r.Set.Meta.CreationTimestamp
	if created.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(r.Snapshot.Now.Sub(created.Time))
}

// stateLine is the state, the reason for it, and how far the rollout is.
func (r *Result) stateLine() string {
	return r.progressOf(fmt.Sprintf("%s (%s)", r.Plan.Status.State, r.Plan.Status.Reason))
}

// progressText is the same for a small screen, with the reason only if the state and how far it is do not tell it.
func (r *Result) progressText() string {
	switch reason := r.Plan.Status.Reason; reason {
	case status.RolloutInProgress, status.WaitingForAvailability, status.PausedBySpec, status.FrozenBySpec, status.CanaryOnTrial:
		return r.progressOf(r.Plan.Status.State.String())
	default:
		return r.stateLine()
	}
}

func (r *Result) progressOf(line string) string {
	for _, condition := range r.Plan.Status.Conditions {
		if condition.Type == status.ConditionProgressing {
			return line + ": " + condition.Message
		}
	}
	return line
}

// budgetLine shows how many nodes the rollout may make unavailable, and how many count as unavailable. The second number may be
// higher, as at a first installation, where no node has an available pod yet.
func (r *Result) budgetLine() string {
	b := r.Plan.Budget
	limit, most, taken := r.budget()
	spent := text.Agree(int(taken), "node counts as unavailable", "nodes count as unavailable")
	switch {
	case limit == "":
		return "Budget: " + r.noBudget()
	case b.MaxSurge > 0:
		spent = text.Agree(int(taken), "node holds a place of it", "nodes hold a place of it")
	}
	if strings.Contains(limit, "%") {
		limit += " ="
	}
	return fmt.Sprintf("Budget: %s %d; %s after this plan%s", limit, most, spent, r.partitionText())
}

// budgetText is the same for a small screen.
func (r *Result) budgetText() string {
	limit, most, taken := r.budget()
	if limit == "" {
		return r.noBudget()
	}
	return fmt.Sprintf("%d of %s taken after this plan (%s)%s", taken, text.Counted(int(most), "node"), limit, r.partitionText())
}

// budget is the limit in words, how many nodes it allows, and how many take it up. Without a limit it is empty.
func (r *Result) budget() (limit string, most, taken int32) {
	b, strategy := r.Plan.Budget, r.Spec.Default().Strategy
	limit, value, most, taken := "maxUnavailable", strategy.MaxUnavailable, b.MaxUnavailable, b.Unavailable
	switch {
	case strategy.Type != rollout.RollingUpdate:
		return "", 0, 0
	case b.MaxSurge > 0:
		limit, value, most, taken = "maxSurge", strategy.MaxSurge, b.MaxSurge, b.Surging
	}
	if value.Type == intstr.String {
		limit = fmt.Sprintf("%s %s of %d", limit, value, b.Desired)
	}
	return limit, most, taken
}

func (r *Result) noBudget() string {
	return "none, the strategy is " + string(r.Spec.Default().Strategy.Type)
}

// partitionText shows how many nodes are to stay at their old revision; empty without a partition.
func (r *Result) partitionText() string {
	b, value := r.Plan.Budget, r.Spec.Default().Strategy.Partition
	if b.Partition == 0 {
		return ""
	}
	words := "; partition "
	if value.Type == intstr.String {
		words += value.StrVal + " = "
	}
	return fmt.Sprintf("%s%d, %s taken", words, b.Partition, text.Agree(int(b.Partitioned), "place is", "places are"))
}

// strategyLines show how pods are updated, and which nodes are. There are none if all nodes are updated by recreation.
func (r *Result) strategyLines() []string {
	var lines []string
	strategy := r.Spec.Default().Strategy
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
	if r.Plan.NodeSelector != "" {
		lines = append(lines, "Selector: "+r.Plan.NodeSelector+"; other nodes are held")
	}
	if r.Spec.Strategy.PartitionedScaling {
		lines = append(lines, "Partitioned scaling: a first installation leaves the partition empty")
	}
	return lines
}

// waitLines show what nodes wait for: one line for each limit, and one line for each reason that is no limit but something under
// way.
func (r *Result) waitLines() []string {
	var lines []string
	for i := range r.Plan.Blockers {
		b := &r.Plan.Blockers[i]
		line := "In the way: "
		if b.Count > 0 {
			line += r.some(b.Nodes)
			if more := int(b.Count) - len(b.Nodes); more > 0 {
				line += fmt.Sprintf(" and %d more", more)
			}
			if !b.Since.IsZero() {
				line += r.since(metav1.NewTime(b.Since))
			}
			line += ": "
		}
		lines = append(lines, line+text.Printable(b.Why))
		for _, help := range b.Helps {
			lines = append(lines, "  what helps: "+text.Printable(help))
		}
	}
	waits := r.Plan.Waits()
	if r.brief && len(waits) > briefWaits { // so that what most nodes wait for is among what is shown
		slices.SortStableFunc(waits, func(a, b rollout.WaitingNodes) int { return len(b.Nodes) - len(a.Nodes) })
	}
	for _, wait := range waits {
		line := wait.String()
		if r.isBudget(wait.Limit) && len(wait.Because) > 0 {
			line = fmt.Sprintf("%s: %s %d is used up by %s",
				nodesWait(len(wait.Nodes)), wait.Limit, r.most(wait.Limit), r.some(wait.Because))
		}
		lines = append(lines, line)
	}
	underWay := make(map[rollout.Reason][]string)
	for i := range r.Plan.Decisions {
		if d := &r.Plan.Decisions[i]; d.Verb == rollout.VerbWait && d.Limit == rollout.LimitNone &&
			r.Plan.CauseOf(d.Node) == nil {
			underWay[d.Reason] = append(underWay[d.Reason], d.Node)
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(underWay)) {
		nodes := underWay[reason]
		lines = append(lines, fmt.Sprintf("%s: %s (%s)", nodesWait(len(nodes)), underWayWords(reason), r.some(nodes)))
	}
	return lines
}

// underWayWords say what is under way on nodes that wait for it. They say of what: to an operator, NotReady alone is a node.
func underWayWords(reason rollout.Reason) string {
	switch reason {
	case rollout.ReasonNotReady:
		return "new pods are not ready yet"
	case rollout.ReasonTerminating:
		return "pods are terminating"
	case rollout.ReasonRequested:
		return "earlier requests are not observed yet"
	case rollout.ReasonUpdating:
		return "pods are being updated"
	case rollout.ReasonRepairFirst:
		return "this controller repairs first, and updates nothing in the same step"
	case rollout.ReasonInPlaceUnreadable:
		return "the records of earlier updates cannot be read"
	case rollout.ReasonRevisionUnreadable:
		return "the revision that nodes are to have cannot be read"
	default:
		return reason.String()
	}
}

func nodesWait(n int) string { return text.Agree(n, "node waits", "nodes wait") }

// isBudget reports whether a limit is one of those of [Result.most]. Domains, stages and failures say by themselves who is waited
// for.
func (*Result) isBudget(limit rollout.Limit) bool {
	return limit == rollout.LimitMaxUnavailable || limit == rollout.LimitMaxSurge || limit == rollout.LimitSlowStart
}

// most is how many nodes a limit allows.
func (r *Result) most(limit rollout.Limit) int32 {
	switch limit {
	case rollout.LimitMaxSurge:
		return r.Plan.Budget.MaxSurge
	case rollout.LimitSlowStart:
		return r.Plan.Budget.SlowStart
	default:
		return r.Plan.Budget.MaxUnavailable
	}
}

// wakeLine says when the plan is to be made again, and why then. A fraction of a second is rounded up, because a plan that is
// made earlier would find that nothing has changed.
func (r *Result) wakeLine() string {
	wake := r.Plan.NextWake
	if wake.IsZero() {
		return "Look again when something changes: time alone changes nothing."
	}
	in := roundUp(wake.Sub(r.Snapshot.Now))
	line := fmt.Sprintf("Look again at %s (in %s)", r.Snapshot.Now.Add(in).UTC().Format(time.RFC3339), text.Duration(in))
	for i := range r.Plan.Decisions {
		d := &r.Plan.Decisions[i]
		if d.Until.Equal(wake) {
			return line + ": " + d.Node + " waits until then, because " + r.Plan.Because(d)
		}
	}
	return line + "."
}

func roundUp(d time.Duration) time.Duration {
	if rest := d % time.Second; rest > 0 {
		d += time.Second - rest
	}
	return d
}

// wakeText is the same for a small screen, without the reason, which is among what nodes wait for.
func (r *Result) wakeText() string {
	if r.Plan.NextWake.IsZero() {
		return "when something changes"
	}
	in := max(0, roundUp(r.Plan.NextWake.Sub(r.Snapshot.Now)))
	return fmt.Sprintf("in %s, at %s, or when something changes", text.Duration(in),
		r.Snapshot.Now.Add(in).UTC().Format(time.TimeOnly))
}

func (r *Result) claimLines() []string {
	var lines []string
	if line := r.takeoverLine(); line != "" {
		lines = append(lines, line)
	}
	if n := len(r.claims.Adopt); n > 0 {
		lines = append(lines, text.Agree(n, "pod is", "pods are")+" owned by nobody and counted here: to be adopted.")
	}
	if n := len(r.claims.Release); n > 0 {
		lines = append(lines, text.Agree(n, "pod is", "pods are")+" no more matched by the selector: to be released.")
	}
	return lines
}

func (r *Result) nodeTable() string {
	var out strings.Builder
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NODE\tSTATE\tTARGET\tVERB\tREASON\tLIMIT\tUNTIL\tPOD")
	for i := range r.Plan.Decisions {
		d := &r.Plan.Decisions[i]
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", text.Cells(cmp.Or(d.Node, "<none>"), d.State, d.Target, d.Verb,
			d.Reason, dash(d.Limit.String()), dash(timestamp(d.Until)), cmp.Or(d.Pod, "-"))...)
	}
	_ = table.Flush() // it writes to memory
	return out.String()
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
