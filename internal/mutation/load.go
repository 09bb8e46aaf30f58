package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// subject is a package to be mutated, with its types.
type subject struct {
	path  string // import path
	name  string
	dir   string // relative to root, with slashes; "." for the package at the root
	root  string // directory of the module
	fset  *token.FileSet
	files []*sourceFile
	info  *types.Info
}

// sourceFile is one file of a subject that a person wrote.
type sourceFile struct {
	name string // base name
	text []byte
	tree *ast.File
}

// listed is what `go list` says about a package.
type listed struct {
	ImportPath, Name, Dir, Export string
	GoFiles                       []string
	DepOnly                       bool
	Standard                      bool
}

// load reads the packages that the patterns name, as the go command in root understands them. Packages without a Go file
// that is not a test are left out.
func load(root string, patterns []string) ([]*subject, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	packages, err := list(root, patterns)
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	for _, p := range packages {
		exports[p.ImportPath] = p.Export
	}
	var subjects []*subject
	for _, p := range packages {
		if p.DepOnly || p.Standard || len(p.GoFiles) == 0 {
			continue
		}
		s, err := check(root, p, exports)
		if err != nil {
			return nil, err
		}
		subjects = append(subjects, s)
	}
	return subjects, nil
}

// list asks the go command, which also builds the export data that the type checker reads imports from.
func list(root string, patterns []string) ([]listed, error) {
	arguments := []string{"list", "-export", "-deps", "-json=ImportPath,Name,Dir,Export,GoFiles,DepOnly,Standard", "--"}
	out, err := goCommand(root, append(arguments, patterns...)...)
	if err != nil {
		return nil, err
	}
	var packages []listed
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		packages = append(packages, p)
	}
}

func check(root string, p listed, exports map[string]string) (*subject, error) {
	dir, err := filepath.Rel(root, p.Dir)
	if err != nil {
		return nil, err
	}
	s := &subject{
		path: p.ImportPath, name: p.Name, dir: filepath.ToSlash(dir), root: root, fset: token.NewFileSet(),
		info: &types.Info{
			Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{},
		},
	}
	var trees []*ast.File
	for _, name := range p.GoFiles {
		text, err := os.ReadFile(filepath.Join(p.Dir, name))
		if err != nil {
			return nil, err
		}
		tree, err := parser.ParseFile(s.fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		trees = append(trees, tree)
		if !ast.IsGenerated(tree) {
			s.files = append(s.files, &sourceFile{name: name, text: text, tree: tree})
		}
	}
	lookup := func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("no export data for %s", path)
		}
		return os.Open(exports[path])
	}
	config := types.Config{Importer: importer.ForCompiler(s.fset, "gc", lookup)}
	if _, err := config.Check(p.ImportPath, s.fset, trees, s.info); err != nil {
		return nil, fmt.Errorf("%s: %w", p.ImportPath, err)
	}
	return s, nil
}

// goCommand runs the go command in dir and returns what it prints; what it complains about becomes the error.
func goCommand(dir string, arguments ...string) ([]byte, error) {
	command := exec.Command("go", arguments...)
	command.Dir = dir
	var out, complaint bytes.Buffer
	command.Stdout, command.Stderr = &out, &complaint
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", arguments[0], err, strings.TrimSpace(complaint.String()))
	}
	return out.Bytes(), nil
}
