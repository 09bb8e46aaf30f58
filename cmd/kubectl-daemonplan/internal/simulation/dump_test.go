package simulation

import (
	"strings"
	"testing"
	"time"

	"github.com/daemonplan/daemonplan/rollout/simulate"
)

func TestDump(t *testing.T) {
	e := loaded(t, func(q *question) { q.Dump = someDump })
	snapshot := e.Candidates[0].Fleet.Snapshot
	if len(snapshot.Nodes) != 62 || len(snapshot.Pods) == 0 || len(snapshot.Revisions) != 2 {
		t.Errorf("%d nodes, %d pods, %d revisions", len(snapshot.Nodes), len(snapshot.Pods), len(snapshot.Revisions))
	}
	for _, pod := range snapshot.Pods {
		if pod.CreationTimestamp.After(snapshot.Now) {
			t.Errorf("pod %s is from the future", pod.Name)
		}
	}
	if snapshot.Now.Before(time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("the dump is of %v", snapshot.Now)
	}
}

// A manifest from a file replaces the set of its name, and takes over its pods.
func TestDumpWithManifest(t *testing.T) {
	e := loaded(t, func(q *question) { q.Dump = someDump })
	set := e.Candidates[0].Set.Spec
	changed := write(t, "new.yaml", `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: node-agent, namespace: `+set.Namespace+`}
spec:
  selector: {matchLabels: {`+labelText(set.Selector.MatchLabels)+`}}
  updateStrategy: {rollingUpdate: {maxUnavailable: 20%}}
  template:
    metadata: {labels: {`+labelText(set.Selector.MatchLabels)+`}}
    spec:
      containers: [{name: agent, image: "registry.example/agent:new"}]
`)
	e = loaded(t, func(q *question) { q.Dump, q.Specs = someDump, []string{changed} })
	c := e.Candidates[0]
	if c.Set.Spec.UID != set.UID || set.UID == "" || len(c.Fleet.Snapshot.Pods) == 0 {
		t.Errorf("UID %q and %d pods, want those of the set of the dump, %q", c.Set.Spec.UID, len(c.Fleet.Snapshot.Pods), set.UID)
	}
	report, err := simulation(e.scenario(c, 1), nil, func() bool { return false })
	if err != nil || report.Created < 40 {
		t.Errorf("%d pods created: %v", report.Created, err)
	}
}

func labelText(labels map[string]string) string {
	var parts []string
	for key, value := range labels {
		parts = append(parts, key+": "+value)
	}
	return strings.Join(parts, ", ")
}

// The pods of an ExtendedDaemonSet's own controller belong to its replica sets. The set takes them over.
func TestDumpTakesOver(t *testing.T) {
	node := "apiVersion: v1\nkind: Node\nmetadata: {name: a}\n---\n"
	pod := `apiVersion: v1
kind: Pod
metadata:
  name: agent-1
  namespace: default
  uid: pod-1
  labels: {app: agent, extendeddaemonset.datadoghq.com/name: agent}
  ownerReferences: [{apiVersion: datadoghq.com/v1alpha1, kind: ExtendedDaemonSetReplicaSet, name: agent-x, uid: ers-1, controller: true}]
spec: {nodeName: a, containers: [{name: agent, image: old}]}
status: {phase: Running, conditions: [{type: Ready, status: "True"}]}
---
`
	set := `apiVersion: datadoghq.com/v1alpha1
kind: ExtendedDaemonSet
metadata: {name: agent, namespace: default, uid: set-1}
spec:
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: agent, image: new}]}
  strategy: {}
`
	e := loaded(t, func(q *question) { q.Dump = write(t, "dump.yaml", node+pod+set) })
	c := e.Candidates[0]
	if got := c.Set.Spec.Predecessor; got == nil || len(got.UIDs) != 1 || got.UIDs[0] != "ers-1" || len(c.Fleet.Snapshot.Pods) != 1 {
		t.Errorf("predecessor %+v, %d pods", got, len(c.Fleet.Snapshot.Pods))
	}
}

// With --from, what runs at the beginning has the template of that manifest, and the strategy and the labels of the spec.
func TestFrom(t *testing.T) {
	e := loaded(t, func(q *question) {
		q.Nodes, q.From = 3, oldManifest
		q.Specs = []string{newManifest, "eds=../../studies/bad-version/with-canary.yaml"}
	})
	for _, c := range e.Candidates {
		running := c.Fleet.Running
		if running == nil || running.Template.Spec.Containers[0].Image != "registry.example/agent:v1" ||
			running.Kind != c.Set.Spec.Kind || running.Name != c.Set.Spec.Name {
			t.Errorf("%s: %+v runs before", c.Label, running)
		}
	}
	report, err := simulation(e.scenario(e.Candidates[1], 1), nil, func() bool { return false })
	if err != nil || report.End != simulate.EndDone || report.Canary.Promoted == 0 {
		t.Errorf("%v, %+v: %v", report.End, report.Canary, err)
	}
}

// A setting of the dump that has no effect in the cluster has none here, and whoever relies on it is told.
func TestDumpSaysWhatItIgnores(t *testing.T) {
	setting := "apiVersion: datadoghq.com/v1alpha1\nkind: ExtendedDaemonsetSetting\nmetadata: {name: big, namespace: default}\nspec: {reference: 5}\n"
	e := loaded(t, func(q *question) {
		q.Dump, q.Name = write(t, "dump.yaml", read(t, someDump)+"---\n"+setting), "node-agent"
	})
	if !strings.Contains(e.Notes[0], "ignored setting: ") || !strings.Contains(e.Notes[0], "spec.reference: Invalid value: 5") {
		t.Errorf("the notes are %q", e.Notes)
	}
}
