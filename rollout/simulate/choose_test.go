package simulate_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	_ "github.com/daemonplan/daemonplan/internal/fixedseed"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// inputNodes returns 12 nodes in ascending order. Every third is in zone a, and the first four are in pool web.
func inputNodes() []*corev1.Node {
	var nodes []*corev1.Node
	for i := range 12 {
		options := []kit.NodeOption{kit.Label("zone", []string{"a", "b", "c"}[i%3])}
		if i < 4 {
			options = append(options, kit.Label(simulate.PoolLabel, "web"))
		}
		nodes = append(nodes, kit.Node(fmt.Sprintf("n%02d", i), options...))
	}
	return nodes
}

func TestChoose(t *testing.T) {
	all := func(numbers ...int) (names []string) {
		for _, n := range numbers {
			names = append(names, fmt.Sprintf("n%02d", n))
		}
		return names
	}
	any12 := all(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
	tests := []struct {
		name, why string
		event     simulate.Event
		count     int
		among     []string
	}{
		{"one", "one of all, if nothing is said", simulate.Event{}, 1, any12},
		{"named", "that one", simulate.Event{Node: "n05"}, 1, all(5)},
		{"named and gone", "it may have left", simulate.Event{Node: "n99"}, 0, nil},
		{"named between", "a name that others surround", simulate.Event{Node: "n051"}, 0, nil},
		{"count", "as many as asked for", simulate.Event{Count: 5}, 5, any12},
		{"count of all", "no more than there are", simulate.Event{Count: 50}, 12, any12},
		{"share", "exactly a quarter", simulate.Event{Share: 0.25}, 3, any12},
		{"share rounded up", "a share of 0.26 of 12 is 3.12", simulate.Event{Share: 0.26}, 4, any12},
		{"tiny share", "rounded up", simulate.Event{Share: 1e-6}, 1, any12},
		{"whole share", "all of them", simulate.Event{Share: 1}, 12, any12},
		{"pool", "of the pool", simulate.Event{Pool: "web", Count: 9}, 4, all(0, 1, 2, 3)},
		{"labels", "with the label", simulate.Event{Nodes: map[string]string{"zone": "b"}, Share: 0.5}, 2, all(1, 4, 7, 10)},
		{"pool and labels", "both must be right", simulate.Event{Pool: "web", Nodes: map[string]string{"zone": "a"}, Count: 9}, 2, all(0, 3)},
		{"no such pool", "nothing happens to nobody", simulate.Event{Pool: "db", Share: 1}, 0, nil},
		{"no such label", "a label with another value", simulate.Event{Nodes: map[string]string{"zone": ""}}, 0, nil},
		{"label that is missing", "empty is not the same as missing", simulate.Event{Nodes: map[string]string{"rack": ""}}, 0, nil},
	}
	rows := inputRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			seen := map[string]bool{}
			for n := range 200 {
				got := tt.event.Choose(1, n, inputNodes())
				if len(got) != tt.count || !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
					t.Fatalf("got %v, want %d different names in order: %s", got, tt.count, tt.why)
				}
				for _, name := range got {
					seen[name] = true
				}
				if again := tt.event.Choose(1, n, inputNodes()); !slices.Equal(got, again) {
					t.Fatalf("got %v, then %v", got, again)
				}
			}
			if got := slices.Sorted(maps.Keys(seen)); !slices.Equal(got, tt.among) && tt.count > 0 {
				t.Errorf("in 200 times it happened to %v, want %v: %s", got, tt.among, tt.why)
			}
			for _, node := range inputNodes() {
				if got, want := tt.event.Matches(node), slices.Contains(tt.among, node.Name); got != want {
					t.Errorf("matches %s: %v, want %v: %s", node.Name, got, want, tt.why)
				}
			}
		})
	}
}

// A share such as 0.07 of 100 nodes is 7 nodes, although the product is a little more than 7.
func TestChooseSharesAsMeant(t *testing.T) {
	for percent := 1; percent <= 100; percent++ {
		for _, of := range []int{1, 3, 100, 1000, 15_000} {
			var nodes []*corev1.Node
			for i := range of {
				nodes = append(nodes, &corev1.Node{})
				nodes[i].Name = fmt.Sprintf("%05d", i)
			}
			e := simulate.Event{Share: float64(percent) / 100}
			if got, want := len(e.Choose(1, 0, nodes)), (percent*of+99)/100; got != want {
				t.Fatalf("%d %% of %d: %d, want %d", percent, of, got, want)
			}
			if of > 1000 && percent%10 != 7 {
				break
			}
		}
	}
}

// Each subset of nodes is as likely as any other.
func TestSubsetsAreUniform(t *testing.T) {
	const runs = 30_000
	counts := map[string]int{}
	for seed := range uint64(runs) {
		counts[fmt.Sprint(simulate.Random(seed).Subset(2, 5))]++
	}
	if len(counts) != 10 {
		t.Fatalf("%d sets of 2 out of 5, want 10: %v", len(counts), counts)
	}
	chi := 0.0
	for _, count := range counts {
		d := float64(count) - runs/10
		chi += d * d / (runs / 10)
	}
	if chi > 34 || math.IsNaN(chi) { // with 9 degrees of freedom, one run in 10,000 exceeds 34
		t.Errorf("chi square %v: %v", chi, counts)
	}
}

func TestSubset(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		of := rapid.IntRange(0, 40).Draw(t, "of")
		size := rapid.IntRange(0, 45).Draw(t, "size")
		got := simulate.Random(rapid.Uint64().Draw(t, "seed")).Subset(size, of)
		if len(got) != min(size, of) || !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
			t.Fatalf("got %v", got)
		}
		for _, i := range got {
			if i < 0 || i >= of {
				t.Fatalf("got %v of %d", got, of)
			}
		}
	})
}

// Choices of one event at different times are independent of each other. So are choices of different events.
func TestChooseAnew(t *testing.T) {
	e := simulate.Event{}
	same, sameOther := 0, 0
	for n := range 1200 {
		a := e.Choose(simulate.Random(1).Sub("event", "0"), n, inputNodes())[0]
		if a == e.Choose(simulate.Random(1).Sub("event", "0"), n+1, inputNodes())[0] {
			same++
		}
		if a == e.Choose(simulate.Random(1).Sub("event", "1"), n, inputNodes())[0] {
			sameOther++
		}
	}
	for what, got := range map[string]int{"next time": same, "other event": sameOther} {
		if got < 60 || got > 140 { // the expected number is 100
			t.Errorf("%s: the same node %d times of 1200, want about one in twelve", what, got)
		}
	}
}
