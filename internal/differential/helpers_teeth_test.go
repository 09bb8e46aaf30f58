//go:build teeth

package differential_test

import (
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
