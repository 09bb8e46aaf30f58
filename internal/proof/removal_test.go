package proof_test

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var remove = flag.Bool("removals", false, "take the code of each rule away, and run the test that must fail then")

// TestRemovals takes the code of each rule away: the test that is named for it fails, and names the rule. Without -removals it
// sees to it only that there is what is taken away, and the test.
func TestRemovals(t *testing.T) {
	s := parseTests(t)
	seen := map[string]bool{}
	for _, r := range removals {
		name := r.rule + " " + r.what
		if r.rule == "" || r.what == "" || seen[name] {
			t.Fatalf("removal %q needs a rule and a name of its own", name)
		}
		seen[name] = true
		t.Run(name, func(t *testing.T) {
			was := read(t, path.Join(root, r.file))
			if n := strings.Count(was, r.old); n != 1 || r.old == r.new {
				t.Fatalf("%s has this %d times, not once: the code has moved on, find it again\n%s", r.file, n, r.old)
			}
			if test, _, _ := strings.Cut(r.test, "/"); !slices.Contains(testsOf(s, path.Dir(r.file)), test) {
				t.Fatalf("%s has no test %s", path.Dir(r.file), test)
			}
			if *remove {
				failsByName(t, r, strings.Replace(was, r.old, r.new, 1))
			}
		})
	}
}

// failsByName runs the removal's test on changed code.
func failsByName(t *testing.T, r removal, changed string) {
	t.Helper()
	absolute, err := filepath.Abs(filepath.Join(root, filepath.FromSlash(r.file)))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	code, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	files, err := json.Marshal(map[string]map[string]string{"Replace": {absolute: code}})
	if err != nil {
		t.Fatal(err)
	}
	for file, data := range map[string][]byte{code: []byte(changed), overlay: files} {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pattern := "^" + strings.ReplaceAll(r.test, "/", "$/^") + "$"
	command := exec.Command("go", "test", "-vet=off", "-count=1", "-overlay="+overlay, "-run="+pattern, ".")
	command.Dir = filepath.Dir(absolute)
	out, err := command.CombinedOutput()
	switch {
	case err == nil:
		t.Errorf("%s passes without it", r.test)
	case !strings.Contains(string(out), "--- FAIL: "):
		t.Errorf("%s does not run:\n%s", r.test, out)
	case !names(r.rule).MatchString(string(out)):
		t.Errorf("%s fails without naming %s:\n%s", r.test, r.rule, out)
	}
}

// names matches text that names a rule: M1 in "M1: wait", and in TestRepairM1Missing, not in M10.
func names(rule string) *regexp.Regexp {
	return regexp.MustCompile(`(^|[^A-Z0-9])` + rule + `([^0-9]|$)`)
}

// TestEveryRuleIsRemoved: there is no rule that nobody took away.
func TestEveryRuleIsRemoved(t *testing.T) {
	rules := rulesOf(t)
	if len(rules) < 57 {
		t.Fatalf("docs/rules.md has %d rules only", len(rules))
	}
	for _, rule := range rules {
		if !slices.ContainsFunc(removals, func(r removal) bool { return r.rule == rule }) {
			t.Errorf("rule %s: nothing was taken away", rule)
		}
	}
	for _, r := range removals {
		if !slices.Contains(rules, r.rule) {
			t.Errorf("rule %s: there is no such rule", r.rule)
		}
	}
}
