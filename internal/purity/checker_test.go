package purity_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"regexp"
	"slices"
	"strings"
)

// kind is what an impure line does that a function of its arguments cannot.
type kind uint8

const (
	// clock: the result depends on when it is computed.
	clock kind = iota
	// environment: it reads or writes the process's surroundings.
	environment
	// randomness: equal inputs give different results.
	randomness
	// output: it prints or logs.
	output
	// concurrency: it starts goroutines or talks to some.
	concurrency
	// panics: it can end the caller's program.
	panics
	// state: one call leaves something behind for the next.
	state
	// hidden: code runs, or names appear, without a line that says so.
	hidden
	kinds
)

func (k kind) String() string {
	names := [kinds]string{"clock", "environment", "randomness", "output", "concurrency", "panic", "state", "hidden effect"}
	if k >= kinds {
		return fmt.Sprintf("kind(%d)", k)
	}
	return names[k]
}

// impureImports are the packages that a library package has no use for, each with all that is below it.
var impureImports = map[string]kind{
	"C":                                    environment,
	"crypto/rand":                          randomness,
	"flag":                                 environment,
	"hash/maphash":                         randomness,
	"io/ioutil":                            environment,
	"k8s.io/apimachinery/pkg/util/uuid":    randomness,
	"k8s.io/apimachinery/pkg/util/wait":    clock,
	"k8s.io/apimachinery/pkg/util/runtime": output,
	"k8s.io/klog":                          output,
	"k8s.io/utils/clock":                   clock,
	"log":                                  output,
	"math/rand":                            randomness,
	"net":                                  environment,
	"os":                                   environment,
	"plugin":                               environment,
	"runtime":                              environment,
	"sync":                                 state,
	"syscall":                              environment,
	"testing":                              environment,
	"unsafe":                               hidden,
}

// impureNames are the impure parts of packages that are otherwise fine.
var impureNames = map[string]struct {
	kind  kind
	names *regexp.Regexp
}{
	"fmt":                                  {output, regexp.MustCompile(`^(Print|Scan)(f|ln)?$`)},
	"time":                                 {clock, regexp.MustCompile(`^(Now|Since|Until|After|AfterFunc|Sleep|Tick|NewTimer|NewTicker|Local|LoadLocation)$`)},
	"k8s.io/apimachinery/pkg/apis/meta/v1": {clock, regexp.MustCompile(`^Now(Micro)?$`)},
	// The package of SafeEncodeString, which revision names need.
	"k8s.io/apimachinery/pkg/util/rand": {randomness, regexp.MustCompile(`^(Int|Intn|IntnRange|Int63nRange|Seed|Perm|String)$`)},
}

// seeded is the package whose generators are functions of their seed, if they are made in the one way that c.seeds looks for:
// whoever is excused for importing it is not excused for what it draws from the process.
const seeded = "math/rand/v2"

// offence is one line that makes a package impure.
type offence struct {
	where token.Position
	kind  kind
	what  string
}

func (o offence) String() string { return fmt.Sprintf("%s: %s: %s", o.where, o.kind, o.what) }

// checkPurity reports every impure line of one package, in source order.
func checkPurity(p parsedFiles) []offence {
	c := &checker{set: p.set, fromSeed: map[ast.Expr]bool{}, info: &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}}
	config := types.Config{
		Importer: nameOnly{},
		// What is imported is not known, so nearly every line has a type error. Names are resolved all the same.
		Error: func(error) {},
	}
	_, _ = config.Check("checked", p.set, p.files, c.info)
	for _, spec := range p.imports() {
		c.checkImport(spec)
	}
	c.collectVariables(p.files)
	for _, file := range p.files {
		ast.Inspect(file, c.check)
	}
	slices.SortFunc(c.offences, func(a, b offence) int {
		return cmp.Or(cmp.Compare(a.where.Filename, b.where.Filename), cmp.Compare(a.where.Offset, b.where.Offset))
	})
	return c.offences
}

type checker struct {
	set       *token.FileSet
	info      *types.Info
	variables map[types.Object]bool // of package level
	fromSeed  map[ast.Expr]bool     // names in generators that are functions of a seed
	offences  []offence
}

func (c *checker) report(node ast.Node, k kind, format string, args ...any) {
	c.offences = append(c.offences, offence{c.set.Position(node.Pos()), k, fmt.Sprintf(format, args...)})
}

func (c *checker) checkImport(spec *ast.ImportSpec) {
	imported := importPath(spec)
	for parent := imported; parent != "." && parent != "/"; parent = path.Dir(parent) {
		if k, ok := impureImports[parent]; ok {
			c.report(spec, k, "imports %s", imported)
			break
		}
	}
	if spec.Name != nil && (spec.Name.Name == "." || spec.Name.Name == "_") {
		c.report(spec, hidden, "imports %s as %s", imported, spec.Name.Name)
	}
}

// collectVariables finds the variables of package level and reports those that are neither errors nor tables.
func (c *checker) collectVariables(files []*ast.File) {
	c.variables = map[types.Object]bool{}
	for _, file := range files {
		for _, declaration := range file.Decls {
			group, ok := declaration.(*ast.GenDecl)
			if !ok || group.Tok != token.VAR {
				continue
			}
			for _, spec := range group.Specs {
				if spec, ok := spec.(*ast.ValueSpec); ok {
					c.checkVariables(spec)
				}
			}
		}
	}
}

func (c *checker) checkVariables(spec *ast.ValueSpec) {
	for i, name := range spec.Names {
		if name.Name == "_" {
			continue // holds nothing; asserts that a type implements an interface
		}
		c.variables[c.info.Defs[name]] = true
		if len(spec.Values) != len(spec.Names) || !c.isConstant(spec.Values[i]) {
			c.report(name, state, "package-level variable %s is neither an error nor a table", name.Name)
		}
	}
}

// isConstant says whether a variable that starts with this value, and is never written, is as good as a constant.
func (c *checker) isConstant(value ast.Expr) bool {
	switch value := value.(type) {
	case *ast.CompositeLit:
		return true
	case *ast.CallExpr:
		switch called := value.Fun.(type) {
		case *ast.ArrayType: // []byte("text"), which cannot be written as a constant
			return true
		case *ast.SelectorExpr:
			name := c.importedPath(called.X) + "." + called.Sel.Name
			return name == "errors.New" || name == "fmt.Errorf"
		}
	}
	return false
}

func (c *checker) check(node ast.Node) bool {
	switch node := node.(type) {
	case *ast.GoStmt:
		c.report(node, concurrency, "go statement")
	case *ast.SelectStmt:
		c.report(node, concurrency, "select statement")
	case *ast.SendStmt:
		c.report(node, concurrency, "send to a channel")
	case *ast.ChanType:
		c.report(node, concurrency, "channel type")
	case *ast.UnaryExpr:
		if node.Op == token.ARROW {
			c.report(node, concurrency, "receive from a channel")
		}
		if node.Op == token.AND {
			c.checkWrite(node.X, "has its address taken")
		}
	case *ast.FuncDecl:
		if node.Recv == nil && node.Name.Name == "init" {
			c.report(node, hidden, "init function")
		}
	case *ast.SelectorExpr:
		imported := c.importedPath(node.X)
		if impure, ok := impureNames[imported]; ok && impure.names.MatchString(node.Sel.Name) {
			c.report(node, impure.kind, "%s.%s", imported, node.Sel.Name)
		}
		if imported == seeded && node.Sel.Name != "Rand" && !c.fromSeed[node] {
			c.report(node, randomness, "%s.%s outside of rand.New(rand.NewPCG(seed))", imported, node.Sel.Name)
		}
	case *ast.CallExpr:
		c.checkBuiltin(node)
		c.seeds(node)
	case *ast.AssignStmt:
		for _, left := range node.Lhs {
			c.checkWrite(left, "is assigned to")
		}
	case *ast.IncDecStmt:
		c.checkWrite(node.X, "is assigned to")
	case *ast.RangeStmt:
		c.checkWrite(node.Key, "is assigned to")
		c.checkWrite(node.Value, "is assigned to")
	}
	return true
}

// seeds notes the names in a call of the form rand.New(rand.NewPCG(...)), whose arguments are looked at as any others. The
// type Rand needs no seed: without one it draws nothing.
func (c *checker) seeds(call *ast.CallExpr) {
	if !c.calls(call, "New") || len(call.Args) != 1 {
		return
	}
	if source, ok := call.Args[0].(*ast.CallExpr); ok && c.calls(source, "NewPCG") {
		c.fromSeed[call.Fun], c.fromSeed[source.Fun] = true, true
	}
}

// calls tells whether a function of that name of the seeded package is called.
func (c *checker) calls(call *ast.CallExpr, name string) bool {
	called, ok := call.Fun.(*ast.SelectorExpr)
	return ok && called.Sel.Name == name && c.importedPath(called.X) == seeded
}

func (c *checker) checkBuiltin(call *ast.CallExpr) {
	name, ok := ast.Unparen(call.Fun).(*ast.Ident)
	if !ok {
		return
	}
	if _, ok := c.info.Uses[name].(*types.Builtin); !ok {
		return // a function of the package's own, of the same name
	}
	switch name.Name {
	case "panic":
		c.report(call, panics, "panic")
	case "print", "println":
		c.report(call, output, "%s", name.Name)
	case "append", "clear", "copy", "delete":
		// append may write behind the end of the table, where its capacity is greater than its length.
		if len(call.Args) > 0 {
			c.checkWrite(call.Args[0], "is written by "+name.Name)
		}
	}
}

// checkWrite reports target if it is a package-level variable, or a part of one.
func (c *checker) checkWrite(target ast.Expr, how string) {
	for {
		switch part := target.(type) {
		case *ast.ParenExpr:
			target = part.X
		case *ast.IndexExpr:
			target = part.X
		case *ast.SliceExpr:
			target = part.X
		case *ast.StarExpr:
			target = part.X
		case *ast.SelectorExpr:
			target = part.X
		case *ast.Ident:
			used := c.info.Uses[part]
			if _, foreign := used.(*types.PkgName); foreign || used != nil && c.variables[used] {
				c.report(part, state, "package-level variable of %s %s", part.Name, how)
			}
			return
		default:
			return
		}
	}
}

// importedPath returns the import path that expr names, or "" if it names no package.
func (c *checker) importedPath(expr ast.Expr) string {
	name, ok := expr.(*ast.Ident)
	if !ok {
		return ""
	}
	imported, ok := c.info.Uses[name].(*types.PkgName)
	if !ok {
		return ""
	}
	return imported.Imported().Path()
}

// nameOnly imports packages that are empty but for their name, which is guessed from their path.
type nameOnly struct{}

var majorVersion = regexp.MustCompile(`^v[2-9][0-9]*$`)

func (nameOnly) Import(imported string) (*types.Package, error) {
	name := path.Base(imported)
	if parent := path.Dir(imported); majorVersion.MatchString(name) && parent != "." {
		name = path.Base(parent)
	}
	name, _, _ = strings.Cut(name, ".")
	pkg := types.NewPackage(imported, name)
	pkg.MarkComplete()
	return pkg, nil
}
