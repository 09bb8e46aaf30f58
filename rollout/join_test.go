package rollout_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

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
