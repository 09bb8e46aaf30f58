package verify_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/domain"
)

// handRacks labels nodes with the rack that stands before them: "x" followed by the names of its nodes.
func handRacks(racks map[string][]string) change {
	return func(s *handmade) {
		for _, n := range s.snapshot.Nodes {
			for rack, nodes := range racks {
				for _, name := range nodes {
					if n.Name == name {
						n.Labels["rack"] = rack
					}
				}
			}
		}
	}
}

func handDomains(domains ...domain.Domain) change {
	return handStrategy(func(s *rollout.Strategy) { s.Policy.Domains = domains })
}

func TestVerifyDomains(t *testing.T) {
	one := domain.Domain{Key: "rack", Max: new(intstr.FromInt32(1))}
	atOnce := domain.Domain{Key: "rack", AtOnce: 1}
	racks := handRacks(map[string][]string{"x": {"a", "b"}, "y": {"d"}})
	// Of a, b and d the planner begins d and b where racks have room for one node each, and d where only one rack may be disturbed.
	fleet := func(d domain.Domain) func() *handmade {
		return handFleet(handPods("available", "a-old", "b-old", "d-old"), racks, atMost("9"), handDomains(d))
	}
	begin := func(node string, value int) func(*handmade) {
		return func(s *handmade) {
			d := s.decision(node)
			d.Domain, d.Limit = 0, rollout.LimitNone
			s.delete(node + "-old").bring()
			s.plan.Domains[value].Taken++
			for i := range s.plan.Domains {
				s.plan.Domains[i].Users = nil
			}
		}
	}
	runViolations(t, []violationRow{
		{
			name: "one node too many of a rack", why: "V19", scene: fleet(one), plant: begin("a", 0), want: 19,
			mention: `2 nodes of domain 0, value "x", are disturbed after the plan, more than max 1, 2 of them by its choice`,
		},
		{
			name: "a rack too many", why: "V19", scene: fleet(atOnce), plant: both(begin("a", 0), func(s *handmade) {
				for i := range s.plan.Domains {
					s.plan.Domains[i].Disturbed = 2
				}
				s.decision("b").Domain, s.decision("b").Limit = 0, rollout.LimitMaxUnavailable // its rack is open now
			}), want: 19, mention: `value "x" of domain 0 is disturbed by choice of the plan, one of 2, more than atOnce 1`,
		},
		{
			name: "a wrong maximum", why: "V12", scene: fleet(one), plant: func(s *handmade) { s.plan.Domains[0].Max = 2 }, want: 12,
			mention: "B10: domain state",
		},
		{
			name: "a wrong number of desired nodes", why: "V12", scene: fleet(one), plant: func(s *handmade) { s.plan.Domains[0].Desired++ },
			want: 12, mention: "B10: domain state",
		},
		{
			name: "no states", why: "V12", scene: fleet(one), plant: func(s *handmade) { s.plan.Domains = s.plan.Domains[:1] }, want: 12,
			mention: "the plan lists 1 values of domains, right are 2",
		},
		{
			name: "states without domains", why: "V12", scene: handFleet(handPods("available", "a-new")),
			plant: func(s *handmade) { s.plan.Domains = []rollout.DomainState{{}} }, want: 12, mention: "the plan lists 1 values of domains, right are 0",
		},
		{
			name: "a user that does not count", why: "V12", scene: fleet(one), plant: func(s *handmade) { s.plan.Domains[0].Users = []string{"a"} },
			want: 12, mention: "named as a node that uses up domain 0",
		},
		{
			name: "a wait for a domain that is not named", why: "V12", scene: fleet(one), plant: func(s *handmade) { s.decision("a").Domain = 0 },
			want: 12, mention: "B10: limit domain with domain 0",
		},
		{
			name: "a wait for the domain of another", why: "V12", scene: fleet(one), plant: func(s *handmade) { s.decision("a").Domain = 2 },
			want: 12, mention: `waits for domain 0, value "y", which has room, or is not the node's`,
		},
		{
			name: "a wait for a domain with room", why: "V12", scene: handFleet(handPods("available", "a-old", "b-old"), racks, atMost("1"),
				handDomains(domain.Domain{Key: "rack", Max: new(intstr.FromInt32(2))})),
			plant: func(s *handmade) { d := s.decision("a"); d.Limit, d.Domain = rollout.LimitDomain, 1 },
			want:  12, mention: `waits for domain 0, value "x", which has room`,
		},
	})
}
