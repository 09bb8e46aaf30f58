// Package recount_test counts the figures of reports anew from the histories beside them. It shares no code with the package that
// makes the reports, and no definitions: what each figure is, it has from docs/simulate-your-fleet.md, section 7.
package recount_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/cli"
)

// simulations are those whose pages are counted anew: studies, with further flags.
var simulations = []struct {
	name, why string
	study     string
	flags     string
	seeds     int
}{
	{name: "bad version", why: "a canary fails, and a version is replaced after it crashed", study: "bad-version",
		flags: "--scale 0.3", seeds: 1},
	{name: "nodes that are not ready", why: "nodes are down before the rollout", study: "not-ready-nodes",
		flags: "--scale 0.2", seeds: 1},
	{name: "not done in time", why: "runs end before the rollout does", study: "not-ready-nodes",
		flags: "--scale 0.2 --until 1h", seeds: 1},
	{name: "racks and zones", why: "policies bound the nodes and values of labels", study: "racks-and-zones",
		flags: "--scale 0.2", seeds: 1},
	{name: "nodes that leave", why: "the number of nodes changes", study: "leaving-nodes", seeds: 1},
	{name: "several runs, and a rollback", why: "figures of several runs; failures give a version up", study: "broken-nodes",
		flags: "--scale 0.2", seeds: 5},
	{name: "stages", why: "a rollout in stages", study: "security-fix", seeds: 1},
}

// notCounted is what these tests do not count of the page, with the reason. The pictures, and what the script of the page shows of
// each node, are the subject of tests of their own.
var _ = map[string]string{
	"why a node was down": "the planner's own words about a node of a plan: a history with the words about each node of each plan " +
		"would be many times as large, and holds no figure of the table",
	"how many nodes are left for which cause": "causes are read off the pods as they are at the end of a run that is not done; that " +
		"all of them together are the nodes without the new version is counted",
}

// command runs kubectl daemonplan.
func command(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = cli.Main(args, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errs})
	return code, out.String(), errs.String()
}

// simulated is a simulation: its page, its histories by spec and run, and why --fail-if made the exit code 1.
type simulated struct {
	page     *read
	columns  []column
	failures []string
}

// metrics are all that --fail-if compares, each in a condition that holds.
var metrics = []string{"peak>=0", "down>=0", "duration>=0s", "p50>=0s", "p90>=0s", "stuck>=0", "left>=0", "violations>=0"}

// simulate runs a study as simulate does, and for its further seeds once more each, because a history is that of the first run.
func simulate(t *testing.T, study, flags string, seeds int) simulated {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(filepath.Join("..", "..", "studies", study))
	lines, err := os.ReadFile("study.txt")
	if err != nil {
		t.Fatal(err)
	}
	var s simulated
	run := func(more ...string) {
		args := slices.Concat([]string{"simulate", "-o", "json"}, strings.Fields(string(lines)), strings.Fields(flags), more)
		for _, condition := range metrics {
			args = append(args, "--fail-if", condition)
		}
		code, stdout, stderr := command(t, args...)
		var answer struct{ Failures []string }
		if err := json.Unmarshal([]byte(stdout), &answer); err != nil || code != 1 {
			t.Fatalf("%q: exit code %d, %v, standard error:\n%s", args, code, err, stderr)
		}
		s.failures = answer.Failures
	}
	run("--out", filepath.Join(dir, "run-1"), "--seeds", fmt.Sprint(seeds))
	failures := s.failures
	for seed := 2; seed <= seeds; seed++ {
		run("--seed", fmt.Sprint(seed), "--history", filepath.Join(makeDir(t, dir, seed), "history.csv"))
	}
	s.failures = failures
	s.page = pageOf(t, filepath.Join(dir, "run-1"))
	for _, label := range s.page.columns {
		c := column{label: label}
		for seed := 1; seed <= seeds; seed++ {
			rows, err := readHistory(filepath.Join(dir, fmt.Sprint("run-", seed), historyName(label, len(s.page.columns))))
			if err != nil {
				t.Fatal(err)
			}
			c.runs = append(c.runs, count(rows, s.page.keys()))
		}
		s.columns = append(s.columns, c)
	}
	return s
}

// makeDir makes the directory for the histories of another run.
func makeDir(t *testing.T, dir string, seed int) string {
	t.Helper()
	made := filepath.Join(dir, fmt.Sprint("run-", seed))
	if err := os.Mkdir(made, 0o755); err != nil {
		t.Fatal(err)
	}
	return made
}

// pageOf reads the page in a directory.
func pageOf(t *testing.T, dir string) *read {
	t.Helper()
	file, err := os.Open(filepath.Join(dir, "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	page, err := readPage(file)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// historyName is the file with the history of a spec.
func historyName(label string, specs int) string {
	if specs == 1 {
		return "history.csv"
	}
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."
	return "history-" + strings.Map(func(r rune) rune {
		if strings.ContainsRune(plain, r) {
			return r
		}
		return '_'
	}, label) + ".csv"
}

// keys are the labels by whose values the table counts nodes.
func (p *read) keys() []string {
	var keys []string
	for _, cells := range p.rows {
		key, one := strings.CutPrefix(cells[0], "  most in one ")
		if !one || key == "zone" {
			if key, one = strings.CutSuffix(strings.TrimSpace(cells[0]), " at once"); !one {
				continue
			}
		}
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// objections are where a page says something else than its histories.
func objections(p *read, columns []column) []string {
	var list []string
	compare := func(what, page, counted string) {
		if page != counted {
			list = append(list, fmt.Sprintf("%s: the page says\n\t%s\nthe history\n\t%s", what, page, counted))
		}
	}
	for _, cells := range p.rows {
		for i, c := range columns {
			cell, known := c.cell(cells[0])
			if !known {
				list = append(list, fmt.Sprintf("row %q: nobody knows how to count it", cells[0]))
				continue
			}
			compare(fmt.Sprintf("row %q of %s", cells[0], c.label), cells[i+1], cell)
		}
	}
	var want []verdict
	for _, c := range columns {
		want = append(want, verdict{about: c.label, text: c.story()})
	}
	if len(columns) > 1 {
		want = append(want, contrasts(columns)...)
	}
	compare("the number of lines above the table", fmt.Sprint(len(p.verdicts)), fmt.Sprint(len(want)))
	for i := range min(len(want), len(p.verdicts)) {
		compare("line above the table", p.verdicts[i].about+": "+p.verdicts[i].text, want[i].about+": "+want[i].text)
	}
	for i, c := range columns {
		list = append(list, c.causes(p.causesOf(c.label, i))...)
	}
	runs := "Seed 1."
	if n := len(columns[0].runs); n > 1 {
		runs = fmt.Sprintf("%d runs of each policy, with seeds from 1 on.", n)
	}
	compare("the number of runs", p.runs[strings.LastIndex(p.runs, "time.")+len("time. "):], runs)
	for word := range strings.SplitSeq(p.heading, "nodes") {
		fields := strings.Fields(word)
		if n := len(fields); n > 0 && strings.Trim(fields[n-1], "0123456789,") == "" {
			compare("the heading", fields[n-1], grouped(columns[0].runs[0].present()))
		}
	}
	for i, c := range columns {
		want := c.runs[0].longestDown()
		compare("the number of nodes down longest of "+c.label, fmt.Sprint(len(p.outages[i])), fmt.Sprint(len(want)))
		for j := range min(len(want), len(p.outages[i])) {
			o, cells := want[j], p.outages[i][j]
			compare("down longest of "+c.label, strings.Join([]string{cells[0], cells[1], cells[4], cells[5]}, " | "),
				strings.Join([]string{o.node, o.total, o.longest, o.zone}, " | "))
		}
	}
	return list
}

// Every figure of the page, and all that --fail-if compares, can be counted anew from the histories.
func TestReportsAgreeWithHistories(t *testing.T) {
	for _, s := range simulations {
		t.Run(s.name, func(t *testing.T) {
			found := simulate(t, s.study, s.flags, s.seeds)
			for _, line := range objections(found.page, found.columns) {
				t.Error(line)
			}
			var got, want []string
			for _, failure := range found.failures {
				if _, words, gate := strings.Cut(failure, "': "); gate && strings.HasPrefix(failure, "--fail-if '") {
					got = append(got, words)
				}
			}
			for _, c := range found.columns {
				for _, metric := range metrics {
					name, _, _ := strings.Cut(metric, ">")
					want = append(want, c.label+": "+c.gate(name))
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("--fail-if says\n%s\nand the histories\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// A page of study has the figures of the same simulation, and its heading has the number of nodes that there are.
func TestPageOfStudyAgreesWithHistory(t *testing.T) {
	dir := t.TempDir()
	if code, _, stderr := command(t, "study", "leaving-nodes", "--scale", "0.5", "--out", dir); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	page := pageOf(t, dir)
	var columns []column
	for _, label := range page.columns {
		rows, err := readHistory(filepath.Join(dir, historyName(label, len(page.columns))))
		if err != nil {
			t.Fatal(err)
		}
		columns = append(columns, column{label, []*counted{count(rows, page.keys())}})
	}
	for _, line := range objections(page, columns) {
		t.Error(line)
	}
}
