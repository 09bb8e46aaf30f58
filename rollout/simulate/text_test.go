package simulate_test

import (
	"encoding"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// Every value of every enumeration has a word of its own, and that word is read as the value.
func TestCodes(t *testing.T) {
	inputCodes[simulate.What](t, int(simulate.Whats), "", "AddNodes", "SetClock")
	inputCodes[simulate.RecordKind](t, int(simulate.RecordKinds), "", "NodeChanged", "RunEnded")
	inputCodes[simulate.NodeState](t, int(simulate.NodeStates), "", "outside", "new")
	inputCodes[simulate.End](t, int(simulate.Ends), "running", "done", "violation")
	inputCodes[simulate.Knob](t, int(simulate.Knobs), "", "maxUnavailable", "slowStart")
}

func inputCodes[T interface {
	~uint8
	fmt.Stringer
	encoding.TextMarshaler
}](t *testing.T, count int, zero, first, last string) {
	t.Helper()
	words := map[string]bool{}
	for i := range 256 {
		value := T(i)
		word := value.String()
		text, err := value.MarshalText()
		if i >= count {
			if word != "unknown" || err == nil || text != nil || !strings.Contains(err.Error(), fmt.Sprint(i)) {
				t.Errorf("%T(%d) was never declared: %q, text %q, error %v", value, i, word, text, err)
			}
			continue
		}
		if err != nil || string(text) != word || words[word] || i > 0 && word == "" {
			t.Errorf("%T(%d): %q, text %q, error %v; want a word of its own", value, i, word, text, err)
		}
		words[word] = true
		encoded, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		back := T(255)
		if err := json.Unmarshal(encoded, &back); err != nil || back != value {
			t.Errorf("%s reads %d, error %v; want %d", encoded, back, err, value)
		}
	}
	for i, want := range map[int]string{0: zero, 1: first, count - 1: last} {
		if got := T(i).String(); got != want {
			t.Errorf("%T(%d) is %q, want %q", T(0), i, got, want)
		}
	}
	kept := T(1)
	err := json.Unmarshal([]byte(`"nonsense"`), &kept)
	if err == nil || kept != 1 || !strings.Contains(err.Error(), `"nonsense" is none of `+first) {
		t.Errorf("%T: error %v leaves %d, want an error that lists the words and leaves 1", T(0), err, kept)
	}
}

// The states in which a pod serves are those of B2: the pod is available, or outdated and Ready.
func TestServing(t *testing.T) {
	for i := range 256 {
		state := simulate.NodeState(i)
		want := state == simulate.NodeOld || state == simulate.NodeSurging || state == simulate.NodeNew
		if got := state.Serving(); got != want {
			t.Errorf("%v: %v, want %v", state, got, want)
		}
	}
}
