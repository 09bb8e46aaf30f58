package placement_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	_ "github.com/daemonplan/daemonplan/internal/fixedseed"
	"github.com/daemonplan/daemonplan/placement"
)

// evaluateAll is what EvaluateAll does, and what its mutants fail to do.
type evaluateAll func(*placement.Matcher, []placement.Verdict, []*corev1.Node) []placement.Verdict

// oneByOne returns the oracle of EvaluateAll.
func oneByOne(matcher *placement.Matcher, list []placement.Verdict, nodes []*corev1.Node) []placement.Verdict {
	list = slices.Clone(list)
	for _, node := range nodes {
		list = append(list, matcher.Evaluate(node))
	}
	return list
}

// fleetCase is a fleet to evaluate, and the list to append to.
type fleetCase struct {
	matcher *placement.Matcher
	nodes   []*corev1.Node
	list    []placement.Verdict
}

// fleetCases has more nodes than are evaluated together, nil ones among them, and lists that have verdicts already and room
// for more.
func fleetCases() *rapid.Generator[fleetCase] {
	return rapid.Custom(func(t *rapid.T) fleetCase {
		var c fleetCase
		if !rarely(t, 20, "no matcher") {
			c.matcher, _ = placement.Compile(templateGen().Draw(t, "template"))
		}
		few := append(rapid.SliceOfN(nodeGen(), 1, 5).Draw(t, "nodes"), nil)
		for range rapid.IntRange(0, 100).Draw(t, "count") {
			c.nodes = append(c.nodes, rapid.SampledFrom(few).Draw(t, "node"))
		}
		c.list = make([]placement.Verdict, rapid.IntRange(0, 3).Draw(t, "before"), 50)
		for i := range c.list {
			c.list[i] = placement.Verdict{Outcome: placement.Run}
		}
		return c
	})
}

// disagreementAll returns the property: the verdicts of Evaluate, behind those that the list had.
func disagreementAll(all evaluateAll, c fleetCase) string {
	want, given := oneByOne(c.matcher, c.list, c.nodes), slices.Clone(c.nodes)
	if diff := cmp.Diff(want, all(c.matcher, c.list, c.nodes)); diff != "" {
		return "verdicts (-one by one +all):\n" + diff
	}
	if !slices.Equal(given, c.nodes) {
		return "the nodes were written"
	}
	return ""
}

func TestEvaluateAllAgreesWithEvaluate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if disagreement := disagreementAll((*placement.Matcher).EvaluateAll, fleetCases().Draw(t, "case")); disagreement != "" {
			t.Fatal(disagreement)
		}
	})
}

func ExampleMatcher_EvaluateAll() {
	template := &corev1.PodTemplateSpec{}
	template.Spec.NodeSelector = map[string]string{"kubernetes.io/os": "linux"}
	matcher, err := placement.Compile(template)
	if err != nil {
		fmt.Println(err)
		return
	}
	linux := map[string]string{"kubernetes.io/os": "linux"}
	nodes := []*corev1.Node{
		{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: linux}},
		{ObjectMeta: metav1.ObjectMeta{Name: "b"}},
		nil,
	}
	for i, verdict := range matcher.EvaluateAll(nil, nodes) {
		fmt.Println(i, verdict.Outcome, "-", verdict)
	}
	// Output:
	// 0 run - node is eligible
	// 1 leave - label kubernetes.io/os is not "linux"
	// 2 leave - there is no node
}
