package peer_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/daemonplan/daemonplan/internal/conformance"
	"github.com/daemonplan/daemonplan/internal/conformance/peer"
)

func TestPermits(t *testing.T) {
	tests := []struct {
		name, why string
		a, b      peer.Act
		ours      string
		want      bool
	}{
		{"nothing", "no phase does anything", peer.Act{}, peer.Act{}, "", true},
		{"both phases", "a plan does what both must", peer.Act{Must: []string{"x"}}, peer.Act{Must: []string{"y"}}, "y x", true},
		{"the same twice", "what both must do is done once", peer.Act{Must: []string{"x"}}, peer.Act{Must: []string{"x"}}, "x", true},
		{"missing", "what a phase must do is done", peer.Act{Must: []string{"x", "y"}}, peer.Act{}, "x", false},
		{"more", "nothing else is done", peer.Act{Must: []string{"x"}}, peer.Act{}, "x y", false},
		{"doubled", "one object is acted on once", peer.Act{Must: []string{"x"}}, peer.Act{}, "x x", false},
		{"a choice", "any of them is as good", peer.Act{From: []string{"x", "y", "z"}, Count: 2}, peer.Act{}, "z x", true},
		{"too few chosen", "the choice is used up", peer.Act{From: []string{"x", "y", "z"}, Count: 2}, peer.Act{}, "x", false},
		{"too many chosen", "and no more than used up", peer.Act{From: []string{"x", "y", "z"}, Count: 2}, peer.Act{}, "x y z", false},
		{"a choice of none", "what may be chosen none of is not permitted", peer.Act{From: []string{"x"}}, peer.Act{}, "x", false},
		{"one for both", "both phases may choose the same",
			peer.Act{From: []string{"x", "y"}, Count: 1}, peer.Act{From: []string{"x", "z"}, Count: 1}, "x", true},
		{"the other's duty", "a phase may choose what the other must do",
			peer.Act{From: []string{"x", "y"}, Count: 1}, peer.Act{Must: []string{"x"}}, "x", true},
		{"another than the other's duty", "or not", peer.Act{From: []string{"x", "y"}, Count: 1}, peer.Act{Must: []string{"x"}}, "x y", true},
		{"two where one may choose", "the other phase's count is not for this one's choices",
			peer.Act{From: []string{"x", "y"}, Count: 1}, peer.Act{From: []string{"z"}, Count: 1}, "x y z", false},
		{"three of two counts", "together they choose no more than both counts",
			peer.Act{From: []string{"x", "y", "z"}, Count: 1}, peer.Act{From: []string{"x", "y", "z"}, Count: 1}, "x y z", false},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		if test.why == "" || seen[test.name] {
			t.Fatalf("row %q needs a reason and a name of its own", test.name)
		}
		seen[test.name] = true
		for _, acts := range [][2]peer.Act{{test.a, test.b}, {test.b, test.a}} {
			if got := peer.Permits(acts[0], acts[1], strings.Fields(test.ours)); got != test.want {
				t.Errorf("%s: %s: Permits(%+v, %+v, %q) is %v", test.name, test.why, acts[0], acts[1], test.ours, got)
			}
		}
	}
}

// TestErrorsNameTheCase checks that what cannot be read is an error that names the case.
func TestErrorsNameTheCase(t *testing.T) {
	const template = `"template":{"spec":{"containers":[{"name":"agent","image":"agent:1"}]}}`
	tests := []struct{ name, why, line, want string }{
		{"not JSON", "a line that was cut short", `{"name":"c"`, "unexpected end"},
		{"no DaemonSet", "there is nothing to decide about", `{"name":"c"}`, "c: daemonSet"},
		{"a field of another type", "the set cannot be read", `{"name":"c","daemonSet":{"spec":{"minReadySeconds":"x"}}}`, "c: daemonSet"},
		{"not a DaemonSet", "no manifest of a controller that the library knows",
			`{"name":"c","daemonSet":{"kind":"Deployment","apiVersion":"apps/v1"}}`, "c: "},
		{"no revision", "there is none that pods could be at",
			`{"name":"c","daemonSet":{"kind":"DaemonSet","apiVersion":"apps/v1","spec":{` + template + `}}}`, "c: revisions"},
	}
	for _, test := range tests {
		c, err := peer.Decode([]byte(test.line))
		if err == nil {
			var s *peer.Situation
			spec, specErr := c.Spec()
			if err = specErr; err == nil {
				s, err = peer.NewSituation(c, spec)
			}
			if s != nil {
				t.Errorf("%s: %s: there is a situation", test.name, test.why)
			}
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %s: the error is %v, want %q", test.name, test.why, err, test.want)
		}
	}
}

// TestCloneIsDeep holds that who changes a clone leaves the case alone, and that the two readings of the set agree after a
// change is written.
func TestCloneIsDeep(t *testing.T) {
	t.Setenv(conformance.EnvDir, "")
	for _, line := range conformance.Lines(t, "kubernetes/surprises.jsonl") {
		c, err := peer.Decode(line)
		if err != nil {
			t.Fatal(err)
		}
		clone, err := c.Clone()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c, clone); diff != "" {
			t.Fatalf("%s: the clone differs (-case +clone):\n%s", c.Name, diff)
		}
		before := c.Set.Spec.MinReadySeconds
		clone.Set.Spec.MinReadySeconds = before + 7
		if err := clone.EncodeSet(); err != nil {
			t.Fatal(err)
		}
		for _, n := range clone.Nodes {
			n.Name += "-changed"
		}
		spec, err := clone.Spec()
		if err != nil || spec.MinReadySeconds != before+7 {
			t.Errorf("%s: what was changed in the set does not show in the spec: %d, %v", c.Name, spec.MinReadySeconds, err)
		}
		again, err := peer.Decode(line)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(again, c); diff != "" {
			t.Errorf("%s: a change of the clone shows in the case (-before +after):\n%s", c.Name, diff)
		}
	}
}
