// Corpus keeps what fuzzing has found: for each fuzz target of the given packages it lets the engine look for inputs, and of
// those and the ones kept before it keeps the few that together reach what all of them reach. They are in
// testdata/fuzz/<Target>, in files named kept-…, and run with every go test.
//
//	go run ./internal/corpus -for 1m ./placement ./rollout/...
//
// Other files there, the inputs that once failed a test, are left alone. What counts is which statements an input reaches, and
// how often, so that a corpus stays small; the engine's own, which tells more apart, stays in its cache.
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// limits of what is kept for one target.
type limits struct {
	files int
	bytes int
}

// options of a run.
type options struct {
	limits
	fuzzing time.Duration
	cache   string
	covers  string
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("corpus", flag.ContinueOnError)
	flags.SetOutput(out)
	var o options
	flags.DurationVar(&o.fuzzing, "for", time.Minute, "how long to fuzz each target; 0: take what the cache has")
	flags.StringVar(&o.cache, "cache", "", "directory of what the engine finds (default: in the user's cache directory)")
	flags.StringVar(&o.covers, "covers", "github.com/daemonplan/daemonplan/...", "the packages whose statements count")
	flags.IntVar(&o.files, "files", 30, "how many inputs to keep for a target")
	flags.IntVar(&o.bytes, "bytes", 64<<10, "how many bytes of them")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return err
		}
		o.cache = filepath.Join(dir, "daemonplan", "fuzz")
	}
	packages, err := list(flags.Args())
	if err != nil {
		return err
	}
	for _, p := range packages {
		if err := o.keepOf(p, out); err != nil {
			return fmt.Errorf("%s: %w", p.path, err)
		}
	}
	return nil
}

// pkg is a package with its directory.
type pkg struct{ path, dir string }

// list resolves patterns of packages.
func list(patterns []string) ([]pkg, error) {
	lines, err := goTool("", append([]string{"list", "-f", "{{.ImportPath}}\t{{.Dir}}"}, patterns...)...)
	if err != nil {
		return nil, err
	}
	var packages []pkg
	for line := range strings.Lines(lines) {
		path, dir, _ := strings.Cut(strings.TrimSpace(line), "\t")
		packages = append(packages, pkg{path, dir})
	}
	return packages, nil
}

// goTool runs the go command and returns what it prints.
func goTool(dir string, args ...string) (string, error) {
	command := exec.Command("go", args...)
	command.Dir = dir
	out, err := command.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, failed.Stderr)
	}
	return string(out), err
}

// keepOf keeps a corpus for each target of a package.
func (o options) keepOf(p pkg, out io.Writer) error {
	listed, err := goTool(p.dir, "test", "-list", "^Fuzz", ".")
	if err != nil {
		return err
	}
	targets := slices.DeleteFunc(strings.Fields(listed), func(word string) bool { return !strings.HasPrefix(word, "Fuzz") })
	if len(targets) == 0 {
		return nil
	}
	work, err := os.MkdirTemp("", "corpus")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	b := binaries{dir: p.dir, work: work, fuzzes: filepath.Join(work, "fuzz.test"), covers: filepath.Join(work, "cover.test")}
	if o.fuzzing > 0 {
		if _, err := goTool(p.dir, "test", "-c", "-vet=off", "-fuzz=.", "-o", b.fuzzes, "."); err != nil {
			return err
		}
	}
	_, err = goTool(p.dir, "test", "-c", "-vet=off", "-covermode=count", "-coverpkg="+o.covers, "-o", b.covers, ".")
	if err != nil {
		return err
	}
	cache := filepath.Join(o.cache, filepath.FromSlash(p.path))
	for _, target := range targets {
		if o.fuzzing > 0 {
			if err := b.fuzz(target, cache, o.fuzzing); err != nil {
				return err
			}
		}
		kept, of, err := b.keep(target, filepath.Join(cache, target), o.limits)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s %s: %d of %d inputs kept\n", p.path, target, kept, of)
	}
	return nil
}

// binaries are the test binaries of a package.
type binaries struct {
	dir, work      string
	fuzzes, covers string
}

// minimizing is how often the engine may run a target to make one input smaller. Its own limit is a minute, which it takes to
// the end for texts, so that nothing else is tried.
const minimizing = "100x"

func (b binaries) fuzz(target, cache string, d time.Duration) error {
	command := exec.Command(b.fuzzes, "-test.run=^$", "-test.fuzz=^"+target+"$", "-test.fuzztime="+d.String(),
		"-test.fuzzcachedir="+cache, "-test.fuzzminimizetime="+minimizing, "-test.parallel=1")
	command.Dir = b.dir
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", target, err, out)
	}
	return nil
}

// keep writes the corpus of a target anew, of what the engine has found and what was kept before.
func (b binaries) keep(target, found string, l limits) (kept, of int, err error) {
	home := filepath.Join(b.dir, "testdata", "fuzz", target)
	inputs, err := gather(home, found)
	if err != nil {
		return 0, 0, err
	}
	if err := discard(home); err != nil {
		return 0, 0, err
	}
	// What the seeds of the source and inputs that once failed reach needs no keeping.
	base, err := b.reach(target)
	if err != nil {
		return 0, 0, err
	}
	if err := os.MkdirAll(home, 0o755); err != nil {
		return 0, 0, err
	}
	for i := range inputs {
		path := filepath.Join(home, inputs[i].name())
		if err := os.WriteFile(path, inputs[i].data, 0o644); err != nil {
			return 0, 0, err
		}
		if inputs[i].reaches, err = b.reach(target + "$/^" + inputs[i].name()); err != nil {
			return 0, 0, err
		}
		if err := os.Remove(path); err != nil {
			return 0, 0, err
		}
	}
	chosen := choose(base, inputs, l)
	for _, in := range chosen {
		if err := os.WriteFile(filepath.Join(home, in.name()), in.data, 0o644); err != nil {
			return 0, 0, err
		}
	}
	_ = os.Remove(home) // if it is empty
	return len(chosen), len(inputs), nil
}

// reach runs what a pattern of tests names, and returns the blocks of statements that it reaches.
func (b binaries) reach(pattern string) (blocks, error) {
	profile := filepath.Join(b.work, "profile")
	command := exec.Command(b.covers, "-test.run=^"+pattern+"$", "-test.coverprofile="+profile)
	command.Dir = b.dir
	if out, err := command.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", pattern, err, out)
	}
	text, err := os.ReadFile(profile)
	if err != nil {
		return nil, err
	}
	return readProfile(string(text)), nil
}

const prefix = "kept-"

// gather reads the inputs that were found, and those kept before; each content once.
func gather(home, found string) ([]input, error) {
	var inputs []input
	seen := map[string]bool{}
	for _, pattern := range []string{filepath.Join(home, prefix+"*"), filepath.Join(found, "*")} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			if in := (input{data: data}); !seen[in.name()] {
				seen[in.name()] = true
				inputs = append(inputs, in)
			}
		}
	}
	return inputs, nil
}

// discard removes what was kept.
func discard(home string) error {
	paths, err := filepath.Glob(filepath.Join(home, prefix+"*"))
	for _, path := range paths {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

func (in input) name() string {
	sum := sha256.Sum256(in.data)
	return prefix + hex.EncodeToString(sum[:6])
}
