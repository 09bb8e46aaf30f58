package differential_test

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

// Small alphabets, so that templates, nodes and taints meet, with what is spelled in ways that are easy to read wrongly.
var (
	helperKeys = []string{
		"zone", "gpu", "cores", "kubernetes.io/hostname", "dedicated", corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable,
		corev1.TaintNodeDiskPressure, corev1.TaintNodeMemoryPressure, corev1.TaintNodePIDPressure,
		corev1.TaintNodeUnschedulable, corev1.TaintNodeNetworkUnavailable,
	}
	helperConditions = helperKeys[5:]
	helperOddKeys    = []string{
		"", "Zone", "no key!", "a/b/c", "/a", "zone/", "é", "日本/key", "\xff", "\x00", "metadata.name", "metadata.namespace",
		"a.very.long.prefix.that.is.still.one/a-name-of-more-than-sixty-three-characters-which-no-label-may-carry-at-all",
	}
	helperValues    = []string{"", "a", "b", "8", "7", "9", "node-1", "3"}
	helperOddValues = []string{
		"08", "-1", "+8", "--8", "8.5", "8_0", "0x8", " 8", "8 ", "1e1", "٣", "NaN", "9223372036854775807", "9223372036854775808",
		"-9223372036854775808", "-9223372036854775809", "18446744073709551617", "not a value!", "é", "\xff", "a\x00b", "日本", "A",
	}
	helperNodeNames = []string{"a", "b", "node-1", "", "node-1.example", "Ä", "\xfe"}
	helperEffects   = []corev1.TaintEffect{
		corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule,
	}
	helperOddEffects   = []corev1.TaintEffect{"", "Weird", "noschedule", "NoSchedule ", "\xff"}
	helperTolerates    = []corev1.TolerationOperator{"", corev1.TolerationOpEqual, corev1.TolerationOpExists}
	helperOddTolerates = []corev1.TolerationOperator{
		corev1.TolerationOpLt, corev1.TolerationOpGt, "Weird", "exists", "\xff",
	}
	helperSelects = []corev1.NodeSelectorOperator{
		corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist,
		corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt,
	}
	helperOddSelects = []corev1.NodeSelectorOperator{"", "in", "Weird", "\xff"}
)

// oneIn draws true once in n.
func oneIn(t *rapid.T, n int, label string) bool { return rapid.IntRange(1, n).Draw(t, label) == n }

// mostly draws from the usual values, and once in n from the odd ones.
func mostly[T any](t *rapid.T, n int, usual, odd []T, label string) T {
	if oneIn(t, n, label+" is odd") {
		return rapid.SampledFrom(odd).Draw(t, label)
	}
	return rapid.SampledFrom(usual).Draw(t, label)
}

// anyList draws nil, an empty slice or a few elements.
func anyList[T any](t *rapid.T, most int, element *rapid.Generator[T], label string) []T {
	n := rapid.IntRange(0, most+1).Draw(t, "count of "+label) - 1
	if n < 0 {
		return nil
	}
	return rapid.SliceOfN(element, n, n).Draw(t, label)
}

func anyKey(t *rapid.T, label string) string { return mostly(t, 20, helperKeys, helperOddKeys, label) }

func anyValue(t *rapid.T) string {
	return mostly(t, 6, helperValues, helperOddValues, "value")
}

// anyLabels draws nil, an empty map or a few pairs.
func anyLabels(t *rapid.T, most int, label string) map[string]string {
	n := rapid.IntRange(0, most+1).Draw(t, "count of "+label) - 1
	if n < 0 {
		return nil
	}
	out := map[string]string{}
	for range n {
		out[anyKey(t, "key")] = anyValue(t)
	}
	return out
}

func anyTaint() *rapid.Generator[corev1.Taint] {
	return rapid.Custom(func(t *rapid.T) corev1.Taint {
		taint := corev1.Taint{
			Key: anyKey(t, "key"), Value: anyValue(t), Effect: mostly(t, 6, helperEffects, helperOddEffects, "effect"),
		}
		if oneIn(t, 8, "dated") {
			taint.TimeAdded = &metav1.Time{}
		}
		return taint
	})
}

// anyToleration draws the daemon defaults, and what differs from one of them in a single field, as often as anything else:
// only those meet when they are merged.
func anyToleration() *rapid.Generator[corev1.Toleration] {
	effects := append([]corev1.TaintEffect{""}, helperEffects...)
	return rapid.Custom(func(t *rapid.T) corev1.Toleration {
		toleration := corev1.Toleration{
			Key: anyKey(t, "key"), Value: anyValue(t),
			Operator: mostly(t, 8, helperTolerates, helperOddTolerates, "operator"),
			Effect:   mostly(t, 8, effects, helperOddEffects, "effect"),
		}
		switch rapid.IntRange(0, 6).Draw(t, "kind") {
		case 0, 1:
			toleration.Operator, toleration.Value = corev1.TolerationOpExists, ""
			toleration.Key = rapid.SampledFrom(helperConditions).Draw(t, "condition")
		case 2:
			toleration.Operator, toleration.Effect = corev1.TolerationOpExists, corev1.TaintEffectNoSchedule
			toleration.Key = rapid.SampledFrom(helperConditions).Draw(t, "condition")
		case 3:
			toleration = corev1.Toleration{}
		case 4:
			toleration.Operator = corev1.TolerationOpExists
		}
		if oneIn(t, 3, "finite") {
			toleration.TolerationSeconds = new(rapid.SampledFrom([]int64{0, 1, -1, 300, 1<<63 - 1, -1 << 63}).Draw(t, "seconds"))
		}
		return toleration
	})
}

// anyExpression draws requirements whose number of values mostly fits the operator, now and then many.
func anyExpression() *rapid.Generator[corev1.NodeSelectorRequirement] {
	return rapid.Custom(func(t *rapid.T) corev1.NodeSelectorRequirement {
		e := corev1.NodeSelectorRequirement{
			Key: anyKey(t, "key"), Operator: mostly(t, 25, helperSelects, helperOddSelects, "operator"),
		}
		least, most := 1, 3
		switch e.Operator {
		case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
			least, most = 0, 0
		case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
			least, most = 1, 1
		default:
			if oneIn(t, 8, "many") {
				least, most = 8, 12
			}
		}
		if oneIn(t, 20, "miscounted") {
			least, most = 0, 2
		}
		for range rapid.IntRange(least, most).Draw(t, "count") {
			e.Values = append(e.Values, anyValue(t))
		}
		if len(e.Values) == 0 && oneIn(t, 2, "empty, not nil") {
			e.Values = []string{}
		}
		return e
	})
}

func anyField() *rapid.Generator[corev1.NodeSelectorRequirement] {
	odd := append([]string{"zone", "metadata.uid", "Metadata.name"}, helperOddKeys...)
	oddSelects := append(slices.Clone(helperOddSelects), helperSelects[2:]...)
	return rapid.Custom(func(t *rapid.T) corev1.NodeSelectorRequirement {
		f := corev1.NodeSelectorRequirement{
			Key:      mostly(t, 5, []string{metav1.ObjectNameField}, odd, "field"),
			Operator: mostly(t, 15, helperSelects[:2], oddSelects, "operator"),
			Values:   []string{rapid.SampledFrom(helperNodeNames).Draw(t, "value")},
		}
		if oneIn(t, 12, "miscounted") {
			f.Values = rapid.SampledFrom([][]string{nil, {}, {"a", "b"}, {"a", "a"}, {"", "a"}}).Draw(t, "values")
		}
		return f
	})
}

func anyTerm() *rapid.Generator[corev1.NodeSelectorTerm] {
	return rapid.Custom(func(t *rapid.T) corev1.NodeSelectorTerm {
		term := corev1.NodeSelectorTerm{MatchExpressions: anyList(t, 2, anyExpression(), "expressions")}
		if oneIn(t, 3, "with fields") {
			term.MatchFields = anyList(t, 2, anyField(), "fields")
		}
		return term
	})
}

// anyAffinity draws nil too, and every level of it left empty.
func anyAffinity() *rapid.Generator[*corev1.Affinity] {
	return rapid.Custom(func(t *rapid.T) *corev1.Affinity {
		shape := rapid.IntRange(0, 14).Draw(t, "shape")
		if shape < 5 {
			return nil
		}
		affinity := &corev1.Affinity{}
		if oneIn(t, 5, "anti-affinity") {
			affinity.PodAntiAffinity = &corev1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
					TopologyKey: anyKey(t, "topology"), LabelSelector: &metav1.LabelSelector{MatchLabels: anyLabels(t, 1, "selected")},
				}},
			}
		}
		if shape == 5 {
			return affinity
		}
		affinity.NodeAffinity = &corev1.NodeAffinity{}
		if oneIn(t, 5, "preference") {
			affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = []corev1.PreferredSchedulingTerm{
				{Weight: rapid.Int32().Draw(t, "weight"), Preference: anyTerm().Draw(t, "preferred")},
			}
		}
		if shape == 6 {
			return affinity
		}
		affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{
			NodeSelectorTerms: anyList(t, 3, anyTerm(), "terms"),
		}
		return affinity
	})
}

func anyNode() *rapid.Generator[*corev1.Node] {
	return rapid.Custom(func(t *rapid.T) *corev1.Node {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name: rapid.SampledFrom(helperNodeNames).Draw(t, "name"), Labels: anyLabels(t, 6, "labels"),
		}}
		node.Spec.Unschedulable = oneIn(t, 6, "unschedulable")
		node.Spec.Taints = anyList(t, 3, anyTaint(), "taints")
		return node
	})
}

// anyEligibility draws what decides where a template may run.
func anyEligibility() *rapid.Generator[corev1.PodSpec] {
	return rapid.Custom(func(t *rapid.T) corev1.PodSpec {
		spec := corev1.PodSpec{
			HostNetwork: rapid.Bool().Draw(t, "hostNetwork"),
			Affinity:    anyAffinity().Draw(t, "affinity"),
			Tolerations: anyList(t, 4, anyToleration(), "tolerations"),
		}
		if oneIn(t, 8, "named") {
			spec.NodeName = rapid.SampledFrom(helperNodeNames).Draw(t, "nodeName")
		}
		if oneIn(t, 3, "selecting") {
			spec.NodeSelector = anyLabels(t, 2, "nodeSelector")
		}
		return spec
	})
}

// situation is a template and a node that it may run on.
type situation struct {
	Template *corev1.PodTemplateSpec
	Node     *corev1.Node
}

// anySituation draws nodes that have what the template asks for often enough to be eligible, and labels that it looks at.
func anySituation() *rapid.Generator[situation] {
	return rapid.Custom(func(t *rapid.T) situation {
		s := situation{
			Template: &corev1.PodTemplateSpec{Spec: anyEligibility().Draw(t, "spec")},
			Node:     anyNode().Draw(t, "node"),
		}
		if oneIn(t, 2, "selected") {
			for _, key := range slices.Sorted(maps.Keys(s.Template.Spec.NodeSelector)) {
				metav1.SetMetaDataLabel(&s.Node.ObjectMeta, key, s.Template.Spec.NodeSelector[key])
			}
		}
		eachTerm(&s.Template.Spec, func(term *corev1.NodeSelectorTerm) {
			for _, e := range term.MatchExpressions {
				if oneIn(t, 2, "looked at") {
					metav1.SetMetaDataLabel(&s.Node.ObjectMeta, e.Key, mostly(t, 3, append([]string{"8"}, e.Values...), helperOddValues, "met"))
				}
			}
		})
		return s
	})
}
