package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
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
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	was := string(data)
	is := was
	for name, part := range parts {
		before, rest, begins := strings.Cut(is, "<!-- table: "+name+" -->\n")
		_, after, ends := strings.Cut(rest, "<!-- end -->\n")
		if !begins || !ends {
			return fmt.Errorf("%s has no table %q between its marks", file, name)
		}
		is = before + "<!-- table: " + name + " -->\n" + part + "<!-- end -->\n" + after
	}
	if is == was {
		return nil
	}
	if write {
		return os.WriteFile(file, []byte(is), 0o644)
	}
	var differences []string
	old, now := strings.Split(was, "\n"), strings.Split(is, "\n")
	for _, l := range now {
		if !slices.Contains(old, l) {
			differences = append(differences, "not in the document: "+l)
		}
	}
	for _, l := range old {
		if !slices.Contains(now, l) {
			differences = append(differences, "not so any more: "+l)
		}
	}
	return fmt.Errorf("%s says otherwise: make peersuite WRITE=1 writes it\n%s", file, strings.Join(differences, "\n"))
}
