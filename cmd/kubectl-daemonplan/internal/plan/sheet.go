package plan

import (
	"fmt"
	"io"
	"strings"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/text"
)

// Sheet is a table with the lines around it.
type Sheet struct {
	// Before and After are the lines above and below the table.
	Before, After []string
	// Table has a header in its first line; empty: there is no row.
	Table string
}

// Print prints the lines and the table.
func (s *Sheet) Print(out io.Writer) {
	tell(out, s.Before)
	fmt.Fprint(out, s.Table)
	tell(out, s.After)
}

// PrintRows prints the rows of the table without its header, and nothing else, so that every line of the output is a row. The
// lines around the table are notes.
func (s *Sheet) PrintRows(out, notes io.Writer) {
	tell(notes, s.Before)
	_, rows, _ := strings.Cut(s.Table, "\n")
	fmt.Fprint(out, rows)
	tell(notes, s.After)
}

func tell(out io.Writer, lines []string) {
	for _, line := range lines {
		fmt.Fprintln(out, text.Printable(line))
	}
}
