package domain_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"pgregory.net/rapid"

	_ "github.com/daemonplan/daemonplan/internal/fixedseed"
	"github.com/daemonplan/daemonplan/rollout/domain"
)

func number(n int32) *intstr.IntOrString { return new(intstr.FromInt32(n)) }

func percent(s string) *intstr.IntOrString { return new(intstr.FromString(s)) }

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		name, why string
		of        domain.Domain
		want      []string
	}{
		{"max", "one bound is enough", domain.Domain{Max: number(1)}, nil},
		{"atOnce", "one bound is enough", domain.Domain{Key: "zone", AtOnce: 1}, nil},
		{"neither", "it would bound nothing", domain.Domain{Key: "zone"}, []string{
			"domains[0].max: Required value: max or atOnce is needed: a domain without either bounds nothing",
		}},
		{"max 0", "no node could be updated", domain.Domain{Max: number(0)}, []string{
			`domains[0].max: Invalid value: "0": must be at least 1: no node could ever be updated`,
		}},
		{"max 0%", "no node could be updated", domain.Domain{Max: percent("0%")}, []string{
			`domains[0].max: Invalid value: "0%": must be at least 1: no node could ever be updated`,
		}},
		{"max 101%", "more than all", domain.Domain{Max: percent("101%")}, []string{
			`domains[0].max: Invalid value: "101%": must not be more than 100%`,
		}},
		{"max 100%", "all", domain.Domain{Max: percent("100%")}, nil},
		{"max in words", "it is no number", domain.Domain{Max: percent("many")}, []string{
			`domains[0].max: Invalid value: "many": must be an integer or a percentage such as "10%"`,
		}},
		{"atOnce without key", "there is one domain", domain.Domain{AtOnce: 1}, []string{
			"domains[0].atOnce: Invalid value: 1: needs key: without one there is only one domain",
		}},
		{"negative atOnce", "", domain.Domain{Key: "zone", AtOnce: -1}, []string{
			"domains[0].atOnce: Invalid value: -1: must not be negative",
		}},
		{"key", "it is a label", domain.Domain{Key: "no label", Max: number(1)}, []string{
			`domains[0].key: Invalid value: "no label": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and ` +
				`end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is ` +
				`'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
		}},
		{
			"selector", "an operator that there is not",
			domain.Domain{Max: number(1), Selector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Like"}}}},
			[]string{`domains[0].selector.matchExpressions[0].operator: Invalid value: "Like": not a valid selector operator`},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, err := range domain.Validate([]domain.Domain{c.of}, field.NewPath("domains")) {
				got = append(got, err.Error())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s, -want +got:\n%s", c.why, diff)
			}
			if _, err := domain.Compile([]domain.Domain{c.of}); (err != nil) != (len(c.want) > 0) {
				t.Errorf("Compile: %v", err)
			}
		})
	}
	if errs := domain.Validate(slices.Repeat([]domain.Domain{{Max: number(1)}}, 17), nil); len(errs) != 1 {
		t.Errorf("17 domains: %v", errs)
	}
	if d, err := domain.Compile(nil); d != nil || err != nil || d.Len() != 0 {
		t.Errorf("none: %v, %v", d, err)
	}
}

func TestDeepCopy(t *testing.T) {
	of := domain.Domain{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}, Max: number(1)}
	same := of.DeepCopy()
	same.Selector.MatchLabels["a"] = "c"
	*same.Max = *number(2)
	if of.Selector.MatchLabels["a"] != "b" || of.Max.IntValue() != 1 {
		t.Errorf("the copy shares memory: %+v", of)
	}
}

func compile(t interface{ Fatal(...any) }, domains ...domain.Domain) *domain.Domains {
	d, err := domain.Compile(domains)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Nodes are in one cell exactly if they are in the same domains with the same values.
func TestCells(t *testing.T) {
	cells := compile(t,
		domain.Domain{Key: "rack", Max: number(1)},
		domain.Domain{Key: "zone", AtOnce: 1, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"pool": "gpu"}}},
		domain.Domain{Max: number(3)},
	).NewCells()
	got := []int32{
		cells.Of(map[string]string{"rack": "r1", "zone": "a"}), cells.Of(map[string]string{"rack": "r1", "zone": "b"}),
		cells.Of(map[string]string{"rack": "r2"}), cells.Of(nil), cells.Of(map[string]string{"rack": ""}),
		cells.Of(map[string]string{"rack": "r1", "zone": "a", "pool": "gpu"}), cells.Of(map[string]string{"rack": "r1", "zone": "b", "pool": "gpu"}),
		cells.Of(map[string]string{"rack": "r1"}),
	}
	if want := []int32{0, 0, 1, 2, 2, 3, 4, 0}; !slices.Equal(got, want) {
		t.Errorf("cells %v, want %v", got, want)
	}
	want := []domain.Value{{0, "r1"}, {2, ""}, {0, "r2"}, {0, ""}, {1, "a"}, {1, "b"}}
	if diff := cmp.Diff(want, cells.Values()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if v := cells.Value(0, 1); v != domain.None {
		t.Errorf("a node that is not selected has the value %d", v)
	}
	more := cells.Clone()
	if n := cells.Len(); more.Of(map[string]string{"rack": "new"}) != int32(n) || cells.Len() != n || len(cells.Values()) != len(want) {
		t.Error("a clone changes what it was made from")
	}
}

func TestSameCells(t *testing.T) {
	of := domain.Domain{Key: "rack", Max: number(1)}
	one := compile(t, of)
	for name, c := range map[string]struct {
		other *domain.Domains
		want  bool
	}{
		"itself":        {one, true},
		"other bounds":  {compile(t, domain.Domain{Key: "rack", AtOnce: 3}), true},
		"another key":   {compile(t, domain.Domain{Key: "zone", Max: number(1)}), false},
		"two":           {compile(t, of, of), false},
		"none":          {nil, false},
		"some selected": {compile(t, domain.Domain{Key: "rack", Max: number(1), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}}), false},
	} {
		if got := one.SameCells(c.other); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	var none *domain.Domains
	if !none.SameCells(nil) {
		t.Error("none and none differ")
	}
}

// The ledger agrees with one that counts from the labels each time.
func TestLedgerProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.SampledFrom([]domain.Domain{
			{Key: "rack", Max: number(1)}, {Key: "rack", Max: percent("40%")}, {Key: "zone", AtOnce: 1}, {Key: "zone", AtOnce: 2, Max: number(2)},
			{Max: number(3)}, {Key: "rack", AtOnce: 1, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"zone": "a"}}},
		}), 1, 4).Draw(t, "domains")
		domains := compile(t, list...)
		cells := domains.NewCells()
		type node struct {
			labels   map[string]string
			cell     int32
			disturbs bool
		}
		var nodes []node
		for range rapid.IntRange(0, 12).Draw(t, "nodes") {
			set := map[string]string{}
			for _, key := range []string{"rack", "zone"} {
				if v := rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, key); v != "" {
					set[key] = v
				}
			}
			nodes = append(nodes, node{labels: set, cell: cells.Of(set)})
		}
		desired := make([]int32, cells.Len())
		for _, n := range nodes {
			desired[n.cell]++
		}
		ledger := domain.NewLedger(domains, cells, desired)
		full := func(n node) bool {
			for _, d := range list {
				if d.Selector != nil && n.labels["zone"] != "a" {
					continue
				}
				size, taken, values := 0, 0, map[string]bool{}
				for _, m := range nodes {
					if d.Selector != nil && m.labels["zone"] != "a" {
						continue
					}
					same := m.labels[d.Key] == n.labels[d.Key]
					if same {
						size++
					}
					if m.disturbs {
						values[m.labels[d.Key]] = true
						if same {
							taken++
						}
					}
				}
				if d.Max != nil {
					most, err := intstr.GetScaledValueFromIntOrPercent(d.Max, size, true)
					if err != nil || taken >= most {
						return true
					}
				}
				if d.AtOnce > 0 && !values[n.labels[d.Key]] && len(values) >= int(d.AtOnce) {
					return true
				}
			}
			return false
		}
		for i := range nodes {
			for j := range nodes {
				value, got := ledger.Full(nodes[j].cell)
				if want := full(nodes[j]); got != want {
					t.Fatalf("node %d is full: %t (value %d), want %t", j, got, value, want)
				}
			}
			if rapid.Bool().Draw(t, "disturbs") {
				nodes[i].disturbs = true
				ledger.Add(nodes[i].cell)
			}
		}
	})
}

func ExampleLedger() {
	domains, err := domain.Compile([]domain.Domain{{Key: "rack", Max: new(intstr.FromString("50%"))}})
	if err != nil {
		fmt.Println(err)
		return
	}
	cells := domains.NewCells()
	cell := cells.Of(map[string]string{"rack": "r7"})
	ledger := domain.NewLedger(domains, cells, []int32{3}) // three nodes of the rack are to run the pod
	for range 3 {
		value, full := ledger.Full(cell)
		if full {
			fmt.Printf("full: %+v\n", ledger.Usage(value))
			return
		}
		ledger.Add(cell)
	}
	// Output: full: {Desired:3 Max:2 Taken:2 AtOnce:0 Disturbed:1}
}
