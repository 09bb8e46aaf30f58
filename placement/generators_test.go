package placement_test

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

// The alphabets are small, so that templates and nodes meet, and hold what compares in odd ways.
var (
	labelKeys   = []string{"zone", "gpu", "cores", "kubernetes.io/hostname", "metadata.name"}
	badKeys     = []string{"", "not a key", "metadata.namespace"}
	nodeNames   = []string{"a", "b", "node-1", ""}
	labelValues = []string{
		"", "a", "b", "node-1", "8", "08", "-1", "7", "9", "9223372036854775807", "-9223372036854775808",
	}
	oddValues = []string{
		"+8", "--8", "-", "+", "8.5", "8_0", "0x8", "9223372036854775808", "-9223372036854775809", "18446744073709551617",
		"92233720368547758070", "not a value!", "/", ":", " 8",
	}
	nodeOperators = []corev1.NodeSelectorOperator{
		corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists,
		corev1.NodeSelectorOpDoesNotExist, corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt,
	}
	taintKeys = []string{
		"dedicated", "", corev1.TaintNodeNotReady, corev1.TaintNodeDiskPressure, corev1.TaintNodeUnschedulable,
		corev1.TaintNodeNetworkUnavailable,
	}
	taintValues  = []string{"", "gpu", "3"}
	taintEffects = []corev1.TaintEffect{
		corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule, "", "Weird",
	}
	tolerationOperators = []corev1.TolerationOperator{
		"", corev1.TolerationOpEqual, corev1.TolerationOpExists, corev1.TolerationOpLt, corev1.TolerationOpGt, "Weird",
	}
)

// rarely draws true once in n.
func rarely(t *rapid.T, n int, label string) bool {
	return rapid.IntRange(1, n).Draw(t, label) == n
}

// either draws from the usual alphabet, and once in n from the odd one.
func either(t *rapid.T, n int, usual, odd []string, label string) string {
	if rarely(t, n, label+" is odd") {
		return rapid.SampledFrom(odd).Draw(t, label)
	}
	return rapid.SampledFrom(usual).Draw(t, label)
}

func nodeGen() *rapid.Generator[*corev1.Node] {
	return rapid.Custom(func(t *rapid.T) *corev1.Node {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: rapid.SampledFrom(nodeNames).Draw(t, "name")}}
		for _, key := range labelKeys {
			if !rarely(t, 3, "without "+key) {
				metav1.SetMetaDataLabel(&node.ObjectMeta, key, either(t, 4, labelValues, oddValues, key))
			}
		}
		node.Spec.Unschedulable = rarely(t, 8, "unschedulable")
		if rapid.Bool().Draw(t, "tainted") {
			node.Spec.Taints = rapid.SliceOfN(taintGen(), 0, 4).Draw(t, "taints")
		}
		return node
	})
}

func taintGen() *rapid.Generator[corev1.Taint] {
	return rapid.Custom(func(t *rapid.T) corev1.Taint {
		return corev1.Taint{
			Key:    rapid.SampledFrom(taintKeys).Draw(t, "key"),
			Value:  rapid.SampledFrom(taintValues).Draw(t, "value"),
			Effect: rapid.SampledFrom(taintEffects).Draw(t, "effect"),
		}
	})
}

func tolerationGen() *rapid.Generator[corev1.Toleration] {
	return rapid.Custom(func(t *rapid.T) corev1.Toleration {
		toleration := corev1.Toleration{
			Key:      rapid.SampledFrom(taintKeys).Draw(t, "key"),
			Operator: rapid.SampledFrom(tolerationOperators).Draw(t, "operator"),
			Value:    rapid.SampledFrom(taintValues).Draw(t, "value"),
			Effect:   rapid.SampledFrom(taintEffects).Draw(t, "effect"),
		}
		if rarely(t, 4, "finite") {
			seconds := rapid.Int64Range(0, 1).Draw(t, "seconds")
			toleration.TolerationSeconds = &seconds
		}
		return toleration
	})
}

// expressionGen draws numbers of values that mostly fit the operator, and now and then so many that they are
// compiled into a set.
func expressionGen() *rapid.Generator[corev1.NodeSelectorRequirement] {
	return rapid.Custom(func(t *rapid.T) corev1.NodeSelectorRequirement {
		expression := corev1.NodeSelectorRequirement{
			Key:      either(t, 20, labelKeys, badKeys, "key"),
			Operator: rapid.SampledFrom(nodeOperators).Draw(t, "operator"),
		}
		least, most := 1, 4
		switch expression.Operator {
		case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
			least, most = 0, 0
		case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
			least, most = 1, 1
		default:
			if rarely(t, 6, "many") {
				least, most = 7, 11
			}
		}
		if rarely(t, 20, "miscounted") {
			least, most = 0, 2
		}
		for range rapid.IntRange(least, most).Draw(t, "count") {
			expression.Values = append(expression.Values, either(t, 25, labelValues, oddValues, "value"))
		}
		if rarely(t, 25, "unknown operator") {
			expression.Operator = rapid.SampledFrom([]corev1.NodeSelectorOperator{"", "in", "Weird"}).Draw(t, "operator")
		}
		return expression
	})
}

func fieldGen() *rapid.Generator[corev1.NodeSelectorRequirement] {
	return rapid.Custom(func(t *rapid.T) corev1.NodeSelectorRequirement {
		requirement := corev1.NodeSelectorRequirement{
			Key:      either(t, 6, []string{metav1.ObjectNameField}, append(badKeys, "zone"), "key"),
			Operator: rapid.SampledFrom(nodeOperators[:2]).Draw(t, "operator"),
			Values:   []string{rapid.SampledFrom(nodeNames).Draw(t, "value")},
		}
		if rarely(t, 15, "unknown operator") {
			requirement.Operator = rapid.SampledFrom(nodeOperators[2:]).Draw(t, "operator")
		}
		if rarely(t, 15, "miscounted") {
			requirement.Values = rapid.SampledFrom([][]string{nil, {}, {"a", "b"}}).Draw(t, "values")
		}
		return requirement
	})
}

func termGen() *rapid.Generator[corev1.NodeSelectorTerm] {
	return rapid.Custom(func(t *rapid.T) corev1.NodeSelectorTerm {
		var term corev1.NodeSelectorTerm
		if rarely(t, 10, "empty") {
			return term
		}
		term.MatchExpressions = rapid.SliceOfN(expressionGen(), 0, 3).Draw(t, "expressions")
		if rarely(t, 3, "with fields") {
			term.MatchFields = rapid.SliceOfN(fieldGen(), 0, 2).Draw(t, "fields")
		}
		return term
	})
}

func templateGen() *rapid.Generator[*corev1.PodTemplateSpec] {
	return rapid.Custom(func(t *rapid.T) *corev1.PodTemplateSpec {
		template := &corev1.PodTemplateSpec{}
		spec := &template.Spec
		if rarely(t, 6, "named") {
			spec.NodeName = rapid.SampledFrom(nodeNames).Draw(t, "nodeName")
		}
		spec.HostNetwork = rapid.Bool().Draw(t, "hostNetwork")
		if rarely(t, 3, "selecting") {
			spec.NodeSelector = map[string]string{}
			for range rapid.IntRange(0, 2).Draw(t, "selector size") {
				key := either(t, 20, labelKeys, badKeys, "selector key")
				spec.NodeSelector[key] = either(t, 20, labelValues, oddValues, "selector value")
			}
		}
		if rapid.Bool().Draw(t, "affine") {
			spec.Affinity = required(rapid.SliceOfN(termGen(), 0, 3).Draw(t, "terms")...)
			switch rapid.IntRange(0, 20).Draw(t, "affinity shape") {
			case 0:
				spec.Affinity.NodeAffinity = nil
			case 1:
				spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = nil
			}
		}
		spec.Tolerations = rapid.SliceOfN(tolerationGen(), 0, 3).Draw(t, "tolerations")
		return template
	})
}
