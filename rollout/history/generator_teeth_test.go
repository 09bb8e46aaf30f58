//go:build teeth

package history_test

import (
	"testing"

	"pgregory.net/rapid"
)

// refutes reports whether a property that must hold for all values fails for one of the first few hundred: how a
// planted bug is seen.
func refutes[V any](t *testing.T, values *rapid.Generator[V], property func(V) error) {
	t.Helper()
	for seed := range 2000 {
		if property(values.Example(seed)) != nil {
			return
		}
	}
	t.Error("no value refutes it: the property does not see the planted bug")
}
