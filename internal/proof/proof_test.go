package proof_test

import (
	"go/ast"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/daemonplan/daemonplan/internal/doctable"
)

// TestEveryInvariantIsProved: each has a property that a planted bug made fail, and what the verifier sees of it has spoiled plans.
func TestEveryInvariantIsProved(t *testing.T) {
	e := gather(t, parseTests(t))
	overSeveralPlans := []string{"V13", "V16", "V17", "V18"} // of which the verifier, that sees one, says nothing
	invariants := invariantsOf(t)
	if len(invariants) < 19 {
		t.Fatalf("docs/invariants.md has %d invariants only", len(invariants))
	}
	for _, invariant := range invariants {
		stated := 0
		for _, p := range e.properties {
			if slices.Contains(cites(p.name), invariant.id) && len(p.bugs) > 0 {
				stated++
			}
		}
		if stated == 0 {
			t.Errorf("%s: no property that a planted bug makes fail", invariant.id)
		}
		if len(e.spoiled[invariant.id]) == 0 != slices.Contains(overSeveralPlans, invariant.id) {
			t.Errorf("%s: spoiled plans that the verifier must reject: %v", invariant.id, e.spoiled[invariant.id])
		}
	}
}

// TestEveryPropertyIsRun: each states something by number, is run by a test, and rejects a planted bug.
func TestEveryPropertyIsRun(t *testing.T) {
	e := gather(t, parseTests(t))
	seen := map[string]bool{}
	var numbers []string
	for _, invariant := range invariantsOf(t) {
		numbers = append(numbers, invariant.id)
	}
	numbers = append(numbers, rulesOf(t)...)
	for _, p := range e.properties {
		if seen[p.name] {
			t.Errorf("two properties %q", p.name)
		}
		seen[p.name] = true
		if !slices.ContainsFunc(p.runBy, func(name string) bool { return strings.HasPrefix(name, "Test") }) {
			t.Errorf("property %q: no test runs it", p.name)
		}
		if len(p.bugs) == 0 {
			t.Errorf("property %q: no planted bug that it must reject", p.name)
		}
		named := cited.FindAllString(p.name, -1)
		if len(named) == 0 {
			t.Errorf("property %q: its name cites no invariant and no rule", p.name)
		}
		for _, number := range named {
			if !slices.Contains(numbers, number) {
				t.Errorf("property %q: there is no %s", p.name, number)
			}
		}
	}
}

func testsOf(s source, directory string) []string {
	var names []string
	s.tests(directory, func(f *ast.FuncDecl) { names = append(names, f.Name.Name) })
	return names
}

var codeSpan = regexp.MustCompile("`([^`\n]+)`")

// TestNamesExist: every test, benchmark and fuzz target, and every file and folder, that the text names is there.
func TestNamesExist(t *testing.T) {
	s, known := parseTests(t), map[string]bool{}
	for _, directory := range s.directories() {
		for _, f := range testsOf(s, directory) {
			known[f] = true
		}
	}
	// These tables name tests of the Kubernetes controller.
	text, err := doctable.Replace(read(t, document), map[string]string{"peersuite": "", "peersuite bugs": ""})
	if err != nil {
		t.Fatal(err)
	}
	for _, span := range codeSpan.FindAllStringSubmatch(text, -1) {
		name, _, _ := strings.Cut(span[1], "/")
		if testName.MatchString(name) {
			if !known[name] {
				t.Errorf("the document names %s: there is no such test", name)
			}
			continue
		}
		if place.MatchString(span[1]) {
			if _, err := os.Stat(path.Join(root, span[1])); err != nil {
				t.Errorf("the document names %s: there is no such file or folder", span[1])
			}
		}
	}
}

// place matches paths below the folders of the repository.
var place = regexp.MustCompile(`^(cmd|docs|examples|internal|inplace|lifecycle|placement|predownload|rollout|status|tolerations)(/[\w./]+)?$`)
