package rollout_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// Quantities are tested through the budget of a plan for that many empty nodes.
func TestScale(t *testing.T) {
	type row struct {
		name, why string
		quantity  string
		desired   int
		want      int32
	}
	tests := []struct {
		name   string
		option func(string) kit.SpecOption
		got    func(rollout.Budget) int32
		rows   []row
	}{
		{
			name: "maxUnavailable", option: kit.MaxUnavailable,
			got: func(b rollout.Budget) int32 { return b.MaxUnavailable },
			rows: []row{
				{"integer", "an integer is taken as it is", "3", 10, 3},
				{"integer beyond desired", "B1: nothing cuts it down", "30", 10, 30},
				{"largest integer", "int32 holds it", "2147483647", 2, math.MaxInt32},
				{"7% of 100", "B1: 7, where a float gives 7.000000000000001 and rounds up to 8", "7%", 100, 7},
				{"1% of 1", "B1: up", "1%", 1, 1},
				{"1% of 99", "B1: up, one below a whole", "1%", 99, 1},
				{"1% of 100", "B1: exact", "1%", 100, 1},
				{"1% of 101", "B1: up, one above a whole", "1%", 101, 2},
				{"29% of 100", "B1: exact, another that floats get wrong", "29%", 100, 29},
				{"33% of 3", "B1: 0.99 is up to 1", "33%", 3, 1},
				{"34% of 3", "B1: 1.02 is up to 2", "34%", 3, 2},
				{"99% of 1", "B1: up", "99%", 1, 1},
				{"100% of 3", "B1: all, and no more", "100%", 3, 3},
				{"50% of none", "B1: a share of no node is none", "50%", 0, 0},
				{"leading zeros", "decimal, not octal", "010%", 100, 10},
			},
		},
		{
			name: "maxSurge", option: kit.MaxSurge,
			got: func(b rollout.Budget) int32 { return b.MaxSurge },
			rows: []row{
				{"integer", "an integer is taken as it is", "3", 10, 3},
				{"7% of 100", "B1: 7, not 8", "7%", 100, 7},
				{"1% of 101", "B1: up", "1%", 101, 2},
				{"100% of 3", "B1: all, and no more", "100%", 3, 3},
				{"50% of none", "B1: a share of no node is none", "50%", 0, 0},
			},
		},
		{
			name: "burst", option: kit.Burst,
			got: func(b rollout.Budget) int32 { return b.Burst },
			rows: []row{
				{"integer", "an integer is taken as it is", "3", 10, 3},
				{"largest integer", "int32 holds it", "2147483647", 2, math.MaxInt32},
				{"7% of 100", "M6: exact", "7%", 100, 7},
				{"1% of 199", "M6: down", "1%", 199, 1},
				{"1% of 200", "M6: exact", "1%", 200, 2},
				{"1% of 201", "M6: down", "1%", 201, 2},
				{"99% of 1", "M6: down, but to no less than 1", "99%", 1, 1},
				{"0% of 10", "M6: no less than 1", "0%", 10, 1},
				{"50% of none", "M6: no less than 1", "50%", 0, 1},
				{"250% of 2", "M6: more than all is allowed", "250%", 2, 5},
				{"largest percentage of 99", "rounded down in 64 bits", "2147483647%", 99, 2126008810},
				{"largest percentage of 100", "the largest that int32 holds", "2147483647%", 100, math.MaxInt32},
				{"largest percentage of 101", "beyond int32 it stays at the largest", "2147483647%", 101, math.MaxInt32},
			},
		},
	}
	for _, tt := range tests {
		rows := uniqueRows{}
		for _, r := range tt.rows {
			rows.check(t, r.name, r.why)
			t.Run(tt.name+"/"+r.name, func(t *testing.T) {
				l := newLab(tt.option(r.quantity))
				for i := range r.desired {
					l.add(on(fmt.Sprintf("n%d", i)))
				}
				if got := tt.got(l.plan(t).Budget); got != r.want {
					t.Errorf("%s of %d nodes is %d, want %d: %s", r.quantity, r.desired, got, r.want, r.why)
				}
			})
		}
	}
}

// The budgets that are not in use are 0, and say so.
func TestScaleUnused(t *testing.T) {
	for _, tt := range []struct {
		name, why string
		spec      []kit.SpecOption
		want      rollout.Budget
	}{
		{"default", "B1: neither set, maxUnavailable is 1; M6: burst is 250", nil,
			rollout.Budget{MaxUnavailable: 1, Burst: 250}},
		{"surge", "B1: with maxSurge, maxUnavailable is 0", []kit.SpecOption{kit.MaxSurge("2")},
			rollout.Budget{MaxSurge: 2, Burst: 250}},
		{"OnDelete", "T5: the budgets take no effect, whatever they say",
			[]kit.SpecOption{kit.MaxSurge("2"), unavailableToo("50%"), kit.OnDelete()}, rollout.Budget{Burst: 250}},
		{"OnDelete with nonsense", "T5: nor does it matter whether they can be read",
			[]kit.SpecOption{kit.MaxSurge("many"), kit.OnDelete()}, rollout.Budget{Burst: 250}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := newLab(tt.spec...).plan(t).Budget; got != tt.want {
				t.Errorf("got %+v, want %+v: %s", got, tt.want, tt.why)
			}
		})
	}
}
