package canary_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	_ "github.com/daemonplan/daemonplan/internal/fixedseed"
	"github.com/daemonplan/daemonplan/rollout/canary"
)

// chooser is anything that chooses canary nodes: Choose, the oracle, a planted bug.
type chooser func(canary.Options, canary.Choosing) canary.Choice

// oracleChoose is a naive Choose without groups and heaps: it looks for each next node among all candidates.
func oracleChoose(o canary.Options, in canary.Choosing) canary.Choice {
	wanted := canary.Size(o, in.Desired)
	matches := func(c canary.Candidate) bool {
		if o.NodeSelector != nil {
			for key, value := range o.NodeSelector.MatchLabels {
				if c.Labels[key] != value {
					return false
				}
			}
		}
		return true
	}
	values := func(c canary.Candidate) string {
		var v []string
		for _, key := range o.NodeAntiAffinityKeys {
			v = append(v, fmt.Sprintf("%q", c.Labels[key]))
		}
		return strings.Join(v, ",")
	}
	chosen := make(map[string]canary.Candidate)
	for _, name := range in.Chosen {
		if c, ok := in.Find(name); ok && matches(c) {
			chosen[name] = c
		}
	}
	for len(chosen) > int(wanted) {
		worst := slices.MaxFunc(slices.Collect(maps.Values(chosen)), func(a, b canary.Candidate) int {
			return cmp.Or(compareBool(!a.Updated, !b.Updated), strings.Compare(a.Name, b.Name))
		})
		delete(chosen, worst.Name)
	}
	for len(chosen) < int(wanted) {
		count := make(map[string]int)
		for _, c := range chosen {
			count[values(c)]++
		}
		var best *canary.Candidate
		for c := range in.All {
			if _, taken := chosen[c.Name]; taken || !matches(c) {
				continue
			}
			if best == nil || cmp.Or(
				compareBool(!c.Updated, !best.Updated), cmp.Compare(count[values(c)], count[values(*best)]),
				cmp.Compare(c.Restarts, best.Restarts), strings.Compare(c.Name, best.Name),
			) < 0 {
				best = &c
			}
		}
		if best == nil {
			break
		}
		chosen[best.Name] = *best
	}
	return canary.Choice{Nodes: slices.Sorted(maps.Keys(chosen)), Wanted: wanted}
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

// chooseCase is the input of a choice, and the same input in another order.
type chooseCase struct {
	o                     canary.Options
	all, shuffled         []canary.Candidate
	chosen, chosenAnother []string
	// desired later on.
	desired int32
}

func (c chooseCase) in() canary.Choosing { return choosing(c.all, c.chosen...) }

// anyChoosing has few values, so that there are ties everywhere.
func anyChoosing() *rapid.Generator[chooseCase] {
	labels := rapid.MapOfN(rapid.SampledFrom([]string{"zone", "type"}), rapid.SampledFrom([]string{"", "x", "y", "z"}), 0, 2)
	return rapid.Custom(func(t *rapid.T) chooseCase {
		var c chooseCase
		names := []string{"gone"}
		for i := range rapid.IntRange(0, 12).Draw(t, "candidates") {
			names = append(names, fmt.Sprintf("node-%d", i))
			c.all = append(c.all, canary.Candidate{
				Name:     names[i+1],
				Labels:   labels.Draw(t, "labels"),
				Restarts: rapid.Int32Range(0, 2).Draw(t, "restarts"),
				Updated:  rapid.IntRange(0, 3).Draw(t, "updated") == 0,
			})
		}
		c.all = rapid.Permutation(c.all).Draw(t, "order")
		c.shuffled = rapid.Permutation(c.all).Draw(t, "another order")
		c.chosen = rapid.SliceOfN(rapid.SampledFrom(names), 0, 6).Draw(t, "chosen")
		c.chosenAnother = rapid.Permutation(c.chosen).Draw(t, "chosen in another order")
		c.desired = rapid.Int32Range(0, 20).Draw(t, "desired later")
		c.o.NodeAntiAffinityKeys = rapid.SampledFrom([][]string{nil, {"zone"}, {"zone", "type"}, {"zone", "zone"}}).Draw(t, "keys")
		if replicas := rapid.SampledFrom([]string{"", "1", "3", "5", "30%", "99%", "100%"}).Draw(t, "replicas"); replicas != "" {
			c.o.Replicas = new(intstr.Parse(replicas))
		}
		if rapid.IntRange(0, 2).Draw(t, "selector") == 0 {
			c.o.NodeSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"zone": "x"}}
		}
		return c
	})
}

// chooseProperties are the properties of every choice. Each returns what is wrong.
func chooseProperties() map[string]func(chooser, chooseCase) string {
	return map[string]func(chooser, chooseCase) string{
		"oracle": func(choose chooser, c chooseCase) string {
			got, want := choose(c.o, c.in()), oracleChoose(c.o, c.in())
			if got.Wanted != want.Wanted || !slices.Equal(got.Nodes, want.Nodes) {
				return fmt.Sprintf("chose %v, want %v", got, want)
			}
			return ""
		},
		"size": func(choose chooser, c chooseCase) string {
			got := choose(c.o, c.in())
			if len(got.Nodes) > int(got.Wanted) {
				return fmt.Sprintf("chose %v", got)
			}
			r := c.o.Replicas
			if r != nil && r.Type == intstr.String && r.StrVal != "100%" && len(c.all) > 1 && len(got.Nodes) >= len(c.all) {
				return fmt.Sprintf("%s of %d nodes are all of them", r.StrVal, len(c.all))
			}
			return ""
		},
		"sticky": func(choose chooser, c chooseCase) string {
			first := choose(c.o, c.in())
			changed := slices.Clone(c.all)
			for i := range changed {
				changed[i].Restarts = 2 - changed[i].Restarts
			}
			in := choosing(changed, first.Nodes...)
			in.Desired = c.desired
			second := choose(c.o, in)
			kept := 0
			for _, name := range first.Nodes {
				if slices.Contains(second.Nodes, name) {
					kept++
				}
			}
			if kept != min(len(first.Nodes), int(second.Wanted)) {
				return fmt.Sprintf("chose %v and then %v", first, second)
			}
			return ""
		},
		"order": func(choose chooser, c chooseCase) string {
			first := choose(c.o, c.in())
			second := choose(c.o, choosing(c.shuffled, c.chosenAnother...))
			if !slices.Equal(first.Nodes, second.Nodes) {
				return fmt.Sprintf("chose %v, in another order %v", first, second)
			}
			return ""
		},
	}
}

func TestChooseProperties(t *testing.T) {
	for name, property := range chooseProperties() {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				if wrong := property(canary.Choose, anyChoosing().Draw(t, "choosing")); wrong != "" {
					t.Fatal(wrong)
				}
			})
		})
	}
}
