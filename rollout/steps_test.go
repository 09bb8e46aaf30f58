package rollout_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// A node that the template on trial does not fit, and the stable one does, has a pod that becomes available by the clock (T6):
// the plan wakes for it as for any other. One that neither fits loses its pod in any case (M4).
func TestPlaceStableWakes(t *testing.T) {
	ready := kit.MinReadySeconds(60)
	tests := []struct {
		name, why string
		node      kit.NodeOption
		pod       podOf
		want      time.Duration // 0: never
	}{
		{"fits the stable one", "B5: its pod becomes available", kit.Label("size", "small"), oldPod(readyFor(45 * time.Second)), 15 * time.Second},
		{"fits neither", "M4: its pod serves nobody, whatever its age", kit.Taint("gone", "", corev1.TaintEffectNoExecute),
			oldPod(readyFor(45 * time.Second)), 0},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(kit.Canary("1"), kit.CanaryManual(), ready)
			old := l.spec.Default()
			kit.Image("agent:v1")(&old)
			kit.TemplateNodeSelector("size", "big")(&l.spec)
			l.old, l.update = kit.Hash(old), kit.Hash(l.spec)
			l.snapshot.Revisions = []*appsv1.ControllerRevision{kit.Revision(old, 1), kit.Revision(l.spec, 2)}
			l.add(on("a", trialPod()).with(kit.Label("size", "big")), on("b", tt.pod).with(tt.node))
			all(tryingOn("a"), withMark("old", history.PromotedAnnotation, "x"))(l)
			got := time.Duration(0)
			if wake := l.plan(t).NextWake; !wake.IsZero() {
				got = wake.Sub(kit.Noon())
			}
			if got != tt.want {
				t.Errorf("wakes in %v, want %v: %s", got, tt.want, tt.why)
			}
		})
	}
}

// What is read off pods in the middle, or after the end, of an update in place (I5).
func TestPodsUpdatedInPlace(t *testing.T) {
	inPlace := []kit.SpecOption{kit.InPlaceIfPossible()}
	playScenes(t, []scene{
		{
			name: "ready, with a batch to come", why: "I5: it is complete when all batches are done",
			spec: inPlace, fleet: []spot{on("a", newPod(updatable, halfUpdated))},
			acts: "patch a0/status InPlaceUnfinished, patch a0 InPlaceUnfinished",
			want: []string{"a: starting>update patch InPlaceUnfinished a0 U"},
		},
		{
			name: "complete by its condition", why: "I5: it was complete when that became True, whatever the containers show now",
			spec: inPlace, fleet: []spot{on("a", newPod(
				updatingSince(ago(time.Hour)), readyFor(time.Minute), inPlaceReady(corev1.ConditionTrue, ago(time.Minute))))},
			want: []string{"a: updated>update none UpToDate"},
		},
		{
			name: "held, not ready, with a batch to come", why: "I5: going on disturbs nobody",
			spec: append(inPlace, kit.Paused()), fleet: []spot{on("a", oldPod(updatable, halfUpdated, kit.Unready()))},
			acts: "patch a0/status InPlaceUnfinished, patch a0 InPlaceUnfinished",
			want: []string{"a: outdated>held patch InPlaceUnfinished a0 paused U"},
		},
	})
}

// With holdRevision a lost pod comes back as it was, on each node by what is seen there, be it a pod that M1 ignores (T1).
func TestIgnoredPodsOfSeveralNodes(t *testing.T) {
	ended := []kit.PodOption{kit.Failed(), terminating()}
	playScenes(t, []scene{{
		name: "three nodes", why: "T1: in whatever order their pods come",
		spec:  []kit.SpecOption{holdRevision, nodeType("none")},
		fleet: []spot{on("a", newPod(ended...)), on("b", oldPod(ended...)), on("c", newPod(ended...)), on("d", oldPod())},
		acts:  "create a Missing, create b Missing at old, create c Missing",
		want: []string{
			"a: missing>update create Missing U", "b: missing>held create Missing U", "c: missing>update create Missing U",
			"d: outdated>held hold Held d0 nodeSelector",
		},
	}})
}

// However the pods of two revisions are mixed, what an update in place would change is said once for each.
func TestRevisionsComparedOnce(t *testing.T) {
	l := newLab(kit.InPlaceIfPossible(), kit.MaxUnavailable("100%"))
	for _, node := range []string{"a", "b", "c", "d"} {
		l.add(on(node, oldPod(updatable)), on(node+"x", podAt("lost", updatable)))
	}
	var from []string
	for _, diff := range l.plan(t).Diffs {
		from = append(from, diff.From)
	}
	slices.Sort(from)
	want := []string{l.old, "lost"}
	slices.Sort(want)
	if diff := cmp.Diff(want, from); diff != "" {
		t.Errorf("compared, -want +got:\n%s", diff)
	}
}

// What was requested is there as far as the plan goes, at whatever revision (C6, M1).
func TestResolveInFlight(t *testing.T) {
	playScenes(t, []scene{
		{
			name: "pods of a third revision on two nodes", why: "M1: neither node gets a second one", requested: []string{"a@third", "b@third"},
			fleet: []spot{on("a"), on("b")},
			want:  []string{"a: outdated>update wait Requested U", "b: outdated>update wait Requested U"},
		},
		{
			name: "one of them is seen", why: "M1: b's is still to come", requested: []string{"a@third", "b@third"},
			fleet: []spot{on("a", podAt("third")), on("b")},
			want:  []string{"a: outdated>update wait Budget a0 maxUnavailable", "b: outdated>update wait Requested U"},
		},
	})
}

// The order of what was requested says nothing about which revisions are carried (C6).
func TestResolveCarriers(t *testing.T) {
	l := scene{spec: []kit.SpecOption{kit.Paused()}, fleet: []spot{on("a"), on("b")}, requested: []string{"a", "b@old"}}.lab()
	for range 2 {
		if got := l.plan(t).Status.StableRevision; got != l.old {
			t.Errorf("the stable revision is %s, want %s: a pod of it was requested", got, l.old)
		}
		l.reverse()
	}
}

// What the memory says of the stable revision counts while no mark is seen, unless it contradicts itself (C6).
func TestResolveLastStable(t *testing.T) {
	failed := func(l *lab) {
		tryingOn("a")(l)
		l.snapshot.Memory.Canary.Verdict = &canary.Finding{Phase: canary.Failed, Reason: canary.TimedOut, At: kit.Noon()}
		l.snapshot.Memory.Rollout = rollout.Record{Revision: l.update, Began: ago(0)}
	}
	playScenes(t, []scene{
		{
			name: "remembered", why: "C7: a failed revision goes back, although no pod shows any more what to",
			spec: []kit.SpecOption{kit.Canary("1")}, fleet: []spot{on("a", newPod())},
			set: func(l *lab) {
				failed(l)
				l.snapshot.Memory.Rollout.Stable = l.old
			},
			acts: "delete a0 Outdated",
			want: []string{"a: outdated>stable replace Outdated a0 U"},
		},
		{
			name: "remembered as both", why: "C7: a revision that failed is no stable one, and b shows which is",
			spec: []kit.SpecOption{kit.Canary("1")}, fleet: []spot{on("a", newPod()), on("b", oldPod())},
			set: func(l *lab) {
				failed(l)
				l.snapshot.Memory.Rollout.Stable = l.update
			},
			acts: "delete a0 Outdated",
			want: []string{"a: outdated>stable replace Outdated a0 U", "b: stable>stable none Stable"},
		},
	})
}

// A snapshot may show the pod that a create in flight was for before the caller takes the entry away: then nothing is waited
// for. What stands in for another pod, or is on its way out, is not that pod.
func TestRequestsThatCame(t *testing.T) {
	surge := []kit.SpecOption{kit.MaxSurge("1")}
	playScenes(t, []scene{
		{
			name: "of an older revision", why: "the pod is there, and outdated", requested: []string{"a@x"},
			fleet: []spot{on("a", podAt("x"))}, acts: "delete a0 Outdated",
			want: []string{"a: outdated>update replace Outdated a0 U"},
		},
		{
			name: "of two older revisions", why: "M1: one of the pods is still to come", requested: []string{"a@x", "a@y"},
			fleet: []spot{on("a", podAt("x"))},
			want:  []string{"a: outdated>update wait Requested"},
		},
		{
			name: "as the surplus pod", why: "M3: it is there, though another one stays", requested: []string{"a@x"},
			fleet: []spot{on("a", podAt("y"), podAt("x", kit.Unready()))}, acts: "delete a1 Surplus, delete a0 Outdated",
			want: []string{"a: outdated>update replace Outdated a0 U"},
		},
		{
			name: "and is terminating", why: "M1: what was asked for may be another pod than the one that goes", requested: []string{"a"},
			fleet: []spot{on("a", newPod(terminating()))},
			want:  []string{"a: starting>update wait Requested U"},
		},
		{
			name: "of the update revision", why: "M3: the new pod is there, and the old one goes", spec: surge, requested: []string{"a"},
			fleet: []spot{on("a", oldPod(), newPod())}, acts: "delete a0 Superseded",
			want: []string{"a: surging>update delete Superseded a0"},
		},
	})
}

// What a plan may begin is limited in several ways; what was begun before it is completed whatever they say.
func TestLimitsOfAPlan(t *testing.T) {
	all := kit.MaxUnavailable("100%")
	finished := oldPod(restarted(ago(time.Minute)))
	playScenes(t, []scene{
		{
			name: "burst of less than one", why: "M6: a plan may always do one thing",
			spec:  []kit.SpecOption{kit.Burst("1%")},
			fleet: []spot{on("a"), on("b")}, acts: "create a Missing",
			want: []string{"a: missing>update create Missing U", "b: missing>update wait Burst burst U"},
		},
		{
			name: "slow start with surge", why: "B7: a new pod beside the old one takes one place",
			spec: []kit.SpecOption{kit.MaxSurge("100%"), kit.SlowStart(time.Minute, "2", "9")}, set: rolling(0),
			fleet: []spot{on("a", oldPod()), on("b", oldPod()), on("c", oldPod())}, acts: "create c Outdated, create b Outdated",
			want: []string{
				"a: outdated>update wait Budget a0 slowStart", "b: outdated>update surge Outdated S", "c: outdated>update surge Outdated S",
			},
		},
		{
			name: "burst, and an update in place to complete", why: "M6, I5: it is completed, though the next one has to wait",
			spec:  []kit.SpecOption{all, kit.InPlaceIfPossible(), kit.Burst("1")},
			fleet: []spot{on("a", finished), on("b", oldPod(updatable, kit.Unready()))},
			acts:  "patch b0/status OutdatedNotReady, patch b0 OutdatedNotReady, patch a0/status InPlaceUnfinished",
			want: []string{
				"a: outdated>update patch InPlaceUnfinished a0 burst U", "b: outdated>update update OutdatedNotReady b0 U",
			},
		},
		{
			name: "slow start, and an update in place to complete", why: "B7, I5: it is completed, though the next one has to wait",
			spec: []kit.SpecOption{all, kit.InPlaceIfPossible(), kit.SlowStart(time.Minute, "1", "9")}, set: rolling(0),
			fleet: []spot{on("a", finished), on("b", oldPod(updatable, kit.Unready()))},
			acts:  "patch b0/status OutdatedNotReady, patch b0 OutdatedNotReady, patch a0/status InPlaceUnfinished",
			want: []string{
				"a: outdated>update patch InPlaceUnfinished a0 slowStart U", "b: outdated>update update OutdatedNotReady b0 U",
			},
		},
	})
}

// T7 counts the nodes that are filled for the first time: one that gets its pod back takes no place.
func TestFirstInstallationBesideTerminating(t *testing.T) {
	l := firstInstallation(partition("1"), kit.MaxSurge("1")).add(on("a", newPod(terminating())), on("b"), on("c"))
	compare(t, l, l.plan(t), "create a BesideTerminating, create b Missing", []string{
		"a: terminating>update create BesideTerminating U S", "b: missing>update create Missing U S",
		"c: missing>update hold PartitionedScaling partition U",
	}, "T7: 3 - 1 - 1 nodes are filled, and the pod of another comes back")
}
