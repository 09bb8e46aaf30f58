package outage_test

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/rollout/outage"
)

// Two nodes went down at noon. On the first the new pod was created a minute later, and no kubelet has started it; on the second
// it was running since a minute before.
func ExampleOptions_Excuses() {
	at := func(minutes int) metav1.Time { return metav1.NewTime(noon().Add(time.Duration(minutes) * time.Minute)) }
	node := &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, LastTransitionTime: at(0)},
	}}}
	later := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: at(1)}}
	earlier := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{CreationTimestamp: at(-1)}, Status: corev1.PodStatus{StartTime: new(at(-1))},
	}
	var options outage.Options
	for _, pod := range []*corev1.Pod{later, earlier} {
		var update outage.Update
		update.NewPod(pod)
		fmt.Println(options.Excuses(options.Of(node), &update))
	}
	// Output:
	// true
	// false
}

// A node that karpenter has begun to take away.
func ExampleOptions_Of() {
	node := &corev1.Node{
		Spec:   corev1.NodeSpec{Taints: []corev1.Taint{{Key: "karpenter.sh/disrupted", Effect: corev1.TaintEffectNoSchedule}}},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
	out := outage.Options{}.Of(node)
	fmt.Println(out.Out, out.Departing, out.Since.IsZero())
	// Output: true true true
}
