package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// removal takes code of a rule away: old, which is in the file once, becomes with.
type removal struct{ rule, what, file, old, with string }

// bug is what is so without some code, and a test of the controller that fails then.
type bug struct {
	rule, what, test string
	// own says what to take away where internal/proof takes something else.
	own removal
}

var bugs = []bug{
	{rule: "P1", what: "the default tolerations are not added", test: "TestUnreachableNodeDaemonLaunchesPod"},
	{rule: "P2", what: "required node affinity is not looked at", test: "TestNodeAffinityDaemonLaunchesPods"},
	{rule: "P3", what: "no node is kept", test: "TestNoScheduleTaintedDoesntEvicitRunningIntolerantPod"},
	{rule: "M1", what: "a create does not wait for a terminating pod", test: "TestDaemonSetRespectsTermination"},
	{rule: "M2", what: "no back-off", test: "TestDaemonKillFailedPodsBackoff/OnDelete"},
	{rule: "M3", what: "surplus pods stay", test: "TestDealsWithExistingPods"},
	{rule: "M4", what: "nodes are not vacated", test: "TestSelectorDaemonDeletesUnselectedPods"},
	{rule: "M5", what: "pods of vanished nodes stay", test: "TestDeleteUnscheduledPodForNotExistingNode"},
	{
		rule: "B1", what: "percentages round down",
		test: "TestGetUnavailableNumbers/Two_nodes_with_pods,_MaxUnavailable_in_percents,_pod_terminating",
	},
	{rule: "B3", what: "maxUnavailable is not looked at", test: "TestDaemonSetUpdatesPods"},
	{rule: "B4", what: "maxSurge is not looked at", test: "TestDaemonSetUpdatesPodsWithMaxSurge"},
	{rule: "B5", what: "Ready is available", test: "TestSurgePreservesOldReadyWithUnsatisfiedMinReady"},
	{
		rule: "S1", what: "ready nodes are not counted", test: "TestNumberReadyStatus",
		own: removal{file: "status/counts.go", old: "\t\tc.Ready++\n"},
	},
}

// removals reads the table of internal/proof.
func removals(root string) ([]removal, error) {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "internal", "proof", "removals_test.go"), nil, 0)
	if err != nil {
		return nil, err
	}
	var found []removal
	ast.Inspect(file, func(n ast.Node) bool {
		literal, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		texts := map[string]string{}
		for _, element := range literal.Elts {
			pair, ok := element.(*ast.KeyValueExpr)
			if !ok {
				continue
			}
			key, isName := pair.Key.(*ast.Ident)
			value, isText := pair.Value.(*ast.BasicLit)
			if isName && isText {
				texts[key.Name], _ = strconv.Unquote(value.Value)
			}
		}
		if texts["rule"] != "" {
			found = append(found, removal{texts["rule"], texts["what"], texts["file"], texts["old"], texts["new"]})
		}
		return true
	})
	return found, nil
}

// find is the removal that a bug is.
func (b *bug) find(all []removal) (removal, error) {
	if b.own.file != "" {
		return b.own, nil
	}
	i := slices.IndexFunc(all, func(r removal) bool { return r.rule == b.rule && r.what == b.what })
	if i < 0 {
		return removal{}, fmt.Errorf("internal/proof removes no %s so that %s", b.rule, b.what)
	}
	return all[i], nil
}

// from is the file without the code.
func (r *removal) from(root string) ([]byte, error) {
	source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(r.file)))
	if err != nil {
		return nil, err
	}
	if n := bytes.Count(source, []byte(r.old)); n != 1 || r.old == r.with {
		return nil, fmt.Errorf("%s has this %d times, not once: the code has moved on, find it again\n%s", r.file, n, r.old)
	}
	return bytes.Replace(source, []byte(r.old), []byte(r.with), 1), nil
}

// plantAll plants each bug, and prints what fails because of it.
func (w *workspace) plantAll(ctx context.Context, out io.Writer) error {
	all, err := removals(w.root)
	if err != nil {
		return err
	}
	var failed []error
	for _, b := range bugs {
		r, err := b.find(all)
		if err != nil {
			return err
		}
		said, err := w.plant(ctx, r, b.test)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s, %s: %w", b.rule, b.what, err))
			continue
		}
		fmt.Fprintf(out, "%s, %s: %s fails: %s\n", b.rule, b.what, b.test, said)
	}
	return errors.Join(failed...)
}

// plant takes the code of a rule away, in an overlay, and runs the test that must fail then. It returns the first thing that the
// test says.
func (w *workspace) plant(ctx context.Context, r removal, test string) (said string, err error) {
	file := filepath.Join(w.root, filepath.FromSlash(r.file))
	without, err := r.from(w.root)
	if err != nil {
		return "", err
	}
	changed, overlay := filepath.Join(w.dir, "changed.txt"), filepath.Join(w.dir, "overlay.json")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {file: changed}})
	if err != nil {
		return "", err
	}
	for name, data := range map[string][]byte{changed: without, overlay: replace} {
		if err := os.WriteFile(name, data, 0o644); err != nil {
			return "", err
		}
	}
	pattern := "^" + strings.ReplaceAll(regexp.QuoteMeta(test), "/", "$/^") + "$"
	results, err := w.run(ctx, "-vet=off", "-overlay="+overlay, "-run="+pattern)
	if err != nil {
		return "", err
	}
	for _, result := range results {
		if result.test == test && result.outcome == "fail" && len(result.said) > 0 {
			return result.said[0], nil
		}
	}
	return "", fmt.Errorf("%s fails with no assertion", test)
}
