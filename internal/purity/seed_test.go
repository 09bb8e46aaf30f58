package purity_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// fixedSeed is the package that makes tests draw the same inputs in every run.
const fixedSeed = modulePath + "/internal/fixedseed"

// TestDrawsAreRepeatable: a package whose tests draw with rapid imports internal/fixedseed in one of them, in every module. One
// that does not draws other inputs in each run, so that it fails by chance.
func TestDrawsAreRepeatable(t *testing.T) {
	imports := testImports(t, "../..")
	if got := slices.Sorted(maps.Keys(imports)); len(got) < 40 || !slices.Contains(got, "rollout/verify") {
		t.Fatalf("tests were found in these packages only: %v", got)
	}
	for _, directory := range unseeded(imports) {
		t.Errorf("the tests of %s draw with rapid, and none of its test files imports internal/fixedseed", directory)
	}
}

// unseeded lists the packages whose tests import rapid and not fixedseed.
func unseeded(imports map[string][]string) []string {
	var list []string
	for directory, imported := range imports {
		if slices.Contains(imported, "pgregory.net/rapid") && !slices.Contains(imported, fixedSeed) {
			list = append(list, directory)
		}
	}
	slices.Sort(list)
	return list
}

func TestUnseededSeesPlantedOffences(t *testing.T) {
	got := unseeded(map[string][]string{
		"seeded":  {"testing", "pgregory.net/rapid", fixedSeed},
		"chance":  {"testing", "pgregory.net/rapid", modulePath + "/rollout"},
		"plain":   {"testing"},
		"another": {"pgregory.net/rapid"},
	})
	if want := []string{"another", "chance"}; !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
}

// testImports lists what the test files of each package below root import, nested modules included.
func testImports(t *testing.T, root string) map[string][]string {
	t.Helper()
	imports := map[string][]string{}
	set := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && (name == "testdata" || name == "build" || strings.HasPrefix(name, ".")):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(set, path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		directory, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		directory = filepath.ToSlash(directory)
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if imported == fixedSeed && isTeeth(path) {
				continue // without the build tag that file is not there
			}
			imports[directory] = append(imports[directory], imported)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return imports
}
