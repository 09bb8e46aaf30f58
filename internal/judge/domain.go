package judge

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout/domain"
)

// crowd is how one domain stands (B10): its disturbed nodes by value, and the nodes of each value that are to run the pod.
type crowd struct {
	disturbed map[string][]*seenNode
	desired   map[string]int
}

func (v *view) crowdOf(d *domain.Domain, disturbed func(*seenNode) bool) crowd {
	c := crowd{map[string][]*seenNode{}, map[string]int{}}
	for _, n := range v.nodes {
		if !selects(d.Selector, n.Labels) {
			continue
		}
		value := n.Labels[d.Key]
		if n.verdict == runs {
			c.desired[value]++
		}
		if disturbed(n) {
			c.disturbed[value] = append(c.disturbed[value], n)
		}
	}
	return c
}

// judgeDomains judges a node that is disturbed by choice: each domain that selects it had room (B10, V19). before says which
// nodes may be disturbed already, or are for another reason.
func (j *Judge) judgeDomains(w *write, pod *corev1.Pod, disturbed, before func(*seenNode) bool) {
	v := j.view
	for i := range v.policy().Domains {
		d := &v.policy().Domains[i]
		if !selects(d.Selector, w.node.Labels) {
			continue
		}
		c, value, values := v.crowdOf(d, disturbed), w.node.Labels[d.Key], 0
		for _, list := range c.disturbed {
			if count, _ := v.counting(list); count > 0 {
				values++
			}
		}
		count, _ := v.counting(c.disturbed[value])
		if most := rounded(d.Max, c.desired[value], true); d.Max != nil && count > most {
			j.find(Domain, w.node.Name, pod, "%d nodes of value %q of domain %d are disturbed with it, of %d that may be",
				count, value, i, most)
		}
		if atOnce := int(d.AtOnce); atOnce > 0 && values > atOnce && len(v.crowdOf(d, before).disturbed[value]) == 0 {
			j.find(Domain, w.node.Name, pod, "%d values of domain %d have disturbed nodes with its value %q, of %d that may have",
				values, i, value, atOnce)
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
		c, value := v.crowdOf(d, disturbed), n.Labels[d.Key]
		count := len(c.disturbed[value])
		full := d.Max != nil && count >= rounded(d.Max, c.desired[value], true)
		if full || d.AtOnce > 0 && count == 0 && len(c.disturbed) >= int(d.AtOnce) {
			return false
		}
	}
	return true
}
