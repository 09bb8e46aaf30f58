package conformance

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"testing"
)

// EnvDir is the environment variable that names a directory to read instead of the compiled-in recordings. If it is unset or
// empty, the compiled-in ones are read.
const EnvDir = "DAEMONPLAN_CONFORMANCE"

//go:embed testdata/*/*.jsonl.gz
var embedded embed.FS

// MostNodes is more than any cluster has. A recording with more nodes has numbers that no cluster has. A test names and counts
// such a recording instead of building the cluster.
const MostNodes = 100_000

// Lines yields the cases of one recorded file in order, each with its name, file and 1-based line number joined by a colon
// ("kubernetes/placement.jsonl:17"), and its JSON text. The caller may keep the slice and write to it.
//
// file is slash-separated and ends in .jsonl, whether the stored file is compressed or not. If both forms exist, the plain one is
// read.
//
// A conformance test that runs no case must not pass. So a file that is missing, unreadable or empty fails tb at once, and a line
// that is not JSON fails tb when it is reached. There is one exception: if the directory that EnvDir names has no such file, tb
// is skipped.
func Lines(tb testing.TB, file string) iter.Seq2[string, []byte] {
	tb.Helper()
	content := load(tb, file)
	return func(yield func(string, []byte) bool) {
		tb.Helper()
		number := 0
		for line := range bytes.Lines(content) {
			number++
			name := fmt.Sprintf("%s:%d", file, number)
			line = bytes.TrimSuffix(line, []byte("\n"))
			if !json.Valid(line) {
				tb.Fatalf("conformance: %s is not JSON: %.60q", name, line)
			}
			if !yield(name, bytes.Clone(line)) {
				return
			}
		}
	}
}

// load returns the whole text of file, or ends the test.
func load(tb testing.TB, file string) []byte {
	tb.Helper()
	dir := os.Getenv(EnvDir)
	var source fs.FS = embedded
	root := "testdata/"
	if dir != "" {
		// A mistyped directory would otherwise skip every conformance test.
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			tb.Fatalf("conformance: %s=%q is not a directory", EnvDir, dir)
		}
		source, root = os.DirFS(dir), ""
	}
	content, err := read(source, root+file)
	switch {
	case err == nil && len(content) == 0:
		tb.Fatalf("conformance: %s is empty", file)
	case dir != "" && errors.Is(err, fs.ErrNotExist):
		tb.Skipf("conformance: %s=%q has no %s", EnvDir, dir, file)
	case err != nil:
		tb.Fatalf("conformance: %s cannot be read: %v", file, err)
	}
	return content
}

// read returns the text stored in source under path, or compressed under path.gz. If neither is there, the error
// wraps fs.ErrNotExist.
func read(source fs.FS, path string) ([]byte, error) {
	content, err := fs.ReadFile(source, path)
	if !errors.Is(err, fs.ErrNotExist) {
		return content, err
	}
	compressed, err := source.Open(path + ".gz")
	if err != nil {
		return nil, err
	}
	defer compressed.Close()
	reader, err := gzip.NewReader(compressed)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(reader)
}
