package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// suite is a test binary and what is known of its tests.
type suite struct {
	dir     string // of the package that is tested, relative to root
	cwd     string
	binary  string
	scratch string
	flags   []string
	tests   []*test
	failing []string // tests that fail without a mutant: they say nothing
	slow    []*test  // tests that take longer than a mutant is worth, with what they reached until then
}

// test is a top-level test, example or fuzz target (with its seeds), run alone once.
type test struct {
	name    string
	cost    time.Duration // processor time
	reaches map[int]bool  // mutants; true if one makes a difference there
}

// outcome of one run of a test binary.
type outcome int

const (
	passed outcome = iota
	failed
	timedOut
)

// limits of one run. Processor time rather than time on the clock: a busy machine kills no mutant.
const (
	memoryLimit = 6 << 20 // KiB of address space; endless loops often allocate
	patience    = 20      // times as long on the clock as on the processor
)

// rapidFlags keep a failing property from looking for a smaller example and from writing it into the checkout.
var rapidFlags = []string{"-rapid.nofailfile", "-rapid.shrinktime=1ns"}

// newSuite asks a test binary which tests it has.
func newSuite(root, dir, binary, scratch string) (*suite, error) {
	s := &suite{dir: dir, cwd: filepath.Join(root, filepath.FromSlash(dir)), binary: binary, scratch: scratch}
	s.flags = rapidFlags
	if _, result, _ := s.run(nil, 0, "", time.Minute); result != passed {
		s.flags = nil
	}
	command := exec.Command(binary, "-test.list", ".")
	command.Dir = s.cwd
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: list of tests: %w", dir, err)
	}
	for line := range strings.Lines(string(out)) {
		name := strings.TrimSpace(line)
		if strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Example") || strings.HasPrefix(name, "Fuzz") {
			s.tests = append(s.tests, &test{name: name})
		}
	}
	return s, nil
}

// only leaves out the tests that do not match. Nil matches all.
func (s *suite) only(wanted *regexp.Regexp) {
	s.tests = slices.DeleteFunc(s.tests, func(t *test) bool { return wanted != nil && !wanted.MatchString(t.name) })
}

var failure = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)

// run executes tests with a mutant turned on (0: none) and returns the processor time, the outcome and which test failed.
func (s *suite) run(tests []*test, mutant int, seen string, limit time.Duration) (time.Duration, outcome, string) {
	names := make([]string, len(tests))
	for i, t := range tests {
		names[i] = regexp.QuoteMeta(t.name)
	}
	seconds := int(math.Ceil(limit.Seconds()))
	ctx, cancel := context.WithTimeout(context.Background(), limit*patience+time.Minute)
	defer cancel()
	arguments := append([]string{
		"-c", fmt.Sprintf(`ulimit -t %d; ulimit -v %d 2>/dev/null; exec "$0" "$@"`, seconds, memoryLimit), s.binary,
		"-test.run=^(" + strings.Join(names, "|") + ")$", "-test.failfast", "-test.timeout=0",
	}, s.flags...)
	command := exec.CommandContext(ctx, "sh", arguments...)
	command.Dir = s.cwd
	// One processor each: as many runs go on at a time as there are, and the order in which tests interleave stays the same.
	// What a property draws has to be the same in each run as well, and is more than in the everyday run of the tests; the
	// environment may choose another seed.
	command.Env = append([]string{"RAPID_SEED=1", "RAPID_CHECKS=100"}, os.Environ()...)
	command.Env = append(command.Env, "GOMAXPROCS=1", mutantVariable+"="+strconv.Itoa(mutant), seenVariable+"="+seen)
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	err := command.Run()
	cost := command.ProcessState.UserTime() + command.ProcessState.SystemTime()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return cost, passed, ""
	case ctx.Err() != nil, errors.As(err, &exit) && !exit.Exited() && cost >= limit-limit/10:
		return cost, timedOut, ""
	}
	if m := failure.FindSubmatch(out.Bytes()); m != nil {
		return cost, failed, string(m[1])
	}
	return cost, failed, ""
}

// probe runs each test alone to learn what it costs and which mutants it reaches. A test that takes longer than the effort
// is left out; 0 means that none is.
func (s *suite) probe(effort time.Duration, parallel int) error {
	limit := time.Hour
	if effort > 0 {
		limit = max(effort, time.Second)
	}
	results := make([]outcome, len(s.tests))
	err := inParallel(parallel, len(s.tests), func(i int) error {
		t := s.tests[i]
		seen := filepath.Join(s.scratch, "seen-"+t.name)
		defer os.Remove(seen)
		t.cost, results[i], _ = s.run([]*test{t}, 0, seen, limit)
		text, err := os.ReadFile(seen)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		t.reaches, err = readSeen(text)
		return err
	})
	if err != nil {
		return err
	}
	var kept []*test
	for i, t := range s.tests {
		switch {
		case results[i] == failed:
			s.failing = append(s.failing, t.name)
		case results[i] == timedOut, effort > 0 && t.cost > effort:
			s.slow = append(s.slow, t)
		default:
			kept = append(kept, t)
		}
	}
	s.tests = kept
	slices.SortStableFunc(s.tests, func(a, b *test) int { return int(a.cost - b.cost) })
	return nil
}

// readSeen reads what a test binary writes about the mutants it reaches.
func readSeen(text []byte) (map[int]bool, error) {
	reaches := map[int]bool{}
	for line := range strings.Lines(string(text)) {
		number, differs, _ := strings.Cut(strings.TrimSpace(line), " ")
		id, err := strconv.Atoi(number)
		if err != nil {
			return nil, fmt.Errorf("reached mutants: %q: %w", line, err)
		}
		reaches[id] = reaches[id] || differs == "1"
	}
	return reaches, nil
}
