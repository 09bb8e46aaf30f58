package rollout_test

import (
	"testing"

	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// A partition holds nodes at their old revision, and in a first installation it leaves them empty: Waits says which (T2, T7).
// So it says what a selector holds (T3).
func TestWaitOfHolds(t *testing.T) {
	tests := []struct {
		name, why string
		lab       *lab
		want      string
	}{
		{"partition", "T2: with its places", newLab(partition("1")).add(on("a", oldPod()), on("b", newPod())),
			"1 node is held at its old revision: partition 1 (a)"},
		{"first installation", "T7: there is no old revision", firstInstallation(partition("1")).add(on("a", newPod()), on("b")),
			"1 node waits: a first installation leaves the partition empty (b)"},
		{"selector", "T3", newLab(nodeType("canary"), kit.MaxUnavailable("2")).add(on("a", oldPod()), on("b", oldPod())),
			"2 nodes are held at their old revision: the strategy's nodeSelector does not match (a, b)"},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			waits := new(tt.lab.plan(t)).Waits()
			if len(waits) != 1 || waits[0].String() != tt.want {
				t.Errorf("got %v, want %q alone: %s", waits, tt.want, tt.why)
			}
		})
	}
}
