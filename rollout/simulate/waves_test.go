package simulate

import (
	"strings"
	"testing"
	"time"
)

// These are waves by hand. "x+" begins node x, "x!" completes it, "x-" gives it its old pod back, "x0" removes it, "x~" makes it
// start, and "x." makes it one that is not to run the pod.
func TestWaves(t *testing.T) {
	tests := []struct {
		name, why, story string
		want             int
	}{
		{"none", "nothing is begun", "", 0},
		{"one", "a node that is begun is a wave", "a+", 1},
		{"two at once", "neither waits for the other", "a+ b+ a! b!", 1},
		{"one after the other", "b begins when a is done", "a+ a! b+ b!", 2},
		{"in step", "two waves of two", "a+ b+ a! b! c+ d+ c! d!", 2},
		{"overlapping", "c follows a, d follows c, b holds nothing up", "a+ b+ a! c+ c! d+ b! d!", 3},
		{"slow one first", "b was begun in wave 1, so c, which follows b, is in wave 2", "a+ b+ b! c+ a! c!", 2},
		{"highest counts", "d begins after c (2), though b (1) was done last", "a+ b+ a! c+ c! b! d+", 3},
		{"not by itself", "a node that becomes new without having been begun (repair) is in no wave", "a! b+ b!", 1},
		{"begun once", "what is done to a node on its way is the same beginning", "a+ a~ b+ b! a+ a! c+", 2},
		{"begun anew", "back with its old pod, it begins anew after b", "a+ a~ b+ b! a- a+ a! c+", 3},
		{"began anew when done", "a second rollout of a goes on counting", "a+ a! a- a+ a! b+", 3},
		{"left", "one that left and joins again has begun nothing", "a+ b+ b! a0 a- a! c+", 2},
		{"left, then begun", "it joins anew, and begins after b", "a+ b+ b! a0 a- a+ a! c+", 3},
		{"outside", "one that is not to run the pod for a while has begun nothing", "a+ a~ b+ b! a. a~ a! c+", 2},
		{"unknown", "a node that does not exist cannot begin", strings.Repeat("z+ ", 2) + "a+", 1},
		{"gone", "nor one that is gone", "a0 a+ b+", 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.name == "" || test.why == "" {
				t.Fatal("a row needs a name and a why")
			}
			tally := newTally("agent", 1)
			for _, name := range []string{"a", "b", "c", "d"} {
				tally.node(0, name, "", 0, NodeOld)
			}
			for i, word := range strings.Fields(test.story) {
				at, node := time.Duration(i), word[:1]
				switch word[1] {
				case '+':
					tally.begun(at, node)
				case '!':
					tally.node(at, node, "", 0, NodeNew)
				case '-':
					tally.node(at, node, "", 0, NodeOld)
				case '.':
					tally.node(at, node, "", 0, NodeOutside)
				case '~':
					tally.node(at, node, "", 0, NodeStarting)
				case '0':
					tally.node(at, node, "", 0, 0)
				}
			}
			if got := tally.report(99, EndDone, nil).Waves; got != test.want {
				t.Errorf("%d waves, want %d: %s", got, test.want, test.why)
			}
		})
	}
}
