package placement_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/placement"
)

// TestNodeWithoutName: it passes every requirement on a field, as it does with the Kubernetes helpers.
func TestNodeWithoutName(t *testing.T) {
	for _, operator := range []corev1.NodeSelectorOperator{corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn} {
		template := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Affinity: required(nodeField("metadata.name", operator, "a"))}}
		if got := compiled(template, &corev1.Node{}); got.Outcome != placement.Run {
			t.Errorf("%s: %+v", operator, got)
		}
	}
}

// TestUnsupportedOperatorNamesTheOthers: whoever wrote it can see what would have been understood.
func TestUnsupportedOperatorNamesTheOthers(t *testing.T) {
	template := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Affinity: required(label("zone", "Weird"))}}
	mistakes := placement.Validate(template, field.NewPath("template"))
	want := `Unsupported value: "Weird": supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"`
	if len(mistakes) != 1 || !strings.HasSuffix(mistakes[0].Error(), ": "+want) {
		t.Errorf("%v, want one that ends in\n%s", mistakes, want)
	}
}
