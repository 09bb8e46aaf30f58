package fuzzing_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/daemonplan/daemonplan/internal/fixedseed"
	"github.com/daemonplan/daemonplan/internal/fuzzing"
)

// drawn is a property that takes more draws than an engine's input has bytes.
func drawn(t *rapid.T) {
	list := rapid.SliceOfN(rapid.IntRange(0, 9), 500, 600).Draw(t, "list")
	if len(list) < 500 {
		t.Fatal("too few")
	}
}

func FuzzDrawn(f *testing.F) { fuzzing.Property(f, rapid.MakeFuzz(drawn)) }

// FuzzWrong fails, where TestPropertyIsTested asks it to.
func FuzzWrong(f *testing.F) {
	fuzzing.Property(f, rapid.MakeFuzz(func(t *rapid.T) {
		drawn(t)
		if os.Getenv("WRONG") != "" {
			t.Fatal("planted")
		}
	}))
}

// TestPropertyIsTested: every seed is drawn to its end, none is skipped, and a property that fails makes its target fail.
func TestPropertyIsTested(t *testing.T) {
	target := func(name string, environment ...string) string {
		command := exec.Command(os.Args[0], "-test.run=^"+name+"$", "-test.v")
		command.Env = append(os.Environ(), environment...)
		out, _ := command.CombinedOutput() // that it fails is in what it says
		return string(out)
	}
	right, wrong := target("FuzzDrawn"), target("FuzzWrong", "WRONG=1")
	if n := strings.Count(right, "--- PASS: FuzzDrawn/seed"); n != 8 || strings.Contains(right, "SKIP") {
		t.Errorf("%d of 8 seeds pass:\n%.2000s", n, right)
	}
	if n := strings.Count(wrong, "--- FAIL: FuzzWrong/seed"); n != 8 {
		t.Errorf("%d of 8 seeds fail:\n%.2000s", n, wrong)
	}
}
