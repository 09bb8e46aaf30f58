package history

import "bytes"

// isInteger reports whether a text is an integer in its only plain spelling. Two such texts that differ are different
// numbers, or do not fit the type of their field.
func isInteger(text []byte) bool {
	if len(text) == 0 || text[0] == '0' && len(text) > 1 {
		return false
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// splitQuantity splits a text that a resource.Quantity might be decoded from into its number and its suffix. It accepts
// more texts than the decoder: the decoder refuses all that it refuses.
func splitQuantity(text []byte) (number, suffix []byte, ok bool) {
	text = bytes.TrimSpace(text) // as the decoder does
	end := 0
	if end < len(text) && (text[0] == '+' || text[0] == '-') {
		end++
	}
	sign := end
	for end < len(text) && (text[end] == '.' || text[end] >= '0' && text[end] <= '9') {
		end++
	}
	number, suffix = text[:end], text[end:]
	return number, suffix, end > sign && isSuffix(suffix)
}

func isSuffix(suffix []byte) bool {
	switch string(suffix) {
	case "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei":
		return true
	}
	if suffix[0] != 'e' && suffix[0] != 'E' {
		return false
	}
	for _, c := range suffix[1:] {
		if (c < '0' || c > '9') && c != '+' && c != '-' {
			return false
		}
	}
	return true
}

// isExact reports whether quantities of this suffix are different if their integers are. Quantities with binary suffixes
// are cut to 2^63-1, so that all greater ones are equal.
func isExact(integer, suffix []byte) bool {
	const digits = 9 // 10^9-1 Gi is below 2^63
	switch string(suffix) {
	case "", "n", "u", "m", "k", "M", "G", "T", "P", "E":
		return true
	case "Ki", "Mi", "Gi":
		return len(integer) <= digits
	}
	return false
}

// zeroMantissa reports whether a number is zero, whatever its sign, decimals and exponent.
func zeroMantissa(number string) bool {
	for _, c := range number {
		switch {
		case c >= '1' && c <= '9':
			return false
		case c == 'e', c == 'E':
			return true
		}
	}
	return true
}

// isTime reports whether a text has the beginning of an RFC 3339 time.
func isTime(text []byte) bool {
	return len(text) > 7 && text[4] == '-' && text[7] == '-'
}
