package rollout_test

import (
	"encoding"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// Every value of every enumeration has one name, and a value that was never declared reads "unknown".
func TestStringsAreExhaustive(t *testing.T) {
	tests := []struct {
		name, why string
		text      func(uint8) string
		want      []string
	}{
		{"State", "in the order of the constants", func(v uint8) string { return rollout.NodeState(v).String() }, []string{
			"ineligible", "leaving", "kept", "missing", "terminating", "broken", "starting", "updated", "stable",
			"outdated", "surging",
			"vanished", "unattributed",
		}},
		{"Target", "in the order of the constants", func(v uint8) string { return rollout.Target(v).String() },
			[]string{"none", "update", "stable", "base", "held"}},
		{"Verb", "in ascending importance", func(v uint8) string { return rollout.Verb(v).String() },
			[]string{"none", "wait", "hold", "patch", "delete", "create", "prepare", "replace", "update", "surge"}},
		{"Limit", "as the spec calls them", func(v uint8) string { return rollout.Limit(v).String() }, []string{
			"none", "maxUnavailable", "maxSurge", "burst", "backoff", "minReadySeconds", "desired", "paused", "frozen", "onDelete",
			"partition", "nodeSelector", "declaredFeatures", "inPlaceOnly", "hook", "gracePeriodSeconds", "canary", "slowStart", "departing", "draining", "stage", "soak", "approval", "failures", "domain",
		}},
		{"Exemption", "in the order of the rules", func(v uint8) string { return rollout.Exemption(v).String() },
			[]string{"none", "unschedulable", "out", "quarantined"}},
		{"RevisionVerb", "in the order of the constants", func(v uint8) string { return rollout.RevisionVerb(v).String() },
			[]string{"create", "renumber", "annotate", "delete"}},
		{"Reason", "the names of the constants", func(v uint8) string { return rollout.Reason(v).String() }, []string{
			"None", "Ineligible", "Kept", "UpToDate", "Stable", "Missing", "BesideTerminating", "Leaving", "Failed", "Succeeded", "Surplus",
			"Superseded", "NotReadyBesideNew", "UnschedulableBesideReady", "NodeGone", "DuplicateRevision", "CanaryLabel", "Released", "NewPod", "InPlaceUnfinished",
			"TakenBack", "OutdatedNotReady", "OutdatedFailed", "Outdated", "Begun",
			"NotReady", "MinReadySeconds", "Terminating", "Requested", "Backoff", "Budget", "Burst", "SlowStart", "Serving", "Held",
			"PartitionedScaling", "RevisionUnreadable", "PreDelete", "PreNormal", "PutBack", "UpdateHook", "Prepared", "GracePeriod", "InPlaceUnreadable", "Updating",
			"Frozen", "Vanished", "Unattributable", "Gated", "RepairFirst", "Departing",
		}},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			seen := map[string]bool{}
			for v := range 256 {
				want := "unknown"
				if v < len(tt.want) {
					want = tt.want[v]
				}
				got := tt.text(uint8(v))
				if got != want {
					t.Errorf("%d reads %q, want %q (%s)", v, got, want, tt.why)
				}
				if got != "unknown" && seen[got] {
					t.Errorf("%d reads %q, as another does", v, got)
				}
				seen[got] = true
			}
		})
	}
	// The last constants of each, so that a new one cannot be added without its name above.
	last := []string{
		rollout.StateUnattributed.String(), rollout.TargetHeld.String(), rollout.VerbSurge.String(),
		rollout.LimitDomain.String(), rollout.DeleteRevision.String(), rollout.ReasonDeparting.String(),
		rollout.ExemptionQuarantined.String(),
	}
	if diff := cmp.Diff([]string{"unattributed", "held", "surge", "domain", "delete", "Departing", "quarantined"}, last); diff != "" {
		t.Errorf("last constants, -want +got:\n%s", diff)
	}
}

// A reason that was stored is read back, and what is none is an error.
func TestReasonUnmarshalText(t *testing.T) {
	for v := range rollout.ReasonDeparting + 1 {
		read := rollout.ReasonDeparting
		if err := read.UnmarshalText([]byte(v.String())); err != nil || read != v {
			t.Errorf("%v is read as %v, error %v", v, read, err)
		}
	}
	for _, text := range []string{"", "none", "unknown", "Outdated "} {
		read := rollout.ReasonDeparting
		if err := read.UnmarshalText([]byte(text)); err == nil || read != rollout.ReasonNone {
			t.Errorf("%q is read as %v, error %v", text, read, err)
		}
	}
}

// The text form is the name, and a value that was never declared has none.
func TestMarshalText(t *testing.T) {
	tests := []struct {
		name, why string
		of        func(uint8) encoding.TextMarshaler
		last      uint8
	}{
		{"State", "all up to the last", func(v uint8) encoding.TextMarshaler { return rollout.NodeState(v) }, uint8(rollout.StateUnattributed)},
		{"Target", "all up to the last", func(v uint8) encoding.TextMarshaler { return rollout.Target(v) }, uint8(rollout.TargetHeld)},
		{"Verb", "all up to the last", func(v uint8) encoding.TextMarshaler { return rollout.Verb(v) }, uint8(rollout.VerbSurge)},
		{"Limit", "all up to the last", func(v uint8) encoding.TextMarshaler { return rollout.Limit(v) }, uint8(rollout.LimitDomain)},
		{"Reason", "all up to the last", func(v uint8) encoding.TextMarshaler { return rollout.Reason(v) }, uint8(rollout.ReasonDeparting)},
		{"Exemption", "all up to the last", func(v uint8) encoding.TextMarshaler { return rollout.Exemption(v) }, uint8(rollout.ExemptionQuarantined)},
		{"RevisionVerb", "all up to the last", func(v uint8) encoding.TextMarshaler { return rollout.RevisionVerb(v) },
			uint8(rollout.DeleteRevision)},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			for v := range 256 {
				code := tt.of(uint8(v))
				text, err := code.MarshalText()
				if declared := v <= int(tt.last); (err == nil) != declared {
					t.Errorf("%d gives %q and error %v, want an error exactly beyond %d", v, text, err, tt.last)
				}
				if err == nil && string(text) != fmt.Sprint(code) || err != nil && text != nil {
					t.Errorf("%d gives %q, want %q", v, text, code)
				}
			}
		})
	}
}

// Every state, target, verb, reason and limit is one that some scene of the tables leads to: a code that nothing
// reaches is dead, or missing from the tests.
func TestEveryCodeIsReached(t *testing.T) {
	var scenes []scene
	for _, list := range [][]scene{
		missingScenes(), finishedScenes(), surplusScenes(), notEligibleScenes(), strayScenes(),
		unavailableScenes(), maxUnavailableScenes(), maxSurgeScenes(), burstScenes(),
		partitionScenes(), selectorScenes(), undeclaredScenes(), holdRevisionScenes(), preDeleteScenes(), preNormalScenes(), inPlaceScenes(),
		canaryScenes(), canaryJoinedScenes(), slowStartScenes(), roomScenes(), outageScenes(), departingScenes(), domainScenes(), stageScenes(), failureScenes(),
	} {
		scenes = append(scenes, list...)
	}
	states, targets, verbs := map[rollout.NodeState]bool{}, map[rollout.Target]bool{}, map[rollout.Verb]bool{}
	reasons, limits := map[rollout.Reason]bool{}, map[rollout.Limit]bool{}
	note := func(plan rollout.Plan) {
		for _, d := range plan.Decisions {
			states[d.State], targets[d.Target], verbs[d.Verb] = true, true, true
			reasons[d.Reason], limits[d.Limit] = true, true
		}
	}
	for _, s := range scenes {
		note(s.lab().plan(t))
	}
	twins := newLab().add(on("a", podAt(twin)))
	twins.numbered(t, numbered{"update", 2}, numbered{"twin", 1})
	note(twins.plan(t))
	note(unreadable().plan(t))
	note(firstInstallation(partition("1")).add(on("a")).plan(t))

	for v := rollout.NodeState(0); v.String() != "unknown"; v++ {
		if !states[v] {
			t.Errorf("no scene leads to state %s", v)
		}
	}
	for v := rollout.Target(0); v.String() != "unknown"; v++ {
		if !targets[v] {
			t.Errorf("no scene leads to target %s", v)
		}
	}
	for v := rollout.Verb(0); v.String() != "unknown"; v++ {
		if !verbs[v] {
			t.Errorf("no scene leads to verb %s", v)
		}
	}
	for v := rollout.Limit(0); v.String() != "unknown"; v++ {
		if !limits[v] {
			t.Errorf("no scene leads to limit %s", v)
		}
	}
	for v := rollout.Reason(0); v.String() != "unknown"; v++ {
		if want := v != rollout.ReasonNone && v != rollout.ReasonRepairFirst; reasons[v] != want { // the latter is of package stock
			t.Errorf("reason %s is reached: %v, want %v: no decision is without reason", v, reasons[v], want)
		}
	}
}

// What Explain says for each reason, and for each number and name that a reason is rendered with.
func TestExplain(t *testing.T) {
	surge := []kit.SpecOption{kit.MaxSurge("1")}
	tests := []struct {
		scene
		says string // of node "a"
	}{
		{scene{name: "Ineligible", why: "P5: the verdict", fleet: []spot{on("a").leave()}},
			`a: ineligible; nothing to do: taint gone:NoExecute is not tolerated`},
		{scene{name: "Kept", why: "P5: the verdict, and what follows", fleet: []spot{on("a", newPod()).keep()}},
			`a: kept; nothing to do: taint full:NoSchedule is not tolerated, but a pod that runs may stay`},
		{scene{name: "UpToDate", why: "nothing is left", fleet: []spot{on("a", newPod())}},
			`a: updated; nothing to do: its pod is at the update revision and available`},
		{scene{name: "Missing", why: "M1", fleet: []spot{on("a")}},
			`a: missing; create a pod: the node is eligible and has no pod; counts against maxUnavailable`},
		{scene{name: "BesideTerminating", why: "M1", spec: surge, fleet: []spot{on("a", newPod(terminating()))}},
			`a: terminating; create a pod: the node's pods are terminating, and maxSurge lets the new one start at once; holds a place of maxSurge`},
		{scene{name: "Leaving", why: "M4: the pod is named", fleet: []spot{on("a", newPod()).leave()}},
			`a: leaving; delete pod a0: taint gone:NoExecute is not tolerated`},
		{scene{name: "Leaving, two pods", why: "several pods are counted", fleet: []spot{on("a", newPod(), newPod()).leave()}},
			`a: leaving; delete 2 pods: taint gone:NoExecute is not tolerated`},
		{scene{name: "Failed", why: "M2", fleet: []spot{on("a", newPod(kit.Failed()))}},
			`a: broken; delete pod a0: the pod has failed; counts against maxUnavailable`},
		{scene{name: "Succeeded", why: "M2", fleet: []spot{on("a", newPod(kit.Succeeded()))}},
			`a: broken; delete pod a0: the pod has ended, and a daemon pod is to run for ever; counts against maxUnavailable`},
		{scene{name: "Surplus", why: "M3", fleet: []spot{on("a", newPod(), newPod())}},
			`a: updated; delete pod a1: another pod of the node was chosen to stay`},
		{scene{name: "Superseded", why: "M3", fleet: []spot{on("a", newPod(), oldPod())}},
			`a: surging; delete pod a1: the pod of the update revision is available`},
		{scene{name: "UnschedulableBesideReady", why: "M3", fleet: []spot{on("a", oldPod(), newPod(kit.Unscheduled("a", ago(time.Minute))))}},
			"a: surging; delete pod a1: the scheduler finds no place for it beside the outdated pod, which is ready; it comes back when that is updated"},
		{scene{name: "NotReadyBesideNew", why: "M3", fleet: []spot{on("a", newPod(kit.Unready()), oldPod(kit.Unready()))}},
			`a: surging; delete pod a1: the outdated pod is not ready, and one of the update revision is there; counts against maxUnavailable`},
		{scene{name: "NodeGone", why: "M5: one line per pod", fleet: []spot{gone("a", pinned(newPod()), newPod())}},
			"a: vanished; delete pod a0: the pod is pinned to a node that does not exist\n" +
				"a: vanished; nothing to do: the pod's node does not exist, which is for the pod garbage collector to mend"},
		{scene{name: "OutdatedNotReady", why: "B3", fleet: []spot{on("a", oldPod(kit.Unready()))}},
			`a: outdated; replace pod a0: the outdated pod is not ready, so replacing it disturbs nobody; counts against maxUnavailable`},
		{scene{name: "OutdatedFailed", why: "M2", fleet: []spot{on("a", oldPod(kit.Failed()))}},
			`a: broken; replace pod a0: the outdated pod has failed, and the update revision may mend it; counts against maxUnavailable`},
		{scene{name: "Outdated", why: "B3", fleet: []spot{on("a", oldPod())}},
			`a: outdated; replace pod a0: the pod is outdated, and the budget allows it; counts against maxUnavailable`},
		{scene{name: "Outdated with surge", why: "B4", spec: surge, fleet: []spot{on("a", oldPod())}},
			`a: outdated; create a new pod beside the old one: the pod is outdated, and the budget allows it; holds a place of maxSurge`},
		{scene{name: "NotReady", why: "it is only waited for", fleet: []spot{on("a", newPod(kit.Unready(), young))}},
			`a: starting; waits: pod a0 of the update revision is not ready yet; counts against maxUnavailable`},
		{scene{name: "MinReadySeconds", why: "B5: with the instant", spec: []kit.SpecOption{kit.MinReadySeconds(60)},
			fleet: []spot{on("a", newPod(readyFor(15*time.Second)))}},
			`a: starting; waits: pod a0 of the update revision has not been ready for minReadySeconds, until 2026-01-01T12:00:45Z; counts against maxUnavailable`},
		{scene{name: "Terminating", why: "M1", fleet: []spot{on("a", newPod(terminating()))}},
			`a: terminating; waits: the node's pods are terminating; counts against maxUnavailable`},
		{scene{name: "Requested", why: "requests count as done", fleet: []spot{on("a")}, requested: []string{"a"}},
			`a: starting; waits: an earlier request is not observed yet; counts against maxUnavailable`},
		{scene{name: "Backoff", why: "M2: with the instant", fleet: []spot{on("a", newPod(kit.Failed()))},
			backoffs: []rollout.Backoff{{Node: "a", Revision: "update", Delay: time.Minute, Since: ago(0)}}},
			`a: broken; waits: pod a0 has failed, and failed pods of this node were deleted a short time ago, until 2026-01-01T12:01:00Z; counts against maxUnavailable`},
		{scene{name: "Serving", why: "M4, P5", spec: append([]kit.SpecOption{kit.TemplateNodeSelector("pool", "x")}, surge...),
			fleet: []spot{on("a", newPod()), on("b").with(kit.Label("pool", "x"))}},
			`a: leaving; waits: label pool is not "x", but its pod a0 serves until available pods outnumber desired`},
		{scene{name: "Budget", why: "B3: with the nodes that use it up", spec: []kit.SpecOption{kit.MaxUnavailable("2")},
			fleet: []spot{on("a", oldPod()), on("b"), on("c", oldPod())}},
			`a: outdated; waits: its pod a0 is outdated, but maxUnavailable 2 is used up by b, c`},
		{scene{name: "Budget of surge", why: "B4: with the nodes that hold the places", spec: surge,
			fleet: []spot{on("a", oldPod()), on("b", oldPod())}},
			`a: outdated; waits: its pod a0 is outdated, but maxSurge 1 is used up by b`},
		{scene{name: "Budget, many users", why: "the first five are named, all are counted", spec: []kit.SpecOption{kit.MaxUnavailable("2")},
			fleet: []spot{on("a", oldPod()), on("b"), on("c"), on("d"), on("e"), on("f"), on("g")}},
			`a: outdated; waits: its pod a0 is outdated, but maxUnavailable 2 is used up by b, c, d, e, f and 1 more`},
		{scene{name: "Budget of surge, many users", why: "B4: those that hold places are counted, not those that are unavailable",
			spec: []kit.SpecOption{kit.MaxSurge("2")},
			fleet: []spot{
				on("a", oldPod()), on("b"), on("c"), on("d"), on("e"), on("f"), on("g"), on("h", oldPod(), newPod(kit.Unready())),
			}},
			`a: outdated; waits: its pod a0 is outdated, but maxSurge 2 is used up by b, c, d, e, f and 2 more`},
		{scene{name: "Burst", why: "M6: with its size", spec: []kit.SpecOption{kit.Burst("1")}, fleet: []spot{on("a"), on("0")}},
			`a: missing; waits: this plan already has the 1 creates, deletes or updates in place that burst allows; counts against maxUnavailable`},
		{scene{name: "Terminating, leaving", why: "P5: the verdict, and what is waited for", fleet: []spot{on("a", newPod(terminating())).leave()}},
			`a: leaving; waits: taint gone:NoExecute is not tolerated; the node's pods are terminating`},
		{scene{name: "Terminating, gone", why: "M5: there is no node, so no verdict either", fleet: []spot{gone("a", pinned(newPod(terminating())))}},
			`a: vanished; waits: the node's pods are terminating`},
		{scene{name: "Kept and counted", why: "B2: a kept node that uses the budget up says so", fleet: []spot{on("a", newPod(kit.Unready(), young)).keep()}},
			`a: kept; nothing to do: taint full:NoSchedule is not tolerated, but a pod that runs may stay; counts against maxUnavailable`},
		{scene{name: "Kept, frozen", why: "P5, T4: the verdict, and what keeps the repair waiting", spec: []kit.SpecOption{kit.Frozen()},
			fleet: []spot{on("a", newPod(kit.Succeeded())).keep()}},
			`a: kept; waits: taint full:NoSchedule is not tolerated; the set is frozen; counts against maxUnavailable`},
		{scene{name: "OnDelete, unavailable", why: "T5: there is no budget to count against", spec: []kit.SpecOption{kit.OnDelete()},
			fleet: []spot{on("a", newPod(kit.Unready(), young))}},
			`a: starting; waits: pod a0 of the update revision is not ready yet`},
		{scene{name: "Surge of nothing", why: "B1: of no desired nodes there are no places to hold", spec: []kit.SpecOption{kit.MaxSurge("10%")},
			fleet: []spot{on("a", newPod(kit.Unready(), young)).keep()}},
			`a: kept; nothing to do: taint full:NoSchedule is not tolerated, but a pod that runs may stay`},
		{scene{name: "Failing", why: "P-A: an hour is too long, and the objects say why", fleet: []spot{on("a", newPod(crashing("CrashLoopBackOff")))}},
			`a: failing; waits: pod a0 of the update revision is not ready yet: container main: CrashLoopBackOff, last OOMKilled with exit code 137, 3 restarts, ` +
				`since 2026-01-01T12:00:00Z; counts against maxUnavailable`},
		{scene{name: "Overdue", why: "P-A: what holds a pod that should be gone", fleet: []spot{on("a", newPod(goneBy(-time.Minute), func(p *corev1.Pod) { p.Finalizers = []string{"example.com/x"} }))}},
			`a: terminating; waits: the node's pods are terminating: pod a0: its deletion is overdue, held by finalizer example.com/x, since 2026-01-01T11:59:00Z; counts against maxUnavailable`},
		{scene{name: "Held by paused", why: "T4", spec: []kit.SpecOption{kit.Paused()}, fleet: []spot{on("a", oldPod())}},
			`a: outdated; is held: its pod a0 is outdated, but the rollout is paused`},
		{scene{name: "Held by frozen", why: "T4", spec: []kit.SpecOption{kit.Frozen()}, fleet: []spot{on("a", oldPod())}},
			`a: outdated; is held: its pod a0 is outdated, but the set is frozen`},
		{scene{name: "Held by OnDelete", why: "T5", spec: []kit.SpecOption{kit.OnDelete()}, fleet: []spot{on("a", oldPod())}},
			`a: outdated; is held: its pod a0 is outdated, but the strategy is OnDelete: a pod is replaced when somebody deletes it`},
		{scene{name: "Frozen", why: "T4", spec: []kit.SpecOption{kit.Frozen()}, fleet: []spot{on("a")}},
			`a: missing; waits: the set is frozen; counts against maxUnavailable`},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			plan := tt.lab().plan(t)
			if got := plan.Explain("a"); got != tt.says {
				t.Errorf("\n got: %s\nwant: %s\n why: %s", got, tt.says, tt.why)
			}
		})
	}
}

func TestExplainOfAnotherNode(t *testing.T) {
	l := newLab().add(on("a", podAt(twin)), gone("", newPod()))
	l.numbered(t, numbered{"update", 2}, numbered{"twin", 1})
	plan := l.plan(t)
	for _, tt := range []struct{ name, why, node, want string }{
		{"unknown", "no such node", "z", "z: the snapshot has no such node, and no pod that belongs there"},
		{"no node", "P7: pods without a node are found under the empty name", "",
			"no node: unattributed; nothing to do: no node can be read off the pod, so it is left alone"},
		{"patch", "R3", "a", "a: updated; patch pod a0: the pod's revision equals the update revision and is merged into it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := plan.Explain(tt.node); got != tt.want {
				t.Errorf("\n got: %s\nwant: %s\n why: %s", got, tt.want, tt.why)
			}
		})
	}
}

func TestWaits(t *testing.T) {
	many := func(n int, pods ...podOf) []spot {
		var fleet []spot
		for i := range n {
			fleet = append(fleet, on(fmt.Sprintf("n%d", i), pods...))
		}
		return fleet
	}
	tests := []struct {
		scene
		groups []rollout.WaitingNodes
	}{
		{
			scene: scene{name: "nothing waits", why: "a node that is acted upon, or merely starting, waits for no limit",
				fleet: []spot{on("a"), on("b", newPod()), on("c", newPod(kit.Unready(), young))}},
		},
		{
			scene: scene{name: "maxUnavailable", why: "B3: with those that use it up",
				fleet: []spot{on("c", oldPod()), on("b", newPod(kit.Unready(), young)), on("a", oldPod())}},
			groups: []rollout.WaitingNodes{{
				Reason: rollout.ReasonBudget, Limit: rollout.LimitMaxUnavailable, Size: 1, Nodes: []string{"a", "c"}, Because: []string{"b"},
			}},
		},
		{
			scene: scene{name: "maxSurge", why: "B4: with those that hold the places", spec: []kit.SpecOption{kit.MaxSurge("1")},
				fleet: []spot{on("a", oldPod()), on("b", oldPod(), newPod(kit.Unready(), young)), on("c", newPod(terminating())).keep()}},
			groups: []rollout.WaitingNodes{{
				Reason: rollout.ReasonBudget, Limit: rollout.LimitMaxSurge, Size: 1, Nodes: []string{"a"}, Because: []string{"b"},
			}},
		},
		{
			scene: scene{name: "several", why: "in the order of reasons, then limits, whatever that of the nodes",
				spec: []kit.SpecOption{kit.MinReadySeconds(60), kit.Burst("1"), kit.MaxUnavailable("2")},
				fleet: []spot{
					on("a"), on("b"), on("c", oldPod()), on("d", newPod(readyFor(time.Second))), on("e", newPod(kit.Failed())),
				},
				backoffs: []rollout.Backoff{{Node: "e", Revision: "update", Delay: time.Minute, Since: ago(0)}}},
			groups: []rollout.WaitingNodes{
				{Reason: rollout.ReasonMinReadySeconds, Limit: rollout.LimitMinReadySeconds, Nodes: []string{"d"}},
				{Reason: rollout.ReasonBackoff, Limit: rollout.LimitBackoff, Nodes: []string{"e"}},
				{
					Reason: rollout.ReasonBudget, Limit: rollout.LimitMaxUnavailable, Size: 2, Nodes: []string{"c"},
					Because: []string{"a", "b", "d", "e"},
				},
				{Reason: rollout.ReasonBurst, Limit: rollout.LimitBurst, Size: 1, Nodes: []string{"b"}},
			},
		},
		{
			scene:  scene{name: "held", why: "T4: held nodes wait as well", spec: []kit.SpecOption{kit.Paused()}, fleet: many(2, oldPod())},
			groups: []rollout.WaitingNodes{{Reason: rollout.ReasonHeld, Limit: rollout.LimitPaused, Nodes: []string{"n0", "n1"}}},
		},
		{
			scene: scene{name: "back-off under surge", why: "nodes that hold places do not use up a back-off", spec: []kit.SpecOption{kit.MaxSurge("1")},
				fleet:    []spot{on("a", newPod(kit.Failed())), on("b", newPod(kit.Unready(), young))},
				backoffs: []rollout.Backoff{{Node: "a", Revision: "update", Delay: time.Minute, Since: ago(0)}}},
			groups: []rollout.WaitingNodes{{Reason: rollout.ReasonBackoff, Limit: rollout.LimitBackoff, Nodes: []string{"a"}}},
		},
		{
			scene: scene{name: "acted upon with a limit", why: "a node on which something is done does not wait, even if more is due",
				spec: []kit.SpecOption{kit.Burst("1")}, fleet: []spot{on("a", newPod(), newPod(), newPod())}},
		},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			plan := tt.lab().plan(t)
			if diff := cmp.Diff(tt.groups, plan.Waits()); diff != "" {
				t.Errorf("-want +got:\n%s why: %s", diff, tt.why)
			}
		})
	}
}

// Groups of one reason differ by limit, and groups of one limit by reason.
func TestWaitsOrder(t *testing.T) {
	decide := func(node string, reason rollout.Reason, limit rollout.Limit) rollout.Decision {
		return rollout.Decision{Node: node, Verb: rollout.VerbWait, Reason: reason, Limit: limit}
	}
	plan := rollout.Plan{Decisions: []rollout.Decision{
		decide("a", rollout.ReasonFrozen, rollout.LimitFrozen), decide("b", rollout.ReasonHeld, rollout.LimitFrozen),
		decide("c", rollout.ReasonHeld, rollout.LimitPaused), decide("d", rollout.ReasonBudget, rollout.LimitMaxSurge),
		decide("e", rollout.ReasonBudget, rollout.LimitMaxUnavailable), decide("f", rollout.ReasonHeld, rollout.LimitPaused),
	}}
	var got []string
	for _, w := range plan.Waits() {
		got = append(got, fmt.Sprint(w.Reason, w.Limit, w.Nodes))
	}
	want := []string{
		"Budget maxUnavailable [e]", "Budget maxSurge [d]", "Held paused [c f]", "Held frozen [b]", "Frozen frozen [a]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestWaitString(t *testing.T) {
	nodes := []string{"n1", "n2", "n3", "n4", "n5", "n6", "n7"}
	tests := []struct {
		name, why string
		wait      rollout.WaitingNodes
		want      string
	}{
		{"maxUnavailable", "B3: with those that use it up",
			rollout.WaitingNodes{Reason: rollout.ReasonBudget, Limit: rollout.LimitMaxUnavailable, Size: 1, Nodes: nodes[:2], Because: nodes[2:3]},
			"2 nodes wait: maxUnavailable 1 is used up by n3 (n1, n2)"},
		{"maxSurge", "B4: with those that hold the places",
			rollout.WaitingNodes{Reason: rollout.ReasonBudget, Limit: rollout.LimitMaxSurge, Size: 2, Nodes: nodes[:2], Because: nodes[2:4]},
			"2 nodes wait: maxSurge 2 is used up by n3, n4 (n1, n2)"},
		{"five", "five are all named", rollout.WaitingNodes{Limit: rollout.LimitBackoff, Nodes: nodes[:5]},
			"5 nodes wait: failed pods were deleted there a short time ago (n1, n2, n3, n4, n5)"},
		{"six", "of more than five the rest is counted", rollout.WaitingNodes{Limit: rollout.LimitBackoff, Nodes: nodes[:6]},
			"6 nodes wait: failed pods were deleted there a short time ago (n1, n2, n3, n4, n5 and 1 more)"},
		{"seven because of seven", "on either side",
			rollout.WaitingNodes{Limit: rollout.LimitMaxUnavailable, Size: 7, Nodes: nodes, Because: nodes},
			"7 nodes wait: maxUnavailable 7 is used up by n1, n2, n3, n4, n5 and 2 more (n1, n2, n3, n4, n5 and 2 more)"},
		{"one", "a single node waits", rollout.WaitingNodes{Limit: rollout.LimitDesired, Nodes: nodes[:1]},
			"1 node waits: pods there serve until available pods outnumber desired (n1)"},
		{"burst", "M6: with its size", rollout.WaitingNodes{Reason: rollout.ReasonBurst, Limit: rollout.LimitBurst, Size: 3, Nodes: nodes[:2]},
			"2 nodes wait: this plan has the 3 creates, deletes or updates in place that burst allows (n1, n2)"},
		{"minReadySeconds", "B5", rollout.WaitingNodes{Limit: rollout.LimitMinReadySeconds, Nodes: nodes[:2]},
			"2 nodes wait: new pods have not been ready for minReadySeconds (n1, n2)"},
		{"frozen repair", "T4: what is due is repair", rollout.WaitingNodes{Reason: rollout.ReasonFrozen, Limit: rollout.LimitFrozen, Nodes: nodes[:2]},
			"2 nodes wait: repair is due, but the set is frozen (n1, n2)"},
		{"frozen update", "T4: what is due is an update", rollout.WaitingNodes{Reason: rollout.ReasonHeld, Limit: rollout.LimitFrozen, Nodes: nodes[:2]},
			"2 nodes are held at their old revision: the set is frozen (n1, n2)"},
		{"paused", "T4", rollout.WaitingNodes{Reason: rollout.ReasonHeld, Limit: rollout.LimitPaused, Nodes: nodes[:1]},
			"1 node is held at its old revision: the rollout is paused (n1)"},
		{"one text", "what is said of one node does for several", rollout.WaitingNodes{Limit: rollout.LimitOnDelete, Nodes: nodes[:2]},
			"2 nodes wait: the strategy is OnDelete: a pod is replaced when somebody deletes it (n1, n2)"},
		{"no text", "a limit that always comes with figures", rollout.WaitingNodes{Limit: rollout.LimitDomain, Nodes: nodes[:2]},
			"2 nodes wait: code 24 (n1, n2)"},
		{"undeclared", "a code of a later version", rollout.WaitingNodes{Limit: 200, Nodes: nodes[:2]}, "2 nodes wait: code 200 (n1, n2)"},
		{"OnDelete", "T5", rollout.WaitingNodes{Reason: rollout.ReasonHeld, Limit: rollout.LimitOnDelete, Nodes: nodes[:2]},
			"2 nodes are held at their old revision: the strategy is OnDelete: a pod is replaced when somebody deletes it (n1, n2)"},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.wait.String(); got != tt.want {
				t.Errorf("\n got: %s\nwant: %s\n why: %s", got, tt.want, tt.why)
			}
		})
	}
}

// The contract promises no panic whatever the input, undeclared codes and nil receivers included.
func TestNothingPanics(t *testing.T) {
	for _, tt := range []struct {
		name, why string
		call      func() error
	}{
		{"nil planner plans", "an error, as for any planner that New did not make", func() error {
			_, err := (*rollout.Planner)(nil).Plan(rollout.Snapshot{Now: kit.Noon()})
			return err
		}},
		{"zero planner plans", "the same", func() error {
			_, err := new(rollout.Planner).Plan(rollout.Snapshot{Now: kit.Noon()})
			return err
		}},
		{"nil planner builds a pod", "the same", func() error {
			_, err := (*rollout.Planner)(nil).Pod(rollout.Create{Node: "a", Revision: "b"})
			return err
		}},
		{"zero planner builds a pod", "the same", func() error {
			_, err := new(rollout.Planner).Pod(rollout.Create{Node: "a", Revision: "b"})
			return err
		}},
		{"nil snapshot error", "it reads as something", func() error {
			return errors.New((*rollout.SnapshotError)(nil).Error())
		}},
		{"reason of no decision", "it is empty", func() error {
			return errors.New("no decision" + new(rollout.Plan).Because(nil))
		}},
		{"undeclared codes", "they read as something", func() error {
			for v := range 256 {
				d := rollout.Decision{
					Node: "a", State: rollout.NodeState(v), Verb: rollout.Verb(v), Reason: rollout.Reason(v), Limit: rollout.Limit(v),
				}
				held := rollout.Decision{Node: "b", Reason: rollout.ReasonHeld, Limit: rollout.Limit(v)}
				plan := rollout.Plan{Decisions: []rollout.Decision{d, held}}
				if plan.Explain("a") == "" || plan.Explain("b") == "" || (rollout.WaitingNodes{Limit: rollout.Limit(v)}).String() == "" {
					return nil
				}
				_ = plan.Waits()
			}
			return errors.New("all of them did")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			defer func() {
				if p := recover(); p != nil {
					t.Errorf("panic: %v (%s)", p, tt.why)
				}
			}()
			if err := tt.call(); err == nil || err.Error() == "" {
				t.Errorf("got %v, want something: %s", err, tt.why)
			}
		})
	}
}

// A partition holds nodes at their old revision, and in a first installation it leaves them empty: Waits says which (T2, T7).
// So it says what a selector holds (T3).
func TestWaitOfHolds(t *testing.T) {
	tests := []struct {
		name, why string
		lab       *lab
		want      string
	}{
		{"partition", "T2: with its places", newLab(partition("1")).add(on("a", oldPod()), on("b", newPod())),
			"1 node is held at its old revision: partition 1 (a)"},
		{"first installation", "T7: there is no old revision", firstInstallation(partition("1")).add(on("a", newPod()), on("b")),
			"1 node waits: a first installation leaves the partition empty (b)"},
		{"selector", "T3", newLab(nodeType("canary"), kit.MaxUnavailable("2")).add(on("a", oldPod()), on("b", oldPod())),
			"2 nodes are held at their old revision: the strategy's nodeSelector does not match (a, b)"},
	}
	rows := uniqueRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			waits := new(tt.lab.plan(t)).Waits()
			if len(waits) != 1 || waits[0].String() != tt.want {
				t.Errorf("got %v, want %q alone: %s", waits, tt.want, tt.why)
			}
		})
	}
}
