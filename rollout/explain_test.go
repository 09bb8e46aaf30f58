package rollout_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// What Explain says of nodes that the spec holds, and of pods in the middle of an update or of a hook.
func TestExplainHoldsAndSteps(t *testing.T) {
	inPlace := method(inplace.IfPossible)
	tests := []struct {
		scene
		says string // of node "a"
	}{
		{scene{name: "partition", why: "T2: with its places", spec: []kit.SpecOption{partition("1")}, fleet: []spot{on("a", oldPod())}},
			`a: outdated; is held: its pod a0 is outdated, but partition 1: 1 of 1 places taken`},
		{scene{name: "selector", why: "T3: as kubectl spells it", spec: []kit.SpecOption{nodeType("canary")}, fleet: []spot{on("a", oldPod())}},
			`a: outdated; is held: its pod a0 is outdated, but selector nodeType=canary does not match the node`},
		{scene{name: "in place only, the pod", why: "I1, I3", spec: []kit.SpecOption{method(inplace.Only)}, fleet: []spot{on("a", oldPod())}},
			`a: outdated; is held: its pod a0 is outdated, but the method is InPlaceOnly: no readiness gate InPlaceUpdateReady`},
		{scene{name: "not in place, the pod", why: "I1, I3", spec: []kit.SpecOption{inPlace}, fleet: []spot{on("a", oldPod())}},
			`a: outdated; replace pod a0: the pod is outdated, and the budget allows it; not in place: no readiness gate ` +
				`InPlaceUpdateReady; counts against maxUnavailable`},
		{scene{name: "not in place, the revision", why: "I1, I3", spec: []kit.SpecOption{inPlace}, fleet: []spot{on("a", podAt("lost", updatable))}},
			`a: outdated; replace pod a0: the pod is outdated, and the budget allows it; not in place: the history has no readable revision "lost"; ` +
				`counts against maxUnavailable`},
		{scene{name: "not in place, and no budget", why: "I3: it is known before", spec: []kit.SpecOption{inPlace}, fleet: []spot{on("a", oldPod()), on("b")}},
			`a: outdated; waits: its pod a0 is outdated, but maxUnavailable 1 is used up by b; not in place: no readiness gate InPlaceUpdateReady`},
		{scene{name: "in place", why: "I4", spec: []kit.SpecOption{inPlace}, fleet: []spot{on("a", oldPod(updatable))}},
			`a: outdated; update pod a0 in place: the pod is outdated, and the budget allows it; counts against maxUnavailable`},
		{scene{name: "grace", why: "I4: with the instant", spec: []kit.SpecOption{inPlace, grace}, fleet: []spot{on("a", oldPod(inGrace(ago(0))))}},
			`a: outdated; waits: pod a0 was made unready, and is updated in place after the grace period, until 2026-01-01T12:00:30Z; ` +
				`counts against maxUnavailable`},
		{scene{name: "updating", why: "I5", spec: []kit.SpecOption{inPlace}, fleet: []spot{on("a", newPod(updatingSince(ago(0))))}},
			`a: starting; waits: pod a0 is being updated in place; counts against maxUnavailable`},
		{scene{name: "complete", why: "I4", spec: []kit.SpecOption{inPlace}, fleet: []spot{on("a", newPod(restarted(ago(0))))}},
			`a: starting; patch pod a0: an in-place update or a hook goes on; counts against maxUnavailable`},
		{scene{name: "asked", why: "L2", spec: []kit.SpecOption{draining}, fleet: []spot{on("a", oldPod(hooked))}},
			`a: outdated; prepare pod a0: the pod is outdated, and the budget allows it; counts against maxUnavailable`},
		{scene{name: "preDelete", why: "L2", spec: []kit.SpecOption{draining}, fleet: []spot{on("a", oldPod(hooked, asked))}},
			`a: terminating; waits: pod a0 is to be deleted, and waits for its preDelete hook; counts against maxUnavailable`},
		{scene{name: "let go", why: "L2", spec: []kit.SpecOption{draining}, fleet: []spot{on("a", oldPod(asked))}},
			`a: terminating; delete pod a0: the pod is to leave, and no preDelete hook holds it; counts against maxUnavailable`},
		{scene{name: "taken back", why: "L2", spec: []kit.SpecOption{draining}, fleet: []spot{on("a", newPod(hooked, asked))}},
			`a: updated; patch pod a0: pod a0 was to be deleted or updated, and is not any more; counts against maxUnavailable`},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			if got := new(tt.lab().plan(t)).Explain("a"); got != tt.says {
				t.Errorf("\n got: %s\nwant: %s\n why: %s", got, tt.says, tt.why)
			}
		})
	}
}

// What Explain says while a revision is tried, while a rollout gathers speed, and of nodes left out of the budgets.
func TestExplainCanary(t *testing.T) {
	one := []kit.SpecOption{kit.Canary("1")}
	slow := []kit.SpecOption{kit.MaxUnavailable("100%"), kit.SlowStart(time.Minute, "1", "9")}
	tests := []struct {
		scene
		says string // of node "a"
	}{
		{scene{name: "elsewhere", why: "T6", spec: one, fleet: []spot{on("a", oldPod()), on("b", newPod())}},
			`a: stable; nothing to do: its pod is at the stable revision and available, while the update revision is tried on other nodes`},
		{scene{name: "paused", why: "C7", spec: one, set: paused("b"), fleet: []spot{on("a", oldPod()), on("b", trialPod())}},
			`a: stable; nothing to do: its pod is at the stable revision and available, while the canary is paused`},
		{scene{name: "failed", why: "C7", spec: one, set: failedRevision, fleet: []spot{on("a", oldPod())}},
			`a: stable; nothing to do: its pod is at the stable revision and available, as the update revision has failed`},
		{scene{name: "failed, and none before it", why: "C7: with nothing to go back to nothing moves", spec: one, set: func(l *lab) {
			failedRevision(l)
			l.snapshot.Revisions = l.snapshot.Revisions[1:]
		}, fleet: []spot{on("a", podAt("lost"))}},
			`a: outdated; is held: its pod a0 is outdated, but the update revision has failed, and there is none to go back to`},
		{scene{name: "nowhere", why: "C1", spec: []kit.SpecOption{kit.Canary("1"), kit.CanaryOn("canary", "yes")}, fleet: []spot{on("a", oldPod())}},
			`a: stable; nothing to do: its pod is at the stable revision and available, while the canary of the update revision has no node`},
		{scene{name: "of the stable revision", why: "T6: its pod is not at the update revision", spec: one, set: failedRevision,
			fleet: []spot{on("a", oldPod(kit.Unready(), young))}},
			`a: starting; waits: pod a0 of the stable revision is not ready yet; counts against maxUnavailable`},
		{scene{name: "a canary node", why: "C1", spec: one, fleet: []spot{on("a", oldPod()), on("b", oldPod())}},
			`a: outdated; replace pod a0: the pod is outdated, and the budget allows it; counts against maxUnavailable; is a canary node`},
		{scene{name: "the label", why: "after the promotion", spec: one, set: withMark("update", history.PromotedAnnotation, "x"), fleet: []spot{on("a", trialPod())}},
			`a: updated; patch pod a0: the canary label is put on its pod, or taken off`},
		{scene{name: "slow start", why: "B7: missing", spec: slow, fleet: []spot{on("a"), on("b", newPod(kit.Created(ago(0)), kit.Unready()))}},
			`a: missing; waits: slow start allows 1 under way now, and 1 were before this plan; counts against maxUnavailable`},
		{scene{name: "slow start, outdated", why: "B7: to be replaced", spec: slow, fleet: []spot{on("a", oldPod()), on("b", oldPod())}},
			`a: outdated; waits: its pod a0 is outdated, but slow start allows 1 under way now, and 0 were before this plan`},
		{scene{name: "paused, and to be replaced", why: "C7", spec: []kit.SpecOption{kit.Canary("1"), big("2")}, set: paused("a"),
			fleet: []spot{on("a", trialPod()).with(kit.Label("size", "big")), on("b", oldPod())}},
			`a: outdated; is held: its pod a0 has other resources than are wanted on the node, but the canary is paused, and replaces nothing; ` +
				`is a canary node`},
		{scene{name: "overridden, at the stable revision", why: "P8, T6", spec: []kit.SpecOption{kit.Canary("1"), big("2")}, set: tryingOn("b"),
			fleet: []spot{on("a", oldPod()).with(kit.Label("size", "big")), on("b", trialPod())}},
			`a: outdated; replace pod a0: the pod has other resources than are wanted on the node, and the budget allows it; ` +
				`counts against maxUnavailable`},
		{scene{name: "left out", why: "B8", spec: []kit.SpecOption{kit.MaxUnschedulable("1")}, fleet: []spot{on("a", unschedulable())}},
			`a: failing; waits: pod a0 of the update revision is not ready yet: Unschedulable, since 2026-01-01T11:00:00Z; is left out of the budget by maxUnschedulable`},
		{scene{name: "down before", why: "B9: the cause, what ends it, and how many more there may be",
			spec: []kit.SpecOption{kit.MaxExempt("2"), kit.Tolerating("", "")}, set: func(l *lab) {
				l.snapshot.Memory = rollout.Memory{Version: rollout.MemoryVersion, Rollout: rollout.Record{Revision: l.update, Began: kit.Noon()}}
			}, fleet: []spot{on("a").with(kit.NotReady())}},
			`a: missing; create a pod: the node is eligible and has no pod; is left out of the budget until the node is back: ` +
				`it is down or departing, and its update is not the cause (maxExempt 2, 1 used)`},
		{scene{name: "departing", why: "M8: the cause, and what ends it", spec: []kit.SpecOption{kit.MaxExempt("0")},
			fleet: []spot{on("a", oldPod()).with(kit.Taint("karpenter.sh/disrupted", "", corev1.TaintEffectPreferNoSchedule))}},
			`a: outdated; waits: its pod a0 is outdated, but the node is leaving the cluster or under maintenance: nothing is begun there ` +
				`until that ends`},
		{scene{name: "departing, without a pod", why: "M8: the same of repair", spec: []kit.SpecOption{kit.MaxExempt("0")},
			fleet: []spot{on("a").with(kit.Taint("karpenter.sh/disrupted", "", corev1.TaintEffectPreferNoSchedule))}},
			`a: missing; waits: the node is leaving the cluster or under maintenance: no pod is created or deleted there until that ends; ` +
				`counts against maxUnavailable`},
		{scene{name: "overridden", why: "P8, I1", spec: []kit.SpecOption{big("2"), kit.InPlaceIfPossible()}, fleet: []spot{on("a", newPod(updatable)).with(kit.Label("size", "big"))}},
			`a: outdated; replace pod a0: the pod has other resources than are wanted on the node, and the budget allows it; not in place: ` +
				`its resources are overridden on its node, and have to change; counts against maxUnavailable`},
		{scene{name: "malformed", why: "P8: reported where it is", set: func(l *lab) { kit.ResourcesFor(l.spec, "main", "?")(l.snapshot.Nodes[0]) },
			fleet: []spot{on("a", newPod())}},
			`a: updated; nothing to do: its pod is at the update revision and available; its annotation for container main is ignored: ` +
				`not valid JSON`},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			if got := new(tt.lab().plan(t)).Explain("a"); got != tt.says {
				t.Errorf("\n got: %s\nwant: %s\n why: %s", got, tt.says, tt.why)
			}
		})
	}
}

// What waits for slow start is one group, with the limit.
func TestWaitsForSlowStart(t *testing.T) {
	l := newLab(kit.MaxUnavailable("100%"), kit.SlowStart(time.Minute, "1", "9")).add(on("a", oldPod()), on("b", oldPod()), on("c", oldPod()))
	want := []rollout.WaitingNodes{{Reason: rollout.ReasonBudget, Limit: rollout.LimitSlowStart, Size: 1, Nodes: []string{"a", "b"}}}
	got := new(l.plan(t)).Waits()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("-want +got:\n%s", diff)
	}
	if got, want := got[0].String(), "2 nodes wait: slow start allows 1 under way now (a, b)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The first obstacle is named by its field path, the others are counted.
func TestExplainNamesTheObstacle(t *testing.T) {
	l := newLab(method(inplace.IfPossible), func(s *rollout.Spec) {
		c := &s.Template.Spec.Containers[0]
		c.Env = []corev1.EnvVar{{Name: "LEVEL", Value: "info"}}
		c.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	})
	// The old revision has the same spec as the new one, but for its image; make it differ further.
	old := l.spec.Default()
	kit.Image("agent:v1")(&old)
	old.Template.Spec.Containers[0].Env = nil
	old.Template.Spec.Containers[0].Command = []string{"run"}
	l.snapshot.Revisions[0] = kit.Revision(old, 1)
	l.old = kit.Hash(old)
	l.add(on("a", oldPod(updatable)))
	says := new(l.plan(t)).Explain("a")
	if want := "not in place: spec.containers[main].command[0]: "; !strings.Contains(says, want) {
		t.Errorf("got %s, want it to contain %q", says, want)
	}
	if want := ", and 1 more"; !strings.Contains(says, want) {
		t.Errorf("got %s, want it to contain %q: an environment variable was added, too", says, want)
	}
}

func TestExplainPartitionedScaling(t *testing.T) {
	says := new(firstInstallation(partition("2")).add(on("a")).plan(t)).Explain("a")
	want := "a: missing; is held: partition 2: a first installation leaves as many nodes empty; counts against maxUnavailable"
	if says != want {
		t.Errorf("\n got: %s\nwant: %s", says, want)
	}
}

// Of several malformed annotations each node is told its own (P8).
func TestExplainMalformed(t *testing.T) {
	l := newLab().add(on("a", newPod()), on("b", newPod()), on("c", newPod()))
	for i, value := range []string{"?", "[]", `{"limit":{}}`} {
		kit.ResourcesFor(l.spec, "main", value)(l.snapshot.Nodes[i])
	}
	plan := l.plan(t)
	for node, problem := range map[string]string{
		"a": "not valid JSON", "b": "not an object", "c": `field "limit" is unknown`,
	} {
		want := node + `: updated; nothing to do: its pod is at the update revision and available; its annotation for container main is ignored: ` + problem
		if got := plan.Explain(node); got != want {
			t.Errorf("\n got: %s\nwant: %s", got, want)
		}
	}
}

// A pod whose node is gone is explained once, also if there is no node at all.
func TestExplainVanished(t *testing.T) {
	want := "a: vanished; nothing to do: the pod's node does not exist, which is for the pod garbage collector to mend"
	if got := new(newLab().add(gone("a", newPod())).plan(t)).Explain("a"); got != want {
		t.Errorf("\n got: %s\nwant: %s", got, want)
	}
}

// A plan that somebody else has put together, and left something out of, is explained as far as it goes.
func TestExplainIncompletePlan(t *testing.T) {
	held := rollout.Decision{
		Node: "a", Pod: "a0", State: rollout.StateOutdated, Verb: rollout.VerbHold, Reason: rollout.ReasonHeld,
		Limit: rollout.LimitInPlaceOnly,
	}
	tests := []struct {
		name, why string
		diff      *rollout.RevisionDiff
	}{
		{"no diff", "what the decision refers to is not there", nil},
		{"no update", "the diff does not say what would change", &rollout.RevisionDiff{From: "x", To: "y"}},
		{"no obstacle", "the diff does not say what is in the way", &rollout.RevisionDiff{Update: &inplace.Update{}}},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			held.Diff = tt.diff
			plan := rollout.Plan{Decisions: []rollout.Decision{held}}
			if got, want := plan.Explain("a"), "a: outdated; is held: its pod a0 is outdated, but the method is InPlaceOnly: "; !strings.HasPrefix(got, want) {
				t.Errorf("got %s, want it to begin with %q: %s", got, want, tt.why)
			}
		})
	}
}
