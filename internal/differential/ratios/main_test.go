package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// two implementations, two sizes and a unit that is not asked for, as benchstat prints them.
const table = `goos: linux
pkg: example
,controller,,plan,,,
,sec/op,CI,sec/op,CI,vs base,P
Decision steady 1000,0.05,∞,0.001,∞,~,p=0.1 n=3
geomean,0.05,,0.001,,-98%,

,controller,,plan,,,
,sec/node,CI,sec/node,CI,vs base,P
Decision steady 1000,5e-05,2%,5e-07,1%,-99.00%,p=0.002 n=6
Decision steady 100000,,,1e-06,1%,,
geomean,5e-05,,7e-07,,-98%,

,controller,,plan,,,
,B/op,CI,B/op,CI,vs base,P
Decision steady 1000,2.5e+07,0%,299256,0%,-98.80%,p=0.002 n=6
Decision steady 100000,,,29000000,0%,,

,controller,,plan,,,
,allocs/op,CI,allocs/op,CI,vs base,P
Decision steady 1000,192816,0%,24,0%,-99.99%,p=0.002 n=6
Decision steady 100000,,,24,0%,,
`

func TestRatios(t *testing.T) {
	for _, row := range []struct{ name, why, in, want string }{
		{
			name: "both sides", why: "the ratio is theirs by ours, of time per node, and costs stand beside it", in: table,
			want: "Decision steady: plan / controller 1000 500 50000 100.0x - 299256 25000000 24 192816\n" +
				"Decision steady: plan a node of 100000 costs 2.00x one of 1000, at most 1.5x wanted\n",
		},
		{
			name: "one-sided", why: "a ratio with what was not measured would be infinite",
			in:   strings.ReplaceAll(table, "controller", "other"),
			want: "error: no benchmark ran on both sides",
		},
		{
			name: "nothing", why: "benchmarks that did not run are no success", in: "", want: "error: no benchmark ran on both sides",
		},
		{
			name: "other rows", why: "rows by another key would be read as something else", in: strings.ReplaceAll(table, " 1000,", ","),
			want: `error: row "Decision steady" does not end in a number of nodes`,
		},
		{
			name: "other values", why: "a column that is no number is not the one that is looked for",
			in:   strings.ReplaceAll(table, "5e-05,2%", "fast,2%"),
			want: `error: row "Decision steady 1000", sec/node of controller: strconv.ParseFloat: parsing "fast": invalid syntax`,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			var out strings.Builder
			got := ""
			if _, err := run(strings.NewReader(row.in), &out); err != nil {
				got = "error: " + err.Error()
			} else {
				_, body, _ := strings.Cut(out.String(), "\n")
				for line := range strings.Lines(body) {
					got += strings.Join(strings.Fields(line), " ") + "\n"
				}
			}
			if got != row.want {
				t.Errorf("%s\ngot  %s\nwant %s", row.why, got, row.want)
			}
		})
	}
}

// TestTables: the documents say what a run has found, and nothing is written of a run that lacks a column.
func TestTables(t *testing.T) {
	in := func(impls string) string {
		var b strings.Builder
		for _, unit := range []string{"sec/op", "sec/node"} {
			b.WriteString("," + strings.ReplaceAll(impls, " ", ",,") + ",\n" + strings.Repeat(","+unit+",CI", strings.Count(impls, " ")+1) + "\n")
			for _, scenario := range []string{"steady", "rollout"} {
				b.WriteString("Decision " + scenario + " 1000")
				for i := range strings.Fields(impls) {
					fmt.Fprintf(&b, ",%de-09,1%%", 20000>>(2*i))
				}
				b.WriteString("\n")
			}
			b.WriteString("\n")
		}
		return b.String()
	}
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "docs"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"README.md", "docs/speed.md"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("a\n<!-- table: compare -->\n<!-- end -->\nb\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found, err := run(strings.NewReader(in("controller first warm changed plan touch")), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if err := found.write(folder); err == nil || !strings.Contains(err.Error(), "COMPARE=Decision") {
		t.Errorf("a run without one of the floors is written: %v", err)
	}
	if found, err = run(strings.NewReader(in("controller first warm changed plan touch compare")), io.Discard); err != nil {
		t.Fatal(err)
	}
	if err := found.write(folder); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"README.md": "| at rest | 1,000 | 20 ms | 5.0 ms (4.0×) | 1.2 ms (16×) | 0.31 ms (64×) |\n" +
			"| mid-rollout | 1,000 | 20 ms | 5.0 ms (4.0×) | 1.2 ms (16×) | 0.31 ms (64×) |\n",
		"docs/speed.md": "| at rest | 1,000 | 20,000 | 78 | 5,000 | 1,250 | 312 | 19 | 4.0 |\n" +
			"| mid-rollout | 1,000 | 20,000 | 78 | 5,000 | 1,250 | 312 | 19 | 4.0 |\n",
	} {
		got, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		if _, rows, _ := strings.Cut(string(got), "---|\n"); rows != want+"<!-- end -->\nb\n" {
			t.Errorf("%s: got\n%s\nwant\n%s", name, rows, want)
		}
	}
}
