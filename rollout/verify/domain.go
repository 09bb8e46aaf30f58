package verify

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/domain"
)

// domainTerms are the domains of the policy (B10), with their selectors read.
type domainTerms []struct {
	domain.Domain
	selector labels.Selector
}

// valueIn is the value of a node in a domain, and whether the domain selects the node.
func (t domainTerms) valueIn(i int, node *corev1.Node) (string, bool) {
	return node.Labels[t[i].Key], t[i].selector.Matches(labels.Set(node.Labels))
}

// cellOf joins all values of a node in domains. Nodes of one cell are alike for the domains.
func (t *terms) cellOf(node *corev1.Node) string {
	var cell strings.Builder
	for i := range t.domains {
		if value, in := t.domains.valueIn(i, node); in {
			cell.WriteString("=" + value)
		}
		cell.WriteByte(0)
	}
	return cell.String()
}

// valueState is how one value of a domain stands.
type valueState struct {
	desired, taken int
	begun          int // of those taken, by choice of the plan
	unknown        int // of those taken, only because a patch is not seen yet
	down, gone     int // at this instant, and of them by choice of the plan
}

// domainStates sums up the values of a domain.
func (v *verifier) domainStates(i int) map[string]*valueState {
	states := map[string]*valueState{}
	for _, node := range v.nodes {
		value, in := v.domains.valueIn(i, node.object)
		if !in {
			continue
		}
		s := states[value]
		if s == nil {
			s = &valueState{}
			states[value] = s
		}
		if node.outcome == placement.Run {
			s.desired += node.weight
		}
		if v.countsIn(node) {
			s.taken += node.weight
			if v.isBegunByChoice(node) {
				s.begun += node.weight
			} else if !v.surges() && node.any(func(p *pod) bool { return p.servesButFor() }) {
				s.unknown += node.weight
			}
		}
		if node.unavailable && (!node.exempt || v.isTakenNow(node)) && !node.any((*pod).staysUp) {
			s.down += node.weight
			if v.isTakenNow(node) {
				s.gone += node.weight
			}
		}
	}
	return states
}

// servesButFor reports whether only a patch that is not seen yet keeps the pod from serving.
func (p *pod) servesButFor() bool {
	if !p.patched || p.goes() || p.begun {
		return false
	}
	seen := *p
	seen.patched = false
	return seen.serves()
}

// countsIn reports whether the node counts against the budget in use.
func (v *verifier) countsIn(node *node) bool {
	if v.surges() {
		return node.surging && !node.exempt
	}
	return node.unavailable && !node.exempt
}

// checkDomains is V19, and what the plan says of domains (V12).
func (v *verifier) checkDomains() {
	var right []rollout.DomainState
	for i := range v.domains {
		d := &v.domains[i]
		states := v.domainStates(i)
		disturbed, down := 0, 0
		for _, s := range states {
			if s.taken > 0 {
				disturbed++
			}
			if s.down > 0 {
				down++
			}
		}
		for _, value := range slices.Sorted(maps.Keys(states)) {
			s, most := states[value], 0
			if d.Max != nil {
				most = ofDesired(d.Max, s.desired, 99)
				if s.begun > 0 && s.taken > most {
					v.report(19, "", "B10: %d nodes of domain %d, value %q, are disturbed after the plan, more than max %d, "+
						"%d of them by its choice", s.taken, i, value, most, s.begun)
				}
				if s.gone > 0 && s.down > most {
					v.report(19, "", "B10: %d nodes of domain %d, value %q, are down after the plan, more than max %d; it takes "+
						"prepared pods away from %d of them", s.down, i, value, most, s.gone)
				}
			}
			if atOnce := int(d.AtOnce); atOnce > 0 {
				if s.begun > 0 && s.begun+s.unknown == s.taken && disturbed > atOnce {
					v.report(19, "", "B10: value %q of domain %d is disturbed by choice of the plan, one of %d, "+
						"more than atOnce %d",
						value, i, disturbed, atOnce)
				}
				if s.gone > 0 && s.gone == s.down && down > atOnce {
					v.report(19, "", "B10: prepared pods at value %q of domain %d are taken away, one of %d values with nodes "+
						"that are down, more than atOnce %d", value, i, down, atOnce)
				}
			}
			if s.desired > 0 || s.taken > 0 {
				right = append(right, rollout.DomainState{
					Index: int32(i), Key: d.Key, Value: value, Desired: int32(s.desired), Max: int32(most), Taken: int32(s.taken),
					AtOnce: d.AtOnce, Disturbed: int32(disturbed),
				})
			}
		}
	}
	v.checkDomainStates(right)
}

// checkDomainStates compares Plan.Domains with what is right, and what Decisions say of it.
func (v *verifier) checkDomainStates(right []rollout.DomainState) {
	if len(v.plan.Domains) != len(right) {
		v.report(12, "", "B10: the plan lists %d values of domains, right are %d", len(v.plan.Domains), len(right))
		return
	}
	for i, want := range right {
		is := v.plan.Domains[i]
		want.Users = is.Users // named for people; who may be named is checked below
		same := is.Index == want.Index && is.Key == want.Key && is.Value == want.Value && is.Desired == want.Desired &&
			is.Max == want.Max && is.Taken == want.Taken && is.AtOnce == want.AtOnce && is.Disturbed == want.Disturbed
		if !same {
			v.report(12, "", "B10: domain state %+v, right is %+v", is, want)
		}
		for _, name := range is.Users {
			if node := v.nodeOf(name); node == nil || !v.countsIn(node) {
				v.report(12, name, "B10: named as a node that uses up domain %d, value %q, and does not count", is.Index,
					is.Value)
			}
		}
	}
	for _, d := range v.statements {
		waits := d.Limit == rollout.LimitDomain
		if waits != (d.Domain > 0) || int(d.Domain) > len(right) {
			v.report(12, d.Node, "B10: limit %s with domain %d of %d", d.Limit, d.Domain, len(right))
			continue
		}
		if waits && d.node != nil {
			v.checkDomainWait(d, right[d.Domain-1])
		}
	}
}

// checkDomainWait holds a node that says that it waits for a domain to that domain: the node is in it, and it has no room.
func (v *verifier) checkDomainWait(d statement, s rollout.DomainState) {
	value, in := v.domains.valueIn(int(s.Index), d.node.object)
	full := s.Max > 0 && s.Taken >= s.Max || s.AtOnce > 0 && (s.Taken == 0 && s.Disturbed >= s.AtOnce || s.Disturbed > s.AtOnce)
	// A node that is left out takes room all the same where the plan takes its last pod.
	taken := slices.ContainsFunc(v.nodes, func(n *node) bool { return n.exempt && v.isTakenNow(n) })
	if !in || value != s.Value || !full && !taken && d.Reason != rollout.ReasonPrepared {
		v.report(12, d.Node, "B10: waits for domain %d, value %q, which has room, or is not the node's", s.Index, s.Value)
	}
}

//	isBegunByChoice reports whether the plan disturbs a node that was not: it takes away the last serving pod, an outdated
//
// Ready one, or with surge it creates a pod beside such a one.
func (v *verifier) isBegunByChoice(node *node) bool {
	if v.surges() {
		beside := func(p *pod) bool { return p.outdated() && p.ready && !p.goes() && !p.leaves() }
		return len(node.creates) > 0 && node.any(beside)
	}
	return v.isTakenByChoice(node)
}
