package main

import (
	"bytes"
	"cmp"
	"slices"
)

// edit replaces text[from:to] of a file. Insertions have from == to. None adds or removes a line, so that what the compiler
// or a panic says about a line holds for the original too.
type edit struct {
	from, to int
	text     string
	place    place
	nesting  int // larger for what is further inside
}

// place orders edits at one offset.
type place int

const (
	closing place = iota // ends what stands before the offset
	instead              // replaces what stands at it
	opening              // begins what stands after it
)

// render applies the edits of the sites to a file.
func render(file *sourceFile, sites []*site) []byte {
	var edits []edit
	for _, s := range sites {
		if s.file == file {
			edits = append(edits, s.edits...)
		}
	}
	slices.SortStableFunc(edits, func(a, b edit) int {
		nesting := cmp.Compare(a.nesting, b.nesting)
		if a.place == closing {
			nesting = -nesting
		}
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.place, b.place), nesting)
	})
	var out bytes.Buffer
	at := 0
	for _, e := range edits {
		out.Write(file.text[at:e.from])
		out.WriteString(e.text)
		at = e.to
	}
	out.Write(file.text[at:])
	return out.Bytes()
}
