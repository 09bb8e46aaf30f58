package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/cluster/fakeapi"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/controllers"
	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/plan"
)

const datadogSet = `apiVersion: datadoghq.com/v1alpha1
kind: ExtendedDaemonSet
metadata: {name: agent, namespace: default, uid: e-1, creationTimestamp: "2026-01-10T09:00:00Z"}
spec:
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: agent, image: "agent:v2"}]}
  strategy:
    reconcileFrequency: 30s
    rollingUpdate: {maxUnavailable: 1}
    canary: {replicas: 1, duration: 10m}
status: {desired: 4, activeReplicaSet: agent-a, canary: {replicaSet: agent-b, nodes: [n1]}}
`

// datadog is a cluster in which the ExtendedDaemonSet controller runs a set on four nodes. Its replica set agent-b is on trial on
// node n1, which has a pod of it. Options change the text.
func datadog(change ...string) string {
	text := []string{datadogSet}
	replicaSet := func(name, hash, image, created string) {
		text = append(text, fmt.Sprintf(`apiVersion: datadoghq.com/v1alpha1
kind: ExtendedDaemonSetReplicaSet
metadata: {name: %s, namespace: default, uid: uid-%[1]s, creationTimestamp: %q, labels: {extendeddaemonset.datadoghq.com/name: agent}}
spec:
  templateGeneration: %s
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: agent, image: %q}]}
status:
  conditions:
  - {type: LastFullSync, status: "True", lastTransitionTime: "2026-01-15T11:59:00Z", lastUpdateTime: "2026-01-15T11:59:00Z"}
`, name, created, hash, image))
	}
	replicaSet("agent-a", "hash-a", "agent:v1", "2026-01-10T09:00:00Z")
	replicaSet("agent-b", "hash-b", "agent:v2", "2026-01-15T11:55:00Z")
	for i, of := range []string{"a", "b", "a", "a"} {
		text = append(text, fmt.Sprintf("apiVersion: v1\nkind: Node\nmetadata: {name: n%d}\n", i), fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata:
  name: agent-%[2]s-n%[1]d
  namespace: default
  uid: pod-%[1]d
  labels: {extendeddaemonset.datadoghq.com/name: agent}
  annotations: {extendeddaemonset.datadoghq.com/templatehash: hash-%[2]s}
  ownerReferences:
  - {apiVersion: datadoghq.com/v1alpha1, kind: ExtendedDaemonSetReplicaSet, name: agent-%[2]s, uid: uid-agent-%[2]s, controller: true}
spec: {nodeName: n%[1]d, containers: [{name: agent, image: "agent:v1"}]}
status: {phase: Running, conditions: [{type: Ready, status: "True"}]}
`, i, of))
	}
	return strings.NewReplacer(change...).Replace(join(text...))
}

// TestDatadogRuns: of a set with replica sets the plan is that of its own controller: it begins with what the status says, and
// replica sets are its revisions.
func TestDatadogRuns(t *testing.T) {
	at := func(when string, args ...string) []string {
		return append(args, "-f", "-", "--now", "2026-01-15T"+when+"Z", "-o", "json")
	}
	read := func(stdin string, args ...string) (d plan.Document) {
		t.Helper()
		if err := json.Unmarshal([]byte(plans(t, stdin, args...)), &d); err != nil {
			t.Fatal(err)
		}
		return d
	}
	during := read(datadog(), at("12:00:00")...)
	if during.Controller != controllers.EDS || during.Canary == nil || during.Canary.Phase != "Running" ||
		strings.Join(during.Canary.Nodes, " ") != "n1" || len(during.Actions.Deletes) != 0 {
		t.Errorf("while the canary goes on: %s's plan, canary %+v, deletes %v", during.Controller, during.Canary, during.Actions.Deletes)
	}
	after := read(datadog(), at("12:06:00")...)
	if len(after.Actions.Deletes) != 1 || after.Actions.Deletes[0].Pod == "agent-b-n1" {
		t.Errorf("when it is over: deletes %v, want one of the three old pods", after.Actions.Deletes)
	}
	if early := read(datadog(`59:00Z"}`, `59:00Z"}`, "11:59:00", "12:05:50"), at("12:06:00")...); len(early.Actions.Deletes) != 0 {
		t.Errorf("ten seconds after it was handled, with a reconcileFrequency of 30 s: deletes %v", early.Actions.Deletes)
	}
	if failed := read(datadog(`status:
  conditions:
`, `status:
  conditions:
  - {type: Canary, status: "True", lastTransitionTime: "2026-01-15T11:55:00Z", lastUpdateTime: "2026-01-15T11:55:00Z"}
  - {type: Canary-Failed, status: "True", lastTransitionTime: "2026-01-15T11:58:00Z", lastUpdateTime: "2026-01-15T11:58:00Z"}
`), at("12:00:00")...); len(failed.Actions.Deletes) != 1 || failed.Actions.Deletes[0].Pod != "agent-b-n1" || failed.Canary.Phase != "Failed" {
		t.Errorf("when it has failed: deletes %v, canary %+v", failed.Actions.Deletes, failed.Canary)
	}
	commanded := read(datadog("uid: e-1,", "uid: e-1, annotations: {extendeddaemonset.datadoghq.com/canary-failed: \"true\"},"), at("12:00:00")...)
	if commanded.Canary.Phase != "Failed" {
		t.Errorf("when somebody has failed it: canary %+v", commanded.Canary)
	}
	if code, _, stderr := call(datadog("kind: ExtendedDaemonSetReplicaSet", "kind: Other"), "plan", "-f", "-"); code != 2 ||
		!strings.Contains(stderr, "there is no ExtendedDaemonSetReplicaSet of the set in the input; a dump has them") {
		t.Errorf("without replica sets: exit code %d, %s", code, stderr)
	}
	ours := read(datadog(), at("12:06:00", "--controller", "daemonplan")...)
	if ours.Controller != controllers.Daemonplan {
		t.Errorf("daemonplan's plan is %s's", ours.Controller)
	}
	text := plans(t, datadog(), "plan", "-f", "-", "--now", "2026-01-15T12:00:00Z")
	if !strings.HasPrefix(text, "As the ExtendedDaemonSet controller does it.") {
		t.Errorf("it does not say first whose plan it is:\n%s", text)
	}
	server := fakeapi.New(t, []byte(datadog()))
	ofCluster := func(args ...string) string {
		t.Helper()
		code, stdout, stderr := live(server.Kubeconfig(t, "default"), "-", args...)
		if code != 0 || stderr != "" {
			t.Fatalf("%q: exit code %d, %s", args, code, stderr)
		}
		return stdout
	}
	next := files(t, map[string]string{"new.yaml": strings.Replace(datadogSet, "agent:v2", "agent:v3", 1)}) + "/new.yaml"
	changed := plans(t, datadog(), "plan", "-f", "-", "--now", "2026-01-15T12:06:00Z", "--change", next)
	if !strings.Contains(changed, "4 nodes are updated:") || strings.Contains(changed, "of the new revision already") {
		t.Errorf("a change that is tried first reaches all nodes in the end:\n%s", changed)
	}
	dumped := plans(t, datadog(), "plan", "-f", "-", "-o", "json", "--now", timestamp(fleetTime()))
	if got := ofCluster("plan", "eds/agent", "-o", "json"); got != dumped {
		t.Errorf("of a cluster:\n%s\nof a dump:\n%s", got, dumped)
	}
	code, _, stderr := call(datadog("templateGeneration: hash-a", "templateGeneration: [1]"), "plan", "-f", "-")
	if code != 2 || !strings.Contains(stderr, "ExtendedDaemonSetReplicaSet") || !strings.Contains(stderr, "templateGeneration") {
		t.Errorf("a replica set that cannot be read: exit code %d, %s", code, stderr)
	}
}
