package simulate

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// registryCall is a call of the engine at an instant. Calls at one instant come after the pulls that end then, in their order.
type registryCall struct {
	at        time.Duration
	call      string // begin, cancel, forget, put
	node      string
	zone      string
	image     string
	bandwidth int64
}

// registryEnds drives a registry as the engine does and lists all ends.
func registryEnds(r *registry, calls []registryCall) []string {
	var ends []string
	advance := func(to time.Duration) {
		for _, p := range r.advance(to) {
			end := fmt.Sprintf("%s %s %s", p.at, p.node, p.image)
			if p.failed {
				end += " failed"
			}
			ends = append(ends, end)
		}
	}
	for i, c := range calls {
		for t, ok := r.next(); ok && t <= c.at && (i == 0 || c.at > calls[i-1].at); t, ok = r.next() {
			advance(t)
		}
		switch c.call {
		case "begin":
			r.begin(c.at, c.node, c.zone, c.image, c.bandwidth)
		case "cancel":
			r.cancel(c.at, c.node, c.image)
		case "forget":
			r.forgetNode(c.at, c.node)
		case "put":
			r.put(c.node, c.zone, c.image)
		default:
			panic("no such call: " + c.call)
		}
	}
	for t, ok := r.next(); ok; t, ok = r.next() {
		advance(t)
	}
	return ends
}

func registryBegin(at time.Duration, node, image string) registryCall {
	return registryCall{at: at, call: "begin", node: node, zone: "z", image: image}
}

const mega = 1_000_000

// slowRegistry has 10 MB/s and images of 100 MB, so that one pull takes 10 s.
func slowRegistry(change func(*Registry)) Registry {
	r := Registry{Bandwidth: 10 * mega, Size: 100 * mega}
	if change != nil {
		change(&r)
	}
	return r
}

// registryRow is a registry with calls, and when which pull ends.
type registryRow struct {
	name, why       string
	model           Registry
	calls           []registryCall
	want            []string
	registry, peers int64 // bytes at the end
}

func TestRegistry(t *testing.T) {
	names := map[string]bool{}
	for _, row := range append(registryRows(), registryChanges()...) {
		if row.name == "" || row.why == "" || names[row.name] {
			t.Fatalf("row %q: name and why must be there, and the name unique", row.name)
		}
		names[row.name] = true
		t.Run(row.name, func(t *testing.T) {
			r := newRegistry(row.model, 1)
			if diff := cmp.Diff(row.want, registryEnds(r, row.calls)); diff != "" {
				t.Errorf("%s\nends (-want +got):\n%s", row.why, diff)
			}
			if registry, peers := r.bytes(); registry != row.registry || peers != row.peers {
				t.Errorf("%s\n%d bytes from the registry and %d from peers, want %d and %d", row.why, registry, peers, row.registry, row.peers)
			}
			if n := r.pulling(); n != 0 {
				t.Errorf("%d pulls are left", n)
			}
			if registry, peers := r.traffic(); registry != 0 || peers != 0 {
				t.Errorf("%d and %d bytes per second are left", registry, peers)
			}
		})
	}
}

// These values can be read during pulls: the bytes so far, the traffic, and which node has which image.
func TestRegistryMidway(t *testing.T) {
	r := newRegistry(Registry{Bandwidth: 10_000, NodeBandwidth: 4_000, Size: 100_000, PeerToPeer: true, Requests: 1}, 1)
	check := func(what string, got, want any) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	pair := func(a, b int64) [2]int64 { return [2]int64{a, b} }
	if at, ok := r.next(); ok {
		t.Errorf("something is to happen at %v, and nothing was asked for", at)
	}
	r.put("p", "y", "i")
	r.begin(0, "a", "z", "i", 0)
	r.begin(0, "b", "z", "i", 2_000)
	r.begin(0, "c", "y", "i", 0)
	check("pulls, one of which has to wait", r.pulling(), 3)
	check("traffic before the first advance", pair(r.traffic()), pair(0, 0))
	r.advance(0)
	check("traffic of a and, from a peer, c", pair(r.traffic()), pair(4_000, 4_000))
	check("bytes in the beginning", pair(r.bytes()), pair(0, 0))
	r.advance(1500 * time.Millisecond)
	check("traffic of a and b", pair(r.traffic()), pair(6_000, 4_000))
	check("1.5 s of a, 0.5 s of b, and 1.5 s of c", pair(r.bytes()), pair(7_000, 6_000))
	check("a has it", r.has("a", "i"), false)
	check("p has it", r.has("p", "i"), true)
	check("p has another", r.has("p", "j"), false)
	check("nobody has it", r.has("nobody", "i"), false)
	at, ok := r.next()
	check("next", at, 25*time.Second)
	check("there is a next", ok, true)
	ended := r.advance(25 * time.Second)
	check("ends", len(ended), 2)
	check("a has it at the end", r.has("a", "i"), true)
	r.begin(26*time.Second, "a", "z", "i", 0)
	at, ok = r.next()
	check("what is there ends at once", at, 26*time.Second)
	check("it does", ok, true)
	r.cancel(26*time.Second, "a", "i")
	check("what is cancelled at the instant of its end is not reported", len(r.advance(26*time.Second)), 0)
	r.begin(27*time.Second, "a", "z", "i", 0)
	r.begin(27*time.Second, "c", "y", "i", 0)
	r.forgetNode(27*time.Second, "a")
	ended = r.advance(27 * time.Second)
	check("nor is that of a node that is gone", slices.Equal(ended, []pulled{{27 * time.Second, "c", "i", false}}), true)
	check("b is left", r.pulling(), 1)
}

// A pull that ended has the bytes that it got, and the span since its first byte.
func TestRegistryFlows(t *testing.T) {
	r := newRegistry(Registry{
		NodeBandwidth: 1000, Size: 5000, Sizes: map[string]int64{"empty": 0}, PeerToPeer: true, Latency: Fixed(time.Second),
	}, 1)
	calls := []registryCall{
		registryBegin(0, "a", "i"), registryBegin(0, "b", "empty"), registryBegin(0, "c", "i"),
		{at: 2 * time.Second, call: "cancel", node: "c", image: "i"}, registryBegin(6*time.Second, "d", "i"),
	}
	registryEnds(r, calls)
	want := []flow{
		{node: "b", image: "empty"},
		{node: "c", image: "i", bytes: 1000, took: time.Second, outcome: cameShort},
		{node: "a", image: "i", bytes: 5000, took: 5 * time.Second},
		{node: "d", image: "i", bytes: 5000, took: 5 * time.Second, peer: true},
	}
	if diff := cmp.Diff(want, r.takeFlows(), cmp.AllowUnexported(flow{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if again := r.takeFlows(); len(again) != 0 {
		t.Errorf("taken twice: %v", again)
	}
	failing := newRegistry(Registry{Size: 7, FailedPulls: 1}, 1)
	registryEnds(failing, []registryCall{registryBegin(0, "a", "i")})
	if diff := cmp.Diff([]flow{{node: "a", image: "i", bytes: 7, outcome: failed}}, failing.takeFlows(), cmp.AllowUnexported(flow{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	left := newRegistry(Registry{Size: 100, NodeBandwidth: 10}, 1)
	left.begin(0, "a", "z", "i", 0)
	left.advance(4 * time.Second)
	left.cancel(4*time.Second, "a", "i")
	if diff := cmp.Diff([]flow{{node: "a", image: "i", bytes: 40, took: 4 * time.Second, outcome: cameShort}}, left.takeFlows(), cmp.AllowUnexported(flow{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// If the engine advances late, it gets all ends at once, in order.
func TestRegistryLate(t *testing.T) {
	r := newRegistry(Registry{Requests: 1, NodeBandwidth: 1000, Sizes: map[string]int64{"i": 1000, "j": 2500}}, 1)
	r.begin(0, "b", "z", "i", 0)
	r.begin(0, "a", "z", "j", 0)
	r.begin(0, "c", "z", "i", 0)
	r.begin(10*time.Second, "d", "z", "i", 0)
	want := []pulled{
		{2 * time.Second, "b", "i", false}, {2500 * time.Millisecond, "a", "j", false}, {3 * time.Second, "c", "i", false}, {11 * time.Second, "d", "i", false},
	}
	if diff := cmp.Diff(want, r.advance(time.Minute), cmp.AllowUnexported(pulled{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// A call at an instant in the past counts as one at the last advance.
	r.begin(time.Second, "e", "z", "i", 0)
	if at, ok := r.next(); !ok || at != time.Minute {
		t.Errorf("next is %v, %v, want the instant of the last advance", at, ok)
	}
}

// Extreme values neither overflow nor block.
func TestRegistryExtremes(t *testing.T) {
	const most = 1<<63 - 1
	rows := []struct {
		name, why string
		model     Registry
		want      time.Duration // end of the second pull; 0: never
	}{
		{"all at most", "all numbers at their limits", Registry{Bandwidth: most, NodeBandwidth: most, Size: most}, 2 * time.Second},
		{"too slow", "300,000 years are never", Registry{Bandwidth: 1, Size: most}, 0},
		{"too many bytes for the node", "300,000 years are never", Registry{NodeBandwidth: 1, Size: most}, 0},
		{"less than nothing", "negative limits are none", Registry{Bandwidth: -1, NodeBandwidth: -1, Requests: -1, Size: most}, 1},
		{"hardly any requests", "the second has its turn after the end of time", Registry{Requests: 1e-300}, 0},
		{"requests at the end of time", "the second has its turn just then, 2⁶³ ns after the first", Registry{Requests: 1e9 / 0x1p63}, 0},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			r := newRegistry(row.model, 1)
			r.begin(1, "a", "z", "i", 0)
			r.begin(1, "b", "z", "i", 0)
			ends := r.advance(1 << 62)
			var last time.Duration
			if len(ends) == 2 {
				last = ends[1].at
			}
			if last != row.want {
				t.Errorf("%s: the second end is at %v, want %v (%v)", row.why, last, row.want, ends)
			}
			if at, ok := r.next(); ok && at < 1<<62 {
				t.Errorf("something is left at %v", at)
			}
		})
	}
}

// FailedPulls is the share of all pulls that fail. A pull that failed may succeed the next time.
func TestRegistryFailedShare(t *testing.T) {
	r := newRegistry(Registry{FailedPulls: 0.25}, 7)
	const nodes = 4000
	for i := range nodes {
		r.begin(0, strconv.Itoa(i), "z", "i", 0)
	}
	var failed []string
	for _, p := range r.advance(0) {
		if p.failed {
			failed = append(failed, p.node)
		}
		if r.has(p.node, "i") == p.failed {
			t.Fatalf("%s has the image although the pull failed, or the reverse", p.node)
		}
	}
	if n := len(failed); n < nodes/5 || n > nodes*3/10 {
		t.Errorf("%d of %d pulls failed, want about a quarter", n, nodes)
	}
	for _, node := range failed {
		r.begin(1, node, "z", "i", 0)
	}
	again := 0
	for _, p := range r.advance(1) {
		if p.failed {
			again++
		}
	}
	if n := len(failed); again < n/6 || again > n/3 {
		t.Errorf("%d of %d pulls failed again, want about a quarter", again, n)
	}
}
