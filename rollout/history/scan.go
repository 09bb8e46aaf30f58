package history

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// verdict is the result of comparing two texts without decoding them.
type verdict uint8

const (
	unsure    verdict = iota // decode and compare
	different                // not the same revision, or not readable: SameData is false either way
	same                     // the same revision, provided that the first text is readable
)

// mark is a place in a text from which a scan can go on: before a member's key, or before an element that is no
// container.
type mark struct {
	at      int
	depth   int
	objects uint64 // bit d-1: the container at depth d is an object
	opaque  uint64 // bit d-1: its members need not be fields of a Go struct
}

// scanner compares two compact JSON texts side by side. What it does not expect (white space, escapes in keys, keys in
// another order) makes its result unsure, never wrong.
type scanner struct {
	a, b  []byte
	i, j  int // where it is in a and in b
	marks []mark
	depth int

	objects, opaque uint64
	opaqueNext      bool // the next value is, or is in, a Go map

	equal    bool    // no difference so far but null members
	jump     bool    // a long equal run may follow
	recorded *[]mark // if not nil, the marks of a
}

// scan compares two texts that are not byte-equal, without allocating. A difference that it reports would also be one
// after decoding (R2). It returns same only where all differences are members with value null in place of an absent
// field, as between API versions that did and did not write creationTimestamp. This frequent case must not cost a
// decoding in every plan. marks are those of a, or nil.
func scan(a, b []byte, marks []mark) verdict {
	s := scanner{a: a, b: b, marks: marks, equal: true, jump: true}
	result := s.run()
	// A null member in b could repeat a key that is there already: that is not readable. Ordered keys do not repeat.
	if result == same && !ordered(b) {
		return unsure
	}
	return result
}

// marksOf returns the marks of a text, none if the scan would be unsure of it.
func marksOf(text []byte) []mark {
	var marks []mark
	s := scanner{a: text, b: text, equal: true, recorded: &marks}
	if s.run() != same {
		return nil
	}
	return marks
}

func (s *scanner) run() verdict {
	if result, ok := s.value(); !ok {
		return result
	}
	for s.depth > 0 {
		var result verdict
		var ok bool
		if s.objects>>(s.depth-1)&1 == 1 {
			result, ok = s.member()
		} else {
			result, ok = s.element()
		}
		if !ok {
			return result
		}
	}
	if s.i == len(s.a) && s.j == len(s.b) && s.equal {
		return same
	}
	return unsure
}

// value compares the two values at which the scanner stands. It enters an object or list, and passes anything else.
func (s *scanner) value() (verdict, bool) {
	open, other := at(s.a, s.i), at(s.b, s.j)
	if open == other && (open == '{' || open == '[') {
		return unsure, s.enter(open == '{')
	}
	endA, endB := valueEnd(s.a, s.i), valueEnd(s.b, s.j)
	if endA < 0 || endB < 0 {
		return unsure, false
	}
	valueA, valueB := s.a[s.i:endA], s.b[s.j:endB]
	if !bytes.Equal(valueA, valueB) {
		if certainlyDifferent(valueA, valueB) {
			return different, false
		}
		s.equal, s.jump = false, true
	}
	s.i, s.j = endA, endB
	return unsure, true
}

func (s *scanner) enter(object bool) bool {
	if s.depth == 64 {
		return false
	}
	bit := uint64(1) << s.depth
	s.objects, s.opaque = s.objects&^bit, s.opaque&^bit
	if object {
		s.objects |= bit
	}
	if s.opaqueNext {
		s.opaque |= bit
	}
	s.depth++
	s.i++
	s.j++
	return true
}

// member goes on in an object: after its opening brace, after a member, or before a key.
func (s *scanner) member() (verdict, bool) {
	keyA, valueA, okA := nextKey(s.a, s.i)
	keyB, valueB, okB := nextKey(s.b, s.j)
	switch {
	case !okA || !okB:
		return unsure, false
	case keyA == nil && keyB == nil:
		s.leave()
		return unsure, true
	case keyB == nil, keyA != nil && bytes.Compare(keyA, keyB) < 0:
		end, result, ok := s.missing(keyA, s.a, valueA, s.b, s.j)
		s.i = end
		return result, ok
	case keyA == nil, !bytes.Equal(keyA, keyB):
		end, result, ok := s.missing(keyB, s.b, valueB, s.a, s.i)
		s.j = end
		return result, ok
	}
	const quotesAndColon = 3
	if s.pass(valueA-len(keyA)-quotesAndColon, valueB-len(keyB)-quotesAndColon) {
		return unsure, true
	}
	s.i, s.j = valueA, valueB
	s.opaqueNext = s.isOpaque() || slices.Contains(opaqueFields[:], string(keyA))
	return s.value()
}

// missing decides what a member means that only one text has at this place. rest is where the other text's object goes on.
func (s *scanner) missing(key, text []byte, value int, other []byte, rest int) (end int, result verdict, ok bool) {
	if end = valueEnd(text, value); end < 0 {
		return value, unsure, false
	}
	// Where keys are not ordered the member may come later.
	for {
		later, next, ok := nextKey(other, rest)
		if !ok || later != nil && bytes.Equal(later, key) {
			return end, unsure, false
		}
		if later == nil {
			break
		}
		if rest = valueEnd(other, next); rest < 0 {
			return end, unsure, false
		}
	}
	s.jump = true
	switch content := text[value:end]; {
	case string(key) == patchKey:
		s.equal = false // decode accepts a missing directive
	case string(content) == "null" && !s.isOpaque():
		// For every Go type a field that is null is a field that is absent.
	case neverEmpty(content, 0):
		return end, different, false
	default:
		s.equal = false
	}
	return end, unsure, true
}

// element goes on in a list: after its opening bracket, after an element, or before one.
func (s *scanner) element() (verdict, bool) {
	startA, moreA, okA := nextElement(s.a, s.i)
	startB, moreB, okB := nextElement(s.b, s.j)
	switch {
	case !okA || !okB:
		return unsure, false
	case !moreA && !moreB:
		s.leave()
		return unsure, true
	case moreA != moreB:
		return different, false // lists of different lengths
	}
	if c := at(s.a, startA); c == '{' || c == '[' {
		s.i, s.j = startA, startB
	} else if s.pass(startA, startB) {
		return unsure, true
	}
	s.opaqueNext = s.isOpaque()
	return s.value()
}

func (s *scanner) leave() {
	s.depth--
	s.i++
	s.j++
}

func (s *scanner) isOpaque() bool {
	return s.opaque>>(s.depth-1)&1 == 1
}

// pass moves to a place where a mark can be: it leaves one when recording, and where the texts may be equal for
// long it moves on, past what is equal, to the last mark before the next difference.
func (s *scanner) pass(startA, startB int) bool {
	s.i, s.j = startA, startB
	if s.recorded != nil {
		*s.recorded = append(*s.recorded, mark{at: s.i, depth: s.depth, objects: s.objects, opaque: s.opaque})
	}
	if !s.jump {
		return false
	}
	s.jump = false
	run := commonPrefix(s.a[s.i:], s.b[s.j:])
	next, _ := slices.BinarySearchFunc(s.marks, s.i+run+1, func(m mark, limit int) int { return m.at - limit })
	if next == 0 || s.marks[next-1].at <= s.i {
		return false
	}
	to := s.marks[next-1]
	s.j += to.at - s.i
	s.i, s.depth, s.objects, s.opaque = to.at, to.depth, to.objects, to.opaque
	return true
}

// commonPrefix returns how many bytes two texts begin with in common.
func commonPrefix(a, b []byte) int {
	n := 0
	for len(a)-n >= 8 && len(b)-n >= 8 && binary.LittleEndian.Uint64(a[n:]) == binary.LittleEndian.Uint64(b[n:]) {
		n += 8
	}
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
