package verify

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// candidates finds, of many conditions on nodes, those that one node can meet at all. A condition that wants one of some
// values of a label, or a name, is looked up by what the node has; one that wants nothing of the kind is always a candidate.
// Whether a candidate is met is for the caller to find out.
type candidates struct {
	always  []int
	byName  map[string][]int
	byLabel map[string]map[string][]int // by key, then value
}

// oneOf are values of which a condition wants one: of a label, or without a key of the name.
type oneOf struct {
	key    string
	values []string
}

// candidatesOf takes for each condition all that it wants, and looks it up by what fewest others ask for, too.
func candidatesOf(conditions [][]oneOf) candidates {
	c := candidates{byName: make(map[string][]int), byLabel: make(map[string]map[string][]int)}
	type want struct{ key, value string }
	asked := make(map[want]int)
	for _, wants := range slices.Concat(conditions...) {
		for _, value := range wants.values {
			asked[want{wants.key, value}]++
		}
	}
	most := func(wants oneOf) int {
		most := 0
		for _, value := range wants.values {
			most = max(most, asked[want{wants.key, value}])
		}
		return most
	}
	const few = 4 // are asked sooner than looked up
	for i, condition := range conditions {
		if len(condition) == 0 || len(conditions) <= few {
			c.always = append(c.always, i)
			continue
		}
		rarest := slices.MinFunc(condition, func(a, b oneOf) int { return most(a) - most(b) })
		by := c.byName
		if rarest.key != "" {
			if c.byLabel[rarest.key] == nil {
				c.byLabel[rarest.key] = make(map[string][]int)
			}
			by = c.byLabel[rarest.key]
		}
		for _, value := range rarest.values {
			by[value] = append(by[value], i)
		}
	}
	return c
}

// any reports whether a candidate of the node satisfies f, which is asked of one after the other until one does.
func (c *candidates) any(node *corev1.Node, f func(int) bool) bool {
	if slices.ContainsFunc(c.always, f) || slices.ContainsFunc(c.byName[node.Name], f) {
		return true
	}
	if len(c.byLabel) == 0 {
		return false
	}
	if len(c.byLabel) < len(node.Labels) {
		for key, by := range c.byLabel {
			if value, has := node.Labels[key]; has && slices.ContainsFunc(by[value], f) {
				return true
			}
		}
		return false
	}
	for key, value := range node.Labels {
		if slices.ContainsFunc(c.byLabel[key][value], f) {
			return true
		}
	}
	return false
}

// wantsOfSelector are what a label selector wants, as far as it names values.
func wantsOfSelector(selector *metav1.LabelSelector) []oneOf {
	var wants []oneOf
	for key, value := range selector.MatchLabels {
		wants = append(wants, oneOf{key, []string{value}})
	}
	for _, requirement := range selector.MatchExpressions {
		if requirement.Operator == metav1.LabelSelectorOpIn {
			wants = append(wants, oneOf{requirement.Key, requirement.Values})
		}
	}
	return wants
}

// wantsOfTerm are what a term of a node affinity wants, as far as it names values.
func wantsOfTerm(term *corev1.NodeSelectorTerm) []oneOf {
	var wants []oneOf
	for _, requirement := range term.MatchExpressions {
		if requirement.Operator == corev1.NodeSelectorOpIn {
			wants = append(wants, oneOf{requirement.Key, requirement.Values})
		}
	}
	for _, requirement := range term.MatchFields {
		if requirement.Key == metav1.ObjectNameField && requirement.Operator == corev1.NodeSelectorOpIn {
			wants = append(wants, oneOf{"", requirement.Values})
		}
	}
	return wants
}
