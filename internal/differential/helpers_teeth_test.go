//go:build teeth

package differential_test

import (
	"slices"
	"testing"
)

// TestHelpersSeePlantedBugs: a comparison that no wrong answer fails would prove nothing.
func TestHelpersSeePlantedBugs(t *testing.T) {
	for _, c := range comparisons() {
		t.Run(c.name(), func(t *testing.T) { c.teeth(t) })
	}
}

// TestHelpersMeetEveryKind: every comparison meets each kind of input and each difference that it knows of.
func TestHelpersMeetEveryKind(t *testing.T) {
	for _, c := range comparisons() {
		t.Run(c.name(), func(t *testing.T) { c.meetsEveryKind(t) })
	}
}

func (c comparison[I, O]) meetsEveryKind(t *testing.T) {
	const most = 20000
	met, differences := make([]bool, len(c.kinds)), map[deviation]bool{}
	for seed := range most {
		j := c.property(c.inputs.Example(seed), c.answer)
		if j.err != nil {
			t.Fatalf("input %d: %v", seed, j.err)
		}
		met[j.kind], differences[j.because] = true, true
		if !slices.Contains(met, false) && len(differences) == len(c.deviates)+1 {
			return
		}
	}
	for i, kind := range c.kinds {
		if !met[i] {
			t.Errorf("none of %d inputs is %q", most, kind)
		}
	}
	for _, d := range c.deviates {
		if !differences[d] {
			t.Errorf("none of %d inputs shows %s", most, deviationTable[d].id)
		}
	}
}
