package command

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/duration"
)

// Line is a line of a table: [Row], [Revision] or [Pod].
type Line interface {
	// Header names the columns; it does not depend on the value.
	Header() []string
	// Cells are the values, one per column.
	Cells() []string
}

// The text that stands for what is not known, as kubectl prints it.
const unknown = "<unknown>"

// gap between two columns.
const gap = "   "

// Table prints lines below their header, the columns aligned to the left and no space at the end. What a terminal might
// obey, control characters above all, is printed with escapes. Without lines there is no header, and the table is "".
func Table[L Line](lines ...L) string {
	if len(lines) == 0 {
		return ""
	}
	rows := [][]string{lines[0].Header()}
	for _, line := range lines {
		rows = append(rows, printable(line.Cells()))
	}
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var out strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			line.WriteString(cell)
			line.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)))
			line.WriteString(gap)
		}
		out.WriteString(strings.TrimRight(line.String(), " "))
		out.WriteByte('\n')
	}
	return out.String()
}

// printable replaces what is not printed as it stands by its escape.
func printable(cells []string) []string {
	list := make([]string, len(cells))
	for i, cell := range cells {
		var out strings.Builder
		for _, r := range cell {
			if strconv.IsPrint(r) {
				out.WriteRune(r)
			} else {
				out.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
			}
		}
		list[i] = out.String()
	}
	return list
}

// age in the words of kubectl. What is not created yet, or at a time that is not known, has none.
func age(created, now time.Time) string {
	if created.IsZero() || now.IsZero() {
		return unknown
	}
	return duration.HumanDuration(now.Sub(created))
}

func number[T ~int | ~int32 | ~int64](n T) string { return strconv.FormatInt(int64(n), 10) }
