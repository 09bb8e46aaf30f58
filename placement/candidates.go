package placement

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// candidates finds, among many conditions on nodes, those that a node can meet at all. So a thousand conditions that name one
// node each cost a node no more than one does. A condition that wants a label to have one of some values, or the node to have
// a name, is looked up by what the node has. All others are candidates everywhere. The caller tests what else a candidate
// wants.
type candidates struct {
	all    int // the number of conditions
	always []int32
	names  map[string][]int32
	labels []labelIndex
	// byKey has the places in labels by key. It is used if the node has fewer labels than the list.
	byKey map[string]int
}

// labelIndex has the conditions that want a label, by the values that they want.
type labelIndex struct {
	key     string
	byValue map[string][]int32
}

// want is one thing without which a condition cannot be met: a label with one of the values, or, if the key is empty, a node
// name among them.
type want struct {
	key    string
	values []string
}

// newCandidates takes for each condition what it wants. A condition is looked up by the one thing whose values as few other
// conditions want as possible: by a host name rather than by an operating system.
func newCandidates(conditions [][]want) candidates {
	c := candidates{all: len(conditions)}
	type value struct{ key, value string }
	uses := map[value]int{}
	for _, wants := range conditions {
		for _, w := range wants {
			for _, v := range w.values {
				uses[value{w.key, v}]++
			}
		}
	}
	for i, wants := range conditions {
		best, fewest := want{}, 0
		for _, w := range wants {
			most := 0
			for _, v := range w.values {
				most = max(most, uses[value{w.key, v}])
			}
			if fewest == 0 || most < fewest {
				best, fewest = w, most
			}
		}
		c.add(int32(i), best)
	}
	return c
}

// add enters a condition, which may want nothing.
func (c *candidates) add(i int32, w want) {
	if len(w.values) == 0 {
		c.always = append(c.always, i)
		return
	}
	for _, value := range w.values {
		by := c.valuesOf(w.key)
		if list := by[value]; len(list) == 0 || list[len(list)-1] != i { // a value may be named twice
			by[value] = append(list, i)
		}
	}
}

// valuesOf returns the index of a label, or, if the key is empty, that of node names.
func (c *candidates) valuesOf(key string) map[string][]int32 {
	if key == "" {
		if c.names == nil {
			c.names = map[string][]int32{}
		}
		return c.names
	}
	at, known := c.byKey[key]
	if !known {
		if c.byKey == nil {
			c.byKey = map[string]int{}
		}
		at = len(c.labels)
		c.byKey[key] = at
		c.labels = append(c.labels, labelIndex{key: key, byValue: map[string][]int32{}})
	}
	return c.labels[at].byValue
}

// each hands the candidates of a node to yield, each once and in no certain order, until yield returns false. If conditions want
// names, a node without a name has all candidates, because it passes every requirement on names.
func (c *candidates) each(node *corev1.Node, yield func(int32) bool) {
	if node.Name == "" && len(c.names) > 0 {
		for i := range int32(c.all) {
			if !yield(i) {
				return
			}
		}
		return
	}
	if !eachOf(c.always, yield) || len(c.names) > 0 && !eachOf(c.names[node.Name], yield) {
		return
	}
	if len(c.labels) <= len(node.Labels) {
		for i := range c.labels {
			if value, found := node.Labels[c.labels[i].key]; found && !eachOf(c.labels[i].byValue[value], yield) {
				return
			}
		}
		return
	}
	for key, value := range node.Labels {
		if at, known := c.byKey[key]; known && !eachOf(c.labels[at].byValue[value], yield) {
			return
		}
	}
}

// eachOf hands the list to yield, and reports whether yield wants more.
func eachOf(list []int32, yield func(int32) bool) bool {
	for _, i := range list {
		if !yield(i) {
			return false
		}
	}
	return true
}

// wantsOfTerm returns what a term without mistakes wants.
func wantsOfTerm(source *corev1.NodeSelectorTerm) []want {
	var wants []want
	for i := range source.MatchExpressions {
		if expression := &source.MatchExpressions[i]; expression.Operator == corev1.NodeSelectorOpIn {
			wants = append(wants, want{expression.Key, expression.Values})
		}
	}
	for i := range source.MatchFields {
		requirement := &source.MatchFields[i]
		if requirement.Key == metav1.ObjectNameField && requirement.Operator == corev1.NodeSelectorOpIn {
			wants = append(wants, want{"", requirement.Values})
		}
	}
	return wants
}

// wantsOfSelector returns what a label selector without mistakes wants.
func wantsOfSelector(selector *metav1.LabelSelector) []want {
	var wants []want
	for _, entry := range compileSelector(selector.MatchLabels) {
		wants = append(wants, want{entry.key, []string{entry.value}})
	}
	for i := range selector.MatchExpressions {
		if expression := &selector.MatchExpressions[i]; expression.Operator == metav1.LabelSelectorOpIn {
			wants = append(wants, want{expression.Key, expression.Values})
		}
	}
	return wants
}
