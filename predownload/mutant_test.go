package predownload_test

import (
	"testing"
)

// rowNames holds tables to their form: every row has a reason and a name of its own.
type rowNames map[string]bool

func (r rowNames) check(t *testing.T, name, why string) {
	t.Helper()
	if name == "" || why == "" || r[name] {
		t.Fatalf("row %q needs a reason and a name of its own", name)
	}
	r[name] = true
}
