package judge_test

import (
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/internal/judge"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
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
		rollouttest.PreNormalHook(rollouttest.HookLabel("registered", "yes")))
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

// TestLetGoPodsAreNotUnderWay: slow start lets one node be under way, and the pod of one is prepared already. Another node may be
// begun once the hook that the pod was prepared for has let it go (B7), whatever there is of the other hook.
func TestLetGoPodsAreNotUnderWay(t *testing.T) {
	const toDelete, toUpdate = lifecycle.PreparingDelete, lifecycle.PreparingUpdate
	ofPreDelete, ofInPlaceUpdate := objects.Finalizer("example.com/drain"), objects.Label("registered", "yes")
	tests := []struct {
		name, why string
		state     lifecycle.State
		handler   func(*corev1.Pod)
		found     bool
	}{
		{name: "to be deleted", why: "inPlaceUpdate holds no deletion", state: toDelete, handler: ofInPlaceUpdate},
		{name: "held back", why: "preDelete holds it (L2)", state: toDelete, handler: ofPreDelete, found: true},
		{name: "to be updated", why: "preDelete holds no update in place", state: toUpdate, handler: ofPreDelete},
		{name: "not updated yet", why: "inPlaceUpdate holds it (L3)", state: toUpdate, handler: ofInPlaceUpdate, found: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newScene(rollouttest.MaxUnavailable("2"), rollouttest.SlowStart(time.Hour, "1", "1"),
				rollouttest.PreDeleteHook(objects.HookFinalizer("example.com/drain")),
				rollouttest.InPlaceUpdateHook(rollouttest.HookLabel("registered", "yes")))
			s.add(rollouttest.Node("a"), &s.old, rollouttest.Ready(ago(time.Hour)))
			s.add(rollouttest.Node("b"), &s.old, rollouttest.Ready(ago(time.Hour)))
			prepared := func(name string, handlers ...rollouttest.PodOption) *corev1.Pod {
				p := s.pod(name).DeepCopy()
				objects.InState(test.state)(p)
				for _, handler := range handlers {
					handler(p)
				}
				return p
			}
			rules := s.found(func(j *judge.Judge) {
				j.Patched(s.pod("a"), prepared("a"))
				revisions := []*appsv1.ControllerRevision{rollouttest.Revision(s.old, 1), rollouttest.Revision(s.update, 2)}
				j.Look(s.update, rollout.Snapshot{Now: rollouttest.Noon(), Nodes: s.nodes, Revisions: revisions,
					Pods: []*corev1.Pod{prepared("a", test.handler), s.pod("b")}})
				j.Patched(s.pod("b"), prepared("b"))
			})
			if found := slices.Contains(rules, judge.SlowStart); found != test.found {
				t.Errorf("%s: findings %v", test.why, rules)
			}
		})
	}
}
