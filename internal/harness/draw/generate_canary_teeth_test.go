//go:build teeth

package draw_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/harness/draw"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// canaryOnly is what no plan has without what ExtendedDaemonSet adds.
var canaryOnly = map[string]bool{
	"limit canary": true, "limit slowStart": true, "reason CanaryLabel": true, "reason SlowStart": true, "reason Stable": true,
	"revision annotate": true, "state stable": true,
}

func TestAnyCanaryScenarioReachesEveryCase(t *testing.T) {
	reachesEveryCase(t, draw.AnyCanaryCase(), func(note func(string, bool), s harness.Case, plan rollout.Plan) {
		noteSpec(note, s.Spec)
		noteNodes(note, s)
		noteCanarySpec(note, s.Spec)
		noteCanarySnapshot(note, s)
		noteCanaryPlan(note, plan)
		for what := range canaryOnly {
			note(what, false)
		}
		notePlan(func(what string, is bool) {
			if canaryOnly[what] {
				note(what, is)
			}
		}, plan)
	})
}

func noteCanarySpec(note func(string, bool), s rollout.Spec) {
	o := s.Strategy.Canary
	note("no canary", o == nil)
	note("slow start", s.Strategy.SlowStart != nil)
	note("slow start by default", s.Strategy.SlowStart != nil && *s.Strategy.SlowStart == rollout.SlowStart{})
	note("maxUnschedulable", s.Strategy.MaxUnschedulable != nil)
	note("one override", len(s.Overrides) == 1)
	note("several overrides", len(s.Overrides) > 1)
	if o == nil {
		return
	}
	note("canary with surge", s.Strategy.MaxSurge != nil)
	note("canary in place", s.Strategy.Method != "")
	note("canary with a partition", s.Strategy.Partition != nil)
	note("canary paused by the set", s.Strategy.Paused)
	note("canary frozen", s.Strategy.Frozen)
	note("replicas in nodes", o.Replicas != nil && o.Replicas.StrVal == "")
	note("replicas in percent", o.Replicas != nil && o.Replicas.StrVal != "")
	note("default replicas", o.Replicas == nil)
	for _, mode := range []canary.Mode{"", canary.Auto, canary.Manual} {
		note("mode "+string(mode), o.Mode == mode)
	}
	note("no duration", o.Duration != nil && *o.Duration == 0)
	note("default duration", o.Duration == nil)
	note("canary node selector", o.NodeSelector != nil)
	note("anti-affinity keys", len(o.NodeAntiAffinityKeys) > 0)
	note("no auto-pause", o.AutoPause.Disabled)
	note("no auto-fail", o.AutoFail.Disabled)
	note("max slow start", o.AutoPause.MaxSlowStartDuration != nil)
	note("restarts to pause", o.AutoPause.MaxRestarts != nil)
	note("restarts to fail", o.AutoFail.MaxRestarts != nil)
	note("restarts that go on", o.AutoFail.MaxRestartsDuration != nil)
	note("timeout", o.AutoFail.CanaryTimeout != nil)
	note("command pause", o.Commands.Pause != "")
	note("command unpause", o.Commands.Unpause != "")
	note("command validate", o.Commands.Validate != "")
	note("command fail", o.Commands.Fail != "")
	note("command retry", o.Commands.Retry != "")
	note("command again", strings.Contains(o.Commands.Retry, "/"))
	note("command for any", o.Commands.Fail == canary.Any)
	note("command by hash", o.Commands.Fail == kit.Hash(s))
	note("command by name", o.Commands.Fail == "agent-"+kit.Hash(s))
}

func noteCanarySnapshot(note func(string, bool), s harness.Case) {
	for _, r := range s.Snapshot.Revisions {
		update := history.HashOf(r) == kit.Hash(s.Spec)
		_, failed := r.Annotations[history.FailedAnnotation]
		_, retried := r.Annotations[history.RetriedAnnotation]
		note("update revision promoted", update && history.Promoted(r))
		note("update revision failed", update && failed)
		note("update revision retried", update && retried)
		note("older revision promoted", !update && history.Promoted(r))
		note("older revision failed", !update && failed)
	}
	for _, n := range s.Snapshot.Nodes {
		for key, value := range n.Annotations {
			note("node override", strings.HasPrefix(key, placement.OverrideAnnotationPrefix))
			note("malformed node override", value == `{"requests":`)
		}
	}
	for _, p := range s.Snapshot.Pods {
		note("pod with a digest", p.Annotations[placement.DigestAnnotation] != "")
		note("pod with a canary label", p.Labels[rollout.CanaryLabel] == "true")
		note("pod with a start time", p.Status.StartTime != nil)
		note("evicted pod", p.Status.Reason == "Evicted")
		note("unschedulable pod", slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable
		}))
		for _, status := range p.Status.ContainerStatuses {
			note("pod that restarted", status.RestartCount > 0)
			note("pod that restarted often", status.RestartCount > 5)
			for _, reason := range []string{
				"CrashLoopBackOff", "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "CreateContainerConfigError", "ContainerCreating",
			} {
				note("pod waits with "+reason, status.State.Waiting != nil && status.State.Waiting.Reason == reason)
			}
		}
	}
	m := s.Snapshot.Memory
	note("canary record", m.Canary.Revision == kit.Hash(s.Spec))
	note("canary record of another revision", m.Canary.Revision != "" && m.Canary.Revision != kit.Hash(s.Spec))
	note("canary nodes remembered", len(m.Canary.Nodes) > 0)
	note("canary nodes twice", len(slices.Compact(slices.Clone(m.Canary.Nodes))) < len(m.Canary.Nodes))
	note("clock runs", !m.Canary.Since.IsZero())
	note("clock runs from the future", m.Canary.Since.After(s.Snapshot.Now))
	note("pause remembered", m.Canary.Pause != nil)
	note("verdict remembered", m.Canary.Verdict != nil)
	note("garbage remembered", m.Canary.Verdict != nil && m.Canary.Verdict.Phase > canary.Failed)
	note("stable revision remembered", m.Rollout.Stable != "")
}

func noteCanaryPlan(note func(string, bool), p rollout.Plan) {
	for _, phase := range []canary.Phase{canary.Idle, canary.Running, canary.Paused, canary.Failed} {
		note("phase "+phase.String(), p.Canary.Phase == phase)
	}
	for reason := canary.FirstInstallation; reason <= canary.TimedOut; reason++ {
		note("canary "+reason.String(), p.Canary.Reason == reason)
	}
	note("stale command", len(p.Canary.Stale) > 0)
	note("too few canary nodes", len(p.Canary.Nodes) > 0 && len(p.Canary.Nodes) < int(p.Canary.Wanted))
	note("conflict", len(p.OverrideConflicts) > 0)
	note("malformed override", len(p.MalformedOverrides) > 0)
	note("exempt node", p.Budget.Exempt > 0)
	note("slow start under way", p.Budget.UnderWay > 0)
	note("create with resources", slices.ContainsFunc(p.Creates, func(c rollout.Create) bool { return len(c.Resources) > 0 }))
	note("create for the canary", slices.ContainsFunc(p.Creates, func(c rollout.Create) bool { return c.Canary }))
	note("create of another template", slices.ContainsFunc(p.Creates, func(c rollout.Create) bool { return c.Template != nil }))
}

func TestAnyCanaryWorldIsVaried(t *testing.T) {
	seen := map[string]int{}
	gen := draw.AnyCanaryWorld()
	const examples = 300
	for seed := range examples {
		w := gen.Example(seed)
		for what, is := range map[string]bool{
			"one node": len(w.Snapshot.Nodes) == 1, "several nodes": len(w.Snapshot.Nodes) > 4,
			"surge": w.Spec.Strategy.MaxSurge != nil, "in place": w.Spec.Strategy.Method != "",
			"partition": w.Spec.Strategy.Partition != nil, "selector": w.Spec.Strategy.NodeSelector != nil,
			"slow start": w.Spec.Strategy.SlowStart != nil, "overrides": len(w.Spec.Overrides) > 0,
			"no marks": !slices.ContainsFunc(w.Snapshot.Revisions, history.Promoted), "marks": slices.ContainsFunc(w.Snapshot.Revisions, history.Promoted),
			"memory": w.Snapshot.Memory.Version > 0, "lag": w.Behavior.Lag > 0, "create": w.Behavior.Create > 0,
			"no duration": *w.Spec.Strategy.Canary.Duration == 0, "long duration": w.Spec.Strategy.Canary.Duration.Minutes() > 20,
		} {
			if is {
				seen[what]++
			} else {
				seen[what] += 0
			}
		}
	}
	for what, n := range seen {
		if n < 3 {
			t.Errorf("%s: %d of %d worlds", what, n, examples)
		}
	}
}

func TestAnyMishapsAreVaried(t *testing.T) {
	seen := map[harness.MishapKind]bool{}
	gen := draw.AnyMishaps(kit.Nodes("a", "b"))
	for seed := range 300 {
		mishaps := gen.Example(seed)
		if len(mishaps) > 5 {
			t.Errorf("seed %d: %v", seed, mishaps)
		}
		for _, m := range mishaps {
			seen[m.Kind] = true
			switch m.Kind {
			case harness.DeleteNode, harness.TaintNode, harness.DrainNode, harness.MoveNode, harness.LoseNode:
				if m.Node == "a" {
					t.Errorf("seed %d: %s", seed, m)
				}
			default:
			}
		}
	}
	for kind := harness.MishapKind(0); kind.String() != "unknown"; kind++ {
		if !seen[kind] {
			t.Errorf("%s never happens", kind)
		}
	}
}
