//go:build teeth

package canary_test

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/rollout/canary"
)

// TestChoosePropertiesReject shows that each property finds a bug that is planted for it.
func TestChoosePropertiesReject(t *testing.T) {
	reading := func(change func(*canary.Options, *canary.Choosing)) chooser {
		return func(o canary.Options, in canary.Choosing) canary.Choice {
			change(&o, &in)
			return canary.Choose(o, in)
		}
	}
	each := func(change func(*canary.Candidate)) chooser {
		return reading(func(_ *canary.Options, in *canary.Choosing) {
			all := slices.Collect(in.All)
			for i := range all {
				change(&all[i])
			}
			in.All = slices.Values(all)
		})
	}
	mutants := []struct {
		name, why, property string
		choose              chooser
	}{
		{"no spread", "C1: fewest of a value first", "oracle",
			reading(func(o *canary.Options, _ *canary.Choosing) { o.NodeAntiAffinityKeys = nil })},
		{"restarts forgotten", "C1: fewest restarts first", "oracle", each(func(c *canary.Candidate) { c.Restarts = 0 })},
		{"updated forgotten", "C6: those that are updated first", "oracle", each(func(c *canary.Candidate) { c.Updated = false })},
		{"selector forgotten", "C1: only those that match", "oracle",
			reading(func(o *canary.Options, _ *canary.Choosing) { o.NodeSelector = nil })},
		{"nothing sticks", "C1: chosen nodes stay chosen", "sticky",
			reading(func(_ *canary.Options, in *canary.Choosing) { in.Chosen = nil })},
		{"surplus kept", "no more than wanted", "size", func(o canary.Options, in canary.Choosing) canary.Choice {
			c := canary.Choose(o, in)
			for _, name := range in.Chosen {
				if _, ok := in.Find(name); ok && !slices.Contains(c.Nodes, name) {
					c.Nodes = append(c.Nodes, name)
				}
			}
			return c
		}},
		{"first come, first chosen", "the order of candidates must not matter", "order",
			func(o canary.Options, in canary.Choosing) canary.Choice {
				c := canary.Choice{Wanted: canary.Size(o, in.Desired)}
				for candidate := range in.All {
					if len(c.Nodes) < int(c.Wanted) {
						c.Nodes = append(c.Nodes, candidate.Name)
					}
				}
				return c
			}},
		{"99% are all", "a percentage leaves out one node", "size", func(o canary.Options, in canary.Choosing) canary.Choice {
			if r := o.Replicas; r != nil && r.StrVal == "99%" {
				o.Replicas = new(intstr.FromString("100%"))
			}
			return canary.Choose(o, in)
		}},
	}
	properties := chooseProperties()
	found := make(map[string]bool)
	unique := make(uniqueRows)
	for _, m := range mutants {
		unique.check(t, m.name, m.why)
		t.Run(m.name, func(t *testing.T) {
			for seed := range 2000 {
				if properties[m.property](m.choose, anyChoosing().Example(seed)) != "" {
					found[m.property] = true
					return
				}
			}
			t.Errorf("property %s accepts the bug: %s", m.property, m.why)
		})
	}
	for name := range properties {
		if !found[name] {
			t.Errorf("no planted bug shows that property %s can fail", name)
		}
	}
}
