//go:build teeth

package placement_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/placement"
)

func TestEvaluateAllPropertyRejects(t *testing.T) {
	for _, mutant := range []struct {
		name, why string
		all       evaluateAll
	}{
		{
			"first block", "the nodes behind the first block get no verdict",
			func(m *placement.Matcher, list []placement.Verdict, nodes []*corev1.Node) []placement.Verdict {
				return m.EvaluateAll(list, nodes[:min(32, len(nodes))])
			},
		},
		{
			"last block", "a last block that is not full is lost",
			func(m *placement.Matcher, list []placement.Verdict, nodes []*corev1.Node) []placement.Verdict {
				return m.EvaluateAll(list, nodes[:len(nodes)/32*32])
			},
		},
		{
			"list", "what the list had before is lost",
			func(m *placement.Matcher, list []placement.Verdict, nodes []*corev1.Node) []placement.Verdict {
				return m.EvaluateAll(list[:0], nodes)
			},
		},
		{
			"nil", "a nil node gets no verdict, so that all behind it are one too early",
			func(m *placement.Matcher, list []placement.Verdict, nodes []*corev1.Node) []placement.Verdict {
				return m.EvaluateAll(list, slices.DeleteFunc(slices.Clone(nodes), func(n *corev1.Node) bool { return n == nil }))
			},
		},
	} {
		t.Run(mutant.name, func(t *testing.T) {
			for seed := range 1000 {
				if disagreementAll(mutant.all, fleetCases().Example(seed)) != "" {
					return
				}
			}
			t.Errorf("the property accepts the bug: %s", mutant.why)
		})
	}
}
