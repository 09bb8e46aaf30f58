package judge_test

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/internal/judge"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// TestRetryRevivesOnce: a failed revision may go to another node while a command that names it has not been obeyed (C5).
func TestRetryRevivesOnce(t *testing.T) {
	tests := []struct {
		name, retry, obeyed string
		found               bool
	}{
		{name: "no command", found: true},
		{name: "a command", retry: canary.Any},
		{name: "obeyed before", retry: canary.Any, obeyed: canary.Any, found: true},
		{name: "obeyed before, with another value", retry: canary.Any + "/2", obeyed: canary.Any},
		{name: "of another revision", retry: "agent-of-yesterday", found: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			old := rollouttest.Spec("agent", rollouttest.Image("agent:v1"))
			update := rollouttest.Changed(old, rollouttest.Image("agent:v2"))
			update.Strategy.Canary = &canary.Options{Commands: canary.Commands{Retry: test.retry}}
			start := judge.Cluster{
				Nodes:     rollouttest.Nodes("a"),
				Pods:      []*corev1.Pod{rollouttest.Pod("old", rollouttest.Of(old), rollouttest.OnNode("a"))},
				Revisions: []*appsv1.ControllerRevision{rollouttest.Revision(old, 1)},
			}
			j := judge.New(rollouttest.Noon(), start)
			failed := rollouttest.Revision(update, 2)
			failed.Annotations = map[string]string{history.FailedAnnotation: canary.TimedOut.String()}
			if test.obeyed != "" {
				failed.Annotations[history.RetriedAnnotation] = test.obeyed
			}
			now := rollouttest.Noon().Add(time.Minute)
			cluster := judge.Cluster{Nodes: start.Nodes, Revisions: append(start.Revisions, failed)}
			j.See(now, cluster)
			j.Look(update, rollout.Snapshot{Now: now, Nodes: cluster.Nodes, Revisions: cluster.Revisions})
			j.Created(rollouttest.Pod("new", rollouttest.Of(update), rollouttest.OnNode("a"), rollouttest.Pending()))
			found := false
			for _, f := range j.Findings() {
				found = found || f.Rule == judge.Trial
			}
			if found != test.found {
				t.Errorf("findings %v", j.Findings())
			}
		})
	}
}
