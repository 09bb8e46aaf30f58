package fixedseed_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/fixedseed"
)

// TestDraws is what the other tests run in programs of their own. It prints what it draws.
func TestDraws(t *testing.T) {
	rapid.Check(t, func(c *rapid.T) {
		n := rapid.Uint64().Draw(c, "n")
		if os.Getenv("PRINT_DRAWS") != "" {
			fmt.Println("drew", n)
		}
	})
}

// draws runs TestDraws and returns the lines that it prints.
func draws(t *testing.T, arguments, environment []string) []string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(program, append([]string{"-test.run=^TestDraws$"}, arguments...)...)
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "RAPID_") {
			command.Env = append(command.Env, variable)
		}
	}
	command.Env = append(append(command.Env, "PRINT_DRAWS=1"), environment...)
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	var lines []string
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "drew ") {
			lines = append(lines, line)
		}
	}
	return lines
}

// What is drawn is the same in every run of the program, unless somebody asks for something else.
func TestSeed(t *testing.T) {
	always := draws(t, nil, nil)
	if len(always) != 25 {
		t.Fatalf("%d draws, want 25", len(always))
	}
	tests := []struct {
		name, why              string
		arguments, environment []string
		checks                 int
		same                   bool
	}{
		{"again", "the seed is fixed", nil, nil, 25, true},
		{"seed 1", "it is this one", []string{"-rapid.seed=1"}, nil, 25, true},
		{"another seed", "flags count more", []string{"-rapid.seed=2"}, nil, 25, false},
		{"another seed by the environment", "so does the environment", nil, []string{"RAPID_SEED=2"}, 25, false},
		{"fewer checks", "flags count more", []string{"-rapid.checks=7"}, nil, 7, true},
		{"more checks by the environment", "so does the environment", nil, []string{"RAPID_CHECKS=31"}, 31, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := draws(t, test.arguments, test.environment)
			if len(got) != test.checks {
				t.Fatalf("%d draws, want %d: %s", len(got), test.checks, test.why)
			}
			if same := got[0] == always[0] && got[6] == always[6]; same != test.same {
				t.Errorf("the same draws: %t, want %t: %s", same, test.same, test.why)
			}
		})
	}
}

// The go command keeps the result of a test program that has noted what it read: of one that draws as always, and of no other.
func TestOtherInputsAreNotKept(t *testing.T) {
	for _, test := range []struct {
		environment []string
		noted       bool
	}{{nil, true}, {[]string{"RAPID_SEED=2"}, false}, {[]string{"RAPID_CHECKS=31"}, false}} {
		notes := filepath.Join(t.TempDir(), "notes")
		draws(t, []string{"-test.testlogfile=" + notes}, test.environment)
		if _, err := os.Stat(notes); (err == nil) != test.noted {
			t.Errorf("with %q: %v, want notes: %t", test.environment, err, test.noted)
		}
	}
}

// A test that enumerates its inputs takes as many of them as a property has checks, in a hundred.
func TestShare(t *testing.T) {
	checks := flag.Lookup("rapid.checks").Value.String()
	defer func() {
		if err := flag.Set("rapid.checks", checks); err != nil {
			t.Error(err)
		}
	}()
	tests := []struct {
		checks    string
		all, want uint64
		why       string
	}{
		{"25", 8, 2, "a quarter"},
		{"25", 3, 1, "at least one"},
		{"100", 8, 8, "all"},
		{"4000", 8, 8, "there are no more"},
		{"0", 8, 1, "a test that looks at nothing is none"},
		{"-1", 8, 1, "likewise"},
	}
	for _, test := range tests {
		if err := flag.Set("rapid.checks", test.checks); err != nil {
			t.Fatal(err)
		}
		if got := fixedseed.Share(test.all); got != test.want {
			t.Errorf("%s checks take %d of %d inputs, want %d: %s", test.checks, got, test.all, test.want, test.why)
		}
	}
}
