package placement_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/tolerations"
)

func TestPin(t *testing.T) {
	pin := nodeField("metadata.name", "In", "a")
	preferred := []corev1.PreferredSchedulingTerm{{Weight: 5, Preference: label("zone", "In", "z1")}}
	podAffinity := &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: "zone"}}}
	withPreferred := required(pin)
	withPreferred.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = preferred
	withPod := required(pin)
	withPod.PodAffinity = podAffinity
	tests := []struct {
		name, why      string
		affinity, want *corev1.Affinity
	}{
		{"nil", "P6: the pin alone", nil, required(pin)},
		{"empty", "the same", &corev1.Affinity{}, required(pin)},
		{
			"terms", "P6: they are replaced",
			required(label("zone", "In", "z1"), nodeField("metadata.name", "In", "b")), required(pin),
		},
		{"no terms", "P6: they are replaced", required(), required(pin)},
		{"preferred only", "it stays", &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: preferred,
		}}, withPreferred},
		{"pod affinity only", "it stays", &corev1.Affinity{PodAffinity: podAffinity}, withPod},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.name == "" || test.why == "" {
				t.Fatal("a row needs a name and a why")
			}
			before := test.affinity.DeepCopy()
			got := placement.Pin(test.affinity, "a")
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.why, diff)
			}
			for i := range got.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
				got.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution[i].Preference.MatchExpressions[0].Values[0] = "overwritten"
			}
			if got.PodAffinity != nil {
				got.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].TopologyKey = "overwritten"
			}
			if diff := cmp.Diff(before, test.affinity); diff != "" {
				t.Errorf("the input was written or is shared (-before +after):\n%s", diff)
			}
		})
	}
}

func TestPod(t *testing.T) {
	template := &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{
			Name: "ignored", Namespace: "ignored",
			Labels: map[string]string{"app": "agent"}, Annotations: map[string]string{"note": "x"}, Finalizers: []string{"f"},
		},
		Spec: corev1.PodSpec{
			HostNetwork:  true,
			NodeSelector: map[string]string{"zone": "z1"},
			Containers:   []corev1.Container{{Name: "main", Image: "agent:1", Args: []string{"x"}}},
			Affinity:     required(label("zone", "In", "z1")),
			Tolerations:  []corev1.Toleration{{Key: "dedicated"}},
		},
	}
	before := template.DeepCopy()
	pod := placement.Pod(template, "a")
	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Labels: map[string]string{"app": "agent"}, Annotations: map[string]string{"note": "x"}, Finalizers: []string{"f"},
		},
		Spec: *before.Spec.DeepCopy(),
	}
	want.Spec.Affinity = required(nodeField("metadata.name", "In", "a"))
	want.Spec.Tolerations = tolerations.ForDaemon(&before.Spec)
	if diff := cmp.Diff(want, pod); diff != "" {
		t.Errorf("P1, P6: pod (-want +got):\n%s", diff)
	}
	pod.Labels["app"], pod.Annotations["note"], pod.Finalizers[0] = "overwritten", "overwritten", "overwritten"
	pod.Spec.NodeSelector["zone"], pod.Spec.Containers[0].Args[0] = "overwritten", "overwritten"
	pod.Spec.Tolerations[0].Key = "overwritten"
	if diff := cmp.Diff(before, template); diff != "" {
		t.Errorf("the template was written or is shared (-before +after):\n%s", diff)
	}
}

// TestPodOfNothing: a nil template stands for an empty one, and callers may write into the maps.
func TestPodOfNothing(t *testing.T) {
	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{}, Annotations: map[string]string{}},
		Spec: corev1.PodSpec{
			Affinity:    required(nodeField("metadata.name", "In", "a")),
			Tolerations: tolerations.ForDaemon(nil),
		},
	}
	for _, template := range []*corev1.PodTemplateSpec{nil, {}} {
		if diff := cmp.Diff(want, placement.Pod(template, "a")); diff != "" {
			t.Errorf("pod of %v (-want +got):\n%s", template, diff)
		}
	}
}

func TestTargetNode(t *testing.T) {
	pinned := func(terms ...corev1.NodeSelectorTerm) *corev1.Pod {
		return &corev1.Pod{Spec: corev1.PodSpec{Affinity: required(terms...)}}
	}
	bound := pinned(nodeField("metadata.name", "In", "b"))
	bound.Spec.NodeName = "a"
	mixed := label("metadata.name", "In", "wrong")
	mixed.MatchFields = []corev1.NodeSelectorRequirement{
		{Key: "metadata.uid", Operator: "In", Values: []string{"wrong"}},
		{Key: "metadata.name", Operator: "NotIn", Values: []string{"wrong"}},
		{Key: "metadata.name", Operator: "In", Values: []string{"a"}},
		{Key: "metadata.name", Operator: "In", Values: []string{"late"}},
	}
	tests := []struct {
		name, why string
		pod       *corev1.Pod
		want      string
	}{
		{"nil", "no pod, no node", nil, ""},
		{"nothing", "K18: such a pod is nobody's", &corev1.Pod{}, ""},
		{"bound", "P7: spec.nodeName comes first", bound, "a"},
		{"pinned", "P7", pinned(nodeField("metadata.name", "In", "a")), "a"},
		{
			"second term", "P7: the first such field over all terms",
			pinned(corev1.NodeSelectorTerm{}, nodeField("metadata.name", "In", "a")), "a",
		},
		{"among others", "labels, other fields and NotIn do not pin", pinned(mixed), "a"},
		{"two values", "which of them is unknown", pinned(nodeField("metadata.name", "In", "a", "b")), ""},
		{
			"two values, then one", "as the controller: the first decides",
			pinned(nodeField("metadata.name", "In", "a", "b"), nodeField("metadata.name", "In", "c")), "",
		},
		{"no value", "nothing is named", pinned(nodeField("metadata.name", "In")), ""},
		{"empty value", "an empty name is no node", pinned(nodeField("metadata.name", "In", "")), ""},
		{"no terms", "nothing is named", pinned(), ""},
		{
			"affinity without node affinity", "nothing is named",
			&corev1.Pod{Spec: corev1.PodSpec{Affinity: &corev1.Affinity{}}}, "",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.name == "" || test.why == "" {
				t.Fatal("a row needs a name and a why")
			}
			got, found := placement.TargetNode(test.pod)
			if got != test.want || found != (test.want != "") {
				t.Errorf("TargetNode = %q, %v, want %q: %s", got, found, test.want, test.why)
			}
			if allocations := testing.AllocsPerRun(10, func() { placement.TargetNode(test.pod) }); allocations != 0 {
				t.Errorf("%v allocations, want 0", allocations)
			}
		})
	}
}

// TestPodGoesWhereItIsPinned closes the circle for any template: the pod of a node is attributed to that
// node, and its own affinity matches that node and no other.
func TestPodGoesWhereItIsPinned(t *testing.T) {
	names := slices.DeleteFunc(slices.Clone(nodeNames), func(name string) bool { return name == "" })
	rapid.Check(t, func(t *rapid.T) {
		template := templateGen().Draw(t, "template")
		template.Spec.NodeName = ""
		name := rapid.SampledFrom(names).Draw(t, "node")
		pod := placement.Pod(template, name)
		if got, found := placement.TargetNode(pod); got != name || !found {
			t.Fatalf("TargetNode = %q, %v, want %q", got, found, name)
		}
		matcher, err := placement.Compile(&corev1.PodTemplateSpec{Spec: corev1.PodSpec{Affinity: pod.Spec.Affinity}})
		if err != nil {
			t.Fatalf("the pin is invalid: %v", err)
		}
		for _, other := range names {
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: other}}
			if got := matcher.Evaluate(node).Outcome == placement.Run; got != (other == name) {
				t.Fatalf("pinned to %q, runs on %q: %v", name, other, got)
			}
		}
	})
}
