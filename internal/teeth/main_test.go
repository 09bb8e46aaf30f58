package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// repository writes a repository with two modules: package a has tests of tests, b has some and imports a, c has none, and the
// module nested has some that fail.
func repository(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":                 "module example.com/m\n\ngo 1.26\n",
		"a/a.go":                 "package a\n\nconst A = 1\n",
		"a/a_test.go":            "package a\n\nimport \"testing\"\n\nfunc TestEveryDay(t *testing.T) { t.Error(\"not this one\") }\n",
		"a/a_teeth_test.go":      "//go:build teeth\n\npackage a\n\nimport \"testing\"\n\nfunc TestPlanted(t *testing.T) {}\n\nfunc helper() {}\n",
		"a/testdata/case":        "1\n",
		"b/b.go":                 "package b\n\nimport \"example.com/m/a\"\n\nconst B = a.A\n",
		"b/b_teeth_test.go":      "//go:build teeth\n\npackage b\n\nimport \"testing\"\n\nfunc TestNeeded(t *testing.T) {}\n\nfunc TestReached(t *testing.T) {}\n",
		"c/c.go":                 "package c\n",
		"nested/go.mod":          "module example.com/n\n\ngo 1.26\n",
		"nested/n_teeth_test.go": "//go:build teeth\n\npackage n\n\nimport \"testing\"\n\nfunc TestFails(t *testing.T) { t.Error(\"planted\") }\n",
		"README.md":              "Read.\n",
	} {
		write(t, root, name, text)
	}
	for _, arguments := range []string{"init -q", "add .", "-c user.name=a -c user.email=a@example.com commit -q -m begin"} {
		command := exec.CommandContext(t.Context(), "git", strings.Fields(arguments)...)
		command.Dir = root
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v: %s", arguments, err, out)
		}
	}
	return root
}

func write(t *testing.T, root, name, text string) {
	t.Helper()
	file := filepath.Join(root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestList(t *testing.T) {
	tests := []struct {
		name, why string
		change    map[string]string // files that are written; none: all packages are asked for
		want      []string          // the packages that are run
	}{
		{"all", "without a commit nothing is left out", nil, []string{"./a ./b", "./."}},
		{"a document", "no test of tests is about it", map[string]string{"README.md": "Other.\n"}, nil},
		{"a package without any", "likewise", map[string]string{"c/c.go": "package c\n\nconst C = 1\n"}, nil},
		{"a package that others import", "what they test has changed", map[string]string{"a/a.go": "package a\n\nconst A = 2\n"}, []string{"./a ./b"}},
		{"a package that imports others", "the others have not changed", map[string]string{"b/b.go": "package b\n"}, []string{"./b"}},
		{"a recorded case", "it is read by the tests of its package", map[string]string{"a/testdata/case": "2\n"}, []string{"./a ./b"}},
		{"a new file", "it is in no commit yet", map[string]string{"a/new.go": "package a\n"}, []string{"./a ./b"}},
		{"a module", "another version may be another behavior", map[string]string{"nested/go.mod": "module example.com/n\n\ngo 1.25\n"}, []string{"./."}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			root := repository(t)
			arguments := []string{"-root", root, "-list"}
			if test.change != nil {
				arguments = append(arguments, "-since", "HEAD")
			}
			for name, text := range test.change {
				write(t, root, name, text)
			}
			var out bytes.Buffer
			if err := run(t.Context(), arguments, &out, &out); err != nil {
				t.Fatal(err)
			}
			var got []string
			for line := range strings.Lines(out.String()) {
				if rest, ok := strings.CutPrefix(line, "== "); ok {
					_, packages, _ := strings.Cut(strings.TrimSpace(rest), ": ")
					got = append(got, packages)
				}
			}
			if strings.Join(got, "\n") != strings.Join(test.want, "\n") {
				t.Errorf("%s: it would run %q, want %q:\n%s", test.why, got, test.want, &out)
			}
		})
	}
}

// Only tests of tests are run, in all modules, and what failed is said at the end.
func TestRun(t *testing.T) {
	root := repository(t)
	var out bytes.Buffer
	err := run(t.Context(), []string{"-root", root}, &out, &out)
	if err == nil || !strings.HasSuffix(err.Error(), "nested") {
		t.Errorf("the error is %v, want one that names the module that fails", err)
	}
	for _, want := range []string{"ok  \texample.com/m/a", "ok  \texample.com/m/b", "--- FAIL: TestFails"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, &out)
		}
	}
	if strings.Contains(out.String(), "TestEveryDay") {
		t.Errorf("it runs a test of every day:\n%s", &out)
	}
}

func TestMistakes(t *testing.T) {
	for _, test := range []struct {
		name, why string
		arguments []string
		want      string
	}{
		{"no commit", "a mistyped one would run nothing", []string{"-list", "-since", "nowhere"}, "git diff"},
		{"an argument", "packages are not asked for by name", []string{"./a"}, `unexpected argument "./a"`},
	} {
		var out bytes.Buffer
		err := run(t.Context(), append([]string{"-root", repository(t)}, test.arguments...), &out, &out)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: the error is %v, want one with %q: %s", test.name, err, test.want, test.why)
		}
	}
}
