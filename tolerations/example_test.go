package tolerations_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/tolerations"
)

func ExampleForDaemon() {
	seconds := int64(300)
	spec := &corev1.PodSpec{
		HostNetwork: true,
		Tolerations: []corev1.Toleration{
			{Key: "dedicated", Value: "gpu", Effect: corev1.TaintEffectNoSchedule},
			// A finite period is overruled: a daemon pod waits for its node.
			{
				Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists,
				Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds,
			},
		},
	}
	for _, t := range tolerations.ForDaemon(spec) {
		fmt.Println(t.Key, t.Effect, t.TolerationSeconds == nil)
	}
	// Output:
	// dedicated NoSchedule true
	// node.kubernetes.io/unreachable NoExecute true
	// node.kubernetes.io/not-ready NoExecute true
	// node.kubernetes.io/disk-pressure NoSchedule true
	// node.kubernetes.io/memory-pressure NoSchedule true
	// node.kubernetes.io/pid-pressure NoSchedule true
	// node.kubernetes.io/unschedulable NoSchedule true
	// node.kubernetes.io/network-unavailable NoSchedule true
}

func ExampleTolerates() {
	taint := &corev1.Taint{Key: "dedicated", Value: "gpu", Effect: corev1.TaintEffectNoSchedule}
	fmt.Println(tolerations.Tolerates(&corev1.Toleration{Key: "dedicated", Operator: corev1.TolerationOpExists}, taint))
	fmt.Println(tolerations.Tolerates(&corev1.Toleration{Key: "dedicated", Value: "batch"}, taint))
	// Output:
	// true
	// false
}

func ExampleValidate() {
	list := []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists, Value: "gpu"}}
	for _, err := range tolerations.Validate(list, field.NewPath("spec", "tolerations")) {
		fmt.Println(err)
	}
	// Output:
	// spec.tolerations[0].value: Invalid value: "gpu": must be empty when operator is Exists
}
