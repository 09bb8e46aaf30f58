package policy

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/exit"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
)

// agent is a DaemonSet with this policy.
func agent(policy string) string {
	return `apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: agent
  namespace: monitoring
  annotations:
    daemonplan.io/policy: |
` + "      " + strings.ReplaceAll(strings.TrimSpace(policy), "\n", "\n      ") + `
spec:
  selector: {matchLabels: {app: agent}}
  updateStrategy: {rollingUpdate: {maxUnavailable: 10%}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: agent, image: agent}]}
`
}

const rings = `
stages:
- {name: canary, selector: {matchLabels: {ring: "0"}}, soak: 1h}
- {name: zones, selector: {matchLabels: {ring: "1"}}, key: zone, tolerance: 2%, approval: true}
domains:
- {key: rack, max: 1, atOnce: 2}
- {selector: {matchLabels: {gpu: "yes"}}, max: 5%}
failures: {maxFailed: 2%, action: Rollback, maxRestarts: 3, quarantine: 1}
outages: {maxExempt: 5%, provenAfter: 1h}
`

func written(t *testing.T, content string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "agent.yaml")
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestExplain(t *testing.T) {
	words := []string{
		"A new revision comes to the fleet in this order, each part when the one before it is done:",
		"  1. canary: nodes with ring=0; done when all are updated and available; then it soaks for 1h.",
		"  2. zones: nodes with ring=1, one value of zone after the other; it waits for an approval of each value; " +
			"done when all but 2% are updated and available.",
		"  3. The nodes that no stage has selected.",
		"Of all nodes, at most 1 node of one rack, and nodes of at most 2 values of rack may be disturbed at once.",
		"Of nodes with gpu=yes, at most 5% of the nodes may be disturbed at once.",
		"A node has failed when its new pod is not available for 10m, or has restarted more than 3 times.",
		"When more than 2% of the nodes that are open to the revision have failed, the revision is given up, " +
			"and all nodes go back by themselves.",
		"Failed nodes do not use up the budget, up to 1 node.",
		"Nodes that were down before their update, or whose new pod had run for 1h when they went down, do not use up the budget, " +
			"up to 5% of the nodes.",
		"Nodes that are on their way out are left alone.",
	}
	for content, want := range map[string][]string{
		rings:        words,
		agent(rings): append([]string{"Nodes are updated within maxUnavailable 10%."}, words...),
		agent("{}"):  {"Nodes are updated within maxUnavailable 10%.", "It has no policy."},
		strings.Replace(agent(rings), "{rollingUpdate: {maxUnavailable: 10%}}", "{type: OnDelete}", 1): {
			"Nodes are updated within maxUnavailable 1.",
			"The strategy is OnDelete: pods are replaced when somebody deletes them, and no policy takes effect.",
		},
		"stages: [{name: all}]\nexpedite: abc\noutages: {touch: true}\nfailures: {}\n": {
			words[0], "  1. all: all nodes; done when all are updated and available.",
			"Revision abc passes the stages: all parts are open to it at once.",
			"A node has failed when its new pod is not available for 10m.",
			"When more than 0 nodes have failed, no further node is updated until somebody acts.",
			"Nodes that are on their way out are repaired and updated like any other.",
		},
	} {
		var out strings.Builder
		if err := Explain(&objects.Files{}, written(t, content), &out); err != nil {
			t.Fatal(err)
		}
		got := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")[1:]
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", content, diff)
		}
	}
}

func TestLint(t *testing.T) {
	for _, test := range []struct {
		content string
		wrong   bool
		want    []string
	}{
		{rings, false, []string{"agent.yaml: valid: 2 stages, 2 domains, failures, outages"}},
		{agent(rings), false, []string{"(DaemonSet monitoring/agent): valid: 2 stages"}},
		{agent("{}"), false, []string{"valid: it has no policy"}},
		{"stages: [{name: A}]", true, []string{"agent.yaml: stages[0].name: Invalid value"}},
		{"stages: [{name: A}, {name: B}]", true, []string{"agent.yaml: stages[0].name: ", "\n", "agent.yaml: stages[1].name: "}},
		{"stages: [{name: a, sok: 1m}]", true, []string{"agent.yaml: stages[0].sok: ", "unknown field"}},
		{agent("stages: 5"), true, []string{"agent.yaml: document 1", "metadata.annotations[daemonplan.io/policy]", "stages"}},
		{
			"stages: [{name: all}, {name: never, selector: {matchLabels: {a: b}}}]", false,
			[]string{"warning: stage never has no node: stage all before it takes all that are left"},
		},
		{
			"stages: [{name: one, selector: {matchLabels: {a: b}}}, {name: two, selector: {matchLabels: {a: b}}}]", false,
			[]string{"warning: stage two has no node: stage one before it has the same selector"},
		},
		{
			"stages: [{name: one}]\napproved: [{stage: one, revision: abc}]\nfailures: {}", false,
			[]string{"the approval of stage one has no effect", "is found by maxRestarts alone"},
		},
		{"expedite: abc", false, []string{"expedite has no effect: there are no stages to pass"}},
	} {
		var out strings.Builder
		err := Lint(&objects.Files{}, []string{written(t, test.content)}, &out)
		if _, negative := errors.AsType[*exit.NegativeError](err); negative != test.wrong || err != nil && !negative {
			t.Errorf("%s: error %v", test.content, err)
		}
		for _, want := range test.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: it does not say %q:\n%s", test.content, want, &out)
			}
		}
	}
	for content, want := range map[string]string{
		"": "agent.yaml: there is no DaemonSet", "apiVersion: v1\nkind: Node\nmetadata: {name: a}\n": "and it is no policy itself",
		"a: [": "agent.yaml: document 1: line 1",
	} {
		err := Lint(&objects.Files{}, []string{written(t, content)}, new(strings.Builder))
		if exit.Code(err) != exit.Failed || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", content, err, want)
		}
		if err := Explain(&objects.Files{}, written(t, content), new(strings.Builder)); err == nil {
			t.Errorf("%q is explained", content)
		}
	}
}
