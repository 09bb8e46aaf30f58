// Package operators holds everything that can be changed, and what must not be.
package operators

import (
	"slices"
	"time"
)

const answer = 6 * 7

type flags uint8

type truth bool

var table = [...]string{1: "one", 0: "zero"}

var halves = map[int]int{2: 4 / (1 + 1), len(table) + 1: 0}

func order(a, b int, limit time.Duration) bool {
	if a < b && limit >= 2*time.Second { // both
		return true
	}
	return a == b || !(a > 0 && // the left one only
		limit <= 0)
}

func sum(list []int, weight float64) (total float64) {
	i := 0
	for i < len(list) {
		total += float64(list[i])*weight - 1
		i++
	}
	total /= 2
	return -total
}

func bits(a, b flags, n uint) flags {
	a |= b
	a &^= 1
	return a<<n ^ b&answer
}

func window(list []string, from, to int) []string {
	window := make([]string, 0, len(list)+1)
	window = append(window, list[from:to]...)
	slices.Sort(window)
	return window[1:]
}

func kind(n int, named truth) string {
	switch {
	case n < 0, n > 9:
		return "out"
	case bool(named):
		return table[n%2]
	}
	switch n {
	case 0:
		return "none"
	case answer:
	}
	return "some"
}

type counter struct{ seen map[string]int }

func (c *counter) count(names []string, skip func(string) bool) {
	defer clear(c.seen)
	for _, name := range names {
		if skip(name) {
			continue
		}
		if name == "" {
			break
		}
		c.seen[name]++
	}
	if len(c.seen) == 0 {
		return
	}
	c.seen[""] = len(names)
	_ = c
}

func smallest[T int | string](a, b T) T {
	if a < b {
		return a
	}
	return b
}

// The right side must not be evaluated for what the left one decides.
func filled(c *counter) bool  { return c != nil && len(c.seen) > 0 }
func missing(c *counter) bool { return c == nil || c.seen == nil }
