package canary_test

import (
	"iter"
	"math"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/rollout/canary"
)

func TestSize(t *testing.T) {
	rows := []struct {
		name, why string
		replicas  *intstr.IntOrString
		desired   int32
		want      int32
	}{
		{"default", "C1: one", nil, 10, 1},
		{"integer", "C1: as it is", new(intstr.FromInt32(3)), 10, 3},
		{"all", "whoever says so in numbers means it", new(intstr.FromInt32(10)), 10, 10},
		{"too many", "there are no more nodes, and more wanted than there are would never be found", new(intstr.FromInt32(11)), 10, 10},
		{"percent", "C1: rounded up", new(intstr.FromString("11%")), 10, 2},
		{"percent, even", "C1: nothing to round", new(intstr.FromString("20%")), 10, 2},
		{"percent that floats get wrong", "C1: integer arithmetic", new(intstr.FromString("7%")), 100, 7},
		{"small percent", "C1: no less than 1", new(intstr.FromString("1%")), 10, 1},
		{"99%", "no canary covers every node by accident", new(intstr.FromString("99%")), 10, 9},
		{"50% of one", "there is only one", new(intstr.FromString("50%")), 1, 1},
		{"51% of two", "one is left out", new(intstr.FromString("51%")), 2, 1},
		{"100%", "C1: as it is", new(intstr.FromString("100%")), 10, 10},
		{"no nodes", "C1: no less than 1, so that the trial waits for one", nil, 0, 1},
		{"many of no nodes", "the same", new(intstr.FromInt32(5)), 0, 1},
		{"percent of no nodes", "the same; ExtendedDaemonSet skips its canary", new(intstr.FromString("50%")), 0, 1},
		{"negative number of nodes", "it is no number of nodes", new(intstr.FromString("50%")), -7, 1},
		{"most nodes", "no overflow", new(intstr.FromString("100%")), math.MaxInt32, math.MaxInt32},
		{"almost most nodes", "no overflow", new(intstr.FromString("99%")), math.MaxInt32, 2126008811},
		{"least nodes", "no overflow", new(intstr.FromString("99%")), math.MinInt32, 1},
		{"none", "refused by Validate", new(intstr.FromInt32(0)), 10, 1},
		{"negative", "refused by Validate", new(intstr.FromInt32(-3)), 10, 1},
		{"not a number", "refused by Validate", new(intstr.FromString("many")), 10, 1},
		{"more than all", "refused by Validate", new(intstr.FromString("101%")), 10, 1},
	}
	unique := make(uniqueRows)
	for _, row := range rows {
		unique.check(t, row.name, row.why)
		t.Run(row.name, func(t *testing.T) {
			o := canary.Options{Replicas: row.replicas}
			if got := canary.Size(o, row.desired); got != row.want {
				t.Errorf("%s: %d, want %d", row.why, got, row.want)
			}
			in := canary.Choosing{Desired: row.desired}
			if got := canary.Choose(o, in); got.Wanted != row.want || len(got.Nodes) != 0 {
				t.Errorf("%s: chose %v", row.why, got)
			}
		})
	}
}

// nodesOf reads candidates from words: "b/zone=x,type=y:3!" is node b with two labels, three restarts, and updated.
func nodesOf(words string) []canary.Candidate {
	var list []canary.Candidate
	for word := range strings.FieldsSeq(words) {
		var c canary.Candidate
		word, c.Updated = strings.CutSuffix(word, "!")
		word, restarts, _ := strings.Cut(word, ":")
		for _, digit := range restarts {
			c.Restarts = 10*c.Restarts + digit - '0'
		}
		word, labels, _ := strings.Cut(word, "/")
		c.Name, c.Labels = word, make(map[string]string)
		for label := range strings.SplitSeq(labels, ",") {
			if key, value, ok := strings.Cut(label, "="); ok {
				c.Labels[key] = value
			}
		}
		list = append(list, c)
	}
	return list
}

// choosing of candidates.
func choosing(all []canary.Candidate, chosen ...string) canary.Choosing {
	return canary.Choosing{
		Desired: int32(len(all)),
		Chosen:  chosen,
		Find: func(name string) (canary.Candidate, bool) {
			i := slices.IndexFunc(all, func(c canary.Candidate) bool { return c.Name == name })
			if i < 0 {
				return canary.Candidate{}, false
			}
			return all[i], true
		},
		All: slices.Values(all),
	}
}

func TestChoose(t *testing.T) {
	zone, both := []string{"zone"}, []string{"zone", "type"}
	matching := func(key, value string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
	}
	rows := []struct {
		name, why  string
		replicas   int32
		keys       []string
		selector   *metav1.LabelSelector
		candidates string
		chosen     string
		want       string
	}{
		{"by name", "C1: the last thing to go by", 2, nil, nil, "c b a", "", "a b"},
		{"fewest restarts", "C1: before the name", 2, nil, nil, "a:2 b:1 c:0 d:1", "", "b c"},
		{"spread", "C1: before the restarts: each from the value with the fewest chosen", 3, zone, nil,
			"a/zone=x b/zone=x c/zone=y:9 d/zone=z:5", "", "a c d"},
		{"spread, second round", "C1: then each value a second time, by restarts", 4, zone, nil,
			"a/zone=x b/zone=x:3 c/zone=y:9 d/zone=y:9 e/zone=x:2", "", "a c d e"},
		{"spread where there is one value", "C1: it takes what there is", 2, zone, nil, "a/zone=x b/zone=x", "", "a b"},
		{"exhausted value", "C1: then from the others", 3, zone, nil, "a/zone=x b/zone=y c/zone=y", "", "a b c"},
		{"no such label", "C1: a node without it has the value \"\"", 2, zone, nil, "a b c/zone=x:9", "", "a c"},
		{"two keys", "C1: the values together are what counts", 3, both, nil,
			"a/zone=x,type=p b/zone=x,type=p c/zone=x,type=q:7 d/zone=y,type=p:8", "", "a c d"},
		{"values that run together", "the tuples ab,c and a,bc are two", 2, both, nil,
			"a/zone=ab,type=c b/zone=ab,type=c c/zone=a,type=bc:9", "", "a c"},
		{"sticky", "C1: chosen nodes stay chosen, however often they restarted", 2, nil, nil, "a b c:9", "c", "a c"},
		{"sticky, twice", "a name that comes twice counts once", 2, nil, nil, "a b c:9", "c c", "a c"},
		{"sticky nodes count", "C1: for the spread, too", 2, zone, nil, "a/zone=x b/zone=x c/zone=y:9", "b", "b c"},
		{"gone", "C1: a node that is no candidate any more is replaced", 2, nil, nil, "a b", "c b", "a b"},
		{"selector", "C1: only those that match", 2, nil, matching("zone", "x"), "a b/zone=x c/zone=y", "", "b"},
		{"selector, chosen", "C1: one that no longer matches is replaced", 1, nil, matching("zone", "x"), "a/zone=x b", "b", "a"},
		{"selected nodes only", "C1: the others use no quota", 2, zone, matching("type", "p"),
			"a/zone=x b/zone=x,type=p c/zone=y,type=p:9 d/zone=x,type=p", "a", "b c"},
		{"empty selector", "it matches all", 1, nil, &metav1.LabelSelector{}, "a b", "", "a"},
		{"invalid selector", "refused by Validate; it matches none", 1, nil,
			&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "zone", Operator: "Equals"}}}, "a b", "b", ""},
		{"updated first", "C6: a canary whose record was lost starts again there", 2, zone, nil,
			"a/zone=x b/zone=y c/zone=x:7! d/zone=x:8!", "", "c d"},
		{"updated, spread", "C1: among those that are updated as among the others", 2, zone, nil,
			"a/zone=x! b/zone=x! c/zone=y:9! d", "", "a c"},
		{"updated count", "C1: they count for those that come after", 3, zone, nil,
			"a/zone=x b/zone=y:9 c/zone=x:5! d/zone=x", "", "a b c"},
		{"sticky before updated", "C1: chosen nodes stay chosen", 1, nil, nil, "a! b", "b", "b"},
		{"fewer wanted", "those that are updated stay", 2, nil, nil, "a b c! d:3", "a b c d", "a c"},
		{"fewer wanted, all updated", "then by name", 1, nil, nil, "c! b!", "c b", "b"},
		{"fewer wanted, none updated", "then by name", 1, nil, nil, "c b", "c b", "b"},
		{"too few", "C1: those there are", 5, nil, nil, "b a", "", "a b"},
		{"none", "C1: none", 1, nil, nil, "", "a", ""},
		{"a node that comes twice", "it is chosen once", 2, zone, nil, "a/zone=x a/zone=y b:9", "", "a b"},
	}
	unique := make(uniqueRows)
	for _, row := range rows {
		unique.check(t, row.name, row.why)
		t.Run(row.name, func(t *testing.T) {
			o := canary.Options{
				Replicas: new(intstr.FromInt32(row.replicas)), NodeSelector: row.selector, NodeAntiAffinityKeys: row.keys,
			}
			in := choosing(nodesOf(row.candidates), strings.Fields(row.chosen)...)
			in.Desired = 100
			got := canary.Choose(o, in)
			if text := strings.Join(got.Nodes, " "); text != row.want || got.Wanted != row.replicas {
				t.Errorf("%s: chose %q of %d, want %q of %d", row.why, text, got.Wanted, row.want, row.replicas)
			}
		})
	}
}

// TestChooseAsksSparingly holds that Choose does not walk over the nodes if those chosen before are enough.
func TestChooseAsksSparingly(t *testing.T) {
	asked := 0
	counting := func(all []canary.Candidate) iter.Seq[canary.Candidate] {
		return func(yield func(canary.Candidate) bool) {
			asked++
			slices.Values(all)(yield)
		}
	}
	all := nodesOf("a b c")
	for chosen, want := range map[string]int{"a": 1, "a b": 0, "a b c": 0, "a x": 1} {
		in := choosing(all, strings.Fields(chosen)...)
		asked, in.All = 0, counting(all)
		canary.Choose(canary.Options{Replicas: new(intstr.FromInt32(2))}, in)
		if asked != want {
			t.Errorf("with %q chosen all candidates were asked for %d times, want %d", chosen, asked, want)
		}
	}
}

// TestChooseWithoutSources holds that a nil Find or All yields no nodes.
func TestChooseWithoutSources(t *testing.T) {
	in := choosing(nodesOf("a b"), "b")
	in.All = nil
	if got := canary.Choose(canary.Options{Replicas: new(intstr.FromInt32(2))}, in); !slices.Equal(got.Nodes, []string{"b"}) {
		t.Errorf("without All chose %v", got.Nodes)
	}
	in = choosing(nodesOf("a b"), "b")
	in.Find = nil
	if got := canary.Choose(canary.Options{}, in); !slices.Equal(got.Nodes, []string{"a"}) {
		t.Errorf("without Find chose %v", got.Nodes)
	}
}
