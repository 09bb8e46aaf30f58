package operators

import (
	"slices"
	"testing"
	"time"
)

// What is rewritten has to do what the original does while no mutant is on.
func TestOriginal(t *testing.T) {
	if !order(1, 2, 2*time.Second) || order(2, 1, 0) == order(2, 1, 1) || !order(3, 3, 0) {
		t.Error("order")
	}
	if got := sum([]int{1, 2, 4}, 3); got != -9 {
		t.Error("sum", got)
	}
	if got := bits(8, 3, 2); got != 10<<2^2 {
		t.Error("bits", got)
	}
	if got := window([]string{"x", "c", "b", "a"}, 1, 4); !slices.Equal(got, []string{"b", "c"}) {
		t.Error("window", got)
	}
	if kind(-1, true) != "out" || kind(10, true) != "out" || kind(3, true) != "one" || kind(0, false) != "none" {
		t.Error("kind")
	}
	if smallest("a", "b") != "a" || smallest(2, 1) != 1 || halves[2] != 2 {
		t.Error("smallest, halves")
	}
}

func TestShortCircuit(t *testing.T) {
	calls := 0
	c := &counter{seen: map[string]int{}}
	c.count([]string{"a", "b", "a", "", "c"}, func(string) bool { calls++; return false })
	if calls != 4 || len(c.seen) != 0 {
		t.Error(calls, c.seen)
	}
	if filled(nil) || filled(c) || !missing(nil) || missing(c) {
		t.Error("filled, missing")
	}
}
