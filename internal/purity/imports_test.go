package purity_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const modulePath = "github.com/daemonplan/daemonplan"

// layers gives every package of the list in docs/packages.md the number of its row, by its slash-separated directory. Row 0 is
// the topmost: a package imports only packages of higher rows, and none of its own.
type layers map[string]int

// excused names the offences against purity that a package may show, in the checker's words, each with the reason.
var excused = map[string]map[string]string{
	"rollout/internal/fleet": {
		"imports hash/maphash": "the seed of a lookup table decides no order and no result, as that of a map does not",
	},
	"rollout/rollouttest/transcript": {
		"imports os": "transcripts are files, which tests read and write anew",
	},
	"rollout/simulate": {
		"imports math/rand/v2": "what is drawn is a function of the scenario's seed; the checker refuses every other source",
	},
	"rollout/stock": {
		"imports math/rand/v2": "what is drawn is a function of the planner's seed and the snapshot's time",
	},
}

// unlayered are the directories whose packages need no place in the list: nothing in the list may import them, except
// internal packages that the list names.
var unlayered = []string{"cmd", "examples", "internal"}

func TestLibraryImportsPointDown(t *testing.T) {
	list := readLayers(t, "../../docs/packages.md")
	for directory, files := range parseModule(t, "../..") {
		for _, offence := range checkImports(list, directory, files) {
			t.Error(offence)
		}
	}
}

// TestVerifierIsApart: the verifier imports nothing internal, and the planner does not import the verifier. In code that both
// shared a mistake would be made on both sides, and nobody would find it.
func TestVerifierIsApart(t *testing.T) {
	packages := parseModule(t, "../..")
	if _, ok := packages[verifier]; !ok {
		t.Fatalf("%s is not there", verifier)
	}
	for directory, files := range packages {
		for _, offence := range checkApart(directory, files) {
			t.Error(offence)
		}
	}
}

func TestEveryExcuseHasAReason(t *testing.T) {
	list := readLayers(t, "../../docs/packages.md")
	for directory, offences := range excused {
		if _, ok := list[directory]; !ok {
			t.Errorf("%s is excused but not in the list", directory)
		}
		for what, because := range offences {
			if because == "" {
				t.Errorf("%s is excused for %q without a reason", directory, what)
			}
		}
	}
}

func TestParseLayers(t *testing.T) {
	got := parseLayers(`
## Before

| ` + "`above`" + ` | not this table |

# Packages

Text with ` + "`code`" + `.

| package | job |
|---|---|
| ` + "`rollout/manifest`, `rollout/rollouttest`" + ` | uses ` + "`rollout`" + ` |
| ` + "`rollout`" + ` | plans |
| ` + "`examples/plan`" + ` | shows |
| ` + "`placement`" + ` | places |
| ` + "`internal/shared`" + ` | is shared |
| ` + "other `internal/…`" + ` | tests |

## After

| ` + "`below`" + ` | not this table either |
`)
	want := layers{"rollout/manifest": 0, "rollout/rollouttest": 0, "rollout": 1, "placement": 3, "internal/shared": 4}
	if !maps.Equal(got, want) {
		t.Errorf("read %v, want %v", got, want)
	}
}

func TestCheckImportsSeesPlantedOffences(t *testing.T) {
	list := layers{
		"rollout/simulate": 0, "rollout/manifest": 0, "rollout": 1, "placement": 2, "lifecycle": 3, "tolerations": 4,
		"internal/shared": 5,
	}
	tests := []struct {
		name      string
		why       string
		directory string
		imported  string
		want      string
	}{
		{
			name: "down", why: "the only way that imports may point",
			directory: "rollout", imported: modulePath + "/placement",
		},
		{
			name: "next below", why: "one step down is down",
			directory: "lifecycle", imported: modulePath + "/tolerations",
		},
		{
			name: "up", why: "a lower package must be usable alone",
			directory: "placement", imported: modulePath + "/rollout",
			want: "placement imports rollout, which is not below it",
		},
		{
			name: "next above", why: "one step up is up, even where Go sees no cycle",
			directory: "tolerations", imported: modulePath + "/lifecycle",
			want: "tolerations imports lifecycle, which is not below it",
		},
		{
			name: "sideways", why: "packages of one row are alternatives, each usable without the other",
			directory: "rollout/manifest", imported: modulePath + "/rollout/simulate",
			want: "rollout/manifest imports rollout/simulate, which is not below it",
		},
		{
			name: "up into a subdirectory", why: "the list decides what is above, not the path",
			directory: "rollout", imported: modulePath + "/rollout/simulate",
			want: "rollout imports rollout/simulate, which is not below it",
		},
		{
			name: "test support", why: "what reads files must not reach the library by way of an import",
			directory: "placement", imported: modulePath + "/internal/conformance",
			want: "placement imports internal/conformance, which is not in the list",
		},
		{
			name: "example", why: "nothing depends on an example",
			directory: "rollout", imported: modulePath + "/examples/plan",
			want: "rollout imports examples/plan, which is not in the list",
		},
		{
			name: "command", why: "the command is a module of its own, which depends on the library",
			directory: "rollout/simulate", imported: modulePath + "/cmd/kubectl-daemonplan",
			want: "rollout/simulate imports cmd/kubectl-daemonplan, which is not in the list",
		},
		{
			name: "unknown package", why: "a new package needs a place in the list before anything else",
			directory: "util", imported: "strings",
			want: "util is not in the list",
		},
		{
			name: "unknown below a known one", why: "a place is a package's own, not its parent's",
			directory: "rollout/common", imported: "strings",
			want: "rollout/common is not in the list",
		},
		{
			name: "the module's root", why: "there is no package at the root",
			directory: ".", imported: "strings",
			want: ". is not in the list",
		},
		{
			name: "internal package of the list", why: "what two packages share has a place below both",
			directory: "placement", imported: modulePath + "/internal/shared",
		},
		{
			name: "up from an internal package", why: "its place holds for it, too",
			directory: "internal/shared", imported: modulePath + "/placement",
			want: "internal/shared imports placement, which is not below it",
		},
		{
			name: "tools that import upwards", why: "test support stands outside the list",
			directory: "internal/bench", imported: modulePath + "/rollout/simulate",
		},
		{
			name: "an example that imports", why: "examples may use whatever they show",
			directory: "examples/plan", imported: modulePath + "/rollout",
		},
		{
			name: "another module", why: "which modules may be imported is the linter's to say",
			directory: "tolerations", imported: modulePath + "-other/rollout",
		},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		if test.why == "" || seen[test.name] {
			t.Fatalf("row %q needs a reason and a name of its own", test.name)
		}
		seen[test.name] = true
		t.Run(test.name, func(t *testing.T) {
			files := parseSource(t, fmt.Sprintf("package p\n\nimport _ %q\n", test.imported))
			got := checkImports(list, test.directory, files)
			switch {
			case test.want == "" && len(got) > 0:
				t.Errorf("reported %q", got)
			case test.want != "" && (len(got) != 1 || !strings.HasSuffix(got[0], test.want)):
				t.Errorf("reported %q, want one that ends in %q", got, test.want)
			}
		})
	}
}

func TestCheckApartSeesPlantedOffences(t *testing.T) {
	tests := []struct {
		name      string
		why       string
		directory string
		imported  string
		want      string
	}{
		{
			name: "vocabulary", why: "a plan is written, and read, in the words of package rollout",
			directory: verifier, imported: modulePath + "/rollout",
		},
		{
			name: "packages below", why: "when a pod is ready is no decision of the planner",
			directory: verifier, imported: modulePath + "/lifecycle",
		},
		{
			name: "the planner's inside", why: "what the planner computes the verifier computes by itself",
			directory: verifier, imported: modulePath + "/rollout/internal/fleet",
			want: "rollout/verify imports rollout/internal/fleet, which is internal",
		},
		{
			name: "an inside right below", why: "the name of the last folder counts as any other",
			directory: verifier, imported: modulePath + "/rollout/internal",
			want: "rollout/verify imports rollout/internal, which is internal",
		},
		{
			name: "the module's inside", why: "helpers of the planner live there, too",
			directory: verifier, imported: modulePath + "/internal/selectors",
			want: "rollout/verify imports internal/selectors, which is internal",
		},
		{
			name: "another package's inside", why: "the rule is for the verifier alone",
			directory: "rollout", imported: modulePath + "/internal/selectors",
		},
		{
			name: "a name that contains the word", why: "only whole folders are internal",
			directory: verifier, imported: modulePath + "/internals",
		},
		{
			name: "planner asks its verifier", why: "a plan must not be made to please the verifier",
			directory: "rollout", imported: modulePath + "/" + verifier,
			want: "rollout imports rollout/verify, which verifies it",
		},
		{
			name: "the planner's inside asks the verifier", why: "it is the planner, too",
			directory: "rollout/internal/fleet", imported: modulePath + "/" + verifier,
			want: "rollout/internal/fleet imports rollout/verify, which verifies it",
		},
		{
			name: "simulation", why: "everybody else may ask",
			directory: "rollout/simulate", imported: modulePath + "/" + verifier,
		},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		if test.why == "" || seen[test.name] {
			t.Fatalf("row %q needs a reason and a name of its own", test.name)
		}
		seen[test.name] = true
		t.Run(test.name, func(t *testing.T) {
			files := parseSource(t, fmt.Sprintf("package p\n\nimport _ %q\n", test.imported))
			got := checkApart(test.directory, files)
			switch {
			case test.want == "" && len(got) > 0:
				t.Errorf("reported %q", got)
			case test.want != "" && (len(got) != 1 || !strings.HasSuffix(got[0], test.want)):
				t.Errorf("reported %q, want one that ends in %q", got, test.want)
			}
		})
	}
}

// verifier is the directory of the package that verifies plans.
const verifier = "rollout/verify"

// checkApart reports every import by which the verifier shares code with the planner, or the planner with the verifier. Packages
// below both, such as lifecycle, may be shared.
func checkApart(directory string, files parsedFiles) []string {
	planner := directory == "rollout" || strings.HasPrefix(directory, "rollout/internal/")
	var offences []string
	for _, spec := range files.imports() {
		imported, ok := strings.CutPrefix(importPath(spec), modulePath+"/")
		if !ok {
			continue
		}
		where := files.set.Position(spec.Pos())
		switch {
		case directory == verifier && slices.Contains(strings.Split(imported, "/"), "internal"):
			offences = append(offences, fmt.Sprintf("%s: %s imports %s, which is internal", where, directory, imported))
		case planner && imported == verifier:
			offences = append(offences, fmt.Sprintf("%s: %s imports %s, which verifies it", where, directory, imported))
		}
	}
	return offences
}

// checkImports reports every import of the package in directory that does not point down the list.
func checkImports(list layers, directory string, files parsedFiles) []string {
	row, listed := list[directory]
	switch {
	case !listed && isUnlayered(directory):
		return nil
	case !listed:
		return []string{directory + " is not in the list"}
	}
	var offences []string
	for _, spec := range files.imports() {
		imported, ok := strings.CutPrefix(importPath(spec), modulePath+"/")
		if !ok {
			continue
		}
		where := files.set.Position(spec.Pos())
		switch other, listed := list[imported]; {
		case !listed:
			offences = append(offences, fmt.Sprintf("%s: %s imports %s, which is not in the list", where, directory, imported))
		case other <= row:
			offences = append(offences, fmt.Sprintf("%s: %s imports %s, which is not below it", where, directory, imported))
		}
	}
	return offences
}

// readLayers reads the list of packages from the design document, so that there is one list only.
func readLayers(t *testing.T, path string) layers {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	list := parseLayers(string(content))
	if list["rollout"] >= list["tolerations"] {
		t.Fatalf("%s: no list of packages with rollout above tolerations was found under its heading Packages", path)
	}
	return list
}

var codeSpan = regexp.MustCompile("`([^`]+)`")

// parseLayers reads the table under the heading Packages; a row's first cell names its packages.
func parseLayers(document string) layers {
	list := layers{}
	inSection := false
	row := 0
	for line := range strings.Lines(document) {
		if strings.HasPrefix(line, "#") {
			inSection = strings.TrimSpace(line) == "# Packages"
		}
		if !inSection || !strings.HasPrefix(line, "| `") {
			continue
		}
		firstCell := strings.Split(line, "|")[1]
		for _, match := range codeSpan.FindAllStringSubmatch(firstCell, -1) {
			if isPlaced(match[1]) {
				list[match[1]] = row
			}
		}
		row++
	}
	return list
}

// isPlaced reports whether a row gives the package a place. Others it only describes.
func isPlaced(directory string) bool {
	return !isUnlayered(directory) ||
		strings.HasPrefix(directory, "internal/") && !strings.HasSuffix(directory, "/…")
}

func isUnlayered(directory string) bool {
	first, _, _ := strings.Cut(directory, "/")
	return slices.Contains(unlayered, first)
}

// parsedFiles are the non-test files of one package.
type parsedFiles struct {
	set   *token.FileSet
	files []*ast.File
}

func (p parsedFiles) imports() []*ast.ImportSpec {
	var specs []*ast.ImportSpec
	for _, file := range p.files {
		specs = append(specs, file.Imports...)
	}
	return specs
}

func importPath(spec *ast.ImportSpec) string {
	// The parser has refused what is no string literal.
	path, _ := strconv.Unquote(spec.Path.Value)
	return path
}
