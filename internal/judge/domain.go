package judge

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout/domain"
)

// crowd is how one value of a domain stands (B10).
type crowd struct {
	// max is how many nodes of the value may be disturbed; 0: any number. taken is how many are.
	max, taken int
	// already: others than those of this turn are, as far as the judge can tell.
	already bool
	// values is how many values of the domain have nodes that are disturbed.
	values int
}

// crowdOf counts the disturbed nodes of a domain, and of them those with the value of a node.
func (v *view) crowdOf(d *domain.Domain, of *seenNode, disturbed, before func(*seenNode) bool) crowd {
	var c crowd
	desired, lists := 0, map[string][]*seenNode{}
	for _, n := range v.nodes {
		if !selects(d.Selector, n.Labels) {
			continue
		}
		value := n.Labels[d.Key]
		if disturbed(n) {
			lists[value] = append(lists[value], n)
		}
		if value == of.Labels[d.Key] {
			c.already = c.already || before(n)
			if n.verdict == runs {
				desired++
			}
		}
	}
	c.max = rounded(d.Max, desired, true)
	for value, list := range lists {
		count, _ := v.counting(list)
		if count > 0 {
			c.values++
		}
		if value == of.Labels[d.Key] {
			c.taken = count
		}
	}
	return c
}

// judgeDomains judges a node that is disturbed by choice: each domain that selects it had room (B10, V19). before says which nodes
// may have been disturbed before this turn.
func (j *Judge) judgeDomains(w *write, pod *corev1.Pod, disturbed, before func(*seenNode) bool) {
	v := j.view
	for i := range v.policy().Domains {
		d := &v.policy().Domains[i]
		if !selects(d.Selector, w.node.Labels) {
			continue
		}
		c, value := v.crowdOf(d, w.node, disturbed, before), w.node.Labels[d.Key]
		if d.Max != nil && c.taken > c.max {
			j.find(Domain, w.node.Name, pod, "%d nodes of value %q of domain %d are disturbed with it, of %d that may be",
				c.taken, value, i, c.max)
		}
		if atOnce := int(d.AtOnce); atOnce > 0 && !c.already && c.values > atOnce {
			j.find(Domain, w.node.Name, pod, "%d values of domain %d have disturbed nodes with its value %q, of %d that may have",
				c.values, i, value, atOnce)
		}
	}
}

// fits reports whether each domain that selects the node has room for it.
func (v *view) fits(n *seenNode, disturbed func(*seenNode) bool) bool {
	for i := range v.policy().Domains {
		d := &v.policy().Domains[i]
		if !selects(d.Selector, n.Labels) {
			continue
		}
		c := v.crowdOf(d, n, disturbed, disturbed)
		if d.Max != nil && c.taken >= c.max || d.AtOnce > 0 && c.taken == 0 && c.values >= int(d.AtOnce) {
			return false
		}
	}
	return true
}
