package main

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// input is one file of a corpus.
type input struct {
	data    []byte
	reaches blocks
}

// blocks of statements that ran, by their place in the source and how often, in powers of two: what runs a loop longer reaches
// more.
type blocks map[string]bool

// readProfile reads the blocks that ran off a coverage profile: lines of place, statements and count.
func readProfile(text string) blocks {
	ran := blocks{}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			continue
		}
		if times, err := strconv.ParseUint(fields[2], 10, 64); err == nil && times > 0 {
			ran[fmt.Sprintf("%s %d", fields[0], bits.Len64(times))] = true
		}
	}
	return ran
}

// choose picks inputs until they reach what all of them reach beyond base: again and again the one that adds the most blocks,
// of equals the smallest, of those the first by content. It stops at the limits.
func choose(base blocks, inputs []input, l limits) []input {
	reached := blocks{}
	for block := range base {
		reached[block] = true
	}
	left := slices.Clone(inputs)
	var chosen []input
	for size := 0; len(chosen) < l.files; {
		best, most := -1, 0
		for i := range left {
			adds := 0
			for block := range left[i].reaches {
				if !reached[block] {
					adds++
				}
			}
			if adds == 0 || size+len(left[i].data) > l.bytes {
				continue
			}
			if adds > most || adds == most && compare(left[i], left[best]) < 0 {
				best, most = i, adds
			}
		}
		if best < 0 {
			break
		}
		for block := range left[best].reaches {
			reached[block] = true
		}
		size += len(left[best].data)
		chosen = append(chosen, left[best])
		left = slices.Delete(left, best, best+1)
	}
	return chosen
}

func compare(a, b input) int {
	return cmp.Or(cmp.Compare(len(a.data), len(b.data)), cmp.Compare(string(a.data), string(b.data)))
}
