package importer_test

import (
	"testing"

	"sample/outcomes"
)

func TestImported(t *testing.T) {
	if outcomes.Double(2) != 4 || outcomes.Unused(3) != 6 || outcomes.Larger(2, 1) != 2 {
		t.Error("what is imported is not what it was")
	}
}
