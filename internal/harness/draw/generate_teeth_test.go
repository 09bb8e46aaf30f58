//go:build teeth

package draw_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/harness/draw"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/domain"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// A generator that never draws a case makes every property about it hold for nothing. What is listed here must occur
// among the first few hundred examples, which are the same in every run.
func TestAnyScenarioReachesEveryCase(t *testing.T) {
	reachesEveryCase(t, draw.AnyCase(), func(note func(string, bool), s harness.Case, plan rollout.Plan) {
		noteSpec(note, s.Spec)
		noteNodes(note, s)
		notePods(note, s)
		noteHistory(note, s)
		notePlan(func(what string, is bool) {
			switch {
			case policiesOnly[what]: // those are drawn apart
			case !canaryOnly[what]:
				note(what, is)
			case is:
				t.Errorf("%s without a canary", what)
			}
		}, plan)
		noteKruise(note, s)
	})
}

// policiesOnly is what only InStages and InFailures lead to.
var policiesOnly = map[string]bool{"limit stage": true, "limit soak": true, "limit approval": true, "limit failures": true}

// reachesEveryCase plans for the first examples of a generator and lists what was noted too seldom.
func reachesEveryCase(
	t *testing.T, gen *rapid.Generator[harness.Case], look func(func(string, bool), harness.Case, rollout.Plan),
) {
	t.Helper()
	const examples = 3000
	seen := map[string]int{}
	note := func(what string, is bool) {
		if is {
			seen[what]++
		} else {
			seen[what] += 0
		}
	}
	for seed := range examples {
		s := gen.Example(seed)
		if seed%5 == 0 { // properties about domains add them as an option; the generator draws the zones that they go by
			kit.Domains(domain.Domain{Key: harness.ZoneLabel, AtOnce: 1})(&s.Spec)
		}
		planner, err := rollout.New(s.Spec)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := planner.Plan(s.Snapshot)
		if err != nil {
			t.Fatal(err)
		}
		look(note, s, plan)
	}
	var missing []string
	for what, n := range seen {
		if n < 3 {
			missing = append(missing, fmt.Sprintf("%s (%d times)", what, n))
		}
	}
	slices.Sort(missing)
	if len(missing) > 0 {
		t.Errorf("hardly or never drawn in %d examples:\n%s", examples, strings.Join(missing, "\n"))
	}
}

func noteSpec(note func(string, bool), s rollout.Spec) {
	strategy := s.Strategy
	note("default budget", strategy.MaxUnavailable == nil && strategy.MaxSurge == nil)
	note("maxUnavailable in nodes", strategy.MaxUnavailable != nil && strategy.MaxUnavailable.StrVal == "")
	note("maxUnavailable in percent", strategy.MaxUnavailable != nil && strategy.MaxUnavailable.StrVal != "")
	note("maxSurge in nodes", strategy.MaxSurge != nil && strategy.MaxSurge.StrVal == "")
	note("maxSurge in percent", strategy.MaxSurge != nil && strategy.MaxSurge.StrVal != "")
	note("OnDelete", strategy.Type == rollout.OnDelete)
	note("paused", strategy.Paused)
	note("frozen", strategy.Frozen)
	note("burst in nodes", s.Burst != nil && s.Burst.StrVal == "")
	note("burst in percent", s.Burst != nil && s.Burst.StrVal != "")
	note("minReadySeconds", s.MinReadySeconds > 0)
	note("no minReadySeconds", s.MinReadySeconds == 0)
	note("history limit", s.RevisionHistoryLimit != nil)
	note("no history", s.RevisionHistoryLimit != nil && *s.RevisionHistoryLimit == 0)
	note("template generation", s.TemplateGeneration != nil)
	pod := s.Template.Spec
	note("node name", pod.NodeName != "")
	note("node selector", len(pod.NodeSelector) > 0)
	note("affinity", pod.Affinity != nil)
	note("tolerations", len(pod.Tolerations) > 0)
	note("host network", pod.HostNetwork)
}

func noteNodes(note func(string, bool), s harness.Case) {
	matcher, _ := placement.Compile(&s.Spec.Template)
	note("no nodes", len(s.Snapshot.Nodes) == 0)
	note("one node", len(s.Snapshot.Nodes) == 1)
	note("many nodes", len(s.Snapshot.Nodes) > 10)
	for _, n := range s.Snapshot.Nodes {
		v := matcher.Evaluate(n)
		for _, outcome := range []placement.Outcome{placement.Leave, placement.Keep, placement.Run} {
			note("node to "+outcome.String(), v.Outcome == outcome)
		}
		for _, test := range []placement.Test{
			placement.TestNodeName, placement.TestNodeSelector, placement.TestNodeAffinity, placement.TestTaint,
		} {
			note("node that fails "+test.String(), v.Test == test)
		}
		note("cordoned", n.Spec.Unschedulable)
		for _, effect := range []corev1.TaintEffect{
			corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule, "Unheard",
		} {
			note("taint "+string(effect), slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Effect == effect }))
		}
		for _, status := range []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown} {
			note("node Ready "+string(status), slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
				return c.Type == corev1.NodeReady && c.Status == status
			}))
		}
	}
}

func notePods(note func(string, bool), s harness.Case) {
	exists := map[string]bool{}
	for _, n := range s.Snapshot.Nodes {
		exists[n.Name] = true
	}
	known := map[string]bool{}
	for _, r := range s.Snapshot.Revisions {
		known[r.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]] = true
	}
	update := kit.Hash(s.Spec)
	perNode := map[string]int{}
	for _, p := range s.Snapshot.Pods {
		node, ok := placement.TargetNode(p)
		perNode[node]++
		note("pod of no node", !ok)
		note("pod of a vanished node, bound", ok && !exists[node] && p.Spec.NodeName != "")
		note("pod of a vanished node, pinned", ok && !exists[node] && p.Spec.NodeName == "")
		note("pinned pod", ok && exists[node] && p.Spec.NodeName == "")
		hash, labelled := p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
		note("updated pod", hash == update)
		note("outdated pod", hash != update && known[hash])
		note("pod of an unknown revision", labelled && !known[hash])
		note("pod without a hash", !labelled)
		_, byGeneration := p.Labels[rollout.TemplateGenerationLabel]
		note("pod with a generation", byGeneration)
		note("terminating pod", p.DeletionTimestamp != nil)
		note("terminating failed pod", p.DeletionTimestamp != nil && p.Status.Phase == corev1.PodFailed)
		for _, phase := range []corev1.PodPhase{
			corev1.PodPending, corev1.PodRunning, corev1.PodFailed, corev1.PodSucceeded, corev1.PodUnknown, "",
		} {
			note("phase "+string(phase), p.Status.Phase == phase)
		}
		note("pod without conditions", len(p.Status.Conditions) == 0)
		for _, c := range p.Status.Conditions {
			if c.Type != corev1.PodReady || c.Status != corev1.ConditionTrue {
				continue
			}
			edge := s.Snapshot.Now.Add(-time.Duration(s.Spec.MinReadySeconds) * time.Second)
			note("ready for minReadySeconds", s.Spec.MinReadySeconds > 0 && c.LastTransitionTime.Time.Equal(edge))
			note("ready for less", s.Spec.MinReadySeconds > 0 && c.LastTransitionTime.After(edge))
			note("ready for longer", c.LastTransitionTime.Time.Before(edge))
			note("ready since later", c.LastTransitionTime.After(s.Snapshot.Now))
			note("ready since ever", c.LastTransitionTime.IsZero())
		}
		note("in-place update", slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == "InPlaceUpdateReady" && c.Status == corev1.ConditionFalse
		}))
	}
	for node, n := range perNode {
		note("several pods on a node", exists[node] && n > 1)
		note("one pod on a node", exists[node] && n == 1)
	}
	note("node without a pod", len(perNode) < len(exists))
}

func noteHistory(note func(string, bool), s harness.Case) {
	list := s.Snapshot.Revisions
	update := kit.Revision(s.Spec, 1)
	byName := slices.IndexFunc(list, func(r *appsv1.ControllerRevision) bool { return r.Name == update.Name })
	equal := func(r *appsv1.ControllerRevision) bool { return bytes.Equal(r.Data.Raw, update.Data.Raw) }
	matching := 0
	for _, r := range list {
		if equal(r) {
			matching++
		}
		note("equal in meaning only", strings.Contains(string(r.Data.Raw), `"creationTimestamp":null`))
		note("unreadable revision", string(r.Data.Raw) == `{"spec":`)
	}
	note("no revisions", len(list) == 0)
	note("update revision missing", byName < 0)
	note("update revision there", byName >= 0 && equal(list[max(byName, 0)]))
	note("name collision", byName >= 0 && !equal(list[max(byName, 0)]))
	note("duplicate revisions", matching > 1)
	note("long history", len(list) > 10)
	f := s.Snapshot.InFlight
	note("create in flight", len(f.Creates) > 0)
	note("delete in flight", len(f.Deletes) > 0)
	note("patch in flight", len(f.Patches) > 0)
	note("pull in flight", len(f.Pulls) > 0)
	note("failed pull", len(s.Snapshot.FailedPulls) > 0)
	note("revision in flight", len(f.Revisions) > 0)
	m := s.Snapshot.Memory
	note("memory", m.Version == rollout.MemoryVersion)
	note("memory of another version", m.Version > rollout.MemoryVersion)
	note("back-off", len(m.Backoffs) > 0)
	note("collision count", m.CollisionCount != nil)
	note("conditions", len(m.Conditions) > 0)
}

// notePlan looks at what the planner makes of it: all states and most reasons must come up.
func notePlan(note func(string, bool), p rollout.Plan) {
	for state := rollout.NodeState(0); state.String() != "unknown"; state++ {
		note("state "+state.String(), slices.ContainsFunc(p.Decisions, func(d rollout.Decision) bool { return d.State == state }))
	}
	for verb := rollout.Verb(0); verb.String() != "unknown"; verb++ {
		note("verb "+verb.String(), slices.ContainsFunc(p.Decisions, func(d rollout.Decision) bool { return d.Verb == verb }))
	}
	for limit := rollout.Limit(0); limit.String() != "unknown"; limit++ {
		if limit == rollout.LimitStage || limit == rollout.LimitSoak || limit == rollout.LimitApproval {
			continue // see noteParts
		}
		note("limit "+limit.String(), slices.ContainsFunc(p.Decisions, func(d rollout.Decision) bool { return d.Limit == limit }))
	}
	for reason := rollout.Reason(1); reason.String() != "unknown"; reason++ {
		if reason == rollout.ReasonRepairFirst { // package stock alone gives it
			continue
		}
		note("reason "+reason.String(), slices.ContainsFunc(p.Decisions, func(d rollout.Decision) bool { return d.Reason == reason }))
	}
	for verb := rollout.RevisionVerb(0); verb.String() != "unknown"; verb++ {
		note("revision "+verb.String(), slices.ContainsFunc(p.Revisions, func(a rollout.RevisionAction) bool { return a.Verb == verb }))
	}
	note("no wake", p.NextWake.IsZero())
	note("wake", !p.NextWake.IsZero())
}
