package placement_test

import (
	"errors"
	"sync"
	"testing"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/placement"
)

func label(key string, operator corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
		{Key: key, Operator: operator, Values: values},
	}}
}

func nodeField(key string, operator corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{
		{Key: key, Operator: operator, Values: values},
	}}
}

// TestEvaluate has one node, named a, with the labels zone=z1, cores=8 and note= (empty), unless taints are
// given.
func TestEvaluate(t *testing.T) {
	affine := func(terms ...corev1.NodeSelectorTerm) corev1.PodSpec {
		return corev1.PodSpec{Affinity: required(terms...)}
	}
	missed := func(key string) placement.Verdict {
		return placement.Verdict{Test: placement.TestNodeAffinity, Key: key}
	}
	run := placement.Verdict{Outcome: placement.Run}
	tests := []struct {
		name, why string
		spec      corev1.PodSpec
		taints    []corev1.Taint
		want      placement.Verdict
	}{
		{"nothing asked", "P2: an empty template runs anywhere", corev1.PodSpec{}, nil, run},
		{"this node named", "P2", corev1.PodSpec{NodeName: "a"}, nil, run},
		{
			"other node named", "P2, and nothing else is looked at",
			corev1.PodSpec{NodeName: "b", NodeSelector: map[string]string{"gpu": "x"}}, nil,
			placement.Verdict{Test: placement.TestNodeName, Value: "b"},
		},
		{
			"selector matches", "P2",
			corev1.PodSpec{NodeSelector: map[string]string{"zone": "z1", "note": ""}}, nil, run,
		},
		{
			"selector, missing label", "an absent label does not equal the empty value",
			corev1.PodSpec{NodeSelector: map[string]string{"gpu": ""}}, nil,
			placement.Verdict{Test: placement.TestNodeSelector, Key: "gpu"},
		},
		{
			"selector, two fail", "P5: the first in sorted order",
			corev1.PodSpec{NodeSelector: map[string]string{"zone": "z2", "cores": "16", "note": ""}}, nil,
			placement.Verdict{Test: placement.TestNodeSelector, Key: "cores", Value: "16"},
		},
		{"no terms", "P4: an affinity without terms matches none", affine(), nil, missed("")},
		{"empty term", "P4", affine(corev1.NodeSelectorTerm{}), nil, missed("")},
		{"invalid term", "P4", affine(label("zone", "Weird")), nil, missed("")},
		{
			"invalid and good term", "P4: the others count",
			affine(label("zone", "Weird"), label("zone", "In", "z1")), nil, run,
		},
		{
			"invalid and failing term", "P5: the first valid term is named",
			affine(label("zone", "Weird"), label("cores", "Gt", "8"), label("zone", "In", "z2")), nil, missed("cores"),
		},
		{"second term matches", "P4: ORed", affine(label("zone", "In", "z2"), label("zone", "In", "z1")), nil, run},
		{"NotIn, missing label", "a missing label is in no set", affine(label("gpu", "NotIn", "x")), nil, run},
		{
			"NotIn, two values", "P2: any of them excludes",
			affine(label("zone", "NotIn", "x", "z1")), nil, missed("zone"),
		},
		{"In, two values", "any of them will do", affine(label("zone", "In", "x", "z1")), nil, run},
		{"In, empty value", "a label may have the empty value", affine(label("note", "In", "")), nil, run},
		{"Exists", "the value does not matter", affine(label("note", "Exists")), nil, run},
		{"Exists fails", "P2: there is no such label", affine(label("gpu", "Exists")), nil, missed("gpu")},
		{"DoesNotExist", "there is no such label", affine(label("gpu", "DoesNotExist")), nil, run},
		{"DoesNotExist fails", "the empty value exists", affine(label("note", "DoesNotExist")), nil, missed("note")},
		{"Gt below", "8 > 7", affine(label("cores", "Gt", "7")), nil, run},
		{"Gt at", "8 is not above 8", affine(label("cores", "Gt", "8")), nil, missed("cores")},
		{"Lt above", "8 < 9", affine(label("cores", "Lt", "9")), nil, run},
		{"Lt at", "8 is not below 8", affine(label("cores", "Lt", "8")), nil, missed("cores")},
		{
			"Lt, no number", "what is no number compares with nothing",
			affine(label("zone", "Lt", "9")), nil, missed("zone"),
		},
		{"Lt, missing label", "nothing is below 9 there", affine(label("gpu", "Lt", "9")), nil, missed("gpu")},
		{"field In", "the node's own name", affine(nodeField("metadata.name", "In", "a")), nil, run},
		{
			"field NotIn", "P5 says that the key is a field", affine(nodeField("metadata.name", "NotIn", "a")), nil,
			placement.Verdict{Test: placement.TestNodeAffinity, Field: true, Key: "metadata.name"},
		},
		{
			"unknown field, NotIn", "it reads as empty, which is not x",
			affine(nodeField("spec.x", "NotIn", "x")), nil, run,
		},
		{"unknown field, In empty", "it reads as empty", affine(nodeField("spec.x", "In", "")), nil, run},
		{
			"NoSchedule", "P3: by taints only, none with NoExecute", corev1.PodSpec{},
			[]corev1.Taint{{Key: "s", Value: "v", Effect: "NoSchedule"}, {Key: "s2", Effect: "NoSchedule"}},
			placement.Verdict{
				Outcome: placement.Keep, Test: placement.TestTaint, Effect: placement.EffectNoSchedule, Key: "s", Value: "v",
			},
		},
		{
			"NoSchedule, then NoExecute", "P3 and P5: the NoExecute taint decides", corev1.PodSpec{},
			[]corev1.Taint{{Key: "s", Effect: "NoSchedule"}, {Key: "e", Value: "v", Effect: "NoExecute"}, {Key: "e2", Effect: "NoExecute"}},
			placement.Verdict{Test: placement.TestTaint, Effect: placement.EffectNoExecute, Key: "e", Value: "v"},
		},
		{
			"other effects", "PreferNoSchedule and unknown effects keep no pod away", corev1.PodSpec{},
			[]corev1.Taint{{Key: "p", Effect: "PreferNoSchedule"}, {Key: "w", Effect: "Weird"}, {Key: "n"}}, run,
		},
		{
			"daemon defaults", "P1", corev1.PodSpec{},
			[]corev1.Taint{
				{Key: corev1.TaintNodeUnschedulable, Effect: "NoSchedule"},
				{Key: corev1.TaintNodeNotReady, Effect: "NoExecute"},
			}, run,
		},
		{
			"not-ready:NoSchedule", "P1 tolerates it with NoExecute only", corev1.PodSpec{},
			[]corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: "NoSchedule"}},
			placement.Verdict{
				Outcome: placement.Keep, Test: placement.TestTaint, Effect: placement.EffectNoSchedule,
				Key: corev1.TaintNodeNotReady,
			},
		},
		{
			"network unavailable, host network", "P1", corev1.PodSpec{HostNetwork: true},
			[]corev1.Taint{{Key: corev1.TaintNodeNetworkUnavailable, Effect: "NoSchedule"}}, run,
		},
		{
			"everything tolerated", "no key, Exists",
			corev1.PodSpec{Tolerations: []corev1.Toleration{{Operator: "Exists"}}},
			[]corev1.Taint{{Key: "s", Value: "v", Effect: "NoSchedule"}, {Key: "e", Effect: "NoExecute"}}, run,
		},
		{
			"empty toleration", "any key, but only the empty value",
			corev1.PodSpec{Tolerations: []corev1.Toleration{{}}},
			[]corev1.Taint{{Key: "x", Effect: "NoExecute"}, {Key: "s", Value: "v", Effect: "NoSchedule"}},
			placement.Verdict{
				Outcome: placement.Keep, Test: placement.TestTaint, Effect: placement.EffectNoSchedule, Key: "s", Value: "v",
			},
		},
		{
			"affinity before taints", "P3: keep needs everything else to match", affine(label("gpu", "Exists")),
			[]corev1.Taint{{Key: "s", Effect: "NoSchedule"}}, missed("gpu"),
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.name == "" || test.why == "" {
				t.Fatal("a row needs a name and a why")
			}
			node := &corev1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"zone": "z1", "cores": "8", "note": ""}},
				Spec:       corev1.NodeSpec{Taints: test.taints, Unschedulable: true},
			}
			if got := compiled(&corev1.PodTemplateSpec{Spec: test.spec}, node); got != test.want {
				t.Errorf("Evaluate = %+v, want %+v: %s", got, test.want, test.why)
			}
		})
	}
}

// TestEvaluateFailsClosed: whatever is missing, no pod is placed.
func TestEvaluateFailsClosed(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	fromNil, err := placement.Compile(nil)
	var mistake *field.Error
	if !errors.As(err, &mistake) || mistake.Type != field.ErrorTypeRequired || mistake.Field != "template" {
		t.Errorf("Compile(nil) = %v, want a required template", err)
	}
	good, err := placement.Compile(&corev1.PodTemplateSpec{})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, why string
		matcher   *placement.Matcher
		node      *corev1.Node
		want      placement.Test
	}{
		{"nil template", "nothing says where to run", fromNil, node, placement.TestNoTemplate},
		{"nil matcher", "a forgotten Compile must not place pods", nil, node, placement.TestNoTemplate},
		{"zero matcher", "the zero value is not compiled", new(placement.Matcher), node, placement.TestNoTemplate},
		{"nil node", "there is nothing to run on", good, nil, placement.TestNoNode},
		{"nil both", "the template is missed first", nil, nil, placement.TestNoTemplate},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.name == "" || test.why == "" {
				t.Fatal("a row needs a name and a why")
			}
			if got, want := test.matcher.Evaluate(test.node), (placement.Verdict{Test: test.want}); got != want {
				t.Errorf("Evaluate = %+v, want %+v: %s", got, want, test.why)
			}
		})
	}
}

func TestEvaluateDoesNotAllocate(t *testing.T) {
	many := make([]string, 12)
	for i := range many {
		many[i] = string(rune('a' + i))
	}
	node := fleet(1)[0]
	node.Labels["odd"] = "8.5"
	templates := map[string]corev1.PodSpec{
		"benchmark":   benchTemplate().Spec,
		"no number":   {Affinity: required(label("odd", "Gt", "8"))},
		"a set":       {Affinity: required(label("odd", "In", many...), label("odd", "NotIn", many...))},
		"a node name": {NodeName: "elsewhere"},
		"a selector":  {NodeSelector: map[string]string{"odd": "x"}},
		"no term":     {Affinity: required()},
	}
	for name, spec := range templates {
		matcher, _ := placement.Compile(&corev1.PodTemplateSpec{Spec: spec})
		if allocations := testing.AllocsPerRun(100, func() { matcher.Evaluate(node) }); allocations != 0 {
			t.Errorf("%s: %v allocations per Evaluate, want 0", name, allocations)
		}
	}
}

// TestConcurrentUseOfMatcher is for the race detector, and compares with the answers of a single goroutine.
func TestConcurrentUseOfMatcher(t *testing.T) {
	matcher, err := placement.Compile(benchTemplate())
	if err != nil {
		t.Fatal(err)
	}
	nodes := fleet(200)
	var group sync.WaitGroup
	verdicts := make([][]placement.Verdict, 4)
	for i := range verdicts {
		group.Go(func() {
			for _, node := range nodes {
				verdicts[i] = append(verdicts[i], matcher.Evaluate(node))
			}
		})
	}
	group.Wait()
	for i, node := range nodes {
		want := matcher.Evaluate(node)
		for _, got := range verdicts {
			if got[i] != want {
				t.Fatalf("%s: %+v, alone %+v", node.Name, got[i], want)
			}
		}
	}
}

// TestVerdictIsSmall: one verdict is kept for each node of a fleet.
func TestVerdictIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(placement.Verdict{}); size > 48 {
		t.Errorf("a Verdict has %d bytes, want at most 48", size)
	}
}
