package rollout_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"
)

// sources are the files of the planner, parsed, by name: neither tests nor Verify.
func sources(t *testing.T) map[string]*ast.File {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]*ast.File{}
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "verify") {
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

// TestPrecedenceOfVerbs: the table that orders what a decision shows has a place for each verb, and no two share one. A verb that is
// added gets its place there, whatever its number is.
func TestPrecedenceOfVerbs(t *testing.T) {
	table := precedences(t, sources(t)["act.go"])
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

// verbNames are the exported constants of a file that begin with Verb.
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
