package rollout_test

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// tryingOn returns the memory of a canary of the update revision on these nodes, which began half an hour ago and whose clock has
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
				l.snapshot.Revisions[i] = objects.Marked(object, map[string]string{key: value})
			}
		}
	}
}

func failedRevision(l *lab) {
	withMark("update", history.FailedAnnotation, canary.TimedOut.String())(l)
}

// trialPod returns a pod of the update revision with the canary label.
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
			name: "nothing is new", why: "C6: a canary that comes to a set has nothing to try", spec: one,
			fleet: []spot{on("a", newPod()), on("b", newPod())},
			want:  []string{"a: updated>update none UpToDate", "b: updated>update none UpToDate"},
		},
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
			name: "the label, frozen", why: "T4: no pod is touched", spec: append(one, kit.Frozen()), set: tryingOn("a"),
			fleet: []spot{on("a", newPod()), on("b", oldPod(kit.PodLabel(rollout.CanaryLabel, "true")))},
			want:  []string{tried, stays("b")},
		},
		{
			name: "the label, beside the stable pod", why: "it is put on the pod of the revision on trial alone",
			spec: []kit.SpecOption{kit.Canary("1"), kit.MaxSurge("1")}, set: tryingOn("a"),
			fleet: []spot{on("a", oldPod(), newPod()), on("b", oldPod())},
			acts:  "patch a1 CanaryLabel, delete a0 Superseded",
			want:  []string{"a: surging>update delete Superseded a0 C", stays("b")},
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
			name: "one that failed is on its way out", why: "C2: it disturbs the canary, though M1 ignores it",
			spec: one, set: sinceThen(10*time.Minute, "a"),
			fleet: []spot{on("a", newPod(kit.Failed(), terminating()), trialPod()), on("b", oldPod())},
			want:  []string{tried, stays("b")},
		},
		{
			name: "a stable one that failed is on its way out", why: "C2: it says nothing about the revision",
			spec: one, set: sinceThen(10*time.Minute, "a"),
			fleet: []spot{on("a", oldPod(kit.Failed(), terminating()), trialPod())},
			acts:  "patch a1 CanaryLabel",
			want:  []string{"a: updated>update patch CanaryLabel a1"},
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

// BenchmarkCanary is a plan on 15,000 nodes while a revision is tried on 5% of them, against the plan that has no canary and
// rolls on. The fleet is the same throughout: the canary's nodes have the update revision, all others the one before.
func BenchmarkCanary(b *testing.B) {
	const n, tried = 15_000, 750
	trial := func(s *rollout.Spec) {
		s.Strategy.Canary = &canary.Options{Replicas: new(intstr.FromString("5%")), NodeAntiAffinityKeys: []string{"topology.kubernetes.io/zone"}}
	}
	for _, bench := range []struct {
		name string
		spec func(*rollout.Spec)
		set  func(*rollout.Snapshot, []string)
	}{
		{"plain", func(*rollout.Spec) {}, nil},
		{"running", trial, func(s *rollout.Snapshot, nodes []string) {
			s.Memory.Version = rollout.MemoryVersion
			s.Memory.Canary = canary.Record{
				Revision: history.HashOf(s.Revisions[1]), Began: s.Now.Add(-time.Minute), Since: s.Now.Add(-time.Minute), Nodes: nodes,
			}
		}},
		{"choosing", trial, nil},
		{"failed", trial, func(s *rollout.Snapshot, _ []string) {
			s.Revisions[1] = objects.Marked(s.Revisions[1], map[string]string{history.FailedAnnotation: "TimedOut"})
		}},
		{"slowstart", kit.SlowStart(time.Minute, "1%", "10%"), nil},
		{"overrides", func(s *rollout.Spec) {
			s.Overrides = []placement.Override{{
				Name:         "arm",
				NodeSelector: metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/arch": "arm64"}},
				Containers:   map[string]corev1.ResourceRequirements{s.Template.Spec.Containers[0].Name: limits("1")},
			}}
		}, nil},
	} {
		b.Run(bench.name, func(b *testing.B) {
			spec := benchSpec()
			snapshot := benchSnapshot(b, spec, n)
			var nodes []string
			for i, p := range snapshot.Pods {
				if i < tried {
					nodes = append(nodes, p.Spec.NodeName)
					p.Labels[rollout.CanaryLabel] = "true"
				} else {
					p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = history.HashOf(snapshot.Revisions[0])
				}
			}
			bench.spec(&spec)
			if bench.set != nil {
				bench.set(&snapshot, nodes)
			}
			planner, err := rollout.New(spec)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for b.Loop() {
				if _, err := planner.Plan(snapshot); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/node")
		})
	}
}
