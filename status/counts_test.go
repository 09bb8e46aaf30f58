package status_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/daemonplan/daemonplan/internal/fixedseed"
	"github.com/daemonplan/daemonplan/internal/fuzzing"
	"github.com/daemonplan/daemonplan/status"
)

func TestAddS1(t *testing.T) {
	const all = status.Desired | status.Present | status.Ready | status.Available | status.Updated
	tests := []struct {
		name  string
		why   string
		facts status.Facts
		want  status.Counts
	}{
		{"nothing", "a node that is not to run the pod and does not", 0, status.Counts{}},
		{"missing", "a desired node without a pod is unavailable", status.Desired,
			status.Counts{Desired: 1, Unavailable: 1}},
		{"present", "any pod object makes it current, a terminating one too", status.Desired | status.Present,
			status.Counts{Desired: 1, Current: 1, Unavailable: 1}},
		{"ready", "ready is not yet available", status.Desired | status.Present | status.Ready,
			status.Counts{Desired: 1, Current: 1, Ready: 1, Unavailable: 1}},
		{"outdated", "an old pod is available as well", all &^ status.Updated,
			status.Counts{Desired: 1, Current: 1, Ready: 1, Available: 1}},
		{"all", "the healthy node", all, status.Counts{Desired: 1, Current: 1, Ready: 1, Available: 1, Updated: 1}},
		{"starting", "updated is about the revision, not about health", status.Desired | status.Present | status.Updated,
			status.Counts{Desired: 1, Current: 1, Unavailable: 1, Updated: 1}},
		{"misscheduled", "elsewhere a pod is misscheduled and nothing else", all &^ status.Desired,
			status.Counts{Misscheduled: 1}},
		{"misscheduled broken", "however broken it is", status.Present, status.Counts{Misscheduled: 1}},
		{"elsewhere without pod", "no pod, nothing misscheduled", status.Ready | status.Available | status.Updated,
			status.Counts{}},
		{"available, not ready", "available needs ready", all &^ status.Ready,
			status.Counts{Desired: 1, Current: 1, Unavailable: 1, Updated: 1}},
		{"available, no pod", "each of them needs a pod", all &^ status.Present,
			status.Counts{Desired: 1, Unavailable: 1}},
		{"unnamed bits", "bits of a later version change no counter", all | 1<<5 | 1<<15,
			status.Counts{Desired: 1, Current: 1, Ready: 1, Available: 1, Updated: 1}},
	}
	table := rows{}
	for _, tt := range tests {
		table.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			var got status.Counts
			got.Add(tt.facts)
			if got != tt.want {
				t.Errorf("Add(%v) gives %+v, want %+v: %s", tt.facts, got, tt.want, tt.why)
			}
		})
	}
}

func TestAddToNil(t *testing.T) {
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("Add on a nil receiver panics: %v", p)
		}
	}()
	(*status.Counts)(nil).Add(status.Desired)
}

func TestAddAllocatesNothing(t *testing.T) {
	var c status.Counts
	if n := testing.AllocsPerRun(100, func() { c.Add(0xffff) }); n != 0 {
		t.Errorf("Add allocates %v objects, want none", n)
	}
}

// counter is an implementation of Counts.Add.
type counter func(*status.Counts, status.Facts)

// countOracle counts each counter by itself.
func countOracle(nodes []status.Facts) status.Counts {
	count := func(bits, without status.Facts) (n int32) {
		for _, f := range nodes {
			if f&bits == bits && f&without == 0 {
				n++
			}
		}
		return n
	}
	const here = status.Desired | status.Present
	c := status.Counts{
		Desired:      count(status.Desired, 0),
		Current:      count(here, 0),
		Misscheduled: count(status.Present, status.Desired),
		Ready:        count(here|status.Ready, 0),
		Available:    count(here|status.Ready|status.Available, 0),
		Updated:      count(here|status.Updated, 0),
	}
	c.Unavailable = c.Desired - c.Available
	return c
}

// countViolation returns how add breaks S1 on nodes; nil if it keeps it.
func countViolation(add counter, nodes []status.Facts) error {
	var c status.Counts
	for i, f := range nodes {
		add(&c, f)
		ordered := 0 <= c.Available && c.Available <= c.Ready && c.Ready <= c.Current && c.Current <= c.Desired &&
			0 <= c.Updated && c.Updated <= c.Current && c.Unavailable == c.Desired-c.Available
		if !ordered {
			return fmt.Errorf("S1 is broken after %v: %+v", nodes[:i+1], c)
		}
	}
	if want := countOracle(nodes); c != want {
		return fmt.Errorf("%v: counted %+v, the oracle says %+v", nodes, c, want)
	}
	var backwards status.Counts
	for _, f := range slices.Backward(nodes) {
		add(&backwards, f)
	}
	if backwards != c {
		return fmt.Errorf("%v: order matters: %+v, backwards %+v", nodes, c, backwards)
	}
	return nil
}

var fleets = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) status.Facts {
	return status.Facts(rapid.Uint16Range(0, 1<<6).Draw(t, "facts"))
}), 0, 12)

func addProperty(t *rapid.T) {
	if err := countViolation((*status.Counts).Add, fleets.Draw(t, "nodes")); err != nil {
		t.Fatal(err)
	}
}

func TestAddProperty(t *testing.T) { rapid.Check(t, addProperty) }

func FuzzAdd(f *testing.F) { fuzzing.Property(f, rapid.MakeFuzz(addProperty)) }

func TestFactsHas(t *testing.T) {
	const f = status.Desired | status.Ready
	for bits, want := range map[status.Facts]bool{
		0:                               true,
		status.Desired:                  true,
		status.Ready:                    true,
		status.Desired | status.Ready:   true,
		status.Present:                  false,
		status.Desired | status.Present: false,
		status.Updated | status.Ready:   false,
	} {
		if got := f.Has(bits); got != want {
			t.Errorf("(%v).Has(%v) = %v, want %v", f, bits, got, want)
		}
	}
}

func TestFactsString(t *testing.T) {
	for facts, want := range map[status.Facts]string{
		0:                "none",
		status.Desired:   "desired",
		status.Present:   "present",
		status.Ready:     "ready",
		status.Available: "available",
		status.Updated:   "updated",
		status.Desired | status.Present | status.Ready: "desired|present|ready",
		status.Updated | status.Desired:                "desired|updated",
		0x1f:                                           "desired|present|ready|available|updated",
		0x20:                                           "0x20",
		status.Ready | 0x8020:                          "ready|0x8020",
	} {
		if got := facts.String(); got != want {
			t.Errorf("Facts(%#x).String() = %q, want %q", uint16(facts), got, want)
		}
	}
}
