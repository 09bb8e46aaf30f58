package policy

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	_ "github.com/daemonplan/daemonplan/internal/fixedseed" // here, because the tutorial shows the imports of policy_test.go
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/rollouttest/transcript"
)

const tutorial = "../unit-test-your-rollout-policy.md"

// block is a fenced block of the tutorial, with the comment before it that says what it is.
var block = regexp.MustCompile("(?s)<!-- (code|file|output): ([\\w./-]+) -->\n```(\\w+)\n(.*?)```\n")

// TestTutorial: every block of the tutorial is what it says: a region of the code that is tested beside this one, a file, or
// what a test really prints. With -update the blocks are written anew.
func TestTutorial(t *testing.T) {
	data, err := os.ReadFile(tutorial)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	if fences := strings.Count(text, "\n```"); fences != 2*len(block.FindAllString(text, -1)) {
		t.Errorf("the tutorial has %d lines that begin or end a block, and %d blocks that say what they are", fences,
			len(block.FindAllString(text, -1)))
	}
	code := regions(t)
	var shown []string
	fresh := block.ReplaceAllStringFunc(text, func(old string) string {
		parts := block.FindStringSubmatch(old)
		kind, name, language := parts[1], parts[2], parts[3]
		var want string
		switch kind {
		case "code":
			shown = append(shown, name)
			if want = code[name]; want == "" {
				t.Errorf("there is no region %s", name)
			}
		case "file":
			content, err := os.ReadFile(name)
			if err != nil {
				t.Error(err)
			}
			want = string(content)
		case "output":
			want = output(t, name)
		}
		return fmt.Sprintf("<!-- %s: %s -->\n```%s\n%s```\n", kind, name, language, want)
	})
	for name := range code {
		if !slices.Contains(shown, name) {
			t.Errorf("the tutorial does not show the region %s", name)
		}
	}
	switch {
	case fresh == text:
	case *update:
		if err := os.WriteFile(tutorial, []byte(fresh), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("the tutorial is not what is tested (-tutorial +tested); -update rewrites it:\n%s", cmp.Diff(
			strings.Split(text, "\n"), strings.Split(fresh, "\n")))
	}
}

// regions of the code of the tutorial, by name.
func regions(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile("policy_test.go")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, part := range strings.Split(string(data), "// region ")[1:] {
		name, rest, _ := strings.Cut(part, "\n")
		body, _, ended := strings.Cut(rest, "// endregion")
		if !ended || found[name] != "" {
			t.Fatalf("region %s has no end, or is there twice", name)
		}
		found[name] = strings.TrimSpace(body) + "\n"
	}
	return found
}

// recorder is a test that takes down how it fails.
type recorder struct{ lines []string }

func (*recorder) Helper() {}
func (r *recorder) Errorf(format string, args ...any) {
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}
func (r *recorder) Fatalf(format string, args ...any) { r.Errorf(format, args...) }

// output is what the test of that name prints.
func output(t *testing.T, name string) string {
	t.Helper()
	r := &recorder{}
	switch name {
	case "worse":
		rollouttest.Simulate(r, upgrade(t, rollouttest.MaxUnavailable("20%")), promises()...)
	case "slower":
		rollouttest.Simulate(r, upgrade(t, rollouttest.MinReadySeconds(120)), promises()...)
	case "nothing":
		rollouttest.Simulate(r, upgrade(t), rollouttest.CanaryBeforeAll())
	case "story":
		file := filepath.Join("testdata", "rollouts", "budget.txt")
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, err = transcript.Play(string(data), transcript.WithFiles(func(name string) ([]byte, error) {
			manifest, err := os.ReadFile(filepath.Join(filepath.Dir(file), name))
			return bytes.ReplaceAll(manifest, []byte("maxUnavailable: 2"), []byte("maxUnavailable: 3")), err
		}))
		if broken, ok := errors.AsType[*transcript.LineError](err); ok {
			r.Errorf("%s:%v", file, broken)
		}
	default:
		t.Errorf("there is no output %s", name)
	}
	if len(r.lines) != 1 {
		t.Errorf("output %s: the test failed %d times, want once: %q", name, len(r.lines), r.lines)
	}
	return strings.Join(r.lines, "\n") + "\n"
}
