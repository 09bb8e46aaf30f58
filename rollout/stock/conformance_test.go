package stock_test

import (
	"slices"
	"testing"

	"github.com/daemonplan/daemonplan/internal/conformance"
	"github.com/daemonplan/daemonplan/internal/conformance/peer"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/stock"
)

// TestConformance compares whole plans with recorded decisions of the controllers, with several seeds: a plan is one sync, and no
// difference is accounted for.
func TestConformance(t *testing.T) {
	t.Run("kubernetes", func(t *testing.T) { compareWith(t, peer.Kubernetes) })
	t.Run("kruise", func(t *testing.T) { compareWith(t, peer.Kruise) })
}

func compareWith(t *testing.T, controller peer.Controller) {
	t.Helper()
	repairs, updates := 0, 0
	for _, c := range recorded(t, controller) {
		for seed := range uint64(3) {
			got := decided(t, c, seed)
			want := c.Expected().OneSync(got)
			repairs += len(want.Manage.Creates.Possible()) + len(want.Manage.Fates.Possible())
			updates += len(want.Roll.Creates.Possible()) + len(want.Roll.Fates.Possible())
			if !want.Permits(got) {
				t.Errorf("%s, seed %d: decided %+v, but the controller %v", c.Name, seed, got, want)
			}
		}
	}
	if repairs < 100 || updates < 100 {
		t.Errorf("%d repairs and %d updates: too few to compare", repairs, updates)
	}
}

// recorded are the decisions of a controller whose spec the API server takes.
func recorded(t *testing.T, controller peer.Controller) (cases []*peer.Case) {
	t.Helper()
	folder := map[peer.Controller]string{peer.Kubernetes: "kubernetes/", peer.Kruise: "kruise/"}[controller]
	for _, file := range []string{"decisions.jsonl", "varying.jsonl", "surprises.jsonl"} {
		for name, line := range conformance.Lines(t, folder+file) {
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
	plan, err := planned(c, spec, seed)
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	if len(plan.Decisions) < len(c.Nodes) {
		t.Errorf("%s: %d decisions about %d nodes", c.Name, len(plan.Decisions), len(c.Nodes))
	}
	d := peer.DecidedBy(plan)
	slices.Sort(d.Creates)
	slices.Sort(d.Fates)
	return d
}

// planned is the plan of the controller that decided the case. OpenKruise's reads a number in the stored status.
func planned(c *peer.Case, spec rollout.Spec, seed uint64) (rollout.Plan, error) {
	if c.Controller() == peer.Kruise {
		planner, err := stock.NewKruise(spec, seed)
		if err != nil {
			return rollout.Plan{}, err
		}
		return planner.Stored(c.Set.Status.DesiredNumberScheduled).Plan(c.Snapshot())
	}
	planner, err := stock.NewKubernetes(spec, seed)
	if err != nil {
		return rollout.Plan{}, err
	}
	return planner.Plan(c.Snapshot())
}
