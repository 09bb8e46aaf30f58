package history

import (
	"bytes"
	"unicode/utf8"
)

// opaqueFields are the fields of a pod template whose objects are Go maps or raw JSON. In these a member that is null is
// not the same as an absent one. A test walks the type and checks that the list is complete.
var opaqueFields = [...]string{
	"annotations", "fieldsV1", "labels", "limits", "matchLabels", "nodeSelector", "options", "overhead",
	"requests", "userAnnotations", "volumeAttributes",
}

// certainlyDifferent reports whether two values that are not byte-equal cannot decode to the same, whatever their
// type is.
func certainlyDifferent(a, b []byte) bool {
	kindA, kindB := kindOf(a), kindOf(b)
	switch {
	case kindA == 'n':
		return neverEmpty(b, 0)
	case kindB == 'n':
		return neverEmpty(a, 0)
	case kindA != kindB:
		return false
	case kindA == '"':
		return differentStrings(a[1:len(a)-1], b[1:len(b)-1])
	case kindA == '0':
		return isInteger(a) && isInteger(b)
	}
	return kindA == 't' // both are booleans
}

// differentStrings reports whether two strings that differ cannot decode to the same. Strings decode to themselves unless
// they have escapes or are not UTF-8. But decoded as quantities or times they can be equal in other spellings, or fail.
func differentStrings(a, b []byte) bool {
	if bytes.IndexByte(a, '\\') >= 0 || bytes.IndexByte(b, '\\') >= 0 || !utf8.Valid(a) || !utf8.Valid(b) {
		return false
	}
	if isTime(a) && isTime(b) {
		return false
	}
	numberA, suffixA, quantityA := splitQuantity(a)
	numberB, suffixB, quantityB := splitQuantity(b)
	if !quantityA || !quantityB {
		return true
	}
	trimmed := len(numberA)+len(suffixA) != len(a) || len(numberB)+len(suffixB) != len(b)
	return !trimmed && bytes.Equal(suffixA, suffixB) &&
		isInteger(numberA) && isInteger(numberB) && isExact(numberA, suffixA) && isExact(numberB, suffixB)
}

// neverEmpty reports whether a value is certainly not what an absent field decodes to: neither a zero value of
// whatever type nor, in a field unknown to this API version, empty.
func neverEmpty(value []byte, depth int) bool {
	switch kindOf(value) {
	case '"':
		text := value[1 : len(value)-1]
		if len(text) == 0 || bytes.IndexByte(text, '\\') >= 0 || isTime(text) {
			return false
		}
		number, _, ok := splitQuantity(text)
		return !ok || !zeroMantissa(string(number))
	case '0':
		return !zeroMantissa(string(value))
	case 't':
		return value[0] == 't'
	case '[':
		_, more, ok := nextElement(value, 1)
		return more && ok
	case '{':
		for pos := 1; depth < maxDepth; {
			key, start, _ := nextKey(value, pos)
			if key == nil {
				return false
			}
			if pos = valueEnd(value, start); pos < 0 {
				return false
			}
			if neverEmpty(value[start:pos], depth+1) {
				return true
			}
		}
	}
	return false
}

// ordered reports whether a text is compact JSON in the order in which encoding/json writes maps, so that no field
// appears twice. It does not check scalars.
func ordered(text []byte) bool {
	return orderedEnd(text, 0, 0) == len(text)
}

func orderedEnd(text []byte, pos, depth int) int {
	open := at(text, pos)
	if open != '{' && open != '[' {
		return valueEnd(text, pos)
	}
	if depth == maxDepth {
		return -1
	}
	pos++
	if at(text, pos) == open+2 { // in ASCII a closing bracket is two after its opening one
		return pos + 1
	}
	var previous []byte
	for first := true; ; first = false {
		if open == '{' {
			if at(text, pos) != '"' {
				return -1
			}
			key, value, ok := nextKey(text, pos)
			if !ok || !first && bytes.Compare(previous, key) >= 0 {
				return -1
			}
			previous, pos = key, value
		}
		if pos = orderedEnd(text, pos, depth+1); pos < 0 {
			return -1
		}
		switch at(text, pos) {
		case open + 2:
			return pos + 1
		case ',':
			pos++
		default:
			return -1
		}
	}
}

// nextKey reads the next key of an object, from a comma on or from the key itself, and returns where its value
// begins. The key is nil where the object ends, and not ok if it is not plain.
func nextKey(text []byte, pos int) (key []byte, value int, ok bool) {
	switch at(text, pos) {
	case '}':
		return nil, pos, true
	case ',':
		pos++
	}
	if at(text, pos) != '"' {
		return nil, pos, false
	}
	end := valueEnd(text, pos)
	if end < 0 || at(text, end) != ':' {
		return nil, pos, false
	}
	key = text[pos+1 : end-1]
	for _, c := range key {
		if c == '\\' || c < ' ' || c >= utf8.RuneSelf {
			return nil, pos, false
		}
	}
	return key, end + 1, true
}

// nextElement returns where the next element of a list begins, from a comma on or from the element itself; there is
// none where the list ends. White space is not ok: behind it the list may end as well.
func nextElement(text []byte, pos int) (start int, more, ok bool) {
	switch at(text, pos) {
	case ']':
		return pos, false, true
	case ',':
		pos++
	}
	return pos, true, at(text, pos) > ' '
}

// valueEnd returns the position after the value that begins at pos, -1 if there is none. It does not check what is
// in a container, nor how a number or a literal is spelled.
func valueEnd(text []byte, pos int) int {
	depth := 0
	for pos < len(text) {
		switch text[pos] {
		case '"':
			if pos = stringEnd(text, pos); pos < 0 {
				return -1
			}
		case '{', '[':
			depth++
			pos++
			continue
		case '}', ']':
			depth--
			pos++
		case ',', ':':
			if depth == 0 {
				return -1
			}
			pos++
			continue
		default:
			for pos < len(text) && !isPunctuation(text[pos]) {
				pos++
			}
		}
		if depth <= 0 {
			if depth < 0 {
				return -1
			}
			return pos
		}
	}
	return -1
}

func stringEnd(text []byte, pos int) int {
	for pos++; ; {
		length := bytes.IndexByte(text[pos:], '"')
		if length < 0 {
			return -1
		}
		escape := bytes.IndexByte(text[pos:pos+length], '\\')
		if escape < 0 {
			return pos + length + 1
		}
		if pos += escape + 2; pos > len(text) {
			return -1
		}
	}
}

func isPunctuation(c byte) bool {
	return c == ',' || c == ':' || c == '"' || c == '{' || c == '}' || c == '[' || c == ']'
}

// kindOf classifies a value by its first byte: '"', '{', '[', 'n' for null, 't' for booleans, '0' for numbers, and 0
// for anything else.
func kindOf(value []byte) byte {
	switch c := at(value, 0); {
	case c == '"', c == '{', c == '[':
		return c
	case string(value) == "null":
		return 'n'
	case string(value) == "true", string(value) == "false":
		return 't'
	case c == '-', c >= '0' && c <= '9':
		return '0'
	}
	return 0
}

// at returns a byte of a text, 0 beyond its end.
func at(text []byte, pos int) byte {
	if pos < len(text) {
		return text[pos]
	}
	return 0
}
