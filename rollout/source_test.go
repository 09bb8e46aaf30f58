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
// of the files that are listed for it, and run.go calls the steps in their order and nothing else. Each file with a method of
// run is listed.
func TestSteps(t *testing.T) {
	files := sources(t)
	listed := map[string]string{}
	for _, file := range []string{"run.go", "queries.go", "queries_exempt.go", "queries_rollout.go"} {
		listed[file] = "all steps"
	}
	var steps []string
	for _, line := range listedSteps(files["doc.go"]) {
		step := line[0]
		steps = append(steps, step)
		for i, file := range line[1:] {
			if files[file] == nil || listed[file] != "" {
				t.Errorf("step %s: there is no file %s, or it is listed twice", step, file)
			}
			listed[file] = step
			if i == 0 && file != step+".go" {
				t.Errorf("step %s is in %s, not in the file of its name", step, file)
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
		if methods[step] != step+".go" {
			t.Errorf("method %s is in %q, not in %s.go", step, methods[step], step)
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

// TestFilesStandBesideTheirFirstStep: no step calls what is in a file of a later step, as the documentation lists them, so that
// whoever reads the steps in their order has read what a step calls, or finds it beside it.
func TestFilesStandBesideTheirFirstStep(t *testing.T) {
	files := sources(t)
	stepOf := map[string]int{} // of a file
	for i, line := range listedSteps(files["doc.go"]) {
		for _, file := range line[1:] {
			stepOf[file] = i + 1
		}
	}
	declared := map[string][]string{} // files by the name of a function
	functions(files, func(file string, f *ast.FuncDecl) {
		declared[f.Name.Name] = append(declared[f.Name.Name], file)
	})
	calls := 0
	functions(files, func(file string, f *ast.FuncDecl) {
		if stepOf[file] == 0 {
			return
		}
		for _, called := range callees(f) {
			if in := declared[called]; len(in) == 1 && stepOf[in[0]] > 0 {
				calls++
				if stepOf[in[0]] > stepOf[file] {
					t.Errorf("%s in %s (step %d) calls %s in %s (step %d)", f.Name.Name, file, stepOf[file], called, in[0], stepOf[in[0]])
				}
			}
		}
	})
	if calls < 100 {
		t.Errorf("only %d calls were looked at", calls)
	}
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
