package main

import (
	"context"
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// toothed is a package that has tests of tests.
type toothed struct {
	module string   // its folder
	folder string   // of the package, below that of the module; slashes
	tests  []string // their names
}

// find looks for tests of tests below root, in the order of modules and folders.
func find(root string) ([]toothed, error) {
	byFolder := map[string]*toothed{}
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		switch {
		case err != nil:
			return err
		case entry.IsDir() && file != root && (name == "testdata" || name == "build" || strings.HasPrefix(name, ".")):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, "_test.go"):
			return nil
		}
		tests, err := testsIn(file)
		if err != nil || len(tests) == 0 {
			return err
		}
		directory := filepath.Dir(file)
		if byFolder[directory] == nil {
			module, err := moduleOf(root, directory)
			if err != nil {
				return err
			}
			folder, err := filepath.Rel(module, directory)
			if err != nil {
				return err
			}
			byFolder[directory] = &toothed{module: module, folder: filepath.ToSlash(folder)}
		}
		byFolder[directory].tests = append(byFolder[directory].tests, tests...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	var found []toothed
	for _, p := range byFolder {
		found = append(found, *p)
	}
	slices.SortFunc(found, func(a, b toothed) int {
		return strings.Compare(a.module+"\x00"+a.folder, b.module+"\x00"+b.folder)
	})
	return found, nil
}

// testsIn lists the tests in a file that has the build tag teeth, none for other files.
func testsIn(file string) ([]string, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	if !needsTeeth(parsed) {
		return nil, nil
	}
	var tests []string
	for _, declaration := range parsed.Decls {
		f, ok := declaration.(*ast.FuncDecl)
		if ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") && f.Name.Name != "TestMain" {
			tests = append(tests, f.Name.Name)
		}
	}
	return tests, nil
}

// needsTeeth reports whether a file is built with the tag teeth, and not without it.
func needsTeeth(file *ast.File) bool {
	for _, group := range file.Comments {
		if group.Pos() > file.Package {
			break
		}
		for _, comment := range group.List {
			if expression, err := constraint.Parse(comment.Text); err == nil {
				built := func(with string) bool { return expression.Eval(func(tag string) bool { return tag == with }) }
				return built("teeth") && !built("")
			}
		}
	}
	return false
}

// moduleOf returns the folder of the module that a folder below root belongs to.
func moduleOf(root, directory string) (string, error) {
	for at := directory; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at, nil
		}
		if at == root || at == filepath.Dir(at) {
			return "", fmt.Errorf("%s is in no module below %s", directory, root)
		}
	}
}

// changedFiles lists the files that differ from a commit, by their paths below root; slashes. New files that git does not ignore
// are among them.
func changedFiles(ctx context.Context, root, since string) ([]string, error) {
	var files []string
	for _, arguments := range [][]string{
		{"diff", "--name-only", "--relative", since, "--"},
		{"ls-files", "--others", "--exclude-standard"},
	} {
		command := exec.CommandContext(ctx, "git", arguments...)
		command.Dir = root
		out, err := command.Output()
		if err != nil {
			return nil, fmt.Errorf("git %s: %w", strings.Join(arguments, " "), err)
		}
		files = append(files, strings.Fields(string(out))...)
	}
	return files, nil
}

// concerned returns those packages of which, or of a package that they import, a file has changed. A change of a go.mod or go.sum
// concerns every package of its module.
func concerned(ctx context.Context, root string, found []toothed, changed []string) ([]toothed, error) {
	var some []toothed
	for _, p := range found {
		folders, err := dependencies(ctx, root, p)
		if err != nil {
			return nil, err
		}
		module, err := filepath.Rel(root, p.module)
		if err != nil {
			return nil, err
		}
		module = filepath.ToSlash(module)
		if slices.ContainsFunc(changed, func(file string) bool {
			if name := path.Base(file); (name == "go.mod" || name == "go.sum") && path.Dir(file) == module {
				return true
			}
			return slices.ContainsFunc(folders, func(folder string) bool { return belongs(file, folder) })
		}) {
			some = append(some, p)
		}
	}
	return some, nil
}

// belongs reports whether a file is one of the package in a folder: it is in the folder itself, or in its testdata.
func belongs(file, folder string) bool {
	rest, below := strings.CutPrefix(file, strings.TrimPrefix(folder+"/", "./"))
	return below && (!strings.Contains(rest, "/") || strings.HasPrefix(rest, "testdata/"))
}

// dependencies lists the folders below root of a package, with its tests of tests, and of all packages of this repository that it
// imports.
func dependencies(ctx context.Context, root string, p toothed) ([]string, error) {
	const format = "{{if not .Standard}}{{.Dir}}{{end}}"
	command := exec.CommandContext(ctx, "go", "list", "-tags", "teeth", "-test", "-deps", "-f", format, "./"+p.folder)
	command.Dir = p.module
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go list of %s: %w", filepath.Join(p.module, p.folder), err)
	}
	absolute, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	var folders []string
	for directory := range strings.FieldsSeq(string(out)) {
		folder, err := filepath.Rel(absolute, directory)
		if err == nil && filepath.IsLocal(folder) {
			folders = append(folders, filepath.ToSlash(folder))
		}
	}
	slices.Sort(folders)
	return slices.Compact(folders), nil
}
