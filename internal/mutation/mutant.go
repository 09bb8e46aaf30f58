package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"strings"
)

// mutant is one small change of the source.
type mutant struct {
	ID       int    `json:"id"` // within its package and run; the switch that turns it on
	File     string `json:"file"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Function string `json:"function"` // the function, method ("type.method") or variable that it is in
	Operator string `json:"operator"`
	From     string `json:"from"` // the source, on one line and cut to a bearable length
	To       string `json:"to"`
	// Nth tells apart mutants of one function that are the same but for their place, from 1 on.
	Nth int `json:"nth"`
}

// key names a mutant in a way that outlives changes elsewhere in the file: it holds no line numbers.
func (m mutant) key(dir string) string {
	key := fmt.Sprintf("%s/%s %s: %s: %#q -> %#q", dir, m.File, m.Function, m.Operator, m.From, m.To)
	if m.Nth > 1 {
		key += fmt.Sprintf(" #%d", m.Nth)
	}
	return key
}

// site is a place in the source with the mutants that one rewriting makes possible there.
type site struct {
	file    *sourceFile
	mutants []*mutant
	edits   []edit
}

// compareMutants orders mutants as they stand in the source.
func compareMutants(a, b *mutant) int {
	return cmp.Or(
		cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.ID, b.ID),
	)
}

// longest is how much of the source a report shows of one mutant.
const longest = 72

// excerpt puts source text on one line.
func excerpt(text string) string {
	text = strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "`", "'")
	if runes := []rune(text); len(runes) > longest {
		text = string(runes[:longest-1]) + "…"
	}
	return text
}

// functionName names the declaration that encloses a mutant.
func functionName(declaration ast.Decl) string {
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil || len(d.Recv.List) == 0 {
			return d.Name.Name
		}
		return receiverName(d.Recv.List[0].Type) + "." + d.Name.Name
	case *ast.GenDecl:
		if d.Tok == token.VAR && len(d.Specs) > 0 {
			if spec, ok := d.Specs[0].(*ast.ValueSpec); ok {
				return spec.Names[0].Name
			}
		}
	}
	return "-"
}

func receiverName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiverName(e.X)
	case *ast.IndexExpr:
		return receiverName(e.X)
	case *ast.IndexListExpr:
		return receiverName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return "-"
}
