package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// result of one test or subtest.
type result struct {
	in, test string // package and name
	// outcome is pass, fail or skip.
	outcome string
	// asks names, sorted, what of the library the test asked for, its subtests' not included.
	asks []string
	// errors are what the library has answered instead.
	errors []string
	// said are the lines that the test itself wrote, without place and without what the controller logged.
	said []string
	// subtests directly or indirectly below.
	subtests int
}

// event is one line of go test -json.
type event struct{ Action, Package, Test, Output, FailedBuild string }

// run runs the tests of the temporary module, and returns their results ordered as [sort] has it.
func (w *workspace) run(ctx context.Context, flags ...string) ([]*result, error) {
	command := exec.CommandContext(ctx, "go", append([]string{"test", "-json", "-count=1"}, append(flags, "./...")...)...)
	command.Dir, command.Env = w.dir, append(os.Environ(), "GOWORK=off")
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if failed := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &failed) || ctx.Err() != nil) {
		return nil, errors.Join(err, ctx.Err())
	}
	results, err := parse(bytes.NewReader(out))
	if err == nil && len(results) == 0 {
		err = errors.New("no test runs")
	}
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	return results, nil
}

// asking and failing begin the lines that the adapter writes.
const asking, failing = "peersuite asks ", "peersuite error "

var line = regexp.MustCompile(`^\s+\w+_test\.go:\d+: (.*)`)

// logged is what ktesting writes into the test's output in the name of the controller.
var logged = regexp.MustCompile(`^[IWEF]\d{4} `)

// parse reads the output of go test -json. A package that does not build or crashes is an error.
func parse(in io.Reader) ([]*result, error) {
	var results []*result
	byName := map[string]*result{}
	var built strings.Builder
	running := map[string]int{} // tests, by package
	for decoder := json.NewDecoder(in); ; {
		var e event
		if err := decoder.Decode(&e); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if e.Action == "build-output" {
			built.WriteString(e.Output)
		}
		if e.FailedBuild != "" || e.Action == "build-fail" {
			return nil, fmt.Errorf("%s does not build:\n%s", e.Package, built.String())
		}
		if e.Test == "" {
			if e.Action == "fail" && running[e.Package] > 0 {
				return nil, fmt.Errorf("%s ended in the middle of a test", e.Package)
			}
			continue
		}
		r := byName[e.Test]
		if r == nil {
			r = &result{in: e.Package, test: e.Test}
			byName[e.Test] = r
			results = append(results, r)
			running[e.Package]++
		}
		if r.in != e.Package {
			return nil, fmt.Errorf("two packages have a test %s", e.Test)
		}
		switch e.Action {
		case "pass", "fail", "skip":
			r.outcome = e.Action
			running[e.Package]--
		case "output":
			if strings.HasPrefix(e.Output, "panic: ") { // The test fails as others do, and those after it are missing.
				return nil, fmt.Errorf("%s ends all tests of its package: %s", e.Test, strings.TrimSpace(e.Output))
			}
			r.hear(e.Output)
		}
	}
	for _, r := range results {
		slices.Sort(r.asks)
		for above, found := parent(r.test); found; above, found = parent(above) {
			byName[above].subtests++
		}
	}
	sort(results)
	return results, nil
}

// hear takes in a line of output.
func (r *result) hear(output string) {
	if what, ok := strings.CutPrefix(strings.TrimSpace(output), asking); ok {
		if !slices.Contains(r.asks, what) {
			r.asks = append(r.asks, what)
		}
		return
	}
	if what, ok := strings.CutPrefix(strings.TrimSpace(output), failing); ok {
		r.errors = append(r.errors, what)
		return
	}
	if said := line.FindStringSubmatch(output); len(said) > 0 && !logged.MatchString(said[1]) {
		r.said = append(r.said, said[1])
	}
}

// sort puts the functions of a package together, in the order of the source, and subtests, which may run in the order of a map,
// in that of their names.
func sort(results []*result) {
	began := map[string]int{}
	for i, r := range results {
		if !strings.Contains(r.test, "/") {
			began[r.test] = i
		}
	}
	slices.SortFunc(results, func(a, b *result) int {
		ofA, _, _ := strings.Cut(a.test, "/")
		ofB, _, _ := strings.Cut(b.test, "/")
		return cmp.Or(cmp.Compare(a.in, b.in), cmp.Compare(began[ofA], began[ofB]), cmp.Compare(a.test, b.test))
	})
}

// parent is the test above a subtest.
func parent(test string) (above string, found bool) {
	i := strings.LastIndexByte(test, '/')
	return test[:max(i, 0)], i >= 0
}
