package placement

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// manyValues is the number of values from which on a set is looked up faster than a list is compared.
const manyValues = 9

// requiredAffinity holds the terms that can match a node (P4). They are alternatives; without terms no node matches.
type requiredAffinity struct {
	terms []term
	// rest finds, of the terms behind the first, those that can match a node. Its numbers count from the second term.
	rest candidates
}

// term holds requirements that must all be met. At least one of the two lists is not empty.
type term struct {
	labels []labelRequirement
	fields []fieldRequirement
}

// operator is a node selector operator with the choice of a list or a set of values already made.
type operator uint8

const (
	opExists operator = iota
	opDoesNotExist
	opEqual
	opNotEqual
	opIn
	opNotIn
	opInSet
	opNotInSet
	opGreater
	opLess
)

// labelRequirement is one matchExpression. Its op decides which of value, values, set and bound are used.
type labelRequirement struct {
	key    string
	op     operator
	value  string
	values []string
	set    map[string]struct{}
	bound  int64
}

// fieldRequirement is one matchField: that the field has the value, or that it has not.
type fieldRequirement struct {
	key      string
	value    string
	nodeName bool
	negated  bool
}

// evaluate returns Run if a term matches. Otherwise the verdict names the first failing requirement of the first term (P5).
func (a *requiredAffinity) evaluate(node *corev1.Node) Verdict {
	if len(a.terms) == 0 {
		return Verdict{Test: TestNodeAffinity}
	}
	failed := a.terms[0].failed(node)
	if failed == none {
		return Verdict{Outcome: Run}
	}
	if len(a.terms) > 1 && a.anyOfRest(node) {
		return Verdict{Outcome: Run}
	}
	return a.terms[0].refusal(failed)
}

// evaluateBlock puts what evaluate returns in place of each verdict that is Run. A nil affinity changes none. The labels that the
// first term looks at are read one after the other, each of all nodes.
func (a *requiredAffinity) evaluateBlock(verdicts []Verdict, nodes []*corev1.Node) {
	if a == nil {
		return
	}
	var first term
	if len(a.terms) > 0 {
		first = a.terms[0]
	}
	var fails [block]bool
	for i := range first.labels {
		for k, node := range nodes {
			fails[k] = fails[k] || !first.labels[i].matches(node.Labels)
		}
	}
	for k, node := range nodes {
		if verdicts[k].Outcome == Run && (fails[k] || len(first.labels) == 0 || len(first.fields) > 0) {
			verdicts[k] = a.evaluate(node)
		}
	}
}

// anyOfRest reports whether a term behind the first matches.
func (a *requiredAffinity) anyOfRest(node *corev1.Node) bool {
	matches := false
	a.rest.each(node, func(i int32) bool {
		matches = a.terms[i+1].failed(node) == none
		return !matches
	})
	return matches
}

// none stands for no requirement.
const none = -1

// failed returns the number of the first requirement that the node fails, or none. Labels are counted first, then fields.
func (t *term) failed(node *corev1.Node) int {
	for i := range t.labels {
		if !t.labels[i].matches(node.Labels) {
			return i
		}
	}
	for i := range t.fields {
		if !t.fields[i].matches(node.Name) {
			return len(t.labels) + i
		}
	}
	return none
}

// refusal returns the verdict on a node that fails the requirement of that number.
func (t *term) refusal(failed int) Verdict {
	if failed < len(t.labels) {
		return Verdict{Test: TestNodeAffinity, Key: t.labels[failed].key}
	}
	return Verdict{Test: TestNodeAffinity, Field: true, Key: t.fields[failed-len(t.labels)].key}
}

func (r *labelRequirement) matches(labels map[string]string) bool {
	value, found := labels[r.key]
	switch r.op {
	case opExists:
		return found
	case opDoesNotExist:
		return !found
	case opEqual:
		return found && value == r.value
	case opNotEqual:
		return !found || value != r.value
	case opIn:
		return found && slices.Contains(r.values, value)
	case opNotIn:
		return !found || !slices.Contains(r.values, value)
	case opInSet:
		return found && r.inSet(value)
	case opNotInSet:
		return !found || !r.inSet(value)
	case opGreater:
		number, ok := parseInt(value)
		return ok && number > r.bound
	case opLess:
		number, ok := parseInt(value)
		return ok && number < r.bound
	default:
		return false
	}
}

func (r *labelRequirement) inSet(value string) bool {
	_, found := r.set[value]
	return found
}

// matches compares the node's name. Any other field reads as empty, and a node without a name passes every
// field requirement: both are what the Kubernetes helpers do.
func (r *fieldRequirement) matches(name string) bool {
	if name == "" {
		return true
	}
	got := ""
	if r.nodeName {
		got = name
	}
	return (got == r.value) != r.negated
}

// requiredTerms returns the required node affinity, or nil if the template has none.
func requiredTerms(affinity *corev1.Affinity) *corev1.NodeSelector {
	if affinity == nil || affinity.NodeAffinity == nil {
		return nil
	}
	return affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
}

// compileAffinity leaves out the terms that match no node: empty and invalid ones (P4).
func compileAffinity(required *corev1.NodeSelector) *requiredAffinity {
	if required == nil {
		return nil
	}
	compiled := &requiredAffinity{}
	var wants [][]want
	for i := range required.NodeSelectorTerms {
		source := &required.NodeSelectorTerms[i]
		if len(source.MatchExpressions)+len(source.MatchFields) == 0 || len(unmatchable(source, nil)) > 0 {
			continue
		}
		compiled.terms = append(compiled.terms, compileTerm(source))
		wants = append(wants, wantsOfTerm(source))
	}
	if len(wants) > 1 {
		compiled.rest = newCandidates(wants[1:])
	}
	return compiled
}

// compileTerm expects a term in which unmatchable finds no mistake.
func compileTerm(source *corev1.NodeSelectorTerm) term {
	var compiled term
	for i := range source.MatchExpressions {
		compiled.labels = append(compiled.labels, compileLabel(&source.MatchExpressions[i]))
	}
	for i := range source.MatchFields {
		requirement := &source.MatchFields[i]
		compiled.fields = append(compiled.fields, fieldRequirement{
			key:      requirement.Key,
			value:    requirement.Values[0],
			nodeName: requirement.Key == metav1.ObjectNameField,
			negated:  requirement.Operator == corev1.NodeSelectorOpNotIn,
		})
	}
	return compiled
}

// compileLabel makes the choices that depend on the template alone, so that evaluating a node is one label
// lookup and one comparison.
func compileLabel(source *corev1.NodeSelectorRequirement) labelRequirement {
	compiled := labelRequirement{key: source.Key}
	switch source.Operator {
	case corev1.NodeSelectorOpExists:
		compiled.op = opExists
	case corev1.NodeSelectorOpDoesNotExist:
		compiled.op = opDoesNotExist
	case corev1.NodeSelectorOpIn:
		compiled.op = compiled.take(source.Values, opEqual, opIn, opInSet)
	case corev1.NodeSelectorOpNotIn:
		compiled.op = compiled.take(source.Values, opNotEqual, opNotIn, opNotInSet)
	case corev1.NodeSelectorOpGt:
		compiled.op = opGreater
		compiled.bound, _ = parseInt(source.Values[0])
	case corev1.NodeSelectorOpLt:
		compiled.op = opLess
		compiled.bound, _ = parseInt(source.Values[0])
	}
	return compiled
}

// take copies the values into the form that fits their number and returns the operator for that form.
func (r *labelRequirement) take(values []string, one, few, many operator) operator {
	switch {
	case len(values) == 1:
		r.value = values[0]
		return one
	case len(values) < manyValues:
		r.values = slices.Clone(values)
		return few
	default:
		r.set = make(map[string]struct{}, len(values))
		for _, value := range values {
			r.set[value] = struct{}{}
		}
		return many
	}
}

// parseInt reads what strconv.ParseInt reads in base 10 and 64 bits, and nothing else. strconv allocates an
// error for every label that is no number, once per node.
func parseInt(text string) (int64, bool) {
	negative := false
	if text != "" && (text[0] == '-' || text[0] == '+') {
		negative = text[0] == '-'
		text = text[1:]
	}
	if text == "" {
		return 0, false
	}
	const limit = uint64(1) << 63
	var magnitude uint64
	for i := range len(text) {
		digit := text[i] - '0'
		if digit > 9 || magnitude > limit/10 {
			return 0, false
		}
		magnitude = magnitude*10 + uint64(digit)
	}
	if magnitude > limit || magnitude == limit && !negative {
		return 0, false
	}
	if negative {
		return -int64(magnitude), true
	}
	return int64(magnitude), true
}
