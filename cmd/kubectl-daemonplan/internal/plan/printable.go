package plan

import (
	"fmt"
	"strconv"
	"strings"
)

// printable escapes what must not be printed as it is: control characters, which could move the cursor of a terminal or begin a
// new line, and marks that change the direction of writing. The API server accepts none of them in names, but a file may contain
// anything.
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

// cells are the values of a line or of a table's row. Those that are text are made printable.
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
