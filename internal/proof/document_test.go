package proof_test

import (
	"flag"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/daemonplan/daemonplan/internal/doctable"
)

var update = flag.Bool("update", false, "write the tables of docs/what-is-proved.md anew")

// TestDocument holds the tables of the document against the source.
func TestDocument(t *testing.T) {
	s := parseTests(t)
	e := gather(t, s)
	was := read(t, document)
	tables := map[string]string{
		"invariants": e.invariantRows(t, was),
		"properties": e.propertyRows(),
		"rules":      e.ruleRows(t),
		"elsewhere":  e.elsewhereRows(),
	}
	if *update {
		if err := doctable.Write(document, tables); err != nil {
			t.Fatal(err)
		}
		return
	}
	is, err := doctable.Replace(was, tables)
	if err != nil {
		t.Fatal(err)
	}
	for _, difference := range doctable.Differences(was, is) {
		t.Errorf("run make update: %s", difference)
	}
}

// invariantRows writes the table of invariants. Which rules are behind an invariant is written by hand; all else is not.
func (e *evidence) invariantRows(t *testing.T, was string) string {
	t.Helper()
	behind := map[string]string{}
	_, table, _, err := doctable.Cut(was, "invariants")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(table) {
		if cells := strings.Split(line, "|"); len(cells) > 3 {
			behind[strings.TrimSpace(cells[1])] = strings.TrimSpace(cells[3])
		}
	}
	out := "| | invariant | rules behind it | tested by | planted bugs | spoiled plans | where Kubernetes differs |\n" +
		"|---|---|---|---|---|---|---|\n"
	for _, invariant := range invariantsOf(t) {
		rules, ok := behind[invariant.id]
		if !ok {
			t.Errorf("%s has no row in the document: add one, with the rules behind it", invariant.id)
		}
		runBy, bugs := map[string]bool{}, 0
		for _, p := range e.properties {
			if slices.Contains(cites(p.name), invariant.id) {
				bugs += len(p.bugs)
				for _, test := range p.runBy {
					runBy[test] = runBy[test] || strings.HasPrefix(test, "Test")
				}
			}
		}
		maps.DeleteFunc(runBy, func(_ string, isTest bool) bool { return !isTest })
		out += row(invariant.id, invariant.says, rules, quoted(slices.Sorted(maps.Keys(runBy))), fmt.Sprint(bugs),
			counted(e.spoiled[invariant.id]), quoted(e.citing(ofKubernetes, strings.Split(rules, ", ")...)))
	}
	return out
}

func (e *evidence) propertyRows() string {
	out := "| property | run by | planted bugs that it must reject |\n|---|---|---|\n"
	for _, p := range e.properties {
		out += row(p.name, quoted(p.runBy), strings.Join(p.bugs, "; "))
	}
	return out
}

func (e *evidence) ruleRows(t *testing.T) string {
	out := "| rule | without it | test that fails, and names the rule | Kubernetes | OpenKruise | ExtendedDaemonSet |\n" +
		"|---|---|---|---|---|---|\n"
	for _, rule := range rulesOf(t) {
		var what, test []string
		for _, r := range removals {
			if r.rule == rule {
				what, test = append(what, r.what), append(test, quoted([]string{path.Dir(r.file)})+": "+quoted([]string{r.test}))
			}
		}
		out += row(rule, strings.Join(what, "; "), strings.Join(test, "; "),
			quoted(e.citing(ofKubernetes, rule)), quoted(e.citing(ofKruise, rule)), quoted(e.citing(ofEDS, rule)))
	}
	return out
}

func (e *evidence) elsewhereRows() string {
	out := "| package | test | planted bugs |\n|---|---|---|\n"
	for _, of := range e.tables {
		out += row("`"+of.directory+"`", "`"+of.test+"`", fmt.Sprint(of.bugs))
	}
	return out
}

func row(cells ...string) string { return "| " + strings.Join(cells, " | ") + " |\n" }

// quoted lists names as code.
func quoted(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "`" + strings.Join(names, "`, `") + "`"
}

// counted is the sum, and in how many tests.
func counted(of map[string]int) string {
	sum := 0
	for _, n := range of {
		sum += n
	}
	switch len(of) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("%d in 1 test", sum)
	default:
		return fmt.Sprintf("%d in %d tests", sum, len(of))
	}
}

// invariant as docs/invariants.md has it.
type invariant struct{ id, says string }

var invariantRow = regexp.MustCompile(`(?m)^\| (V\d+) \| ([^|]*) \|$`)

func invariantsOf(t *testing.T) []invariant {
	t.Helper()
	list := []invariant{{"contract", "a snapshot that keeps its contract is planned, one that breaks it is refused"}}
	for _, found := range invariantRow.FindAllStringSubmatch(read(t, promises), -1) {
		list = append(list, invariant{found[1], found[2]})
	}
	return list
}

var ruleLine = regexp.MustCompile(`(?m)^- \*\*([A-Z]\d+)\*\* `)

// rulesOf lists the rules of docs/rules.md by number.
func rulesOf(t *testing.T) []string {
	t.Helper()
	var list []string
	for _, found := range ruleLine.FindAllStringSubmatch(read(t, rulebook), -1) {
		list = append(list, found[1])
	}
	return list
}

var cited = regexp.MustCompile(`\b[A-Z]\d+\b|^contract$`)

// cites are the invariants and rules that a name states: "V1 and V2, seen from outside" two. A name that sums up a range of
// them, with "to", or more than two, states none: a bug that such a property rejects may be against any.
func cites(name string) []string {
	found := cited.FindAllString(name, -1)
	if len(found) > 2 || strings.Contains(name, " to V") {
		return nil
	}
	return found
}
