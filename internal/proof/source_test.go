package proof_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	root     = "../.."
	document = root + "/docs/what-is-proved.md"
	rulebook = root + "/docs/rules.md"
	promises = root + "/docs/invariants.md"
)

// source is the project's tests, parsed: by directory, slash-separated and relative to the root, sorted by file name.
type source map[string][]*ast.File

// parseTests parses every test file of every module of the repository.
func parseTests(t *testing.T) source {
	t.Helper()
	parsed, set := source{}, token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "build") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		directory, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		directory = filepath.ToSlash(directory)
		parsed[directory] = append(parsed[directory], file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

var testName = regexp.MustCompile(`^(Test|Fuzz|Benchmark)[A-Z]`)

// tests calls each for every test, fuzz target and benchmark of a directory, in the order of the source.
func (s source) tests(directory string, each func(*ast.FuncDecl)) {
	for _, file := range s[directory] {
		for _, declaration := range file.Decls {
			if f, ok := declaration.(*ast.FuncDecl); ok && f.Recv == nil && testName.MatchString(f.Name.Name) {
				each(f)
			}
		}
	}
}

// directories of the tests, sorted.
func (s source) directories() []string {
	var names []string
	for directory := range s {
		names = append(names, directory)
	}
	slices.Sort(names)
	return names
}

// values calls each for every value that a directory's package-level variables begin with.
func (s source) values(directory string, each func(name string, value ast.Expr)) {
	for _, file := range s[directory] {
		for _, declaration := range file.Decls {
			group, ok := declaration.(*ast.GenDecl)
			if !ok || group.Tok != token.VAR {
				continue
			}
			for _, spec := range group.Specs {
				if spec, ok := spec.(*ast.ValueSpec); ok && len(spec.Names) == len(spec.Values) {
					for i, name := range spec.Names {
						each(name.Name, spec.Values[i])
					}
				}
			}
		}
	}
}

// literals calls each for every composite literal below node whose type is of that name: those in a list or map of them,
// where it stands once, too.
func literals(node ast.Node, name string, each func(*ast.CompositeLit)) {
	isNamed := func(e ast.Expr) bool { n, ok := e.(*ast.Ident); return ok && n.Name == name }
	ast.Inspect(node, func(n ast.Node) bool {
		literal, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		if isNamed(literal.Type) {
			each(literal)
		}
		if list, ok := literal.Type.(*ast.ArrayType); ok && isNamed(list.Elt) {
			for _, element := range literal.Elts {
				if element, ok := element.(*ast.CompositeLit); ok && element.Type == nil {
					each(element)
				}
			}
		}
		return true
	})
}

// element of a struct literal: the i-th, or the one with that key.
func element(literal *ast.CompositeLit, i int, key string) ast.Expr {
	for at, e := range literal.Elts {
		if pair, ok := e.(*ast.KeyValueExpr); ok {
			if name, ok := pair.Key.(*ast.Ident); ok && strings.EqualFold(name.Name, key) {
				return pair.Value
			}
		} else if at == i {
			return e
		}
	}
	return nil
}

// text of a string literal; "" for anything else.
func text(e ast.Expr) string {
	if literal, ok := e.(*ast.BasicLit); ok && literal.Kind == token.STRING {
		if s, err := strconv.Unquote(literal.Value); err == nil {
			return s
		}
	}
	return ""
}

// nameIn is the identifier that an expression begins with: p of p and of p.name.
func nameIn(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return nameIn(e.X)
	default:
		return ""
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
