package rollouttest

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/kubelet"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
)

// World is a scenario with all that a cluster needs to live through it.
type World struct {
	// Scenario with the spec that is in force now.
	Scenario
	// Stable is the spec that was in force before.
	Stable rollout.Spec
	// Behavior of the cluster.
	Behavior Behavior
	// Mishaps befall it on the way, in this order.
	Mishaps []Mishap
}

// GoString keeps what failing properties print readable.
func (w World) GoString() string {
	return fmt.Sprintf("%s%+v\nmishaps %v", w.Scenario, w.Behavior, w.Mishaps)
}

// AnyCanaryWorld generates fleets that have settled at a stable revision, and for whose set another template, with a
// canary, was put in force just now: one to ten nodes in the zones a, b and c, the first of them, "a", an ordinary one in
// zone a; a healthy pod on each that may have one; the stable revision marked as promoted or, as in a set that had no
// canary before, not marked. The memory is empty or that of the stable rollout. The behavior is fair (see [AnyBehavior]).
// There are no mishaps.
//
// Canaries promote by the clock, within an hour, and no command is given; budgets, surge, in-place updates, partition,
// selector, slow start, maxUnschedulable and overrides are drawn too. The options are applied to what was drawn, to both
// specs; those of the canary to the new one only. An option must not change the template.
func AnyCanaryWorld(options ...SpecOption) *rapid.Generator[World] {
	return rapid.Custom(func(t *rapid.T) World {
		spec := Spec(setName, Image(updateImage), Requests(corev1.ResourceCPU, "100m"))
		drawWorldSpec(t, &spec)
		drawWorldCanary(t, &spec)
		for _, option := range options {
			option(&spec)
		}
		if spec.Strategy.MaxSurge != nil {
			spec.Strategy.Method = ""
		}
		w := World{Scenario: Scenario{Spec: spec}, Stable: spec, Behavior: AnyBehavior().Draw(t, "behavior")}
		w.Behavior.SameID = nil
		w.Behavior.Create = pick[time.Duration](t, "create", 0, 0, time.Second, 20*time.Second)
		w.Stable.Template = *spec.Template.DeepCopy()
		w.Stable.Strategy.Canary = nil
		Image("agent:v2")(&w.Stable)
		w.Snapshot = settled(t, w)
		return w
	})
}

func drawWorldSpec(t *rapid.T, spec *rollout.Spec) {
	option := pick(t, "budget", func(*rollout.Spec) {}, MaxUnavailable("2"), MaxUnavailable("34%"), MaxUnavailable("100%"),
		MaxSurge("1"), MaxSurge("50%"))
	option(spec)
	spec.MinReadySeconds = pick[int32](t, "minReadySeconds", 0, 0, minReady)
	for _, option := range pick(t, "more",
		nil, nil, nil, nil,
		[]SpecOption{InPlace()},
		[]SpecOption{Partition("1")},
		[]SpecOption{Partition("50%"), HoldRevision()},
		[]SpecOption{UpdateSelector(zoneLabel, "a")},
		[]SpecOption{SlowStart(time.Minute, "1", "10")},
		[]SpecOption{SlowStart(time.Second, "50%", "2"), MaxUnavailable("100%")},
		[]SpecOption{MaxUnschedulable("1")},
		[]SpecOption{Burst("1")},
	) {
		option(spec)
	}
	drawOverrides(t, spec)
}

func drawWorldCanary(t *rapid.T, spec *rollout.Spec) {
	Canary(pick(t, "replicas", "1", "1", "2", "3", "10%", "50%", "100%"))(spec)
	duration := pick(t, "duration", time.Minute, time.Minute, 0, 10*time.Minute, 30*time.Minute)
	CanaryFor(duration, pick(t, "no restarts", time.Minute, 0, 5*time.Minute, 20*time.Minute))(spec)
	for _, option := range pick(t, "canary nodes",
		nil, nil, nil,
		[]SpecOption{CanaryOn(zoneLabel, "a")},
		[]SpecOption{CanarySpread(zoneLabel)},
	) {
		option(spec)
	}
}

// settled is a fleet at rest at the stable revision.
func settled(t *rapid.T, w World) rollout.Snapshot {
	s := rollout.Snapshot{Now: Noon()}
	taints := [][]NodeOption{
		nil, nil, nil, nil, nil, {Cordoned()}, {NotReady()},
		{Taint(taintKey, "x", corev1.TaintEffectNoSchedule)}, {Taint(taintKey, "x", corev1.TaintEffectNoExecute)},
	}
	s.Nodes = append(s.Nodes, Node(letters(0), Label(zoneLabel, "a")))
	for i := range rapid.IntRange(0, 9).Draw(t, "more nodes") {
		options := []NodeOption{Label(zoneLabel, pick(t, "zone", "a", "b", "c"))}
		options = append(options, pick(t, "taints", taints...)...)
		if annotation := pick(t, "resources", "", "", "", "", "", `{"requests":{"cpu":"400m"}}`, `{`); annotation != "" {
			options = append(options, ResourcesFor(w.Spec, mainContainer, annotation))
		}
		s.Nodes = append(s.Nodes, Node(letters(i+1), options...))
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
		s.Pods = append(s.Pods, Pod(name, Of(w.Stable), OnNode(n.Name), Overridden(effect(&w.Stable, &w.Stable.Template, n)),
			func(p *corev1.Pod) { dress(p, &w.Stable) }))
	}
	ancient := w.Stable
	ancient.Template = *w.Stable.Template.DeepCopy()
	Image("agent:v1")(&ancient)
	switch pick(t, "history", "marked", "unmarked", "long", "failed before") {
	case "marked":
		s.Revisions = []*appsv1.ControllerRevision{Promoted(w.Stable, 1)}
	case "unmarked":
		s.Revisions = []*appsv1.ControllerRevision{Revision(w.Stable, 1)}
	case "long":
		s.Revisions = []*appsv1.ControllerRevision{Promoted(ancient, 1), Promoted(w.Stable, 2)}
	default:
		s.Revisions = []*appsv1.ControllerRevision{Promoted(w.Stable, 1), Rejected(ancient, 2, canary.TimedOut)}
	}
	if pick(t, "memory", false, true) {
		s.Memory = rollout.Memory{
			Version: rollout.MemoryVersion,
			Rollout: rollout.Record{Revision: Hash(w.Stable), Began: hourAgo().Time, Completed: true},
		}
	}
	return s
}

// AnyIllness generates behaviors that are like the given one, but do not let pods of the revision of that hash become
// available: they crash, cannot start, are never created, never become Ready, or fail.
func AnyIllness(healthy Behavior, hash string) *rapid.Generator[Behavior] {
	return rapid.Custom(func(t *rapid.T) Behavior {
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
			b.Waiting = with(b.Waiting, hash, illness)
		}
		return b
	})
}

// AnyMishaps generates up to five mishaps of a cluster with these nodes, each after a few plans. With [AnyCanaryWorld]: the
// node "a" stays what it is, so that somebody is left to carry on, but pods there may crash and be evicted.
func AnyMishaps(nodes []*corev1.Node) *rapid.Generator[[]Mishap] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Mishap {
		m := Mishap{
			After: rapid.IntRange(0, 12).Draw(t, "after"),
			Kind:  MishapKind(rapid.IntRange(0, int(mishapKinds)-1).Draw(t, "kind")),
			Node:  nodes[rapid.IntRange(0, len(nodes)-1).Draw(t, "node")].Name,
		}
		if m.Node == nodes[0].Name && !m.Kind.harmless() {
			m.Kind = pick(t, "harmless", CrashPods, EvictPods, LoseMemory)
		}
		return m
	}), 0, 5)
}
