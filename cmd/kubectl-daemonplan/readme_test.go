package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/cli"
)

var shell = regexp.MustCompile("(?s)```sh\n(.*?)```")

// TestDocumentedCommands: every command line of the documents has a command, flags and arguments that there are, and those on an
// embedded fleet plan it.
func TestDocumentedCommands(t *testing.T) {
	documents, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	documents = append(documents, "../../README.md", "../../CONTRIBUTING.md", "../../examples/plan/README.md", "README.md")
	lines := 0
	for _, document := range documents {
		for _, block := range shell.FindAllStringSubmatch(read(t, document), -1) {
			for line := range strings.Lines(strings.ReplaceAll(block[1], "\\\n", " ")) {
				line, _, _ = strings.Cut(line, " #")
				line, _, _ = strings.Cut(line, " > ") // into a file
				_, words, found := strings.Cut(line, "kubectl daemonplan ")
				if !found {
					continue
				}
				lines++
				args := strings.Fields(words)
				if err := accepted(args); err != nil {
					t.Errorf("%s: %s: %v", document, strings.TrimSpace(line), err)
					continue
				}
				if strings.Contains(line, "--example") {
					answer(t, args)
				}
			}
		}
	}
	if lines < 20 {
		t.Errorf("there are %d lines only", lines)
	}
}

// accepted returns what is wrong with a command line, if anything is, without a look at its files.
func accepted(args []string) error {
	root := cli.Root()
	root.InitDefaultVersionFlag()
	c, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	if err := c.ParseFlags(rest); err != nil {
		return err
	}
	return c.ValidateArgs(c.Flags().Args())
}

func TestAcceptedRefuses(t *testing.T) {
	for _, line := range []string{
		"plant", "plan --exampel kruise", "plan a b", "explain", "canary fial", "plan -n", "simulate -explain x", "rollout undo",
	} {
		if accepted(strings.Fields(line)) == nil {
			t.Errorf("%q is accepted", line)
		}
	}
}

// README.md shows what the line about two nodes prints.
func TestReadmeExplains(t *testing.T) {
	readme := read(t, "../../README.md")
	const line = "explain worker-07 worker-01 --example kruise --controller daemonplan"
	if !strings.Contains(readme, "kubectl daemonplan "+line+"\n") {
		t.Errorf("README.md does not have the line %s", line)
	}
	printed := answer(t, strings.Fields(line))
	if !strings.Contains(readme, "```\n"+printed+"```\n") {
		t.Errorf("README.md does not show what is printed:\n%s", printed)
	}
}

// answer runs a command that has to succeed, and returns what it prints.
func answer(t *testing.T, args []string) string {
	t.Helper()
	var out, notes bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &notes}
	code := cli.Main(args, streams)
	if differs := code == 1 && args[0] == "diff"; code != 0 && !differs {
		t.Errorf("kubectl daemonplan %s: exit code %d: %s", strings.Join(args, " "), code, &notes)
	}
	return out.String()
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
