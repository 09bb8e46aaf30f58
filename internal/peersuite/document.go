package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/daemonplan/daemonplan/internal/doctable"
)

// table of all tests, as Markdown.
func table(rows []row) string {
	var b strings.Builder
	b.WriteString("| test | result | asks |\n|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.test, strings.ReplaceAll(r.verdict, "|", `\|`), r.asks)
	}
	return b.String()
}

func summary(s tally, version string) string {
	of := fmt.Sprintf("Of the %d test functions of k8s.io/kubernetes %s with their %d subtests", s.functions, version, s.subtests)
	return fmt.Sprintf("%s, %d pass, %d differ by an entry of\nthe table of differences, %d has a spec that is refused, "+
		"%d are not about decisions, and %d only hold subtests.\n", of, s.pass, s.differ, s.refused, s.aside, s.above)
}

func bugTable() string {
	var b strings.Builder
	b.WriteString("| rule | without it | test that fails |\n|---|---|---|\n")
	for _, bug := range bugs {
		fmt.Fprintf(&b, "| %s | %s | `%s` |\n", bug.rule, bug.what, bug.test)
	}
	return b.String()
}

// hold compares parts of a document, each between marks with its name, with what they are to be, or writes them anew.
func hold(file string, write bool, parts map[string]string) error {
	if write {
		return doctable.Write(file, parts)
	}
	was, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	is, err := doctable.Replace(string(was), parts)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if is == string(was) {
		return nil
	}
	return fmt.Errorf("%s says otherwise: make peersuite WRITE=1 writes it\n%s", file,
		strings.Join(doctable.Differences(string(was), is), "\n"))
}
