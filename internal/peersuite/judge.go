package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/daemonplan/daemonplan/internal/conformance/peer"
)

// row of the table.
type row struct{ test, verdict, asks string }

// tally counts rows by verdict.
type tally struct{ functions, subtests, above, pass, differ, refused, aside int }

// judge puts down each result to what was expected. What is not expected is a problem.
func judge(results []*result, expected []expectation) (rows []row, sum tally, problems []string) {
	object := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	of, failsBelow := map[string]*expectation{}, map[string]bool{}
	for i := range expected {
		of[expected[i].test] = &expected[i]
	}
	for _, r := range results {
		if above, found := parent(r.test); found && r.outcome == "fail" {
			failsBelow[above] = true
		}
	}
	for _, r := range results {
		e := of[r.test]
		delete(of, r.test)
		if strings.Contains(r.test, "/") {
			sum.subtests++
		} else {
			sum.functions++
		}
		var verdict string
		switch {
		case len(r.errors) > 0:
			object("%s: the library answers with errors:\n\t%s", r.test, strings.Join(r.errors, "\n\t"))
		case r.outcome != "pass" && r.outcome != "fail":
			object("%s: neither passes nor fails, but: %q", r.test, r.outcome)
		case r.subtests > 0 && e == nil && len(r.said) == 0 && failsBelow[r.test] == (r.outcome == "fail"):
			verdict = fmt.Sprintf("%d subtests", r.subtests)
			sum.above++
		case e == nil && r.outcome == "fail":
			object("%s: fails, and nothing explains it:\n\t%s", r.test, strings.Join(r.said, "\n\t"))
		case e == nil && len(r.asks) == 0:
			object("%s: passes, but asks the library for nothing: is it about decisions?", r.test)
		case e == nil:
			verdict = "pass"
			sum.pass++
		case len(e.fails) == 0 && r.outcome == "fail", len(e.fails) > 0 && r.outcome == "pass":
			object("%s: %s, which is not what is expected of it", r.test, r.outcome)
		case len(e.fails) == 0 && len(r.asks) > 0:
			object("%s: not about decisions, but it asks for: %s", r.test, strings.Join(r.asks, ", "))
		case e.entry != "":
			if wrong := unlike(e.fails, r.said); wrong != "" {
				object("%s: fails otherwise than %s explains: %s", r.test, e.entry, wrong)
			}
			verdict = "differs: `" + e.entry + "` (" + ruleOf(e.entry) + "): “" + strings.Join(e.fails, "”, “") + "”"
			sum.differ++
		case e.refused != "":
			if wrong := unlike(e.fails, r.said); wrong != "" {
				object("%s: fails otherwise than a spec that is refused: %s", r.test, wrong)
			}
			verdict = "refused: " + e.refused + ": “" + strings.Join(e.fails, "”, “") + "”"
			sum.refused++
		default:
			verdict = "pass, not about decisions: " + e.aside
			sum.aside++
		}
		rows = append(rows, row{r.test, verdict, strings.Join(r.asks, ", ")})
	}
	for _, e := range expected {
		if of[e.test] != nil {
			object("%s: there is no such test any more", e.test)
		}
		reasons := 0
		for _, reason := range []string{e.entry, e.refused, e.aside} {
			if reason != "" {
				reasons++
			}
		}
		if reasons != 1 || e.entry != "" && ruleOf(e.entry) == "" || (len(e.fails) == 0) != (e.aside != "") {
			object("%s: is to have an entry of the table of differences or a refused spec, and what fails, or a reason why it "+
				"is not about decisions", e.test)
		}
	}
	return rows, sum, problems
}

// unlike is the first thing that was expected and not said, or said and not expected.
func unlike(expected, said []string) string {
	seen := make([]bool, len(expected))
	for _, s := range said {
		i := slices.IndexFunc(expected, func(e string) bool { return pattern(e).MatchString(s) })
		if i < 0 {
			return s
		}
		seen[i] = true
	}
	if i := slices.Index(seen, false); i >= 0 {
		return "it does not say: " + expected[i]
	}
	return ""
}

// pattern of a line in which "…" stands for a word that is different each time.
func pattern(line string) *regexp.Regexp {
	return regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(line), "…", `[\w-]+`) + "$")
}

// ruleOf is the rule of an entry; empty if there is no such entry.
func ruleOf(id string) string {
	for _, e := range peer.Entries[:] {
		if e.ID == id {
			return e.Rule
		}
	}
	return ""
}
