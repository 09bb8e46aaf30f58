package draw

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/kubelet"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// AnyCanaryWorld generates fleets that have settled at a stable revision, and for whose set another template, with a
// canary, was put in force just now: one to ten nodes in the zones a, b and c, the first of them, "a", an ordinary one in
// zone a; a healthy pod on each that may have one; the stable revision marked as promoted or, as in a set that had no
// canary before, not marked. The memory is empty or that of the stable rollout. The behavior is fair (see [AnyBehavior]).
// There are no mishaps.
//
// Canaries promote by the clock, within an hour, and no command is given; budgets, surge, in-place updates, partition,
// selector, slow start, maxUnschedulable and overrides are drawn too. The options are applied to what was drawn, to both
// specs; those of the canary to the new one only. An option must not change the template.
func AnyCanaryWorld(options ...kit.SpecOption) *rapid.Generator[harness.World] {
	return rapid.Custom(func(t *rapid.T) harness.World {
		spec := kit.Spec(setName, kit.Image(updateImage), kit.Requests(corev1.ResourceCPU, "100m"))
		drawWorldSpec(t, &spec)
		drawWorldCanary(t, &spec)
		for _, option := range options {
			option(&spec)
		}
		if spec.Strategy.MaxSurge != nil {
			spec.Strategy.Method = ""
		}
		w := harness.World{Case: harness.Case{Spec: spec}, Stable: spec, Behavior: AnyBehavior().Draw(t, "behavior")}
		w.Behavior.SameID = nil
		w.Behavior.Create = pick[time.Duration](t, "create", 0, 0, time.Second, 20*time.Second)
		w.Stable.Template = *spec.Template.DeepCopy()
		w.Stable.Strategy.Canary = nil
		kit.Image("agent:v2")(&w.Stable)
		w.Snapshot = settled(t, w)
		return w
	})
}

func drawWorldSpec(t *rapid.T, spec *rollout.Spec) {
	option := pick(t, "budget",
		func(*rollout.Spec) {}, kit.MaxUnavailable("2"), kit.MaxUnavailable("34%"), kit.MaxUnavailable("100%"),
		kit.MaxSurge("1"), kit.MaxSurge("50%"))
	option(spec)
	spec.MinReadySeconds = pick[int32](t, "minReadySeconds", 0, 0, minReady)
	for _, option := range pick(t, "more",
		nil, nil, nil, nil,
		[]kit.SpecOption{kit.InPlaceIfPossible()},
		[]kit.SpecOption{kit.Partition("1")},
		[]kit.SpecOption{kit.Partition("50%"), kit.HoldRevision()},
		[]kit.SpecOption{kit.StrategyNodeSelector(harness.ZoneLabel, "a")},
		[]kit.SpecOption{kit.SlowStart(time.Minute, "1", "10")},
		[]kit.SpecOption{kit.SlowStart(time.Second, "50%", "2"), kit.MaxUnavailable("100%")},
		[]kit.SpecOption{kit.MaxUnschedulable("1")},
		[]kit.SpecOption{kit.Burst("1")},
	) {
		option(spec)
	}
	drawOverrides(t, spec)
}

func drawWorldCanary(t *rapid.T, spec *rollout.Spec) {
	kit.Canary(pick(t, "replicas", "1", "1", "2", "3", "10%", "50%", "100%"))(spec)
	duration := pick(t, "duration", time.Minute, time.Minute, 0, 10*time.Minute, 30*time.Minute)
	kit.CanaryFor(duration, pick(t, "no restarts", time.Minute, 0, 5*time.Minute, 20*time.Minute))(spec)
	for _, option := range pick(t, "canary nodes",
		nil, nil, nil,
		[]kit.SpecOption{kit.CanaryOn(harness.ZoneLabel, "a")},
		[]kit.SpecOption{kit.CanarySpread(harness.ZoneLabel)},
	) {
		option(spec)
	}
}

// settled is a fleet at rest at the stable revision.
func settled(t *rapid.T, w harness.World) rollout.Snapshot {
	s := rollout.Snapshot{Now: kit.Noon()}
	taints := [][]kit.NodeOption{
		nil, nil, nil, nil, nil, {kit.Cordoned()}, {kit.NotReady()},
		{kit.Taint(harness.TaintKey, "x", corev1.TaintEffectNoSchedule)},
		{kit.Taint(harness.TaintKey, "x", corev1.TaintEffectNoExecute)},
	}
	s.Nodes = append(s.Nodes, kit.Node(letters(0), kit.Label(harness.ZoneLabel, "a")))
	for i := range rapid.IntRange(0, 9).Draw(t, "more nodes") {
		options := []kit.NodeOption{kit.Label(harness.ZoneLabel, pick(t, "zone", "a", "b", "c"))}
		options = append(options, pick(t, "taints", taints...)...)
		if annotation := pick(t, "resources", "", "", "", "", "", `{"requests":{"cpu":"400m"}}`, `{`); annotation != "" {
			options = append(options, kit.ResourcesFor(w.Spec, objects.MainContainer, annotation))
		}
		s.Nodes = append(s.Nodes, kit.Node(letters(i+1), options...))
	}
	matcher, err := placement.Compile(&w.Stable.Template)
	if err != nil { // it is one of ours
		return s
	}
	for _, n := range s.Nodes {
		if outcome := matcher.Evaluate(n).Outcome; outcome == placement.Leave {
			continue
		}
		name := setName + "-" + n.Name
		s.Pods = append(s.Pods, kit.Pod(name, kit.Of(w.Stable), kit.OnNode(n.Name),
			objects.Overridden(objects.Effect(&w.Stable, &w.Stable.Template, n)),
			func(p *corev1.Pod) { objects.Dress(p, &w.Stable) }))
	}
	ancient := w.Stable
	ancient.Template = *w.Stable.Template.DeepCopy()
	kit.Image("agent:v1")(&ancient)
	switch pick(t, "history", "marked", "unmarked", "long", "failed before") {
	case "marked":
		s.Revisions = []*appsv1.ControllerRevision{kit.Promoted(w.Stable, 1)}
	case "unmarked":
		s.Revisions = []*appsv1.ControllerRevision{kit.Revision(w.Stable, 1)}
	case "long":
		s.Revisions = []*appsv1.ControllerRevision{kit.Promoted(ancient, 1), kit.Promoted(w.Stable, 2)}
	default:
		s.Revisions = []*appsv1.ControllerRevision{kit.Promoted(w.Stable, 1), kit.Rejected(ancient, 2, canary.TimedOut)}
	}
	if pick(t, "memory", false, true) {
		s.Memory = rollout.Memory{
			Version: rollout.MemoryVersion,
			Rollout: rollout.Record{Revision: kit.Hash(w.Stable), Began: objects.HourAgo().Time, Completed: true},
		}
	}
	return s
}

// AnyIllness generates behaviors that are like the given one, but do not let pods of the revision of that hash become
// available: they crash, cannot start, are never created, never become Ready, or fail.
func AnyIllness(healthy harness.Behavior, hash string) *rapid.Generator[harness.Behavior] {
	return rapid.Custom(func(t *rapid.T) harness.Behavior {
		b := healthy
		switch illness := pick(t, "illness", "crash", "", "fail", kubelet.ErrImagePull, "CreateContainerConfigError",
			"InvalidImageName", kubelet.ContainerCreating); illness {
		case "crash":
			b.Crashing = append(slices.Clone(b.Crashing), hash)
		case "fail":
			b.Failing = append(slices.Clone(b.Failing), hash)
		case "":
			b.NeverReady = append(slices.Clone(b.NeverReady), hash)
		default:
			b.Waiting = objects.With(b.Waiting, hash, illness)
		}
		return b
	})
}

// AnyMishaps generates up to five mishaps of a cluster with these nodes, each after a few plans. With [AnyCanaryWorld]: the
// node "a" stays what it is, so that somebody is left to carry on, but pods there may crash and be evicted.
func AnyMishaps(nodes []*corev1.Node) *rapid.Generator[[]harness.Mishap] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) harness.Mishap {
		m := harness.Mishap{
			After: rapid.IntRange(0, 12).Draw(t, "after"),
			Kind:  harness.MishapKind(rapid.IntRange(0, harness.MishapKinds-1).Draw(t, "kind")),
			Node:  nodes[rapid.IntRange(0, len(nodes)-1).Draw(t, "node")].Name,
		}
		if m.Node == nodes[0].Name && !m.Kind.Harmless() {
			m.Kind = pick(t, "harmless", harness.CrashPods, harness.EvictPods, harness.LoseMemory)
		}
		return m
	}), 0, 5)
}
