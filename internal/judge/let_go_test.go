package judge_test

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/internal/judge"
	"github.com/daemonplan/daemonplan/internal/objects"
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
				objects.InState(lifecycle.PreparingDelete)),
		}
		j := judge.New(rollouttest.Noon().Add(time.Hour), judge.Cluster{Nodes: rollouttest.Nodes("a"), Pods: pods,
			Revisions: []*appsv1.ControllerRevision{rollouttest.Revision(old, 1), rollouttest.Revision(update, 2)}})
		j.Rest(update)
		if len(j.Findings()) == 0 {
			t.Errorf("maxSurge %v: nothing is found of a pod that was let go and stays (B4, L2)", update.Strategy.MaxSurge)
		}
	}
}

// TestKeepNodeInAHookCounts: the pod of a keep node that waits for its preNormal hook does not serve, so it uses up the budget (B2).
func TestKeepNodeInAHookCounts(t *testing.T) {
	old := rollouttest.Spec("agent", rollouttest.Image("agent:v1"), rollouttest.MaxUnavailable("1"),
		rollouttest.PreNormal(rollouttest.HookLabel("registered", "yes")))
	update := rollouttest.Changed(old, rollouttest.Image("agent:v2"))
	kept := rollouttest.Node("kept", rollouttest.Taint("dedicated", "", corev1.TaintEffectNoSchedule))
	for _, state := range []lifecycle.State{lifecycle.PreparingNormal, lifecycle.Normal} {
		pods := []*corev1.Pod{
			rollouttest.Pod("old", rollouttest.Of(old), rollouttest.OnNode("a"), rollouttest.Ready(rollouttest.Noon())),
			rollouttest.Pod("new", rollouttest.Of(update), rollouttest.OnNode("kept"), rollouttest.Ready(rollouttest.Noon()),
				objects.InState(state)),
		}
		j := judge.New(rollouttest.Noon().Add(time.Hour), judge.Cluster{Nodes: append(rollouttest.Nodes("a"), kept), Pods: pods,
			Revisions: []*appsv1.ControllerRevision{rollouttest.Revision(old, 1), rollouttest.Revision(update, 2)}})
		j.Rest(update)
		if found := len(j.Findings()) > 0; found != (state == lifecycle.Normal) {
			t.Errorf("beside a pod that is %s: findings %v", state, j.Findings())
		}
	}
}
