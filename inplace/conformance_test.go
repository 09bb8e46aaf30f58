package inplace_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/daemonplan/daemonplan/internal/conformance"
	"github.com/daemonplan/daemonplan/internal/fixedseed"
)

// entry is one deliberate difference of this package from Kruise. It is a switch of a naive model of Kruise.
type entry struct {
	id, rule, why string
	// unrecorded reports whether no recording shows the situation, but variations of recordings do.
	unrecorded bool
	// uncalculated reports whether Kruise never calculates such an update, so that the difference cannot be seen. It is not
	// counted.
	uncalculated bool
}

// rules are the entries that are switched on, as bits by number.
type rules uint32

func (s rules) has(number int) bool { return s>>number&1 == 1 }

// peer compares one function of Kruise, for which there are cases of type C, with what this package does.
type peer[C any] struct {
	file    string
	entries []entry
	// recorded is what Kruise did. model is what Kruise does according to the model, and with entries switched on, what it would
	// do with their rules. ours is what this package does.
	recorded func(*C) any
	model    func(*C, rules) any
	ours     func(testing.TB, *C) any
	// vary changes a case, so that there are cases that were not recorded.
	vary func(*C, *rand.Rand)
	// reverse reverses the order of the containers.
	reverse func(*C)
}

func (p *peer[C]) all() rules { return 1<<len(p.entries) - 1 }

func (p *peer[C]) uncalculated() (s rules) {
	for number, e := range p.entries {
		if e.uncalculated {
			s |= 1 << number
		}
	}
	return s
}

// cases returns the names and the JSON of the recorded cases.
func (p *peer[C]) cases(t testing.TB) (names []string, lines [][]byte) {
	t.Helper()
	for name, line := range conformance.Lines(t, p.file) {
		names, lines = append(names, name), append(lines, line)
	}
	return names, lines
}

func decoded[C any](t testing.TB, name string, line []byte) *C {
	t.Helper()
	c := new(C)
	if err := json.Unmarshal(line, c); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return c
}

// explained returns the entries that explain how this package differs from Kruise in a case: a set from which none can be left
// out if the model is to do what this package does. If even the model with all entries does not, the text describes the
// difference.
func (p *peer[C]) explained(t testing.TB, c *C) (needed rules, difference string) {
	t.Helper()
	ours := text(p.ours(t, c))
	if text(p.model(c, 0)) == ours && text(p.model(c, p.all())) == ours {
		return 0, ""
	}
	if difference = cmp.Diff(text(p.model(c, p.all())), ours); difference != "" {
		return 0, difference
	}
	needed = p.all()
	for number := range p.entries {
		if without := needed &^ (1 << number); text(p.model(c, without)) == ours {
			needed = without
		}
	}
	return needed, ""
}

// tally holds counts over all recorded files.
type tally struct {
	cases, explained int
}

// compare runs the cases of one recorded file. The model without entries must do what Kruise did, and with all entries what this
// package does. An entry that no case of this repository's recordings needs is an error, because it is out of date. Other
// recordings need not have each situation.
func (p *peer[C]) compare(t *testing.T, total *tally) {
	t.Helper()
	for i, e := range p.entries {
		if e.id == "" || e.rule == "" || e.why == "" {
			t.Fatalf("entry %q needs a name, a rule and a reason", e.id)
		}
		if slices.ContainsFunc(p.entries[:i], func(other entry) bool { return other.id == e.id }) {
			t.Fatalf("two entries %q", e.id)
		}
	}
	counts, explained := make([]int, len(p.entries)), 0
	names, lines := p.cases(t)
	for i, name := range names {
		c := decoded[C](t, name, lines[i])
		if difference := cmp.Diff(text(p.recorded(c)), text(p.model(c, 0))); difference != "" {
			t.Errorf("%s: the model does something else: (-recorded +model)\n%s", name, difference)
			continue
		}
		needed, difference := p.explained(t, c)
		if difference != "" {
			t.Errorf("%s (recorded %s): not explained: (-want +ours)\n%s", name, text(p.recorded(c)), difference)
		}
		for number := range p.entries {
			if needed.has(number) {
				counts[number]++
			}
		}
		if needed&^p.uncalculated() != 0 {
			explained++
		}
	}
	for i, e := range p.entries {
		t.Logf("%-22s %-6s %3d cases: %s", e.id, e.rule, counts[i], e.why)
		if (counts[i] == 0) != e.unrecorded && os.Getenv(conformance.EnvDir) == "" {
			t.Errorf("entry %q explains %d cases of the recordings, unrecorded: %v", e.id, counts[i], e.unrecorded)
		}
	}
	t.Logf("%s: %d of %d cases explained", p.file, explained, len(names))
	total.cases, total.explained = total.cases+len(names), total.explained+explained
}

// variations compares what this package does in varied cases with the model with all entries, which is a second, naive
// implementation. It returns how many variations need each entry.
func (p *peer[C]) variations(t *testing.T, perCase uint64) []int {
	t.Helper()
	counts, bad, total := make([]int, len(p.entries)), 0, 0
	names, lines := p.cases(t)
	for i, name := range names {
		for seed := range perCase {
			c := decoded[C](t, name, lines[i])
			p.vary(c, rand.New(rand.NewPCG(seed, uint64(i))))
			total++
			needed, difference := p.explained(t, c)
			if difference != "" {
				if bad++; bad <= 8 {
					t.Errorf("%s, variation %d: not explained: (-want +ours)\n%s\n%s", name, seed, difference, text(c))
				}
			}
			for number := range p.entries {
				if needed.has(number) {
					counts[number]++
				}
			}
		}
	}
	if bad > 0 {
		t.Errorf("%d of %d variations are not explained", bad, total)
	}
	if total == 0 {
		t.Error("no case to vary")
	}
	t.Logf("%s: %d variations; entries needed: %v", p.file, total, counts)
	return counts
}

// same changes cases in ways that must not change the result, and compares them with the recording: containers get other names,
// and another order.
func (p *peer[C]) same(t *testing.T) {
	t.Helper()
	name := regexp.MustCompile(`(\\?")(old-)?(c[0-9])(\\?")`)
	names, lines := p.cases(t)
	for i, line := range lines {
		if !bytes.Contains(line, []byte("plainHash")) { // the hash of a container depends on its name
			line = name.ReplaceAll(line, []byte("${1}${2}agent-$3$4"))
		}
		c := decoded[C](t, names[i], line)
		p.reverse(c)
		if difference := cmp.Diff(text(p.recorded(c)), text(p.model(c, 0))); difference != "" {
			t.Errorf("%s, renamed and reversed: the model does something else: (-recorded +model)\n%s", names[i], difference)
		} else if _, difference := p.explained(t, c); difference != "" {
			t.Errorf("%s, renamed and reversed: not explained: (-want +ours)\n%s", names[i], difference)
		}
	}
}

// TestConformance compares this package with what Kruise did. The recorded cases of calculate have many changes of metadata that
// a variable reads, twice each, once per setting of the gates. They are two thirds of what is explained.
func TestConformance(t *testing.T) {
	var total tally
	t.Run("calculate", func(t *testing.T) { calculatePeer.compare(t, &total) })
	t.Run("completed", func(t *testing.T) { completedPeer.compare(t, &total) })
	t.Run("needs-unready", func(t *testing.T) { unreadyPeer.compare(t, &total) })
	t.Run("batches", func(t *testing.T) { batchesPeer.compare(t, &total) })
	t.Logf("%d of %d cases explained", total.explained, total.cases)
	if total.explained*8 > total.cases && os.Getenv(conformance.EnvDir) == "" {
		t.Error("more than an eighth is explained: this is another contract")
	}
}

// TestConformanceVariations varies the recorded cases.
func TestConformanceVariations(t *testing.T) {
	t.Run("calculate", func(t *testing.T) { calculatePeer.variations(t, fixedseed.Share(4)) })
	t.Run("completed", func(t *testing.T) { completedPeer.variations(t, fixedseed.Share(12)) })
	t.Run("needs-unready", func(t *testing.T) { unreadyPeer.variations(t, fixedseed.Share(20)) })
	t.Run("batches", func(t *testing.T) { batchesPeer.variations(t, fixedseed.Share(10)) })
}

func TestConformanceRenamed(t *testing.T) {
	t.Run("calculate", calculatePeer.same)
	t.Run("completed", completedPeer.same)
	t.Run("needs-unready", unreadyPeer.same)
	t.Run("batches", batchesPeer.same)
}
