package placement_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/placement"
)

func ExampleCompile() {
	template := &corev1.PodTemplateSpec{}
	template.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
			{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: "cores", Operator: corev1.NodeSelectorOpGt, Values: []string{"many"}},
			}},
			{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: "zone", Operator: corev1.NodeSelectorOpExists},
			}},
		}},
	}}
	matcher, err := placement.Compile(template)
	fmt.Println("mistakes:", err != nil)

	// The second term is valid and still counts.
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"zone": "z1"}}}
	fmt.Println(matcher.Evaluate(node).Outcome)
	// Output:
	// mistakes: true
	// run
}

func ExampleMatcher_Evaluate() {
	template := &corev1.PodTemplateSpec{}
	template.Spec.NodeSelector = map[string]string{"gpu": "cuda"}
	matcher, err := placement.Compile(template)
	if err != nil {
		fmt.Println(err)
		return
	}
	gpu := map[string]string{"gpu": "cuda"}
	for _, node := range []*corev1.Node{
		{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: gpu}},
		{ObjectMeta: metav1.ObjectMeta{Name: "b"}},
		{ObjectMeta: metav1.ObjectMeta{Name: "c", Labels: gpu}, Spec: corev1.NodeSpec{Taints: []corev1.Taint{
			{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule},
			{Key: "dedicated", Value: "training", Effect: corev1.TaintEffectNoSchedule},
		}}},
	} {
		verdict := matcher.Evaluate(node)
		fmt.Printf("%s: %s, %s\n", node.Name, verdict.Outcome, verdict)
	}
	// Output:
	// a: run, node is eligible
	// b: leave, label gpu is not "cuda"
	// c: keep, taint dedicated=training:NoSchedule is not tolerated
}

func ExampleValidate() {
	template := &corev1.PodTemplateSpec{}
	template.Spec.NodeSelector = map[string]string{"zone": "z 1"}
	for _, mistake := range placement.Validate(template, field.NewPath("spec", "template")) {
		fmt.Println(mistake.Field, mistake.Type)
	}
	// Output:
	// spec.template.spec.nodeSelector[zone] Invalid value
}

func ExampleOutcome_String() {
	fmt.Println(placement.Run, placement.Keep, placement.Leave)
	// Output: run keep leave
}

func ExampleTest_String() {
	fmt.Println(placement.TestNodeSelector, placement.TestTaint)
	// Output: nodeSelector taint
}

func ExampleEffect_String() {
	fmt.Println(placement.EffectNoSchedule, placement.EffectNoExecute)
	// Output: NoSchedule NoExecute
}

func ExampleVerdict_String() {
	fmt.Println(placement.Verdict{Test: placement.TestNodeAffinity, Key: "zone"})
	// Output: required node affinity does not match (label zone)
}

func ExamplePin() {
	pinned := placement.Pin(nil, "node-7")
	term := pinned.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0]
	fmt.Println(term.MatchFields[0].Key, term.MatchFields[0].Operator, term.MatchFields[0].Values)
	// Output: metadata.name In [node-7]
}

func ExamplePod() {
	template := &corev1.PodTemplateSpec{}
	template.Labels = map[string]string{"app": "agent"}
	pod := placement.Pod(template, "node-7")
	node, _ := placement.TargetNode(pod)
	fmt.Println(pod.Labels["app"], node, len(pod.Spec.Tolerations))
	// Output: agent node-7 6
}

func ExampleTargetNode() {
	pod := &corev1.Pod{}
	_, found := placement.TargetNode(pod)
	fmt.Println(found)

	pod.Spec.Affinity = placement.Pin(nil, "node-7")
	fmt.Println(placement.TargetNode(pod))

	pod.Spec.NodeName = "node-8"
	fmt.Println(placement.TargetNode(pod))
	// Output:
	// false
	// node-7 true
	// node-8 true
}

func ExampleWarnings() {
	template := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "cores", Operator: corev1.NodeSelectorOpGt, Values: []string{"many"}}},
		}}},
	}}}}
	for _, warning := range placement.Warnings(template, nil) {
		fmt.Println(warning.BadValue)
	}
	// Output: many
}
