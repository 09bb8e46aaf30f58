package canary_test

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/rollout/canary"
)

// TestFewerAreWanted: of many nodes chosen before, those that are updated stay, then by name (C1).
func TestFewerAreWanted(t *testing.T) {
	const chosen, wanted = 60, 40
	updated := func(i int) bool { return i%3 == 2 }
	byName := map[string]canary.Candidate{}
	var names, want []string
	for i := range chosen {
		name := fmt.Sprintf("n%02d", i)
		byName[name] = canary.Candidate{Name: name, Updated: updated(i)}
		names = append(names, name)
		if updated(i) {
			want = append(want, name)
		}
	}
	for i, name := range names {
		if !updated(i) && len(want) < wanted {
			want = append(want, name)
		}
	}
	slices.Sort(want)
	slices.Reverse(names)
	got := canary.Choose(canary.Options{Replicas: new(intstr.FromInt32(wanted))}, canary.Choosing{
		Desired: chosen, Chosen: names,
		Find: func(name string) (canary.Candidate, bool) { c, ok := byName[name]; return c, ok },
	})
	if !slices.Equal(got.Nodes, want) {
		t.Errorf("%v stay, want %v", got.Nodes, want)
	}
}

// TestFindNeedNotNameTheNode: the name that was asked for counts.
func TestFindNeedNotNameTheNode(t *testing.T) {
	got := canary.Choose(canary.Options{}, canary.Choosing{
		Desired: 3, Chosen: []string{"a"},
		Find: func(string) (canary.Candidate, bool) { return canary.Candidate{}, true },
	})
	if !slices.Equal(got.Nodes, []string{"a"}) {
		t.Errorf("%q", got.Nodes)
	}
}
