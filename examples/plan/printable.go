package main

import (
	"fmt"
	"strconv"
	"strings"
)

// printable replaces what is not printed as it stands by its escape: control characters, which could move the cursor of
// a terminal or begin a line of their own, and marks that turn the direction of writing. The API server admits none of
// them in names, but a file may hold anything.
func printable(text string) string {
	if strings.IndexFunc(text, unprintable) < 0 {
		return text
	}
	var out strings.Builder
	for _, r := range text {
		if unprintable(r) {
			out.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

func unprintable(r rune) bool { return !strconv.IsPrint(r) }

// cells are the values of a line or of a row of a table, those that are text made printable.
func cells(values ...any) []any {
	for i, value := range values {
		switch value := value.(type) {
		case string:
			values[i] = printable(value)
		case fmt.Stringer:
			values[i] = printable(value.String())
		}
	}
	return values
}
