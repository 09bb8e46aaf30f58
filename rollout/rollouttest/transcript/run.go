package transcript

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// RunDir plays every transcript of a directory, that is every file whose name ends in .txt, as a subtest of that name
// without the ending. A directory without any fails the test. T is *[testing.T], or what does the same.
func RunDir[T interface {
	kit.TB
	Run(name string, test func(T)) bool
}](t T, dir string, update bool, options ...Option) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no transcripts found (error: %v)", dir, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t T) {
			t.Helper()
			Run(t, []string{file}, update, options...)
		})
	}
}

// Run plays transcripts. The test fails if there are none, if one is malformed or cannot be played, for every
// expectation that does not hold, and if what the commands print is not what is written below them. With update, which
// tests usually take from a flag of that name, the latter is written into the files instead: read the difference
// before you commit it. Expectations are never rewritten.
func Run(t kit.TB, files []string, update bool, options ...Option) {
	t.Helper()
	if len(files) == 0 {
		t.Fatalf("there are no transcripts to play")
	}
	for _, file := range files {
		runFile(t, file, update, options)
	}
}

func runFile(t kit.TB, file string, update bool, options []Option) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v", err)
		return
	}
	beside := WithFiles(func(name string) ([]byte, error) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(file), name)
		}
		return os.ReadFile(name)
	})
	want := string(data)
	got, failures := play(want, slices.Concat([]Option{beside}, options))
	for _, failure := range failures {
		t.Errorf("%s:%v", file, failure)
	}
	switch {
	case got == "" || got == want: // not played to the end, or true
	case update:
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatalf("%v", err)
		}
	default:
		t.Errorf("%s: what is planned differs from what is written (-want +got); -update rewrites it:\n%s", file,
			cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")))
	}
}
