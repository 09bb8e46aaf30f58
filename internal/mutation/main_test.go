package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// mutation runs the command on a module and returns its exit status and what it prints.
func mutation(t *testing.T, root, records string, arguments ...string) (code int, stdout, stderr string) {
	t.Helper()
	judged := filepath.Join(t.TempDir(), "survivors.txt")
	entry := "outcomes/outcomes.go Larger: boundary moved: `a > b` -> `a >= b`\n\tequivalent: either is as large\n" +
		"outcomes/outcomes.go Larger: boundary moved: `a > c` -> `a >= c`\n\tequivalent: nothing is called c\n"
	if err := os.WriteFile(judged, []byte(entry), 0o644); err != nil {
		t.Fatal(err)
	}
	var out, complaint bytes.Buffer
	code = run(t.Context(), append([]string{"-root", root, "-records", records, "-judged", judged, "-grace", "500ms"}, arguments...), &out, &complaint)
	return code, out.String(), complaint.String()
}

// outcomes by the key of the mutant.
func outcomes(t *testing.T, records, dir string) map[string]result {
	t.Helper()
	r, err := readRecord(dir, records)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]result{}
	for _, found := range r.Results {
		all[strings.TrimPrefix(found.Mutant.key(dir), dir+"/"+dir+".go ")] = found
	}
	return all
}

func TestOutcomes(t *testing.T) {
	records := t.TempDir()
	code, stdout, stderr := mutation(t, filepath.Join("testdata", "sample"), records, "-effort", "200ms", "./outcomes")
	found := outcomes(t, records, "outcomes")
	tests := []struct {
		mutant string
		why    string
		want   status
		killer string
		same   bool
	}{
		{mutant: "Clamp: condition true: `n > 10` -> `true`", want: killed, killer: "TestClamp", why: "9 becomes 10"},
		{mutant: "Clamp: condition false: `n > 10` -> `false`", want: killed, killer: "TestClamp", why: "11 stays"},
		{mutant: "Clamp: boundary moved: `n > 10` -> `n >= 10`", want: lived, why: "10 is tried, and 10 comes out"},
		{mutant: "Clamp: constant changed: `10` -> `11`", want: killed, killer: "TestClamp", why: "11 stays"},
		{mutant: "Clamp: constant changed: `10` -> `11` #2", want: killed, killer: "TestClamp", why: "12 becomes 11"},
		{mutant: "Larger: condition true: `a > b` -> `true`", want: killed, killer: "TestLarger", why: "the left is smaller once"},
		{mutant: "Larger: condition false: `a > b` -> `false`", want: killed, killer: "TestLarger", why: "the left is larger once"},
		{mutant: "Larger: boundary moved: `a > b` -> `a >= b`", want: lived, same: true, why: "never equal in a test"},
		{mutant: "Double: operator swapped: `n * 2` -> `n / 2`", want: lived, why: "nobody looks at the result"},
		{mutant: "Double: constant changed: `2` -> `3`", want: lived, why: "nobody looks at the result"},
		{mutant: "Unused: operator swapped: `n + n` -> `n - n`", want: uncovered, why: "never called"},
		{mutant: "Steps: condition false: `n > 0` -> `false`", want: killed, why: "no steps"},
		{mutant: "Steps: boundary moved: `n > 0` -> `n >= 0`", want: killed, why: "a step too many"},
		{mutant: "Steps: constant changed: `0` -> `1`", want: killed, why: "a step too few"},
		{mutant: "Steps: assignment removed: `n--` -> ``", want: expired, why: "n stays above 0"},
		{mutant: "Steps: operator swapped: `n--` -> `n++`", want: expired, why: "n stays above 0 for centuries"},
		{mutant: "Steps: assignment removed: `steps++` -> ``", want: killed, why: "no steps"},
		{mutant: "Steps: operator swapped: `steps++` -> `steps--`", want: killed, why: "negative steps"},
		{mutant: "Slow: operator swapped: `n - 3` -> `n + 3`", want: notTried, why: "its test takes longer than the effort"},
		{mutant: "Slow: constant changed: `3` -> `4`", want: notTried, why: "the same"},
	}
	for _, test := range tests {
		got, ok := found[test.mutant]
		delete(found, test.mutant)
		if !ok || got.Status != test.want || got.Same != test.same || test.killer != "" && got.Test != test.killer {
			t.Errorf("%s: %q by %q, same %v, want %q by %q, same %v: %s",
				test.mutant, got.Status, got.Test, got.Same, test.want, test.killer, test.same, test.why)
		}
	}
	for mutant := range found {
		t.Errorf("not expected: %s", mutant)
	}
	if code != 1 || !strings.Contains(stderr, "76.5 % of the covered mutants were killed, fewer than 90.0 %") {
		t.Errorf("exit status %d, %s", code, stderr)
	}
	if !strings.Contains(stderr, "TestFailsAnyway fails without a mutant and was left out") {
		t.Errorf("no word of the failing test: %s", stderr)
	}
	if !regexp.MustCompile(`outcomes +20 +17 +11 +2 +4 +1 +2 +76.5`).MatchString(stdout) {
		t.Errorf("table:\n%s", stdout)
	}
	for _, want := range []string{
		"outcomes/outcomes.go:6:5: lived: boundary moved: `n > 10` -> `n >= 10` in Clamp\n",
		"outcomes/outcomes.go:21:33: lived: operator swapped: `n * 2` -> `n / 2` in Double\n",
		"outcomes: 1 that lived are judged\n",
		"judged, but not there or not alive: outcomes/outcomes.go Larger: boundary moved: `a > c` -> `a >= c`\n",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("not printed: %s\n%s", want, stdout)
		}
	}

	// What another effort or sample left out can be made up for, and the rest stays as it was.
	code, _, stderr = mutation(t, filepath.Join("testdata", "sample"), records, "-again", "not tried", "-least", "70", "./outcomes")
	after := outcomes(t, records, "outcomes")
	if code != 0 || after["Slow: constant changed: `3` -> `4`"].Test != "TestSlow" {
		t.Errorf("%d, %s, %v", code, stderr, after["Slow: constant changed: `3` -> `4`"])
	}
	if len(after) != len(tests) || after["Clamp: constant changed: `10` -> `11`"].Status != killed {
		t.Errorf("%d mutants after the second run", len(after))
	}
}

// Some of the mutants and some of the tests add to the record of the run before: of some tests only what they kill.
func TestSome(t *testing.T) {
	records := t.TempDir()
	sample := filepath.Join("testdata", "sample")
	const clamp, double, steps = "Clamp: constant changed: `10` -> `11`", "Double: constant changed: `2` -> `3`", "Steps: condition false: `n > 0` -> `false`"
	for _, run := range []struct {
		why                  string
		arguments            []string
		clamp, double, steps status
	}{
		{"no file is called so", []string{"-files", "^other"}, "", "", ""},
		{"one test kills what it kills, and what others reach is left open", []string{"-tests", "Clamp|Double"}, killed, notTried, notTried},
		{"the rest", []string{"-again", "not tried", "-files", "^outcomes", "-effort", "200ms"}, killed, lived, killed},
		{"no file is called so, and the rest stays", []string{"-again", "lived", "-files", "^other"}, killed, lived, killed},
		{"tests that reach nothing of it say nothing", []string{"-tests", "Larger"}, killed, lived, killed},
	} {
		mutation(t, sample, records, append(run.arguments, "./outcomes")...)
		found := outcomes(t, records, "outcomes")
		for mutant, want := range map[string]status{clamp: run.clamp, double: run.double, steps: run.steps} {
			if got := found[mutant].Status; got != want {
				t.Errorf("%s: %s is %q, want %q", run.why, mutant, got, want)
			}
		}
	}
	if code, _, stderr := mutation(t, sample, records, "-tests", "(", "./outcomes"); code != 2 || !strings.Contains(stderr, `invalid value "("`) {
		t.Errorf("a pattern that is none: %d, %s", code, stderr)
	}
}

// Tests of another package can kill what a package's own leave alive, and cover what they do not.
func TestAlso(t *testing.T) {
	records := t.TempDir()
	mutation(t, filepath.Join("testdata", "sample"), records, "-also", "importer", "-effort", "200ms", "./outcomes")
	found := outcomes(t, records, "outcomes")
	for mutant, want := range map[string]status{
		"Double: operator swapped: `n * 2` -> `n / 2`": killed,
		"Unused: operator swapped: `n + n` -> `n - n`": killed,
		"Larger: boundary moved: `a > b` -> `a >= b`":  lived,
		"Clamp: constant changed: `10` -> `11`":        killed,
	} {
		if got := found[mutant]; got.Status != want || want == killed && got.Suite != suiteOf(mutant) {
			t.Errorf("%s: %s by %s of %s, want %s", mutant, got.Status, got.Test, got.Suite, want)
		}
	}
}

func suiteOf(mutant string) string {
	if strings.HasPrefix(mutant, "Clamp") {
		return "outcomes"
	}
	return "importer"
}

func TestSince(t *testing.T) {
	root, records := t.TempDir(), t.TempDir()
	if err := os.CopyFS(root, os.DirFS(filepath.Join("testdata", "sample"))); err != nil {
		t.Fatal(err)
	}
	git := func(arguments ...string) {
		t.Helper()
		command := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false"}, arguments...)...)
		command.Dir = root
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", arguments, err, out)
		}
	}
	git("init", "-q")
	git("add", ".")
	git("commit", "-q", "-m", "before")
	code, stdout, stderr := mutation(t, root, records, "-since", "HEAD", "./...")
	if code != 0 || stdout != "nothing to mutate\n" {
		t.Errorf("without a change: %d, %s%s", code, stdout, stderr)
	}

	file := filepath.Join(root, "outcomes", "outcomes.go")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, []byte("if n > 10 {"), []byte("if n > 20/2 {"), 1)
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr = mutation(t, root, records, "-since", "HEAD", "-least", "60", "./...")
	if code != 0 {
		t.Errorf("%d, %s%s", code, stdout, stderr)
	}
	found := outcomes(t, records, "outcomes")
	if len(found) != 3 || found["Clamp: condition true: `n > 20/2` -> `true`"].Status != killed {
		t.Errorf("%d mutants on the changed line, not 3:\n%s", len(found), stdout)
	}
	if others := outcomes(t, records, "operators"); len(others) != 0 {
		t.Errorf("%d mutants of a package that did not change", len(others))
	}

	// A deadline that has passed lets nothing begin, and says so.
	_, stdout, _ = mutation(t, root, records, "-since", "HEAD", "-for", "1ns", "./...")
	if !regexp.MustCompile(`outcomes +3 +0 +0 +0 +0 +0 +3 +100.0`).MatchString(stdout) {
		t.Errorf("after the deadline:\n%s", stdout)
	}
}

func TestWrongArguments(t *testing.T) {
	for name, arguments := range map[string][]string{
		"no such flag":     {"-nonsense"},
		"no such package":  {"./nowhere"},
		"no such revision": {"-since", "no-such-revision", "./outcomes"},
	} {
		if code, _, stderr := mutation(t, filepath.Join("testdata", "sample"), t.TempDir(), arguments...); code != 2 || stderr == "" {
			t.Errorf("%s: %d, %q", name, code, stderr)
		}
	}
}

// Interrupted, it reports on what it has tried, and takes nothing that was cut short for killed.
func TestInterrupted(t *testing.T) {
	records := t.TempDir()
	interrupted, stop := context.WithCancel(t.Context())
	stop()
	var out, complaint bytes.Buffer
	judged := filepath.Join(t.TempDir(), "survivors.txt")
	if err := os.WriteFile(judged, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	run(interrupted, []string{
		"-root", filepath.Join("testdata", "sample"), "-records", records, "-judged", judged, "-effort", "200ms", "./outcomes",
	}, &out, &complaint)
	for mutant, found := range outcomes(t, records, "outcomes") {
		if found.Status == killed || found.Status == expired || found.Status == lived {
			t.Errorf("%s: %s", mutant, found.Status)
		}
	}
	if !strings.Contains(out.String(), "outcomes") {
		t.Errorf("%s%s", &out, &complaint)
	}
}
