package placement_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/daemonplan/daemonplan/placement"
)

// TestCodesHaveNames walks every value of every code: known ones have distinct words, all others show their
// number.
func TestCodesHaveNames(t *testing.T) {
	tests := []struct {
		name, why string
		words     []string
		of        func(int) fmt.Stringer
	}{
		{
			"Outcome", "the planner prints them",
			[]string{"leave", "keep", "run"},
			func(i int) fmt.Stringer { return placement.Outcome(i) },
		},
		{
			"Test", "in the words of the pod spec",
			[]string{"none", "no template", "no node", "nodeName", "nodeSelector", "nodeAffinity", "taint"},
			func(i int) fmt.Stringer { return placement.Test(i) },
		},
		{
			"Effect", "as the API spells them",
			[]string{"", "NoSchedule", "NoExecute"},
			func(i int) fmt.Stringer { return placement.Effect(i) },
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.name == "" || test.why == "" {
				t.Fatal("a row needs a name and a why")
			}
			for i := range 256 {
				want := fmt.Sprintf("%s(%d)", test.name, i)
				if i < len(test.words) {
					want = test.words[i]
				}
				if got := test.of(i).String(); got != want {
					t.Errorf("%d is %q, want %q", i, got, want)
				}
			}
		})
	}
}

func TestVerdictString(t *testing.T) {
	tests := []struct {
		name, why string
		verdict   placement.Verdict
		want      string
	}{
		{"zero", "nothing was evaluated", placement.Verdict{}, "node was not evaluated"},
		{"run", "no test failed", placement.Verdict{Outcome: placement.Run}, "node is eligible"},
		{
			"no template", "the matcher is at fault",
			placement.Verdict{Test: placement.TestNoTemplate}, "there is no pod template",
		},
		{"no node", "the caller is at fault", placement.Verdict{Test: placement.TestNoNode}, "there is no node"},
		{
			"node name", "the wanted name, quoted",
			placement.Verdict{Test: placement.TestNodeName, Value: "b"}, `nodeName is "b"`,
		},
		{
			"selector", "key and wanted value",
			placement.Verdict{Test: placement.TestNodeSelector, Key: "gpu", Value: "cuda"}, `label gpu is not "cuda"`,
		},
		{
			"affinity", "the label",
			placement.Verdict{Test: placement.TestNodeAffinity, Key: "zone"}, "required node affinity does not match (label zone)",
		},
		{
			"affinity by field", "metadata.name is no label here",
			placement.Verdict{Test: placement.TestNodeAffinity, Field: true, Key: "metadata.name"},
			"required node affinity does not match (field metadata.name)",
		},
		{
			"affinity without a usable term", "there is no key to name",
			placement.Verdict{Test: placement.TestNodeAffinity}, "required node affinity can match no node",
		},
		{
			"taint", "as kubectl writes it",
			placement.Verdict{
				Outcome: placement.Keep, Test: placement.TestTaint, Effect: placement.EffectNoSchedule,
				Key: "node-role.kubernetes.io/control-plane",
			},
			"taint node-role.kubernetes.io/control-plane:NoSchedule is not tolerated",
		},
		{
			"taint with value", "as kubectl writes it",
			placement.Verdict{Test: placement.TestTaint, Effect: placement.EffectNoExecute, Key: "dedicated", Value: "gpu"},
			"taint dedicated=gpu:NoExecute is not tolerated",
		},
		{"unknown", "a made-up verdict still prints", placement.Verdict{Test: 99}, "Test(99) failed"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.name == "" || test.why == "" {
				t.Fatal("a row needs a name and a why")
			}
			got := test.verdict.String()
			if got != test.want {
				t.Errorf("String = %q, want %q: %s", got, test.want, test.why)
			}
			if strings.HasSuffix(got, ".") {
				t.Errorf("%q ends in a period", got)
			}
		})
	}
}
