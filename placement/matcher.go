package placement

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/tolerations"
)

// Matcher evaluates nodes against one pod template. It is immutable and safe for concurrent use. A nil
// Matcher and the zero value leave every node.
type Matcher struct {
	compiled bool
	nodeName string
	selector []label
	affinity *requiredAffinity
	tolerated
}

// label is one entry of a nodeSelector.
type label struct{ key, value string }

// tolerated holds the compiled tolerations that cover taints of the two effects that matter.
type tolerated struct{ noSchedule, noExecute taintCover }

// taintCover is the set of those taints of one effect that are tolerated.
type taintCover struct {
	all   bool
	rules []taintRule
}

// taintRule covers taints with the key (any, if empty) and with the value, if it must be equal.
type taintRule struct {
	key      string
	value    string
	anyValue bool
}

// Compile prepares a template for evaluating many nodes. Of the template's memory the matcher keeps only strings, so the
// template may be changed afterwards.
//
// The error holds every mistake that Validate reports, with paths that begin at the template; errors.As
// finds a *field.Error, and the error's Unwrap() []error holds all. The matcher is usable nevertheless: an
// invalid affinity term matches no node while the other terms still count (P4), as in the Kubernetes
// controller. A nil template is an error, and its matcher leaves every node.
func Compile(template *corev1.PodTemplateSpec) (*Matcher, error) {
	mistakes := Validate(template, nil)
	if template == nil {
		return &Matcher{}, asError(mistakes)
	}
	spec := &template.Spec
	matcher := &Matcher{
		compiled:  true,
		nodeName:  spec.NodeName,
		selector:  compileSelector(spec.NodeSelector),
		affinity:  compileAffinity(requiredTerms(spec.Affinity)),
		tolerated: compileTolerations(tolerations.ForDaemon(spec)),
	}
	return matcher, asError(mistakes)
}

// Evaluate returns whether the node is to run the pod (P2), may keep a running one (P3), or must be left, and which test
// failed (P5). The tests are made in the order nodeName, nodeSelector, required node affinity, taints. A nil node gives
// Leave. Evaluate does not allocate.
func (m *Matcher) Evaluate(node *corev1.Node) Verdict {
	if m == nil || !m.compiled {
		return Verdict{Test: TestNoTemplate}
	}
	if node == nil {
		return Verdict{Test: TestNoNode}
	}
	if m.nodeName != "" && m.nodeName != node.Name {
		return Verdict{Test: TestNodeName, Value: m.nodeName}
	}
	// The taints are read first and used last: on a large fleet reading them is a cache miss, which so overlaps with those
	// of the labels.
	taints := node.Spec.Taints
	for i := range m.selector {
		want := &m.selector[i]
		if value, found := node.Labels[want.key]; !found || value != want.value {
			return Verdict{Test: TestNodeSelector, Key: want.key, Value: want.value}
		}
	}
	if m.affinity != nil {
		if verdict := m.affinity.evaluate(node); verdict.Outcome != Run {
			return verdict
		}
	}
	if len(taints) > 0 {
		return m.evaluateTaints(taints)
	}
	return Verdict{Outcome: Run}
}

// EvaluateAll appends the verdicts on the nodes to list, each as Evaluate gives it, and returns the longer list. On large
// fleets it takes less time than a loop over Evaluate: nearly all of that is spent waiting for memory, and here the processor
// waits for many nodes at once.
func (m *Matcher) EvaluateAll(list []Verdict, nodes []*corev1.Node) []Verdict {
	list = slices.Grow(list, len(nodes))
	for len(nodes) > 0 {
		some := nodes[:min(block, len(nodes))]
		if m == nil || !m.compiled || m.nodeName != "" || slices.Contains(some, nil) {
			for _, node := range some {
				list = append(list, m.Evaluate(node))
			}
		} else {
			list = m.evaluateBlock(list, some)
		}
		nodes = nodes[len(some):]
	}
	return list
}

// block is how many nodes are evaluated side by side.
const block = 32

// evaluateBlock is EvaluateAll for at most a block of nodes that are there, by a template for all nodes. It makes one test on
// all of them before it makes the next.
func (m *Matcher) evaluateBlock(list []Verdict, nodes []*corev1.Node) []Verdict {
	reach(nodes)
	verdicts := list[len(list) : len(list)+len(nodes)]
	for k := range verdicts {
		verdicts[k] = Verdict{Outcome: Run}
	}
	for i := range m.selector {
		want := &m.selector[i]
		for k, node := range nodes {
			if value, found := node.Labels[want.key]; (!found || value != want.value) && verdicts[k].Outcome == Run {
				verdicts[k] = Verdict{Test: TestNodeSelector, Key: want.key, Value: want.value}
			}
		}
	}
	m.affinity.evaluateBlock(verdicts, nodes)
	for k, node := range nodes {
		if taints := node.Spec.Taints; len(taints) > 0 && verdicts[k].Outcome == Run {
			verdicts[k] = m.evaluateTaints(taints)
		}
	}
	return list[:len(list)+len(nodes)]
}

// reach loads what the tests begin with into the processor's cache, in a loop so short that the processor does not wait for one
// node before it asks for the next. Its result means nothing. It must not be inlined, or the compiler would drop the loads.
//
//go:noinline
func reach(nodes []*corev1.Node) (sum int) {
	for _, node := range nodes {
		sum += len(node.Labels) + len(node.Spec.Taints)
	}
	return sum
}

// evaluateTaints makes one pass: an untolerated NoExecute taint decides at once, an untolerated NoSchedule
// taint only if no NoExecute one follows (P3). Other effects keep no pod away.
func (m *Matcher) evaluateTaints(taints []corev1.Taint) Verdict {
	verdict := Verdict{Outcome: Run}
	for i := range taints {
		taint := &taints[i]
		switch taint.Effect {
		case corev1.TaintEffectNoExecute:
			if !m.noExecute.covers(taint) {
				return Verdict{Test: TestTaint, Effect: EffectNoExecute, Key: taint.Key, Value: taint.Value}
			}
		case corev1.TaintEffectNoSchedule:
			if verdict.Outcome == Run && !m.noSchedule.covers(taint) {
				verdict = Verdict{
					Outcome: Keep, Test: TestTaint, Effect: EffectNoSchedule, Key: taint.Key, Value: taint.Value,
				}
			}
		}
	}
	return verdict
}

func (c *taintCover) covers(taint *corev1.Taint) bool {
	if c.all {
		return true
	}
	for i := range c.rules {
		rule := &c.rules[i]
		if (rule.key == "" || rule.key == taint.Key) && (rule.anyValue || rule.value == taint.Value) {
			return true
		}
	}
	return false
}

func compileSelector(selector map[string]string) []label {
	wanted := make([]label, 0, len(selector))
	for _, key := range slices.Sorted(maps.Keys(selector)) {
		wanted = append(wanted, label{key: key, value: selector[key]})
	}
	return wanted
}

func compileTolerations(list []corev1.Toleration) tolerated {
	var compiled tolerated
	for i := range list {
		compiled.noSchedule.add(&list[i], corev1.TaintEffectNoSchedule)
		compiled.noExecute.add(&list[i], corev1.TaintEffectNoExecute)
	}
	return compiled
}

// add adds the taints with this effect that the toleration covers, by the rules of tolerations.Tolerates. Unknown operators cover
// nothing.
func (c *taintCover) add(toleration *corev1.Toleration, effect corev1.TaintEffect) {
	if toleration.Effect != "" && toleration.Effect != effect {
		return
	}
	rule := taintRule{key: toleration.Key, value: toleration.Value}
	switch toleration.Operator {
	case corev1.TolerationOpExists:
		rule.anyValue = true
	case corev1.TolerationOpEqual, "":
	default:
		return
	}
	c.all = c.all || rule.key == "" && rule.anyValue
	c.rules = append(c.rules, rule)
}
