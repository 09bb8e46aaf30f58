package simulation

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/simulate"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/exit"
)

var noon = time.Date(2026, time.March, 2, 12, 0, 0, 0, time.UTC)

// startedPod was made at noon, scheduled after a second, and Ready so long after that.
func startedPod(node string, after time.Duration) *corev1.Pod {
	condition := func(kind corev1.PodConditionType, at time.Time) corev1.PodCondition {
		return corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(at)}
	}
	bound := noon.Add(time.Second)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "agent-" + node, CreationTimestamp: metav1.NewTime(noon)},
		Spec:       corev1.PodSpec{NodeName: node},
		Status: corev1.PodStatus{
			Conditions:        []corev1.PodCondition{condition(corev1.PodScheduled, bound), condition(corev1.PodReady, bound.Add(after))},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "agent"}},
		},
	}
}

func readyNode(name string, since time.Time, images ...corev1.ContainerImage) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(since)}},
		Images:     images,
	}}
}

func derivedSpec(images ...string) rollout.Spec {
	grace := int64(45)
	spec := rollout.Spec{Name: "agent"}
	spec.Template.Spec.TerminationGracePeriodSeconds = &grace
	for i, image := range images {
		spec.Template.Spec.Containers = append(spec.Template.Spec.Containers, corev1.Container{Name: fmt.Sprint(i), Image: image})
	}
	return spec
}

func TestDerive(t *testing.T) {
	nodes := []*corev1.Node{
		readyNode("n", noon.Add(-time.Hour), corev1.ContainerImage{Names: []string{"r.example:5000/agent:v1", "r.example:5000/agent@sha256:1"}, SizeBytes: 210e6}),
		readyNode("back", noon.Add(time.Hour)),
	}
	var pods []*corev1.Pod
	for i := range 20 {
		pods = append(pods, startedPod("n", time.Duration(11+i)*time.Second)) // 11 s to 30 s
	}
	restarted, back, waiting := startedPod("n", time.Hour), startedPod("back", time.Hour), startedPod("n", time.Hour)
	restarted.Status.ContainerStatuses[0].RestartCount = 1
	waiting.Status.Conditions[1].Status = corev1.ConditionFalse
	pods = append(pods, restarted, back, waiting)
	d, err := Derive(nodes, pods, nil, derivedSpec("r.example:5000/agent:v2", "other:v1"), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	rule := d.Model.Kubelets[0]
	if rule.Ready != simulate.LogNormal(20*time.Second, 29*time.Second) || rule.Stop != simulate.Fixed(45*time.Second) ||
		d.Model.Schedule != simulate.Fixed(time.Second) || d.Model.Registry.Sizes["r.example:5000/agent:v2"] != 210e6 || d.Model.Registry.Bandwidth != 0 {
		t.Errorf("derived %+v", d.Model)
	}
	want := []string{
		"a pod takes 20s, and 19 of 20 no more than 29s from PodScheduled to Ready, with the pull of its image: from 20 pods of agent",
		"it takes 1s to be scheduled: from 20 pods of agent", "it takes up to 45s to stop, its grace period",
		"r.example:5000/agent:v2 has 210 MB, as other versions of it: from the images that nodes report", "the size of other:v1 is unknown",
		"each call of the controller succeeds",
	}
	if all := strings.Join(d.Sentences, "\n"); len(d.Sentences) != len(want) {
		t.Errorf("it says\n%s", all)
	}
	for i := range min(len(want), len(d.Sentences)) {
		if !strings.Contains(d.Sentences[i], want[i]) {
			t.Errorf("it says %q, want %q", d.Sentences[i], want[i])
		}
	}
	if _, err := Derive(nodes, []*corev1.Pod{restarted, back, waiting}, nil, derivedSpec("a:v1"), time.Time{}); err == nil ||
		!strings.Contains(err.Error(), "of the 3 pods of agent none tells how long a start takes") {
		t.Errorf("with nothing to go by: %v", err)
	}
	one, err := Derive(nil, []*corev1.Pod{startedPod("", 0)}, nil, derivedSpec("a:v1"), time.Time{})
	if err != nil || one.Model.Kubelets[0].Ready != simulate.Uniform(0, time.Second) || !strings.Contains(one.Sentences[0], "less than 1s from PodScheduled to Ready") {
		t.Errorf("times below a second: %v %+v", err, one)
	}
}

// A large fleet gets fewer runs, and never so few that they say nothing of chance.
func TestPlanRuns(t *testing.T) {
	for nodes, want := range map[int]int{0: 20, 3: 20, 200: 20, 400: 10, 1000: 4, 15_000: 4} {
		if got := planRuns(nodes); got != want {
			t.Errorf("%d runs for %d nodes, want %d", got, nodes, want)
		}
	}
}

func TestRepository(t *testing.T) {
	for image, want := range map[string]string{
		"agent": "agent", "agent:v1": "agent", "r:5000/agent": "r:5000/agent", "r:5000/agent:v1": "r:5000/agent", "r/agent:v1@sha256:0": "r/agent", "": "",
	} {
		if got := repository(image); got != want {
			t.Errorf("%s is of %s, want %s", image, got, want)
		}
	}
}

// What was derived comes after the result, once for all specs of which it is so, and is folded on the page. Programs get it among the
// notes.
func TestDerivedComesLast(t *testing.T) {
	dir := t.TempDir()
	args := []string{"simulate", "--dump", someDump, "--name", "node-agent", "--controller", "kubernetes", "--controller", "daemonplan"}
	var both bytes.Buffer
	p := program{Stdin: strings.NewReader(""), Stdout: &both, Stderr: &both, Workers: 2}
	p.Main(append(slices.Clone(args), "--out", dir))
	const stop = "derived from " + someDump + " for node-agent: it takes up to 1m to stop"
	if text := both.String(); strings.Count(text, "it takes up to 1m to stop") != 1 || strings.Index(text, stop) < strings.Index(text, "longest wait") {
		t.Errorf("want %q after the table, once:\n%s", stop, text)
	}
	page := read(t, filepath.Join(dir, "report.html"))
	_, folded, _ := strings.Cut(page, `<details class="derived"><summary>What times and counts are derived from (`)
	folded, _, _ = strings.Cut(folded, "</details>")
	if !strings.Contains(folded, "<li>"+stop) || strings.Count(page, "it takes up to 1m to stop") != 1 {
		t.Errorf("the page has it elsewhere, too, or folded is only:\n%s", folded)
	}
	_, document, _ := call(2, false, append(args, "-o", "json")...)
	if !strings.Contains(document, stop) {
		t.Errorf("it is not among the notes:\n%s", document)
	}
	e := experiment{question: question{Dump: "dump.yaml"}, Candidates: []*candidate{
		{Label: "a", Derived: &Derived{Sentences: []string{"one", "two"}}}, {Label: "b", Derived: &Derived{Sentences: []string{"one", "three"}}},
	}}
	e.tellDerived()
	want := []string{"derived from dump.yaml for a, b: one", "derived from dump.yaml for a: two", "derived from dump.yaml for b: three"}
	if !slices.Equal(e.Derived, want) {
		t.Errorf("of two specs it says %q, want %q", e.Derived, want)
	}
}

// A forecast of 0s 0s 0s answers nothing. Without a world the times come from the dump, which is said, or the answer is refused.
func TestForecastWithoutAWorld(t *testing.T) {
	_, stdout, stderr := call(2, false, "forecast", "--dump", someDump, "--name", "node-agent", "--seeds", "2")
	if !strings.Contains(stderr, "derived from "+someDump+" for node-agent: it takes up to 1m to stop") || !strings.Contains(stdout, "every node that can be reached   15m30s") ||
		!strings.Contains(stdout, "after 7m30s if pods stop at once, and 15m30s in half of the runs and 15m30s in nine of ten if each takes its grace period of 1m.") {
		t.Errorf("got %s\n%s", stdout, stderr)
	}
	for _, command := range []string{"forecast", "suggest --deadline 1h"} {
		args := append(strings.Fields(command), "--nodes", "3", "--spec", newManifest)
		if code, stdout, stderr := call(2, false, args...); code != exit.Failed || stdout != "" || !strings.Contains(stderr, "every time would be 0s: ") {
			t.Errorf("%s: exit code %d, %s\n%s", command, code, stdout, stderr)
		}
	}
	bare := write(t, "bare.yaml", "apiVersion: v1\nkind: Node\nmetadata: {name: node-1}\nstatus: {conditions: [{type: Ready, status: 'True'}]}\n---\n"+read(t, oldManifest))
	for command, want := range map[string]int{"forecast": exit.Failed, "suggest --deadline 1h": exit.Failed, "simulate": exit.OK} {
		code, _, stderr := call(2, false, append(strings.Fields(command), "--dump", bare)...)
		if code != want || !strings.Contains(stderr, "bare.yaml: of the 0 pods of agent none tells how long a start takes") {
			t.Errorf("%s from a dump without pods: exit code %d\n%s", command, code, stderr)
		}
	}
}

// A world that has only events keeps the times that are derived, and a controller as they are; one with a section has what it says.
func TestWorldOfEvents(t *testing.T) {
	forecast := func(world string) (stdout, stderr string) {
		_, stdout, stderr = call(2, false, "forecast", "--dump", someDump, "--name", "node-agent", "--seeds", "1", "--world", write(t, "world.yaml", world))
		return stdout, stderr
	}
	const derived, usual = "it takes up to 1m to stop", "the controller looks at most every 100ms, and sends 20 calls a second, 30 at once after a pause"
	_, without, plain := call(2, false, "forecast", "--dump", someDump, "--name", "node-agent", "--seeds", "1")
	for _, tt := range []struct {
		name, world    string
		derived, usual bool
	}{
		{"only events", "events: [{at: 1000h, what: CordonNode, node: general-1a-01}]\n", true, true},
		{"a slow controller", "controller: {interval: 1m}\n", true, false},
		{"a section that is empty", "controller:\nmodel:\n", true, true},
		{"a model", "model: {kubelets: [{start: 1s}]}\n", false, true},
	} {
		stdout, stderr := forecast(tt.world)
		if strings.Contains(stderr, derived) != tt.derived || strings.Contains(stderr, usual) != tt.usual {
			t.Errorf("%s: standard error\n%s", tt.name, stderr)
		}
		if same := stdout == without; same != (tt.derived && tt.usual) {
			t.Errorf("%s: without a world\n%s\n%s\nwith it\n%s", tt.name, plain, without, stdout)
		}
	}
}

func TestFirstInstallationIsSaid(t *testing.T) {
	const line = "the nodes are empty at the start: this is a first installation"
	_, _, stderr := call(2, false, "simulate", "--nodes", "3", "--spec", newManifest, "--world", worldFileIn)
	if !strings.HasPrefix(stderr, line) {
		t.Errorf("standard error has %q", stderr)
	}
	for _, args := range [][]string{small(), {"simulate", "--dump", someDump, "--name", "node-agent"}} {
		if _, _, stderr := call(2, false, args...); strings.Contains(stderr, line) {
			t.Errorf("%v: standard error has %q", args, stderr)
		}
	}
	_, stdout, _ := call(2, false, "simulate", "--nodes", "3", "--spec", newManifest, "-o", "json")
	if !strings.Contains(stdout, line) || !strings.Contains(stdout, "nothing takes any time") {
		t.Errorf("the notes are not in the JSON: %s", stdout)
	}
}

// The time from the event Killing of a pod to the creation of the one in its place is what the first took to stop. With it there is no
// range, without it there is.
func TestDeriveStop(t *testing.T) {
	pod := func(name string, created time.Duration) *corev1.Pod {
		p := startedPod("n", time.Second)
		p.Name, p.UID, p.Namespace = name, types.UID(name), "monitoring"
		p.CreationTimestamp = metav1.NewTime(noon.Add(created))
		p.Status.Conditions[0].LastTransitionTime = p.CreationTimestamp
		p.Status.Conditions[1].LastTransitionTime = metav1.NewTime(noon.Add(created + time.Second))
		return p
	}
	event := func(name, reason, host string, at time.Duration) *corev1.Event {
		return &corev1.Event{
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "monitoring", Name: name, UID: types.UID(name)},
			Reason:         reason, Source: corev1.EventSource{Host: host}, FirstTimestamp: metav1.NewTime(noon.Add(at)),
		}
	}
	now := pod("agent-new", time.Minute)
	for _, row := range []struct {
		name, why string
		events    []*corev1.Event
		stop      simulate.Distribution
		grace     time.Duration
	}{
		{"replaced", "the new pod came 12 s after", []*corev1.Event{event("agent-old", killing, "n", 48*time.Second)}, simulate.Fixed(12 * time.Second), 0},
		{
			"two containers", "the first of a pod's events counts",
			[]*corev1.Event{event("agent-old", killing, "n", 50*time.Second), event("agent-old", killing, "n", 48*time.Second)},
			simulate.Fixed(12 * time.Second), 0,
		},
		{
			"replaced twice", "the last pod before counts",
			[]*corev1.Event{event("agent-old", killing, "n", 20*time.Second), event("agent-older", killing, "n", 55*time.Second)},
			simulate.Fixed(5 * time.Second), 0,
		},
		{"nothing", "there are no events", nil, simulate.Fixed(45 * time.Second), 45 * time.Second},
		{"other node", "it was another pod", []*corev1.Event{event("agent-old", killing, "m", 48*time.Second)}, simulate.Fixed(45 * time.Second), 45 * time.Second},
		{"other set", "it was another pod", []*corev1.Event{event("logs-old", killing, "n", 48*time.Second)}, simulate.Fixed(45 * time.Second), 45 * time.Second},
		{"other reason", "nothing was stopped", []*corev1.Event{event("agent-old", "Started", "n", 48*time.Second)}, simulate.Fixed(45 * time.Second), 45 * time.Second},
		{"restarted", "the pod is still there", []*corev1.Event{event("agent-new", killing, "n", 48*time.Second)}, simulate.Fixed(45 * time.Second), 45 * time.Second},
		{"surge", "it was stopped after the new one came", []*corev1.Event{event("agent-old", killing, "n", 70*time.Second)}, simulate.Fixed(45 * time.Second), 45 * time.Second},
		{"much later", "a pod has 45 s: the node was away", []*corev1.Event{event("agent-old", killing, "n", 10*time.Second)}, simulate.Fixed(45 * time.Second), 45 * time.Second},
	} {
		d, err := Derive(nil, []*corev1.Pod{now}, row.events, derivedSpec("a:v1"), time.Time{})
		if err != nil || d.Model.Kubelets[0].Stop != row.stop || d.Grace != row.grace {
			t.Errorf("%s: %+v, grace %v, %v; want %+v: %s", row.name, d.Model.Kubelets[0].Stop, d.Grace, err, row.stop, row.why)
		}
	}
}

// Events of a dump tell how long pods take to stop: then the answer is no range.
func TestForecastWithEvents(t *testing.T) {
	const event = `
---
apiVersion: v1
kind: Event
metadata: {name: node-agent-gone.1, namespace: observability}
involvedObject: {kind: Pod, namespace: observability, name: node-agent-gone, uid: gone}
reason: Killing
source: {host: general-1a-01}
firstTimestamp: "2026-01-21T09:14:47Z"
`
	dump := write(t, "dump.yaml", read(t, someDump)+event)
	_, stdout, stderr := call(2, false, "forecast", "--dump", dump, "--name", "node-agent", "--seeds", "2")
	if !strings.Contains(stderr, "it takes 13s to stop: from the events of 1 pod that was replaced\n") || strings.Contains(stdout, "at once") {
		t.Errorf("it says\n%s%s", stdout, stderr)
	}
}

// The usual controller looks again at once; at large fleets a look takes it as long as docs/speed.md measured.
func TestUsualController(t *testing.T) {
	for nodes, interval := range map[int]time.Duration{1: 100 * time.Millisecond, 5000: 100 * time.Millisecond, 50_000: time.Second} {
		if got := new(world).controller(nodes); got.Interval != interval || got.CallsPerSecond != 20 || got.CallBurst != 30 {
			t.Errorf("for %d nodes it is %+v, want an interval of %v", nodes, got, interval)
		}
	}
	if got := (&world{Controller: new(simulate.Controller)}).controller(50_000); got.Interval != 0 {
		t.Errorf("an ideal one looks every %v", got.Interval)
	}
}

// What kubectl printed of a set, and somebody edited, says by a number which template it had. The API server does not take that from
// a manifest: the pods of the former template do not count as updated.
func TestEditedManifest(t *testing.T) {
	numbered := func(name string) string {
		return write(t, filepath.Base(name), strings.Replace(read(t, name), "metadata: {name: agent,", "metadata: {annotations: {deprecated.daemonset.template.generation: \"1\"}, name: agent,", 1))
	}
	_, stdout, stderr := call(2, false, "forecast", "--nodes", "12", "--from", numbered(oldManifest), "--spec", numbered(newManifest), "--world", stuckWorld(t), "--seeds", "1")
	_, plain, _ := call(2, false, "forecast", "--nodes", "12", "--from", oldManifest, "--spec", newManifest, "--world", stuckWorld(t), "--seeds", "1")
	if stdout == "" || stdout != plain {
		t.Errorf("it says\n%s%s\nand without the number\n%s", stdout, stderr, plain)
	}
}
