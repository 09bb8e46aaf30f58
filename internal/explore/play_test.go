package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what the planner says into the ways of testdata")

// TestWays plays what explorations have found before, and sees to it that every statement holds on the way and that the planner
// says there what it should.
func TestWays(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no ways", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got, err := play(string(want))
			if err != nil {
				t.Fatal(err)
			}
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestPlayRefuses: a way that cannot be gone is an error that says what could happen instead.
func TestPlayRefuses(t *testing.T) {
	for _, c := range []struct{ name, way, want string }{
		{"no such configuration", "maxTrouble\n  step\n", `there is no configuration "maxTrouble"`},
		{"nothing", "", `there is no configuration ""`},
		{"a move that nothing leads to", "maxSurge\n  ready node-0.b\n", `"ready node-0.b" cannot happen after`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := play(c.way); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %s", err, c.want)
			}
		})
	}
}
