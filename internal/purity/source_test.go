package purity_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// parseModule parses the non-test files of every package in the module at root, by the package's slash-separated
// directory. Nested modules are left out: they are not the library.
func parseModule(t *testing.T, root string) map[string]parsedFiles {
	t.Helper()
	packages := map[string]parsedFiles{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && !holdsPackages(path, entry.Name()):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		directory, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		directory = filepath.ToSlash(directory)
		parsed, ok := packages[directory]
		if !ok {
			parsed.set = token.NewFileSet()
		}
		file, err := parser.ParseFile(parsed.set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		parsed.files = append(parsed.files, file)
		packages[directory] = parsed
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := packages["internal/purity"]; !ok {
		t.Fatalf("%s is not the root of the module: this package was not found there", root)
	}
	return packages
}

// holdsPackages says whether the Go tool looks for this module's packages in a directory.
func holdsPackages(path, name string) bool {
	if name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return false
	}
	_, err := os.Stat(filepath.Join(path, "go.mod"))
	return err != nil
}

// parseSource parses the texts of the files of one package.
func parseSource(t *testing.T, sources ...string) parsedFiles {
	t.Helper()
	parsed := parsedFiles{set: token.NewFileSet()}
	for i, source := range sources {
		file, err := parser.ParseFile(parsed.set, fmt.Sprintf("planted%d.go", i), source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("%v in\n%s", err, source)
		}
		parsed.files = append(parsed.files, file)
	}
	return parsed
}
