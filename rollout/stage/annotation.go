package stage

import "encoding/json"

// mark is a frontier as it is written on a revision.
type mark struct {
	// Revision is the number that the ControllerRevision had. A revision that comes back after another one gets a new number, and
	// its parts pass anew.
	Revision int64 `json:"revision"`
	Frontier
}

// Annotation returns the frontier as the value of an annotation on the ControllerRevision that has that number; "" for a frontier
// before any part is done.
func (f Frontier) Annotation(revision int64) string {
	if f.At.IsZero() {
		return ""
	}
	data, err := json.Marshal(mark{Revision: revision, Frontier: f})
	if err != nil {
		return "" // a year of five digits, which no clock shows
	}
	return string(data)
}

// ReadAnnotation returns the frontier that an annotation of the ControllerRevision with that number holds. It is zero for a text
// that cannot be read, and for one that was written while the revision had another number: the rollout that it tells of is over.
func ReadAnnotation(text string, revision int64) Frontier {
	var m mark
	if text == "" || json.Unmarshal([]byte(text), &m) != nil || m.Revision != revision {
		return Frontier{}
	}
	return m.Frontier
}

// IsAt reports whether both are at the same part of the same stages.
func (f Frontier) IsAt(other Frontier) bool {
	return f.Stage == other.Stage && f.Value == other.Value && f.Layout == other.Layout
}

// Further returns the frontier of the two that is further in these stages. One that is lost, because its stages are others by
// now, is behind any other; of two at one part the one that was done first counts.
func (p *Parts) Further(a, b Frontier) Frontier {
	w := walk{parts: p}
	at, isA := w.place(a)
	bt, isB := w.place(b)
	switch c := compare(at, bt); {
	case !isB || isA && (c > 0 || c == 0 && !b.At.Before(a.At)):
		return a
	default:
		return b
	}
}
