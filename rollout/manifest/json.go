package manifest

import (
	"bytes"
	"encoding/json"
	"errors"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The functions of this file find values in JSON without parsing it, several times faster than a parser that checks every
// byte. They may overlook mistakes, which the decoder of the object then reports, but they always find the end of a value
// of correct JSON.

// header is what must be known of an object to decide how to read it.
type header struct {
	apiVersion, kind string
	items            []byte // the array "items", nil if there is none
}

var (
	errNotClosed = errors.New("the text ends too early, within the object that begins here")
	errCutAfter  = errors.New("the text ends too early, after the item that begins here")
	errNoComma   = errors.New("there must be exactly one comma between the items of a list")
	errNoKey     = errors.New("an object needs a key in quotes here")
)

// readHeader reads the top level of an object.
func readHeader(text []byte) (header, error) {
	var h header
	for i := skipSpace(text, 1); i < len(text) && text[i] != '}'; {
		if text[i] != '"' {
			return h, errNoKey
		}
		keyEnd, err := stringEnd(text, i)
		if err != nil {
			return h, err
		}
		key := text[i+1 : keyEnd-1]
		if i = skipSpace(text, keyEnd); i >= len(text) || text[i] != ':' {
			return h, errNoKey
		}
		i = skipSpace(text, i+1)
		end, err := valueEnd(text, i)
		if err != nil {
			return h, err
		}
		if err := h.take(key, text[i:end]); err != nil {
			return h, err
		}
		if h.complete() {
			return h, nil
		}
		if i = skipSpace(text, end); i < len(text) && text[i] == ',' {
			i = skipSpace(text, i+1)
		}
	}
	return h, nil
}

// complete reports whether the rest of the object can be left unread.
func (h *header) complete() bool {
	return h.apiVersion != "" && h.kind != "" && (h.items != nil || !bytes.HasSuffix([]byte(h.kind), []byte("List")))
}

func (h *header) take(key, value []byte) error {
	var to *string
	switch string(key) {
	case "apiVersion":
		to = &h.apiVersion
	case "kind":
		to = &h.kind
	case "items":
		if value[0] == '[' {
			h.items = value
		}
		return nil
	default:
		return nil
	}
	if json.Unmarshal(value, to) != nil && json.Valid(value) {
		return field.TypeInvalid(field.NewPath(string(key)), excerpt(value), mustBeString)
	}
	return nil
}

func skipSpace(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r') {
		i++
	}
	return i
}

// stringEnd returns the index after the string that begins at i.
func stringEnd(text []byte, i int) (int, error) {
	for i++; ; i++ {
		n := bytes.IndexByte(text[i:], '"')
		if n < 0 {
			return 0, errNotClosed
		}
		i += n
		escapes := 0
		for text[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i + 1, nil
		}
	}
}

// valueEnd returns the index after the value that begins at i. A value has at least one byte, so that walking from value
// to value comes to an end.
func valueEnd(text []byte, i int) (int, error) {
	for depth := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			end, err := stringEnd(text, i)
			if err != nil {
				return 0, err
			}
			i = end - 1
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		default:
			if depth == 0 {
				return literalEnd(text, i), nil
			}
		}
		if depth <= 0 {
			return i + 1, nil
		}
	}
	return 0, errNotClosed
}

// literalEnd returns the index after the number or word that begins at i.
func literalEnd(text []byte, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case ' ', '\n', '\t', '\r', ',', ':', '"', '{', '[', '}', ']':
			return i
		}
	}
	return i
}

// unindent shortens every run of space between tokens to its first byte, because half of what kubectl prints is indentation
// and the decoder reads each byte twice. One byte has to stay, so that "1 2" does not become 12.
func unindent(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		begin := i
		switch text[i] {
		case ' ', '\n', '\t', '\r':
			i = skipSpace(text, i)
			out = append(out, text[begin])
			continue
		case '"':
			end, err := stringEnd(text, i)
			if err != nil {
				return text
			}
			i = end
		default:
			i++
		}
		out = append(out, text[begin:i]...)
	}
	return out
}

// openItem returns the number of the item of a list in which the text was cut off, and where the item begins. If the text ends
// between two items or just after one, that is the last item, and closed is true. The number is 0 if the text is no list or
// was cut off outside of its items. Up to its end the text must be correct JSON.
func openItem(text []byte) (number, begin int, closed bool) {
	i := openArray(text)
	if i < 0 {
		return 0, 0, false
	}
	for i = skipSpace(text, i+1); i < len(text); i = skipSpace(text, i) {
		number, begin = number+1, i
		end, err := valueEnd(text, i)
		if err != nil {
			return number, begin, false
		}
		if i = skipSpace(text, end); i < len(text) && text[i] == ',' {
			i++
		}
	}
	return number, begin, number > 0
}

// openArray is where the items of a list begin that have no end: the text itself or its "items"; -1 if there are none.
func openArray(text []byte) int {
	if text[0] == '[' {
		return 0
	}
	for i := skipSpace(text, 1); i < len(text) && text[i] == '"'; {
		keyEnd, err := stringEnd(text, i)
		if err != nil {
			return -1
		}
		begin := skipSpace(text, min(skipSpace(text, keyEnd)+1, len(text)))
		end, err := valueEnd(text, begin)
		if err != nil {
			if begin < len(text) && text[begin] == '[' && string(text[i:keyEnd]) == `"items"` {
				return begin
			}
			return -1
		}
		if i = skipSpace(text, end); i < len(text) && text[i] == ',' {
			i = skipSpace(text, i+1)
		}
	}
	return -1
}
