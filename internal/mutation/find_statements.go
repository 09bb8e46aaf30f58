package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// statements removes what stands in a block one at a time.
func (f *finder) statements(list []ast.Stmt, owner ast.Node) {
	for i, statement := range list {
		switch s := statement.(type) {
		case *ast.ExprStmt:
			if call, ok := s.X.(*ast.CallExpr); ok && !f.isPanic(call) {
				f.remove(s, "call removed")
			}
		case *ast.AssignStmt:
			if s.Tok != token.DEFINE && !allBlank(s.Lhs) {
				f.remove(s, "assignment removed")
			}
		case *ast.IncDecStmt:
			f.remove(s, "assignment removed")
		case *ast.DeferStmt:
			f.remove(s, "defer removed")
		case *ast.ReturnStmt:
			if _, ok := owner.(*ast.FuncDecl); len(s.Results) == 0 && (!ok || i < len(list)-1) && !f.hasResults() {
				f.remove(s, "return removed")
			}
		case *ast.BranchStmt:
			f.branch(s)
		}
	}
}

func (f *finder) remove(s ast.Stmt, operator string) {
	f.add(s, f.around(s, fmt.Sprintf("if !mutation_on(%d) { ", f.last+1), " }"), change{operator, ""})
}

// isPanic holds for the builtin: without it the function might end without a result.
func (f *finder) isPanic(call *ast.CallExpr) bool {
	name, ok := call.Fun.(*ast.Ident)
	if !ok {
		return false
	}
	builtin, ok := f.info.Uses[name].(*types.Builtin)
	return ok && builtin.Name() == "panic"
}

func allBlank(list []ast.Expr) bool {
	for _, e := range list {
		if name, ok := e.(*ast.Ident); !ok || name.Name != "_" {
			return false
		}
	}
	return true
}

// hasResults holds inside a function with results, where a bare return returns the named ones.
func (f *finder) hasResults() bool {
	for _, enclosing := range slices.Backward(f.stack) {
		switch n := enclosing.(type) {
		case *ast.FuncDecl:
			return n.Type.Results != nil
		case *ast.FuncLit:
			return n.Type.Results != nil
		}
	}
	return true
}

// branch removes a break or continue, and turns it into the other where both mean the same loop.
func (f *finder) branch(s *ast.BranchStmt) {
	if s.Label != nil || s.Tok != token.BREAK && s.Tok != token.CONTINUE {
		return
	}
	f.remove(s, s.Tok.String()+" removed")
	other := token.BREAK
	if s.Tok == token.BREAK {
		other = token.CONTINUE
	}
	if !f.loops() {
		return
	}
	f.add(s, f.around(s, fmt.Sprintf("if mutation_on(%d) { %s }; ", f.last+1, other), ""),
		change{"break and continue swapped", other.String()})
}

// loops holds where the innermost statement that a break would leave is a loop with a condition of its own: one without may
// end a function, and must then not be left.
func (f *finder) loops() bool {
	for _, enclosing := range slices.Backward(f.stack) {
		switch n := enclosing.(type) {
		case *ast.ForStmt:
			return n.Cond != nil
		case *ast.RangeStmt:
			return true
		case *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt, *ast.FuncLit:
			return false
		}
	}
	return false
}

// condition forces a condition either way.
func (f *finder) condition(e ast.Expr, yes, no string) {
	if !f.isBool(e) || f.info.Types[e].Value != nil {
		return
	}
	f.add(e, f.around(e, fmt.Sprintf("mutation_force(%d, ", f.last+1), ")"), change{yes, "true"}, change{no, "false"})
}

// loopCondition keeps a loop from being entered; one that never ends would only cost time.
func (f *finder) loopCondition(e ast.Expr) {
	if f.isBool(e) && f.info.Types[e].Value == nil {
		f.add(e, f.around(e, fmt.Sprintf("mutation_never(%d, ", f.last+1), ")"), change{"condition false", "false"})
	}
}

// caseConditions forces the cases of a switch without a tag; the values of one with a tag are left alone.
func (f *finder) caseConditions(n *ast.CaseClause) {
	tagless := false
	if len(f.stack) >= 2 {
		s, ok := f.stack[len(f.stack)-2].(*ast.SwitchStmt)
		tagless = ok && s.Tag == nil
	}
	for _, e := range n.List {
		switch {
		case tagless:
			f.condition(e, "case true", "case false")
		case f.info.Types[e].Value != nil:
			f.apart[e] = true
		}
	}
}

// countStep turns x++ into x-- and back.
func (f *finder) countStep(s *ast.IncDecStmt) {
	helper, other := "add", "--"
	if s.Tok == token.DEC {
		helper, other = "sub", "++"
	}
	if f.numberKind(s.X) == 0 || !isPlain(s.X) {
		return
	}
	x := f.source(s.X)
	text := fmt.Sprintf(" = mutation_%s(%d, %s, 1)", helper, f.last+1, x)
	f.add(s, []edit{f.instead(s.TokPos, s.Tok.String(), text)}, change{"operator swapped", x + other})
}

// compoundOperators are the assignments that do arithmetic.
var compoundOperators = map[token.Token]token.Token{
	token.ADD_ASSIGN: token.ADD, token.SUB_ASSIGN: token.SUB, token.MUL_ASSIGN: token.MUL, token.QUO_ASSIGN: token.QUO,
	token.REM_ASSIGN: token.REM, token.AND_ASSIGN: token.AND, token.OR_ASSIGN: token.OR, token.XOR_ASSIGN: token.XOR,
	token.AND_NOT_ASSIGN: token.AND_NOT,
}

// compound swaps the operator of an assignment such as x += y.
func (f *finder) compound(s *ast.AssignStmt) {
	op, ok := compoundOperators[s.Tok]
	if !ok || f.numberKind(s.Lhs[0]) == 0 || !isPlain(s.Lhs[0]) {
		return
	}
	o, x, y := opposites[op], f.source(s.Lhs[0]), s.Rhs[0]
	edits := []edit{f.instead(s.TokPos, s.Tok.String(), fmt.Sprintf("= mutation_%s(%d, %s,", o.helper, f.last+1, x))}
	end := f.offset(y.End())
	edits = append(edits, edit{from: end, to: end, text: ")", place: closing, nesting: f.nesting})
	f.add(s, edits, change{"operator swapped", x + " " + o.other.String() + "= " + f.source(y)})
}
