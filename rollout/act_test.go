package rollout_test

import (
	"testing"
	"time"

	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

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
