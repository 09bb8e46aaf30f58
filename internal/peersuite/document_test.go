package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

func TestHold(t *testing.T) {
	file := filepath.Join(t.TempDir(), "document.md")
	text := func(part string) string { return "before\n<!-- table: it -->\n" + part + "<!-- end -->\nafter\n" }
	if err := os.WriteFile(file, []byte(text("old\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := hold(file, false, map[string]string{"it": "old\n"}); err != nil {
		t.Errorf("the same: %v", err)
	}
	err := hold(file, false, map[string]string{"it": "new\n"})
	if err == nil || !strings.Contains(err.Error(), "not in the document: new\nnot so any more: old") {
		t.Errorf("both sides of a difference: %v", err)
	}
	if err := hold(file, true, map[string]string{"other": "new\n"}); err == nil {
		t.Error("a document without the marks is an error")
	}
	if err := hold(file, true, map[string]string{"it": "new\n"}); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != text("new\n") {
		t.Errorf("written: %s, %v", got, err)
	}
}

// TestDocument holds what can be said without running the controller's tests: the bugs, and that each test that is named here is
// one of the table. All else is held by make peersuite.
func TestDocument(t *testing.T) {
	document := filepath.Join(root, "docs", "what-is-proved.md")
	if err := hold(document, false, map[string]string{"peersuite bugs": bugTable()}); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, e := range expected {
		named = append(named, e.test)
	}
	for _, b := range bugs {
		named = append(named, b.test)
	}
	for _, test := range named {
		if !strings.Contains(string(text), "\n| `"+test+"` | ") {
			t.Errorf("the document's table has no %s", test)
		}
	}
}

// TestBugs sees to it that there is what is taken away.
func TestBugs(t *testing.T) {
	all, err := removals(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(bugs) < 5 {
		t.Errorf("%d bugs only", len(bugs))
	}
	seen := map[string]bool{}
	for _, b := range bugs {
		if b.rule == "" || b.what == "" || b.test == "" || seen[b.what] {
			t.Fatalf("%+v needs a rule, a test and a name of its own", b)
		}
		seen[b.what] = true
		r, err := b.find(all)
		if err != nil {
			t.Error(err)
			continue
		}
		if _, err := r.from(root); err != nil {
			t.Errorf("%s: %v", b.rule, err)
		}
	}
	if _, err := (&bug{rule: "P1", what: "no such thing"}).find(all); err == nil {
		t.Error("a removal that is not there is an error")
	}
	if _, err := (&removal{file: "go.mod", old: "no such thing"}).from(root); err == nil {
		t.Error("code that is not there is an error")
	}
}
