package text

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Width is how many columns of a terminal a text takes up.
func Width(text string) float64 { return float64(ansi.StringWidth(text)) }

// Shorten cuts names to a width so that different names stay different, and returns them in the same order. Names that fit stay
// as they are. Of the others goes first what all of them have in common: their end, then the middle of their beginning. Only then
// is what differs cut. Names that no cut leaves different end in ~ and a number, if there is room for it. Measure is the width of
// a text in any unit, such as [Width]. A letter and its marks stay together. If not even an ellipsis fits, it is one.
func Shorten(names []string, width float64, measure func(string) float64) []string {
	s := shortener{width: width, measure: measure, taken: make(map[string]bool)}
	var long []string
	at := make(map[string]int) // of the long ones
	for _, name := range names {
		if measure(name) <= width {
			s.taken[name] = true
		} else if _, known := at[name]; !known {
			at[name] = len(long)
			long = append(long, name)
		}
	}
	list := slices.Clone(names)
	if len(long) == 0 {
		return list
	}
	short := s.shorten(long)
	for i, name := range names {
		if at, long := at[name]; long {
			list[i] = short[at]
		}
	}
	return list
}

const ellipsis = "…"

// shortener cuts names to a width.
type shortener struct {
	width   float64
	measure func(string) float64
	taken   map[string]bool // names that fit
}

// parted is a name in characters. Begin and End are common to all names.
type parted struct{ begin, core, end []string }

// shorten returns the names, which are too long and different.
func (s *shortener) shorten(long []string) []string {
	names := parts(long)
	apply := func(way func(parted) string) []string {
		var cut []string
		for _, name := range names {
			cut = append(cut, way(name))
		}
		return cut
	}
	for _, way := range []func(parted) string{s.withoutEnd, s.beginCut, s.beginAndEndCut, s.middle, s.tail, s.head} {
		if cut := apply(way); s.different(cut) {
			return cut
		}
	}
	return s.numbered(names, apply(s.middle))
}

// different reports whether all of the names fit, and each is like no other.
func (s *shortener) different(cut []string) bool {
	seen := make(map[string]bool)
	for _, name := range cut {
		if seen[name] || s.taken[name] || s.measure(name) > s.width {
			return false
		}
		seen[name] = true
	}
	return true
}

// numbered gives numbers to names that are cut like another one, as far as there is room.
func (s *shortener) numbered(names []parted, cut []string) []string {
	n := 0
	for i, name := range cut {
		for s.taken[cut[i]] {
			n++
			number := fmt.Sprintf("~%d", n)
			if s.measure(ellipsis+number) > s.width {
				cut[i] = name
				break
			}
			room := shortener{width: s.width - s.measure(number), measure: s.measure}
			cut[i] = room.middle(names[i]) + number
		}
		s.taken[cut[i]] = true
	}
	return cut
}

// withoutEnd is a name without the end that all have.
func (*shortener) withoutEnd(p parted) string {
	return joined(p.begin, p.core) + mark(p.end)
}

// beginCut is a name of which the middle of the common beginning is cut.
func (s *shortener) beginCut(p parted) string {
	rest := joined(p.core, p.end)
	return s.start(p.begin, rest) + rest
}

// beginAndEndCut is both.
func (s *shortener) beginAndEndCut(p parted) string {
	rest := joined(p.core) + mark(p.end)
	return s.start(p.begin, rest) + rest
}

// leastKept is how many characters of a common beginning are worth the room. If there is room for bothKept of them, some are
// those at its end, so that less of a part of a name is left out.
const (
	leastKept = 4
	bothKept  = 8
)

// start is as much of a common beginning as there is room for before the rest.
func (s *shortener) start(begin []string, rest string) string {
	for keep := len(begin); keep >= leastKept; keep-- {
		last := 0
		if keep >= bothKept {
			last = keep / 2
		}
		if cut := around(begin, keep-last, last); s.measure(cut+rest) <= s.width {
			return cut
		}
	}
	return mark(begin)
}

// middle, tail and head cut what differs: the middle of it, its beginning, or its end.
func (s *shortener) middle(p parted) string {
	return s.cut(p, func(keep int) (first, last int) { return keep / 2, keep - keep/2 })
}

func (s *shortener) tail(p parted) string {
	return s.cut(p, func(keep int) (first, last int) { return 0, keep })
}

func (s *shortener) head(p parted) string {
	return s.cut(p, func(keep int) (first, last int) { return keep, 0 })
}

func (s *shortener) cut(p parted, split func(keep int) (first, last int)) string {
	for keep := len(p.core); keep > 0; keep-- {
		first, last := split(keep)
		core := around(p.core, first, last)
		before, after := mark(p.begin), mark(p.end)
		if strings.HasPrefix(core, ellipsis) {
			before = ""
		}
		if strings.HasSuffix(core, ellipsis) {
			after = ""
		}
		if cut := before + core + after; s.measure(cut) <= s.width {
			return cut
		}
	}
	return ellipsis
}

// around is the beginning and the end of a text with an ellipsis between them, or the text if that is all of it.
func around(text []string, first, last int) string {
	if first+last >= len(text) {
		return joined(text)
	}
	return joined(text[:first]) + ellipsis + joined(text[len(text)-last:])
}

// mark is what stands for a part that is left out.
func mark(part []string) string {
	if len(part) == 0 {
		return ""
	}
	return ellipsis
}

func joined(parts ...[]string) string { return strings.Join(slices.Concat(parts...), "") }

// separators are where the parts of names end.
const separators = "-._/: "

// parts splits names into what they have in common, as far as whole parts of the names are common, and what differs. Of one name
// nothing is common.
func parts(names []string) []parted {
	list := make([]parted, len(names))
	for i, name := range names {
		list[i].core = characters(name)
	}
	if len(list) == 1 {
		return list
	}
	begin := len(list[0].core)
	for _, p := range list {
		begin = min(begin, common(list[0].core, p.core, func(text []string, i int) string { return text[i] }))
	}
	for begin > 0 && !strings.Contains(separators, list[0].core[begin-1]) {
		begin--
	}
	for i, p := range list {
		list[i].begin, list[i].core = p.core[:begin], p.core[begin:]
	}
	end := len(list[0].core)
	for _, p := range list {
		end = min(end, common(list[0].core, p.core, func(text []string, i int) string { return text[len(text)-1-i] }))
	}
	for end > 0 && !strings.Contains(separators, list[0].core[len(list[0].core)-end]) {
		end--
	}
	for i, p := range list {
		list[i].core, list[i].end = p.core[:len(p.core)-end], p.core[len(p.core)-end:]
	}
	return list
}

// common is for how many characters two texts are alike.
func common(a, b []string, at func(text []string, i int) string) int {
	n := 0
	for n < min(len(a), len(b)) && at(a, n) == at(b, n) {
		n++
	}
	return n
}

// characters splits a text into what a reader sees as one character each.
func characters(text string) []string {
	var list []string
	for text != "" {
		one, _ := ansi.FirstGraphemeCluster(text, ansi.GraphemeWidth)
		list = append(list, one)
		text = text[len(one):]
	}
	return list
}
