//go:build teeth

package placement_test

import (
	"maps"
	"os"
	"testing"

	"github.com/daemonplan/daemonplan/internal/conformance"
	"github.com/daemonplan/daemonplan/placement"
)

// TestConformanceOverridesRejects shows that the comparison can fail: whatever is changed in what the library does, some
// case is then not explained.
func TestConformanceOverridesRejects(t *testing.T) {
	tests := []struct {
		name, why string
		change    func(*effects)
	}{
		{"resources", "of the template's", func(o *effects) { maps.DeleteFunc(o.Resources, func(_, v string) bool { return v != "{}" }) }},
		{"goes", "elsewhere", func(o *effects) { o.Goes += "x" }},
		{"tolerations", "one fewer", func(o *effects) { o.Tolerations = o.Tolerations[:max(len(o.Tolerations)-1, 0)] }},
		{"marked", "a digest without need, or none with", func(o *effects) { o.Marked = !o.Marked }},
		{"reported", "nothing is malformed", func(o *effects) { o.Reported = nil }},
		{"always up to date", "a removed override goes unnoticed", func(o *effects) { o.UpToDate = true }},
		{"never up to date", "endless replacement", func(o *effects) { o.UpToDate = false }},
		{"sources", "another override", func(o *effects) {
			for _, containers := range o.Sources {
				for name := range containers {
					containers[name] += "x"
				}
			}
		}},
		{"said", "conflicts are kept quiet", func(o *effects) {
			for name := range o.Said {
				o.Said[name] = []string{"valid"}
			}
		}},
	}
	all := overrideCases(t)
	seen := map[string]bool{}
	for _, test := range tests {
		if test.why == "" || seen[test.name] {
			t.Fatalf("row %q needs a reason and a name of its own", test.name)
		}
		seen[test.name] = true
		unexplained := 0
		for _, c := range all {
			ours := c.ours()
			if test.change(&ours); !sameEffects(ours, c.model(allOverrideRules)) {
				unexplained++
			}
		}
		if unexplained == 0 && os.Getenv(conformance.EnvDir) == "" {
			t.Errorf("%s: %s, and every case is still explained", test.name, test.why)
		}
	}
}

// TestConformanceOverrideEntriesReject shows that each invariant of the table can fail, in a case that needs the entry.
func TestConformanceOverrideEntriesReject(t *testing.T) {
	spoil := func(o *effects, overridden *placement.Overridden) {
		o.Goes, o.Tolerations, o.Reported = "", nil, nil
		o.Marked, o.UpToDate = !o.Marked, !o.UpToDate
		for node := range o.Sources {
			o.Sources[node] = map[string]string{"x": "y"}
		}
		overridden.Resources = append(overridden.Resources, placement.Resources{Resources: amounts("cpu", "1", "+cpu", "2")})
	}
	var needed, rejected [overrideRules]int
	for _, c := range overrideCases(t) {
		ours, overridden := c.ours(), c.evaluate()
		explanation := c.explain(ours)
		spoil(&ours, &overridden)
		for r, entry := range overrideEntries {
			if explanation>>r&1 == 0 {
				continue
			}
			needed[r]++
			if entry.broken(c, ours, overridden) != "" {
				rejected[r]++
			}
		}
	}
	for r, entry := range overrideEntries {
		if rejected[r] < needed[r] {
			t.Errorf("%s: the invariant holds for %d of %d spoiled results", entry.id, needed[r]-rejected[r], needed[r])
		}
	}
}

// TestConformanceOverrideVariationsNeedEntries: some variation needs each entry of the table.
func TestConformanceOverrideVariationsNeedEntries(t *testing.T) {
	neededBy := overrideVariations(t, 10)
	for r, entry := range overrideEntries {
		if neededBy[r] == 0 && os.Getenv(conformance.EnvDir) == "" {
			t.Errorf("no variation needs %s", entry.id)
		}
	}
}
