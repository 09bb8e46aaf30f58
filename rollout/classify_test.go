package rollout_test

import (
	"testing"

	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

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
