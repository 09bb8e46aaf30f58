package rollout_test

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"
)

// commands return something although they write: the steps that refuse a snapshot, and what reports what became of it.
var commands = []string{
	"place", "join", "resolve",
	"take", "takeRoom", "create", "delete", "prepareDelete", "begin", "updateInPlace", "repairStray",
}

// memos are methods that compute something once and remember it. Their results do not depend on whether they were called before.
var memos = []string{"templateOf", "overridesFor", "changeTo"}

// TestQueriesDoNotWrite: what returns something does not change the run, its nodes and pods, or the plan, unless it is known as
// a command. A question can be asked anywhere and any number of times, and whoever looks for what writes a field finds it in a
// command.
func TestQueriesDoNotWrite(t *testing.T) {
	writers, methods := writersWithResults(sources(t))
	if n := len(tableFunctions(sources(t))); n < 30 {
		t.Errorf("only %d functions are found in the tables of gates and ledgers", n)
	}
	slices.Sort(commands)
	if !slices.Equal(writers, commands) {
		t.Errorf("these return something and write:\n%v\nthese are known as commands:\n%v", writers, commands)
	}
	for _, memo := range memos {
		if !slices.Contains(methods, memo) {
			t.Errorf("there is no memo %s", memo)
		}
	}
}

// TestWritersAreFound: whatever way a query takes to write is seen.
func TestWritersAreFound(t *testing.T) {
	for what, body := range map[string]string{
		"a field":                   "r.down = 1",
		"a sum":                     "r.down++",
		"through a pointer":         "n := &r.nodes[0]; n.waiting = true",
		"through two pointers":      "n := &r.nodes[0]; to := &n.goalPod; *to = 1",
		"a decision":                "d := r.decision(0); d.Verb = VerbWait",
		"an argument":               "p.traits |= ready",
		"an element":                "for _, n := range r.nodes { n.waiting = true }",
		"by a command":              "r.wake(time.Time{})",
		"by a command of a command": "r.outer()",
		"a ledger":                  "l.takeNow(r, 1)",
		"by a row of a table":       "",
		"":                          "own := node{}; own.waiting = true; var m = make(map[int]bool); m[1] = true; sum := r.down; sum++",
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "query.go", `package rollout
func (r *run) decision(i int32) *Decision { return &r.plan.Decisions[i] }
func (r *run) wake(at time.Time) { r.plan.NextWake = at }
func (r *run) outer() { r.inner() }
func (r *run) inner() { r.wake(time.Time{}) }
var gates = [...]gate{{shut: func(r *run) bool { r.inner(); return true }, has: func(r *run) bool { return true }}}
func (r *run) query(p *pod) bool { `+body+`; return true }
`, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		writers, _ := writersWithResults(map[string]*ast.File{"query.go": file})
		wanted := "query"
		if what == "by a row of a table" {
			wanted = "a row's shut"
		}
		if slices.Contains(writers, "a row's has") {
			t.Errorf("a row that only answers is taken for one that writes")
		}
		if found := slices.Contains(writers, wanted); found != (what != "") {
			t.Errorf("a query that writes %q: found is %v", what, found)
		}
	}
}

// writersWithResults returns the methods of the run and its parts that return something and write, by themselves or through what
// they call; all names of methods come with them. What calls a memo does not write for that. The source is read without types: a
// pointer that was taken out of a map or slice is not seen to be one.
func writersWithResults(files map[string]*ast.File) (names, all []string) {
	var methods []*ast.FuncDecl
	pointers := map[string]bool{}
	functions(files, func(_ string, f *ast.FuncDecl) {
		if !slices.Contains([]string{"run", "node", "pod", "slow", "allowance", "backoffs"}, receiver(f)) {
			return
		}
		methods = append(methods, f)
		if results := f.Type.Results; results != nil && len(results.List) == 1 {
			_, pointers[f.Name.Name] = results.List[0].Type.(*ast.StarExpr)
		}
	})
	rows := tableFunctions(files)
	methods = append(methods, rows...)
	// What takes from a ledger writes, whichever it is.
	writers, before := map[string]bool{"takeNow": true}, -1
	for len(writers) > before {
		before = len(writers)
		for _, f := range methods {
			if writes(f, pointers) || slices.ContainsFunc(callees(f), func(callee string) bool {
				return writers[callee] && !slices.Contains(memos, callee)
			}) {
				writers[f.Name.Name] = true
			}
		}
	}
	for _, f := range methods {
		name := f.Name.Name
		all = append(all, name)
		if writers[name] && f.Type.Results != nil && !slices.Contains(memos, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, all
}

// tableFunctions returns the functions in the tables of gates and ledgers that answer something, named for their table and column.
func tableFunctions(files map[string]*ast.File) []*ast.FuncDecl {
	var rows []*ast.FuncDecl
	for _, file := range files {
		for _, decl := range file.Decls {
			table, ok := decl.(*ast.GenDecl)
			if !ok || table.Tok != token.VAR {
				continue
			}
			ast.Inspect(table, func(n ast.Node) bool {
				pair, isPair := n.(*ast.KeyValueExpr)
				if !isPair {
					return true
				}
				column, isName := pair.Key.(*ast.Ident)
				f, isFunction := pair.Value.(*ast.FuncLit)
				if isName && isFunction {
					rows = append(rows, &ast.FuncDecl{Name: ast.NewIdent("a row's " + column.Name), Type: f.Type, Body: f.Body})
				}
				return true
			})
		}
	}
	return rows
}

// writes reports whether a function assigns to what somebody else can see: through its receiver, a pointer that it was given, or
// one that it made of either.
func writes(f *ast.FuncDecl, pointers map[string]bool) bool {
	shared := map[string]bool{}
	for _, fields := range []*ast.FieldList{f.Recv, f.Type.Params} {
		if fields == nil {
			continue
		}
		for _, field := range fields.List {
			if _, ok := field.Type.(*ast.StarExpr); ok {
				for _, name := range field.Names {
					shared[name.Name] = true
				}
			}
		}
	}
	found := false
	write := func(to ast.Expr) {
		if _, plain := to.(*ast.Ident); !plain {
			found = found || shared[root(to)]
		}
	}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IncDecStmt:
			write(n.X)
		case *ast.AssignStmt:
			for i, to := range n.Lhs {
				if name, ok := to.(*ast.Ident); ok && n.Tok == token.DEFINE {
					shared[name.Name] = len(n.Lhs) == len(n.Rhs) && isPointer(n.Rhs[i], shared, pointers)
					continue
				}
				write(to)
			}
		case *ast.RangeStmt:
			if name, ok := n.Value.(*ast.Ident); ok {
				shared[name.Name] = shared[root(n.X)]
			}
		}
		return true
	})
	return found
}

// isPointer reports whether an expression is a pointer to what is shared.
func isPointer(x ast.Expr, shared, pointers map[string]bool) bool {
	switch x := x.(type) {
	case *ast.UnaryExpr:
		return x.Op == token.AND && shared[root(x.X)]
	case *ast.CallExpr:
		called, ok := x.Fun.(*ast.SelectorExpr)
		return ok && pointers[called.Sel.Name]
	default:
		return false
	}
}

// root returns the name at the left end of an expression such as a.b[i].c; "" if there is none.
func root(x ast.Expr) string {
	for {
		switch at := x.(type) {
		case *ast.Ident:
			return at.Name
		case *ast.SelectorExpr:
			x = at.X
		case *ast.IndexExpr:
			x = at.X
		case *ast.StarExpr:
			x = at.X
		case *ast.ParenExpr:
			x = at.X
		default:
			return ""
		}
	}
}

// lifetimes are the steps that write the fields of each part of a run, and the files that several steps use.
var lifetimes = map[string][]string{
	"facts":        {"place", "resolve"},
	"aim":          {"place", "resolve", "goal", "templates.go"},             // step 1 knows the effects of overrides for the template of the update revision
	"nodeAim":      {"place", "resolve", "goal", "classify", "templates.go"}, // step 5 knows which parts are closed, and what goes back to the base there
	"nodeFindings": {"classify"},
	"opened":       {"classify"},
	"draft":        {"goal", "classify", "repair", "admit", "slowstart.go", "ledgers.go", "pod_actions.go"}, // step 4 says how many nodes a first installation leaves empty
	"nodeDraft":    {"repair", "admit", "slowstart.go", "ledgers.go", "pod_actions.go"},
}

// TestLifetimes: after the steps that find them out, facts and aim are only read, and so is the state of a node.
func TestLifetimes(t *testing.T) {
	files := sources(t)
	steps := map[string]string{}
	for _, listed := range listedSteps(files["doc.go"]) {
		for _, file := range listed[1:] {
			steps[file] = cmp.Or(steps[file], listed[0]) // the file of two steps is that of the first
		}
	}
	for part, allowed := range lifetimes {
		fields := fieldsOf(files["run.go"], part)
		if len(fields) == 0 {
			t.Errorf("run.go has no struct %s with fields", part)
		}
		for file, source := range files {
			for _, field := range fields {
				if step := cmp.Or(steps[file], file); assigns(source, field) && !slices.Contains(allowed, step) {
					t.Errorf("%s (%s) writes %s of %s: right are the steps %q", file, step, field, part, allowed)
				}
			}
		}
	}
}

// TestAssignmentsAreFound: each way to write a field is seen, and reading it is none.
func TestAssignmentsAreFound(t *testing.T) {
	for body, want := range map[string]bool{
		"n.goal = toStable": true, "n.goal++": true, "r.nodes[i].goal |= 1": true, "r.goal[i] = 1": true, "r.goal[i].other = 1": false,
		"other = n.goal": false, "n.goals = 1": false, "if n.goal == toStable { other = 1 }": false,
		"to := &n.goal; *to = 1": true,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "a.go", "package p\nfunc f() { "+body+" }", parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if assigns(file, "goal") != want {
			t.Errorf("%q writes goal: right is %t", body, want)
		}
	}
}

// fieldsOf returns the names of the fields of a struct of the file that is not embedded there.
func fieldsOf(file *ast.File, name string) []string {
	var fields []string
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.TypeSpec); ok && spec.Name.Name == name {
			if of, isStruct := spec.Type.(*ast.StructType); isStruct {
				for _, field := range of.Fields.List {
					for _, name := range field.Names {
						fields = append(fields, name.Name)
					}
				}
			}
		}
		return true
	})
	return fields
}

// assigns reports whether the file assigns to a field of the name or an element of it, or takes a pointer to it.
func assigns(file *ast.File, field string) bool {
	found := false
	write := func(x ast.Expr) {
		for {
			switch at := x.(type) {
			case *ast.SelectorExpr:
				found = found || at.Sel.Name == field
				return
			case *ast.IndexExpr:
				x = at.X
			case *ast.StarExpr:
				x = at.X
			default:
				return
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IncDecStmt:
			write(n.X)
		case *ast.AssignStmt:
			for i, to := range n.Lhs {
				if _, plain := to.(*ast.Ident); !plain {
					write(to)
				} else if taken, ok := n.Rhs[min(i, len(n.Rhs)-1)].(*ast.UnaryExpr); ok && taken.Op == token.AND && isField(taken.X, field) {
					found = true // whoever takes a pointer to a field may write it
				}
			}
		}
		return true
	})
	return found
}

// isField reports whether an expression is the field itself.
func isField(x ast.Expr, field string) bool {
	selected, ok := x.(*ast.SelectorExpr)
	return ok && selected.Sel.Name == field
}
