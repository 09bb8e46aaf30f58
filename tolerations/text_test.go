package tolerations_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/tolerations"
)

func ExampleText() {
	fmt.Println(tolerations.Text(corev1.Toleration{Key: "gpu", Value: "yes", Effect: corev1.TaintEffectNoSchedule}))
	// Output: gpu=yes:NoSchedule
}

func TestText(t *testing.T) {
	tests := []struct {
		name, why string
		of        corev1.Toleration
		want      string
	}{
		{"key", "whatever its value", corev1.Toleration{Key: "gpu", Operator: corev1.TolerationOpExists}, "gpu"},
		{"key and effect", "as kubectl writes a taint", corev1.Toleration{Key: "gpu", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}, "gpu:NoExecute"},
		{"everything", "no key means all", corev1.Toleration{Operator: corev1.TolerationOpExists}, "everything"},
		{"all of an effect", "no key means all", corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}, "everything:NoSchedule"},
		{"less", "a number is compared", corev1.Toleration{Key: "cost", Operator: corev1.TolerationOpLt, Value: "5"}, "cost<5"},
		{"greater", "a number is compared", corev1.Toleration{Key: "cost", Operator: corev1.TolerationOpGt, Value: "5"}, "cost>5"},
	}
	for _, test := range tests {
		if test.name == "" || test.why == "" {
			t.Fatal("a row without name or reason")
		}
		if got := tolerations.Text(test.of); got != test.want {
			t.Errorf("%s (%s): %q, want %q", test.name, test.why, got, test.want)
		}
	}
}
