package rollout_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// sources returns the files of the package, parsed, by name; no tests.
func sources(t *testing.T) map[string]*ast.File {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]*ast.File{}
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = file
	}
	return files
}

// functions calls do with each function of the files.
func functions(files map[string]*ast.File, do func(file string, f *ast.FuncDecl)) {
	for name, file := range files {
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok {
				do(name, f)
			}
		}
	}
}

// TestPrecedenceOfVerbs: the table that orders what a decision shows has a place for each verb, and no two share one. A verb
// that is added gets its place there, whatever its number is.
func TestPrecedenceOfVerbs(t *testing.T) {
	table := precedences(t, sources(t)["note.go"])
	ranks := map[int]string{}
	for _, name := range verbNames(t, sources(t)["decision.go"]) {
		rank, ok := table[name]
		if !ok {
			t.Errorf("%s has no precedence", name)
			continue
		}
		if other, taken := ranks[rank]; taken {
			t.Errorf("%s and %s have one precedence", name, other)
		}
		ranks[rank] = name
	}
	if len(ranks) < 10 || len(table) != len(ranks) {
		t.Errorf("there are %d verbs with a precedence of their own, and %d in the table", len(ranks), len(table))
	}
	if ranks[0] != "VerbNone" {
		t.Errorf("%s is recorded by no note: a fresh decision has VerbNone, which needs the lowest precedence", ranks[0])
	}
}

// precedences reads the table of a file.
func precedences(t *testing.T, file *ast.File) map[string]int {
	t.Helper()
	table := map[string]int{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || spec.Names[0].Name != "precedence" {
			return true
		}
		literal, ok := spec.Values[0].(*ast.CompositeLit)
		if !ok {
			t.Fatal("precedence is no table")
		}
		for _, element := range literal.Elts {
			pair, isPair := element.(*ast.KeyValueExpr)
			if !isPair {
				t.Fatal("precedence has an element without a verb")
			}
			verb, isName := pair.Key.(*ast.Ident)
			value, isNumber := pair.Value.(*ast.BasicLit)
			if !isName || !isNumber {
				t.Fatal("precedence has an element that is not a verb and its number")
			}
			rank, err := strconv.Atoi(value.Value)
			if err != nil {
				t.Fatal(err)
			}
			table[verb.Name] = rank
		}
		return false
	})
	return table
}

// verbNames returns the exported constants of a file that begin with Verb.
func verbNames(t *testing.T, file *ast.File) []string {
	t.Helper()
	var names []string
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			for _, name := range spec.Names {
				if strings.HasPrefix(name.Name, "Verb") {
					names = append(names, name.Name)
				}
			}
		}
		return true
	})
	if len(names) == 0 {
		t.Fatal("no verb was found")
	}
	return names
}

// TestSteps: the way through a plan is what the documentation of the package says it is. Each step is one method, in the first
// of the files that are listed for it, which has the step's name or is that of the step before; and planner.go calls the steps in
// their order and nothing else. Each file with a method of run is listed, for a step or as one that several steps use.
func TestSteps(t *testing.T) {
	files := sources(t)
	listed := map[string]string{}
	for _, file := range listedShared(files["doc.go"]) {
		if files[file] == nil || listed[file] != "" {
			t.Errorf("there is no file %s, or it is listed twice", file)
		}
		listed[file] = "several steps"
	}
	var steps []string
	home := map[string]string{}
	for _, line := range listedSteps(files["doc.go"]) {
		step := line[0]
		steps = append(steps, step)
		for i, file := range line[1:] {
			shares := i == 0 && len(steps) > 1 && listed[file] == steps[len(steps)-2]
			if files[file] == nil || listed[file] != "" && !shares {
				t.Errorf("step %s: there is no file %s, or it is listed twice", step, file)
			}
			listed[file] = step
			if i == 0 && file != step+".go" && !shares {
				t.Errorf("step %s is in %s, neither in the file of its name nor in that of the step before", step, file)
			}
			if i == 0 {
				home[step] = file
			}
		}
	}
	named := regexp.MustCompile(`\w+\.go\b`).FindAllString(files["doc.go"].Doc.Text(), -1)
	for file := range files {
		if file != "doc.go" && !slices.Contains(named, file) {
			t.Errorf("the documentation lists %s neither for a step nor as vocabulary", file)
		}
	}
	methods := map[string]string{}
	functions(files, func(file string, f *ast.FuncDecl) {
		if receiver(f) != "run" {
			return
		}
		methods[f.Name.Name] = file
		if listed[file] == "" {
			t.Errorf("%s has methods of run, and the documentation lists it for no step", file)
		}
	})
	for _, step := range steps {
		if methods[step] != home[step] {
			t.Errorf("method %s is in %q, not in %s", step, methods[step], home[step])
		}
	}
	var calls []string
	functions(files, func(_ string, f *ast.FuncDecl) {
		if f.Name.Name == "through" {
			calls = callees(f)
		}
	})
	if len(steps) != 9 || !slices.Equal(calls, steps) {
		t.Errorf("through calls %v, and the documentation lists %v", calls, steps)
	}
}

// TestStepsAreReadInOrder: whoever reads the files in the order in which the documentation lists them, first those that several
// steps use and then the steps, never has to go to another file of a step, nor forward. What a file calls, and which constants and
// types it uses, is in the file itself, in another file of the same step, or in a file that several steps use; such a file uses
// only those above it. run.go alone names types of the files below it.
func TestStepsAreReadInOrder(t *testing.T) {
	files := sources(t)
	place := map[string]int{} // of a shared file, from 1
	for i, file := range listedShared(files["doc.go"]) {
		place[file] = i + 1
	}
	stepOf := map[string]string{}
	for _, line := range listedSteps(files["doc.go"]) {
		for _, file := range line[1:] {
			stepOf[file] = line[0]
		}
	}
	declared := declarations(files)
	uses := 0
	for file, source := range files {
		if place[file] == 0 && stepOf[file] == "" || file == "run.go" {
			continue
		}
		for name := range usedNames(source) {
			in := declared[name]
			if len(in) != 1 || in[0] == file || place[in[0]] == 0 && stepOf[in[0]] == "" {
				continue
			}
			uses++
			switch at := place[in[0]]; {
			case place[file] > 0 && (at == 0 || at > place[file]):
				t.Errorf("%s, which several steps use, uses %s of %s, which is read after it", file, name, in[0])
			case place[file] == 0 && at == 0 && stepOf[in[0]] != stepOf[file]:
				t.Errorf("%s of step %s uses %s of %s, which is of step %s", file, stepOf[file], name, in[0], stepOf[in[0]])
			}
		}
	}
	if uses < 300 {
		t.Errorf("only %d uses were looked at", uses)
	}
}

// declarations returns the files in which each function, constant and type is declared, by name. Fields are not among them: what
// they mean is said where they are, in run.go.
func declarations(files map[string]*ast.File) map[string][]string {
	declared := map[string][]string{}
	add := func(name, file string) {
		if !slices.Contains(declared[name], file) {
			declared[name] = append(declared[name], file)
		}
	}
	for file, source := range files {
		ast.Inspect(source, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				add(n.Name.Name, file)
				return false
			case *ast.TypeSpec:
				add(n.Name.Name, file)
			case *ast.ValueSpec:
				for _, name := range n.Names {
					add(name.Name, file)
				}
			case *ast.Field:
				for _, name := range n.Names {
					add(name.Name, "a field") // a name of two things says nothing of where it is from
				}
			}
			return true
		})
	}
	return declared
}

// usedNames returns the names in the bodies of the file's functions, without those of their own variables.
func usedNames(file *ast.File) map[string]bool {
	names := map[string]bool{}
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		own := map[string]bool{}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Field:
				for _, name := range n.Names {
					own[name.Name] = true
				}
			case *ast.AssignStmt:
				for _, to := range n.Lhs {
					if name, plain := to.(*ast.Ident); plain && n.Tok == token.DEFINE {
						own[name.Name] = true
					}
				}
			case *ast.ValueSpec:
				for _, name := range n.Names {
					own[name.Name] = true
				}
			case *ast.RangeStmt:
				for _, x := range []ast.Expr{n.Key, n.Value} {
					if name, plain := x.(*ast.Ident); plain {
						own[name.Name] = true
					}
				}
			}
			return true
		})
		ast.Inspect(f.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				names[n.Sel.Name] = true
			case *ast.Ident:
				if !own[n.Name] {
					names[n.Name] = true
				}
			}
			return true
		})
	}
	return names
}

// listedShared returns the files that the documentation lists as what several steps use, in their order.
func listedShared(documentation *ast.File) []string {
	var files []string
	for _, line := range regexp.MustCompile(`(?m)^  - (\w+\.go): `).FindAllStringSubmatch(documentation.Doc.Text(), -1) {
		files = append(files, line[1])
	}
	return files
}

// listedSteps returns what the documentation of the package says of the steps: of each its name, and then its files.
func listedSteps(documentation *ast.File) [][]string {
	var steps [][]string
	for _, line := range regexp.MustCompile(`(?m)^  - (\w+) .*: (.+)$`).FindAllStringSubmatch(documentation.Doc.Text(), -1) {
		steps = append(steps, append([]string{line[1]}, strings.Split(line[2], ", ")...))
	}
	return steps
}

// receiver returns the type of a method's receiver, without a star; "" for a function.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	of := f.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	name, ok := of.(*ast.Ident)
	if !ok {
		return ""
	}
	return name.Name
}

// callees returns the names of what a function calls, in the order of the source.
func callees(f *ast.FuncDecl) []string {
	var names []string
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			switch called := call.Fun.(type) {
			case *ast.Ident:
				names = append(names, called.Name)
			case *ast.SelectorExpr:
				names = append(names, called.Sel.Name)
			}
		}
		return true
	})
	return names
}
