package stock_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/daemonplan/daemonplan/internal/conformance"
	"github.com/daemonplan/daemonplan/internal/conformance/peer"
	"github.com/daemonplan/daemonplan/rollout/stock"
)

// TestConformance compares whole plans with recorded decisions of the controller, with several seeds: a plan is one sync, and no
// difference is accounted for.
func TestConformance(t *testing.T) {
	repairs, updates := 0, 0
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
			if c.Refused(spec) != "" {
				continue
			}
			want := oneSync(c.Expected())
			repairs += len(want.Manage.Creates.Possible()) + len(want.Manage.Fates.Possible())
			updates += len(want.Roll.Creates.Possible()) + len(want.Roll.Fates.Possible())
			for seed := range uint64(3) {
				if err := same(c, seed, want); err != nil {
					t.Errorf("%s, seed %d: %v", c.Name, seed, err)
				}
			}
		}
	}
	if repairs < 100 || updates < 100 {
		t.Errorf("%d repairs and %d updates: too few to compare", repairs, updates)
	}
}

// same reports how a plan for the case differs from all that the controller may do.
func same(c *peer.Case, seed uint64, want peer.Outcome) error {
	spec, err := c.Spec()
	if err != nil {
		return err
	}
	planner, err := stock.NewKubernetes(spec, seed)
	if err != nil {
		return err
	}
	plan, err := planner.Plan(c.Snapshot())
	if err != nil {
		return err
	}
	if got := peer.DecidedBy(plan); !want.Permits(got) {
		slices.Sort(got.Creates)
		slices.Sort(got.Fates)
		return fmt.Errorf("decided %+v, but the controller %v", got, want)
	}
	if len(plan.Decisions) < len(c.Nodes) {
		return errors.New("there is not one decision for each node")
	}
	return nil
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
