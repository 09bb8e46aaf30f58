package differential_test

import (
	"flag"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/daemonplan/daemonplan/internal/fixedseed"
)

var snapshots = flag.Int("n", 1000, "how many worlds the one-step comparison draws; the other comparisons draw a share of it")

// check draws one of share snapshots for a property, at least one. RAPID_SEED, where it is set, makes each run draw the
// same.
func check(t *testing.T, share int, property func(*rapid.T)) {
	t.Helper()
	if err := flag.Set("rapid.checks", strconv.Itoa(max(1, *snapshots/share))); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, property)
}
