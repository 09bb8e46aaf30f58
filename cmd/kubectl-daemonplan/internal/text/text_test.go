package text

import (
	"testing"
	"time"
)

func TestDuration(t *testing.T) {
	for _, c := range []struct {
		name, why string
		d         time.Duration
		want      string
	}{
		{"zero", "a unit all the same", 0, "0s"},
		{"less than a second", "rounded up: whoever waits 0s has not waited", time.Millisecond, "1s"},
		{"seconds", "whole", 18 * time.Second, "18s"},
		{"fraction", "rounded up", 18*time.Second + 1, "19s"},
		{"nearly a minute", "carried over", time.Minute - 1, "1m"},
		{"minutes", "no 0s behind them", 5 * time.Minute, "5m"},
		{"minutes and seconds", "two units", 65 * time.Second, "1m5s"},
		{"hours", "no seconds", 2*time.Hour + 29*time.Minute + time.Second, "2h30m"},
		{"nearly a day", "carried over twice", 24*time.Hour - 1, "1d"},
		{"days", "and hours", 76 * time.Hour, "3d4h"},
		{"past", "of a clock that was set back", -90 * time.Second, "-1m30s"},
	} {
		if got := Duration(c.d); got != c.want {
			t.Errorf("%s (%s): %v is %q, want %q", c.name, c.why, c.d, got, c.want)
		}
	}
}

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{"a b": "a b", "\x1b[31m\n": `\x1b[31m\n`, "a\u202eb": `a\u202eb`, "é": "é"} {
		if got := Printable(text); got != want {
			t.Errorf("%q is printed as %q, want %q", text, got, want)
		}
	}
}

func TestNumber(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", -1000: "-1,000", -100: "-100", 1234567: "1,234,567"} {
		if got := Number(n); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := Counted(1, "node") + ", " + Counted(2500, "node"); got != "1 node, 2,500 nodes" {
		t.Errorf("got %q", got)
	}
}
