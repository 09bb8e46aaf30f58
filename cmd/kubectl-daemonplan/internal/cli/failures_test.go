package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/plan"
)

// failing is a set like staged, on whose nodes named so the pod of the update revision is not ready.
func failing(t *testing.T, policy string, nodes ...string) string {
	t.Helper()
	text := staged(t, policy)
	for _, node := range nodes {
		from := strings.Index(text, "name: agent-"+node)
		end := from + strings.Index(text[from:]+"---\n", "---\n")
		pod := strings.NewReplacer("name: agent-"+node, "creationTimestamp: 2026-03-02T08:00:00Z, name: agent-"+node, "controller-revision-hash: old", "controller-revision-hash: new", `status: "True"`, `status: "False"`).Replace(text[from:end])
		if from < 0 || !strings.Contains(pod, "hash: new") || !strings.Contains(pod, `"False"`) {
			t.Fatalf("there is no pod on %s to break:\n%s", node, text)
		}
		text = text[:from] + pod + text[end:]
	}
	return join(text, "apiVersion: apps/v1\nkind: ControllerRevision\nrevision: 2\n"+
		"metadata: {name: agent-new, namespace: web, uid: r-2, labels: {app: agent, controller-revision-hash: new}, "+
		"ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: agent, uid: u-1, controller: true}]}\n"+
		"data: {spec: {template: {$patch: replace, metadata: {labels: {app: agent}}, spec: {containers: [{name: agent, image: agent:v2}]}}}}\n")
}

// A plan shows on which nodes the revision has failed, how many may, who is in quarantine, and that it is given up, and why.
func TestPlanShowsFailures(t *testing.T) {
	for _, tt := range []struct {
		name, policy string
		nodes, want  []string
	}{
		{"none failed", "failures: {maxFailed: 1}", nil, []string{"Failures: revision agent-new has failed on 0 nodes, at most 1 may\n"}},
		{"one may", "failures: {maxFailed: 1, action: Rollback}", []string{"b"},
			[]string{"Failures: revision agent-new has failed on 1 node, at most 1 may, else all nodes go back: b\n"}},
		{"too many", "failures: {}", []string{"a", "b"}, []string{
			"Failures: revision agent-new has failed on 2 nodes, at most 0 may, so that nothing is begun: a, b\n", "\nStuck (TooManyFailures)",
			"2 nodes wait: the update revision has failed on more than 0 nodes: a, b (c, d)",
		}},
		{"quarantine", "failures: {maxFailed: 2, quarantine: 1}", []string{"a", "b"}, []string{
			"Left out of the budget: 1 node, of at most 1 (quarantine: the update revision has failed there): a\n", "on 2 nodes, at most 2 may: a, b\n",
		}},
		{"stages", "stages: [{name: first, selector: {matchLabels: {ring: '0'}}}]", []string{"a"},
			[]string{"2 nodes wait: stage first comes first, and is not done: a, b (c, d)"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, command := range [][]string{{"plan"}, {"rollout", "status"}} {
				out := said(t, failing(t, tt.policy, tt.nodes...), append(command, "-f", "-", "--now", "2026-03-02T09:15:00Z")...)
				for _, want := range tt.want {
					if !strings.Contains(out, want) {
						t.Errorf("%s lacks %q:\n%s", command, want, out)
					}
				}
			}
		})
	}
	given := strings.Replace(failing(t, "failures: {action: Rollback}", "a"), "metadata: {name: agent-new,",
		"metadata: {name: agent-new, annotations: {daemonplan.io/failed: TooManyFailures, daemonplan.io/failed-message: '1 node failed, at most 0 may: a'},", 1)
	out := ours(t, given, "plan", "-f", "-", "--now", "2026-03-02T09:15:00Z")
	for _, want := range []string{
		"RolledBack (TooManyFailures)", "Failures: revision agent-new is given up: 1 node failed, at most 0 may: a; all nodes go back to ",
		"Only a retry in the policy, or another template, rolls out again\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the plan lacks %q:\n%s", want, out)
		}
	}
	out = ours(t, given, "explain", "b", "-f", "-", "--now", "2026-03-02T09:15:00Z")
	if want := "as the update revision was given up: 1 node failed, at most 0 may: a"; !strings.Contains(out, want) {
		t.Errorf("explain lacks %q:\n%s", want, out)
	}
}

// So does its document, for programs, which also says by which rule a node is left out.
func TestDocumentHasFailures(t *testing.T) {
	document := func(text string) (d plan.Document) {
		t.Helper()
		out := ours(t, text, "plan", "-f", "-", "--now", "2026-03-02T09:15:00Z", "-o", "json")
		if err := json.Unmarshal([]byte(out), &d); err != nil {
			t.Fatal(err)
		}
		return d
	}
	d := document(failing(t, "failures: {maxFailed: 1, quarantine: 1}", "a", "b"))
	got, err := json.Marshal(d.Failures)
	const want = `{"action":"Pause","failed":2,"maxFailed":1,"quarantined":1,"maxQuarantined":1}`
	if string(got) != want || err != nil {
		t.Errorf("failures are %s (error %v), want %s", got, err, want)
	}
	if n := d.Nodes; n[0].Exemption != "quarantined" || !n[0].Exempt || !n[0].Failed || n[1].Exemption != "" || !n[1].Failed || n[2].Failed {
		t.Errorf("nodes are %+v", n)
	}
	d = document(failing(t, "failures: {action: Rollback}", "a"))
	if d.Failures.GaveUp != "1 node failed, at most 0 may: a" {
		t.Errorf("it gives up because of %q", d.Failures.GaveUp)
	}
	if d = document(failing(t, "outages: {}", "a")); d.Failures != nil || d.Nodes[0].Exemption != "" {
		t.Errorf("without failures it has %+v, %+v", d.Failures, d.Nodes[0])
	}
}
