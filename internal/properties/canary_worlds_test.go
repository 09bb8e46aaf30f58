package properties_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/harness/draw"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// The properties of canaries from the first plan to the last, by the harness's own watch and as observed.
var (
	promotes = statement{"C2 healthy: promoted", worlds(objects.Released()), inWorld(ends(harness.EndsPromoted))}
	givesUp  = statement{"C4 ill: failed", illWorlds(objects.Rolling(), rollouttest.AutoFail(canary.AutoFail{CanaryTimeout: new(2 * time.Hour)})), inWorld(ends(harness.EndsFailed))}
	waits    = statement{"C3 ill: never ends", idleWorlds(), inWorld(ends(harness.EndsOpen))}
	refuses  = statement{"C2 ill: never promoted", endlessWorlds(), observed(observeRefusal)}
	watched  = statement{"V6 watched, whatever befalls", harshWorlds(), inWorld(harness.CheckCanary)}

	keepsToCanary  = statement{"V6 outside the canary nothing changes", eitherWorlds(), observed(observeOutside)}
	keepsBudget    = statement{"V1 and V2 with a canary, as observed", eitherWorlds(), observed(observeServing)}
	keepsAll       = statement{"V1, V2, V6, C2 all is as it should be", eitherWorlds(), observed(observeOutside, observeServing, observeVerdicts, observeQuality)}
	promotesInTime = statement{"C2 promoted at that instant", promptWorlds(), observed(observeInstant)}
	promotesOnce   = statement{"C6 a verdict is given once, and stays", harshWorlds(), observed(observeVerdicts)}
	neverUnwell    = statement{"C2 unwell pods promote nothing", harshWorlds(), observed(observeQuality)}
	keepsHarsh     = statement{"C2, C6 verdicts are right, whatever befalls", harshWorlds(), observed(observeVerdicts, observeQuality)}
	allGoBack      = statement{"C7 after a fail all are stable", illWorlds(objects.Rolling(), rollouttest.AutoFail(canary.AutoFail{CanaryTimeout: new(time.Hour + 1)})), observed(observeOutside, observeReturn)}
)

func TestCanaryIsSafe(t *testing.T) { testTales(t, watched, keepsAll, keepsHarsh) }

func TestCanaryEnds(t *testing.T) {
	testTales(t, promotes, givesUp, waits, promotesInTime, refuses, allGoBack)
}

func ends(e harness.Ending) func(func(rollout.Spec) (harness.PlanFunc, error), harness.World) error {
	return func(f func(rollout.Spec) (harness.PlanFunc, error), w harness.World) error {
		return harness.CheckCanaryEnds(f, w, e)
	}
}

// worlds generates tales of a canary in a healthy world.
func worlds(options ...rollouttest.SpecOption) *rapid.Generator[tale] {
	return rapid.Custom(func(t *rapid.T) tale {
		return tale{World: draw.AnyCanaryWorld(options...).Draw(t, "world"), seed: rapid.Uint64().Draw(t, "seed")}
	})
}

// illWorlds generates tales of a canary that is ill.
func illWorlds(options ...rollouttest.SpecOption) *rapid.Generator[tale] {
	return rapid.Custom(func(t *rapid.T) tale {
		c := worlds(options...).Draw(t, "tale")
		c.Behavior = draw.AnyIllness(c.Behavior, rollouttest.Hash(c.Spec)).Draw(t, "illness")
		return c
	})
}

// endlessWorlds generates tales of a canary that is ill, and of which only a part is told.
func endlessWorlds() *rapid.Generator[tale] {
	return rapid.Map(illWorlds(objects.Rolling()), func(c tale) tale {
		c.most = 2 * enough
		return c
	})
}

// idleWorlds generates tales of a canary that is ill, and of which nobody says so: it waits. Containers that crash go on for
// ever.
func idleWorlds() *rapid.Generator[tale] {
	return rapid.Map(illWorlds(objects.Rolling(), rollouttest.AutoFail(canary.AutoFail{Disabled: true})), func(c tale) tale {
		if len(c.Behavior.Crashing)+len(c.Behavior.Failing) > 0 {
			c.Behavior.Crashing, c.Behavior.Failing = nil, nil
			c.Behavior.NeverReady = []string{rollouttest.Hash(c.Spec)}
		}
		return c
	})
}

// enough plans for what needs no end.
const enough = 120

// eitherWorlds generates tales of a canary, ill or not.
func eitherWorlds() *rapid.Generator[tale] {
	return rapid.Map(rapid.OneOf(worlds(objects.Rolling()), illWorlds(objects.Rolling())), func(c tale) tale {
		c.most = enough
		return c
	})
}

// harshWorlds generates tales of canaries, ill or not, that mishaps befall.
func harshWorlds() *rapid.Generator[tale] {
	return rapid.Custom(func(t *rapid.T) tale {
		c := eitherWorlds().Draw(t, "tale")
		c.Mishaps = draw.AnyMishaps(c.Snapshot.Nodes).Draw(t, "mishaps")
		for _, m := range c.Mishaps {
			c.turns = append(c.turns, turn{after: m.After, mishap: m})
		}
		return c
	})
}

// promptWorlds generates tales in which the controller sees everything at once, and nothing holds a node.
func promptWorlds(options ...rollouttest.SpecOption) *rapid.Generator[tale] {
	return rapid.Map(worlds(append(options, objects.Released())...), func(c tale) tale {
		c.Behavior.Lag = 0
		return c
	})
}

// size is how many canary nodes the tale wants, in words of its own: rounded up, and below 100% not all of several (C1).
func (c *tale) size() int {
	desired, quantity := len(c.running()), c.Spec.Strategy.Canary.Replicas.String()
	n := inNodes(quantity, desired)
	if c.Spec.Strategy.Canary.Replicas.Type != 0 && quantity != "100%" && n >= desired {
		n = desired - 1
	}
	return max(1, min(n, desired))
}

// mayBeCanary tells whether selectors let the node be one of the canary: those of tales have one label at most.
func (c *tale) mayBeCanary(n *corev1.Node) bool {
	for _, selector := range []map[string]string{matchLabels(c.Spec.Strategy.NodeSelector), matchLabels(c.Spec.Strategy.Canary.NodeSelector)} {
		for key, value := range selector {
			if n.Labels[key] != value {
				return false
			}
		}
	}
	return runs(n)
}

// candidates is how many nodes may be.
func (c *tale) candidates() int {
	n := 0
	for _, node := range c.Snapshot.Nodes {
		if c.mayBeCanary(node) {
			n++
		}
	}
	return n
}

func matchLabels(s *metav1.LabelSelector) map[string]string {
	if s == nil {
		return nil
	}
	return s.MatchLabels
}

// touched lists the nodes that are not what they were in the beginning: the pod is another one, or of another revision, or
// there is one of the revision on trial.
func (s *sight) touched() []string {
	var list []string
	for _, n := range s.Snapshot.Nodes {
		first := slices.IndexFunc(s.Snapshot.Pods, func(p *corev1.Pod) bool { return nodeOf(p) == n.Name })
		now := s.alive(n.Name)
		if first < 0 && len(now) == 0 {
			continue
		}
		same := first >= 0 && len(now) == 1 && now[0].UID == s.Snapshot.Pods[first].UID && revisionOf(now[0]) == revisionOf(s.Snapshot.Pods[first])
		if !same {
			list = append(list, n.Name)
		}
	}
	return list
}

// observeOutside sees to it that, before the promotion and after a fail, no more nodes are touched than the canary has, and
// only such as it may have.
func observeOutside(tale) observer {
	return func(s *sight) error {
		if s.marked[s.of.name] {
			return nil
		}
		touched, size := s.touched(), s.size()
		if s.losses > 0 { // a canary pod that failed just then came back as it was before, and its node is none of the canary's (C6)
			touched = slices.DeleteFunc(touched, func(node string) bool {
				pods := s.alive(node)
				return len(pods) == 1 && revisionOf(pods[0]) == s.stable.hash
			})
		}
		if len(touched) > size {
			return fmt.Errorf("nodes %v are not what they were, and the canary has %d", touched, size)
		}
		for _, n := range s.Snapshot.Nodes {
			if slices.Contains(touched, n.Name) && !s.mayBeCanary(n) {
				return fmt.Errorf("node %s is not what it was, and is none for the canary", n.Name)
			}
		}
		return nil
	}
}

// budget is how many nodes may be without a Ready pod, and how many may wait with two pods.
func (c *tale) budget() (mayLack, mayDouble int) {
	strategy, desired := c.Spec.Strategy, len(c.running())
	switch {
	case strategy.MaxSurge != nil:
		return 0, inNodes(strategy.MaxSurge.String(), desired)
	case strategy.MaxUnavailable != nil:
		return inNodes(strategy.MaxUnavailable.String(), desired), 0
	default:
		return 1, 0
	}
}

// observeServing counts nodes without a Ready pod, and those with two (V1, V2).
func observeServing(tale) observer {
	return func(s *sight) error {
		mayLack, mayDouble := s.budget()
		var without, two []string
		for _, p := range s.Snapshot.Pods { // one for each node that has any
			switch node := nodeOf(p); {
			case !s.served(node):
				without = append(without, node)
			case len(s.alive(node)) > 1 && slices.ContainsFunc(s.alive(node), func(p *corev1.Pod) bool {
				return s.wanted(p) && !s.available(p)
			}): // a pod beside an available new one holds no place (B4), and may wait for the burst
				two = append(two, node)
			}
		}
		if len(without) > mayLack {
			return fmt.Errorf("V1: nodes %v have no Ready pod, %d may", without, mayLack)
		}
		if len(two) > mayDouble {
			return fmt.Errorf("V2: nodes %v have two pods, %d may", two, mayDouble)
		}
		return nil
	}
}

// wanted tells whether the pod is at the revision that the spec in force leads to. What a lagging watch has not yet shown of
// the template before is an old pod, and goes when it is seen.
func (s *sight) wanted(p *corev1.Pod) bool {
	if s.failed[s.now.name] {
		return s.marked[nameOfPod(s.spec, p)]
	}
	return revisionOf(p) == s.now.hash
}

func (s *sight) available(p *corev1.Pod) bool {
	return !s.availableSince(p).IsZero()
}

// trialPods are the pods of the revision on trial, one for each node that has a live one.
func (s *sight) trialPods() []*corev1.Pod {
	var pods []*corev1.Pod
	for _, n := range s.Snapshot.Nodes {
		for _, p := range s.alive(n.Name) {
			if revisionOf(p) == s.of.hash {
				pods = append(pods, p)
				break
			}
		}
	}
	return pods
}

// ripening is what the instant of the promotion is computed from: when each node of the canary had an available pod, and when
// one of them last ended a container, as an update in place does (C2).
type ripening struct{ full, ended time.Time }

// look is for each step before the promotion.
func (r *ripening) look(s *sight) {
	pods := s.trialPods()
	for _, p := range pods {
		r.ended = latest(r.ended, lastEnd(p))
	}
	if r.full.IsZero() && len(pods) == min(s.size(), s.candidates()) &&
		!slices.ContainsFunc(pods, func(p *corev1.Pod) bool { return !s.available(p) }) {
		r.full = s.cluster.Now()
	}
}

// due is the instant, once the canary is full.
func (r *ripening) due(o *canary.Options) time.Time {
	return latest(r.full.Add(*o.Duration), r.ended.Add(*o.NoRestartsDuration))
}

// observeInstant computes the instant of the promotion: when the last pod of the canary has been available for the duration,
// and none has ended a container within the time without restarts (C2).
func observeInstant(tale) observer {
	var r ripening
	return func(s *sight) error {
		if s.candidates() == 0 {
			return nil // and no end
		}
		name := s.of.name
		if !s.marked[name] {
			r.look(s)
		}
		due := r.due(s.Spec.Strategy.Canary)
		switch {
		case r.full.IsZero() && s.marked[name]:
			return fmt.Errorf("C2: promoted at %v, before all canary pods are available", s.when[name])
		case s.marked[name] && s.when[name].Before(due):
			return fmt.Errorf("C2: promoted at %v, too early by %v", s.when[name], due.Sub(s.when[name]))
		case s.marked[name] && s.when[name].After(due):
			return fmt.Errorf("C2: promoted at %v, too late by %v", s.when[name], s.when[name].Sub(due))
		case s.over && !s.marked[name]:
			return fmt.Errorf("C2: never promoted, and due at %v", due)
		}
		return nil
	}
}

// lastEnd is when a container of the pod ended last, or was started again if nobody says when it ended; zero: never.
func lastEnd(p *corev1.Pod) time.Time {
	var last time.Time
	for _, status := range p.Status.ContainerStatuses {
		if ended := status.LastTerminationState.Terminated; ended != nil {
			last = latest(last, ended.FinishedAt.Time)
		} else if status.RestartCount > 0 && status.State.Running != nil {
			last = latest(last, status.State.Running.StartedAt.Time)
		}
	}
	return last
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// observeQuality looks at the pods of the revision when it is promoted: some are available, and none ended a container within
// the time without restarts (C2); nor was the memory lost within the duration (C6). What befell a pod since the watch last
// saw it nobody can know.
func observeQuality(tale) observer {
	judged := false
	var well bool // what the plan before was made of, whatever befell the pods since
	var ended time.Time
	return func(s *sight) error {
		before, last := well, ended
		well, ended = false, time.Time{}
		for _, p := range s.trialPods() {
			well = well || s.available(p)
			if end := lastEnd(p); end.After(ended) {
				ended = end
			}
		}
		if judged || !s.marked[s.of.name] {
			return nil
		}
		judged = true
		at, o := s.when[s.of.name], s.Spec.Strategy.Canary
		if !s.lost.IsZero() && at.Sub(s.lost) < *o.Duration {
			return fmt.Errorf("C6: promoted %v after the memory was lost", at.Sub(s.lost))
		}
		switch {
		case s.Behavior.Lag > 0:
			return nil
		case !last.IsZero() && at.Sub(last) < *o.NoRestartsDuration:
			return fmt.Errorf("C2: promoted at %v, and a container ended at %v", at, last)
		case !before:
			return fmt.Errorf("C2: promoted at %v, and no pod of the revision was available", at)
		}
		return nil
	}
}

// observeVerdicts sees to it that a revision is promoted once at most, and never after it has failed.
func observeVerdicts(tale) observer {
	failed := map[string]bool{}
	return func(s *sight) error {
		if s.marks > 0 {
			return fmt.Errorf("C6: promoted again")
		}
		for name, marked := range s.marked {
			if marked && failed[name] && s.failed[name] {
				return fmt.Errorf("C5: %s has failed, and is promoted", name)
			}
		}
		for name, is := range s.failed {
			if failed[name] && !is {
				return fmt.Errorf("C6: the fail of %s is forgotten, and nobody has asked for that", name)
			}
			failed[name] = is
		}
		return nil
	}
}

// observeRefusal sees to it that the revision is not promoted.
func observeRefusal(tale) observer {
	return func(s *sight) error {
		if s.marked[s.of.name] {
			return fmt.Errorf("C2: revision %s is promoted, and none of its pods was ever available", s.of.name)
		}
		return nil
	}
}

// observeReturn sees to it that the revision fails, and that in the end each node has one pod, of the stable revision.
func observeReturn(tale) observer {
	return func(s *sight) error {
		if rests, err := s.rests(); !rests {
			return err
		}
		if !s.failed[s.of.name] || s.marked[s.of.name] {
			return fmt.Errorf("C4: revision %s is ill, and has not failed", s.of.name)
		}
		for _, p := range s.Snapshot.Pods {
			pods := s.cluster.PodsOn(nodeOf(p))
			if len(pods) != 1 || revisionOf(pods[0]) != s.stable.hash || !isReady(pods[0]) {
				return fmt.Errorf("C7: node %s has %d pods, and should have one that is stable", nodeOf(p), len(pods))
			}
		}
		return nil
	}
}
