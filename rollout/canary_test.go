package rollout_test

import (
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

// tryingOn is the memory of a canary of the update revision on these nodes, which began half an hour ago and whose clock has
// run for a minute.
func tryingOn(nodes ...string) func(*lab) {
	return func(l *lab) {
		l.snapshot.Memory.Version = rollout.MemoryVersion
		l.snapshot.Memory.Canary = canary.Record{
			Revision: l.update, Began: ago(30 * time.Minute), Nodes: nodes, Since: ago(time.Minute),
		}
	}
}

// sinceThen is tryingOn with a clock that began to run that long ago.
func sinceThen(d time.Duration, nodes ...string) func(*lab) {
	return func(l *lab) {
		tryingOn(nodes...)(l)
		l.snapshot.Memory.Canary.Since = ago(d)
	}
}

func sinceThenRecord(l *lab, d time.Duration, nodes ...string) canary.Record {
	sinceThen(d, nodes...)(l)
	return l.snapshot.Memory.Canary
}

// paused is tryingOn with an automatic pause.
func paused(nodes ...string) func(*lab) {
	return func(l *lab) {
		tryingOn(nodes...)(l)
		l.snapshot.Memory.Canary.Since = time.Time{}
		l.snapshot.Memory.Canary.Pause = &canary.Finding{Phase: canary.Paused, Reason: canary.TooManyRestarts, At: ago(time.Minute)}
	}
}

func all(sets ...func(*lab)) func(*lab) {
	return func(l *lab) {
		for _, set := range sets {
			set(l)
		}
	}
}

// withMark gives the revision "update" or "old" a mark.
func withMark(revision, key, value string) func(*lab) {
	return func(l *lab) {
		for i, object := range l.snapshot.Revisions {
			if history.HashOf(object) == l.hash(revision) {
				l.snapshot.Revisions[i] = kit.Marked(object, map[string]string{key: value})
			}
		}
	}
}

func failedRevision(l *lab) {
	withMark("update", history.FailedAnnotation, canary.TimedOut.String())(l)
}

// trialPod is a pod of the update revision with the canary label.
func trialPod(options ...kit.PodOption) podOf {
	return newPod(append(options, kit.PodLabel(rollout.CanaryLabel, "true"))...)
}

func TestCanary(t *testing.T) { playScenes(t, canaryScenes()) }

func canaryScenes() []scene {
	one := []kit.SpecOption{kit.Canary("1")}
	begins := "a: outdated>update replace Outdated a0 U C"
	stays := func(node string) string { return node + ": stable>stable none Stable" }
	tried := "a: updated>update none UpToDate C"
	return []scene{
		{
			name: "begins on one node", why: "C1, T6: all others stay stable", spec: one,
			fleet: []spot{on("a", oldPod()), on("b", oldPod()), on("c", oldPod())},
			acts:  "delete a0 Outdated",
			want:  []string{begins, stays("b"), stays("c")},
		},
		{
			name: "a lost pod elsewhere", why: "T6: it comes back at the stable revision", spec: one, set: tryingOn("a"),
			fleet: []spot{on("a", trialPod()), on("b"), on("c", oldPod())},
			acts:  "create b Missing at old",
			want:  []string{tried, "b: missing>stable create Missing U", stays("c")},
		},
		{
			name: "a lost pod on the canary node", why: "T6: it comes back at the update revision", spec: one, set: tryingOn("a"),
			fleet: []spot{on("a"), on("b", oldPod())},
			acts:  "create a Missing",
			want:  []string{"a: missing>update create Missing U C", stays("b")},
		},
		{
			name: "a node that has the update already", why: "T6: it keeps it, though it is none of the canary's", spec: one, set: tryingOn("a"),
			fleet: []spot{on("a", trialPod()), on("b", newPod()), on("c", oldPod())},
			want:  []string{tried, "b: updated>update none UpToDate", stays("c")},
		},
		{
			name: "a failed pod of the update elsewhere", why: "T6, M2: it is not live, so its node goes stable, at once", spec: one, set: tryingOn("a"),
			fleet: []spot{on("a", trialPod()), on("b", newPod(kit.Failed())), on("c", oldPod())},
			acts:  "delete b0 OutdatedFailed",
			want:  []string{tried, "b: broken>stable replace OutdatedFailed b0 U", stays("c")},
		},
		{
			name: "a surplus pod", why: "T6, M3: of two stable ones one goes, as ever", spec: one, set: tryingOn("a"),
			fleet: []spot{on("a", trialPod()), on("b", oldPod(), oldPod())},
			acts:  "delete b1 Surplus",
			want:  []string{tried, "b: stable>stable delete Surplus b1"},
		},
		{
			name: "a pod of neither revision", why: "T6: it goes to the stable one, under the budgets", spec: one, set: tryingOn("a"),
			fleet: []spot{on("a", trialPod()), on("b", podAt("older")), on("c", oldPod())},
			acts:  "delete b0 Outdated",
			want:  []string{tried, "b: outdated>stable replace Outdated b0 U", stays("c")},
		},
		{
			name: "an update in flight elsewhere", why: "T6: what is requested counts as done", spec: one, set: tryingOn("a"), requested: []string{"b"},
			fleet: []spot{on("a", trialPod()), on("b"), on("c", oldPod())},
			want:  []string{tried, "b: starting>update wait Requested U", stays("c")},
		},
		{
			name: "a stable pod in flight", why: "T6: it is what the node should have", spec: one, set: tryingOn("a"), requested: []string{"b@old"},
			fleet: []spot{on("a", trialPod()), on("b")},
			want:  []string{tried, "b: starting>stable wait Requested U"},
		},
		{
			name: "the label", why: "it is put on the pods of the canary, and taken off others", spec: one, set: tryingOn("a"),
			fleet: []spot{on("a", newPod()), on("b", oldPod(kit.PodLabel(rollout.CanaryLabel, "true")))},
			acts:  "patch a0 CanaryLabel, patch b0 CanaryLabel",
			want:  []string{"a: updated>update patch CanaryLabel a0 C", "b: stable>stable patch CanaryLabel b0"},
		},
		{
			name: "promoted", why: "C2: at that very instant; C7: the rollout goes on with the next plan's candidates in this one",
			spec: one, set: sinceThen(10*time.Minute, "a"),
			fleet: []spot{on("a", trialPod()), on("b", oldPod()), on("c", oldPod())},
			acts:  "patch a0 CanaryLabel, delete c0 Outdated",
			want: []string{
				"a: updated>update patch CanaryLabel a0", "b: outdated>update wait Budget b0 maxUnavailable", "c: outdated>update replace Outdated c0 U",
			},
		},
		{
			name: "not yet promoted", why: "C2: a nanosecond is missing", spec: one, set: sinceThen(10*time.Minute-1, "a"),
			fleet: []spot{on("a", trialPod()), on("b", oldPod())},
			want:  []string{tried, stays("b")},
		},
		{
			name: "not available at the end", why: "C2: that must still be so", spec: one, set: sinceThen(time.Hour, "a"),
			fleet: []spot{on("a", trialPod(kit.Unready())), on("b", oldPod())},
			want:  []string{"a: starting>update wait NotReady a0 U C", stays("b")},
		},
		{
			name: "failed", why: "C4, C7: all nodes go back, within the budget, broken ones at once", spec: one, set: failedRevision,
			fleet: []spot{on("a", trialPod(kit.Unready())), on("b", newPod()), on("c", newPod()), on("d", oldPod()), on("e")},
			acts:  "delete a0 OutdatedNotReady, create e Missing at old",
			want: []string{
				"a: outdated>stable replace OutdatedNotReady a0 U", "b: outdated>stable wait Budget b0 maxUnavailable",
				"c: outdated>stable wait Budget c0 maxUnavailable", stays("d"), "e: missing>stable create Missing U",
			},
		},
		{
			name: "paused", why: "C7: it replaces nothing, and goes on nowhere", spec: one, set: paused("a"),
			fleet: []spot{on("a", oldPod()), on("b", oldPod())},
			want:  []string{"a: stable>stable none Stable C", stays("b")},
		},
		{
			name: "paused, a pod lost", why: "C7: it comes back at the stable revision", spec: one, set: paused("a"),
			fleet: []spot{on("a"), on("b", oldPod())},
			acts:  "create a Missing at old",
			want:  []string{"a: missing>stable create Missing U C", stays("b")},
		},
		{
			name: "the set is paused", why: "C7: that stops a canary, too", spec: append(one, kit.Paused()), set: tryingOn("a"),
			fleet: []spot{on("a"), on("b", oldPod())},
			acts:  "create a Missing at old",
			want:  []string{"a: missing>stable create Missing U C", stays("b")},
		},
		{
			name: "the set is frozen", why: "C7, T4: nothing is created, whatever is missing", spec: append(one, kit.Frozen()), set: tryingOn("a"),
			fleet: []spot{on("a"), on("b", oldPod())},
			want:  []string{"a: missing>stable wait Frozen frozen U C", stays("b")},
		},
		{
			name: "the revision was promoted before", why: "C6: a rollback needs no canary", spec: one,
			set: withMark("update", history.PromotedAnnotation, ""), fleet: []spot{on("a", oldPod()), on("b", oldPod())},
			acts: "delete b0 Outdated",
			want: []string{"a: outdated>update wait Budget a0 maxUnavailable", "b: outdated>update replace Outdated b0 U"},
		},
		{
			name: "no node fits", why: "C1: nothing is promoted, and the rest stays stable", spec: append(one, kit.CanaryOn("canary", "yes")),
			fleet: []spot{on("a", oldPod()), on("b", oldPod())},
			want:  []string{stays("a"), stays("b")},
		},
		{
			name: "failed, and nothing to go back to", why: "C7: pods are not replaced by others of the same revision for ever", spec: one,
			set: func(l *lab) {
				failedRevision(l)
				l.snapshot.Revisions = l.snapshot.Revisions[1:]
			},
			fleet: []spot{on("a", newPod()), on("b")}, acts: "create b Missing",
			want: []string{"a: updated>update none UpToDate", "b: missing>update create Missing U"},
		},
		{
			name: "failed, other pods, and nothing to go back to", why: "C7: what has failed goes nowhere", spec: one,
			set: func(l *lab) {
				failedRevision(l)
				l.snapshot.Revisions = l.snapshot.Revisions[1:]
			},
			fleet: []spot{on("a", newPod()), on("b", podAt("older"))},
			want:  []string{"a: updated>update none UpToDate", "b: outdated>held hold Held b0 canary"},
		},
		{
			name: "failed, and the stable revision cannot be read", why: "fail closed: nothing could follow the pod", spec: one,
			set: func(l *lab) {
				failedRevision(l)
				l.snapshot.Revisions[0].Data.Raw = []byte(`{"spec":{}}`)
			},
			fleet: []spot{on("a", newPod()), on("b", oldPod())},
			want:  []string{"a: outdated>stable wait RevisionUnreadable", stays("b")},
		},
		{
			name: "an in-flight patch of the label", why: "what was asked for is not asked for again", spec: one, set: tryingOn("a"), patching: []string{"a0"},
			fleet: []spot{on("a", newPod()), on("b", oldPod())},
			want:  []string{"a: updated>update none UpToDate U C", stays("b")},
		},
	}
}

// The stable revision's template says where its pods may be, so that a template that fits fewer nodes, or more, changes nothing
// outside the canary (T6).
func TestCanaryPlacement(t *testing.T) {
	onlyBig := func(s *rollout.Spec) { s.Template.Spec.NodeSelector = map[string]string{"size": "big"} }
	isBig := kit.Label("size", "big")
	stays := func(node string) string { return node + ": stable>stable none Stable" }
	tests := []struct {
		name, why       string
		old, now        func(*rollout.Spec)
		set             func(*lab)
		fleet           []spot
		acts            string
		want            []string
		desired, wanted int32
	}{
		{"fits fewer nodes", "the others keep their stable pods", nil, onlyBig, nil,
			[]spot{on("a", oldPod()), on("b", oldPod()).with(isBig), on("c", oldPod())}, "delete b0 Outdated",
			[]string{stays("a"), "b: outdated>update replace Outdated b0 U C", stays("c")}, 3, 1},
		{"fits no node", "the canary is stuck, and nothing else changes", nil, onlyBig, nil,
			[]spot{on("a", oldPod()), on("b", oldPod())}, "", []string{stays("a"), stays("b")}, 2, 1},
		{"fits more nodes", "those that the stable revision does not run on get nothing", onlyBig, nil, nil,
			[]spot{on("a", oldPod()).with(isBig), on("b"), on("c", oldPod()).with(isBig)}, "delete a0 Outdated",
			[]string{"a: outdated>update replace Outdated a0 U C", "b: ineligible>none none Ineligible", stays("c")}, 2, 1},
		{"fits more nodes, lost elsewhere", "T6", onlyBig, nil, tryingOn("a"),
			[]spot{on("a", newPod()).with(isBig), on("b"), on("c", oldPod()).with(isBig)}, "patch a0 CanaryLabel",
			[]string{"a: updated>update patch CanaryLabel a0 C", "b: ineligible>none none Ineligible", stays("c")}, 2, 1},
		{"failed", "C7: they are where the stable revision runs", nil, onlyBig, failedRevision,
			[]spot{on("a", oldPod()), on("b", newPod()).with(isBig), on("c")}, "delete b0 Outdated, create c Missing at old",
			[]string{stays("a"), "b: outdated>stable replace Outdated b0 U", "c: missing>stable create Missing U"}, 3, 1},
		{"cannot be read", "fail closed: no node is vacated", nil, onlyBig, func(l *lab) {
			withMark("old", history.PromotedAnnotation, "x")(l)
			l.snapshot.Revisions[0].Data.Raw = []byte(`{"spec":{}}`)
		}, []spot{on("a", oldPod()), on("b", newPod()).with(isBig)}, "patch b0 CanaryLabel",
			[]string{"a: kept>none none Kept", "b: updated>update patch CanaryLabel b0 C"}, 1, 1},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(kit.Canary("1"), kit.MaxUnavailable("100%"))
			old := l.spec.Default()
			kit.Image("agent:v1")(&old)
			if tt.old != nil {
				tt.old(&old)
			}
			if tt.now != nil {
				tt.now(&l.spec)
			}
			l.old, l.update = kit.Hash(old), kit.Hash(l.spec)
			l.snapshot.Revisions = []*appsv1.ControllerRevision{kit.Revision(old, 1), kit.Revision(l.spec, 2)}
			l.add(tt.fleet...)
			if tt.set != nil {
				tt.set(l)
			}
			plan := l.plan(t)
			compare(t, l, plan, tt.acts, tt.want, tt.why)
			if plan.Status.Desired != tt.desired || plan.Canary.Wanted != tt.wanted {
				t.Errorf("desired %d, canary nodes wanted %d; want %d, %d", plan.Status.Desired, plan.Canary.Wanted, tt.desired, tt.wanted)
			}
			if violations := rollout.Verify(l.spec, l.snapshot, plan); len(violations) > 0 {
				t.Errorf("Verify: %v", violations)
			}
		})
	}
}

func TestCanaryJoined(t *testing.T) { playScenes(t, canaryJoinedScenes()) }

// canaryJoinedScenes join a canary with what else holds nodes and spends budgets.
func canaryJoinedScenes() []scene {
	stays := func(node string) string { return node + ": stable>stable none Stable" }
	inPlace := []kit.SpecOption{kit.Canary("1"), kit.InPlace()}
	overridden := func(l *lab) {
		paused("a")(l)
		kit.ResourcesFor(l.spec, l.spec.Template.Spec.Containers[0].Name, `{"limits":{"cpu":"1"}}`)(l.snapshot.Nodes[0])
	}
	return []scene{
		{
			name: "partition 50%", why: "C7: the canary's nodes are the first to be updated, though the first by name are held",
			spec:  []kit.SpecOption{kit.Canary("1"), partition("50%")},
			fleet: []spot{on("a", oldPod()), on("b", oldPod())},
			acts:  "delete a0 Outdated",
			want:  []string{"a: outdated>update replace Outdated a0 U C", stays("b")},
		},
		{
			name: "partition 100%", why: "T2, V5: no node may be updated, not even for a canary",
			spec:  []kit.SpecOption{kit.Canary("1"), partition("100%")},
			fleet: []spot{on("a", oldPod()), on("b", oldPod())},
			want:  []string{"a: outdated>held hold Held a0 partition C", stays("b")},
		},
		{
			name: "selector", why: "C1: only nodes that the strategy lets go",
			spec:  []kit.SpecOption{kit.Canary("1"), nodeType("canary")},
			fleet: []spot{on("a", oldPod()), on("b", oldPod()).with(kit.Label("nodeType", "canary"))},
			acts:  "delete b0 Outdated",
			want:  []string{stays("a"), "b: outdated>update replace Outdated b0 U C"},
		},
		{
			name: "failed, with partition and selector", why: "C7: going back is past T2 and T3",
			spec: []kit.SpecOption{kit.Canary("1"), partition("100%"), nodeType("other")}, set: failedRevision,
			fleet: []spot{on("a", newPod()), on("b", oldPod())},
			acts:  "delete a0 Outdated",
			want:  []string{"a: outdated>stable replace Outdated a0 U", stays("b")},
		},
		{
			name: "failed, and one held before", why: "C7: nodes go back to the stable revision, not on to it past what the user holds",
			spec: []kit.SpecOption{kit.Canary("1"), nodeType("other")}, set: failedRevision,
			fleet: []spot{on("a", podAt("older")), on("b", oldPod()), on("c", podAt("older")).with(kit.Label("nodeType", "other"))},
			acts:  "delete c0 Outdated",
			want:  []string{"a: outdated>held hold Held a0 nodeSelector", stays("b"), "c: outdated>stable replace Outdated c0 U"},
		},
		{
			name: "failed, and others held by the partition", why: "T2, C7: what was held before the stable revision stays held",
			spec: []kit.SpecOption{kit.Canary("1"), partition("50%")}, set: failedRevision,
			fleet: []spot{on("a", oldPod()), on("b", podAt("older")), on("c", podAt("older")), on("d", newPod())},
			acts:  "delete d0 Outdated",
			want: []string{
				stays("a"), "b: outdated>held hold Held b0 partition", "c: outdated>held hold Held c0 partition", "d: outdated>stable replace Outdated d0 U",
			},
		},
		{
			name: "running, and others held by the partition", why: "T2: a trial does not update what the rollout before left held",
			spec: []kit.SpecOption{kit.Canary("1"), partition("50%")}, set: tryingOn("d"),
			fleet: []spot{on("a", oldPod()), on("b", podAt("older")), on("c", podAt("older")), on("d", trialPod())},
			want: []string{
				stays("a"), "b: outdated>held hold Held b0 partition", "c: outdated>held hold Held c0 partition", "d: updated>update none UpToDate C",
			},
		},
		{
			name: "failed and paused", why: "C7: but not past T4",
			spec: []kit.SpecOption{kit.Canary("1"), kit.Paused()}, set: failedRevision,
			fleet: []spot{on("a", newPod()), on("b", oldPod())},
			want:  []string{"a: outdated>held hold Held a0 paused", stays("b")},
		},
		{
			name: "surge", why: "B4: the canary takes one of the places",
			spec:  []kit.SpecOption{kit.Canary("2"), kit.MaxSurge("1")},
			fleet: []spot{on("a", oldPod()), on("b", oldPod()), on("c", oldPod())},
			acts:  "create b Outdated",
			want: []string{
				"a: outdated>update wait Budget a0 maxSurge C", "b: outdated>update surge Outdated S C", stays("c"),
			},
		},
		{
			name: "surge, failed beside the stable pod", why: "M3: what is there stays, the failed revision goes",
			spec: []kit.SpecOption{kit.Canary("1"), kit.MaxSurge("1")}, set: failedRevision,
			fleet: []spot{on("a", oldPod(), newPod(kit.Unready())), on("b", oldPod())},
			acts:  "delete a1 Superseded",
			want:  []string{"a: surging>stable delete Superseded a1", stays("b")},
		},
		{
			name: "in place", why: "I1: the canary's pods are updated in place", spec: inPlace,
			fleet: []spot{on("a", oldPod(updatable)), on("b", oldPod(updatable))},
			acts:  "patch a0/status Outdated, patch a0 Outdated",
			want:  []string{"a: outdated>update update Outdated a0 U C", stays("b")},
		},
		{
			name: "in place, failed", why: "C7: back in place, to the stable revision", spec: inPlace, set: failedRevision,
			fleet: []spot{on("a", newPod(updatable)), on("b", oldPod(updatable))},
			acts:  "patch a0 Outdated", // the lab's pods run what the old revision says: only the label changes
			want:  []string{"a: outdated>stable update Outdated a0 U", stays("b")},
		},
		{
			name: "paused, other resources", why: "C7, P8: a paused canary replaces nothing", spec: []kit.SpecOption{kit.Canary("1")}, set: overridden,
			fleet: []spot{on("a", trialPod()), on("b", oldPod())},
			want:  []string{"a: outdated>held hold Held a0 canary C", stays("b")},
		},
		{
			name: "held at what others are at", why: "T1: after the promotion too what is lost on a held node does not come back updated",
			spec:  []kit.SpecOption{kit.Canary("1"), holdRevision, partition("2")},
			set:   all(withMark("update", history.PromotedAnnotation, "x")),
			fleet: []spot{on("a", newPod()), on("b"), on("c", oldPod())}, acts: "create b Missing at old",
			want: []string{"a: updated>update none UpToDate", "b: missing>held create Missing U", "c: outdated>held hold Held c0 partition"},
		},
		{
			name: "held at what it ran", why: "T1, T6: with holdRevision what is lost comes back as it was, also during a canary",
			spec: []kit.SpecOption{kit.Canary("1"), holdRevision, nodeType("canary")}, set: all(withMark("old", history.PromotedAnnotation, "x"), tryingOn("b")),
			fleet: []spot{on("a", oldPod(terminating())), on("b", trialPod()).with(kit.Label("nodeType", "canary"))},
			want:  []string{"a: terminating>stable wait Terminating U", "b: updated>update none UpToDate C"},
		},
	}
}

// A canary writes its verdicts on the history, in the same plan in which it gives them (C6).
func TestCanaryMarks(t *testing.T) {
	now := kit.Noon().Format(time.RFC3339)
	tests := []struct {
		name, why string
		spec      []kit.SpecOption
		set       func(*lab)
		want      []string
	}{
		{"while it runs", "C6: the stable revision is marked, so that it cannot be mistaken later", nil, tryingOn("a"),
			[]string{"annotate old set promoted=" + now}},
		{"while it runs, marked already", "once", nil, withMark("old", history.PromotedAnnotation, "x"), nil},
		{"promoted", "C6", nil, sinceThen(time.Hour, "a"), []string{"annotate update set promoted=" + now}},
		{"failed by command", "C5, C6: with the reason", []kit.SpecOption{kit.Command(canary.Commands{Fail: canary.Any})}, withMark("old", history.PromotedAnnotation, "x"),
			[]string{"annotate update set failed=ByCommand"}},
		{"no canary, no marks", "other sets have none", []kit.SpecOption{func(s *rollout.Spec) { s.Strategy.Canary = nil }}, nil, nil},
		{"no canary any more", "C6: a canary may come back, and then the stable revision must be right",
			[]kit.SpecOption{func(s *rollout.Spec) { s.Strategy.Canary = nil }}, withMark("old", history.PromotedAnnotation, "x"),
			[]string{"annotate update set promoted=" + now}},
		{"no canary any more, and it failed", "it is rolled out all the same, so that the mark of the fail goes",
			[]kit.SpecOption{func(s *rollout.Spec) { s.Strategy.Canary = nil }}, all(withMark("old", history.PromotedAnnotation, "x"), failedRevision),
			[]string{"annotate update set promoted=" + now + " remove failed remove failed-message"}},
		{"frozen", "C6: a verdict is written down, whatever else rests", []kit.SpecOption{kit.Frozen()}, tryingOn("a"),
			[]string{"annotate old set promoted=" + now}},
		{"in flight", "what was asked for is not asked for again", nil, func(l *lab) {
			tryingOn("a")(l)
			for _, object := range l.snapshot.Revisions {
				l.snapshot.InFlight.Revisions = append(l.snapshot.InFlight.Revisions, object.Name)
			}
		}, nil},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(append([]kit.SpecOption{kit.Canary("1")}, tt.spec...)...).add(on("a", trialPod()), on("b", oldPod()))
			if tt.set != nil {
				tt.set(l)
			}
			if diff := cmp.Diff(tt.want, l.marks(l.plan(t))); diff != "" {
				t.Errorf("actions on revisions, -want +got:\n%s why: %s", diff, tt.why)
			}
		})
	}
}

// marks writes the annotate actions of a plan, messages left out.
func (l *lab) marks(plan rollout.Plan) []string {
	var list []string
	for _, action := range plan.Revisions {
		if action.Verb != rollout.AnnotateRevision {
			continue
		}
		s := "annotate " + map[string]string{"agent-" + l.update: "update", "agent-" + l.old: "old"}[action.Name]
		for _, key := range []string{history.PromotedAnnotation, history.FailedAnnotation, history.RetriedAnnotation} {
			if value, ok := action.Annotations[key]; ok {
				s += " set " + key[len("daemonplan.io/"):] + "=" + value
			}
		}
		for _, key := range action.RemoveAnnotations {
			s += " remove " + key[len("daemonplan.io/"):]
		}
		list = append(list, s)
	}
	return list
}

// A first installation has no canary, and its revision is promoted as it is created (C6).
func TestCanaryFirstInstallation(t *testing.T) {
	l := newLab(kit.Canary("1")).add(on("a"), on("b"))
	l.snapshot.Revisions = nil
	plan := l.plan(t)
	if len(plan.Revisions) != 1 || plan.Revisions[0].Verb != rollout.CreateRevision || !history.Promoted(plan.Revisions[0].Object) {
		t.Errorf("got %+v, want one revision, created with the mark of a promotion", plan.Revisions)
	}
	if got, want := acts(plan), "create a Missing, create b Missing"; got != want {
		t.Errorf("got %s, want %s: a first installation needs no canary", got, want)
	}
	if plan.Canary.Phase != canary.Idle || plan.Canary.Reason != canary.FirstInstallation {
		t.Errorf("the canary is %v %v, want idle, a first installation", plan.Canary.Phase, plan.Canary.Reason)
	}
}

// The stable revision is the last promoted one, also while its mark is not written yet (C6).
func TestCanaryStable(t *testing.T) {
	third := func(l *lab) { // a third template comes while the second is on trial
		kit.Image("agent:v3")(&l.spec)
		l.snapshot.Memory.Version = rollout.MemoryVersion
		l.snapshot.Memory.Rollout = rollout.Record{Revision: l.update, Stable: l.old}
		l.snapshot.Memory.Canary = canary.Record{Revision: l.update, Nodes: []string{"b"}}
	}
	tests := []struct {
		name, why, want string
		set             func(*lab)
		fleet           []spot
	}{
		{"remembered", "a new template starts from the stable revision, not from the one on trial", "old", third,
			[]spot{on("a", oldPod()), on("b", newPod())}},
		{"marked", "with the memory lost, the mark tells", "old", func(l *lab) {
			withMark("old", history.PromotedAnnotation, "x")(l)
			third(l)
			l.snapshot.Memory = rollout.Memory{}
		}, []spot{on("a", oldPod()), on("b", newPod())}},
		{"gone from the history", "fail closed: what somebody deleted does not make the revision on trial a first installation", "old", func(l *lab) {
			third(l)
			l.snapshot.Revisions = nil
		}, []spot{on("a", oldPod()), on("b", newPod())}},
		{"marked twice", "C6: the last one", "update", func(l *lab) {
			withMark("old", history.PromotedAnnotation, "x")(l)
			withMark("update", history.PromotedAnnotation, "y")(l)
			third(l)
		}, []spot{on("a", oldPod()), on("b", newPod())}},
		{"neither", "the highest that a live pod carries", "update", func(l *lab) {
			third(l)
			l.snapshot.Memory = rollout.Memory{}
		}, []spot{on("a", oldPod()), on("b", newPod())}},
		{"neither, and failed", "a failed revision is none to go back to", "old", func(l *lab) {
			failedRevision(l)
			third(l)
			l.snapshot.Memory = rollout.Memory{}
		}, []spot{on("a", oldPod()), on("b", newPod())}},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(kit.Canary("1")).add(tt.fleet...)
			tt.set(l)
			plan := l.plan(t)
			if plan.Canary.Stable != l.hash(tt.want) {
				t.Errorf("stable is %s, want %s, %s: %s", plan.Canary.Stable, tt.want, l.hash(tt.want), tt.why)
			}
		})
	}
}

// The canary's nodes are chosen again where they have to be (C1).
func TestCanaryNodes(t *testing.T) {
	shaky := on("a", oldPod(func(p *corev1.Pod) {
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "init", RestartCount: 1}}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", RestartCount: 1}}
	}))
	shakier := on("b", oldPod(func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", RestartCount: 3}, {Name: "side", RestartCount: -4}}
	}))
	tests := []struct {
		name, why string
		spec      []kit.SpecOption
		set       func(*lab)
		fleet     []spot
		want      []string
	}{
		{"fewest restarts", "C1", nil, nil, []spot{shaky, shakier, on("c", oldPod())}, []string{"c"}},
		{"second fewest restarts", "C1: those of all containers, init containers included", []kit.SpecOption{kit.Canary("2")}, nil,
			[]spot{shaky, shakier, on("c", oldPod())}, []string{"a", "c"}},
		{"sticky", "C1: chosen nodes stay chosen", nil, tryingOn("c"), []spot{on("a", oldPod()), on("b", oldPod()), on("c", oldPod())}, []string{"c"}},
		{"lost memory", "C6: on the nodes that have the update already", nil, nil, []spot{on("a", oldPod()), on("b", oldPod()), on("c", newPod())}, []string{"c"}},
		{"cordoned for good", "C1: one that is no longer run is replaced", nil, tryingOn("c"),
			[]spot{on("a", oldPod()), on("b", oldPod()), on("c", newPod()).keep()}, []string{"a"}},
		{"lost memory, another template", "C1: the label tells which nodes were chosen", nil, func(l *lab) { kit.Image("agent:v3")(&l.spec) },
			[]spot{on("a", oldPod()), on("b", oldPod()), on("c", trialPod())}, []string{"c"}},
		{"broken, perhaps by the pod", "C1, B2: a revision that breaks its nodes does not wander over the fleet", nil, tryingOn("c"),
			[]spot{on("a", oldPod()), on("b", oldPod()), on("c", newPod(kit.Unready())).keep()}, []string{"c"}},
		{"on its way out", "C1: what leaves is no evidence", nil, tryingOn("c"),
			[]spot{on("a", oldPod()), on("b", oldPod()), on("c", newPod(kit.Unready(), terminating())).keep()}, []string{"a"}},
		{"vanished", "C1", nil, tryingOn("x"), []spot{on("a", oldPod()), on("b", oldPod())}, []string{"a"}},
		{"percent", "C1: rounded up", []kit.SpecOption{kit.Canary("50%")}, nil,
			[]spot{on("a", oldPod()), on("b", oldPod()), on("c", oldPod())}, []string{"a", "b"}},
		{"never all by accident", "95% of two would be all", []kit.SpecOption{kit.Canary("95%")}, nil,
			[]spot{on("a", oldPod()), on("b", oldPod())}, []string{"a"}},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(append([]kit.SpecOption{kit.Canary("1")}, tt.spec...)...).add(tt.fleet...)
			if tt.set != nil {
				tt.set(l)
			}
			plan := l.plan(t)
			if diff := cmp.Diff(tt.want, plan.Canary.Nodes); diff != "" {
				t.Errorf("canary nodes, -want +got:\n%s why: %s", diff, tt.why)
			}
			if diff := cmp.Diff(tt.want, plan.Memory.Canary.Nodes); diff != "" {
				t.Errorf("remembered nodes, -want +got:\n%s", diff)
			}
		})
	}
}

// Pods of canary nodes are created with the canary label, others without.
func TestCanaryPodLabel(t *testing.T) {
	l := newLab(kit.Canary("1")).add(on("a"), on("b"))
	all(withMark("old", history.PromotedAnnotation, "x"), tryingOn("a"))(l)
	planner, err := rollout.New(l.spec)
	if err != nil {
		t.Fatal(err)
	}
	plan := l.plan(t)
	got := map[string]string{}
	for _, create := range plan.Creates {
		pod, err := planner.Pod(create)
		if err != nil {
			t.Fatal(err)
		}
		got[create.Node] = pod.Labels[rollout.CanaryLabel] + " " + pod.Spec.Containers[0].Image
	}
	if diff := cmp.Diff(map[string]string{"a": "true agent:v2", "b": " agent:v1"}, got); diff != "" {
		t.Errorf("label and image, -want +got:\n%s", diff)
	}
}

// Without a canary, labels that one has left are taken off (the memory tells that there was one).
func TestCanaryLabelAfterwards(t *testing.T) {
	l := newLab().add(on("a", trialPod()), on("b", newPod()))
	tryingOn("a")(l)
	plan := l.plan(t)
	if got, want := acts(plan), "patch a0 CanaryLabel"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := plan.Memory.Canary.Nodes; len(got) != 1 {
		t.Errorf("nodes remembered: %v, want a, until the label is gone", got)
	}
	for _, pod := range l.snapshot.Pods {
		delete(pod.Labels, rollout.CanaryLabel)
	}
	if plan := l.plan(t); !plan.Empty() || plan.Memory.Canary.Nodes != nil {
		t.Errorf("got %s and %v remembered, want nothing", acts(plan), plan.Memory.Canary.Nodes)
	}
}

// A deletion that is only in flight does not make the revision of its pod one that nobody carries: with the memory lost, and
// before the first mark is seen, the update revision would be promoted without a trial (C6).
func TestCanaryDeletionInFlight(t *testing.T) {
	l := scene{spec: []kit.SpecOption{kit.Canary("1")}, fleet: []spot{on("a", oldPod())}, deleting: []string{"a0"}}.lab()
	if got := l.plan(t).Canary.Phase; got != canary.Running {
		t.Errorf("the canary is %s, want running", got)
	}
}

// The state says when nothing but a person can make a canary go on (S2).
func TestCanaryState(t *testing.T) {
	tests := []struct {
		name, why string
		spec      []kit.SpecOption
		set       func(*lab)
		want      string
	}{
		{"running", "S2", nil, tryingOn("a"), "Canary CanaryOnTrial"},
		{"paused", "S2", nil, paused("a"), "CanaryPaused CanaryOnHold"},
		{"failed", "S2", nil, failedRevision, "CanaryFailed CanaryRejected"},
		{"without nodes", "S2: a canary without nodes is stuck", []kit.SpecOption{kit.CanaryOn("canary", "yes")}, nil, "Stuck CanaryWithoutNodes"},
		{"held by the partition", "S2: its node will not be updated", []kit.SpecOption{partition("100%")}, withMark("old", history.PromotedAnnotation, "x"),
			"Stuck CanaryHeld"},
		{"held, as it cannot be in place", "S2, I1", []kit.SpecOption{kit.InPlaceOnly()}, withMark("old", history.PromotedAnnotation, "x"), "Stuck CanaryHeld"},
		{"the set is paused", "S2: that counts first", []kit.SpecOption{kit.Paused()}, tryingOn("a"), "Paused PausedBySpec"},
		{"promoted", "S2: the rollout goes on", nil, withMark("update", history.PromotedAnnotation, "x"), "Updating RolloutInProgress"},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(append([]kit.SpecOption{kit.Canary("1")}, tt.spec...)...).add(on("a", oldPod()), on("b", oldPod()))
			if tt.set != nil {
				tt.set(l)
			}
			got := l.plan(t).Status
			if got := got.State.String() + " " + got.Reason.String(); got != tt.want {
				t.Errorf("got %s, want %s: %s", got, tt.want, tt.why)
			}
		})
	}
}
