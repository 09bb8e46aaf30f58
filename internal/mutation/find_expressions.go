package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strconv"
)

// opposites says what a binary operator becomes, and which helper can do both.
var opposites = map[token.Token]struct {
	helper string
	other  token.Token
}{
	token.LSS: {"lss", token.LEQ}, token.LEQ: {"leq", token.LSS},
	token.GTR: {"gtr", token.GEQ}, token.GEQ: {"geq", token.GTR},
	token.LAND: {"land", token.LOR}, token.LOR: {"lor", token.LAND},
	token.ADD: {"add", token.SUB}, token.SUB: {"sub", token.ADD},
	token.MUL: {"mul", token.QUO}, token.QUO: {"quo", token.MUL}, token.REM: {"rem", token.MUL},
	token.OR: {"bitor", token.AND}, token.AND: {"bitand", token.OR},
	token.XOR: {"xor", token.AND}, token.AND_NOT: {"andnot", token.AND},
	token.SHL: {"shl", token.SHR}, token.SHR: {"shr", token.SHL},
}

var negations = map[token.Token]token.Token{
	token.EQL: token.NEQ, token.NEQ: token.EQL,
	token.LSS: token.GEQ, token.GEQ: token.LSS, token.GTR: token.LEQ, token.LEQ: token.GTR,
}

func isOrdering(op token.Token) bool {
	return op == token.LSS || op == token.LEQ || op == token.GTR || op == token.GEQ
}

func (f *finder) binary(e *ast.BinaryExpr) {
	switch {
	case e.Op == token.LAND || e.Op == token.LOR:
		f.logical(e)
	case e.Op == token.EQL || e.Op == token.NEQ:
		if !f.isBool(e) || f.isCondition(e) {
			return
		}
		f.add(e, f.around(e, fmt.Sprintf("mutation_flip(%d, ", f.last+1), ")"),
			change{"comparison negated", f.with(e, negations[e.Op])})
	case isOrdering(e.Op):
		f.ordering(e)
	default:
		f.arithmetic(e)
	}
}

// isCondition holds for the whole condition of an if, a for or a case: forcing it either way is harder to notice than
// negating it, and is done already.
func (f *finder) isCondition(e ast.Expr) bool {
	switch parent := f.parent().(type) {
	case *ast.IfStmt:
		return parent.Cond == e
	case *ast.ForStmt:
		return parent.Cond == e
	case *ast.CaseClause:
		return true
	}
	return false
}

// with is the source of a binary expression with another operator.
func (f *finder) with(e *ast.BinaryExpr, op token.Token) string {
	return f.source(e.X) + " " + op.String() + " " + f.source(e.Y)
}

// call turns `x op y` into `helper(id, x, y)`.
func (f *finder) call(e *ast.BinaryExpr, helper string) []edit {
	return append(f.around(e, fmt.Sprintf("mutation_%s(%d, ", helper, f.last+1), ")"), f.instead(e.OpPos, e.Op.String(), ","))
}

func (f *finder) ordering(e *ast.BinaryExpr) {
	if !f.isBool(e) || f.numberKind(e.X) == 0 && f.numberKind(e.Y) == 0 && !f.isString(e.X) {
		return
	}
	o := opposites[e.Op]
	negated := change{"comparison negated", f.with(e, negations[e.Op])}
	if f.isCondition(e) {
		negated = change{}
	}
	f.add(e, f.call(e, o.helper), change{"boundary moved", f.with(e, o.other)}, negated)
}

func (f *finder) isString(e ast.Expr) bool {
	basic, ok := f.info.Types[e].Type.Underlying().(*types.Basic)
	return ok && basic.Info()&types.IsString != 0
}

// logical swaps && and ||, with the right side still evaluated only where it has to be, and negates sides that nothing else
// changes.
func (f *finder) logical(e *ast.BinaryExpr) {
	if !f.isBool(e) || !f.isBool(e.X) || !f.isBool(e.Y) {
		return
	}
	o := opposites[e.Op]
	edits := f.call(e, o.helper)
	from, to := f.offset(e.Y.Pos()), f.offset(e.Y.End())
	edits = append(edits,
		edit{from: from, to: from, text: "func() bool { return ", place: opening, nesting: f.nesting},
		edit{from: to, to: to, text: " }", place: closing, nesting: f.nesting + 1})
	f.nesting++
	f.add(e, edits, change{"&& and || swapped", f.with(e, o.other)})
	f.flip(e.X, "operand negated")
	f.flip(e.Y, "operand negated")
}

// flip negates a boolean that no other operator changes.
func (f *finder) flip(e ast.Expr, operator string) {
	inner := ast.Unparen(e)
	if b, ok := inner.(*ast.BinaryExpr); ok && (b.Op == token.LAND || b.Op == token.LOR || negations[b.Op] != token.ILLEGAL) {
		return
	}
	if !f.isBool(e) {
		return
	}
	to := "!(" + f.source(inner) + ")"
	switch u, ok := inner.(*ast.UnaryExpr); {
	case ok && u.Op == token.NOT:
		to = f.source(u.X)
	case f.info.Types[e].Value != nil:
		to = strconv.FormatBool(f.info.Types[e].Value.String() != "true")
	}
	f.add(e, f.around(e, fmt.Sprintf("mutation_flip(%d, ", f.last+1), ")"), change{operator, to})
}

func (f *finder) arithmetic(e *ast.BinaryExpr) {
	kind := f.numberKind(e)
	shift := e.Op == token.SHL || e.Op == token.SHR
	if kind == 0 || shift && (f.info.Types[e.X].Value != nil || f.numberKind(e.Y) == 0) {
		return
	}
	o, ok := opposites[e.Op]
	if !ok {
		return
	}
	f.add(e, f.call(e, o.helper), change{"operator swapped", f.with(e, o.other)})
}

func (f *finder) unary(e *ast.UnaryExpr) {
	if e.Op == token.SUB && f.numberKind(e) != 0 {
		f.add(e, f.around(e, fmt.Sprintf("mutation_neg(%d, ", f.last+1), ")"), change{"sign dropped", f.source(e.X)})
	}
}

// bounds drops the bounds of a slice.
func (f *finder) bounds(e *ast.SliceExpr) {
	if low := e.Low; low != nil && f.numberKind(low) != 0 && f.info.Types[low].Value == nil {
		f.add(low, f.around(low, fmt.Sprintf("mutation_pick(%d, ", f.last+1), ", 0)"),
			change{"lower bound dropped", "0"})
	}
	high := e.High
	if high == nil || e.Slice3 || !isPlain(e.X) || f.numberKind(high) == 0 || f.typeName(f.info.Types[high].Type) != "int" {
		return
	}
	end := "len(" + f.source(e.X) + ")"
	f.add(high, f.around(high, fmt.Sprintf("mutation_pick(%d, ", f.last+1), ", "+end+")"), change{"upper bound dropped", end})
}

// literal changes an integer literal: 0 to 1, and others by one.
func (f *finder) literal(e ast.Expr) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.INT || f.numberKind(e) == 0 {
		return
	}
	name := f.typeName(f.info.Types[e].Type)
	value, err := strconv.ParseInt(lit.Value, 0, 64)
	if name == "" || err != nil {
		return
	}
	other := value + 1
	if value == 1 {
		other = 0
	}
	to := strconv.FormatInt(other, 10)
	f.add(e, f.around(e, fmt.Sprintf("mutation_pick[%s](%d, ", name, f.last+1), ", "+to+")"), change{"constant changed", to})
}

// capacity sets apart what no program can notice: how much room a slice, map or channel begins with.
func (f *finder) capacity(e *ast.CallExpr) {
	name, ok := e.Fun.(*ast.Ident)
	if !ok || len(e.Args) == 0 {
		return
	}
	if builtin, ok := f.info.Uses[name].(*types.Builtin); !ok || builtin.Name() != "make" {
		return
	}
	hints := e.Args[1:]
	if _, ok := f.info.Types[e.Args[0]].Type.Underlying().(*types.Slice); ok {
		hints = e.Args[min(2, len(e.Args)):]
	}
	for _, hint := range hints {
		f.apart[hint] = true
	}
}

// indices sets the keys of arrays and slices apart, which have to be constant.
func (f *finder) indices(e *ast.CompositeLit) {
	switch f.info.Types[e].Type.Underlying().(type) {
	case *types.Array, *types.Slice:
	default:
		return
	}
	for _, element := range e.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok {
			f.apart[pair.Key] = true
		}
	}
}
