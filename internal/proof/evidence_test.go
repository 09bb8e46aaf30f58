package proof_test

import (
	"go/ast"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/daemonplan/daemonplan/internal/conformance/peer"
)

// evidence is what the tests show, as far as the source tells.
type evidence struct {
	properties []*property // in the order of the source
	// spoiled counts the plans that the verifier must reject, by invariant, then test.
	spoiled map[string]map[string]int
	entries []entry
	// tables of planted bugs elsewhere, by directory, then in the order of the source.
	tables []table
}

// property of planners, of package rollout's tests.
type property struct {
	name string
	// runBy are the tests and fuzz targets that check it on the planner.
	runBy []string
	// bugs are the names of the planted bugs that it must reject.
	bugs []string
}

// table of planted bugs that one test goes through.
type table struct {
	directory, test string
	bugs            int
}

// entry is one deliberate difference from a controller.
type entry struct{ id, rules, of string }

// The controllers of entries.
const (
	ofKubernetes = "Kubernetes"
	ofKruise     = "OpenKruise"
	ofEDS        = "ExtendedDaemonSet"
)

// propertiesIn is the folder of the properties and of the bugs that are planted for them.
const propertiesIn = "internal/properties"

// parts are properties that no test runs by itself, because one that is run states all that they do, of the same inputs. They
// are there for their planted bugs: what rejects those must not be another part of the whole.
var parts = map[string]string{
	"onePerNode": "safe", "handsOff": "safe", "accounting": "safe", "requested": "safe", "bounded": "safe",
	"triedBudget": "triedSafe", "triedSurge": "triedSafe", "triedOnePerNode": "triedSafe", "triedHandsOff": "triedSafe",
	"triedHeld": "triedSafe", "triedInPlace": "triedSafe", "triedAccount": "triedSafe", "overridden": "triedSafe",
	"toldBudget": "toldAll", "toldHeld": "toldAll", "toldHooks": "toldAll", "toldTruth": "toldAll", "toldEnd": "toldAll",
	"toldIdentity": "toldAll", "keepsToCanary": "keepsAll", "keepsBudget": "keepsAll", "promotesOnce": "keepsHarsh",
	"neverUnwell": "keepsHarsh", "untriedFew": "busyAll", "obeyed": "busyAll", "busyServing": "busyAll", "busySettles": "busyAll",
}

// gather reads the evidence off the source.
func gather(t *testing.T, s source) evidence {
	t.Helper()
	e := evidence{spoiled: map[string]map[string]int{}, entries: entriesOf(t, s)}
	e.gatherProperties(t, s)
	e.gatherSpoiled(t, s)
	for _, directory := range s.directories() {
		s.tests(directory, func(f *ast.FuncDecl) {
			if bugs := plantedIn(s, directory, f); bugs > 0 {
				e.tables = append(e.tables, table{directory, f.Name.Name, bugs})
			}
		})
	}
	return e
}

func (e *evidence) gatherProperties(t *testing.T, s source) {
	t.Helper()
	byVariable := map[string]*property{}
	s.values(propertiesIn, func(variable string, value ast.Expr) {
		for _, kind := range []string{"property", "statement"} {
			if literal, ok := value.(*ast.CompositeLit); ok && nameIn(literal.Type) == kind {
				p := &property{name: text(element(literal, 0, "name"))}
				byVariable[variable] = p
				e.properties = append(e.properties, p)
			}
		}
	})
	s.tests(propertiesIn, func(f *ast.FuncDecl) {
		ast.Inspect(f.Body, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !slices.Contains([]string{"test", "testTales", "fuzz"}, nameIn(call.Fun)) {
				return true
			}
			for _, argument := range call.Args[1:] {
				if p := byVariable[nameIn(argument)]; p != nil {
					p.runBy = append(p.runBy, f.Name.Name)
				}
			}
			return true
		})
	})
	for part, whole := range parts {
		p, of := byVariable[part], byVariable[whole]
		switch {
		case p == nil || of == nil:
			t.Errorf("property %s, as a part of %s: there is no such", part, whole)
		case len(p.runBy) > 0:
			t.Errorf("property %s is run by itself: it need not be a part of %s", part, whole)
		default:
			p.runBy = of.runBy
		}
	}
	for _, file := range s[propertiesIn] {
		for _, kind := range []string{"mutant", "taleMutant"} {
			literals(file, kind, func(literal *ast.CompositeLit) {
				name, rejectedBy := text(element(literal, 0, "name")), element(literal, 2, "property")
				if of, ok := rejectedBy.(*ast.CompositeLit); ok { // one made for this bug, from another one
					rejectedBy = element(of, 0, "name")
				}
				if p := byVariable[nameIn(rejectedBy)]; p != nil && name != "" {
					p.bugs = append(p.bugs, name)
				} else {
					t.Errorf("planted bug %q: no property that must reject it", name)
				}
			})
		}
	}
}

// gatherSpoiled counts the rows of violations, and of bugs planted in generated plans, by the invariant that they break. Rows
// that a loop makes count once.
func (e *evidence) gatherSpoiled(t *testing.T, s source) {
	t.Helper()
	count := func(test string, want ast.Expr) {
		invariant := 0
		if value, ok := want.(*ast.BasicLit); ok {
			invariant, _ = strconv.Atoi(value.Value)
		} else if want != nil {
			t.Errorf("%s: the invariant that a spoiled plan breaks is not a number", test)
		}
		of := "contract"
		if invariant > 0 {
			of = "V" + strconv.Itoa(invariant)
		}
		if e.spoiled[of] == nil {
			e.spoiled[of] = map[string]int{}
		}
		e.spoiled[of][test]++
	}
	makers := map[string]*ast.FuncDecl{}
	for _, file := range s["rollout/verify"] {
		for _, declaration := range file.Decls {
			if f, ok := declaration.(*ast.FuncDecl); ok {
				makers[f.Name.Name] = f
			}
		}
	}
	s.tests("rollout/verify", func(f *ast.FuncDecl) {
		literals(f, "violationRow", func(literal *ast.CompositeLit) {
			count(f.Name.Name, element(literal, -1, "want"))
		})
		ast.Inspect(f.Body, func(n ast.Node) bool {
			if over, ok := n.(*ast.RangeStmt); ok {
				if call, ok := over.X.(*ast.CallExpr); ok && makers[nameIn(call.Fun)] != nil {
					literals(makers[nameIn(call.Fun)], "plantedBug", func(literal *ast.CompositeLit) {
						count(f.Name.Name, element(literal, 2, "want"))
					})
				}
			}
			return true
		})
	})
}

var (
	plants    = regexp.MustCompile(`Reject|Mutants|Planted|Teeth|BugsAreFound`)
	bugNamed  = regexp.MustCompile(`^(mutant|planted)$`)
	elsewhere = []string{"TestPropertiesRejectMutants", "TestTriedPropertiesRejectMutants", "TestStatementsRejectMutants", "TestWholesRejectMutants",
		"TestVerifyFindsPlantedBugs", "TestVerifyFindsPlantedCanaryBugs"} // by property, or by invariant
)

// plantedIn is how many bugs a test plants: the rows of the longest table that it goes through, if its name, or that of what
// it takes from a row, says that they are bugs.
func plantedIn(s source, directory string, f *ast.FuncDecl) int {
	if slices.Contains(elsewhere, f.Name.Name) {
		return 0
	}
	tables := map[string]*ast.CompositeLit{}
	s.values(directory, func(name string, value ast.Expr) {
		if literal, ok := value.(*ast.CompositeLit); ok {
			tables[name] = literal
		}
	})
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if assign, ok := n.(*ast.AssignStmt); ok && assign.Tok == token.DEFINE && len(assign.Lhs) == len(assign.Rhs) {
			for i, value := range assign.Rhs {
				if literal, ok := value.(*ast.CompositeLit); ok {
					tables[nameIn(assign.Lhs[i])] = literal
				}
			}
		}
		return true
	})
	bugs := 0
	ast.Inspect(f.Body, func(n ast.Node) bool {
		over, ok := n.(*ast.RangeStmt)
		if !ok || !plants.MatchString(f.Name.Name) && !bugNamed.MatchString(nameIn(over.Value)) {
			return true
		}
		literal, ok := over.X.(*ast.CompositeLit)
		if !ok {
			literal = tables[nameIn(over.X)]
		}
		if literal != nil {
			bugs = max(bugs, len(literal.Elts))
		}
		return true
	})
	return bugs
}

// entriesOf lists the deliberate differences: those from Kubernetes and OpenKruise as package peer has them, those from the
// ExtendedDaemonSet, and in the revision history of the controller itself, as their tests do.
func entriesOf(t *testing.T, s source) []entry {
	t.Helper()
	var list []entry
	for _, e := range peer.Entries[:] {
		for of, controller := range map[string]peer.Controller{ofKubernetes: peer.Kubernetes, ofKruise: peer.Kruise} {
			if e.Of.Has(controller) {
				list = append(list, entry{e.ID, e.Rule, of})
			}
		}
	}
	named := regexp.MustCompile(`(?i)entries$`)
	for directory, of := range map[string]string{
		"internal/conformance": ofEDS, "rollout/canary": ofEDS, "placement": ofEDS, "internal/differential": ofKubernetes,
	} {
		before := len(list)
		s.values(directory, func(variable string, value ast.Expr) {
			if literal, ok := value.(*ast.CompositeLit); ok && named.MatchString(variable) {
				list = append(list, entriesIn(literal, of)...)
			}
		})
		if len(list) == before {
			t.Errorf("%s: no table of the differences from %s", directory, of)
		}
	}
	return list
}

func entriesIn(table *ast.CompositeLit, of string) []entry {
	var list []entry
	for _, row := range table.Elts {
		if pair, ok := row.(*ast.KeyValueExpr); ok {
			row = pair.Value
		}
		if literal, ok := row.(*ast.CompositeLit); ok {
			if id, rules := text(element(literal, 0, "id")), text(element(literal, 1, "rule")); id != "" && rules != "" {
				list = append(list, entry{id, rules, of})
			}
		}
	}
	return list
}

// citing lists the entries that cite one of the rules, sorted, each once.
func (e *evidence) citing(of string, rules ...string) []string {
	found := map[string]bool{}
	for _, entry := range e.entries {
		for rule := range strings.SplitSeq(entry.rules, ", ") {
			if entry.of == of && slices.Contains(rules, rule) {
				found[entry.id] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}
