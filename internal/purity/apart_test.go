package purity_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// isTeeth reports whether a file holds tests of tests, by its name.
func isTeeth(path string) bool { return strings.HasSuffix(filepath.Base(path), "teeth_test.go") }

// TestTestsOfTestsAreApart: files named …teeth_test.go have the build tag teeth, and no others do, in every module. So the name of
// a file says whether its tests are built into the everyday run.
func TestTestsOfTestsAreApart(t *testing.T) {
	teeth := 0
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != "../.." && (name == "testdata" || name == "build" || strings.HasPrefix(name, ".")):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go"):
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if complaint := misplaced(path, string(source)); complaint != "" {
			t.Errorf("%s %s", path, complaint)
		}
		if isTeeth(path) {
			teeth++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if teeth < 60 {
		t.Errorf("only %d files have tests of tests", teeth)
	}
}

// misplaced says what is wrong with the build tag of a file; "": nothing.
func misplaced(path, source string) string {
	tagged := strings.HasPrefix(source, "//go:build teeth\n")
	switch {
	case tagged && !isTeeth(path):
		return "has the build tag teeth, and its name does not end in teeth_test.go"
	case !tagged && isTeeth(path):
		return "does not begin with //go:build teeth"
	case !tagged && strings.Contains(source, "\n//go:build") && strings.Contains(source, "teeth\n\npackage "):
		return "has a build constraint on teeth that is not the plain one"
	}
	return ""
}

func TestMisplacedSeesPlantedOffences(t *testing.T) {
	const tag = "//go:build teeth\n\npackage a\n"
	tests := []struct {
		name, why, path, source string
		want                    bool
	}{
		{"teeth", "both say so", "a/b_teeth_test.go", tag, false},
		{"everyday", "neither says so", "a/b_test.go", "package a\n", false},
		{"built every day", "its name promises that it is not", "a/b_teeth_test.go", "package a\n", true},
		{"hidden", "nobody would look for it there", "a/b_test.go", tag, true},
		{"without teeth only", "such a file is in no teeth, and a test of it proves nothing", "a/b_test.go", "// A.\n//go:build !teeth\n\npackage a\n", true},
	}
	for _, test := range tests {
		if got := misplaced(test.path, test.source); (got != "") != test.want {
			t.Errorf("%s: %q, want an offence: %t: %s", test.name, got, test.want, test.why)
		}
	}
}
