package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// cutDocument splits text at the first line that begins with "---". What follows the dashes on that line belongs to
// the next document. Inside a mapping or list every line of a block scalar is indented, so that no text of an API
// object is mistaken for a separator.
func cutDocument(text []byte) (document, rest []byte) {
	for at := 0; ; {
		n := bytes.Index(text[at:], separator)
		if n < 0 {
			return text, nil
		}
		begin := at + n
		at = begin + len(separator)
		if (begin == 0 || text[begin-1] == '\n') && (at == len(text) || strings.IndexByte(" \t\r\n", text[at]) >= 0) {
			return text[:begin], text[at:]
		}
	}
}

var separator = []byte("---")

// directives reports whether the lines before the first separator are YAML directives, which say how to read what follows
// and hold no object. Versions 1.1 and 1.2 are accepted, as both are read alike. It is an error if the text has other
// directives, or if it goes on without a separator: isLast.
func directives(text []byte, isLast bool) (found bool, err error) {
	number := 0
	for line := range bytes.Lines(text) {
		number++
		line = bytes.TrimRight(line, " \t\r\n")
		switch {
		case len(line) == 0 || line[0] == '#':
			continue
		case line[0] != '%' && !found:
			return false, nil
		case line[0] != '%' || isLast:
			return false, fmt.Errorf("line %d: a line with --- must follow the YAML directives", number)
		}
		found = true
		line, _, _ = bytes.Cut(line, []byte(" #"))
		if directive := strings.Join(strings.Fields(string(line)), " "); directive != "%YAML 1.1" && directive != "%YAML 1.2" {
			return false, fmt.Errorf("line %d: the YAML directive %.40q is not supported; %%YAML 1.1 and %%YAML 1.2 are",
				number, line)
		}
	}
	return found, nil
}

// looksLikeJSON tells JSON from YAML by its beginning. Each is a YAML document too, but JSON is read many times
// faster by a reader of its own, and "{a: b}" is YAML alone, also within brackets.
func looksLikeJSON(text []byte) bool {
	i := skipSpace(text, 0)
	inList := false
	for i < len(text) && text[i] == '[' {
		i, inList = skipSpace(text, i+1), true
	}
	switch {
	case i == len(text):
		return false
	case text[i] == '{':
		i = skipSpace(text, i+1)
		return i < len(text) && (text[i] == '"' || text[i] == '}')
	default:
		return inList && text[i] == ']'
	}
}

// yamlToJSON converts one document. Errors count lines from the beginning of the input; lead is what comes before the
// document.
func yamlToJSON(document, lead []byte) ([]byte, error) {
	text, err := yaml.YAMLToJSONStrict(document)
	if err == nil {
		return text, nil
	}
	return nil, errors.New(shiftLines(yamlMessage(document, err), lineAfter(lead)-1))
}

// yamlMessage is what an error of the YAML parser says about a text, in one line.
func yamlMessage(text []byte, err error) string {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	message = strings.TrimPrefix(message, "unmarshal errors:\n  ")
	if strings.HasSuffix(message, noToken) && isIndentedByTab(text) {
		message += "; a tab may be one: YAML is indented with spaces"
	}
	return strings.ReplaceAll(message, "\n  ", "; ")
}

// noToken is what the YAML parser says of a tab at the beginning of a line, and of other characters.
const noToken = "found character that cannot start any token"

// isIndentedByTab reports whether a line of the text begins with a tab, or with spaces and a tab.
func isIndentedByTab(text []byte) bool {
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(bytes.TrimLeft(line, " "), []byte{'\t'}) {
			return true
		}
	}
	return false
}

// shiftLines adds by to every line number that the YAML parser's message mentions.
func shiftLines(message string, by int) string {
	const mention = "line "
	var out strings.Builder
	for {
		before, after, found := strings.Cut(message, mention)
		out.WriteString(before)
		if !found {
			return out.String()
		}
		out.WriteString(mention)
		digits := len(after) - len(strings.TrimLeft(after, "0123456789"))
		if number, err := strconv.Atoi(after[:digits]); err == nil {
			out.WriteString(strconv.Itoa(number + by))
			after = after[digits:]
		}
		message = after
	}
}
