package history_test

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/daemonplan/daemonplan/internal/fixedseed"
	"github.com/daemonplan/daemonplan/rollout/history"
)

type comparison func(a, b []byte) bool

// agrees: a comparison is R2 (naiveSame), whichever of the two comes first.
func agrees(same comparison) func(pair) error {
	return func(p pair) error {
		want := naiveSame(p.a, p.b)
		if same(p.a, p.b) != want || same(p.b, p.a) != want {
			return fmt.Errorf("same %v and %v, want %v:\n%s\n%s", same(p.a, p.b), same(p.b, p.a), want, p.a, p.b)
		}
		return nil
	}
}

type scanning func(a, b []byte, marked bool) string

// scanIsRight: what the scan is sure of is so.
func scanIsRight(scan scanning) func(pair) error {
	return func(p pair) error {
		if bytes.Equal(p.a, p.b) {
			return nil
		}
		_, err := understand(p.a)
		for _, marked := range []bool{false, true} {
			switch scan(p.a, p.b, marked) {
			case "different":
				if naiveSame(p.a, p.b) {
					return fmt.Errorf("marked %v: called different:\n%s\n%s", marked, p.a, p.b)
				}
			case "same":
				if err == nil && !naiveSame(p.a, p.b) {
					return fmt.Errorf("marked %v: called same:\n%s\n%s", marked, p.a, p.b)
				}
			}
		}
		return nil
	}
}

func TestSameDataProperty(t *testing.T) {
	property := agrees(history.SameData)
	rapid.Check(t, func(t *rapid.T) {
		if err := property(pairs().Draw(t, "pair")); err != nil {
			t.Fatal(err)
		}
	})
}

func TestScanProperty(t *testing.T) {
	property := scanIsRight(history.ScanSays)
	rapid.Check(t, func(t *rapid.T) {
		if err := property(pairs().Draw(t, "pair")); err != nil {
			t.Fatal(err)
		}
	})
}

// The property above says nothing of a scan that is never sure.
func TestScanIsMostlySure(t *testing.T) {
	seen := map[string]int{}
	for seed := range 1500 {
		p := pairs().Example(seed)
		for _, marked := range []bool{false, true} {
			said := history.ScanSays(p.a, p.b, marked)
			if !bytes.Equal(p.a, p.b) && (said != "different" || !naiveSame(p.a, p.b)) {
				seen[said]++
			}
		}
	}
	t.Log(seen)
	if seen["different"] < seen["unsure"] || seen["same"] < 10 || seen["unsure"] < 10 {
		t.Errorf("verdicts %v: the scan is to spare decoding, and each verdict is to be tested", seen)
	}
}

func FuzzSameData(f *testing.F) {
	for seed := range 40 {
		p := pairs().Example(seed)
		f.Add(p.a, p.b)
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		if slowQuantity.Match(a) || slowQuantity.Match(b) {
			_ = history.SameData(a, b) // must end, which the oracle need not
			return
		}
		if err := agrees(history.SameData)(pair{a, b}); err != nil {
			t.Fatal(err)
		}
		if err := scanIsRight(history.ScanSays)(pair{a, b}); err != nil {
			t.Fatal(err)
		}
	})
}
