package properties_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/harness/draw"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// The properties of slow start (B7) over the whole of an installation or a rollout, counted from what is on the nodes.
var (
	ramps        = statement{"V11 no more under way than that minute lets", slowWorlds(), observed(observeRamp, observeDone)}
	rampsWithIll = statement{"V11 no more under way, come up or not", illSlowWorlds(), observed(observeRamp)}
	rampsBack    = statement{"V11 no more under way on the way back", failedSlowWorlds(), observed(observeRamp, observeReturn)}
)

func TestSlowStartAllTheWay(t *testing.T) { testTales(t, ramps, rampsWithIll, rampsBack) }

// slowWorlds generates tales of an installation, or of a rollout, with or without a canary, that slow start holds up more
// than the budget does.
func slowWorlds() *rapid.Generator[tale] {
	return rapid.Custom(func(t *rapid.T) tale {
		return slowTale(t, rapid.Bool().Draw(t, "installed"), rapid.SampledFrom([]string{"", "", "2"}).Draw(t, "canary"))
	})
}

func slowTale(t *rapid.T, installed bool, replicas string) tale {
	interval := rapid.SampledFrom([]time.Duration{time.Second, 20 * time.Second, time.Minute}).Draw(t, "interval")
	spec := rollouttest.Spec("agent", rollouttest.SlowStart(interval, rapid.SampledFrom([]string{"1", "1", "2", "10%", "25%"}).Draw(t, "increase"),
		rapid.SampledFrom([]string{"250", "3", "2", "50%"}).Draw(t, "maxParallel")))
	rapid.SampledFrom([]rollouttest.SpecOption{
		rollouttest.MaxUnavailable("100%"), rollouttest.MaxUnavailable("100%"), rollouttest.MaxUnavailable("2"), rollouttest.MaxSurge("100%"),
	}).Draw(t, "budget")(&spec)
	spec.MinReadySeconds = rapid.SampledFrom([]int32{0, 0, 30}).Draw(t, "minReadySeconds")
	c := tale{World: harness.World{Behavior: draw.AnyBehavior().Draw(t, "behavior")}, seed: rapid.Uint64().Draw(t, "seed")}
	c.Snapshot.Now = rollouttest.Noon()
	for i := range rapid.IntRange(1, 12).Draw(t, "nodes") {
		c.Snapshot.Nodes = append(c.Snapshot.Nodes, rollouttest.Node(string(rune('a'+i))))
	}
	if installed {
		c.Stable = spec
		for _, n := range c.Snapshot.Nodes {
			c.Snapshot.Pods = append(c.Snapshot.Pods, rollouttest.Pod("agent-"+n.Name, rollouttest.Of(spec), rollouttest.OnNode(n.Name)))
		}
		c.Snapshot.Revisions = append(c.Snapshot.Revisions, rollouttest.Revision(spec, 1))
		spec = altered(spec, rollouttest.Image(nextImage))
	}
	if replicas != "" {
		rollouttest.Canary(replicas)(&spec)
		rollouttest.CanaryFor(time.Minute, 0)(&spec)
	}
	c.Spec = spec
	for _, at := range rapid.SliceOfN(rapid.IntRange(0, 15), 0, 2).Draw(t, "losses") {
		c.turns = append(c.turns, turn{after: at, mishap: harness.Mishap{Kind: harness.LoseMemory}})
	}
	return c
}

// illSlowWorlds generates such tales, of a revision that does not come up.
func illSlowWorlds() *rapid.Generator[tale] {
	return rapid.Custom(func(t *rapid.T) tale {
		c := slowWorlds().Draw(t, "tale")
		c.Behavior = draw.AnyIllness(c.Behavior, rollouttest.Hash(c.Spec)).Draw(t, "illness")
		c.most = enough
		c.Behavior.Failing = nil // a pod that fails is replaced for ever
		return c
	})
}

// failedSlowWorlds generates such tales of a canary on many nodes, which all go back.
func failedSlowWorlds() *rapid.Generator[tale] {
	return rapid.Custom(func(t *rapid.T) tale {
		c := slowTale(t, true, rapid.SampledFrom([]string{"50%", "100%"}).Draw(t, "canary"))
		rollouttest.AutoFail(canary.AutoFail{CanaryTimeout: new(2 * time.Hour)})(&c.Spec)
		c.Behavior.NeverReady = []string{rollouttest.Hash(c.Spec)}
		return c
	})
}

// limitAt is what slow start lets be under way so long after the rollout began.
func (c *tale) limitAt(elapsed time.Duration) int {
	slow, desired := c.Spec.Strategy.SlowStart, len(c.Snapshot.Nodes)
	up := func(q *intstr.IntOrString) int { return max(1, inNodes(q.String(), desired)) }
	return min((1+int(elapsed/slow.Interval))*up(slow.Increase), up(slow.MaxParallel))
}

// observeRamp counts the nodes that wait for their new pod: the old one is on its way out or gone, or the new one is not
// available yet and younger than one interval. A node that has an available pod of where it is to end waits for none: what
// goes beside that one is superfluous (M3), in whatever number. After a fail that is the stable revision (T6).
func observeRamp(c tale) observer {
	had, slots := map[string]bool{}, 0
	for _, p := range c.Snapshot.Pods {
		had[nodeOf(p)] = true
	}
	return func(s *sight) error {
		now, began := s.cluster.Now(), s.Snapshot.Now
		if s.Spec.Strategy.Canary != nil && s.when[s.of.name].After(began) {
			began = s.when[s.of.name]
		}
		// Who has lost the memory begins anew, and what was under way then still is.
		slots = max(slots, s.limitAt(now.Sub(began)))
		target := s.of.hash
		if s.failed[s.of.name] {
			target = s.stable.hash
		}
		var waiting []string
		for _, n := range s.Snapshot.Nodes {
			pods := s.cluster.PodsOn(n.Name)
			had[n.Name] = had[n.Name] || len(pods) > 0
			done := slices.ContainsFunc(pods, func(p *corev1.Pod) bool { return revisionOf(p) == target && s.available(p) })
			starts := !done && slices.ContainsFunc(pods, func(p *corev1.Pod) bool {
				young := now.Before(p.CreationTimestamp.Add(s.Spec.Strategy.SlowStart.Interval))
				return p.DeletionTimestamp != nil || revisionOf(p) == target && young && !s.available(p)
			})
			if starts || had[n.Name] && len(pods) == 0 {
				waiting = append(waiting, n.Name)
			}
		}
		if len(waiting) > slots {
			return fmt.Errorf("B7: nodes %v are under way after %v, and %d may be", waiting, now.Sub(began), slots)
		}
		return nil
	}
}

// observeDone sees to it that all nodes have the revision in the end.
func observeDone(tale) observer {
	return func(s *sight) error {
		if rests, err := s.rests(); !rests {
			return err
		}
		for _, n := range s.Snapshot.Nodes {
			if pods := s.cluster.PodsOn(n.Name); len(pods) != 1 || revisionOf(pods[0]) != s.of.hash {
				return fmt.Errorf("V16: node %s has %d pods, and should have one of the revision", n.Name, len(pods))
			}
		}
		return nil
	}
}
