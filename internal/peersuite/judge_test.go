package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestJudge(t *testing.T) {
	pass, fail := "pass", "fail"
	plan := []string{"Plan"}
	differs := []expectation{{test: "TestA", entry: "best-pod-stays", fails: []string{"deletes [pod-…], not 2"}}}
	aside := []expectation{{test: "TestA", aside: "queues"}}
	tests := []struct {
		name, why string
		results   []*result
		expected  []expectation
		verdicts  []string
		problem   string
	}{
		{
			name: "passes", why: "the library was asked, and the test likes the answer",
			results: []*result{{test: "TestA", outcome: pass, asks: plan}}, verdicts: []string{"pass"},
		},
		{
			name: "asks for nothing", why: "a test that bypasses the library says nothing about it",
			results: []*result{{test: "TestA", outcome: pass}}, problem: "TestA: passes, but asks",
		},
		{
			name: "answered with an error", why: "nothing was planned, which may be what the test wants to see",
			results: []*result{{test: "TestA", outcome: pass, asks: plan, errors: []string{"Plan: no"}}},
			problem: "TestA: the library answers",
		},
		{
			name: "fails", why: "nothing explains it",
			results: []*result{{test: "TestA", outcome: fail, asks: plan, said: []string{"wrong"}}},
			problem: "TestA: fails, and nothing explains it:\n\twrong",
		},
		{
			name: "is skipped", why: "what is skipped judges nothing",
			results: []*result{{test: "TestA", outcome: "skip", asks: plan}}, problem: "TestA: neither",
		},
		{
			name: "differs", why: "an entry explains it, with its assertion; what differs each time is left open",
			results:  []*result{{test: "TestA", outcome: fail, asks: plan, said: []string{"deletes [pod-x7], not 2"}}},
			expected: differs, verdicts: []string{"differs: `best-pod-stays` (M3): “deletes [pod-…], not 2”"},
		},
		{
			name: "differs no more", why: "a stale row would excuse the next failure",
			results: []*result{{test: "TestA", outcome: pass, asks: plan}}, expected: differs, problem: "TestA: pass, which is not",
		},
		{
			name: "differs otherwise", why: "an entry explains one assertion",
			results:  []*result{{test: "TestA", outcome: fail, asks: plan, said: []string{"deletes [], not 2"}}},
			expected: differs, problem: "TestA: fails otherwise than best-pod-stays explains: deletes [], not 2",
		},
		{
			name: "differs in more", why: "each line is to be explained",
			results:  []*result{{test: "TestA", outcome: fail, asks: plan, said: []string{"deletes [pod-x], not 2", "and more"}}},
			expected: differs, problem: "explains: and more",
		},
		{
			name: "differs in less", why: "each explained line is to be there",
			results: []*result{{test: "TestA", outcome: fail, asks: plan}}, expected: differs, problem: "it does not say: deletes",
		},
		{
			name: "not about decisions", why: "it has a reason, and runs all the same",
			results: []*result{{test: "TestA", outcome: pass}}, expected: aside,
			verdicts: []string{"pass, not about decisions: queues"},
		},
		{
			name: "not about decisions, fails", why: "then it is about something",
			results: []*result{{test: "TestA", outcome: fail}}, expected: aside, problem: "TestA: fail, which is not",
		},
		{
			name: "about decisions by now", why: "it asks for a plan",
			results: []*result{{test: "TestA", outcome: pass, asks: plan}}, expected: aside,
			problem: "TestA: not about decisions, but it asks for: Plan",
		},
		{
			name: "gone", why: "the controller has the test no more", expected: aside, problem: "TestA: there is no such test",
		},
		{
			name: "no such entry", why: "only the table of differences explains",
			results:  []*result{{test: "TestA", outcome: fail, asks: plan, said: []string{"x"}}},
			expected: []expectation{{test: "TestA", entry: "whatever", fails: []string{"x"}}}, problem: "TestA: is to have an entry",
		},
		{
			name: "subtests", why: "a test fails with its subtest, which is explained",
			results: []*result{
				{test: "TestB", outcome: fail, subtests: 2}, {test: "TestB/one", outcome: pass, asks: plan},
				{test: "TestB/two", outcome: fail, asks: plan, said: []string{"x"}},
			},
			expected: []expectation{{test: "TestB/two", refused: "both budgets are 0", fails: []string{"x"}}},
			verdicts: []string{"2 subtests", "pass", "refused: both budgets are 0: “x”"},
		},
		{
			name: "refused, and fails otherwise", why: "each line is to be explained",
			results:  []*result{{test: "TestA", outcome: fail, asks: plan, said: []string{"y"}}},
			expected: []expectation{{test: "TestA", refused: "both budgets are 0", fails: []string{"x"}}}, problem: "a spec that is refused: y",
		},
		{
			name: "not about decisions, with what fails", why: "such a test passes",
			results:  []*result{{test: "TestA", outcome: fail, said: []string{"x"}}},
			expected: []expectation{{test: "TestA", aside: "queues", fails: []string{"x"}}}, problem: "TestA: is to have an entry",
		},
		{
			name: "fails beside its subtests", why: "none of them explains that",
			results: []*result{{test: "TestB", outcome: fail, subtests: 1}, {test: "TestB/one", outcome: pass, asks: plan}},
			problem: "TestB: fails, and nothing explains it",
		},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		if test.why == "" || seen[test.name] {
			t.Fatalf("row %q needs a reason and a name of its own", test.name)
		}
		seen[test.name] = true
		rows, _, problems := judge(test.results, test.expected)
		if got := strings.Join(problems, "\n"); test.problem == "" && got != "" || !strings.Contains(got, test.problem) {
			t.Errorf("%s: %s: problems %q, want %q", test.name, test.why, got, test.problem)
		}
		var verdicts []string
		for _, r := range rows {
			verdicts = append(verdicts, r.verdict)
		}
		if diff := cmp.Diff(test.verdicts, verdicts); test.problem == "" && diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", test.name, test.why, diff)
		}
	}
}

func TestJudgeCounts(t *testing.T) {
	_, sum, _ := judge([]*result{
		{test: "TestA", outcome: "pass", asks: []string{"Plan"}},
		{test: "TestB", outcome: "pass", subtests: 1}, {test: "TestB/one", outcome: "pass"},
		{test: "TestC", outcome: "fail", said: []string{"x"}},
	}, []expectation{{test: "TestB/one", aside: "queues"}, {test: "TestC", entry: "deleted-once", fails: []string{"x"}}})
	if want := (tally{functions: 3, subtests: 1, above: 1, pass: 1, differ: 1, aside: 1}); sum != want {
		t.Errorf("got %+v, want %+v", sum, want)
	}
}
