package simulation

import (
	"strings"
	"testing"
	"time"

	"github.com/daemonplan/daemonplan/rollout/simulate"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/exit"
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

// A manifest as "helm template" prints it has no namespace. It is that of the set of its name in the dump, as it is for "plan
// --change", and not "default", where nothing of it runs. Who rolls out a set that the dump does not have, is told.
func TestDumpWithManifestOfAChart(t *testing.T) {
	set := loaded(t, func(q *question) { q.Dump = someDump }).Candidates[0].Set.Spec
	manifest := func(metadata string) string {
		return write(t, "new.yaml", `
apiVersion: apps/v1
kind: DaemonSet
metadata: {`+metadata+`}
spec:
  selector: {matchLabels: {`+labelText(set.Selector.MatchLabels)+`}}
  template:
    metadata: {labels: {`+labelText(set.Selector.MatchLabels)+`}}
    spec: {containers: [{name: agent, image: "registry.example/agent:new"}]}
`)
	}
	load := func(dump, manifest string) *experiment {
		return loaded(t, func(q *question) { q.Dump, q.Specs, q.World = dump, []string{manifest}, worldFileIn })
	}
	e := load(someDump, manifest("name: node-agent"))
	c := e.Candidates[0]
	if c.Set.Spec.Namespace != set.Namespace || c.Set.Spec.UID != set.UID || len(c.Fleet.Snapshot.Pods) == 0 {
		t.Errorf("%s with UID %q and %d pods, want the set of the dump", c.Set.FullName(), c.Set.Spec.UID, len(c.Fleet.Snapshot.Pods))
	}
	if notes := strings.Join(e.Notes, "\n"); strings.Contains(notes, "first installation") {
		t.Errorf("the notes are %q", notes)
	}

	other := manifest("name: node-agent, namespace: other")
	want := someDump + ": there is no DaemonSet other/node-agent in it: this is a first installation; sets in it: " +
		set.Namespace + "/node-agent"
	if notes := strings.Join(load(someDump, other).Notes, "\n"); !strings.Contains(notes, want) {
		t.Errorf("the notes are %q, want %q", notes, want)
	}
	code, _, stderr := call(1, false, "forecast", "--dump", someDump, "--spec", other)
	if code != exit.Failed || !strings.Contains(stderr, "error: every time would be 0s: "+want) {
		t.Errorf("exit code %d, standard error %q", code, stderr)
	}

	two := write(t, "two.yaml", read(t, someDump)+"---\n"+read(t, other))
	code, _, stderr = call(1, false, "forecast", "--dump", two, "--spec", manifest("name: node-agent"))
	want = "new.yaml: document 1 (DaemonSet default/node-agent): metadata.namespace: Required value: " +
		"the dump has sets of this name in the namespaces " + set.Namespace + ", other"
	if code != exit.Failed || !strings.Contains(stderr, want) {
		t.Errorf("exit code %d, standard error %q, want %q", code, stderr, want)
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
	// With too few nodes for its canary the controller waits until the canary is over, and then tries nothing.
	report, err := simulation(e.scenario(e.Candidates[1], 1), nil, func() bool { return false })
	if err != nil || report.End != simulate.EndDone || report.Updated != 3 || report.Finished < time.Hour {
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
