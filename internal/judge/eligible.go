package judge

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// verdict is what a template means on a node.
type verdict uint8

const (
	// leave: pods are to go from there (P3).
	leave verdict = iota
	// keep: only taints that evict nobody are in the way (P3).
	keep
	// runs: it is to run the pod (P2).
	runs
	// unclear: the revisions that may be wanted there do not agree.
	unclear
)

// verdictOn says what the template means on the node (P1 to P4), as naively as the rules are written.
func verdictOn(template *corev1.PodTemplateSpec, node *corev1.Node) verdict {
	spec := &template.Spec
	if spec.NodeName != "" && spec.NodeName != node.Name {
		return leave
	}
	for key, value := range spec.NodeSelector {
		if has, ok := node.Labels[key]; !ok || has != value {
			return leave
		}
	}
	if a := spec.Affinity; a != nil && a.NodeAffinity != nil {
		if terms := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution; terms != nil &&
			!slices.ContainsFunc(terms.NodeSelectorTerms, func(t corev1.NodeSelectorTerm) bool { return termFits(&t, node) }) {
			return leave
		}
	}
	out := runs
	for i := range node.Spec.Taints {
		switch taint := &node.Spec.Taints[i]; {
		case tolerated(spec, taint):
		case taint.Effect == corev1.TaintEffectNoExecute:
			return leave
		case taint.Effect == corev1.TaintEffectNoSchedule:
			out = keep
		}
	}
	return out
}

func termFits(term *corev1.NodeSelectorTerm, node *corev1.Node) bool {
	if len(term.MatchExpressions)+len(term.MatchFields) == 0 {
		return false
	}
	for _, e := range term.MatchExpressions {
		value, has := node.Labels[e.Key]
		if !fits(e.Operator, e.Values, value, has) {
			return false
		}
	}
	for _, f := range term.MatchFields {
		if f.Key != "metadata.name" || !fits(f.Operator, f.Values, node.Name, true) {
			return false
		}
	}
	return true
}

func fits(operator corev1.NodeSelectorOperator, values []string, value string, has bool) bool {
	switch operator {
	case corev1.NodeSelectorOpIn:
		return has && slices.Contains(values, value)
	case corev1.NodeSelectorOpNotIn:
		return !has || !slices.Contains(values, value)
	case corev1.NodeSelectorOpExists:
		return has
	case corev1.NodeSelectorOpDoesNotExist:
		return !has
	}
	number, err := strconv.ParseInt(value, 10, 64)
	if !has || err != nil || len(values) != 1 {
		return false
	}
	bound, err := strconv.ParseInt(values[0], 10, 64)
	greater, less := operator == corev1.NodeSelectorOpGt, operator == corev1.NodeSelectorOpLt
	return err == nil && (greater && number > bound || less && number < bound)
}

// tolerated reports whether the template, with the tolerations that every daemon pod gets (P1), puts up with the taint.
func tolerated(spec *corev1.PodSpec, taint *corev1.Taint) bool {
	switch {
	case taint.Effect == corev1.TaintEffectNoExecute &&
		(taint.Key == corev1.TaintNodeNotReady || taint.Key == corev1.TaintNodeUnreachable):
		return true
	case taint.Effect == corev1.TaintEffectNoSchedule:
		switch taint.Key {
		case corev1.TaintNodeDiskPressure, corev1.TaintNodeMemoryPressure, corev1.TaintNodePIDPressure,
			corev1.TaintNodeUnschedulable:
			return true
		case corev1.TaintNodeNetworkUnavailable:
			if spec.HostNetwork {
				return true
			}
		}
	}
	for _, t := range spec.Tolerations {
		if (t.Effect == "" || t.Effect == taint.Effect) && (t.Key == "" || t.Key == taint.Key) &&
			(t.Operator == corev1.TolerationOpExists || t.Value == taint.Value) {
			return true
		}
	}
	return false
}

// selects reports whether the selector matches the labels; nil matches all of them.
func selects(selector *metav1.LabelSelector, set map[string]string) bool {
	if selector == nil {
		return true
	}
	compiled, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && compiled.Matches(labels.Set(set))
}
