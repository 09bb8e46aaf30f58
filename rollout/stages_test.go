package rollout_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/outage"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/stage"
	"github.com/daemonplan/daemonplan/rollout/verify"
	"github.com/daemonplan/daemonplan/status"
)

func TestStagesT8(t *testing.T) { playVerified(t, stageScenes()) }

// ring is a stage of the nodes with the label ring of that value.
func ring(value string, change ...func(*stage.Stage)) stage.Stage {
	s := stage.Stage{Name: "ring-" + value, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"ring": value}}}
	for _, c := range change {
		c(&s)
	}
	return s
}

func soak(d time.Duration) func(*stage.Stage) { return func(s *stage.Stage) { s.Soak = d } }

func approval(s *stage.Stage) { s.Approval = true }

func tolerance(value string) func(*stage.Stage) {
	return func(s *stage.Stage) { s.Tolerance = new(intstr.Parse(value)) }
}

// at puts the frontier of the memory there, since so long.
func at(name, value string, since time.Duration) func(*lab) {
	return func(l *lab) {
		l.snapshot.Memory.Version = rollout.MemoryVersion
		l.snapshot.Memory.Rollout = rollout.Record{
			Revision: l.update, Began: kit.Noon().Add(-time.Hour),
			Frontier: stage.Frontier{Stage: name, Value: value, At: kit.Noon().Add(-since)},
		}
	}
}

// completed marks revisions as rolled out: "update" and "old".
func completed(revision string) func(*lab) {
	return func(l *lab) {
		for _, r := range l.snapshot.Revisions {
			if history.HashOf(r) == l.hash(revision) {
				r.Annotations = map[string]string{history.CompletedAnnotation: "2026-01-01T10:00:00Z"}
			}
		}
	}
}

// in puts a node into a ring.
func in(s spot, value string) spot { return s.with(kit.Label("ring", value)) }

func stageScenes() []scene {
	zone := func(s spot, value string) spot { return s.with(kit.Label("zone", value)) }
	with := func(options ...kit.SpecOption) []kit.SpecOption { return append(options, kit.MaxUnavailable("9")) }
	rings := func(change ...func(*stage.Stage)) []kit.SpecOption {
		return with(kit.Stages(ring("0", change...), ring("1")))
	}
	selected := func(s spot) spot { return s.with(kit.Label("nodeType", "x")) }
	zones := with(kit.Stages(stage.Stage{Name: "zones", Key: "zone"}))
	goes := func(node string) string { return node + ": outdated>update replace Outdated " + node + "0 U" }
	waits := func(node, limit string) string { return node + ": outdated>held wait Gated " + node + "0 " + limit }
	done := func(node string) string { return node + ": updated>update none UpToDate" }
	down := newPod(kit.Unready())
	starting := func(node string) string { return node + ": starting>update wait NotReady " + node + "0 U" }
	// between is a revision that never was everywhere; verdict marks it as one.
	between := func(verdict string) func(*lab) {
		return func(l *lab) {
			completed("old")(l)
			spec := l.spec.Default()
			kit.Image("agent:between")(&spec)
			revision := kit.Revision(spec, 2)
			if verdict != "" {
				revision.Annotations = map[string]string{history.FailedAnnotation: verdict}
			}
			l.snapshot.Revisions = append(l.snapshot.Revisions, revision)
			for _, r := range l.snapshot.Revisions {
				if history.HashOf(r) == l.update {
					r.Revision = 3
				}
			}
		}
	}
	betweenHash := func() string {
		spec := newLab(rings()...).spec.Default()
		kit.Image("agent:between")(&spec)
		return kit.Hash(spec)
	}()
	back := func(node, reason string) string {
		return node + ": outdated>base replace " + reason + " " + node + "0 U"
	}
	return []scene{
		{
			name: "broken in a closed part", why: "P-E: it serves nobody, and stands in the way of what is to mend it", spec: rings(), set: between(""),
			fleet: []spot{in(on("a", oldPod()), "0"), in(on("b", podAt(betweenHash, kit.Unready(), kit.Created(ago(10*time.Minute)))), "1")},
			acts:  "delete b0 OutdatedNotReady, delete a0 Outdated", want: []string{goes("a"), back("b", "OutdatedNotReady")},
		},
		{
			name: "young in a closed part", why: "P-E: it may yet come up", spec: rings(), set: between(""),
			fleet: []spot{in(on("a", oldPod()), "0"), in(on("b", podAt(betweenHash, kit.Unready(), kit.Created(ago(9*time.Minute)))), "1")},
			acts:  "delete a0 Outdated", want: []string{goes("a"), waits("b", "stage") + " U"},
		},
		{
			name: "serving in a closed part", why: "P-E: nobody who serves is moved back", spec: rings(), set: between(""),
			fleet: []spot{in(on("a", oldPod()), "0"), in(on("b", podAt(betweenHash)), "1")},
			acts:  "delete a0 Outdated", want: []string{goes("a"), waits("b", "stage")},
		},
		{
			name: "on its way back beside a fix", why: "F3: what was given up goes back in parts that the fix has not come to", spec: rings(), set: between("TooManyFailures"),
			fleet: []spot{in(on("a", oldPod()), "0"), in(on("b", podAt(betweenHash)), "1"), in(on("c", podAt(betweenHash, kit.Unready())), "1")},
			acts:  "delete c0 OutdatedNotReady, delete b0 Outdated, delete a0 Outdated",
			want:  []string{goes("a"), back("b", "Outdated"), back("c", "OutdatedNotReady")},
		},
		{
			name: "broken at the base in a closed part", why: "P-E: there is nothing better", spec: rings(), set: between(""),
			fleet: []spot{in(on("a", oldPod()), "0"), in(on("b", oldPod(kit.Unready())), "1")},
			acts:  "delete a0 Outdated", want: []string{goes("a"), waits("b", "stage") + " U"},
		},
		{
			name: "the update revision, broken in a closed part", why: "P-E: a canary may have left it there", spec: rings(), set: completed("old"),
			fleet: []spot{in(on("a", oldPod()), "0"), in(on("b", down), "1")},
			acts:  "delete b0 OutdatedNotReady, delete a0 Outdated", want: []string{goes("a"), back("b", "OutdatedNotReady")},
		},
		{
			name: "a ring that departs", why: "P-C: it waits for evidence", spec: append(rings(), kit.Outages(outage.Options{})), set: completed("old"),
			fleet: []spot{in(on("a", oldPod()), "0").with(departingFor(time.Hour)), in(on("b", oldPod()), "1")},
			want:  []string{"a: outdated>update wait Gated a0 departing", waits("b", "stage")},
		},
		{
			name: "a node that departs and serves", why: "T8: it counts nowhere", spec: append(rings(), kit.Outages(outage.Options{})), set: completed("old"),
			fleet: []spot{in(on("a", oldPod()), "0").with(departingFor(time.Hour)), in(on("b", newPod()), "0"), in(on("c", oldPod()), "1")},
			acts:  "delete c0 Outdated", want: []string{"a: outdated>update wait Gated a0 departing", done("b"), goes("c")},
		},
		{
			name: "a ring with taints", why: "P-C: it waits until they are gone", spec: rings(), set: completed("old"),
			fleet: []spot{in(on("a", oldPod()), "0").keep(), in(on("b"), "0").leave(), in(on("c", oldPod()), "1")},
			want:  []string{"a: kept>none none Kept", "b: ineligible>none none Ineligible", waits("c", "stage")},
		},
		{
			name: "a ring whose pods a taint drove away", why: "P-C: it waits until they may come back", spec: rings(), set: completed("old"),
			fleet: []spot{in(on("b"), "0").leave(), in(on("c", oldPod()), "1")},
			want:  []string{"b: ineligible>none none Ineligible", waits("c", "stage")},
		},
		{
			name: "a dead node", why: "T8: unavailable, not behind, so that tolerance is for it", spec: rings(tolerance("1")), set: completed("old"),
			fleet: []spot{in(on("a", newPod()), "0"), in(on("b", oldPod(kit.Unready())), "0").with(nodeReady(corev1.ConditionUnknown)), in(on("c", oldPod()), "1")},
			acts:  "delete b0 OutdatedNotReady, delete c0 Outdated", want: []string{done("a"), "b: outdated>update replace OutdatedNotReady b0 U", goes("c")},
		},
		{
			name: "ring by ring", why: "T8: the first part is open, whatever the budget leaves", spec: rings(),
			fleet: []spot{in(on("a", oldPod()), "0"), in(on("b", oldPod()), "1"), on("c", oldPod())}, acts: "delete a0 Outdated",
			want: []string{goes("a"), waits("b", "stage"), waits("c", "stage")},
		},
		{
			name: "the next ring", why: "T8: open when the one before is done", spec: rings(),
			fleet: []spot{in(on("a", newPod()), "0"), in(on("b", oldPod()), "1"), on("c", oldPod())}, acts: "delete b0 Outdated",
			want: []string{done("a"), goes("b"), waits("c", "stage")},
		},
		{
			name: "the rest", why: "T8: nodes that no stage selects are the last part", spec: rings(), set: completed("old"),
			fleet: []spot{in(on("a", newPod()), "0"), in(on("b", newPod()), "1"), on("c", oldPod())}, acts: "delete c0 Outdated",
			want: []string{done("a"), done("b"), goes("c")},
		},
		{
			name: "an unavailable node", why: "T8: tolerance 0 by default", spec: rings(),
			fleet: []spot{in(on("a", newPod()), "0"), in(on("b", down), "0"), in(on("c", oldPod()), "1")},
			want:  []string{done("a"), starting("b"), waits("c", "stage")},
		},
		{
			name: "an unavailable node is tolerated", why: "T8: at most tolerance", spec: rings(tolerance("1")),
			fleet: []spot{in(on("a", newPod()), "0"), in(on("b", down), "0"), in(on("c", oldPod()), "1")}, acts: "delete c0 Outdated",
			want: []string{done("a"), starting("b"), goes("c")},
		},
		{
			name: "a requested pod is tolerated", why: "T8: it has come, and is not available yet", spec: rings(tolerance("1")), requested: []string{"b"},
			fleet: []spot{in(on("a", newPod()), "0"), in(on("b"), "0"), in(on("c", oldPod()), "1")}, acts: "delete c0 Outdated",
			want: []string{done("a"), "b: starting>update wait Requested U", goes("c")},
		},
		{
			name: "what the selector leaves out is no evidence", why: "T8, T3: a would have the revision anyway",
			spec:  append(rings(tolerance("1")), nodeType("x")),
			fleet: []spot{in(on("a", newPod()), "0"), in(selected(on("b", down)), "0"), in(selected(on("c", oldPod())), "1")},
			want:  []string{done("a"), starting("b"), waits("c", "stage")},
		},
		{
			name: "beside a pod that cannot be updated in place", why: "T8: the node is unavailable, not held", spec: append(rings(), kit.InPlaceOnly()),
			fleet: []spot{in(on("a", newPod()), "0"), in(on("b", down, oldPod()), "0"), in(on("c", oldPod(updatable)), "1")},
			want:  []string{done("a"), "b: surging>update wait NotReady b0", waits("c", "stage")},
		},
		{
			name: "taken back under slow start", why: "T8, B7: the pod stays, so that its node is not under way",
			spec:  append(rings(), draining, kit.SlowStart(time.Minute, "1", "250")),
			fleet: []spot{in(on("a"), "0"), in(on("b", oldPod(hooked, asked)), "1")}, acts: "patch b0 TakenBack, create a Missing",
			want: []string{"a: missing>update create Missing U", "b: outdated>held patch TakenBack b0 stage U"},
		},
		{
			name: "tolerance is rounded down", why: "T8: 99% of one node is none", spec: rings(tolerance("99%")),
			fleet: []spot{in(on("a", down), "0"), in(on("b", oldPod()), "1")},
			want:  []string{starting("a"), waits("b", "stage")},
		},
		{
			name: "nothing settled", why: "T8: tolerance alone is no evidence", spec: rings(tolerance("5")),
			fleet: []spot{in(on("a", down), "0"), in(on("b", oldPod()), "1")},
			want:  []string{starting("a"), waits("b", "stage")},
		},
		{
			name: "outdated is not tolerated", why: "T8: tolerance is about what is there and not available", spec: append(rings(tolerance("5")), kit.MaxUnavailable("1")),
			fleet: []spot{in(on("a", newPod()), "0"), in(on("b", oldPod()), "0"), in(on("c", oldPod()), "1")}, acts: "delete b0 Outdated",
			want: []string{done("a"), goes("b"), waits("c", "stage")},
		},
		{
			name: "soak", why: "T8: the clock runs from when the part was first seen done", spec: rings(soak(time.Hour)), set: at("ring-0", "", 59*time.Minute),
			fleet: []spot{in(on("a", newPod()), "0"), in(on("b", oldPod()), "1"), on("c", oldPod())},
			want:  []string{done("a"), waits("b", "soak"), waits("c", "stage")},
		},
		{
			name: "soaked", why: "T8", spec: rings(soak(time.Hour)), set: at("ring-0", "", time.Hour),
			fleet: []spot{in(on("a", newPod()), "0"), in(on("b", oldPod()), "1"), on("c", oldPod())}, acts: "delete b0 Outdated",
			want: []string{done("a"), goes("b"), waits("c", "stage")},
		},
		{
			name: "done now", why: "T8: the soak begins with the plan that sees it", spec: rings(soak(time.Second)),
			fleet: []spot{in(on("a", newPod()), "0"), in(on("b", oldPod()), "1")},
			want:  []string{done("a"), waits("b", "soak")},
		},
		{
			name: "a clock set back", why: "T8: a frontier in the future counts as now", spec: rings(soak(time.Hour)), set: at("ring-0", "", -48*time.Hour),
			fleet: []spot{in(on("a", newPod()), "0"), in(on("b", oldPod()), "1")},
			want:  []string{done("a"), waits("b", "soak")},
		},
		{
			name: "approval", why: "T8: it opens only if somebody says so", spec: rings(approval),
			fleet: []spot{in(on("a", oldPod()), "0"), in(on("b", oldPod()), "1")},
			want:  []string{waits("a", "approval"), waits("b", "stage")},
		},
		{
			name: "approved", why: "T8: for this revision", spec: append(rings(approval), kit.Approve(stage.Approval{Stage: "ring-0", Revision: kit.Hash(newLab().spec)})),
			fleet: []spot{in(on("a", oldPod()), "0"), in(on("b", oldPod()), "1")}, acts: "delete a0 Outdated",
			want: []string{goes("a"), waits("b", "stage")},
		},
		{
			name: "approved for another", why: "T8: an approval is for one revision", spec: append(rings(approval), kit.Approve(stage.Approval{Stage: "ring-0", Revision: "other"})),
			fleet: []spot{in(on("a", oldPod()), "0"), in(on("b", oldPod()), "1")},
			want:  []string{waits("a", "approval"), waits("b", "stage")},
		},
		{
			name: "zone by zone", why: "T8: integers by number, then texts, then nodes without the label", spec: zones, set: completed("old"),
			fleet: []spot{zone(on("a", oldPod()), "10"), zone(on("b", newPod()), "9"), zone(on("c", oldPod()), "b"), on("d", oldPod())}, acts: "delete a0 Outdated",
			want: []string{goes("a"), done("b"), waits("c", "stage"), waits("d", "stage")},
		},
		{
			name: "a done part reopens nothing", why: "T8: done is for good; what joins there is begun at once", spec: zones, set: at("zones", "b", time.Minute),
			fleet: []spot{zone(on("a", oldPod()), "a"), zone(on("b", down), "b"), zone(on("c", oldPod()), "c"), zone(on("d"), "a")}, acts: "delete c0 Outdated, delete a0 Outdated, create d Missing",
			want: []string{goes("a"), starting("b"), goes("c"), "d: missing>update create Missing U"},
		},
		{
			name: "lost memory", why: "T8: the first part that is not done is open, and no other", spec: zones,
			fleet: []spot{zone(on("a", newPod()), "a"), zone(on("b", down), "b"), zone(on("c", newPod()), "c"), zone(on("d", oldPod()), "d")},
			want:  []string{done("a"), starting("b"), done("c"), waits("d", "stage")},
		},
		{
			name: "a stage that is gone", why: "T8: then the memory of it is lost", spec: zones, set: at("gone", "", time.Hour),
			fleet: []spot{zone(on("a", oldPod()), "a"), zone(on("b", oldPod()), "b")}, acts: "delete a0 Outdated",
			want: []string{goes("a"), waits("b", "stage")},
		},
		{
			name: "a stage without nodes", why: "T8: it is skipped, with its soak and its approval", spec: rings(approval, soak(time.Hour)),
			fleet: []spot{in(on("b", oldPod()), "1"), on("c", oldPod())}, acts: "delete b0 Outdated",
			want: []string{goes("b"), waits("c", "stage")},
		},
		{
			name: "all held by the node selector", why: "T8, T3: the part is skipped", spec: append(rings(), kit.StrategyNodeSelector("ring", "1")),
			fleet: []spot{in(on("a", oldPod()), "0"), in(on("b", oldPod()), "1")}, acts: "delete b0 Outdated",
			want: []string{"a: outdated>held hold Held a0 nodeSelector", goes("b")},
		},
		{
			name: "held by the partition", why: "T8, T2: the part is not done", spec: append(rings(), kit.Partition("1")),
			fleet: []spot{in(on("a", oldPod()), "0"), in(on("b", oldPod()), "1")},
			want:  []string{"a: outdated>held hold Held a0 partition", waits("b", "stage")},
		},
		{
			name: "cannot be updated in place", why: "T8, I1: it does not keep its part for ever", spec: append(rings(), kit.InPlaceOnly()),
			fleet: []spot{in(on("a", oldPod(kit.PinnedTo("a"))), "0"), in(on("b", newPod()), "0"), in(on("c", oldPod(updatable)), "1")},
			acts:  "patch c0/status Outdated, patch c0 Outdated", want: []string{"a: outdated>held hold Held a0 inPlaceOnly U", done("b"), "c: outdated>update update Outdated c0 U"},
		},
		{
			name: "a lost pod", why: "T8: it comes back as it was", spec: rings(),
			fleet: []spot{in(on("a", oldPod()), "0"), in(on("b", oldPod(kit.Failed())), "1"), in(on("c"), "1")}, acts: "delete b0 Failed, delete a0 Outdated, create c Missing at old",
			want: []string{goes("a"), "b: broken>held delete Failed b0 U", "c: missing>held create Missing U"},
		},
		{
			name: "a lost pod of the update revision", why: "T8: what it is seen to have run", spec: rings(),
			fleet: []spot{in(on("a", oldPod()), "0"), in(on("b", newPod(kit.Failed(), kit.Terminating(kit.Noon()))), "1")}, acts: "delete a0 Outdated, create b Missing",
			want: []string{goes("a"), "b: missing>update create Missing U"},
		},
		{
			name: "a pod that is requested", why: "T8: what comes back is not begun", spec: rings(),
			fleet: []spot{in(on("a", oldPod()), "0"), in(on("b"), "1")}, requested: []string{"b@old"}, acts: "delete a0 Outdated",
			want: []string{goes("a"), "b: outdated>held wait Requested U"},
		},
		{
			name: "departing in a closed part", why: "T8, M8: it is held all the same", spec: append(rings(), kit.Outages(outage.Options{})),
			fleet: []spot{in(on("a", oldPod()), "0").with(up), in(on("b", oldPod()), "1").with(departingFor(0))},
			acts:  "delete a0 Outdated", want: []string{goes("a"), "b: outdated>held wait Gated b0 departing"},
		},
		{
			name: "no base during a trial", why: "T8, T6: nothing else gets the revision on trial", spec: append(rings(), kit.Canary("1")),
			set: func(l *lab) {
				l.snapshot.Revisions = l.snapshot.Revisions[1:]
				l.snapshot.Memory = rollout.Memory{Version: rollout.MemoryVersion, Rollout: rollout.Record{Revision: l.update, Stable: "gone"}}
			},
			fleet: []spot{on("a", oldPod()), on("b")}, acts: "delete a0 Outdated",
			want: []string{"a: outdated>update replace Outdated a0 U C", "b: missing>stable wait RevisionUnreadable U"},
		},
		{
			name: "not ready in a closed part", why: "T8: bounds B3's at once and in full", spec: rings(),
			fleet: []spot{in(on("a", oldPod()), "0"), in(on("b", oldPod(kit.Unready())), "1")}, acts: "delete a0 Outdated",
			want: []string{goes("a"), waits("b", "stage") + " U"},
		},
		{
			name: "a first installation", why: "T8: it has no stages", spec: rings(), set: func(l *lab) { l.snapshot.Revisions = l.snapshot.Revisions[1:] },
			fleet: []spot{in(on("a"), "0"), in(on("b"), "1")}, acts: "create a Missing, create b Missing",
			want: []string{"a: missing>update create Missing U", "b: missing>update create Missing U"},
		},
		{
			name: "a lost history", why: "T8: pods show that it is no first installation", spec: rings(), set: func(l *lab) { l.snapshot.Revisions = l.snapshot.Revisions[1:] },
			fleet: []spot{in(on("a", oldPod()), "0"), in(on("b", oldPod()), "1"), in(on("c"), "1")}, acts: "delete a0 Outdated, create c Missing",
			want: []string{goes("a"), waits("b", "stage"), "c: missing>update create Missing U"},
		},
		{
			name: "held in a later part", why: "T8, T3: what it loses comes back as it was", spec: append(rings(), kit.StrategyNodeSelector("ring", "0")),
			fleet: []spot{in(on("a", oldPod()), "0"), in(on("b"), "1")}, acts: "delete a0 Outdated, create b Missing at old",
			want: []string{goes("a"), "b: missing>held create Missing U"},
		},
		{
			name: "a rollback", why: "T8: what was completed once has no stages", spec: rings(), set: completed("update"),
			fleet: []spot{in(on("a", oldPod()), "0"), in(on("b", oldPod()), "1")}, acts: "delete b0 Outdated, delete a0 Outdated",
			want: []string{goes("a"), goes("b")},
		},
		{
			name: "the end", why: "T8: the revision is marked when its last part is done", spec: rings(), set: completed("old"),
			fleet: []spot{in(on("a", newPod()), "0"), in(on("b", newPod()), "1")},
			want:  []string{done("a"), done("b")},
		},
		{
			name: "marks are kept up", why: "T8: without stages the set is one part", spec: with(), set: completed("old"),
			fleet: []spot{in(on("a", newPod()), "0"), in(on("b", newPod()), "1")},
			want:  []string{done("a"), done("b")},
		},
		{
			name: "no marks without stages", why: "T8: unset policies change nothing", spec: with(),
			fleet: []spot{in(on("a", newPod()), "0")}, want: []string{done("a")},
		},
		{
			name: "expedited", why: "T8: no stage keeps it waiting", spec: append(rings(approval), kit.Expedite("*")),
			fleet: []spot{in(on("a", oldPod()), "0"), in(on("b", oldPod()), "1")}, acts: "delete b0 Outdated, delete a0 Outdated",
			want: []string{goes("a"), goes("b")},
		},
		{
			name: "all nodes of a part are left out", why: "T8, B8: nothing shows that the revision works there", spec: append(rings(), kit.MaxUnschedulable("1")),
			fleet: []spot{in(on("a", newPod(kit.Unscheduled("a", kit.Noon()))), "0"), in(on("b", oldPod()), "1")},
			want:  []string{"a: starting>update wait NotReady a0 X", waits("b", "stage")},
		},
		{
			name: "a node that the revision broke", why: "T8: a keep node counts, and the part is not skipped", spec: rings(),
			fleet: []spot{in(on("a", down).keep(), "0"), in(on("b", oldPod()), "1")},
			want:  []string{"a: kept>none none Kept U", waits("b", "stage")},
		},
		{
			name: "surge", why: "T8, B4: the part is done when its new pods are available", spec: []kit.SpecOption{kit.Stages(ring("0"), ring("1")), kit.MaxSurge("9")},
			fleet: []spot{in(on("a", newPod(), oldPod()), "0"), in(on("b", oldPod()), "1")}, acts: "delete a1 Superseded, create b Outdated",
			want: []string{"a: surging>update delete Superseded a1", "b: outdated>update surge Outdated S"},
		},
		{
			name: "begun in place", why: "T8: an approval is taken back, and what was begun finishes", spec: append(rings(approval), kit.InPlaceOnly()),
			fleet: []spot{in(on("a", oldPod(updatable, kit.PodLabel(lifecycle.StateLabel, "PreparingUpdate"))), "0")}, acts: "patch a0/status Begun, patch a0 Begun",
			want: []string{"a: outdated>update update Begun a0 U"},
		},
		{
			name: "leaving through its hook", why: "T8, L2: taken back, because it would come back as it was", spec: rings(approval),
			fleet: []spot{in(on("a", oldPod(kit.PodLabel(lifecycle.StateLabel, "PreparingDelete"))), "0")}, acts: "patch a0 TakenBack",
			want: []string{"a: outdated>held patch TakenBack a0 approval U"},
		},
	}
}

// TestStagesAreRemembered: the frontier goes from plan to plan, and is on the revision, for the time when the memory is lost.
func TestStagesAreRemembered(t *testing.T) {
	rings := kit.Stages(ring("0", soak(time.Hour)), ring("1"))
	l := newLab(rings).add(on("a", newPod()).with(kit.Label("ring", "0")), on("b", oldPod()).with(kit.Label("ring", "1")))
	plan := l.plan(t)
	want := rollout.Record{
		Revision: l.update, Began: kit.Noon(), Frontier: stage.Frontier{
			Stage: "ring-0", At: kit.Noon(), Layout: stage.Layout(l.spec.Strategy.Policy.Stages, 0),
		},
	}
	if diff := cmp.Diff(want, plan.Memory.Rollout); diff != "" {
		t.Errorf("the record, -want +got:\n%s", diff)
	}
	if want := kit.Noon().Add(time.Hour); !plan.NextWake.Equal(want) {
		t.Errorf("the plan wakes at %v, want %v, when ring-1 is opened", plan.NextWake, want)
	}
	if len(plan.Revisions) != 1 {
		t.Fatalf("revisions: %+v, want the mark of the frontier, and none of the base, which is not on every node", plan.Revisions)
	}
	mark := plan.Revisions[0].Annotations[history.FrontierAnnotation]
	if got := stage.ReadAnnotation(mark, 2); !got.IsAt(want.Frontier) || !got.At.Equal(want.Frontier.At) {
		t.Errorf("the mark is %s, want the frontier of the memory", mark)
	}
	if plan.Status.State != status.Updating || plan.Status.Reason != status.StageSoaking {
		t.Errorf("status %v, %v; want Updating, StageSoaking", plan.Status.State, plan.Status.Reason)
	}

	// The memory is lost an hour later: the mark knows when ring-0 was done, so that ring-1 opens.
	for _, r := range l.snapshot.Revisions {
		if r.Name == plan.Revisions[0].Name {
			r.Annotations = plan.Revisions[0].Annotations
		}
	}
	forgetful := *l
	forgetful.snapshot.Now = kit.Noon().Add(time.Hour)
	if got := forgetful.plan(t); len(got.Parts) < 2 || got.Parts[1].Phase != stage.Open || !got.Parts[0].Done.Equal(kit.Noon()) {
		t.Errorf("with the mark alone, parts %+v, want ring-1 open as if nothing was lost", got.Parts)
	}

	// The next revision has stages of its own.
	l.snapshot.Memory = plan.Memory
	third := l.spec.Default()
	kit.Image("agent:v3")(&third)
	l.spec, l.snapshot.Revisions = third, append(l.snapshot.Revisions, kit.Revision(third, 3))
	plan = l.plan(t)
	if !plan.Memory.Rollout.Frontier.At.IsZero() {
		t.Errorf("the record of the next revision is %+v, want no frontier", plan.Memory.Rollout)
	}
}

// TestPartsAreDated: only of the part at the frontier is it known when it was done, also if no node is in that part any more.
func TestPartsAreDated(t *testing.T) {
	in := func(s spot, zone string) spot { return s.with(kit.Label("zone", zone)) }
	zones := kit.Stages(stage.Stage{Name: "zones", Key: "zone", Soak: time.Hour})
	l := newLab(zones).add(in(on("a", newPod()), "1"), in(on("b", newPod()), "2"), in(on("c", oldPod()), "4"))
	for _, tt := range []struct{ at, want string }{
		{"2", "1 Done false, 2 Soaking true, 4 Waiting false"}, {"3", "1 Done false, 2 Done false, 4 Waiting false"},
	} {
		at("zones", tt.at, time.Minute)(l)
		var got []string
		for _, p := range l.plan(t).Parts {
			got = append(got, fmt.Sprint(p.Value, " ", p.Phase, " ", !p.Done.IsZero()))
		}
		if is := strings.Join(got, ", "); is != tt.want {
			t.Errorf("frontier at %s: parts %s, want %s", tt.at, is, tt.want)
		}
	}
}

// TestStagesAreThoseOfTheSpec: with the Reading of a plan for other stages, a plan goes by its own ones, though each node is in the
// same part.
func TestStagesAreThoseOfTheSpec(t *testing.T) {
	plan := func(s stage.Stage, reading *rollout.Reading) rollout.Plan {
		l := newLab(kit.Stages(s, ring("1"))).add(in(on("a", newPod()), "0"), in(on("b", newPod(kit.Unready())), "0"), in(on("c", oldPod()), "1"))
		at("ring-0", "", time.Minute)(l)
		l.snapshot.Reading = reading
		return l.plan(t)
	}
	before := plan(ring("0"), nil)
	for name, change := range map[string]func(*stage.Stage){
		"soak": soak(time.Hour), "name": func(s *stage.Stage) { s.Name = "other" }, "tolerance": tolerance("1"), "approval": approval,
	} {
		other := ring("0", change)
		if diff := cmp.Diff(plan(other, nil), plan(other, before.Reading)); diff != "" {
			t.Errorf("%s: the plan differs with a Reading for stages before the change:\n%s", name, diff)
		}
	}
}

// TestStagesAreTakenOutOfTheSpec: with the Reading of a plan for stages, a plan without any knows one part, which is the fleet.
func TestStagesAreTakenOutOfTheSpec(t *testing.T) {
	l := newLab(kit.Stages(stage.Stage{Name: "zones", Key: "zone", Soak: time.Hour})).
		add(on("a", newPod()).with(kit.Label("zone", "1")), on("b", oldPod()).with(kit.Label("zone", "2")))
	completed("old")(l)
	before := l.plan(t)
	l.spec.Strategy.Policy.Stages = nil
	want := l.plan(t)
	l.snapshot.Reading = before.Reading
	if diff := cmp.Diff(want, l.plan(t)); diff != "" {
		t.Errorf("the plan differs:\n%s", diff)
	}
}

// TestPartsThatAreGoneSayNothing: a part that a Reading knows and no node is in any more changes nothing.
func TestPartsThatAreGoneSayNothing(t *testing.T) {
	zones := kit.Stages(stage.Stage{Name: "zones", Key: "zone", Soak: time.Hour})
	plan := func(second string, reading *rollout.Reading) rollout.Plan {
		l := newLab(zones).add(on("a", newPod()).with(kit.Label("zone", "1")), on("b", newPod()).with(kit.Label("zone", second)),
			on("c", oldPod()).with(kit.Label("zone", "3")))
		at("zones", "2", time.Minute)(l)
		l.snapshot.Reading = reading
		return l.plan(t)
	}
	if diff := cmp.Diff(plan("1", nil), plan("1", plan("2", nil).Reading)); diff != "" {
		t.Errorf("the plan differs:\n%s", diff)
	}
}

// TestStagesAreChanged: what is remembered of how far the stages are counts only while the stages up to there are the same. Else
// a part that was never done, nor approved, would be open.
func TestStagesAreChanged(t *testing.T) {
	first, second := ring("0"), ring("1", approval)
	for _, tt := range []struct {
		name, why string
		stages    []stage.Stage
		want      string
	}{
		{"nothing", "the rest waits for its turn", []stage.Stage{first, second}, "ring-0 Done, ring-1 Approving,  Waiting"},
		{"one behind", "what comes later is not done anyway", []stage.Stage{first, second, ring("2")}, "ring-0 Done, ring-1 Approving, ring-2 Skipped,  Waiting"},
		{"the order", "ring-1 was never done", []stage.Stage{second, first}, "ring-1 Approving, ring-0 Waiting,  Waiting"},
		{"one before", "it was never done", []stage.Stage{{Name: "new", Selector: &metav1.LabelSelector{}, Approval: true}, first}, "new Approving, ring-0 Skipped"},
	} {
		l := newLab(kit.Stages(first, second)).add(in(on("a", newPod()), "0"), in(on("b", oldPod()), "1"), on("c", oldPod()))
		l.snapshot.Memory = l.plan(t).Memory
		l.spec.Strategy.Policy.Stages = tt.stages
		plan := l.plan(t)
		var got []string
		for _, p := range plan.Parts {
			got = append(got, p.Stage+" "+p.Phase.String())
		}
		if is := strings.Join(got, ", "); is != tt.want {
			t.Errorf("%s changed: %s, want %s: %s", tt.name, is, tt.want, tt.why)
		}
		for _, v := range verify.Plan(l.spec, l.snapshot, &plan) {
			t.Errorf("%s changed: %v", tt.name, v)
		}
	}
}

// TestStagesReadInWords: what a node of a part that is not open waits for.
func TestStagesReadInWords(t *testing.T) {
	label := func(s spot, key, value string) spot { return s.with(kit.Label(key, value)) }
	zones := stage.Stage{Name: "zones", Key: "zone", Soak: time.Hour}
	zone := func(s spot, value string) spot { return label(s, "zone", value) }
	tests := []struct {
		name, why string
		spec      []kit.SpecOption
		fleet     []spot
		set       func(*lab)
		node      string
		explains  string
		waits     string
	}{
		{
			"not done", "who keeps the part before", []kit.SpecOption{kit.Stages(zones)},
			[]spot{zone(on("a", newPod(kit.Unready(), young)), "x"), zone(on("b", oldPod()), "y"), zone(on("c", oldPod()), "z")}, nil, "c",
			"c: outdated; waits: its pod c0 is outdated, but stage zones (z) is not open: stage zones (x) comes first, and is not done: a",
			"2 nodes wait: stage zones (x) comes first, and is not done: a (b, c)",
		},
		{
			"soaks", "when it is opened", []kit.SpecOption{kit.Stages(zones)},
			[]spot{zone(on("a", newPod()), "x"), zone(on("b", oldPod()), "y")}, nil, "b",
			"b: outdated; waits: its pod b0 is outdated, but stage zones (y) is not open: it opens when the part before has soaked, at 2026-01-01T13:00:00Z",
			"1 node waits: stage zones (y) opens when the part before has soaked, at 2026-01-01T13:00:00Z (b)",
		},
		{
			"approval", "what somebody has to do", []kit.SpecOption{kit.Stages(ring("0", approval))},
			[]spot{label(on("a", oldPod()), "ring", "0"), on("b", oldPod())}, nil, "a",
			"a: outdated; waits: its pod a0 is outdated, but stage ring-0 is not open: it needs an approval for this revision",
			"1 node waits: stage ring-0 comes first, and needs an approval for this revision (b)",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(tt.spec...).add(tt.fleet...)
			if tt.set != nil {
				tt.set(l)
			}
			plan := l.plan(t)
			if got := plan.Explain(tt.node); got != tt.explains {
				t.Errorf("explains\n got: %s\nwant: %s\n why: %s", got, tt.explains, tt.why)
			}
			if got := plan.Waits(); len(got) == 0 || got[0].String() != tt.waits {
				t.Errorf("waits\n got: %v\nwant: %s\n why: %s", got, tt.waits, tt.why)
			}
		})
	}
}
