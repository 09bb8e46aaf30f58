package properties_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout/failure"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/status"
)

// The principles that stand above the rules (P-A to P-E), as far as one plan shows them, and in whole runs.
var (
	nothingUnsaid = property{"V28 nothing stands still unsaid", failurePlans(), verified(28)}
	noBlame       = property{"V29 no blame without evidence", failurePlans(), verified(29)}
	noWayAround   = property{"V30 no way around a gate", stagePlans(), verified(30)}
	noPermission  = property{"V31 leaving out is not permission", onePlan(objects.Released(), rollouttest.MaxExempt("50%"), rollouttest.MaxUnavailable("1")), verified(31)}
	closedHold    = property{"V32 closed parts hold what was good", stagePlans(), verified(32)}
	saysAtRest    = statement{"V28 what comes to rest is done, Paused, or Stuck and says what helps", restingWorlds(), observed(observeAtRest)}
	blamesNobody  = statement{"V29 a revision that works is not blamed", blamelessWorlds(), observed(observeBlame)}
	passesGates   = statement{"V30 no event opens a part that was not passed", gatedWorlds(), observed(observeStages)}
	keepsLastPods = statement{"V31 the last serving pod stays until the next one serves", roomyWorlds(), observed(observeLastPods)}
	bringsBack    = statement{"V32 what is broken in closed parts goes back", supersededWorlds(), observed(observeStages, observeBroken)}
)

func TestPrinciplesHold(t *testing.T) {
	test(t, nothingUnsaid, noBlame, noWayAround, noPermission, closedHold)
}

func TestPrinciplesAllTheWay(t *testing.T) {
	testTales(t, saysAtRest, blamesNobody, passesGates, keepsLastPods, bringsBack)
}

// observeAtRest sees to it that a set which has come to rest does not say that it goes on. If it says that it is stuck, then somebody
// is in the way who is so by his pods, or the spec, and something helps; and it does not say so if every node has what it is to have.
func observeAtRest(tale) observer {
	return func(s *sight) error {
		if !s.over || !s.settled {
			return nil
		}
		is := &s.plan.Status
		has := func(node string) bool { // the revision, which serves
			pods := s.alive(node)
			return len(pods) == 1 && revisionOf(pods[0]) == s.now.hash && s.served(node)
		}
		lacks := slices.ContainsFunc(s.cluster.Snapshot().Nodes, func(n *corev1.Node) bool { return !has(n.Name) })
		switch {
		case is.State == status.Updating:
			return fmt.Errorf("V28: the set is Updating (%s), and nothing will happen", is.Reason)
		case is.Reason == status.TooManyFailures: // for somebody to decide, also if what failed serves again
			return nil
		case is.State == status.Stuck && !lacks:
			return fmt.Errorf("V28: the set is Stuck (%s), and every node has what it is to have", is.Reason)
		case is.State == status.Stuck && len(s.plan.Blockers) == 0:
			return fmt.Errorf("V28: the set is Stuck (%s), and nobody is in the way", is.Reason)
		}
		for _, b := range s.plan.Blockers {
			if b.Why == "" || len(b.Helps) == 0 {
				return fmt.Errorf("V28: %q is in the way, and %q would help", b.Why, b.Helps)
			}
			if i := slices.IndexFunc(b.Nodes, has); i >= 0 {
				return fmt.Errorf("V28: node %s is in the way, and has what it is to have", b.Nodes[i])
			}
		}
		return nil
	}
}

// observeBlame sees to it that nobody says of a revision that it fails: of tales in which it does not.
func observeBlame(tale) observer {
	return func(s *sight) error {
		if s.failed[s.of.name] {
			return fmt.Errorf("V29: revision %s is given up, and it works", s.of.hash)
		}
		if !s.planned {
			return nil
		}
		for i := range s.plan.Decisions {
			if d := &s.plan.Decisions[i]; d.Failed {
				return fmt.Errorf("V29: the revision is said to have failed on %s, and it works", d.Node)
			}
		}
		return nil
	}
}

// observeLastPods sees to it that the controller takes no pod of a node that serves if nothing serves there then: with surge, and a
// controller that sees everything at once.
func observeLastPods(tale) observer {
	serving := map[string][]*corev1.Pod{} // by node, before the last plan
	read := 0
	return func(s *sight) error {
		events := s.cluster.Events()
		for _, e := range events[read:] {
			pods := serving[e.Node]
			if e.Kind == harness.PodDeleted && len(pods) == 1 && pods[0].UID == e.UID {
				return fmt.Errorf("V31: %s: nothing else serves there", e)
			}
		}
		read = len(events)
		clear(serving)
		if !s.planned {
			return nil
		}
		for _, n := range s.cluster.Snapshot().Nodes {
			if mustLeave(n) {
				continue
			}
			serving[n.Name] = slices.DeleteFunc(s.alive(n.Name), func(p *corev1.Pod) bool { return !isReady(p) || !gatesOpen(p) })
		}
		return nil
	}
}

// observeBroken sees to it that at rest no pod is left in a part that is not open which does not serve, and whose revision was not
// rolled out everywhere.
func observeBroken(tale) observer {
	var p progress
	var open map[spotOf]bool
	return func(s *sight) error {
		spec := s.spec
		a := takeAccount(&spec, s.cluster.Snapshot())
		if s.planned {
			open = p.follow(a)
		}
		if !s.over || !s.settled || a.completed() || a.expedited() {
			return nil
		}
		good := map[string]bool{}
		for _, r := range a.seen.Revisions {
			good[history.HashOf(r)] = history.Completed(r)
		}
		for _, n := range a.seen.Nodes {
			for _, pod := range s.alive(n.Name) {
				if !open[a.ofNode[n.Name]] && runs(n) && !s.served(n.Name) && !good[revisionOf(pod)] {
					return fmt.Errorf("V32: pod %s of %s serves nobody in part %v, which is not open, in the end",
						pod.Name, revisionOf(pod), a.ofNode[n.Name])
				}
			}
		}
		return nil
	}
}

// Worlds.

// restingWorlds generates tales of all policies, of which many come to rest without being done.
func restingWorlds() *rapid.Generator[tale] {
	return rapid.Custom(func(t *rapid.T) tale {
		c := rapid.SampledFrom([]*rapid.Generator[tale]{
			quietFailingWorlds(), failingStageWorlds(), breakingStageWorlds(), outageWorlds(), stageWorlds(),
		}).Draw(t, "world").Draw(t, "tale")
		c.most = 2 * enough
		return c
	})
}

// blamelessWorlds generates tales of outages in which a revision comes that works, and to which nothing happens that is its doing.
func blamelessWorlds() *rapid.Generator[tale] {
	return rapid.Custom(func(t *rapid.T) tale {
		c := outageTale(t)
		for _, p := range c.Snapshot.Pods { // kubelets say when they started a pod
			p.Status.StartTime = p.CreationTimestamp.DeepCopy()
		}
		rollouttest.Failures(failure.Options{
			Deadline: time.Hour, Action: rapid.SampledFrom([]failure.Action{failure.Pause, failure.Rollback}).Draw(t, "action"),
			MaxFailed: new(intstr.FromInt32(0)),
		})(&c.Spec)
		mishaps := rapid.IntRange(0, 4).Draw(t, "mishaps")
		if mishaps > 0 { // what ends on a node that departs stays so, for longer than pods may need
			c.turns = slices.DeleteFunc(c.turns, func(turn turn) bool { return turn.mishap.Kind == harness.DepartNode })
		}
		for range mishaps {
			c.turns = append(c.turns, turn{
				after: rapid.IntRange(0, 8).Draw(t, "after"),
				mishap: harness.Mishap{
					Kind: rapid.SampledFrom([]harness.MishapKind{
						harness.EvictPods, harness.EvictPods, harness.CrashPods, harness.LoseMemory, harness.AddNode,
					}).Draw(t, "kind"),
					Node: rapid.SampledFrom(c.Snapshot.Nodes).Draw(t, "node").Name,
				},
			})
		}
		c.most = enough
		return c
	})
}

// gatedWorlds generates tales of stages in which all happens that once opened a part by itself: canaries before, earlier attempts, nodes
// that are relabelled, lost memory.
func gatedWorlds() *rapid.Generator[tale] {
	return rapid.Custom(func(t *rapid.T) tale {
		c := stageTale(t)
		if rapid.Bool().Draw(t, "canary before") {
			rollouttest.Canary("50%")(&c.Spec)
			rollouttest.CanaryFor(time.Minute, 0)(&c.Spec)
		}
		if rapid.Bool().Draw(t, "approved") {
			all(c.Spec)(&c.Spec)
		}
		now := c.Spec
		for range rapid.IntRange(1, 6).Draw(t, "turns") {
			next := turn{after: rapid.IntRange(1, 12).Draw(t, "after")}
			switch node := rapid.SampledFrom(c.Snapshot.Nodes).Draw(t, "node").Name; rapid.SampledFrom([]string{"revision", "move", "move", "memory"}).Draw(t, "turn") {
			case "revision":
				now = altered(now, rollouttest.Image(rapid.SampledFrom([]string{"agent:v5", nextImage}).Draw(t, "image")))
				next.spec = &now
			case "move":
				next.mishap = harness.Mishap{Kind: harness.MoveNode, Node: node}
			default:
				next.mishap = harness.Mishap{Kind: harness.LoseMemory, Node: node}
			}
			c.turns = append(c.turns, next)
		}
		c.most = enough
		return c
	})
}

// roomyWorlds generates tales of a rollout with surge in which nodes are left out of the budget, because they have no room for the new
// pod, or because that fails.
func roomyWorlds() *rapid.Generator[tale] {
	return rapid.Custom(func(t *rapid.T) tale {
		spec := rollouttest.Spec("agent", rollouttest.MaxSurge(rapid.SampledFrom([]string{"1", "2", "100%"}).Draw(t, "surge")),
			rollouttest.MaxUnschedulable("50%"))
		if rapid.Bool().Draw(t, "hook") {
			rollouttest.PreDeleteHook(rollouttest.HookLabel("hook", "on"))(&spec)
			rollouttest.PodTemplateLabel("hook", "on")(&spec)
		}
		rollouttest.Failures(failure.Options{
			Deadline: time.Minute, MaxFailed: new(intstr.FromString("100%")), Quarantine: new(intstr.FromInt32(2)),
		})(&spec)
		c := calmWorld(t, spec)
		c.Behavior.SameID, c.Behavior.Lag = nil, 0
		c.Spec = altered(spec, rollouttest.Image(nextImage))
		drawIllness(t, &c)
		c.Behavior.Breaking = nil // what breaks a node takes its pods out of service, too
		for range rapid.IntRange(0, 5).Draw(t, "turns") {
			c.turns = append(c.turns, turn{
				after: rapid.IntRange(0, 8).Draw(t, "after"),
				mishap: harness.Mishap{
					Kind: rapid.SampledFrom([]harness.MishapKind{harness.EvictPods, harness.CrashPods, harness.LoseMemory}).Draw(t, "kind"),
					Node: rapid.SampledFrom(c.Snapshot.Nodes).Draw(t, "node").Name,
				},
			})
		}
		for _, n := range c.Snapshot.Nodes {
			if rapid.SampledFrom([]bool{false, false, true}).Draw(t, "full") {
				c.Behavior.Full = append(c.Behavior.Full, n.Name)
			}
		}
		c.most = enough
		return c
	})
}

// supersededWorlds generates tales of stages in which a revision comes that does not come up, and another one replaces it somewhere on
// its way.
func supersededWorlds() *rapid.Generator[tale] {
	return rapid.Custom(func(t *rapid.T) tale {
		c := stageTale(t)
		c.Snapshot.Revisions = []*appsv1.ControllerRevision{rollouttest.RolledOut(c.Stable, 1)}
		if rapid.Bool().Draw(t, "approved") {
			all(c.Spec)(&c.Spec)
		}
		drawIllness(t, &c)
		next := altered(c.Spec, rollouttest.Image("agent:v5"))
		if rapid.Bool().Draw(t, "approved again") {
			all(next)(&next)
		}
		c.turns = append(c.turns, turn{after: rapid.IntRange(1, 40).Draw(t, "after"), spec: &next})
		c.most = 2 * enough
		return c
	})
}
