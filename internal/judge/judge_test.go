package judge_test

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/internal/judge"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// withSidecar adds a second container.
func withSidecar(image string) rollouttest.SpecOption {
	return func(s *rollout.Spec) {
		s.Template.Spec.Containers = append(s.Template.Spec.Containers, corev1.Container{Name: "sidecar", Image: image})
	}
}

// TestRestarted: a container restarts in a pod that was updated in place. It may if the update was about it, or if it ended.
func TestRestarted(t *testing.T) {
	old := rollouttest.Spec("agent", rollouttest.Image("agent:v1"), withSidecar("sidecar:v1"))
	update := rollouttest.Changed(old, rollouttest.Image("agent:v2"))
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	ended := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}
	tests := []struct {
		name, why, container string
		state, last          corev1.ContainerState
		found                bool
	}{
		{name: "the other one", why: "both revisions have it alike", container: "sidecar", state: running, found: true},
		{name: "the updated one", why: "that is what updates in place do", container: "main", state: running},
		{name: "it has ended", why: "kubelets start containers again", container: "sidecar", state: ended},
		{name: "it had ended before", why: "nobody can tell why it restarts now", container: "sidecar", state: running, last: ended},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.why == "" {
				t.Error("no why")
			}
			revisions := []*appsv1.ControllerRevision{rollouttest.Revision(old, 1), rollouttest.Revision(update, 2)}
			nodes := rollouttest.Nodes("a")
			before := rollouttest.Pod("x", rollouttest.Of(old), rollouttest.OnNode("a"), rollouttest.Ready(rollouttest.Noon()))
			after := before.DeepCopy()
			after.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = rollouttest.Hash(update)
			after.Status.ContainerStatuses = []corev1.ContainerStatus{
				{Name: test.container, State: test.state, LastTerminationState: test.last},
			}
			cluster := judge.Cluster{Nodes: nodes, Pods: []*corev1.Pod{before}, Revisions: revisions}
			j := judge.New(rollouttest.Noon(), cluster)
			j.Look(update, rollout.Snapshot{Now: rollouttest.Noon(), Nodes: nodes, Pods: cluster.Pods, Revisions: revisions})
			cluster.Pods = []*corev1.Pod{after}
			j.See(rollouttest.Noon().Add(time.Second), cluster)
			j.Restarted(after, test.container)
			list := j.Findings()
			if (len(list) == 1 && list[0].Rule == judge.Restart) != test.found || len(list) > 1 {
				t.Errorf("found %v", list)
			}
		})
	}
}

// TestPlacement: the judge reads placement off nodes by itself (P2, P3): at rest a node that is to run the pod is not empty.
func TestPlacement(t *testing.T) {
	at := func(o ...rollouttest.NodeOption) *corev1.Node { return rollouttest.Node("a", o...) }
	tests := []struct {
		name, why string
		spec      rollout.Spec
		node      *corev1.Node
		runs      bool
	}{
		{"any", "nothing is asked for", rollouttest.Spec("agent"), at(), true},
		{"selected", "P2", rollouttest.Spec("agent", rollouttest.TemplateNodeSelector("k", "v")), at(rollouttest.Label("k", "v")), true},
		{"not selected", "P2", rollouttest.Spec("agent", rollouttest.TemplateNodeSelector("k", "v")), at(rollouttest.Label("k", "w")), false},
		{"one of two", "P4", rollouttest.Spec("agent", rollouttest.Affinity("k", "v", "w")), at(rollouttest.Label("k", "w")), true},
		{"none of them", "P4", rollouttest.Spec("agent", rollouttest.Affinity("k", "v")), at(), false},
		{"cordoned", "P1 tolerates it", rollouttest.Spec("agent"), at(rollouttest.Cordoned()), true},
		{"tainted", "P3", rollouttest.Spec("agent"), at(rollouttest.Taint("x", "", corev1.TaintEffectNoSchedule)), false},
		{"preferably not", "P2 asks for two effects", rollouttest.Spec("agent"),
			at(rollouttest.Taint("x", "", corev1.TaintEffectPreferNoSchedule)), true},
		{"tolerated", "P2", rollouttest.Spec("agent", rollouttest.Tolerating("x", "")),
			at(rollouttest.Taint("x", "", corev1.TaintEffectNoExecute)), true},
		{"no network", "P1 tolerates it for pods of the host's", rollouttest.Spec("agent"),
			at(rollouttest.Taint(corev1.TaintNodeNetworkUnavailable, "", corev1.TaintEffectNoSchedule)), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.why == "" {
				t.Error("no why")
			}
			j := judge.New(rollouttest.Noon(), judge.Cluster{
				Nodes: []*corev1.Node{test.node}, Revisions: []*appsv1.ControllerRevision{rollouttest.Revision(test.spec, 1)},
			})
			j.Rest(test.spec)
			if list := j.Findings(); (len(list) == 1 && list[0].Rule == judge.Empty) != test.runs {
				t.Errorf("found %v", list)
			}
		})
	}
}

// TestFinding: a finding says the rule, the instant, the node and the pod.
func TestFinding(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	f := judge.Finding{Rule: judge.HandsOff, At: at, Node: "n", Pod: "p", Text: "it went"}
	if want := "hands off: at 03:04:05.000, node n, pod p: it went"; f.String() != want {
		t.Errorf("%q, right is %q", f, want)
	}
	names := map[string]bool{}
	for _, rule := range judge.Rules() {
		if name := rule.String(); name == "" || names[name] {
			t.Errorf("%d: %q is no name of its own", rule, name)
		}
		names[rule.String()] = true
	}
	if judge.Rule(0).String() != "rule 0" {
		t.Error("no rule has a name")
	}
}
