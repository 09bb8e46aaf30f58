package rollout_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

func TestBudgetB2Unavailable(t *testing.T) { playScenes(t, unavailableScenes()) }

// unavailableScenes have one outdated Ready node "z", which is replaced exactly if nothing else uses up
// maxUnavailable 1.
func unavailableScenes() []scene {
	const (
		goes  = "z: outdated>update replace Outdated z0 U"
		waits = "z: outdated>update wait Budget z0 maxUnavailable"
	)
	z := func() spot { return on("z", oldPod()) }
	return []scene{
		{
			name: "updated and available", why: "B2: it serves",
			fleet: []spot{on("a", newPod()), z()},
			acts:  "delete z0 Outdated",
			want:  []string{"a: updated>update none UpToDate", goes},
			spent: "unavailable 1 of 1, surging 0 of 0, waiting 0",
		},
		{
			name: "updated and ready", why: "B2: a pod of the update revision serves when it is available, not before",
			spec:  []kit.SpecOption{kit.MinReadySeconds(60)},
			fleet: []spot{on("a", newPod(readyFor(59*time.Second))), z()},
			want:  []string{"a: starting>update wait MinReadySeconds a0 minReadySeconds until=+1s U", waits},
			spent: "unavailable 1 of 1, surging 0 of 0, waiting 1",
		},
		{
			name: "updated and ready for just long enough", why: "B5: exactly minReadySeconds is enough",
			spec:  []kit.SpecOption{kit.MinReadySeconds(60)},
			fleet: []spot{on("a", newPod(readyFor(60*time.Second))), z()},
			acts:  "delete z0 Outdated",
			want:  []string{"a: updated>update none UpToDate", goes},
		},
		{
			name: "ready in the future", why: "B5: clock skew never makes a pod available early",
			spec:  []kit.SpecOption{kit.MinReadySeconds(60)},
			fleet: []spot{on("a", newPod(readyFor(-time.Second))), z()},
			want:  []string{"a: starting>update wait MinReadySeconds a0 minReadySeconds until=+1m1s U", waits},
		},
		{
			name: "ready since an unknown time", why: "B5: never available by the clock, so there is no Until",
			spec:  []kit.SpecOption{kit.MinReadySeconds(60)},
			fleet: []spot{on("a", newPod(kit.Ready(time.Time{}))), z()},
			want:  []string{"a: starting>update wait MinReadySeconds a0 minReadySeconds U", waits},
		},
		{
			name: "in-place condition not True", why: "B5: it outranks Ready",
			fleet: []spot{on("a", newPod(objects.Updating())), z()},
			want:  []string{"a: starting>update wait NotReady a0 U", waits},
		},
		{
			name: "outdated and ready", why: "B2: an outdated pod serves when it is Ready, available or not",
			spec:  []kit.SpecOption{kit.MinReadySeconds(60)},
			fleet: []spot{on("a", oldPod(readyFor(time.Second))), z()},
			acts:  "delete z0 Outdated",
			want:  []string{"a: outdated>update wait Budget a0 maxUnavailable", goes},
			spent: "unavailable 1 of 1, surging 0 of 0, waiting 1",
		},
		{
			name: "missing", why: "B2, M7: a node that this plan gives a pod is unavailable still",
			fleet: []spot{on("a"), z()},
			acts:  "create a Missing",
			want:  []string{"a: missing>update create Missing U", waits},
		},
		{
			name: "terminating", why: "B2: a terminating pod does not serve",
			fleet: []spot{on("a", newPod(terminating())), z()},
			want:  []string{"a: terminating>update wait Terminating U", waits},
		},
		{
			name: "failed", why: "B2: nor does one that has failed",
			fleet: []spot{on("a", newPod(kit.Failed())), z()},
			acts:  "delete a0 Failed",
			want:  []string{"a: broken>update delete Failed a0 U", waits},
		},
		{
			name: "two pods, one serves", why: "B2: one serving pod is enough",
			fleet: []spot{on("a", oldPod(), newPod(kit.Unready())), z()},
			acts:  "delete z0 Outdated",
			want:  []string{"a: surging>update wait NotReady a1", goes},
		},
		{
			name: "two pods, deleted by this plan", why: "B2, M7: a pod that this plan deletes does not serve",
			spec:  []kit.SpecOption{kit.MinReadySeconds(60)},
			fleet: []spot{on("a", newPod(kit.Unready()), newPod(readyFor(time.Second))), z()},
			acts:  "delete a0 Surplus",
			want:  []string{"a: starting>update delete Surplus a0 U", waits},
		},
		{
			name: "outdated, prepared for its update", why: "B2: PreparingUpdate; it may stop working as soon as its hook lets it go",
			spec: []kit.SpecOption{method(inplace.IfPossible), func(s *rollout.Spec) {
				s.Lifecycle.InPlaceUpdate = &lifecycle.Hook{Labels: map[string]string{"drain": "wanted"}}
			}},
			fleet: []spot{on("a", oldPod(updatable, kit.PodLabel("drain", "wanted"), inState(lifecycle.PreparingUpdate))), z()},
			want:  []string{"a: outdated>update wait UpdateHook a0 hook U", waits},
			spent: "unavailable 1 of 1, surging 0 of 0, waiting 1",
		},
		{
			name: "outdated, not prepared", why: "B2: a Ready pod of another revision serves until something is begun",
			spec: []kit.SpecOption{method(inplace.IfPossible), func(s *rollout.Spec) {
				s.Lifecycle.InPlaceUpdate = &lifecycle.Hook{Labels: map[string]string{"drain": "wanted"}}
			}},
			fleet: []spot{on("a", oldPod(updatable, kit.PodLabel("drain", "wanted"))), z()},
			acts:  "delete z0 Outdated",
			want:  []string{"a: outdated>update wait Budget a0 maxUnavailable", goes},
		},
		{
			name: "keep, updated and broken", why: "B2: a revision that breaks its nodes must stop the rollout",
			fleet: []spot{on("a", newPod(kit.Unready())).keep(), z()},
			want:  []string{"a: kept>none none Kept U", waits},
		},
		{
			name: "keep, updated and not bound", why: "B2: it never ran and cannot be bound now, so it says nothing of the revision",
			fleet: []spot{on("a", pinned(newPod(kit.Pending()))).keep(), z()},
			acts:  "delete z0 Outdated",
			want:  []string{"a: kept>none none Kept", goes},
		},
		{
			name: "keep, updated and available", why: "B2: only broken ones count there",
			fleet: []spot{on("a", newPod()).keep(), z()},
			acts:  "delete z0 Outdated",
			want:  []string{"a: kept>none none Kept", goes},
		},
		{
			name: "keep, outdated and broken", why: "B2: it is not the update revision that broke it",
			fleet: []spot{on("a", oldPod(kit.Unready())).keep(), z()},
			acts:  "delete z0 Outdated",
			want:  []string{"a: kept>none none Kept", goes},
		},
		{
			name: "keep, updated and terminating", why: "B2: a pod that is marked is not live",
			fleet: []spot{on("a", newPod(terminating())).keep(), z()},
			acts:  "delete z0 Outdated",
			want:  []string{"a: kept>none none Kept", goes},
		},
		{
			name: "keep, updated and broken beside outdated", why: "B2: its update-revision pod is live and not available, whatever else is there",
			fleet: []spot{on("a", oldPod(), newPod(kit.Unready())).keep(), z()},
			want:  []string{"a: kept>none none Kept U", waits},
		},
		{
			name: "keep, updated and failed", why: "B2: a Failed pod is live until it is marked, and not available",
			fleet:    []spot{on("a", newPod(kit.Failed())).keep(), z()},
			backoffs: []rollout.Backoff{{Node: "a", Revision: "update", Delay: time.Second, Since: ago(0)}},
			want:     []string{"a: kept>none wait Backoff a0 backoff until=+1s U", waits},
		},
		{
			name: "keep, updated and failed beside available", why: "B2: one available pod of the update revision is enough",
			fleet:    []spot{on("a", newPod(kit.Failed()), newPod()).keep(), z()},
			backoffs: []rollout.Backoff{{Node: "a", Revision: "update", Delay: time.Second, Since: ago(0)}},
			acts:     "delete z0 Outdated",
			want:     []string{"a: kept>none wait Backoff a0 backoff until=+1s", goes},
		},
		{
			name: "leave", why: "B2: neither run nor keep",
			fleet: []spot{on("a", newPod(kit.Unready())).leave(), z()},
			acts:  "delete a0 Leaving, delete z0 Outdated",
			want:  []string{"a: leaving>none delete Leaving a0", goes},
		},
		{
			name: "leave, lingering", why: "B2, B4: neither run nor keep, so it holds no place either",
			spec: []kit.SpecOption{kit.MaxSurge("1"), kit.TemplateNodeSelector("pool", "x"), kit.MinReadySeconds(60)},
			fleet: []spot{
				on("a", oldPod(), newPod(kit.Unready())), on("z", oldPod(readyFor(time.Second))).with(kit.Label("pool", "x")),
			},
			acts: "delete a1 Leaving, create z Outdated",
			want: []string{"a: leaving>none delete Leaving a1 desired", "z: outdated>update surge Outdated S"},
		},
		{
			name: "ineligible", why: "B2: neither run nor keep",
			fleet: []spot{on("a").leave(), z()},
			acts:  "delete z0 Outdated",
			want:  []string{"a: ineligible>none none Ineligible", goes},
		},
	}
}

func TestBudgetB3MaxUnavailable(t *testing.T) { playScenes(t, maxUnavailableScenes()) }

func maxUnavailableScenes() []scene {
	broken := newPod(kit.Unready())
	return []scene{
		{
			name: "nothing spent", why: "B3: within maxUnavailable, the last name first (B6)",
			fleet: []spot{on("a", oldPod()), on("b", oldPod()), on("c", oldPod())},
			acts:  "delete c0 Outdated",
			want: []string{
				"a: outdated>update wait Budget a0 maxUnavailable", "b: outdated>update wait Budget b0 maxUnavailable",
				"c: outdated>update replace Outdated c0 U",
			},
			spent: "unavailable 1 of 1, surging 0 of 0, waiting 2",
		},
		{
			name: "one below the limit", why: "B3: there is room for exactly one",
			spec:  []kit.SpecOption{kit.MaxUnavailable("2")},
			fleet: []spot{on("a", oldPod()), on("b", oldPod()), on("c", broken)},
			acts:  "delete b0 Outdated",
			want: []string{
				"a: outdated>update wait Budget a0 maxUnavailable", "b: outdated>update replace Outdated b0 U",
				"c: starting>update wait NotReady c0 U",
			},
			spent: "unavailable 2 of 2, surging 0 of 0, waiting 1",
		},
		{
			name: "at the limit", why: "B3: there is room for none",
			spec:  []kit.SpecOption{kit.MaxUnavailable("2")},
			fleet: []spot{on("a", oldPod()), on("b", broken), on("c", broken)},
			want: []string{
				"a: outdated>update wait Budget a0 maxUnavailable",
				"b: starting>update wait NotReady b0 U", "c: starting>update wait NotReady c0 U",
			},
			spent: "unavailable 2 of 2, surging 0 of 0, waiting 1",
		},
		{
			name: "above the limit", why: "B3: the budget does not go below nothing",
			fleet: []spot{on("a", oldPod()), on("b", broken), on("c", broken)},
			want: []string{
				"a: outdated>update wait Budget a0 maxUnavailable",
				"b: starting>update wait NotReady b0 U", "c: starting>update wait NotReady c0 U",
			},
			spent: "unavailable 2 of 1, surging 0 of 0, waiting 1",
		},
		{
			name: "percent", why: "B1: 34 % of 3 are 1.02 nodes, rounded up to 2",
			spec:  []kit.SpecOption{kit.MaxUnavailable("34%")},
			fleet: []spot{on("a", oldPod()), on("b", oldPod()), on("c", oldPod())},
			acts:  "delete c0 Outdated, delete b0 Outdated",
			want: []string{
				"a: outdated>update wait Budget a0 maxUnavailable", "b: outdated>update replace Outdated b0 U",
				"c: outdated>update replace Outdated c0 U",
			},
			spent: "unavailable 2 of 2, surging 0 of 0, waiting 1",
		},
		{
			name: "percent of run nodes", why: "B1: desired is the number of run nodes, keep and leave nodes are not among them",
			spec:  []kit.SpecOption{kit.MaxUnavailable("50%")},
			fleet: []spot{on("a", oldPod()), on("b", oldPod()), on("c", oldPod()).keep(), on("d").leave()},
			acts:  "delete b0 Outdated",
			want: []string{
				"a: outdated>update wait Budget a0 maxUnavailable", "b: outdated>update replace Outdated b0 U",
				"c: kept>none none Kept", "d: ineligible>none none Ineligible",
			},
			spent: "unavailable 1 of 1, surging 0 of 0, waiting 1",
		},
		{
			name: "not ready in full", why: "B3: outdated pods that are not Ready are replaced at once, beyond any budget",
			fleet: []spot{
				on("a", oldPod(kit.Unready())), on("b", oldPod(kit.Unready())), on("c", broken), on("d", oldPod(kit.Pending())),
			},
			acts: "delete d0 OutdatedNotReady, delete b0 OutdatedNotReady, delete a0 OutdatedNotReady",
			want: []string{
				"a: outdated>update replace OutdatedNotReady a0 U", "b: outdated>update replace OutdatedNotReady b0 U",
				"c: starting>update wait NotReady c0 U", "d: outdated>update replace OutdatedNotReady d0 U",
			},
			spent: "unavailable 4 of 1, surging 0 of 0, waiting 0",
		},
		{
			name: "not ready beside failed in back-off", why: "B3: it disturbs nobody, whatever else is on the node",
			fleet:    []spot{on("a", oldPod(kit.Unready()), newPod(kit.Failed()))},
			backoffs: []rollout.Backoff{{Node: "a", Revision: "update", Delay: time.Second, Since: ago(0)}},
			acts:     "delete a0 OutdatedNotReady",
			want:     []string{"a: outdated>update replace OutdatedNotReady a0 backoff U"},
			spent:    "unavailable 1 of 1, surging 0 of 0, waiting 0",
		},
		{
			name: "ready beside failed in back-off", why: "B3, M1: none could follow the Ready pod while the Failed one is there",
			fleet:    []spot{on("a", oldPod(), newPod(kit.Failed()))},
			backoffs: []rollout.Backoff{{Node: "a", Revision: "update", Delay: time.Second, Since: ago(0)}},
			want:     []string{"a: outdated>update wait Backoff a1 backoff until=+1s"},
			spent:    "unavailable 0 of 1, surging 0 of 0, waiting 0",
		},
		{
			name: "large budget", why: "B3: no more than there is to replace",
			spec:  []kit.SpecOption{kit.MaxUnavailable("2147483647")},
			fleet: []spot{on("a", oldPod()), on("b", oldPod())},
			acts:  "delete b0 Outdated, delete a0 Outdated",
			want: []string{
				"a: outdated>update replace Outdated a0 U", "b: outdated>update replace Outdated b0 U",
			},
			spent: "unavailable 2 of 2147483647, surging 0 of 0, waiting 0",
		},
		{
			name: "paused", why: "T4: no node is begun, not even one whose pod is not Ready",
			spec:  []kit.SpecOption{kit.Paused()},
			fleet: []spot{on("a", oldPod(kit.Unready())), on("b", oldPod())},
			want:  []string{"a: outdated>held hold Held a0 paused U", "b: outdated>held hold Held b0 paused"},
			spent: "unavailable 1 of 1, surging 0 of 0, waiting 0",
		},
		{
			name: "frozen", why: "T4: frozen is stricter than paused, and is named",
			spec:  []kit.SpecOption{kit.Paused(), kit.Frozen()},
			fleet: []spot{on("a", oldPod())},
			want:  []string{"a: outdated>held hold Held a0 frozen"},
			spent: "unavailable 0 of 1, surging 0 of 0, waiting 0",
		},
		{
			name: "OnDelete", why: "T5: all are held",
			spec:  []kit.SpecOption{kit.OnDelete()},
			fleet: []spot{on("a", oldPod(kit.Unready())), on("b", oldPod()), on("c", newPod())},
			want: []string{
				"a: outdated>held hold Held a0 onDelete U", "b: outdated>held hold Held b0 onDelete",
				"c: updated>update none UpToDate",
			},
			spent: "unavailable 1 of 0, surging 0 of 0, waiting 0",
		},
		{
			name: "OnDelete and paused", why: "T4 before T5: lifting the pause alone is not enough, but is named first",
			spec:  []kit.SpecOption{kit.OnDelete(), kit.Paused()},
			fleet: []spot{on("a", oldPod())},
			want:  []string{"a: outdated>held hold Held a0 paused"},
		},
		{
			name: "one other pod is failed", why: "M2, B3: the Failed one goes as repair, the Ready one within the budget",
			fleet: []spot{on("a", oldPod(), oldPod(kit.Failed())), on("b", oldPod())},
			acts:  "delete a1 OutdatedFailed, delete b0 Outdated",
			want: []string{
				"a: outdated>update delete OutdatedFailed a1 maxUnavailable", "b: outdated>update replace Outdated b0 U",
			},
			spent: "unavailable 1 of 1, surging 0 of 0, waiting 1",
		},
		{
			name: "candidate with a terminating pod", why: "B3: a pod on its way out does not keep the other from being replaced",
			fleet: []spot{on("a", oldPod(), oldPod(terminating()))},
			acts:  "delete a0 Outdated",
			want:  []string{"a: outdated>update replace Outdated a0 U"},
			spent: "unavailable 1 of 1, surging 0 of 0, waiting 0",
		},
	}
}

func TestBudgetB4MaxSurge(t *testing.T) { playScenes(t, maxSurgeScenes()) }

func maxSurgeScenes() []scene {
	surge := func(quantity string, options ...kit.SpecOption) []kit.SpecOption {
		return append([]kit.SpecOption{kit.MaxSurge(quantity)}, options...)
	}
	begun := []podOf{oldPod(), newPod(kit.Unready())}
	return []scene{
		{
			name: "nothing spent", why: "B4: a new pod beside the old one; the last name first (B6)",
			spec:  surge("1"),
			fleet: []spot{on("a", oldPod()), on("b", oldPod())},
			acts:  "create b Outdated",
			want:  []string{"a: outdated>update wait Budget a0 maxSurge", "b: outdated>update surge Outdated S"},
			spent: "unavailable 0 of 0, surging 1 of 1, waiting 1",
		},
		{
			name: "one below the limit", why: "B4: there is room for exactly one",
			spec:  surge("2"),
			fleet: []spot{on("a", oldPod()), on("b", oldPod()), on("c", begun...)},
			acts:  "create b Outdated",
			want: []string{
				"a: outdated>update wait Budget a0 maxSurge", "b: outdated>update surge Outdated S",
				"c: surging>update wait NotReady c1 S",
			},
			spent: "unavailable 0 of 0, surging 2 of 2, waiting 1",
		},
		{
			name: "at the limit", why: "B4: there is room for none",
			spec:  surge("1"),
			fleet: []spot{on("a", oldPod()), on("c", begun...)},
			want:  []string{"a: outdated>update wait Budget a0 maxSurge", "c: surging>update wait NotReady c1 S"},
			spent: "unavailable 0 of 0, surging 1 of 1, waiting 1",
		},
		{
			name: "above the limit", why: "B4: the budget does not go below nothing",
			spec:  surge("1"),
			fleet: []spot{on("a", oldPod()), on("b", begun...), on("c", begun...)},
			want: []string{
				"a: outdated>update wait Budget a0 maxSurge",
				"b: surging>update wait NotReady b1 S", "c: surging>update wait NotReady c1 S",
			},
			spent: "unavailable 0 of 0, surging 2 of 1, waiting 1",
		},
		{
			name: "percent", why: "B1: 1 % of 2 is rounded up to 1",
			spec:  surge("1%"),
			fleet: []spot{on("a", oldPod()), on("b", oldPod())},
			acts:  "create b Outdated",
			want:  []string{"a: outdated>update wait Budget a0 maxSurge", "b: outdated>update surge Outdated S"},
			spent: "unavailable 0 of 0, surging 1 of 1, waiting 1",
		},
		{
			name: "not ready in full", why: "B4: a node whose outdated pod is not Ready gets its new pod at once, and holds a place from then on",
			spec:  surge("1"),
			fleet: []spot{on("a", oldPod(kit.Unready())), on("b", oldPod(kit.Unready())), on("c", oldPod()), on("d", oldPod())},
			acts:  "create b OutdatedNotReady, create a OutdatedNotReady",
			want: []string{
				"a: outdated>update surge OutdatedNotReady U S", "b: outdated>update surge OutdatedNotReady U S",
				"c: outdated>update wait Budget c0 maxSurge", "d: outdated>update wait Budget d0 maxSurge",
			},
			spent: "unavailable 2 of 0, surging 2 of 1, waiting 2",
		},
		{
			name: "missing", why: "B4, M7: the pod that repair creates is of the update revision and not available",
			spec:  surge("1"),
			fleet: []spot{on("a"), on("b", oldPod())},
			acts:  "create a Missing",
			want:  []string{"a: missing>update create Missing U S", "b: outdated>update wait Budget b0 maxSurge"},
			spent: "unavailable 1 of 0, surging 1 of 1, waiting 1",
		},
		{
			name: "beside terminating", why: "B4, M7: as for a missing pod",
			spec:  surge("1"),
			fleet: []spot{on("a", newPod(terminating())), on("b", oldPod())},
			acts:  "create a BesideTerminating",
			want: []string{
				"a: terminating>update create BesideTerminating U S", "b: outdated>update wait Budget b0 maxSurge",
			},
			spent: "unavailable 1 of 0, surging 1 of 1, waiting 1",
		},
		{
			name: "terminating new pod", why: "B4: a marked pod holds no place",
			spec:  surge("1"),
			fleet: []spot{on("a", newPod(), newPod(terminating())), on("b", oldPod())},
			acts:  "create b Outdated",
			want:  []string{"a: updated>update none UpToDate", "b: outdated>update surge Outdated S"},
		},
		{
			name: "new pod available", why: "B4: the old pod goes, the place is free",
			spec:  surge("1"),
			fleet: []spot{on("a", oldPod(), newPod()), on("b", oldPod())},
			acts:  "delete a0 Superseded, create b Outdated",
			want:  []string{"a: surging>update delete Superseded a0", "b: outdated>update surge Outdated S"},
			spent: "unavailable 0 of 0, surging 1 of 1, waiting 0",
		},
		{
			name: "new pod ready", why: "B4, B5: the place is held until the new pod is available",
			spec:  surge("1", kit.MinReadySeconds(60)),
			fleet: []spot{on("a", oldPod(), newPod(readyFor(59*time.Second))), on("b", oldPod())},
			want: []string{
				"a: surging>update wait MinReadySeconds a1 minReadySeconds until=+1s S",
				"b: outdated>update wait Budget b0 maxSurge",
			},
			spent: "unavailable 0 of 0, surging 1 of 1, waiting 1",
		},
		{
			name: "new pod failed", why: "B4: Failed included; the node holds its place and gets no second",
			spec:     surge("1"),
			fleet:    []spot{on("a", oldPod(), newPod(kit.Failed())), on("b", oldPod())},
			backoffs: []rollout.Backoff{{Node: "a", Revision: "update", Delay: time.Second, Since: ago(0)}},
			want: []string{
				"a: outdated>update wait Backoff a1 backoff until=+1s S", "b: outdated>update wait Budget b0 maxSurge",
			},
			spent: "unavailable 0 of 0, surging 1 of 1, waiting 1",
		},
		{
			name: "new pod failed beside available", why: "B4: Failed included, whatever else is there",
			spec:     surge("1"),
			fleet:    []spot{on("a", newPod(), newPod(kit.Failed())), on("b", oldPod())},
			backoffs: []rollout.Backoff{{Node: "a", Revision: "update", Delay: time.Second, Since: ago(0)}},
			want:     []string{"a: updated>update wait Backoff a1 backoff until=+1s S", "b: outdated>update wait Budget b0 maxSurge"},
			spent:    "unavailable 0 of 0, surging 1 of 1, waiting 1",
		},
		{
			name: "new pod failed and deleted", why: "M1, M7: the place is free, but the node waits until the Failed pod is gone",
			spec:  surge("1"),
			fleet: []spot{on("a", oldPod(), newPod(kit.Failed())), on("b", oldPod())},
			acts:  "delete a1 Failed, create b Outdated",
			want:  []string{"a: outdated>update delete Failed a1", "b: outdated>update surge Outdated S"},
			spent: "unavailable 0 of 0, surging 1 of 1, waiting 0",
		},
		{
			name: "old pod failed beside old pod", why: "M1: surge creates nothing beside a Failed pod",
			spec:  surge("1"),
			fleet: []spot{on("a", oldPod(), oldPod(kit.Failed()))},
			acts:  "delete a1 OutdatedFailed",
			want:  []string{"a: outdated>update delete OutdatedFailed a1"},
			spent: "unavailable 0 of 0, surging 0 of 1, waiting 0",
		},
		{
			name: "keep, updated and not bound", why: "B4, B2: it never ran, and holds no place",
			spec:  surge("1"),
			fleet: []spot{on("a", pinned(newPod(kit.Pending()))).keep(), on("b", oldPod())},
			acts:  "create b Outdated",
			want:  []string{"a: kept>none none Kept", "b: outdated>update surge Outdated S"},
			spent: "unavailable 0 of 0, surging 1 of 1, waiting 0",
		},
		{
			name: "not bound on a run node", why: "B4: it will be bound, so it holds a place",
			spec:  surge("1"),
			fleet: []spot{on("a", pinned(newPod(kit.Pending()))), on("b", oldPod())},
			want:  []string{"a: starting>update wait NotReady a0 U S", "b: outdated>update wait Budget b0 maxSurge"},
			spent: "unavailable 1 of 0, surging 1 of 1, waiting 1",
		},
		{
			name: "keep, updated and broken", why: "B4: run or keep: it holds a place",
			spec:  surge("1"),
			fleet: []spot{on("a", newPod(kit.Unready())).keep(), on("b", oldPod())},
			want:  []string{"a: kept>none none Kept U S", "b: outdated>update wait Budget b0 maxSurge"},
			spent: "unavailable 1 of 0, surging 1 of 1, waiting 1",
		},
		{
			name: "create in flight", why: "B4: requests count as done",
			spec:      surge("1"),
			fleet:     []spot{on("a", oldPod()), on("b", oldPod())},
			requested: []string{"a"},
			want:      []string{"a: surging>update wait Requested S", "b: outdated>update wait Budget b0 maxSurge"},
			spent:     "unavailable 0 of 0, surging 1 of 1, waiting 1",
		},
		{
			name: "old create in flight", why: "the node has no pod that could be updated yet, and it holds no place",
			spec:      surge("1"),
			fleet:     []spot{on("a"), on("b", oldPod())},
			requested: []string{"a@old"},
			acts:      "create b Outdated",
			want:      []string{"a: outdated>update wait Requested U", "b: outdated>update surge Outdated S"},
		},
		{
			name: "paused", why: "T4: begun nodes finish, no other is begun",
			spec:  surge("2", kit.Paused()),
			fleet: []spot{on("a", oldPod()), on("b", begun...), on("c", oldPod(), newPod())},
			acts:  "delete c0 Superseded",
			want: []string{
				"a: outdated>held hold Held a0 paused", "b: surging>update wait NotReady b1 S",
				"c: surging>update delete Superseded c0",
			},
			spent: "unavailable 0 of 0, surging 1 of 2, waiting 0",
		},
	}
}

// TestBudgetB6Order: those whose pod is not Ready come first, then the others, each group by descending name.
func TestBudgetB6Order(t *testing.T) { playScenes(t, orderScenes()) }

func orderScenes() []scene {
	return []scene{
		{
			name: "descending by name", why: "B6: of equal nodes the last name comes first, whatever the order of the snapshot",
			spec:  []kit.SpecOption{kit.MaxUnavailable("2")},
			fleet: []spot{on("c", oldPod()), on("a", oldPod()), on("d", oldPod()), on("b", oldPod())},
			acts:  "delete d0 Outdated, delete c0 Outdated",
			want: []string{
				"a: outdated>update wait Budget a0 maxUnavailable", "b: outdated>update wait Budget b0 maxUnavailable",
				"c: outdated>update replace Outdated c0 U", "d: outdated>update replace Outdated d0 U",
			},
			spent: "unavailable 2 of 2, surging 0 of 0, waiting 2",
		},
		{
			name: "not ready first", why: "B6: not Ready first, then by descending name; B3: both count once",
			spec:  []kit.SpecOption{kit.MaxUnavailable("2")},
			fleet: []spot{on("a", oldPod(kit.Unready())), on("b", oldPod()), on("c", oldPod())},
			acts:  "delete a0 OutdatedNotReady, delete c0 Outdated",
			want: []string{
				"a: outdated>update replace OutdatedNotReady a0 U", "b: outdated>update wait Budget b0 maxUnavailable",
				"c: outdated>update replace Outdated c0 U",
			},
			spent: "unavailable 2 of 2, surging 0 of 0, waiting 1",
		},
		{
			name: "not ready first, with surge", why: "B4, B6: those that are not Ready come first, the others take what is left",
			spec:  []kit.SpecOption{kit.MaxSurge("2")},
			fleet: []spot{on("a", oldPod(kit.Unready())), on("b", oldPod()), on("c", oldPod())},
			acts:  "create a OutdatedNotReady, create c Outdated",
			want: []string{
				"a: outdated>update surge OutdatedNotReady U S", "b: outdated>update wait Budget b0 maxSurge",
				"c: outdated>update surge Outdated S",
			},
			spent: "unavailable 1 of 0, surging 2 of 2, waiting 1",
		},
		{
			name: "several not ready", why: "B6: those that are not Ready by descending name, too, before all that are",
			spec:  []kit.SpecOption{kit.MaxUnavailable("3")},
			fleet: []spot{on("a", oldPod(kit.Unready())), on("b", oldPod(kit.Unready())), on("c", oldPod())},
			acts:  "delete b0 OutdatedNotReady, delete a0 OutdatedNotReady, delete c0 Outdated",
			want: []string{
				"a: outdated>update replace OutdatedNotReady a0 U", "b: outdated>update replace OutdatedNotReady b0 U",
				"c: outdated>update replace Outdated c0 U",
			},
			spent: "unavailable 3 of 3, surging 0 of 0, waiting 0",
		},
	}
}

func TestBudgetM6Burst(t *testing.T) { playScenes(t, burstScenes()) }

func burstScenes() []scene {
	burst := func(quantity string, options ...kit.SpecOption) []kit.SpecOption {
		return append([]kit.SpecOption{kit.Burst(quantity)}, options...)
	}
	three := []spot{on("a"), on("b"), on("c")}
	const (
		createA, createB, createC = "a: missing>update create Missing U",
			"b: missing>update create Missing U", "c: missing>update create Missing U"
		waitB, waitC = "b: missing>update wait Burst burst U", "c: missing>update wait Burst burst U"
	)
	one := scene{acts: "create a Missing", want: []string{createA, waitB, waitC}}
	two := scene{acts: "create a Missing, create b Missing", want: []string{createA, createB, waitC}}
	all := scene{acts: "create a Missing, create b Missing, create c Missing", want: []string{createA, createB, createC}}
	creates := func(expect scene, quantity, name, why string) scene {
		expect.name, expect.why, expect.spec, expect.fleet = name, why, burst(quantity), three
		return expect
	}
	return []scene{
		creates(one, "1", "one", "M6: at most burst creates"),
		creates(two, "2", "one below", "M6: one short of what is due"),
		creates(all, "3", "at", "M6: exactly what is due"),
		creates(all, "4", "above", "M6: more than is due"),
		creates(one, "1%", "percent", "M6: 0.03 of a node is rounded down, but to no less than 1"),
		creates(one, "0%", "0 percent", "M6: no less than 1"),
		creates(one, "66%", "percent just below", "M6: 1.98 nodes are rounded down to 1"),
		creates(two, "67%", "percent just above", "M6: 2.01 nodes are rounded down to 2"),
		creates(all, "100%", "all", "M6: 100 percent are all of desired"),
		creates(all, "2147483647%", "percent beyond all", "M6: no overflow"),
		{
			name: "deletes", why: "M6: as many deletes, repair first, then updates",
			spec: burst("2", kit.MaxUnavailable("3")),
			fleet: []spot{
				on("a", oldPod()), on("b", newPod(), newPod()), on("c", oldPod(kit.Unready())), on("d", newPod(), newPod()),
			},
			acts: "delete b1 Surplus, delete d1 Surplus",
			want: []string{
				"a: outdated>update wait Burst a0 burst", "b: updated>update delete Surplus b1",
				"c: outdated>update wait Burst c0 burst U", "d: updated>update delete Surplus d1",
			},
			spent: "unavailable 1 of 3, surging 0 of 0, waiting 2",
		},
		{
			name: "creates and deletes", why: "M6: each has its own count",
			spec:  burst("1"),
			fleet: []spot{on("a"), on("b", newPod(), newPod()), on("c")},
			acts:  "delete b1 Surplus, create a Missing",
			want: []string{
				"a: missing>update create Missing U", "b: updated>update delete Surplus b1",
				"c: missing>update wait Burst burst U",
			},
		},
		{
			name: "surge", why: "M6, M7: missing pods before those of an update",
			spec:  burst("1", kit.MaxSurge("3")),
			fleet: []spot{on("a"), on("b", oldPod(kit.Unready())), on("c", oldPod())},
			acts:  "create a Missing",
			want: []string{
				"a: missing>update create Missing U S", "b: outdated>update wait Burst burst U",
				"c: outdated>update wait Burst burst",
			},
			spent: "unavailable 2 of 0, surging 1 of 3, waiting 2",
		},
		{
			name: "surge beside surplus", why: "V3: a new pod beside two old ones waits until the surplus one may be deleted",
			spec:  burst("1", kit.MaxSurge("1")),
			fleet: []spot{on("a", newPod(), newPod()), on("b", oldPod(), oldPod())},
			acts:  "delete a1 Surplus",
			want:  []string{"a: updated>update delete Surplus a1", "b: outdated>update wait Burst b1 burst"},
			spent: "unavailable 0 of 0, surging 0 of 1, waiting 0",
		},
		{
			name: "ready beside surplus", why: "B3, M1: none could follow the Ready pod while the surplus one is there",
			spec:  burst("1"),
			fleet: []spot{on("a", newPod(), newPod()), on("b", oldPod(), oldPod())},
			acts:  "delete a1 Surplus",
			want:  []string{"a: updated>update delete Surplus a1", "b: outdated>update wait Burst b1 burst"},
			spent: "unavailable 0 of 1, surging 0 of 0, waiting 0",
		},
		{
			name: "begun node", why: "M3, M6: its old pod waits as a repair; the node is no candidate any more",
			spec:  burst("1"),
			fleet: []spot{on("a", newPod(), newPod()), on("b", oldPod(kit.Unready()), newPod(kit.Unready()))},
			acts:  "delete a1 Surplus",
			want:  []string{"a: updated>update delete Surplus a1", "b: surging>update wait Burst b0 burst U"},
			spent: "unavailable 1 of 1, surging 0 of 0, waiting 0",
		},
		{
			name: "strays", why: "M5, M6: pods without a node are repair too: after the nodes' repair, before updates",
			spec: burst("2"),
			fleet: []spot{
				on("a", oldPod()), on("b", newPod(), newPod()),
				gone("x", pinned(newPod(kit.Pending()))), gone("y", pinned(newPod(kit.Pending()))),
			},
			acts: "delete b1 Surplus, delete x0 NodeGone",
			want: []string{
				"a: outdated>update wait Burst a0 burst", "b: updated>update delete Surplus b1",
				"x: vanished>none delete NodeGone x0", "y: vanished>none wait Burst y0 burst",
			},
			spent: "unavailable 0 of 1, surging 0 of 0, waiting 1",
		},
		{
			name: "leave", why: "M4, M6: what does not fit waits, and is still there",
			spec:  burst("1"),
			fleet: []spot{on("a", newPod(), oldPod()).leave(), on("b", newPod()).leave()},
			acts:  "delete a0 Leaving",
			want:  []string{"a: leaving>none delete Leaving a0 burst", "b: leaving>none wait Burst b0 burst"},
		},
		{
			name: "superseded", why: "M6: the old pod goes on serving until it may be deleted",
			spec:  burst("1"),
			fleet: []spot{on("a", oldPod(), newPod()), on("b", oldPod(), newPod())},
			acts:  "delete a0 Superseded",
			want:  []string{"a: surging>update delete Superseded a0", "b: surging>update wait Burst b0 burst"},
		},
		{
			name: "failed", why: "M2, M6: a deletion that does not fit begins no back-off",
			spec:  burst("1"),
			fleet: []spot{on("a", newPod(kit.Failed())), on("b", newPod(kit.Failed()))},
			acts:  "delete a0 Failed",
			want:  []string{"a: broken>update delete Failed a0 U", "b: broken>update wait Burst b0 burst U"},
		},
	}
}

// A deletion that did not fit into the plan must not be paid for with a back-off.
func TestBurstBeginsNoBackoff(t *testing.T) {
	l := newLab(kit.Burst("1")).add(on("a", newPod(kit.Failed())), on("b", newPod(kit.Failed())))
	plan := l.plan(t)
	if got := plan.Memory.Backoffs; len(got) != 1 || got[0].Node != "a" {
		t.Errorf("back-offs %+v, want one for node a alone", got)
	}
}

// Plan.BudgetUsers names the first five nodes that use up what others wait for.
func TestBudgetUsers(t *testing.T) {
	fleet := func(nodes string, pods ...podOf) []spot {
		var spots []spot
		for _, n := range nodes {
			spots = append(spots, on(string(n), pods...))
		}
		return spots
	}
	begun := []podOf{oldPod(), newPod(kit.Unready())}
	tests := []struct {
		name, why string
		spec      []kit.SpecOption
		fleet     []spot
		want      []string
	}{
		{"nobody waits", "nil while no node is waiting for the budget", nil, fleet("bcd", newPod(kit.Unready())), nil},
		{"one", "B3: the node that was just admitted", nil, fleet("ab", oldPod()), []string{"b"}},
		{"five", "five are all named", []kit.SpecOption{kit.MaxUnavailable("2")},
			append(fleet("bcdef"), on("z", oldPod())), []string{"b", "c", "d", "e", "f"}},
		{"six", "the first five of more", []kit.SpecOption{kit.MaxUnavailable("2")},
			append(fleet("bcdefg"), on("z", oldPod())), []string{"b", "c", "d", "e", "f"}},
		{"surge", "B4: with surge those that hold places, not those that are unavailable", []kit.SpecOption{kit.MaxSurge("1")},
			append(fleet("b", begun...), on("a", newPod(kit.Failed())), on("z", oldPod())), []string{"b"}},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, newLab(tt.spec...).add(tt.fleet...).plan(t).BudgetUsers); diff != "" {
				t.Errorf("-want +got:\n%s why: %s", diff, tt.why)
			}
		})
	}
}

func TestBudgetFigures(t *testing.T) {
	l := newLab(kit.MaxSurge("50%"), kit.Burst("40%")).add(
		on("a", oldPod()), on("b", oldPod(), newPod(kit.Unready())), on("c", newPod()), on("d", newPod(kit.Unready())),
		on("e", newPod()), on("f", newPod()).keep(), on("g", newPod()).leave())
	want := rollout.Budget{
		Desired: 5, MaxUnavailable: 0, Unavailable: 1, MaxSurge: 3, Surging: 3, Burst: 2, Waiting: 0,
	}
	if diff := cmp.Diff(want, l.plan(t).Budget); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestBatchesM6(t *testing.T) {
	rows := uniqueRows{}
	for _, tt := range []struct {
		name, why string
		creates   int
		want      []int
	}{
		{"none", "no batch is empty", 0, nil},
		{"one", "the first batch tries a single create", 1, []int{1}},
		{"two", "the second may hold two, and holds what is left", 2, []int{1, 1}},
		{"three", "1 + 2", 3, []int{1, 2}},
		{"four", "1 + 2 + what is left of 4", 4, []int{1, 2, 1}},
		{"seven", "1 + 2 + 4", 7, []int{1, 2, 4}},
		{"eight", "1 + 2 + 4 + what is left of 8", 8, []int{1, 2, 4, 1}},
	} {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			var plan rollout.Plan
			for i := range tt.creates {
				plan.Creates = append(plan.Creates, rollout.Create{Node: fmt.Sprint(i)})
			}
			var sizes []int
			var joined []rollout.Create
			for _, batch := range plan.Batches() {
				sizes = append(sizes, len(batch))
				joined = append(joined, batch...)
				if cap(batch) != len(batch) {
					t.Errorf("batch %v has room for %d more: appending to it would overwrite the next", batch, cap(batch)-len(batch))
				}
			}
			if diff := cmp.Diff(tt.want, sizes); diff != "" {
				t.Errorf("sizes, -want +got:\n%s why: %s", diff, tt.why)
			}
			if diff := cmp.Diff(plan.Creates, joined); diff != "" {
				t.Errorf("the batches are not the creates in their order:\n%s", diff)
			}
		})
	}
}
