package inplace_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/daemonplan/daemonplan/internal/conformance"
)

// entry is one way in which this package differs from Kruise on purpose. It does not skip a case: it turns what Kruise
// did into what this package has to do instead, from the input alone.
type entry[C any] struct {
	id, rule, why string
	// expect changes the expected outcome of a case, if the entry concerns it.
	expect func(*C)
}

// tally counts over all recorded files.
type tally struct {
	cases, explained int
}

// compare runs the cases of one recorded file. A case may differ from the recording only as entries foretell; an entry
// that explains no case is out of date.
func compare[C any](t *testing.T, total *tally, file string, entries []entry[C], got func(testing.TB, *C) any, want func(*C) any) {
	t.Helper()
	counts := make([]int, len(entries))
	for i, e := range entries {
		if e.id == "" || e.rule == "" || e.why == "" {
			t.Fatalf("entry %q needs a name, a rule and a reason", e.id)
		}
		if slices.ContainsFunc(entries[:i], func(other entry[C]) bool { return other.id == e.id }) {
			t.Fatalf("two entries %q", e.id)
		}
	}
	cases, explained := 0, 0
	for name, line := range conformance.Lines(t, file) {
		var c C
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		cases++
		recorded, by := text(want(&c)), []string{}
		for i, e := range entries {
			before := text(want(&c))
			e.expect(&c)
			if text(want(&c)) != before {
				counts[i]++
				by = append(by, e.id)
			}
		}
		if len(by) > 0 {
			explained++
		}
		if difference := cmp.Diff(text(want(&c)), text(got(t, &c))); difference != "" {
			t.Errorf("%s (entries %s; recorded %s): (-want +got)\n%s", name, strings.Join(by, ", "), recorded, difference)
		}
	}
	for i, e := range entries {
		t.Logf("%-22s %-6s %3d cases: %s", e.id, e.rule, counts[i], e.why)
		if counts[i] == 0 {
			t.Errorf("entry %q explains no case", e.id)
		}
	}
	t.Logf("%s: %d of %d cases explained", file, explained, cases)
	total.cases, total.explained = total.cases+cases, total.explained+explained
}

// TestConformance compares with what Kruise did. Changes of metadata that a variable reads are overrepresented in the
// recorded cases of calculate, twice each, once per setting of the gates: they are two thirds of what is explained.
func TestConformance(t *testing.T) {
	var total tally
	t.Run("calculate", func(t *testing.T) {
		compare(t, &total, "kruise-inplace/calculate.jsonl", calculateEntries, calculate, func(c *calculateCase) any { return c.Expect })
	})
	t.Run("completed", func(t *testing.T) {
		compare(t, &total, "kruise-inplace/completed.jsonl", completedEntries, completed,
			func(c *completedCase) any { return c.Expect.Completed })
	})
	t.Run("needs-unready", func(t *testing.T) {
		compare(t, &total, "kruise-inplace/needs-unready.jsonl", needsUnreadyEntries, needsUnready,
			func(c *needsUnreadyCase) any { return c.Expect.NeedsBeUnready })
	})
	t.Run("batches", func(t *testing.T) {
		compare(t, &total, "kruise-inplace/batches.jsonl", batchesEntries, playBatches, (*batchesCase).expected)
	})
	t.Logf("%d of %d cases explained", total.explained, total.cases)
	if total.explained*8 > total.cases {
		t.Error("more than an eighth is explained: this is another contract")
	}
}
