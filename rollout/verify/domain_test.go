package verify_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/domain"
)

// handRack labels the named nodes with their rack.
func handRack(rack string, nodes ...string) change {
	return onNodes(func(n *corev1.Node) { n.Labels["rack"] = rack }, nodes...)
}

func handDomains(domains ...domain.Domain) change {
	return handStrategy(func(s *rollout.Strategy) { s.Policy.Domains = domains })
}

func TestVerifyDomains(t *testing.T) {
	one := domain.Domain{Key: "rack", Max: new(intstr.FromInt32(1))}
	atOnce := domain.Domain{Key: "rack", AtOnce: 1}
	racks := change(func(s *handmade) { handRack("x", "a", "b")(s); handRack("y", "d")(s) })
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
	prepared := func(d domain.Domain) func() *handmade {
		pods := []string{"a-old", "b-old"}
		if d.AtOnce > 0 {
			pods = []string{"a-old", "d-old"}
		}
		return handFleet(handPods("available", pods...), racks, preDelete, atMost("9"), inStateOf(lifecycle.PreparingDelete, pods...),
			handDomains(d))
	}
	letGo := func(node string) func(*handmade) {
		return func(s *handmade) {
			d := s.decision(node)
			d.Domain, d.Limit = 0, rollout.LimitNone
			s.delete(node + "-old")
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
			name: "prepared pods of one rack at once", why: "V19, B3: both were let go, and only one may go now", scene: prepared(one),
			plant: letGo("b"), want: 19,
			mention: `2 nodes of domain 0, value "x", are down after the plan, more than max 1; it takes prepared pods away from 2 of them`,
		},
		{
			name: "prepared pods of two racks at once", why: "V19, B3: only one rack may be down now", scene: prepared(atOnce),
			plant: letGo("d"), want: 19,
			mention: `prepared pods at value "y" of domain 0 are taken away, one of 2 values with nodes that are down, more than atOnce 1`,
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
