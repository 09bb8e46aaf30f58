package plan

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
)

// A brief report of a large fleet is about one screen at most, of 50 lines and 120 columns. These are how many nodes a fleet has
// at least to be large, and how much of what has a line for each node, part, revision or wait is shown then.
const (
	largeFleet     = 41
	rowsShown      = 10 // of a section; of more, the groups are shown
	kindsShown     = 4
	briefParts     = 6
	briefRevisions = 5
	briefWaits     = 6
	briefNames     = 100 // columns
	briefColumns   = 240 // of a wait: two lines
)

// isLarge reports whether a line for each node would not fit on a screen.
func (r *Result) isLarge() bool { return len(r.Plan.Decisions) >= largeFleet }

// row is a line about a node in a section of the report. Kind is what it has in common with the rows of other nodes.
type row struct{ node, kind string }

// grouped prints the kinds of rows with how many there are of each, the most frequent first. It prints nothing and returns false
// if the report is not brief, or if there are so few rows that each can have its line. What is what a row is about: a noun.
func (r *Result) grouped(out io.Writer, what string, list []row) bool {
	if !r.brief || len(list) <= rowsShown {
		return false
	}
	r.omits = true
	nodes := make(map[string][]string)
	for _, one := range list {
		nodes[one.kind] = append(nodes[one.kind], cmp.Or(one.node, "<none>"))
	}
	var kinds []string
	for kind := range nodes {
		kinds = append(kinds, kind)
	}
	slices.SortFunc(kinds, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(nodes[b]), len(nodes[a])), strings.Compare(a, b))
	})
	for _, kind := range kinds[:min(len(kinds), kindsShown)] {
		line := fmt.Sprintf("%s: %s (%s)", text.Counted(len(nodes[kind]), what), kind, r.some(nodes[kind]))
		fmt.Fprintf(out, "  %s\n", text.Printable(r.cut(line)))
	}
	if more := len(kinds) - kindsShown; more > 0 {
		left := 0
		for _, kind := range kinds[kindsShown:] {
			left += len(nodes[kind])
		}
		fmt.Fprintf(out, "  %s for %s\n", text.Counted(left, what), text.Agree(more, "other reason", "other reasons"))
	}
	return true
}

// some lists the first few names, in a brief report as many as there is room for, and the number of the others.
func (r *Result) some(names []string) string {
	if !r.brief {
		return text.Some(names)
	}
	shown := 0
	for width := 0; shown < min(len(names), 8); shown++ {
		if width += ansi.StringWidth(names[shown]) + 2; shown > 0 && width > briefNames {
			break
		}
	}
	list := strings.Join(names[:shown], ", ")
	if more := len(names) - shown; more > 0 {
		list += fmt.Sprintf(" and %s more", text.Number(more))
	}
	return list
}

// cut shortens a line of a brief report.
func (r *Result) cut(line string) string {
	if !r.brief {
		return line
	}
	if ansi.StringWidth(line) <= briefColumns {
		return line
	}
	line = ansi.Truncate(line, briefColumns-1, "")
	return line[:strings.LastIndexByte(line, ' ')+1] + "…"
}

// first are the first lines, in a brief report so many of them, and a line with the number of the others, before the words that
// agree with it.
func (r *Result) first(lines []string, most int, one, many string) []string {
	if !r.brief || len(lines) <= most {
		return lines
	}
	r.omits = true
	return append(slices.Clone(lines[:most]), "and "+text.Agree(len(lines)-most, one, many))
}
