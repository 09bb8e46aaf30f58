package properties_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// The properties of a planner along stories, each as one witness sees it, and as the verifier does.
var (
	toldSafe     = property{"V1 to V12, V14, V15, along stories", stories(), tell(witness{at: witnessVerify})}
	toldBudget   = property{"V1, as witnessed", stories(), tell(witness{at: witnessBudget})}
	toldHeld     = property{"V5 and V6, as witnessed", stories(), tell(witness{at: witnessHeld})}
	toldHooks    = property{"V8, as witnessed", stories(), tell(witness{at: witnessHooks})}
	toldTruth    = property{"V9, as witnessed", stories(), tell(witness{at: witnessTruth})}
	toldPulls    = property{"V10, as witnessed", stories(onePullAtATime), tell(witness{at: witnessPulls})}
	toldEnd      = property{"V16, as witnessed", stories(), tell(witness{end: witnessEnd})}
	toldRollback = property{"V1, rolled back unseen", rollbacks(), tell(witness{at: witnessUnready})}
	toldSecond   = property{"V16, second updates", secondUpdates(), tell(witness{end: witnessEnd})}
	toldIdentity = property{"V17, as witnessed", stories(), tell(witness{at: witnessIdentity})}
	toldAll      = property{"V1 to V17, as witnessed", stories(), tell(witness{witnessAll, witnessEnd})}
)

func TestStoriesAreSafe(t *testing.T) { test(t, toldSafe) }

func TestStoriesEndWell(t *testing.T) { test(t, toldAll, toldPulls, toldRollback, toldSecond) }

// rollbacks generates stories of users who go back before the watch shows what the update has begun.
func rollbacks() *rapid.Generator[trial] {
	return rapid.Custom(func(t *rapid.T) trial {
		first := rollouttest.Spec("agent", rollouttest.InPlaceIfPossible(), rollouttest.Requests(corev1.ResourceCPU, "100m"))
		next := altered(first, rollouttest.Image(nextImage))
		c := trial{count: 1, world: world{lag: rapid.IntRange(1, 4).Draw(t, "lag")}}
		c.Spec, c.Snapshot = first, rollout.Snapshot{Now: rollouttest.Noon(), Nodes: rollouttest.Nodes("a", "b", "c")}
		c.Snapshot.Revisions = append(c.Snapshot.Revisions, rollouttest.Revision(first, 1))
		for _, node := range c.Snapshot.Nodes {
			c.Snapshot.Pods = append(c.Snapshot.Pods, rollouttest.Pod("agent-"+node.Name, rollouttest.Of(first), rollouttest.OnNode(node.Name)))
		}
		c.changes = []harness.Change{{Spec: next}, {After: rapid.IntRange(0, 60).Draw(t, "after"), Spec: first}}
		return c
	})
}

// witnessUnready counts the pods that were made unready for their update, done or not (B2).
func witnessUnready(s *moment) error {
	var list []string
	for _, p := range s.after.Pods {
		if unready(p) {
			list = append(list, p.Name)
		}
	}
	if len(list) > s.count {
		return fmt.Errorf("V1: pods %v are updated at a time, %d may", list, s.count)
	}
	return nil
}

func witnessAll(s *moment) error {
	return errors.Join(witnessBudget(s), witnessHeld(s), witnessIdentity(s), witnessHooks(s), witnessPulls(s), witnessTruth(s))
}

func onePullAtATime(s *rollout.Spec) { rollouttest.PreDownload("1")(s) }

const (
	hookKey   = "agent.io/hook"
	zoneKey   = "zone"
	nextImage = "agent:v2"
)

// stories generates stories.
func stories(options ...rollouttest.SpecOption) *rapid.Generator[trial] {
	return rapid.Custom(func(t *rapid.T) trial {
		c := trial{count: rapid.IntRange(1, 4).Draw(t, "maxUnavailable")}
		c.Spec = drawStorySpec(t, c.count)
		for _, option := range options {
			option(&c.Spec)
		}
		c.changes = drawStory(t, c.Spec)
		c.Snapshot = rollout.Snapshot{Now: rollouttest.Noon(), Revisions: []*appsv1.ControllerRevision{rollouttest.Revision(c.Spec, 1)}}
		for i := range rapid.IntRange(1, 8).Draw(t, "nodes") {
			name := string(rune('a' + i))
			c.Snapshot.Nodes = append(c.Snapshot.Nodes, rollouttest.Node(name,
				rollouttest.Label(zoneKey, rapid.SampledFrom([]string{"a", "a", "b"}).Draw(t, "zone"))))
			c.Snapshot.Pods = append(c.Snapshot.Pods, rollouttest.Pod("agent-"+name, rollouttest.Of(c.Spec), rollouttest.OnNode(name)))
		}
		drawWorld(t, &c)
		return c
	})
}

// secondUpdates generates stories of an image that nodes can never pull, and of one that takes its place.
func secondUpdates() *rapid.Generator[trial] {
	return rapid.Map(stories(), func(c trial) trial {
		stuck := altered(c.Spec, rollouttest.Image(nextImage))
		stuck.Strategy.Method = inplace.IfPossible
		c.behavior.Stuck, c.behavior.NeverReady, c.behavior.Failing = []string{nextImage}, nil, nil
		c.behavior.Restart, c.behavior.Resize, c.world.stubborn = 0, 0, nil
		c.world.bad, c.world.unfair = true, false
		c.changes = []harness.Change{{Spec: stuck}, {After: 4 + c.count, Spec: altered(stuck, rollouttest.Image("agent:v3"))}}
		return c
	})
}

// drawStorySpec draws the spec of a fleet at rest.
func drawStorySpec(t *rapid.T, budget int) rollout.Spec {
	seconds := rapid.SampledFrom([]int32{0, 30}).Draw(t, "minReadySeconds")
	spec := rollouttest.Spec("agent", rollouttest.MaxUnavailable(fmt.Sprint(budget)), rollouttest.MinReadySeconds(seconds),
		rollouttest.Requests(corev1.ResourceCPU, "100m"), rollouttest.PodTemplateLabel("tier", "old"))
	method := rapid.SampledFrom([]inplace.Method{inplace.IfPossible, inplace.IfPossible, inplace.Only, inplace.Recreate}).Draw(t, "method")
	spec.Strategy.Method = method
	if method != inplace.Recreate {
		spec.Strategy.InPlace.Resize = true
		spec.Strategy.InPlace.GracePeriodSeconds = rapid.SampledFrom([]int32{0, 0, 10}).Draw(t, "grace period")
	}
	spec.Strategy.HoldRevision = rapid.SampledFrom([]bool{false, false, true}).Draw(t, "holdRevision")
	if burst := rapid.SampledFrom([]string{"", "", "1", "2"}).Draw(t, "burst"); burst != "" {
		rollouttest.Burst(burst)(&spec)
	}
	drawStoryHooks(t, &spec)
	if parallelism := rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "parallelism"); parallelism != "" {
		rollouttest.PreDownload(parallelism)(&spec)
	}
	return spec
}

func drawStoryHooks(t *rapid.T, spec *rollout.Spec) {
	for _, set := range []func(lifecycle.Hook) rollouttest.SpecOption{rollouttest.PreDeleteHook, rollouttest.InPlaceUpdateHook} {
		kind := rapid.SampledFrom([]string{"none", "label", "finalizer"}).Draw(t, "hook")
		if kind == "none" {
			continue
		}
		name := hookKey + fmt.Sprint(len(spec.Template.Labels)+len(spec.Template.Finalizers))
		hook := rollouttest.HookLabel(name, "true")
		if kind == "finalizer" {
			hook = objects.HookFinalizer(name)
			objects.PodTemplateFinalizer(name)(spec)
		} else {
			rollouttest.PodTemplateLabel(name, "true")(spec)
		}
		hook.MarkPodNotReady = rapid.Bool().Draw(t, "marks")
		set(hook)(spec)
	}
	if rapid.SampledFrom([]bool{false, false, true}).Draw(t, "preNormal") {
		rollouttest.PreNormalHook(rollouttest.HookLabel("agent.io/normal", "true"))(spec)
	}
}

// drawStory draws what users do: a new template first, then whatever comes to their minds, and then they let it go on.
func drawStory(t *rapid.T, first rollout.Spec) []harness.Change {
	changes := []harness.Change{{Spec: altered(first, drawTemplate(t, first), drawTarget(t))}}
	for range rapid.IntRange(0, 3).Draw(t, "changes") {
		last := changes[len(changes)-1].Spec
		changes = append(changes, harness.Change{
			After: rapid.IntRange(0, 25).Draw(t, "after"),
			Spec:  altered(last, drawTarget(t), drawTemplate(t, first), drawMind(t, first)),
		})
	}
	objects.Rolling()(&changes[len(changes)-1].Spec)
	return changes
}

// altered is a spec with changes, which shares nothing with the one before.
func altered(spec rollout.Spec, options ...rollouttest.SpecOption) rollout.Spec {
	spec.Template = *spec.Template.DeepCopy()
	for _, option := range options {
		option(&spec)
	}
	return spec
}

// drawTemplate draws a change of the template.
func drawTemplate(t *rapid.T, first rollout.Spec) rollouttest.SpecOption {
	return rapid.SampledFrom([]rollouttest.SpecOption{
		rollouttest.Image(nextImage),
		rollouttest.Image(nextImage),
		rollouttest.Image("agent:v3"),
		func(s *rollout.Spec) {
			rollouttest.Image("agent:v4")(s)
			rollouttest.PodTemplateLabel("tier", "new")(s)
		},
		func(s *rollout.Spec) { s.Template = *first.Template.DeepCopy() }, // back
		func(s *rollout.Spec) {}, // not at all
		rollouttest.Requests(corev1.ResourceCPU, "200m"),
		func(s *rollout.Spec) {
			rollouttest.Image("agent:v5")(s)
			rollouttest.Requests(corev1.ResourceCPU, "200m")(s)
		},
		func(s *rollout.Spec) { // cannot be done in place
			rollouttest.Image("agent:v6")(s)
			s.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "LEVEL", Value: "new"}}
		},
	}).Draw(t, "template")
}

// drawTarget draws which nodes are to be updated.
func drawTarget(t *rapid.T) rollouttest.SpecOption {
	return rapid.SampledFrom([]rollouttest.SpecOption{
		func(s *rollout.Spec) {},
		func(s *rollout.Spec) {},
		func(s *rollout.Spec) { s.Strategy.Partition, s.Strategy.NodeSelector = nil, nil },
		rollouttest.Partition("1"), rollouttest.Partition("3"), rollouttest.Partition("50%"), rollouttest.Partition("100%"),
		func(s *rollout.Spec) {
			s.Strategy.NodeSelector = nil
			rollouttest.StrategyNodeSelector(zoneKey, "a")(s)
		},
		func(s *rollout.Spec) {
			s.Strategy.NodeSelector = nil
			rollouttest.StrategyNodeSelector(zoneKey, "b")(s)
		},
	}).Draw(t, "target")
}

// drawMind draws what else comes to users' minds.
func drawMind(t *rapid.T, first rollout.Spec) rollouttest.SpecOption {
	method := func(m inplace.Method) rollouttest.SpecOption {
		return func(s *rollout.Spec) {
			s.Strategy.Method, s.Strategy.InPlace = m, inplace.Options{Resize: m != inplace.Recreate}
		}
	}
	return rapid.SampledFrom([]rollouttest.SpecOption{
		func(s *rollout.Spec) {}, func(s *rollout.Spec) {}, func(s *rollout.Spec) {},
		func(s *rollout.Spec) { s.Strategy.Paused = !s.Strategy.Paused },
		rollouttest.Paused(), rollouttest.Frozen(), objects.Rolling(),
		method(inplace.Recreate), method(inplace.IfPossible), method(inplace.Only),
		func(s *rollout.Spec) { s.Lifecycle = lifecycle.Hooks{} },
		func(s *rollout.Spec) { s.Lifecycle = first.Lifecycle },
	}).Draw(t, "mind")
}

// drawWorld draws what cluster, users and controller are like.
func drawWorld(t *rapid.T, c *trial) {
	w := &c.world
	w.lag = rapid.SampledFrom([]int{0, 0, 0, 1, 3}).Draw(t, "lag")
	w.part = rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "part")
	w.forgetful = rapid.SampledFrom([]bool{false, false, true}).Draw(t, "forgetful")
	w.hook = rapid.SampledFrom([]time.Duration{0, 2 * time.Second, time.Minute, time.Hour}).Draw(t, "hook")
	b := &c.behavior
	b.Hook = -1 // the story has users of its own
	b.Jitter = rapid.SampledFrom([]uint64{0, 1, 2}).Draw(t, "jitter")
	b.Start = rapid.SampledFrom([]time.Duration{0, time.Second, 2 * time.Minute}).Draw(t, "start")
	b.Restart = rapid.SampledFrom([]time.Duration{0, 0, 2 * time.Minute}).Draw(t, "restart")
	b.Resize = rapid.SampledFrom([]time.Duration{0, time.Minute}).Draw(t, "resize")
	b.Pull = rapid.SampledFrom([]time.Duration{0, time.Second, time.Hour, -1}).Draw(t, "pull")
	b.FailedPulls = rapid.SampledFrom([]int{0, 0, 1, -1}).Draw(t, "failed pulls")
	if rapid.SampledFrom([]bool{false, false, true}).Draw(t, "same ID") {
		b.SameID = []string{nextImage, "agent:v3", "agent:v1"}
	}
	// What the fleet runs at the beginning is good.
	bad, last := "", rollouttest.Hash(c.changes[len(c.changes)-1].Spec)
	resizes := false // then pods can fail after they were available, which is nobody's choice
	for _, change := range c.changes {
		if hash := rollouttest.Hash(change.Spec); hash != rollouttest.Hash(c.Spec) && (bad == "" || rapid.Bool().Draw(t, "bad")) {
			bad = hash
		}
		resizes = resizes || !reflect.DeepEqual(change.Spec.Template.Spec.Containers[0].Resources, c.Spec.Template.Spec.Containers[0].Resources)
	}
	switch rapid.SampledFrom([]string{"fair", "fair", "fair", "stubborn", "never ready", "failing", "stuck", "no restart"}).Draw(t, "fairness") {
	case "fair":
		return
	case "stubborn":
		w.stubborn = rapid.SliceOfN(rapid.SampledFrom(nodeNames(c)), 1, 3).Draw(t, "stubborn")
		w.unfair = true
	case "never ready":
		b.NeverReady = []string{bad}
		w.unfair = bad == last
	case "failing":
		if resizes {
			return
		}
		b.Failing = []string{bad}
		w.unfair = bad == last
	case "stuck":
		b.Stuck = []string{nextImage}
		w.unfair = c.changes[len(c.changes)-1].Spec.Template.Spec.Containers[0].Image == nextImage
	case "no restart":
		b.Restart, b.Resize = -1, -1
		w.unfair = true
	}
	w.bad = true
}

func nodeNames(c *trial) []string {
	var names []string
	for _, n := range c.Snapshot.Nodes {
		names = append(names, n.Name)
	}
	return names
}

// unready tells whether the pod is in the middle of an in-place update.
func unready(p *corev1.Pod) bool {
	return p != nil && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == lifecycle.InPlaceUpdateReady && c.Status == corev1.ConditionFalse
	})
}
