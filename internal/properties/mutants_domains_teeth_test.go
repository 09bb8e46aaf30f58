//go:build teeth

package properties_test

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/domain"
)

// domainsAs changes each domain that the planner sees.
func domainsAs(change func(*domain.Domain)) func(rollout.Spec, harness.PlanFunc) harness.PlanFunc {
	return asIf(func(s *rollout.Spec) {
		s.Strategy.Policy.Domains = slices.Clone(s.Strategy.Policy.Domains)
		for i := range s.Strategy.Policy.Domains {
			change(&s.Strategy.Policy.Domains[i])
		}
	})
}

// ofTheSet plans with percentages of all nodes instead of those of the value.
func ofTheSet(spec rollout.Spec, plan harness.PlanFunc) harness.PlanFunc {
	return func(s rollout.Snapshot) (rollout.Plan, error) {
		return domainsAs(func(d *domain.Domain) {
			if d.Max != nil && d.Max.Type == intstr.String {
				most, _ := intstr.GetScaledValueFromIntOrPercent(d.Max, len(s.Nodes), true) // it is valid
				d.Max = new(intstr.FromInt32(int32(most)))
			}
		})(spec, plan)(s)
	}
}

// stays forgets to begin nodes of one zone.
func stays(_ rollout.Spec, plan harness.PlanFunc) harness.PlanFunc {
	return func(s rollout.Snapshot) (rollout.Plan, error) {
		p, err := plan(s)
		in := map[string]bool{}
		for _, n := range s.Nodes {
			in[n.Name] = n.Labels[harness.ZoneLabel] == "a"
		}
		p.Deletes = slices.DeleteFunc(slices.Clone(p.Deletes), func(d rollout.Delete) bool { return in[d.Node] })
		p.Creates = slices.DeleteFunc(slices.Clone(p.Creates), func(c rollout.Create) bool { return in[c.Node] })
		p.Patches = slices.DeleteFunc(slices.Clone(p.Patches), func(c rollout.Patch) bool { return in[c.Node] })
		return p, err
	}
}

var domainMutants = []mutant{
	{
		"no domains", "the policy is not looked at", domainsHold,
		domainsAs(func(d *domain.Domain) { d.Max, d.AtOnce = new(intstr.FromString("100%")), 0 }),
	},
	{"percentages of the set", "max of the set's desired", domainsHold, ofTheSet},
	{
		"any number of values", "atOnce is not looked at", domainsHold, domainsAs(func(d *domain.Domain) {
			if d.AtOnce = 0; d.Max == nil {
				d.Max = new(intstr.FromString("100%"))
			}
		}),
	},
	{
		"unlimited without the label", "a node without the label is in no domain", domainsHold, domainsAs(func(d *domain.Domain) {
			if d.Key != "" {
				d.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
					{Key: d.Key, Operator: metav1.LabelSelectorOpExists},
				}}
			}
		}),
	},
	{
		"the first domain only", "the others are not looked at", domainsHold, asIf(func(s *rollout.Spec) {
			s.Strategy.Policy.Domains = s.Strategy.Policy.Domains[:1]
		}),
	},
	{
		"says nothing of domains", "the plan does not list them", domainsSafe, spoiling(func(_ rollout.Spec, _ rollout.Snapshot, p *rollout.Plan) {
			p.Domains = nil
		}),
	},
	{
		"no domains, seen from outside", "the same, without the verifier", domainsSeen,
		domainsAs(func(d *domain.Domain) { d.Max, d.AtOnce = new(intstr.FromString("100%")), 0 }),
	},
	{"percentages of the set, seen from outside", "the same, without the verifier", domainsSeen, ofTheSet},
	{
		"any number of values, seen from outside", "the same, without the verifier", domainsSeen, domainsAs(func(d *domain.Domain) {
			if d.AtOnce = 0; d.Max == nil {
				d.Max = new(intstr.FromString("100%"))
			}
		}),
	},
	{"a zone is never begun", "a value stays blocked when it is done", domainsLive, stays},
}
