package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// finder walks through a package and collects what can be changed. Its walk is from the outside in: of two edits of one
// expression the first surrounds the second.
type finder struct {
	*subject
	file     *sourceFile
	function string
	stack    []ast.Node // what encloses the node looked at, outermost first
	apart    map[ast.Node]bool
	sites    []*site
	last     int // the largest number of a mutant so far
	nesting  int
}

// find returns the places of a package where something can be changed, and the largest number of a mutant.
func find(s *subject) (sites []*site, last int) {
	f := &finder{subject: s, apart: map[ast.Node]bool{}}
	for _, file := range s.files {
		f.file = file
		for _, declaration := range file.tree.Decls {
			f.function = functionName(declaration)
			ast.Inspect(declaration, f.step)
		}
	}
	f.number()
	return f.sites, f.last
}

// number tells mutants with the same key apart, by their order in the source.
func (f *finder) number() {
	var all []*mutant
	for _, s := range f.sites {
		all = append(all, s.mutants...)
	}
	slices.SortFunc(all, compareMutants)
	times := map[string]int{}
	for _, m := range all {
		m.Nth = 1
		key := m.key("")
		times[key]++
		m.Nth = times[key]
	}
}

// step is called by [ast.Inspect] for each node, and with nil after the last child of one.
func (f *finder) step(n ast.Node) bool {
	if n == nil {
		f.stack = f.stack[:len(f.stack)-1]
		return true
	}
	if f.apart[n] || !f.enter(n) {
		return false
	}
	f.stack = append(f.stack, n)
	return true
}

// enter finds what can be changed about one node, and says whether to go on inside it.
func (f *finder) enter(n ast.Node) bool {
	if e, ok := n.(ast.Expr); ok && f.info.Types[e].Value != nil {
		f.literal(e)
		return false // a part of a constant has to be constant
	}
	switch n := n.(type) {
	case *ast.GenDecl:
		return n.Tok == token.VAR
	case *ast.FuncType, *ast.ArrayType, *ast.MapType, *ast.StructType, *ast.InterfaceType:
		return false
	case *ast.BlockStmt:
		f.statements(n.List, f.parent())
	case *ast.CaseClause:
		f.statements(n.Body, nil)
		f.caseConditions(n)
	case *ast.CommClause:
		f.statements(n.Body, nil)
	case *ast.IfStmt:
		f.condition(n.Cond, "condition true", "condition false")
	case *ast.ForStmt:
		if n.Cond != nil {
			f.loopCondition(n.Cond)
		}
	case *ast.ReturnStmt:
		for _, result := range n.Results {
			f.flip(result, "result negated")
		}
	case *ast.BinaryExpr:
		f.binary(n)
	case *ast.UnaryExpr:
		f.unary(n)
	case *ast.SliceExpr:
		f.bounds(n)
	case *ast.IncDecStmt:
		f.countStep(n)
	case *ast.AssignStmt:
		f.compound(n)
	case *ast.CallExpr:
		f.capacity(n)
	case *ast.CompositeLit:
		f.indices(n)
	}
	return true
}

func (f *finder) parent() ast.Node {
	if len(f.stack) == 0 {
		return nil
	}
	return f.stack[len(f.stack)-1]
}

// change is one of the mutants of a site.
type change struct {
	operator string
	to       string // what it reads like
}

// add makes a site of one node: text before and after it, and perhaps instead of a part. A change without an operator takes
// a number but is no mutant.
func (f *finder) add(n ast.Node, edits []edit, changes ...change) {
	s := &site{file: f.file, edits: edits}
	position := f.fset.Position(n.Pos())
	for i, c := range changes {
		if c.operator == "" {
			continue
		}
		s.mutants = append(s.mutants, &mutant{
			ID: f.last + 1 + i, File: f.file.name, Line: position.Line, Column: position.Column, Function: f.function,
			Operator: c.operator, From: excerpt(f.source(n)), To: excerpt(c.to),
		})
	}
	f.last += len(changes)
	f.nesting++
	f.sites = append(f.sites, s)
}

// around puts text before and after a node.
func (f *finder) around(n ast.Node, before, after string) []edit {
	from, to := f.offset(n.Pos()), f.offset(n.End())
	return []edit{
		{from: from, to: from, text: before, place: opening, nesting: f.nesting},
		{from: to, to: to, text: after, place: closing, nesting: f.nesting},
	}
}

// instead replaces a token.
func (f *finder) instead(at token.Pos, was, text string) edit {
	from := f.offset(at)
	return edit{from: from, to: from + len(was), text: text, place: instead, nesting: f.nesting}
}

func (f *finder) offset(p token.Pos) int { return f.fset.Position(p).Offset }

func (f *finder) source(n ast.Node) string {
	return string(f.file.text[f.offset(n.Pos()):f.offset(n.End())])
}

// typeName spells a type as this file can, or returns "".
func (f *finder) typeName(t types.Type) string {
	switch t := types.Unalias(t).(type) {
	case *types.Basic:
		if t.Info()&types.IsUntyped == 0 {
			return t.Name()
		}
	case *types.Named:
		if t.TypeArgs().Len() > 0 || t.Obj().Pkg() == nil {
			return ""
		}
		if t.Obj().Pkg().Path() == f.path {
			return t.Obj().Name()
		}
		for _, spec := range f.file.tree.Imports {
			if strings.Trim(spec.Path.Value, `"`) != t.Obj().Pkg().Path() {
				continue
			}
			if spec.Name != nil {
				return spec.Name.Name + "." + t.Obj().Name()
			}
			return t.Obj().Pkg().Name() + "." + t.Obj().Name()
		}
	}
	return ""
}

// isBool holds for the predeclared type: helpers take and return no other.
func (f *finder) isBool(e ast.Expr) bool {
	t, ok := types.Unalias(f.info.Types[e].Type).(*types.Basic)
	return ok && t.Info()&types.IsBoolean != 0
}

// number kinds of an expression; 0 for what is none, such as strings, complex numbers and type parameters.
func (f *finder) numberKind(e ast.Expr) types.BasicInfo {
	t := f.info.Types[e].Type
	if t == nil {
		return 0
	}
	if _, ok := types.Unalias(t).(*types.TypeParam); ok {
		return 0
	}
	basic, ok := t.Underlying().(*types.Basic)
	if !ok || basic.Info()&types.IsUntyped != 0 {
		return 0
	}
	return basic.Info() & (types.IsInteger | types.IsFloat)
}

// isPlain holds for expressions that can be evaluated once more without a difference: names, fields and elements.
func isPlain(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident, *ast.BasicLit:
		return true
	case *ast.SelectorExpr:
		return isPlain(e.X)
	case *ast.StarExpr:
		return isPlain(e.X)
	case *ast.ParenExpr:
		return isPlain(e.X)
	case *ast.IndexExpr:
		return isPlain(e.X) && isPlain(e.Index)
	}
	return false
}
