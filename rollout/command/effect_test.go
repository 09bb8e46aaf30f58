package command_test

import (
	"strings"
	"testing"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/command"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

func TestEffects(t *testing.T) {
	decision := func(node, pod string, state rollout.NodeState, verb rollout.Verb) rollout.Decision {
		return rollout.Decision{Node: node, Pod: pod, State: state, Verb: verb}
	}
	a := decision("a", "a-1", rollout.StateUpdated, rollout.VerbNone)
	later := a
	later.Until, later.Diff = rollouttest.Noon(), &rollout.RevisionDiff{}
	otherPod := a
	otherPod.Pod = "a-2"
	gone1 := decision("x", "x-1", rollout.StateVanished, rollout.VerbNone)
	gone2 := decision("x", "x-2", rollout.StateVanished, rollout.VerbDelete)
	gone2Kept := decision("x", "x-2", rollout.StateVanished, rollout.VerbWait)
	b := decision("b", "", rollout.StateMissing, rollout.VerbCreate)
	for _, c := range []struct {
		name, why     string
		before, after []rollout.Decision
		want          string
	}{
		{"same", "nothing differs", []rollout.Decision{a, b}, []rollout.Decision{a, b}, ""},
		{"empty", "nothing is nothing", nil, nil, ""},
		{"until", "another end of the wait is no other decision", []rollout.Decision{a}, []rollout.Decision{later}, ""},
		{"verb", "that is", []rollout.Decision{a, b}, []rollout.Decision{a, decision("b", "", rollout.StateMissing, rollout.VerbWait)}, "b:create>wait"},
		{"pod", "another pod is spoken of", []rollout.Decision{a}, []rollout.Decision{otherPod}, "a:none>none"},
		{"only after", "a node came", []rollout.Decision{a}, []rollout.Decision{a, b}, "b:>create"},
		{"only before", "a node went", []rollout.Decision{a, b}, []rollout.Decision{b}, "a:none>"},
		{"order", "does not count", []rollout.Decision{b, a}, []rollout.Decision{a, b}, ""},
		{"vanished", "by pod", []rollout.Decision{gone1, gone2}, []rollout.Decision{gone1, gone2Kept}, "x:delete>wait"},
		{"one of two vanished", "the other is the same pod still", []rollout.Decision{gone1, gone2}, []rollout.Decision{gone2}, "x:none>"},
		{"all", "in order of nodes", []rollout.Decision{gone2, b}, []rollout.Decision{a}, "a:>none b:create> x:delete>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "" || c.why == "" {
				t.Fatal("a row needs a name and a reason")
			}
			var words []string
			for _, e := range command.Effects(rollout.Plan{Decisions: c.before}, rollout.Plan{Decisions: c.after}) {
				word := e.Node + ":"
				if e.Before != nil {
					word += e.Before.Verb.String()
				}
				word += ">"
				if e.After != nil {
					word += e.After.Verb.String()
				}
				words = append(words, word)
			}
			if got := strings.Join(words, " "); got != c.want {
				t.Errorf("%s: %q, want %q", c.why, got, c.want)
			}
		})
	}
}
