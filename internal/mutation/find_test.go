package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// sample loads one package of the module in testdata.
func sample(t *testing.T, name string) *subject {
	t.Helper()
	subjects, err := load(filepath.Join("testdata", "sample"), []string{"./" + name})
	if err != nil || len(subjects) != 1 {
		t.Fatal(len(subjects), err)
	}
	return subjects[0]
}

// golden compares with a file, or writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	name = filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(string(text), "\n")
	for i, line := range strings.Split(got, "\n") {
		if i >= len(want) || line != want[i] {
			t.Fatalf("%s:%d: differs from\n%s\nread the difference, then run go test -update", name, i+1, line)
		}
	}
	if len(strings.Split(got, "\n")) != len(want) {
		t.Errorf("%s: longer than what there is", name)
	}
}

func TestMutantsOfEveryOperator(t *testing.T) {
	s := sample(t, "operators")
	v := newVariant(s, t.TempDir(), func(*mutant) bool { return true })
	var list strings.Builder
	for _, m := range v.mutants() {
		fmt.Fprintf(&list, "%d:%d %s\n", m.Line, m.Column, m.key(s.dir))
	}
	golden(t, "operators.mutants.golden", list.String())
	golden(t, "operators.go.golden", string(render(s.files[0], v.sites)))
}

func TestRewrittenCodeKeepsItsLines(t *testing.T) {
	s := sample(t, "operators")
	sites, _ := find(s)
	before, after := strings.Split(string(s.files[0].text), "\n"), strings.Split(string(render(s.files[0], sites)), "\n")
	if len(before) != len(after) {
		t.Fatalf("%d lines became %d", len(before), len(after))
	}
	for i, line := range before {
		if _, comment, ok := strings.Cut(line, "//"); ok && !strings.HasSuffix(after[i], comment) {
			t.Errorf("line %d ended in %q and now is %q", i+1, comment, after[i])
		}
	}
}

// With all mutants in it and none turned on a package passes its tests, and nothing had to be left out.
func TestRewrittenCodeDoesWhatTheOriginalDoes(t *testing.T) {
	s := sample(t, "operators")
	v := newVariant(s, t.TempDir(), func(*mutant) bool { return true })
	own, err := v.suite(s.dir, &hunter{parallel: 2})
	if err != nil {
		t.Fatal(err)
	}
	if len(v.uncompiled) > 0 {
		t.Errorf("%d mutants do not compile, such as %s", len(v.uncompiled), v.uncompiled[0].key(s.dir))
	}
	if len(own.failing) > 0 || len(own.tests) != 2 {
		t.Errorf("%d tests, of which fail: %v", len(own.tests), own.failing)
	}
	for _, test := range own.tests {
		if len(test.reaches) == 0 {
			t.Errorf("%s reaches nothing", test.name)
		}
	}
}

func TestKeysAreUnique(t *testing.T) {
	for _, name := range []string{"operators", "outcomes"} {
		s := sample(t, name)
		sites, last := find(s)
		keys, numbers := map[string]bool{}, map[int]bool{}
		for _, site := range sites {
			for _, m := range site.mutants {
				if keys[m.key(s.dir)] || numbers[m.ID] {
					t.Errorf("twice: %d %s", m.ID, m.key(s.dir))
				}
				if m.ID < 1 || m.ID > last {
					t.Errorf("%d is not in 1…%d", m.ID, last)
				}
				keys[m.key(s.dir)], numbers[m.ID] = true, true
			}
		}
	}
}
