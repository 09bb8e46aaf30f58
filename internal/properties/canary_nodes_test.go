package properties_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/harness/draw"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// The properties of overrides that change (P8), and of sets that take over from others, as observed on the nodes.
var (
	overridesMove = statement{"P8 only overridden nodes change, all of them", overrideWorlds(), observed(observeOverrides, observeServing)}
	leavesOut     = statement{"B8 left out, and no more than may be", crowdedWorlds(), observed(observeCrowded)}
	takesOver     = statement{"V3 never two pods, and the old ones go", legacyWorlds(), observed(observeTakeover)}
)

func TestOverridesAllTheWay(t *testing.T) { testTales(t, overridesMove) }

func TestMaxUnschedulableAllTheWay(t *testing.T) { testTales(t, leavesOut) }

func TestPredecessorAllTheWay(t *testing.T) { testTales(t, takesOver) }

// cpuFor overrides the cpu of the main container on the nodes of a zone.
func cpuFor(name, zone, cpu string) placement.Override {
	return placement.Override{
		Name: name, Created: rollouttest.Noon().Add(-time.Hour),
		NodeSelector: metav1.LabelSelector{MatchLabels: map[string]string{zoneKey: zone}},
		Containers: map[string]corev1.ResourceRequirements{
			"main": {Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}},
		},
	}
}

// calmWorld is a fleet at rest whose pods are those of the spec.
func calmWorld(t *rapid.T, spec rollout.Spec) tale {
	c := tale{World: harness.World{Behavior: draw.AnyBehavior().Draw(t, "behavior")}, seed: rapid.Uint64().Draw(t, "seed")}
	c.Spec, c.Stable, c.Snapshot.Now = spec, spec, rollouttest.Noon()
	for i := range rapid.IntRange(1, 8).Draw(t, "nodes") {
		n := rollouttest.Node(string(rune('a'+i)), rollouttest.Label(zoneKey, rapid.SampledFrom([]string{"a", "a", "b", "c"}).Draw(t, "zone")))
		c.Snapshot.Nodes = append(c.Snapshot.Nodes, n)
		pod := rollouttest.Pod("agent-"+n.Name, rollouttest.Of(spec), rollouttest.OnNode(n.Name))
		if cpu := wantedCPU(spec, n); cpu != "" {
			by := []placement.Resources{{Container: "main", Resources: cpuFor("", "", cpu).Containers["main"]}}
			objects.Overridden(placement.Overridden{Resources: by, Digest: placement.Digest(by)})(pod)
		}
		c.Snapshot.Pods = append(c.Snapshot.Pods, pod)
	}
	c.Snapshot.Revisions = append(c.Snapshot.Revisions, rollouttest.Revision(spec, 1))
	return c
}

func drawBudget(t *rapid.T) rollouttest.SpecOption {
	return rapid.SampledFrom([]rollouttest.SpecOption{
		func(*rollout.Spec) {}, rollouttest.MaxUnavailable("2"), rollouttest.MaxUnavailable("50%"), rollouttest.MaxSurge("1"),
	}).Draw(t, "budget")
}

// overrideWorlds generates tales in which overrides change, and nothing else does: in the spec, or the annotations of
// single nodes.
func overrideWorlds() *rapid.Generator[tale] {
	return rapid.Custom(func(t *rapid.T) tale {
		spec := rollouttest.Spec("agent", drawBudget(t), rollouttest.Requests(corev1.ResourceCPU, "100m"))
		if rapid.Bool().Draw(t, "overridden before") {
			rollouttest.Override(cpuFor("old", "a", "200m"))(&spec)
		}
		if rapid.Bool().Draw(t, "in place") && spec.Strategy.MaxSurge == nil {
			rollouttest.InPlaceIfPossible()(&spec)
		}
		if rapid.Bool().Draw(t, "canary") { // which needs none
			rollouttest.Canary("1")(&spec)
		}
		c := calmWorld(t, spec)
		c.Snapshot.Revisions = nil
		c.Snapshot.Revisions = append(c.Snapshot.Revisions, rollouttest.Promoted(spec, 1))
		next := altered(spec)
		next.Overrides = nil
		for i := range rapid.IntRange(0, 2).Draw(t, "overrides") {
			rollouttest.Override(cpuFor(string(rune('m'+i)), rapid.SampledFrom([]string{"a", "b"}).Draw(t, "zone"),
				rapid.SampledFrom([]string{"200m", "300m", "0.2"}).Draw(t, "cpu")))(&next)
		}
		c.Spec = next
		if rapid.Bool().Draw(t, "annotated") {
			c.turns = append(c.turns, turn{after: rapid.IntRange(0, 5).Draw(t, "after"), mishap: harness.Mishap{
				Kind: harness.OverrideNode, Node: rapid.SampledFrom(c.Snapshot.Nodes).Draw(t, "node").Name,
			}})
		}
		return c
	})
}

// wantedCPU is what the overrides of the spec ask for on the node: of several the one whose name sorts last (P8). Empty:
// that of the template.
func wantedCPU(spec rollout.Spec, n *corev1.Node) string {
	name, cpu := "", ""
	for _, o := range spec.Overrides {
		if o.NodeSelector.MatchLabels[zoneKey] == n.Labels[zoneKey] && o.Name > name {
			amount := o.Containers["main"].Requests[corev1.ResourceCPU]
			name, cpu = o.Name, amount.String()
		}
	}
	return cpu
}

// observeOverrides sees to it that pods stay where the amounts do, and that all have theirs in the end.
func observeOverrides(c tale) observer {
	byHand := map[string]bool{}
	for _, turn := range c.turns {
		byHand[turn.mishap.Node] = true
	}
	return func(s *sight) error {
		rests, err := s.rests()
		if err != nil {
			return err
		}
		for i, n := range s.Snapshot.Nodes {
			before, want := wantedCPU(s.Stable, n), wantedCPU(s.Spec, n)
			if byHand[n.Name] {
				want = "600m"
			}
			first, now := s.Snapshot.Pods[i], s.cluster.PodsOn(n.Name)
			if before == want && (len(now) != 1 || now[0].UID != first.UID) {
				return fmt.Errorf("P8: node %s has another pod, and nothing changed there", n.Name)
			}
			if !rests {
				continue
			}
			if want == "" {
				want = "100m"
			}
			if len(now) != 1 || now[0].Spec.Containers[0].Resources.Requests.Cpu().Cmp(resource.MustParse(want)) != 0 {
				return fmt.Errorf("P8: node %s has %d pods, and should have one with %s of cpu: %v", n.Name, len(now), want, now[0].Spec.Containers[0].Resources)
			}
		}
		return nil
	}
}

// legacyWorlds generates tales of a set that takes over from another, whose pods are on most nodes, and of the way back.
func legacyWorlds() *rapid.Generator[tale] {
	return rapid.Custom(func(t *rapid.T) tale {
		spec := rollouttest.Spec("agent", drawBudget(t), following)
		if rapid.Bool().Draw(t, "canary") {
			rollouttest.Canary("1")(&spec)
			rollouttest.CanaryFor(time.Minute, 0)(&spec)
		}
		c := calmWorld(t, spec)
		c.Snapshot.Revisions = nil // those of the other set are its own
		sameHash, owned := rapid.Bool().Draw(t, "same hash"), rapid.Bool().Draw(t, "owned")
		var pods []*corev1.Pod
		for _, p := range c.Snapshot.Pods {
			switch rapid.SampledFrom([]string{"theirs", "theirs", "theirs", "none"}).Draw(t, "pod") {
			case "none":
				continue
			default:
				p.UID += "-theirs"
				p.OwnerReferences = nil
				if !sameHash {
					p.Labels["controller-revision-hash"] = "5f46b89dcc"
				}
				if owned {
					theirs(p)
				} else {
					p.Labels["app"] = "before"
				}
				pods = append(pods, p)
			}
		}
		c.Snapshot.Pods = pods
		return c
	})
}

// observeTakeover sees to it that no node has two live pods but by surge, that none without a pod of its own loses the old
// one for nothing, and that in the end each has one, which is the set's.
func observeTakeover(c tale) observer {
	old := map[types.UID]bool{}
	for _, p := range c.Snapshot.Pods {
		old[p.UID] = true
	}
	serving := observeServing(c)
	return func(s *sight) error {
		rests, err := s.rests()
		if err := errors.Join(err, serving(s)); err != nil {
			return err
		}
		for _, n := range s.Snapshot.Nodes {
			alive := s.alive(n.Name)
			if len(alive) > 1 && s.Spec.Strategy.MaxSurge == nil {
				return fmt.Errorf("node %s has %d live pods", n.Name, len(alive))
			}
			if !rests {
				continue
			}
			if pods := s.cluster.PodsOn(n.Name); len(pods) != 1 || old[pods[0].UID] || !isReady(pods[0]) {
				return fmt.Errorf("node %s has %d pods in the end, and should have one of the set, Ready; the old were %v", n.Name, len(pods), slices.Sorted(maps.Keys(old)))
			}
		}
		return nil
	}
}

// crowdedWorlds generates tales of a rollout over a fleet some of whose nodes have no room for another pod, once the old one
// is gone.
func crowdedWorlds() *rapid.Generator[tale] {
	return rapid.Custom(func(t *rapid.T) tale {
		exempt := rapid.IntRange(1, 2).Draw(t, "maxUnschedulable")
		spec := rollouttest.Spec("agent", rapid.SampledFrom([]rollouttest.SpecOption{
			rollouttest.MaxUnavailable("1"), rollouttest.MaxUnavailable("2"), rollouttest.MaxSurge("1"),
		}).Draw(t, "budget"), rollouttest.MaxUnschedulable(fmt.Sprint(exempt)))
		c := calmWorld(t, spec)
		for range rapid.IntRange(0, 4).Draw(t, "crowded") {
			c.Behavior.Full = append(c.Behavior.Full, rapid.SampledFrom(c.Snapshot.Nodes).Draw(t, "node").Name)
		}
		slices.Sort(c.Behavior.Full)
		c.Behavior.Full = slices.Compact(c.Behavior.Full)
		c.Spec = altered(spec, rollouttest.Image(nextImage))
		return c
	})
}

// observeCrowded counts the nodes without a Ready pod, and those with two: as many more as may be left out than the budget
// allows, and only if they have no room. If all of those may be left out, the others are updated in the end.
func observeCrowded(tale) observer {
	return func(s *sight) error {
		rests, err := s.rests()
		if err != nil {
			return err
		}
		strategy, full := s.Spec.Strategy, s.Behavior.Full
		leftOut := strategy.MaxUnschedulable.IntValue()
		mayLack, mayDouble := leftOut, 0
		if strategy.MaxSurge != nil {
			mayLack, mayDouble = 0, leftOut+strategy.MaxSurge.IntValue()
		} else {
			mayLack += strategy.MaxUnavailable.IntValue()
		}
		var lack, double []string
		roomy := 0
		for _, n := range s.Snapshot.Nodes {
			alive := s.alive(n.Name)
			if !s.served(n.Name) || len(alive) > 1 {
				if lack = append(lack, n.Name); s.served(n.Name) {
					lack, double = lack[:len(lack)-1], append(double, n.Name)
				}
				if !slices.Contains(full, n.Name) {
					roomy++
				}
			}
			if rests && len(full) <= leftOut && !slices.Contains(full, n.Name) &&
				(len(alive) != 1 || revisionOf(alive[0]) != s.of.hash || !s.served(n.Name)) {
				return fmt.Errorf("V16: node %s is not updated in the end, and has room", n.Name)
			}
		}
		if len(lack) > mayLack || len(double) > mayDouble || roomy > max(mayLack, mayDouble)-leftOut {
			return fmt.Errorf("B8: nodes %v have no Ready pod, %d may; nodes %v have two, %d may; %d of them with room", lack, mayLack, double, mayDouble, roomy)
		}
		return nil
	}
}
