package history

import "slices"

// ScanSays returns what the scan alone makes of two texts, with or without the marks of the first.
func ScanSays(a, b []byte, marked bool) string {
	var marks []mark
	if marked {
		marks = marksOf(a)
	}
	switch scan(a, b, marks) {
	case same:
		return "same"
	case different:
		return "different"
	}
	return "unsure"
}

// Marked reports whether the scan can jump in a text.
func Marked(text []byte) bool { return len(marksOf(text)) > 0 }

func OpaqueFields() []string { return slices.Clone(opaqueFields[:]) }
