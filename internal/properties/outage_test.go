package properties_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// The properties of outages and departing nodes (B9, M8).
var (
	excusedByEvidence = property{"V24 exempt by evidence", onePlan(objects.Released(), rollouttest.MaxExempt("1")), verified(24)}
	excusedOnTrial    = property{"V24 exempt by evidence, with canaries", anyTrial(objects.Released(), rollouttest.MaxExempt("2")), verified(24)}
	leftAlone         = property{"V26 departing nodes are left alone", onePlan(objects.Released(), rollouttest.MaxExempt("1"), untouching), verified(26)}
	passesOutages     = statement{"B9, V24 left out only what was down before", outageWorlds(), observed(observeOutages)}
	passesDeparting   = statement{"M8, V26 nothing on departing nodes, all the way", outageWorlds(), observed(observeDeparting)}
	endsOutages       = statement{"V16 nodes that stay down do not stop the others", quietOutageWorlds(), observed(observeOutages, observeDeparting, observeOutlasted)}
)

func TestOutagesAreExcusedByEvidence(t *testing.T) {
	test(t, excusedByEvidence, excusedOnTrial, leftAlone)
}

func TestOutagesAllTheWay(t *testing.T) { testTales(t, passesOutages, passesDeparting, endsOutages) }

func untouching(s *rollout.Spec) { s.Strategy.Policy.Outages.Touch = false }

// outageWorlds generates tales of a rollout over a fleet some of whose nodes have been down since before, with a revision that
// may take other nodes down, while nodes depart and come back.
func outageWorlds() *rapid.Generator[tale] {
	return rapid.Custom(func(t *rapid.T) tale {
		c := outageTale(t)
		switch rapid.SampledFrom([]string{"robust", "one breaks", "all break"}).Draw(t, "revision") {
		case "one breaks":
			for _, n := range c.Snapshot.Nodes[1:] {
				c.Behavior.Robust = append(c.Behavior.Robust, n.Name)
			}
			fallthrough
		case "all break":
			c.Behavior.Breaking = []string{nextImage}
		}
		rapid.SampledFrom([]rollouttest.SpecOption{
			func(*rollout.Spec) {}, func(*rollout.Spec) {}, func(*rollout.Spec) {}, rollouttest.Partition("1"), rollouttest.Partition("50%"),
			rollouttest.SlowStart(time.Minute, "1", "10"), rollouttest.Burst("1"),
			func(s *rollout.Spec) {
				rollouttest.Canary("1")(s)
				rollouttest.CanaryFor(time.Minute, 0)(s)
			},
		}).Draw(t, "more")(&c.Spec)
		c.most = enough
		return c
	})
}

// quietOutageWorlds generates such tales of a revision that breaks nothing, with as many nodes down as may be left out. Nodes that
// depart come back: what was begun there before counts as long as they are away.
func quietOutageWorlds() *rapid.Generator[tale] {
	return rapid.Custom(func(t *rapid.T) tale {
		c := outageTale(t)
		rollouttest.MaxExempt(fmt.Sprint(len(c.Behavior.Silent)))(&c.Spec)
		if rapid.Bool().Draw(t, "slow start") {
			rollouttest.SlowStart(time.Minute, "1", "10")(&c.Spec)
		}
		for _, n := range c.Snapshot.Nodes {
			c.turns = append(c.turns, turn{after: 1, mishap: harness.Mishap{Kind: harness.ReturnNode, Node: n.Name}})
		}
		return c
	})
}

func outageTale(t *rapid.T) tale {
	spec := rollouttest.Spec("agent", rapid.SampledFrom([]rollouttest.SpecOption{
		rollouttest.MaxUnavailable("1"), rollouttest.MaxUnavailable("2"), rollouttest.MaxSurge("1"),
	}).Draw(t, "budget"))
	if rapid.Bool().Draw(t, "tolerant") { // else nodes that are down are keep nodes
		rollouttest.Tolerating("", "")(&spec)
	}
	switch rapid.SampledFrom([]string{"plain", "plain", "in place", "hook", "first hook"}).Draw(t, "method") {
	case "in place":
		if spec.Strategy.MaxSurge == nil {
			rollouttest.InPlaceIfPossible()(&spec)
		}
	case "hook":
		rollouttest.PreDeleteHook(rollouttest.HookLabel("hook", "on"))(&spec)
		rollouttest.PodTemplateLabel("hook", "on")(&spec)
	case "first hook":
		rollouttest.PreNormalHook(rollouttest.HookLabel("hook", "on"))(&spec)
	}
	spec.MinReadySeconds = rapid.SampledFrom([]int32{0, 30}).Draw(t, "minReadySeconds")
	rollouttest.MaxExempt(rapid.SampledFrom([]string{"0", "1", "1", "2"}).Draw(t, "maxExempt"))(&spec)
	c := calmWorld(t, spec)
	c.Behavior.SameID = nil
	last := len(c.Snapshot.Nodes) - 1
	for _, i := range rapid.SliceOfNDistinct(rapid.IntRange(0, last), 0, 3, rapid.ID).Draw(t, "down") {
		since := rollouttest.Noon().Add(-rapid.SampledFrom([]time.Duration{time.Second, time.Minute, time.Hour}).Draw(t, "since"))
		n, p := c.Snapshot.Nodes[i], c.Snapshot.Pods[i]
		rollouttest.NotReady()(n)
		objects.NodeCondition(corev1.NodeReady, corev1.ConditionFalse, since)(n)
		objects.Condition(corev1.PodReady, corev1.ConditionFalse, since)(p)
		c.Behavior.Silent = append(c.Behavior.Silent, n.Name)
	}
	c.Spec = altered(spec, rollouttest.Image(nextImage))
	for range rapid.IntRange(0, 4).Draw(t, "turns") {
		c.turns = append(c.turns, turn{
			after: rapid.IntRange(0, 8).Draw(t, "after"),
			mishap: harness.Mishap{
				Kind: rapid.SampledFrom([]harness.MishapKind{harness.DepartNode, harness.DepartNode, harness.ReturnNode, harness.LoseMemory}).Draw(t, "kind"),
				Node: c.Snapshot.Nodes[rapid.IntRange(0, last).Draw(t, "node")].Name,
			},
		})
	}
	return c
}

// observeOutages counts the nodes without a Ready pod that neither were down from the beginning nor ever departed. There are never
// more than maxUnavailable, or maxSurge; with maxUnavailable less those of the nodes that were down and are beyond MaxExempt. A
// revision that takes its nodes down gets no further, however many more may be left out.
func observeOutages(c tale) observer {
	begin := slices.Clone(c.Behavior.Silent)
	departed := map[string]bool{}
	for _, turn := range c.turns {
		if turn.mishap.Kind == harness.DepartNode {
			departed[turn.mishap.Node] = true
		}
	}
	return func(s *sight) error {
		strategy := s.Spec.Strategy
		var may int
		if strategy.MaxSurge != nil {
			may = strategy.MaxSurge.IntValue()
		} else {
			may = strategy.MaxUnavailable.IntValue()
			if len(s.Spec.Template.Spec.Tolerations) > 0 { // else they do not count anyway
				may = max(0, may-max(0, len(begin)-strategy.Policy.Outages.MaxExempt.IntValue()))
			}
		}
		var lack []string
		for _, n := range s.Snapshot.Nodes {
			if !slices.Contains(begin, n.Name) && !departed[n.Name] && !s.served(n.Name) {
				lack = append(lack, n.Name)
			}
		}
		if len(lack) > may {
			return fmt.Errorf("V24: B9: nodes %v have no Ready pod, %d may; %v were down before", lack, may, begin)
		}
		return nil
	}
}

// observeDeparting sees to it that the controller neither creates nor deletes a pod on a node that departs, nor begins an update
// in place.
func observeDeparting(tale) observer {
	read := 0
	return func(s *sight) error {
		events := s.cluster.Events()
		departs := map[string]bool{}
		for _, n := range s.cluster.Snapshot().Nodes {
			departs[n.Name] = slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
				return c.Type == "MaintenanceInProgress" && c.Status == corev1.ConditionTrue
			})
		}
		for _, e := range events[read:] {
			switch e.Kind {
			case harness.PodCreated, harness.PodDeleted, harness.PodUpdated:
				if departs[e.Node] {
					return fmt.Errorf("V26: M8: %s", e)
				}
			default: // not the controller's
			}
		}
		read = len(events)
		return nil
	}
}

// observeOutlasted sees to it that all nodes have the revision in the end that are not down.
func observeOutlasted(c tale) observer {
	return func(s *sight) error {
		if rests, err := s.rests(); !rests {
			return err
		}
		for _, n := range s.Snapshot.Nodes {
			if slices.Contains(c.Behavior.Silent, n.Name) {
				continue
			}
			if pods := s.alive(n.Name); len(pods) != 1 || revisionOf(pods[0]) != s.of.hash || !s.served(n.Name) {
				return fmt.Errorf("V16: node %s is not updated in the end, and is up", n.Name)
			}
		}
		return nil
	}
}
