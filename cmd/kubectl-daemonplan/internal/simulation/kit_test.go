package simulation

import (
	"bytes"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/exit"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
)

var update = flag.Bool("update", false, "write the golden files anew")

// call runs the program with so many runs at a time, on a terminal or not.
func call(workers int, terminal bool, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	p := program{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Terminal: terminal, Workers: workers}
	code = p.Main(args)
	return code, out.String(), errs.String()
}

// answer is what the program prints for arguments that it must accept.
func answer(t *testing.T, args ...string) string {
	t.Helper()
	code, stdout, stderr := call(2, false, args...)
	if code != exit.OK {
		t.Fatalf("simulate %q: exit code %d, standard error:\n%s", args, code, stderr)
	}
	return stdout
}

// golden compares the text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; after a look at the difference: go test -update\ngot:\n%s\nwant:\n%s", file, got, want)
	}
}

// tree is the content of all files under a directory.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		found[filepath.ToSlash(name)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// write puts a text into a file of a new directory, and returns its name.
func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// opened is a file of the disk.
func opened(t *testing.T, name string) objects.File {
	t.Helper()
	file, err := new(objects.Files).Read(name)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// These are the files of a small question, about a version that takes half a minute on each node.
const (
	oldManifest = "testdata/v1.yaml"
	newManifest = "testdata/v2.yaml"
	surging     = "testdata/v2-surge.yaml"
	worldFileIn = "testdata/world.yaml"
)

// small is a question about 12 nodes.
func small(more ...string) []string {
	return append([]string{
		"simulate", "--nodes", "12", "--zones", "a,b,c", "--from", oldManifest, "--world", worldFileIn,
		"--spec", newManifest, "--spec", "surge=" + surging,
	}, more...)
}
