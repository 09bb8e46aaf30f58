package rollout_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/daemonplan/daemonplan/rollout/history"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// withOlder adds a revision "older" of agent:v0, numbered below the two of the lab.
func withOlder(l *lab) {
	spec := l.spec.Default()
	kit.Image("agent:v0")(&spec)
	older := kit.Revision(spec, 1)
	older.Name, older.UID = "agent-older", "revision-older"
	older.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = "older"
	for _, revision := range l.snapshot.Revisions {
		revision.Revision++
	}
	l.snapshot.Revisions = append(l.snapshot.Revisions, older)
}

// Which places a partition has left, and what lost pods come back at, while a revision is on trial.
func TestTargetCanary(t *testing.T) { playScenes(t, targetCanaryScenes()) }

func targetCanaryScenes() []scene {
	isCanary := kit.Label("nodeType", "canary")
	tried := "c: updated>update none UpToDate C"
	return []scene{
		{
			name: "what comes back updated takes no place", why: "T2: so that the place is left for b, which has something to hold",
			spec: []kit.SpecOption{kit.Canary("2"), holdRevision, partition("1")}, set: tryingOn("a", "b"),
			fleet: []spot{on("a", newPod(terminating())), on("b", oldPod())},
			want:  []string{"a: terminating>update wait Terminating U C", "b: outdated>held hold Held b0 partition C"},
		},
		{
			name: "a stable pod on its way takes no place", why: "T2: what is requested counts as done, and b was held before the stable revision",
			spec: []kit.SpecOption{kit.Canary("1"), partition("1")}, set: tryingOn("c"), requested: []string{"a@old"},
			fleet: []spot{on("a"), on("b", podAt("older")), on("c", trialPod())},
			want:  []string{"a: starting>stable wait Requested U", "b: outdated>held hold Held b0 partition", tried},
		},
		{
			name: "a lost pod of a revision before the stable one", why: "T1, C7: among what is to end stable the partition holds what it held",
			spec: []kit.SpecOption{kit.Canary("1"), holdRevision, partition("1")}, set: all(withOlder, tryingOn("c")),
			fleet: []spot{on("a", podAt("older", terminating())), on("b", oldPod()), on("c", trialPod())},
			want:  []string{"a: terminating>held wait Terminating U", "b: stable>stable none Stable", tried},
		},
		{
			name: "a lost pod of the revision on trial", why: "T6: its node is none of the canary's, and does not come back at it",
			spec: []kit.SpecOption{kit.Canary("1"), holdRevision, nodeType("canary")}, set: tryingOn("c"),
			fleet: []spot{on("a", newPod(terminating())), on("b", oldPod()), on("c", trialPod()).with(isCanary)},
			want:  []string{"a: terminating>stable wait Terminating U", "b: stable>stable none Stable", tried},
		},
		{
			name: "nothing tells what it was", why: "T1: it comes back at the stable revision, whatever the others that are held run",
			spec:  []kit.SpecOption{kit.Canary("1"), holdRevision, nodeType("canary")},
			set:   all(withOlder, withMark("old", history.PromotedAnnotation, "x"), tryingOn("c")),
			fleet: []spot{on("a"), on("b", podAt("older")), on("c", trialPod()).with(isCanary)},
			acts:  "create a Missing at old",
			want:  []string{"a: missing>stable create Missing U", "b: outdated>held hold Held b0 nodeSelector", tried},
		},
	}
}
