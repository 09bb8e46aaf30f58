package canary_test

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/rollout/canary"
)

// TestFewerAreWanted holds that of many nodes chosen before the updated ones stay, then the first by name, however many are
// wanted (C1).
func TestFewerAreWanted(t *testing.T) {
	const chosen = 60
	byName := map[string]canary.Candidate{}
	var names, updated, others []string
	for i := range chosen {
		c := canary.Candidate{Name: fmt.Sprintf("n%02d", i), Updated: i%3 == 2}
		byName[c.Name] = c
		names = append(names, c.Name)
		if c.Updated {
			updated = append(updated, c.Name)
		} else {
			others = append(others, c.Name)
		}
	}
	slices.Reverse(names)
	for wanted := 1; wanted < chosen; wanted++ {
		got := canary.Choose(canary.Options{Replicas: new(intstr.FromInt32(int32(wanted)))}, canary.Choosing{
			Desired: chosen, Chosen: names,
			Find: func(name string) (canary.Candidate, bool) { c, ok := byName[name]; return c, ok },
		})
		want := slices.Sorted(slices.Values(slices.Concat(updated, others)[:wanted]))
		if !slices.Equal(got.Nodes, want) {
			t.Errorf("of %d %v stay, want %v", wanted, got.Nodes, want)
		}
	}
}

// TestFindNeedNotNameTheNode holds that the name that Find was asked for counts, not the one in the candidate.
func TestFindNeedNotNameTheNode(t *testing.T) {
	got := canary.Choose(canary.Options{}, canary.Choosing{
		Desired: 3, Chosen: []string{"a"},
		Find: func(string) (canary.Candidate, bool) { return canary.Candidate{}, true },
	})
	if !slices.Equal(got.Nodes, []string{"a"}) {
		t.Errorf("%q", got.Nodes)
	}
}
