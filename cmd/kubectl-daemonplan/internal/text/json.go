package text

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf16"
)

// JSON is the value as indented JSON, in which everything that a terminal might obey is escaped: see [Printable]. Programs read
// the same text.
func JSON(value any) ([]byte, error) {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return nil, err
	}
	var out strings.Builder
	for _, r := range string(data) { // outside its strings JSON has none of these
		if r != '\n' && unprintable(r) && utf16.RuneLen(r) == 1 { // what takes two is no control, and YAML has no such escapes
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	return []byte(out.String()), nil
}
