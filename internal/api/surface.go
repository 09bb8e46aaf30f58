package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// surfaces are the files of the folder api, by name, for the module in root. Internal packages, commands, nested modules and
// packages of tests promise nothing.
func surfaces(root string) (map[string]string, error) {
	files := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if path != root && leftOut(path) {
			return fs.SkipDir
		}
		lines, err := surface(path)
		if err != nil || len(lines) == 0 {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		files[strings.ReplaceAll(filepath.ToSlash(name), "/", "-")+".txt"] = strings.Join(lines, "\n") + "\n"
		return nil
	})
	return files, err
}

func leftOut(path string) bool {
	name := filepath.Base(path)
	if name == "internal" || name == "testdata" || name == "examples" || name == "build" || strings.HasPrefix(name, ".") {
		return true
	}
	_, err := os.Stat(filepath.Join(path, "go.mod"))
	return err == nil
}

// surface is what the package in a folder exports, in order; none if there is no package, or only a command.
func surface(folder string) ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	if len(files) == 0 || files[0].Name.Name == "main" {
		return nil, nil
	}
	p, err := doc.NewFromFiles(fset, files, folder)
	if err != nil {
		return nil, err
	}
	l := lister{fset: fset}
	l.values("const", p.Consts)
	l.values("var", p.Vars)
	l.functions(p.Funcs)
	for _, t := range p.Types {
		l.values("const", t.Consts)
		l.values("var", t.Vars)
		l.functions(t.Funcs)
		l.functions(t.Methods)
		for _, spec := range t.Decl.Specs {
			if spec, ok := spec.(*ast.TypeSpec); ok {
				l.declared(spec)
			}
		}
	}
	slices.Sort(l.lines)
	return l.lines, nil
}

// lister makes a line of each exported name.
type lister struct {
	fset  *token.FileSet
	lines []string
}

func (l *lister) add(format string, parts ...any) {
	l.lines = append(l.lines, fmt.Sprintf(format, parts...))
}

// values lists constants and variables. A constant without a type of its own has that of the one before.
func (l *lister) values(kind string, groups []*doc.Value) {
	for _, group := range groups {
		of := ""
		for _, spec := range group.Decl.Specs {
			spec, ok := spec.(*ast.ValueSpec)
			if !ok {
				continue
			}
			switch {
			case spec.Type != nil:
				of = " " + l.text(spec.Type)
			case len(spec.Values) > 0:
				of = ""
			}
			for i, name := range spec.Names {
				if !name.IsExported() {
					continue
				}
				value := ""
				if kind == "const" && of == "" && i < len(spec.Values) {
					value = " = " + l.text(spec.Values[i])
				}
				l.add("%s %s%s%s", kind, name.Name, of, value)
			}
		}
	}
}

func (l *lister) functions(list []*doc.Func) {
	for _, f := range list {
		f.Decl.Doc, f.Decl.Body = nil, nil
		l.add("%s", l.text(f.Decl))
	}
}

// declared lists a type, with its exported fields and methods.
func (l *lister) declared(spec *ast.TypeSpec) {
	name := spec.Name.Name
	if spec.TypeParams != nil {
		name += "[" + l.fields(spec.TypeParams.List) + "]"
	}
	equals := ""
	if spec.Assign.IsValid() {
		equals = "= "
	}
	switch t := spec.Type.(type) {
	case *ast.StructType:
		l.add("type %s %sstruct", name, equals)
		for _, field := range t.Fields.List {
			l.members("field", spec.Name.Name, field)
		}
	case *ast.InterfaceType:
		l.add("type %s %sinterface", name, equals)
		for _, method := range t.Methods.List {
			l.members("method", spec.Name.Name, method)
		}
	default:
		l.add("type %s %s%s", name, equals, l.text(spec.Type))
	}
}

func (l *lister) members(kind, of string, field *ast.Field) {
	if len(field.Names) == 0 {
		l.add("%s %s embeds %s", kind, of, l.text(field.Type))
	}
	for _, name := range field.Names {
		if name.IsExported() {
			tag := ""
			if field.Tag != nil {
				tag = " " + field.Tag.Value
			}
			l.add("%s %s.%s %s%s", kind, of, name.Name, l.text(field.Type), tag)
		}
	}
}

func (l *lister) fields(list []*ast.Field) string {
	var parts []string
	for _, f := range list {
		for _, name := range f.Names {
			parts = append(parts, name.Name+" "+l.text(f.Type))
		}
	}
	return strings.Join(parts, ", ")
}

// text is a piece of source on one line.
func (l *lister) text(node any) string {
	var b bytes.Buffer
	if err := printer.Fprint(&b, l.fset, node); err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
