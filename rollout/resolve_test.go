package rollout_test

import (
	"testing"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

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
