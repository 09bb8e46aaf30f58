package outcomes

import (
	"fmt"
	"testing"
)

func TestClamp(t *testing.T) {
	for n, want := range map[int]int{9: 9, 10: 10, 11: 10, 12: 10} {
		if got := Clamp(n); got != want {
			t.Error(n, got)
		}
	}
}

func TestLarger(t *testing.T) {
	if Larger(1, 2) != 2 || Larger(2, 1) != 2 {
		t.Error("larger")
	}
}

func TestDouble(*testing.T) { Double(4) }

func ExampleSteps() {
	fmt.Println(Steps(3))
	// Output: 3
}

func FuzzSteps(f *testing.F) {
	f.Add(2)
	f.Fuzz(func(t *testing.T, n int) {
		if n >= 0 && n < 100 && Steps(n) != n {
			t.Error(n)
		}
	})
}

func TestSlow(t *testing.T) {
	x := uint32(1)
	for range 1 << 29 {
		x = x*1664525 + 1013904223
	}
	if Slow(4) != 1 || x == 0 {
		t.Error("slow")
	}
}

func TestFailsAnyway(t *testing.T) { t.Error("not the mutant's fault") }
