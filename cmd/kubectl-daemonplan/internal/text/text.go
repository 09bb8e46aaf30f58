// Package text has the small parts of what is printed for people.
package text

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Printable escapes what must not be printed as it is: control characters, which could move the cursor of a terminal or begin a
// new line, and marks that change the direction of writing. The API server accepts none of them in names, but a file may contain
// anything.
func Printable(text string) string {
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

// Cells are the values of a line or of a table's row. Those that are text are made printable.
func Cells(values ...any) []any {
	for i, value := range values {
		switch value := value.(type) {
		case string:
			values[i] = Printable(value)
		case fmt.Stringer:
			values[i] = Printable(value.String())
		}
	}
	return values
}

// Counted puts the number before the noun, which gets an s in the plural.
func Counted(n int, noun string) string {
	return Agree(n, noun, noun+"s")
}

// Agree puts the number before the words that agree with it.
func Agree(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Number(n) + " " + many
}

// Number groups the digits of a whole number: 12,345.
func Number(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Some lists the first few names, and the number of the others.
func Some(names []string) string {
	const most = 8
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// Duration is a duration for people: two units at most, such as 3d4h, 2h30m, 1m5s or 18s. It is rounded up, so that whoever waits
// that long has waited long enough.
func Duration(d time.Duration) string {
	if d < 0 {
		return "-" + Duration(-d)
	}
	const day = 24 * time.Hour
	units := []struct {
		size time.Duration
		name string
	}{{day, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}}
	for i, unit := range units[:len(units)-1] {
		next := units[i+1]
		up := d.Truncate(next.size)
		if up < d {
			up += next.size
		}
		if up < unit.size {
			continue
		}
		text := fmt.Sprintf("%d%s", up/unit.size, unit.name)
		if rest := up % unit.size / next.size; rest > 0 {
			text += fmt.Sprintf("%d%s", rest, next.name)
		}
		return text
	}
	return fmt.Sprintf("%ds", (d+time.Second-1)/time.Second)
}
