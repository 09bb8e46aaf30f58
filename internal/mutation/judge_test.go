package main

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestReadJudgements(t *testing.T) {
	tests := []struct {
		name  string
		why   string
		text  string
		want  judgements
		wrong string
	}{
		{
			name: "entries", why: "several mutants may share a reason, which may take several lines",
			text: "# what lives\n\na.go f: x\na.go f: y\n\tspeed: shorter\n\tway\na.go g: z\n\tequivalent: z is 0\n",
			want: judgements{"a.go f: x": "speed: shorter way", "a.go f: y": "speed: shorter way", "a.go g: z": "equivalent: z is 0"},
		},
		{name: "empty", why: "nothing has to be judged", text: "\n# nothing\n", want: judgements{}},
		{name: "no reason", why: "a judgement is its reason", text: "a.go f: x\n", wrong: "without a reason: a.go f: x"},
		{name: "no mutant", why: "a reason is for something", text: "\tspeed: z\n", wrong: ":1: a reason without a mutant"},
		{
			name: "twice", why: "two reasons for one mutant contradict each other, or one is old",
			text: "a.go f: x\n\tspeed: z\na.go f: x\n\tspeed: z\n", wrong: ":3: judged before: a.go f: x",
		},
		{name: "no kind", why: "the kinds are few, so that a reader can look for one", text: "a.go f: x\n\tit is fine\n", wrong: "begins with none of"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "survivors.txt")
			if err := os.WriteFile(name, []byte(test.text), 0o644); err != nil {
				t.Fatal(err)
			}
			got, err := readJudgements(name)
			if test.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), test.wrong) {
					t.Errorf("error %v, want one with %q: %s", err, test.wrong, test.why)
				}
				return
			}
			if err != nil || !maps.Equal(got, test.want) {
				t.Errorf("%v, %v, want %v: %s", got, err, test.want, test.why)
			}
		})
	}
}

// TestJudgementsOfTheLibrary: each judgement is of a mutant that the code of today has.
func TestJudgementsOfTheLibrary(t *testing.T) {
	judged, err := readJudgements("survivors.txt")
	if err != nil {
		t.Fatal(err)
	}
	folders := map[string]bool{}
	for key := range judged {
		file, _, _ := strings.Cut(key, " ")
		folders["./"+path.Dir(file)] = true
	}
	subjects, err := load(filepath.Join("..", ".."), slices.Sorted(maps.Keys(folders)))
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, s := range subjects {
		sites, _ := find(s)
		for _, site := range sites {
			for _, m := range site.mutants {
				there[m.key(s.dir)] = true
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(judged)) {
		if !there[key] {
			t.Errorf("no such mutant any more: %s", key)
		}
	}
}

func TestReport(t *testing.T) {
	m := func(id int, to string) *mutant {
		return &mutant{ID: id, File: "a.go", Function: "f", Operator: "boundary moved", From: "x < y", To: to, Nth: 1, Line: 7}
	}
	records := []*record{
		{Package: "p", Results: []result{
			{Mutant: m(1, "a"), Status: killed}, {Mutant: m(2, "b"), Status: lived}, {Mutant: m(3, "c"), Status: lived},
			{Mutant: m(4, "d"), Status: expired}, {Mutant: m(5, "e"), Status: uncovered}, {Mutant: m(6, "g"), Status: unbuildable},
		}},
		{Package: "q", Results: []result{{Mutant: m(1, "a"), Status: killed}}},
	}
	judged := judgements{"p/a.go f: boundary moved: `x < y` -> `b`": "equivalent: x is never y"}
	text := markdown(records, judged)
	for _, want := range []string{
		"| p | 6 | 4 | 1 | 1 | 2 | 1 | 1 | 50.0 |\n", "| q | 1 | 1 | 1 | 0 | 0 | 0 | 0 | 100.0 |\n",
		"| all | 7 | 5 | 2 | 1 | 2 | 1 | 1 | 60.0 |\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no row %s in\n%s", want, text)
		}
	}
	accepted, open, ok := strings.Cut(text, "## Not judged")
	if !ok || !strings.Contains(accepted, "- a.go f: boundary moved: `x < y` -> `b`\n\n  equivalent: x is never y\n") ||
		!strings.Contains(open, "- `p`: 1, of which in a.go 1\n") {
		t.Error(text)
	}
	if strings.Contains(text, "`a`") || strings.Contains(text, "`e`") {
		t.Errorf("lists what did not live:\n%s", text)
	}
}
