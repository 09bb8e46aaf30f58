package simulation

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/exit"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
)

const tutorial = "../../../../docs/simulate-your-fleet.md"

// block matches one block of the tutorial: the comment above it, the language, the text, and what it prints.
//
//nolint:gocritic // with (?m) ^ is the beginning of any line
var block = regexp.MustCompile("(?ms)^(?:<!-- ([^\n]*) -->\n)?```(\\w+)\n(.*?)^```\n(\n```text\n(.*?)^```\n)?")

// The commands of the tutorial print what the tutorial shows.
func TestTutorial(t *testing.T) {
	module, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	text := read(t, tutorial)
	dump := read(t, someDump)
	t.Chdir(t.TempDir())
	if err := os.WriteFile("dump.json", []byte(dump), 0o600); err != nil {
		t.Fatal(err)
	}
	ran := 0
	got := block.ReplaceAllStringFunc(text, func(match string) string {
		parts := block.FindStringSubmatch(match)
		mark, language, body, output := parts[1], parts[2], parts[3], parts[5]
		var printed string
		switch {
		case mark == "not run":
			return match
		case strings.HasPrefix(mark, "file: "):
			if err := os.WriteFile(filepath.Base(strings.TrimPrefix(mark, "file: ")), []byte(body), 0o600); err != nil {
				t.Fatal(err)
			}
			return match
		case language == "yaml": // a part of a file, which must be readable by itself
			if _, err := readWorld(&objects.Files{}, opened(t, write(t, "world.yaml", strings.Replace(body, "v1.yaml", abs(t, "v1.yaml"), 1)))); err != nil {
				t.Error(err)
			}
			return match
		case language == "sh":
			line, found := strings.CutPrefix(strings.TrimSpace(body), command+" ")
			if !found || strings.Contains(line, "\n") {
				t.Fatalf("not a command that the test can run: %s", body)
			}
			want := exit.OK
			if mark == "exit 1" {
				want = exit.Negative
			}
			var code int
			var stderr string
			if code, printed, stderr = call(2, false, strings.Fields(strings.ReplaceAll(line, "'", ""))...); code != want {
				t.Fatalf("%s: exit code %d, want %d, standard error:\n%s", line, code, want, stderr)
			}
			ran++
		case language == "go" && mark == "go":
			if testing.Short() {
				return match
			}
			printed = runGo(t, module, body)
			ran++
		default:
			t.Fatalf("the test does not know what to do with a block of %s", language)
		}
		if parts[4] == "" { // the tutorial shows no output
			return match
		}
		if !*update && printed != output {
			t.Errorf("the tutorial shows another output of\n%s\nit is:\n%s", body, printed)
		}
		return strings.TrimSuffix(match, parts[4]) + "\n```text\n" + printed + "```\n"
	})
	if ran < 6 {
		t.Errorf("only %d blocks were run", ran)
	}
	for _, file := range []string{"report/report.html", "report/heatmap.png", "report/history-surge.csv"} {
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
	}
	if *update {
		if err := os.WriteFile(filepath.Join(module, tutorial), []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// runGo runs a program of the tutorial in the directory of its files, with the library of this repository.
func runGo(t *testing.T, module, text string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "program")
	build := exec.Command("go", "build", "-o", binary, write(t, "main.go", text))
	build.Dir = module
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out, err := exec.Command(binary).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

func abs(t *testing.T, file string) string {
	t.Helper()
	name, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	return name
}
