package placement_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/placement"
)

// TestEvaluatorTellsNodesApart: the nodes of a pair have almost the same annotations, and an Evaluator that has seen one of
// them must not take the other for the same.
func TestEvaluatorTellsNodesApart(t *testing.T) {
	overrides, err := placement.CompileOverrides("ns", "set", agent(), nil)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, why   string
		first, then *corev1.Node
	}{
		{
			"empty and none", "an empty annotation is malformed, none is not",
			annotatedNode("agent", `{}`, "trace", ""), annotatedNode("agent", `{}`),
		},
		{
			"one text and two", "the text of the first may look like the next container's, whose number is 2",
			annotatedNode("agent", "x", "trace", "y"), annotatedNode("agent", "x\x02y"),
		},
		{
			"other containers", "the same text means something else",
			annotatedNode("agent", "{}"), annotatedNode("trace", "{}"),
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, nodes := range [][2]*corev1.Node{{test.first, test.then}, {test.then, test.first}} {
				evaluator := overrides.Evaluator()
				evaluator.Evaluate(nodes[0])
				if got, want := evaluator.Evaluate(nodes[1]), overrides.Evaluate(nodes[1]); !cmp.Equal(got, want) {
					t.Errorf("%s: %s, want %s", test.why, sketch(got), sketch(want))
				}
			}
		})
	}
}

// TestOverriddenHasNoRoom: nodes share results, so one caller's append must not end up in what another appends to.
func TestOverriddenHasNoRoom(t *testing.T) {
	template := &corev1.PodTemplateSpec{}
	given := byContainer{}
	var texts []string
	for i := range 3 { // three elements make append leave room for a fourth
		name := fmt.Sprintf("c%d", i)
		template.Spec.Containers = append(template.Spec.Containers, corev1.Container{Name: name})
		given[name] = amounts("cpu", "1")
		texts = append(texts, name, "{")
	}
	overrides, err := placement.CompileOverrides("ns", "set", template, []placement.Override{at("a", 1, given), at("b", 0, given)})
	if err != nil {
		t.Fatal(err)
	}
	result := overrides.Evaluate(annotatedNode(texts...))
	if len(result.Resources) != 3 || len(result.Conflicts) != 3 || len(result.Malformed) != 3 {
		t.Fatal(sketch(result))
	}
	if cap(result.Resources) != 3 || cap(result.Conflicts) != 3 || cap(result.Malformed) != 3 {
		t.Errorf("room for %d resources, %d conflicts and %d malformed annotations",
			cap(result.Resources), cap(result.Conflicts), cap(result.Malformed))
	}
}

// TestOverrideOfTwins: no API server takes a template with two containers of one name, and a node still gets one effect.
func TestOverrideOfTwins(t *testing.T) {
	template := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		InitContainers: []corev1.Container{{Name: "agent", Resources: amounts("cpu", "2")}},
		Containers:     []corev1.Container{{Name: "agent"}, {Name: "agent"}},
	}}
	overrides, err := placement.CompileOverrides("ns", "set", template, []placement.Override{
		at("a", 0, byContainer{"agent": amounts("cpu", "2")}, "zone", "a"), at("b", 1, byContainer{"agent": amounts("cpu", "3")}, "zone", "b"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := sketch(overrides.Evaluate(annotatedNode())); got != "" {
		t.Errorf("%s, although the first of the containers has that already", got)
	}
	other := annotatedNode()
	other.Labels["zone"] = "b"
	if got := sketch(overrides.Evaluate(other)); got != "agent={'limits':{'cpu':'3'}} from 'b'" {
		t.Errorf("%s, not one effect", got)
	}
}

func TestApplyKeepsAnnotations(t *testing.T) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"a": "b"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "agent"}}},
	}
	placement.Overridden{Resources: []placement.Resources{{Container: "agent", Resources: amounts("cpu", "1")}}}.Apply(pod)
	if pod.Annotations["a"] != "b" || pod.Annotations[placement.DigestAnnotation] == "" {
		t.Errorf("annotations %v", pod.Annotations)
	}
}

// TestAnnotationInAnyOrder: the order in which an annotation names limits, requests and claims means nothing.
func TestAnnotationInAnyOrder(t *testing.T) {
	overrides, err := placement.CompileOverrides("ns", "set", agent(), nil)
	if err != nil {
		t.Fatal(err)
	}
	limits, requests, claims := `"limits":{"cpu":"2"}`, `"requests":{"cpu":"1"}`, `"claims":[{"name":"gpu"}]`
	want := "agent={'limits':{'cpu':'2'},'requests':{'cpu':'1'},'claims':[{'name':'gpu'}]} from ''"
	for _, order := range [][3]string{
		{limits, requests, claims}, {limits, claims, requests}, {requests, limits, claims},
		{requests, claims, limits}, {claims, limits, requests}, {claims, requests, limits},
	} {
		text := "{" + order[0] + "," + order[1] + "," + order[2] + "}"
		if got := sketch(overrides.Evaluate(annotatedNode("agent", text))); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestMistakesAfterOneThatIsNotCompared: an amount that is too long to compute with is reported, and does not end the search.
func TestMistakesAfterOneThatIsNotCompared(t *testing.T) {
	resources := amounts("cpu", "1", "+cpu", "2")
	resources.Requests["a.example.com/long"] = *resource.NewScaledQuantity(1, 30)
	_, err := placement.CompileOverrides("ns", "set", agent(), []placement.Override{at("a", 0, byContainer{"agent": resources})})
	want := "overrides[0].containers[agent].requests[cpu]"
	if fields := fieldsOf(t, err); !slices.Contains(fields, want) {
		t.Errorf("mistakes in %q, and none in %s", fields, want)
	}
}
