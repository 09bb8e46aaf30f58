package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
)

// edits of the controller's source. The adapter declares anew what is replaced, and the rest of the package calls that.
type edits struct {
	// replaced functions and methods stay, under another name, and are called no more.
	replaced []string
	// imports by path, and what they become.
	imports map[string]string
	// field to add to the struct of that name.
	of, field string
}

// daemonEdits and utilEdits are what becomes of the two packages.
var (
	daemonEdits = edits{
		replaced: []string{
			"manage", "rollingUpdate", "updateDaemonSetStatus", "constructHistory", "cleanupHistory", "updatedDesiredNodeCounts",
			"getDaemonPods", "controlledHistories", "NodeShouldRunDaemonPod",
		},
		imports: map[string]string{upstream + "/util": module + "/daemon/util"},
		of:      "DaemonSetsController", field: "planned plans",
	}
	utilEdits = edits{
		replaced: []string{
			"AddOrUpdateDaemonPodTolerations", "CreatePodTemplate", "GetTargetNodeName", "GetTemplateGeneration", "IsPodUpdated",
			"ReplaceDaemonSetPodNodeNameNodeAffinity",
		},
	}
)

// change replaces a part of a text.
type change struct {
	start, end int
	with       string
}

// apply changes a file where its syntax tree says. It reports what it has found, by name.
func (e *edits) apply(name string, source []byte) (changed []byte, found []string, err error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, nil, err
	}
	var changes []change
	replace := func(from, to token.Pos, with string) {
		changes = append(changes, change{set.Position(from).Offset, set.Position(to).Offset, with})
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if slices.Contains(e.replaced, n.Name.Name) {
				found = append(found, n.Name.Name)
				replace(n.Name.Pos(), n.Name.End(), "replaced_"+n.Name.Name)
			}
		case *ast.ImportSpec:
			path, err := strconv.Unquote(n.Path.Value)
			if to, ok := e.imports[path]; ok && err == nil {
				replace(n.Path.Pos(), n.Path.End(), strconv.Quote(to))
			}
		case *ast.TypeSpec:
			if fields, ok := n.Type.(*ast.StructType); ok && e.field != "" && n.Name.Name == e.of {
				found = append(found, n.Name.Name)
				replace(fields.Fields.Closing, fields.Fields.Closing, e.field+"\n")
			}
		}
		return true
	})
	slices.SortFunc(changes, func(a, b change) int { return cmp.Compare(b.start, a.start) })
	for _, c := range changes {
		source = slices.Concat(source[:c.start], []byte(c.with), source[c.end:])
	}
	return source, found, nil
}

// complete reports what was to be found in the source of a package and was not there once: the controller has moved on.
func (e *edits) complete(found []string) error {
	want := slices.Clone(e.replaced)
	if e.of != "" {
		want = append(want, e.of)
	}
	slices.Sort(want)
	slices.Sort(found)
	if !slices.Equal(want, found) {
		return fmt.Errorf("the controller's source declares %v where %v are to be replaced", found, want)
	}
	return nil
}
