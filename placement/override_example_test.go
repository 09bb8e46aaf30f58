package placement_test

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/placement"
)

func cpu(amount string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(amount)}}
}

// exampleOverrides are two overrides of the agent: one for large nodes, and a newer one for those in zone a.
func exampleOverrides() (*corev1.PodTemplateSpec, []placement.Override) {
	template := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "agent", Resources: cpu("1")}}}}
	created := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return template, []placement.Override{{
		Name:         "large",
		Created:      created,
		NodeSelector: metav1.LabelSelector{MatchLabels: map[string]string{"size": "large"}},
		Containers:   map[string]corev1.ResourceRequirements{"agent": cpu("2")},
	}, {
		Name:         "zone-a",
		Created:      created.Add(time.Hour),
		NodeSelector: metav1.LabelSelector{MatchLabels: map[string]string{"zone": "a"}},
		Containers:   map[string]corev1.ResourceRequirements{"agent": cpu("3")},
	}}
}

func ExampleCompileOverrides() {
	template, list := exampleOverrides()
	list = append(list, placement.Override{Containers: map[string]corev1.ResourceRequirements{"agent": cpu("4")}})
	overrides, err := placement.CompileOverrides("monitoring", "agent", template, list)
	fmt.Println("mistakes:", err != nil)

	// The override without a name is left out, the others count.
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"size": "large"}}}
	fmt.Println(overrides.Evaluate(node).Resources[0].Source)
	// Output:
	// mistakes: true
	// large
}

func ExampleOverrides_Evaluate() {
	template, list := exampleOverrides()
	overrides, err := placement.CompileOverrides("monitoring", "agent", template, list)
	if err != nil {
		fmt.Println(err)
		return
	}
	large := map[string]string{"size": "large"}
	key := placement.OverrideAnnotationPrefix + "monitoring.agent.agent"
	for _, node := range []*corev1.Node{
		{ObjectMeta: metav1.ObjectMeta{Name: "small"}},
		{ObjectMeta: metav1.ObjectMeta{Name: "large", Labels: large}},
		{ObjectMeta: metav1.ObjectMeta{Name: "both", Labels: map[string]string{"size": "large", "zone": "a"}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "annotated", Labels: large, Annotations: map[string]string{key: `{"limits":{"cpu":"5"}}`}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "malformed", Labels: large, Annotations: map[string]string{key: "cpu=5"}}},
	} {
		overridden := overrides.Evaluate(node)
		fmt.Printf("%s:", node.Name)
		for _, resources := range overridden.Resources {
			fmt.Printf(" %s gets %s from %q", resources.Container, resources.Resources.Limits.Cpu(), resources.Source)
		}
		fmt.Println("", overridden.Conflicts, overridden.Malformed)
	}
	// Output:
	// small: [] []
	// large: agent gets 2 from "large" [] []
	// both: agent gets 3 from "zone-a" [{agent zone-a large}] []
	// annotated: agent gets 5 from "" [] []
	// malformed: agent gets 2 from "large" [] [{agent not valid JSON}]
}

func ExampleOverrides_Evaluator() {
	template, list := exampleOverrides()
	overrides, err := placement.CompileOverrides("monitoring", "agent", template, list)
	if err != nil {
		fmt.Println(err)
		return
	}
	evaluator := overrides.Evaluator() // for this pass over the nodes
	for _, zone := range []string{"a", "b"} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"zone": zone}}}
		fmt.Println(zone, evaluator.Evaluate(node).Digest)
	}
	// Output:
	// a b0eb0f8920f487125946
	// b
}

func ExampleEvaluator_Evaluate() {
	template, list := exampleOverrides()
	overrides, err := placement.CompileOverrides("monitoring", "agent", template, list)
	if err != nil {
		fmt.Println(err)
		return
	}
	evaluator := overrides.Evaluator()
	both := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"size": "large", "zone": "a"}}}
	first, second := evaluator.Evaluate(both), evaluator.Evaluate(both)
	fmt.Println("one result for both:", &first.Resources[0] == &second.Resources[0])
	// Output: one result for both: true
}

func ExampleDigest() {
	one := []placement.Resources{{Container: "agent", Resources: cpu("1")}}
	milli := []placement.Resources{{Container: "agent", Resources: cpu("1000m"), Source: "large"}}
	two := []placement.Resources{{Container: "agent", Resources: cpu("2")}}
	fmt.Println(placement.Digest(one) == placement.Digest(milli), placement.Digest(one) == placement.Digest(two))
	fmt.Printf("%q\n", placement.Digest(nil))
	// Output:
	// true false
	// ""
}

func ExampleOverridden_Apply() {
	template, list := exampleOverrides()
	overrides, err := placement.CompileOverrides("monitoring", "agent", template, list)
	if err != nil {
		fmt.Println(err)
		return
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"zone": "a"}}}
	pod := placement.Pod(template, node.Name)
	overrides.Evaluate(node).Apply(pod)
	fmt.Println(pod.Spec.Containers[0].Resources.Limits.Cpu())

	// Later: is the pod still what it should be?
	fmt.Println(pod.Annotations[placement.DigestAnnotation] == overrides.Evaluate(node).Digest)
	// Output:
	// 3
	// true
}

func ExampleValidateOverrides() {
	mistakes := placement.ValidateOverrides([]placement.Override{{
		Containers: map[string]corev1.ResourceRequirements{"agent": cpu("-1")},
	}}, nil)
	for _, mistake := range mistakes {
		fmt.Println(mistake.Field, mistake.Type)
	}
	// Output:
	// overrides[0].name Required value
	// overrides[0].containers[agent].limits[cpu] Invalid value
}
