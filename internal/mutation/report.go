package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// row of the table.
type row struct {
	name                                                      string
	mutants, covered, killed, expired, lived, uncovered, rest int
}

func rowOf(r *record) row {
	return row{
		name: r.Package, mutants: len(r.Results), covered: r.covered(), killed: r.count(killed), expired: r.count(expired),
		lived: r.count(lived), uncovered: r.count(uncovered), rest: r.count(notTried) + r.count(unbuildable),
	}
}

func total(records []*record) row {
	sum := row{name: "all"}
	for _, r := range records {
		one := rowOf(r)
		sum.mutants += one.mutants
		sum.covered += one.covered
		sum.killed += one.killed
		sum.expired += one.expired
		sum.lived += one.lived
		sum.uncovered += one.uncovered
		sum.rest += one.rest
	}
	return sum
}

// share of the covered mutants that were killed, in per cent. Nothing covered is nothing missed.
func (r row) share() float64 {
	if r.covered == 0 {
		return 100
	}
	return 100 * float64(r.killed+r.expired) / float64(r.covered)
}

func (r row) cells() []string {
	cells := []string{r.name}
	for _, n := range []int{r.mutants, r.covered, r.killed, r.expired, r.lived, r.uncovered, r.rest} {
		cells = append(cells, fmt.Sprint(n))
	}
	return append(cells, fmt.Sprintf("%.1f", r.share()))
}

var heads = []string{"package", "mutants", "covered", "killed", "timed out", "lived", "not covered", "not tried", "% killed"}

func rows(records []*record) []row {
	var all []row
	for _, r := range records {
		all = append(all, rowOf(r))
	}
	if len(all) > 1 {
		all = append(all, total(records))
	}
	return all
}

func printTable(w io.Writer, records []*record) {
	if len(records) == 0 {
		fmt.Fprintln(w, "nothing to mutate")
		return
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, strings.Join(heads, "\t"))
	for _, r := range rows(records) {
		fmt.Fprintln(table, strings.Join(r.cells(), "\t"))
	}
	_ = table.Flush()
}

// printSurvivors lists what lived and nobody has judged, and judgements that nothing matches.
func printSurvivors(w io.Writer, records []*record, judged judgements) {
	known := map[string]bool{}
	for _, r := range records {
		number := 0
		for _, found := range r.Results {
			key := found.Mutant.key(r.Package)
			known[key] = true
			if found.Status != lived {
				continue
			}
			if judged[key] != "" {
				number++
				continue
			}
			m := found.Mutant
			fmt.Fprintf(w, "%s/%s:%d:%d: %s\n", r.Package, m.File, m.Line, m.Column, describe(found))
		}
		if number > 0 {
			fmt.Fprintf(w, "%s: %d that lived are judged\n", r.Package, number)
		}
		for _, key := range stale(r, judged) {
			fmt.Fprintf(w, "judged, but not there or not alive: %s\n", key)
		}
	}
}

func describe(found result) string {
	m := found.Mutant
	text := fmt.Sprintf("lived: %s: %#q -> %#q in %s", m.Operator, m.From, m.To, m.Function)
	switch {
	case found.Same:
		text += " (no test makes a difference)"
	case found.Left > 0:
		text += fmt.Sprintf(" (%d tests not run)", found.Left)
	}
	return text
}

// stale lists the judgements on a package that no longer fit: their mutant is gone, or killed.
func stale(r *record, judged judgements) []string {
	fits := map[string]bool{}
	for _, found := range r.Results {
		if found.Status != killed && found.Status != expired {
			fits[found.Mutant.key(r.Package)] = true
		}
	}
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(judged)) {
		file, _, _ := strings.Cut(key, " ")
		if file[:max(0, strings.LastIndexByte(file, '/'))] == r.Package && !fits[key] {
			keys = append(keys, key)
		}
	}
	return keys
}

// markdown is the report that stays in the repository. It holds no line numbers, so that it ages slowly.
func markdown(records []*record, judged judgements) string {
	var b strings.Builder
	b.WriteString(preamble)
	fmt.Fprintf(&b, "| %s |\n|%s\n", strings.Join(heads, " | "), "---|"+strings.Repeat("---:|", len(heads)-1))
	for _, r := range rows(records) {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(r.cells(), " | "))
	}
	b.WriteString("\n" + legend)
	for _, r := range records {
		if len(r.Also) > 0 {
			fmt.Fprintf(&b, "- `%s` is also tested by `%s`\n", r.Package, strings.Join(r.Also, "`, `"))
		}
		if r.Effort > 0 {
			fmt.Fprintf(&b, "- `%s`: a mutant was worth %v of tests; %d tests that take longer were left out\n",
				r.Package, r.Effort, len(r.Slow))
		}
	}
	b.WriteString("\n## Judged one by one\n")
	for _, r := range records {
		listJudged(&b, r, judged)
	}
	b.WriteString("\n## Not judged\n\n" + notJudged)
	for _, r := range records {
		countOthers(&b, r, judged)
	}
	return b.String()
}

// listJudged writes one package's survivors that are judged, those with the same reason together.
func listJudged(b *strings.Builder, r *record, judged judgements) {
	byReason := map[string][]string{}
	for _, found := range r.Results {
		key := found.Mutant.key(r.Package)
		if reason := judged[key]; found.Status == lived && reason != "" {
			name, rest, _ := strings.Cut(strings.TrimPrefix(key, r.Package+"/"), " ")
			byReason[reason] = append(byReason[reason], name+" "+rest)
		}
	}
	if len(byReason) == 0 {
		return
	}
	fmt.Fprintf(b, "\n### %s\n\n", r.Package)
	reasons := slices.SortedFunc(maps.Keys(byReason), func(x, y string) int {
		return cmp.Compare(byReason[x][0], byReason[y][0])
	})
	for _, reason := range reasons {
		for _, line := range byReason[reason] {
			fmt.Fprintf(b, "- %s\n", line)
		}
		fmt.Fprintf(b, "\n  %s\n\n", reason)
	}
}

// countOthers counts one package's survivors that nobody has judged, by file.
func countOthers(b *strings.Builder, r *record, judged judgements) {
	byFile, all := map[string]int{}, 0
	for _, found := range r.Results {
		if found.Status == lived && judged[found.Mutant.key(r.Package)] == "" {
			byFile[found.Mutant.File]++
			all++
		}
	}
	if all == 0 {
		return
	}
	var files []string
	for _, name := range slices.Sorted(maps.Keys(byFile)) {
		files = append(files, fmt.Sprintf("%s %d", name, byFile[name]))
	}
	fmt.Fprintf(b, "- `%s`: %d, of which in %s\n", r.Package, all, strings.Join(files, ", "))
}
