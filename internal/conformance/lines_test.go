package conformance_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/daemonplan/daemonplan/internal/conformance"
)

// recorder takes the place of the test that calls Lines, and records how it ended.
type recorder struct {
	testing.TB
	failed, skipped string
}

func (r *recorder) Helper() {}

func (r *recorder) Fatalf(format string, args ...any) {
	r.failed = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Skipf(format string, args ...any) {
	r.skipped = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// read runs Lines to its end, as a test would, and returns the lines that it yielded before that.
func read(t *testing.T, file string) (lines []string, r *recorder) {
	t.Helper()
	r = &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for name, line := range conformance.Lines(r, file) {
			lines = append(lines, name+" "+string(line))
		}
	}()
	<-done
	return lines, r
}

func TestLinesOfEmbeddedRecordings(t *testing.T) {
	t.Setenv(conformance.EnvDir, "")
	tests := []struct {
		name  string
		why   string
		cases int
	}{
		{name: "kubernetes/decisions.jsonl", why: "whole decisions", cases: 300},
		{name: "kubernetes/placement.jsonl", why: "verdicts of one node", cases: 1500},
		{name: "kubernetes/revision.jsonl", why: "hashes and patches", cases: 200},
		{name: "kubernetes/surprises.jsonl", why: "minimal scenarios", cases: 22},
		{name: "kubernetes/varying.jsonl", why: "scenarios whose union of phases varies", cases: 6},
		{name: "kruise/decisions.jsonl", why: "whole decisions", cases: 300},
		{name: "kruise/surprises.jsonl", why: "minimal scenarios", cases: 27},
		{name: "kruise/varying.jsonl", why: "scenarios whose union of phases varies", cases: 15},
		{name: "kruise-inplace/calculate.jsonl", why: "differences of revisions", cases: 500},
		{name: "kruise-inplace/completed.jsonl", why: "pods in the middle of an update", cases: 250},
		{name: "kruise-inplace/needs-unready.jsonl", why: "changes that restart something", cases: 100},
		{name: "kruise-inplace/batches.jsonl", why: "updates by launch priority", cases: 100},
		{name: "kruise-inplace/hooks.jsonl", why: "hooks and pods", cases: 150},
		{name: "kruise-inplace/predownload.jsonl", why: "pull jobs", cases: 150},
		{name: "eds/overrides.jsonl", why: "settings and annotations of nodes", cases: 150},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.why == "" {
				t.Fatal("the row gives no reason")
			}
			number := 0
			for name, line := range conformance.Lines(t, test.name) {
				number++
				if want := fmt.Sprintf("%s:%d", test.name, number); name != want {
					t.Fatalf("case is named %q, want %q", name, want)
				}
				var fields map[string]json.RawMessage
				if err := json.Unmarshal(line, &fields); err != nil || len(fields) < 4 {
					t.Fatalf("%s: not a case: %d fields, %v", name, len(fields), err)
				}
			}
			if number != test.cases {
				t.Errorf("%d cases, want %d", number, test.cases)
			}
		})
	}
}

func TestLinesEndings(t *testing.T) {
	long := `"` + strings.Repeat("x", 5<<20) + `"`
	tests := []struct {
		name    string
		why     string
		files   map[string]string
		lines   []string
		failed  string
		skipped string
	}{
		{
			name:  "plain",
			why:   "other recordings need not be compressed",
			files: map[string]string{"peer/a.jsonl": "1\n{\"k\": 2}\n"},
			lines: []string{"peer/a.jsonl:1 1", `peer/a.jsonl:2 {"k": 2}`},
		},
		{
			name:  "compressed",
			why:   "the case's name does not tell how it is stored",
			files: map[string]string{"peer/a.jsonl.gz": compress(t, "1\n2\n")},
			lines: []string{"peer/a.jsonl:1 1", "peer/a.jsonl:2 2"},
		},
		{
			name:  "both",
			why:   "the plain file is the one a person has just edited",
			files: map[string]string{"peer/a.jsonl.gz": compress(t, "1\n"), "peer/a.jsonl": "2\n"},
			lines: []string{"peer/a.jsonl:1 2"},
		},
		{
			name:  "no newline at the end",
			why:   "the last case counts without it",
			files: map[string]string{"peer/a.jsonl": "1\n2"},
			lines: []string{"peer/a.jsonl:1 1", "peer/a.jsonl:2 2"},
		},
		{
			name:  "long line",
			why:   "a whole fleet can be one case; a bufio.Scanner would stop at 64 KiB",
			files: map[string]string{"peer/a.jsonl": long + "\n1\n"},
			lines: []string{"peer/a.jsonl:1 " + long, "peer/a.jsonl:2 1"},
		},
		{
			name:    "missing",
			why:     "a directory need not hold every file, but the reader is told which one was looked in",
			files:   map[string]string{"peer/b.jsonl": "1\n"},
			skipped: `has no peer/a.jsonl`,
		},
		{
			name:   "empty",
			why:    "no case at all must not pass",
			files:  map[string]string{"peer/a.jsonl": ""},
			failed: "peer/a.jsonl is empty",
		},
		{
			name:   "empty when decompressed",
			why:    "no case at all must not pass",
			files:  map[string]string{"peer/a.jsonl.gz": compress(t, "")},
			failed: "peer/a.jsonl is empty",
		},
		{
			name:   "not JSON",
			why:    "a broken case is reported with its line",
			files:  map[string]string{"peer/a.jsonl": "1\n{\n"},
			lines:  []string{"peer/a.jsonl:1 1"},
			failed: `peer/a.jsonl:2 is not JSON: "{"`,
		},
		{
			name:   "blank line",
			why:    "a blank line is a case that was lost",
			files:  map[string]string{"peer/a.jsonl": "\n1\n"},
			failed: `peer/a.jsonl:1 is not JSON: ""`,
		},
		{
			name:   "not compressed",
			why:    "a file that is not what its name says is not skipped",
			files:  map[string]string{"peer/a.jsonl.gz": "1\n"},
			failed: "peer/a.jsonl cannot be read",
		},
		{
			name:   "cut short",
			why:    "half a file must not pass for a whole one",
			files:  map[string]string{"peer/a.jsonl.gz": compress(t, "1\n2\n")[:20]},
			failed: "peer/a.jsonl cannot be read",
		},
		{
			name:   "a directory",
			why:    "only a file that is not there is skipped",
			files:  map[string]string{"peer/a.jsonl/x": "1\n"},
			failed: "peer/a.jsonl cannot be read",
		},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		if test.why == "" || seen[test.name] {
			t.Fatalf("row %q needs a reason and a name of its own", test.name)
		}
		seen[test.name] = true
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, content := range test.files {
				path := filepath.Join(dir, filepath.FromSlash(name))
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			t.Setenv(conformance.EnvDir, dir)
			lines, r := read(t, "peer/a.jsonl")
			if got, want := strings.Join(lines, "\n"), strings.Join(test.lines, "\n"); got != want {
				t.Errorf("yielded %.200q, want %.200q", got, want)
			}
			checkEnding(t, "failed", r.failed, test.failed)
			checkEnding(t, "skipped", r.skipped, test.skipped)
			if r.skipped != "" && !strings.Contains(r.skipped, fmt.Sprintf("%q", dir)) {
				t.Errorf("skipped with %q, which does not name the directory", r.skipped)
			}
		})
	}
}

func TestLinesOfMissingEmbeddedFileFails(t *testing.T) {
	t.Setenv(conformance.EnvDir, "")
	for _, file := range []string{"kubernetes/placements.jsonl", "placement.jsonl", "../lines.go", ""} {
		lines, r := read(t, file)
		if r.failed == "" || r.skipped != "" || len(lines) != 0 {
			t.Errorf("%q: failed %q, skipped %q, %d lines; want a failure", file, r.failed, r.skipped, len(lines))
		}
	}
}

func TestLinesOfMissingDirectoryFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, file + "-that-is-not-there"} {
		t.Setenv(conformance.EnvDir, dir)
		_, r := read(t, "kubernetes/placement.jsonl")
		checkEnding(t, "failed", r.failed, "is not a directory")
		checkEnding(t, "skipped", r.skipped, "")
	}
}

func TestLinesAreTheCallersOwn(t *testing.T) {
	t.Setenv(conformance.EnvDir, "")
	lines := conformance.Lines(t, "kubernetes/surprises.jsonl")
	var first, second [][]byte
	for _, line := range lines {
		first = append(first, bytes.Clone(line))
		clear(line)
		_ = append(line, "overrun"...)
	}
	for _, line := range lines {
		second = append(second, line)
	}
	if len(first) == 0 || !bytes.Equal(bytes.Join(first, nil), bytes.Join(second, nil)) {
		t.Error("what a caller wrote to a line shows up when the file is read again")
	}
}

func TestLinesStopsWithTheLoop(t *testing.T) {
	t.Setenv(conformance.EnvDir, "")
	for name := range conformance.Lines(t, "kubernetes/surprises.jsonl") {
		if name != "kubernetes/surprises.jsonl:1" {
			t.Fatalf("got %s after the loop was left", name)
		}
		break
	}
}

func checkEnding(t *testing.T, how, got, want string) {
	t.Helper()
	if want == "" && got != "" || !strings.Contains(got, want) {
		t.Errorf("%s with %q, want %q", how, got, want)
	}
}

func compress(t *testing.T, content string) string {
	t.Helper()
	var buffer bytes.Buffer
	writer := gzip.NewWriter(&buffer)
	if _, err := writer.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return buffer.String()
}
