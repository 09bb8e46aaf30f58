package judge_test

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/internal/judge"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// TestLetGoPodsMustGo: at rest a Ready old pod that is PreparingDelete, and that no hook holds, must not stand beside a new one that
// is available, whatever the budget.
func TestLetGoPodsMustGo(t *testing.T) {
	for _, limit := range []rollouttest.SpecOption{rollouttest.MaxUnavailable("1"), rollouttest.MaxSurge("1")} {
		old := rollouttest.Spec("agent", rollouttest.Image("agent:v1"), limit)
		update := rollouttest.Changed(old, rollouttest.Image("agent:v2"))
		pods := []*corev1.Pod{
			rollouttest.Pod("new", rollouttest.Of(update), rollouttest.OnNode("a"), rollouttest.Ready(rollouttest.Noon())),
			rollouttest.Pod("old", rollouttest.Of(old), rollouttest.OnNode("a"), rollouttest.Ready(rollouttest.Noon()),
				rollouttest.InState(lifecycle.PreparingDelete)),
		}
		j := judge.New(rollouttest.Noon().Add(time.Hour), judge.Cluster{Nodes: rollouttest.Nodes("a"), Pods: pods,
			Revisions: []*appsv1.ControllerRevision{rollouttest.Revision(old, 1), rollouttest.Revision(update, 2)}})
		j.Rest(update)
		if len(j.Findings()) == 0 {
			t.Errorf("maxSurge %v: nothing is found of a pod that was let go and stays (B4, L2)", update.Strategy.MaxSurge)
		}
	}
}
