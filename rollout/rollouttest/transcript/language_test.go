package transcript_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/daemonplan/daemonplan/rollout/rollouttest/transcript"
)

// TestEveryCommandIsDocumentedAndUsed: the package documentation shows each command, other names and each thing that can
// be expected included, and each line that it shows is one of a transcript, which is played.
func TestEveryCommandIsDocumentedAndUsed(t *testing.T) {
	documented := documentedLines(t)
	used := usedLines(t)
	names := append(transcript.Commands(), "expect status", "expect actions", "expect decision", "expect explain",
		"expect canary", "expect part", "expect parts", "expect pod", "expect event", "expect no event")
	for _, name := range names {
		if !slices.ContainsFunc(documented, func(line string) bool { return isOf(line, name) }) {
			t.Errorf("the documentation shows no %s", name)
		}
		if !slices.ContainsFunc(used, func(line string) bool { return isOf(line, name) }) {
			t.Errorf("no transcript uses %s", name)
		}
	}
	for _, line := range documented {
		if !slices.Contains(used, line) {
			t.Errorf("the documentation shows %q, which no transcript plays", line)
		}
		if !slices.ContainsFunc(names, func(name string) bool { return isOf(line, name) }) {
			t.Errorf("the documentation shows %q, which is no command", line)
		}
	}
}

// TestEverySpecArgumentIsDocumented: those of the command spec are many.
func TestEverySpecArgumentIsDocumented(t *testing.T) {
	data, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(strings.ReplaceAll(string(data), "//", "")), " ")
	_, text, _ = strings.Cut(text, "spec changes what is in force")
	text, _, _ = strings.Cut(text, "edit changes the manifest")
	words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" ,;.():", r) })
	for _, key := range transcript.SpecKeys() {
		if !slices.Contains(words, key) {
			t.Errorf("the documentation of spec lacks %s", key)
		}
	}
}

func isOf(line, name string) bool { return line == name || strings.HasPrefix(line, name+" ") }

// documentedLines are the preformatted lines of the sections that explain commands.
func documentedLines(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(data), "// # The set and its object\n")
	if !found {
		t.Fatal("doc.go has no section about the set and its object")
	}
	var lines []string
	for line := range strings.Lines(text) {
		if command, ok := strings.CutPrefix(line, "//\t"); ok {
			lines = append(lines, strings.TrimSpace(command))
		}
	}
	if len(lines) < len(transcript.Commands()) {
		t.Fatalf("doc.go shows %d lines only", len(lines))
	}
	return lines
}

// usedLines are the commands of all transcripts, those of package rollout included.
func usedLines(t *testing.T) []string {
	t.Helper()
	var lines []string
	for _, dir := range []string{"testdata", filepath.Join("..", "..", "testdata", "scenarios")} {
		files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no transcripts in %s (error %v)", dir, err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for block := range strings.SplitSeq(string(data), "\n\n") {
				commands, _, _ := strings.Cut(block, "\n----\n")
				for line := range strings.Lines(commands) {
					lines = append(lines, strings.TrimSpace(line))
				}
			}
		}
	}
	return lines
}
