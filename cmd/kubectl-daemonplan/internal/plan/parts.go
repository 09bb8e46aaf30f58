package plan

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/stage"
)

// part is how a part of the stages stands before the actions of the plan (T8).
type part struct {
	// Stage is its name; absent for the nodes that no stage selects. Key is the stage's key, and Value the value that these nodes
	// have; absent for nodes without the label, and for a stage without a key.
	Stage string `json:"stage,omitempty"`
	Key   string `json:"key,omitempty"`
	Value string `json:"value,omitempty"`
	// Phase is Waiting, Approving, Open, NoEvidence, Soaking, Done or Skipped.
	Phase string `json:"phase"`
	// Nodes is how many are to run the pod. Held of them cannot be updated, and Exempt are left out. Of the others Settled have
	// an available pod of the update revision, Unavailable one that is not available, and Behind none.
	Nodes       int32 `json:"nodes"`
	Held        int32 `json:"held,omitempty"`
	Exempt      int32 `json:"exempt,omitempty"`
	Settled     int32 `json:"settled"`
	Unavailable int32 `json:"unavailable"`
	Behind      int32 `json:"behind"`
	// Done is when the last part that is done was first seen to be, and Until when the time to soak is over.
	Done  string `json:"done,omitempty"`
	Until string `json:"until,omitempty"`
	// Blocking are the first nodes that keep an open part from being done.
	Blocking []string `json:"blocking,omitempty"`
}

// approval is an approval of another revision than the one that is rolled out.
type approval struct {
	Stage    string `json:"stage"`
	Value    string `json:"value,omitempty"`
	Revision string `json:"revision"`
}

// parts are those of the plan.
func (r *Result) parts() []part {
	var list []part
	for i := range r.Plan.Parts {
		p := &r.Plan.Parts[i]
		list = append(list, part{
			Stage: p.Stage, Key: p.Key, Value: p.Value, Phase: p.Phase.String(), Nodes: p.Nodes, Held: p.Held, Exempt: p.Exempt,
			Settled: p.Settled, Unavailable: p.Unavailable, Behind: p.Behind, Done: timestamp(p.Done), Until: timestamp(p.Until),
			Blocking: p.Blocking,
		})
	}
	return list
}

func (r *Result) staleApprovals() []approval {
	var list []approval
	for _, a := range r.Plan.StaleApprovals {
		list = append(list, approval(a))
	}
	return list
}

// partName is what a part is called.
func partName(stage, key, value string) string {
	name := cmp.Or(stage, "(all other nodes)")
	switch {
	case key == "":
		return name
	case value == "":
		return fmt.Sprintf("%s (no %s)", name, key)
	default:
		return fmt.Sprintf("%s (%s)", name, value)
	}
}

// partsShown is how many parts are listed. Stages with a key may have many.
const partsShown = 20

// shownParts are the first and the last part to list: from the last one that is done, unless all fit.
func (r *Result) shownParts() (from, to int) {
	all, most := r.Plan.Parts, partsShown
	if r.brief {
		most = briefParts
	}
	if len(all) <= most {
		return 0, len(all)
	}
	passed := func(p rollout.PartState) bool { return p.Phase == stage.Done || p.Phase == stage.Skipped }
	from = slices.IndexFunc(all, func(p rollout.PartState) bool { return !passed(p) })
	if from < 0 {
		from = len(all)
	}
	from = max(min(from-1, len(all)-most), 0)
	return from, from + most
}

// reportParts prints the parts of the stages, in the order in which they are opened. Without stages it prints nothing.
func (r *Result) reportParts(out io.Writer) {
	if len(r.Plan.Parts) == 0 {
		return
	}
	from, to := r.shownParts()
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "\nSTAGE\tPHASE\tNODES\tUPDATED\tNOT AVAILABLE\tOUTDATED\tNOTE")
	for i := range r.Plan.Parts[from:to] {
		p := &r.Plan.Parts[from+i]
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%d\t%d\t%s\n", text.Cells(partName(p.Stage, p.Key, p.Value), p.Phase.String(),
			p.Nodes, p.Settled, p.Unavailable, p.Behind, cmp.Or(r.partNote(p), "-"))...)
	}
	_ = table.Flush() // it writes to memory
	if from > 0 {
		fmt.Fprintf(out, "%s before these %s done or skipped.\n", text.Counted(from, "part"), isOrAre(from))
	}
	if more := len(r.Plan.Parts) - to; more > 0 {
		fmt.Fprintf(out, "%s after these.\n", text.Counted(more, "part"))
	}
	for _, line := range r.staleLines() {
		fmt.Fprintln(out, text.Printable(line))
	}
}

func isOrAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// partLines are the same for a small screen.
func (r *Result) partLines() []string {
	if len(r.Plan.Parts) == 0 {
		return nil
	}
	from, to := r.shownParts()
	var lines []string
	for i := range r.Plan.Parts[from:to] {
		p := &r.Plan.Parts[from+i]
		line := fmt.Sprintf("%s: %s, %d of %s updated", partName(p.Stage, p.Key, p.Value), p.Phase, p.Settled,
			text.Counted(int(p.Nodes), "node"))
		if note := r.partNote(p); note != "" {
			line += "; " + note
		}
		lines = append(lines, line)
	}
	if left := len(r.Plan.Parts) - (to - from); left > 0 {
		lines = append(lines, fmt.Sprintf("and %s more", text.Counted(left, "part")))
	}
	return append(lines, r.staleLines()...)
}

// partNote is what a part waits for, and which nodes do not count in it.
func (r *Result) partNote(p *rollout.PartState) string {
	var words []string
	switch {
	case p.Phase == stage.Approving:
		words = append(words, "needs an approval of revision "+r.Plan.Status.UpdateRevision)
	case p.Phase == stage.Soaking:
		words = append(words, fmt.Sprintf("soaks until %s (%s)", timestamp(p.Until), text.Duration(p.Until.Sub(r.Snapshot.Now))))
	case p.Phase == stage.Waiting && !p.Until.IsZero():
		words = append(words, "opens at "+timestamp(p.Until))
	case p.Phase == stage.NoEvidence:
		words = append(words, "nothing shows that the revision works: all nodes are left out")
	case p.Phase == stage.Open && len(p.Blocking) > 0:
		blocking := strings.Join(p.Blocking, ", ")
		if r.brief {
			blocking = p.Blocking[0]
		}
		if more := int(p.Behind+p.Unavailable) - strings.Count(blocking, ", ") - 1; more > 0 {
			blocking += fmt.Sprintf(" and %d more", more)
		}
		words = append(words, "not done: "+blocking)
	}
	if p.Held > 0 {
		words = append(words, fmt.Sprintf("%d held", p.Held))
	}
	if p.Exempt > 0 && p.Phase != stage.NoEvidence {
		words = append(words, fmt.Sprintf("%d left out", p.Exempt))
	}
	return strings.Join(words, "; ")
}

// staleLines name the approvals that open nothing.
func (r *Result) staleLines() []string {
	var lines []string
	for _, a := range r.Plan.StaleApprovals {
		lines = append(lines, fmt.Sprintf("The approval of stage %s is for revision %s, and does nothing for %s.",
			partName(a.Stage, a.Value, a.Value), a.Revision, r.Plan.Status.UpdateRevision))
	}
	return lines
}
