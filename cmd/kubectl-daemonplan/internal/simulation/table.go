package simulation

import (
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// printTable prints the headlines, and the comparison with a column for each candidate.
func printTable(out io.Writer, outcomes []*outcome) {
	for _, line := range headlines(outcomes) {
		fmt.Fprintln(out, line)
	}
	fmt.Fprintln(out)
	lines := figures(outcomes)
	rows := [][]string{{""}}
	for _, o := range outcomes {
		rows[0] = append(rows[0], o.Label)
	}
	for _, line := range lines {
		row := []string{line.Name}
		for _, c := range line.Cells {
			row = append(row, c.Text)
		}
		rows = append(rows, row)
	}
	printRows(out, rows)
	if n := len(outcomes[0].Reports); n > 1 {
		fmt.Fprintf(out, "\n%d runs each: the median .. what nine of ten runs do not exceed.\n", n)
	}
}

// printRows prints rows of equal length: the first column to the left, all others to the right.
func printRows(out io.Writer, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, text := range row {
			widths[i] = max(widths[i], ansi.StringWidth(text))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, text := range row {
			gap := strings.Repeat(" ", widths[i]-ansi.StringWidth(text))
			if i == 0 {
				line.WriteString(text + gap)
			} else {
				line.WriteString("  " + gap + text)
			}
		}
		fmt.Fprintln(out, strings.TrimRight(line.String(), " "))
	}
}
