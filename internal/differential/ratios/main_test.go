package main

import (
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
			want: "Decision steady: plan / controller 1000 500 50000 100.0x 25x 299256 25000000 24 192816\n" +
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
			if err := run(strings.NewReader(row.in), &out); err != nil {
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
