package main

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestPlan(t *testing.T) {
	ms := func(costs ...int) []*test {
		var tests []*test
		for i, cost := range costs {
			tests = append(tests, &test{name: string(rune('a' + i)), cost: time.Duration(cost) * time.Millisecond})
		}
		return tests
	}
	tests := []struct {
		name      string
		why       string
		tests     []*test
		favourite int // index; -1: none
		effort    time.Duration
		want      string
		left      int
	}{
		{name: "one run", why: "a process for each would cost more than they do", tests: ms(10, 20, 30), favourite: -1, want: "abc"},
		{
			name: "growing", why: "most mutants fall to the first tests; the last ones are not divided further",
			tests: ms(100, 100, 100, 300, 500, 600, 9000), favourite: -1, want: "ab cde f g",
		},
		{
			name: "favourite", why: "what killed the last mutant of a function kills the next, too",
			tests: ms(100, 100, 100), favourite: 2, want: "ca b",
		},
		{name: "slow favourite", why: "the others may be faster all together", tests: ms(100, 100, 2000), favourite: 2, want: "ab c"},
		{
			name: "effort", why: "what goes beyond it is left out, and all that costs more",
			tests: ms(100, 200, 300, 400), favourite: -1, effort: 600 * time.Millisecond, want: "a bc", left: 1,
		},
		{
			name: "dear", why: "one test is run whatever it costs, or the mutant would count as alive",
			tests: ms(500, 600), favourite: -1, effort: 100 * time.Millisecond, want: "a", left: 1,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			favourite := candidate(test.tests, test.favourite)
			runs, left := plan(test.tests, favourite, test.effort)
			var words []string
			for _, run := range runs {
				word := ""
				for _, t := range run {
					word += t.name
				}
				words = append(words, word)
			}
			if got := strings.Join(words, " "); got != test.want || left != test.left {
				t.Errorf("%q and %d left, want %q and %d: %s", got, left, test.want, test.left, test.why)
			}
		})
	}
}

// candidate is nil for -1.
func candidate(tests []*test, i int) *test {
	if i < 0 {
		return nil
	}
	return tests[i]
}

func TestReadDiff(t *testing.T) {
	diff := `diff --git a/p/a.go b/p/a.go
--- a/p/a.go
+++ b/p/a.go
@@ -3 +3,2 @@ func f() {
-	old
+	new
+	newer
@@ -9,2 +10,0 @@
-	gone
-	gone
diff --git a/p/gone.go b/p/gone.go
--- a/p/gone.go
+++ /dev/null
@@ -1,3 +0,0 @@
diff --git a/q/b_test.go b/q/b_test.go
--- a/q/b_test.go
+++ b/q/b_test.go
@@ -0,0 +1 @@
+package q
`
	changed := readDiff(diff)
	for line := range 12 {
		want := line == 3 || line == 4
		if changed.touches("p", &mutant{File: "a.go", Line: line}) != want {
			t.Errorf("line %d: changed is not %v", line, want)
		}
	}
	if !changed.inside("p") {
		t.Error("p did not change")
	}
	if changed.inside("q") {
		t.Error("tests can be changed without making a mutant")
	}
}

func TestReadSeen(t *testing.T) {
	reaches, err := readSeen([]byte("3 0\n4 1\n3 1\n5 0\n"))
	if err != nil || len(reaches) != 3 || !reaches[3] || !reaches[4] || reaches[5] {
		t.Error(reaches, err)
	}
	if _, err := readSeen([]byte("three 0\n")); err == nil {
		t.Error("what cannot be read says nothing about a mutant")
	}
}

func TestInParallel(t *testing.T) {
	var done [20]bool
	if err := inParallel(3, len(done), func(i int) error { done[i] = true; return nil }); err != nil || slices.Contains(done[:], false) {
		t.Error(done, err)
	}
	fault := errors.New("fault")
	calls := 0
	if err := inParallel(1, 20, func(i int) error { calls++; return fault }); !errors.Is(err, fault) || calls != 1 {
		t.Error(calls, err)
	}
}
