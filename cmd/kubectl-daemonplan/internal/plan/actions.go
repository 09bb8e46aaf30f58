package plan

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
	"github.com/daemonplan/daemonplan/rollout"
)

// reportActions prints the actions in the order in which they are to be executed.
func (r *Result) reportActions(out io.Writer) {
	if r.Plan.Empty() {
		fmt.Fprintln(out, "Nothing to do now.")
		return
	}
	reasons := r.reasons()
	for _, action := range r.Plan.Revisions {
		if action.Verb == rollout.AnnotateRevision {
			fmt.Fprintf(out, "Annotate revision %s: %s\n", text.Cells(action.Name, annotationsText(&action))...)
			continue
		}
		fmt.Fprintf(out, "%s revision %s (number %d)\n", text.Cells(capital(action.Verb.String()), action.Name, action.Number)...)
	}
	r.reportPatches(out, reasons)
	r.reportPulls(out)
	r.reportDeletes(out, reasons)
	r.reportCreates(out, reasons)
}

func (r *Result) reportPulls(out io.Writer) {
	if len(r.Plan.Pulls) == 0 {
		return
	}
	fmt.Fprintf(out, "Start %s:\n", text.Counted(len(r.Plan.Pulls), "pull"))
	rows := make([]row, len(r.Plan.Pulls))
	for i, action := range r.Plan.Pulls {
		rows[i] = row{action.Node, fmt.Sprintf("%s, revision %s", action.Image, action.Revision)}
	}
	if r.grouped(out, "node", rows) {
		return
	}
	list := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, action := range r.Plan.Pulls {
		fmt.Fprintf(list, "  %s\t%s\trevision %s\n", text.Cells(action.Node, action.Image, action.Revision)...)
	}
	_ = list.Flush() // it writes to memory
}

func (r *Result) reportDeletes(out io.Writer, reasons func(string, rollout.Reason) string) {
	if len(r.Plan.Deletes) == 0 {
		return
	}
	list := section(out, "Delete", len(r.Plan.Deletes))
	rows := make([]row, len(r.Plan.Deletes))
	for i, action := range r.Plan.Deletes {
		rows[i] = row{action.Node, action.Reason.String()}
	}
	if r.grouped(out, "pod", rows) {
		return
	}
	for _, action := range r.Plan.Deletes {
		fmt.Fprintf(list, "  %s\t%s\t%s\n", text.Cells(action.Node, action.Pod, reasons(action.Node, action.Reason))...)
	}
	_ = list.Flush() // it writes to memory
}

func (r *Result) reportCreates(out io.Writer, reasons func(string, rollout.Reason) string) {
	if len(r.Plan.Creates) == 0 {
		return
	}
	list := section(out, "Create", len(r.Plan.Creates))
	rows := make([]row, len(r.Plan.Creates))
	for i, action := range r.Plan.Creates {
		rows[i] = row{action.Node, fmt.Sprintf("revision %s, %s", action.Revision, action.Reason)}
		if action.Canary {
			rows[i].kind += ", for the canary"
		}
	}
	if r.grouped(out, "pod", rows) {
		return
	}
	for _, action := range r.Plan.Creates {
		because := reasons(action.Node, action.Reason)
		if action.Canary {
			because += ", for the canary"
		}
		if resources := resourcesText(action.Resources); resources != "" {
			because += "; " + resources
		}
		fmt.Fprintf(list, "  %s\trevision %s\t%s\n", text.Cells(action.Node, action.Revision, because)...)
	}
	_ = list.Flush() // it writes to memory
}

func section(out io.Writer, verb string, n int) *tabwriter.Writer {
	fmt.Fprintf(out, "%s %s:\n", verb, text.Counted(n, "pod"))
	return tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
}

// reasons returns a function that explains an action on a node. The result is the reason code and, if the node's decision has the
// same reason, the text of that.
func (r *Result) reasons() func(node string, reason rollout.Reason) string {
	decisions := make(map[string]*rollout.Decision)
	for i := range r.Plan.Decisions {
		d := &r.Plan.Decisions[i]
		decisions[d.Node] = d
	}
	return func(node string, reason rollout.Reason) string {
		d := decisions[node]
		if d == nil || d.Reason != reason {
			return reason.String()
		}
		return reason.String() + ": " + r.Plan.Because(d)
	}
}
