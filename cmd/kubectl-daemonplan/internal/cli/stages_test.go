package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/plan"
)

// staged is a set with a policy, nodes in rings, and pods that run the revision before.
func staged(t *testing.T, policy string) string {
	t.Helper()
	set := strings.Replace(smallSet, "metadata: {", fmt.Sprintf("metadata: {annotations: {daemonplan.io/policy: %q}, ", policy), 1)
	set = strings.Replace(set, "agent:v1", "agent:v2", 1)
	if !strings.Contains(set, "agent:v2") || !strings.Contains(set, policy[:5]) {
		t.Fatal("the set is not as it should be")
	}
	documents := []string{
		set, "apiVersion: apps/v1\nkind: ControllerRevision\nrevision: 1\n" +
			"metadata: {name: agent-old, namespace: web, uid: r-1, labels: {app: agent, controller-revision-hash: old}, " +
			"ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: agent, uid: u-1, controller: true}]}\n" +
			"data: {spec: {template: {$patch: replace, metadata: {labels: {app: agent}}, spec: {containers: [{name: agent, image: agent:v1}]}}}}\n",
	}
	for i, name := range []string{"a", "b", "c", "d"} {
		documents = append(documents, fmt.Sprintf("apiVersion: v1\nkind: Node\nmetadata: {name: %s, labels: {ring: \"%d\"}}\n"+
			"status: {conditions: [{type: Ready, status: \"True\"}]}\n", name, i/2))
		pod := strings.Replace(ownedPod(name), "labels: {", "labels: {controller-revision-hash: old, ", 1)
		documents = append(documents, strings.Replace(pod, "nodeName: a", "nodeName: "+name, 1)+
			"status: {phase: Running, conditions: [{type: Ready, status: \"True\", lastTransitionTime: \"2026-03-02T08:00:00Z\"}]}\n")
	}
	return join(documents...)
}

// A plan shows the parts of the stages, and what each waits for.
func TestPlanShowsParts(t *testing.T) {
	const policy = "stages: [{name: first, selector: {matchLabels: {ring: '0'}}, approval: true}, {name: none, selector: {matchLabels: {ring: '9'}}}]\n" +
		"approved: [{stage: first, revision: agent-old}]\n"
	for _, command := range [][]string{{"plan"}, {"rollout", "status"}} {
		out := said(t, staged(t, policy), append(command, "-f", "-", "--now", "2026-03-02T09:15:00Z")...)
		for _, want := range []string{
			"STAGE", "first               Approving   2       0         0               2          needs an approval of revision ",
			"none                Skipped     0       0         0               0          -\n", "(all other nodes)   Waiting     2       0         0               2",
			"The approval of stage first is for revision agent-old, and does nothing for ", "needs an approval for this revision",
		} {
			if !strings.Contains(out, want) {
				t.Errorf("%s lacks %q:\n%s", command, want, out)
			}
		}
	}
	out := ours(t, staged(t, "stages: [{name: first, selector: {matchLabels: {ring: '0'}}}]"), "plan", "-f", "-", "--now", "2026-03-02T09:15:00Z")
	if want := "first               Open      2       0         0               2          not done: a, b\n"; !strings.Contains(out, want) {
		t.Errorf("plan lacks %q:\n%s", want, out)
	}
	out = ours(t, staged(t, "stages: [{name: first, selector: {matchLabels: {ring: '0'}}}]"), "explain", "c", "-f", "-",
		"--now", "2026-03-02T09:15:00Z")
	if want := "the last stage (nodes that no other selects) is not open: stage first comes first, and is not done: a, b"; !strings.Contains(out, want) {
		t.Errorf("explain lacks %q:\n%s", want, out)
	}
}

// So does its document, for programs.
func TestDocumentHasParts(t *testing.T) {
	out := ours(t, staged(t, "stages: [{name: rings, key: ring}]"), "plan", "-f", "-", "--now", "2026-03-02T09:15:00Z", "-o", "json")
	var d plan.Document
	if err := json.Unmarshal([]byte(out), &d); err != nil {
		t.Fatal(err)
	}
	parts, err := json.Marshal(d.Parts)
	const want = `[{"stage":"rings","key":"ring","value":"0","phase":"Open","nodes":2,"settled":0,"unavailable":0,"behind":2,"blocking":["a","b"]},` +
		`{"stage":"rings","key":"ring","value":"1","phase":"Waiting","nodes":2,"settled":0,"unavailable":0,"behind":2}]`
	if string(parts) != want || err != nil {
		t.Errorf("parts are %s (error %v), want %s", parts, err, want)
	}
	if d.Nodes[0].Part != 0 || d.Nodes[3].Part != 2 {
		t.Errorf("a waits for part %d, and d for part %d; want none and 2", d.Nodes[0].Part, d.Nodes[3].Part)
	}
}

// TestPlanWarnsOfIdlePolicies: a stage without nodes, and an expedited revision that there is not, are said.
func TestPlanWarnsOfIdlePolicies(t *testing.T) {
	const first = "{name: first, selector: {matchLabels: {ring: '0'}}}"
	for _, test := range []struct{ name, policy, want string }{
		{"labels of no node", "stages: [" + first + ", {name: none, selector: {matchLabels: {ring: '9'}}}]", "Stage none selects no node."},
		{"taken before", "stages: [{name: all}, " + first + "]", "Stage first selects no node that no stage before it selects."},
		{"unknown revision", "stages: [" + first + "]\nexpedite: agent-gone", "There is no revision agent-gone, which the policy is to expedite"},
		{"any revision", "stages: [" + first + "]\nexpedite: '*'", ""},
		{"all is of use", "stages: [" + first + ", {name: rest}]", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			out := ours(t, staged(t, test.policy), "plan", "-f", "-", "--now", "2026-03-02T09:15:00Z")
			if got := strings.Contains(out, "Warning: "); got != (test.want != "") || !strings.Contains(out, test.want) {
				t.Errorf("want %q:\n%s", test.want, out)
			}
		})
	}
}
