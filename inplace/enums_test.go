package inplace_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/daemonplan/daemonplan/inplace"
)

// texts checks that each code from first to last has a text of its own, and that all else shows its number.
func texts[C interface {
	~uint8
	fmt.Stringer
}](t *testing.T, name string, first, last C) {
	t.Helper()
	seen := map[string]bool{}
	for c := first; c <= last; c++ {
		text := c.String()
		if text == "" || strings.Contains(text, "(") || seen[text] {
			t.Errorf("%s %d has the text %q", name, c, text)
		}
		seen[text] = true
	}
	for _, c := range []C{last + 1, 255} {
		if want := fmt.Sprintf("%s(%d)", name, uint8(c)); c.String() != want {
			t.Errorf("%s %d has the text %q, want %q", name, c, c, want)
		}
	}
}

func TestCodesHaveTexts(t *testing.T) {
	texts(t, "Code", inplace.NoTemplate, inplace.NodeUnable)
	texts(t, "WaitCode", inplace.UnreadableState, inplace.NotSeen)
	texts(t, "Obstruction", inplace.NoPod, inplace.Refused)
	for _, zero := range []fmt.Stringer{inplace.Code(0), inplace.WaitCode(0)} {
		if !strings.HasSuffix(zero.String(), "(0)") {
			t.Errorf("zero has the text %q", zero)
		}
	}
	if inplace.Obstruction(0).String() != "" {
		t.Error("no obstruction has a text")
	}
}

func TestTextsOfObstaclesAndWaits(t *testing.T) {
	tests := []struct {
		name, why string
		value     fmt.Stringer
		want      string
	}{
		{"path, code, detail", "all three are said", inplace.Obstacle{Path: "spec", Code: inplace.QOSClass, Detail: "a becomes b"}, "spec: the QoS class of a pod is fixed (a becomes b)"},
		{"no detail", "no empty parentheses", inplace.Obstacle{Path: "spec.x", Code: inplace.Immutable}, "spec.x: cannot change in a running pod"},
		{"no path", "the whole template has none", inplace.Obstacle{Code: inplace.NoTemplate}, "no template to compare"},
		{"container", "named", inplace.UpdateWait{Container: "app", Code: inplace.StatusMissing}, "container app: it has no status"},
		{"pod", "the pod as a whole", inplace.UpdateWait{Code: inplace.GracePeriod}, "the grace period is not over"},
	}
	for _, test := range tests {
		if test.name == "" || test.why == "" {
			t.Fatal("a row without name or reason")
		}
		if got := test.value.String(); got != test.want {
			t.Errorf("%s (%s): %q, want %q", test.name, test.why, got, test.want)
		}
	}
}
