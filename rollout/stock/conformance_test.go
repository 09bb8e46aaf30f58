package stock_test

import (
	"slices"
	"testing"

	"github.com/daemonplan/daemonplan/internal/conformance"
	"github.com/daemonplan/daemonplan/internal/conformance/peer"
)

// TestConformance compares whole plans with recorded decisions of the controller, with several seeds: a plan is one sync, and no
// difference is accounted for.
func TestConformance(t *testing.T) {
	repairs, updates := 0, 0
	for _, c := range recorded(t) {
		want := oneSync(c.Expected())
		repairs += len(want.Manage.Creates.Possible()) + len(want.Manage.Fates.Possible())
		updates += len(want.Roll.Creates.Possible()) + len(want.Roll.Fates.Possible())
		for seed := range uint64(3) {
			if got := decided(t, c, seed); !want.Permits(got) {
				t.Errorf("%s, seed %d: decided %+v, but the controller %v", c.Name, seed, got, want)
			}
		}
	}
	if repairs < 100 || updates < 100 {
		t.Errorf("%d repairs and %d updates: too few to compare", repairs, updates)
	}
}

// recorded are the decisions of the controller whose spec the API server takes.
func recorded(t *testing.T) (cases []*peer.Case) {
	t.Helper()
	for _, file := range []string{"kubernetes/decisions.jsonl", "kubernetes/varying.jsonl", "kubernetes/surprises.jsonl"} {
		for name, line := range conformance.Lines(t, file) {
			c, err := peer.Decode(line)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			spec, err := c.Spec()
			if err != nil {
				t.Fatal(err)
			}
			if c.Refused(spec) == "" {
				cases = append(cases, c)
			}
		}
	}
	return cases
}

// decided is the plan for the case, as far as it can be compared.
func decided(t *testing.T, c *peer.Case, seed uint64) peer.Decided {
	t.Helper()
	spec, err := c.Spec()
	if err != nil {
		t.Fatal(err)
	}
	plan := planFor(t, spec, seed, c.Snapshot())
	if len(plan.Decisions) < len(c.Nodes) {
		t.Errorf("%s: %d decisions about %d nodes", c.Name, len(plan.Decisions), len(c.Nodes))
	}
	d := peer.DecidedBy(plan)
	slices.Sort(d.Creates)
	slices.Sort(d.Fates)
	return d
}

// oneSync returns what one sync does of both phases: what repairs, or if there is nothing to repair, what updates.
func oneSync(all peer.Outcome) peer.Outcome {
	if repairs := all.Manage; len(repairs.Creates.Possible())+len(repairs.Fates.Possible()) > 0 {
		all.Roll = peer.Phase{}
	} else {
		all.Manage = peer.Phase{}
	}
	return all
}
