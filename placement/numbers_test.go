package placement_test

import (
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/placement"
)

// TestNumbers compares Gt and Lt with strconv, which the controllers use, for every text of the alphabets
// and every bound.
func TestNumbers(t *testing.T) {
	matched := map[corev1.NodeSelectorOperator]int{}
	for _, bound := range []string{"0", "7", "8", "08", "9", "9223372036854775806", "9223372036854775807"} {
		for _, text := range slices.Concat(labelValues, oddValues) {
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"cores": text}}}
			number, err := strconv.ParseInt(text, 10, 64)
			limit, _ := strconv.ParseInt(bound, 10, 64)
			for operator, want := range map[corev1.NodeSelectorOperator]bool{
				corev1.NodeSelectorOpGt: err == nil && number > limit,
				corev1.NodeSelectorOpLt: err == nil && number < limit,
			} {
				template := &corev1.PodTemplateSpec{}
				template.Spec.Affinity = required(label("cores", operator, bound))
				if got := compiled(template, node).Outcome == placement.Run; got != want {
					t.Errorf("%q %s %s = %v, want %v", text, operator, bound, got, want)
				}
				if want {
					matched[operator]++
				}
			}
		}
	}
	if matched[corev1.NodeSelectorOpGt] == 0 || matched[corev1.NodeSelectorOpLt] == 0 {
		t.Errorf("nothing matches: %v", matched)
	}
}

// TestManyValues crosses the size from which on values are kept as a set.
func TestManyValues(t *testing.T) {
	values := make([]string, 0, 12)
	for i := range 12 {
		values = append(values, "v"+strconv.Itoa(i))
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{}}}
		in, notIn := &corev1.PodTemplateSpec{}, &corev1.PodTemplateSpec{}
		in.Spec.Affinity = required(label("key", corev1.NodeSelectorOpIn, values...))
		notIn.Spec.Affinity = required(label("key", corev1.NodeSelectorOpNotIn, values...))
		if compiled(in, node).Outcome == placement.Run || compiled(notIn, node).Outcome != placement.Run {
			t.Errorf("%d values: a missing label must be in no set", len(values))
		}
		for _, value := range append(slices.Clone(values), "other", "") {
			node.Labels["key"] = value
			want := slices.Contains(values, value)
			if got := compiled(in, node).Outcome == placement.Run; got != want {
				t.Errorf("%q In %v = %v", value, values, got)
			}
			if got := compiled(notIn, node).Outcome == placement.Run; got == want {
				t.Errorf("%q NotIn %v = %v", value, values, got)
			}
		}
	}
}
