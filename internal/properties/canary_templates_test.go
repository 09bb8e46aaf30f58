package properties_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/harness/draw"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// The properties of canaries that follow each other, while their users change the template and give commands.
var (
	untriedFew  = statement{"V6 few nodes at what was not promoted", busyTales(), observed(observeUntried)}
	obeyed      = statement{"C5 only what did not fail is promoted", busyTales(), observed(observeObeyed)}
	hastyObeyed = statement{"C5, C6 commands in quick succession", hastyTales(), observed(observeUntried, observeObeyed)}
	busyServing = statement{"V1 and V2 all the while", busyTales(), observed(observeServing)}
	validated   = statement{"C2, C5 manual: promoted by command only", manualWorlds(), observed(observeObeyed, observeValidated)}
	busyAll     = statement{"V1, V2, V6, V16, C5 canary after canary", busyTales(), observed(observeUntried, observeObeyed, observeServing, observeRest)}
	busySettles = statement{"V16 all comes to rest", busyTales(), observed(observeRest)}
)

func TestCanaryAfterCanary(t *testing.T) {
	testTales(t, busyAll, validated, hastyObeyed)
}

// busyTales generates tales in which users bring new templates, go back to old ones, and give commands. In the end
// nothing is paused.
func busyTales() *rapid.Generator[tale] {
	return talesOf(rapid.IntRange(1, 4), rapid.IntRange(0, 15), drawWish)
}

// hastyTales generates tales of a user who gives one command after the other, before a lagging watch shows what became of the
// last.
func hastyTales() *rapid.Generator[tale] {
	return talesOf(rapid.IntRange(2, 8), rapid.IntRange(0, 3), drawCommand)
}

// talesOf generates tales with that many wishes of users. Each comes so many plans after the one before.
func talesOf(wishes, after *rapid.Generator[int], drawWish func(*rapid.T) rollouttest.SpecOption) *rapid.Generator[tale] {
	return rapid.Custom(func(t *rapid.T) tale {
		first := rollouttest.Spec("agent", drawBudget(t))
		replicas := rapid.SampledFrom([]string{"1", "1", "2", "30%"}).Draw(t, "replicas")
		duration := rapid.SampledFrom([]time.Duration{time.Minute, 0, 10 * time.Minute}).Draw(t, "duration")
		c := calmWorld(t, first)
		last := altered(first, rollouttest.Image("agent:v2"), rollouttest.Canary(replicas), rollouttest.CanaryFor(duration, 0),
			rollouttest.AutoFail(canary.AutoFail{CanaryTimeout: new(duration + time.Hour)}), rollouttest.CanarySpread())
		if rapid.SampledFrom([]bool{false, false, false, true}).Draw(t, "manual") {
			last = altered(last, rollouttest.CanaryManual(), rollouttest.AutoFail(canary.AutoFail{}))
		}
		c.Spec = last
		for range wishes.Draw(t, "turns") {
			turn := turn{after: after.Draw(t, "after")}
			if rapid.SampledFrom([]bool{false, false, false, true}).Draw(t, "loses memory") {
				turn.mishap = harness.Mishap{Kind: harness.LoseMemory}
			} else {
				last = altered(last, drawWish(t))
				turn.spec = new(last)
			}
			c.turns = append(c.turns, turn)
		}
		last = altered(last, objects.Rolling())
		commands := last.Strategy.Canary.Commands
		commands.Pause = ""
		rollouttest.Command(commands)(&last)
		c.turns = append(c.turns, turn{after: rapid.IntRange(0, 10).Draw(t, "after all"), spec: &last})
		if rapid.SampledFrom([]bool{false, false, true}).Draw(t, "ill") {
			hash := rollouttest.Hash(c.Spec)
			c.Behavior, c.ill = draw.AnyIllness(c.Behavior, hash).Draw(t, "illness"), map[string]bool{hash: true}
			if len(c.Behavior.Failing)+len(c.Behavior.Crashing) > 0 { // for ever, if nobody stops it
				c.Behavior.Failing, c.Behavior.Crashing, c.Behavior.NeverReady = nil, nil, []string{hash}
			}
		}
		return c
	})
}

// manualWorlds generates tales of a canary that waits for its user, who comes at some time, or does not.
func manualWorlds() *rapid.Generator[tale] {
	return rapid.Custom(func(t *rapid.T) tale {
		c := worlds(objects.Released(), rollouttest.CanaryManual()).Draw(t, "tale")
		c.Spec.Strategy.NodeSelector, c.Spec.Strategy.Canary.NodeSelector = nil, nil
		if rapid.Bool().Draw(t, "comes") {
			next := altered(c.Spec, rollouttest.Command(canary.Commands{Validate: rollouttest.Hash(c.Spec)}))
			c.turns = append(c.turns, turn{after: rapid.IntRange(0, 20).Draw(t, "after"), spec: &next})
		}
		return c
	})
}

// observeValidated sees to it that in the end the revision is promoted if, and only if, the command is given.
func observeValidated(tale) observer {
	return func(s *sight) error {
		if rests, err := s.rests(); !rests {
			return err
		}
		if given, is := s.spec.Strategy.Canary.Commands.Validate != "", s.marked[s.now.name]; is != given {
			return fmt.Errorf("C2: promoted: %t, and asked for: %t", is, given)
		}
		return nil
	}
}

// drawWish draws what a user changes.
func drawWish(t *rapid.T) rollouttest.SpecOption {
	images := []string{"agent:v1", "agent:v2", "agent:v3", "agent:v4"}
	if rapid.SampledFrom([]bool{true, true, false}).Draw(t, "template") {
		return rollouttest.Image(rapid.SampledFrom(images).Draw(t, "image"))
	}
	return drawCommand(t)
}

// drawCommand draws what a user says of the template that there is.
func drawCommand(t *rapid.T) rollouttest.SpecOption {
	return func(s *rollout.Spec) {
		commands := s.Strategy.Canary.Commands
		hash := rollouttest.Hash(*s)
		switch rapid.SampledFrom([]string{"pause", "unpause", "validate", "fail", "retry", "pause set", "go on"}).Draw(t, "wish") {
		case "pause":
			commands.Pause = hash
		case "unpause":
			commands.Unpause = hash
		case "validate":
			commands.Validate = hash
		case "fail":
			commands.Fail = hash
		case "retry":
			commands.Fail, commands.Retry = "", hash
		case "pause set":
			rollouttest.Paused()(s)
		default:
			commands = canary.Commands{}
			objects.Rolling()(s)
		}
		rollouttest.Command(commands)(s)
	}
}

// nameOfPod is the name of the revision that the pod is at.
func nameOfPod(spec rollout.Spec, p *corev1.Pod) string { return spec.Name + "-" + revisionOf(p) }

// observeUntried counts the nodes at revisions that were not promoted, all of them together: who brings one template after
// another, or fails one and tries the next, risks no more nodes than with one. The revision of the beginning is good, and so
// is what is rolled out without a canary. A revision counts once its mark need not wait for the watch any more. If until then the
// memory is lost, nobody can tell whether it was promoted, and the pods that it has by then stay (T6).
func observeUntried(c tale) observer {
	type podAt struct {
		uid  types.UID
		name string // of its revision
	}
	good, spared, losses := map[string]bool{nameOf(c.Stable): true}, map[podAt]bool{}, 0
	return func(s *sight) error {
		var untried []string
		spares := s.losses > losses
		losses = s.losses
		for _, n := range s.Snapshot.Nodes {
			if slices.ContainsFunc(s.alive(n.Name), func(p *corev1.Pod) bool {
				at := podAt{p.UID, nameOfPod(s.Spec, p)}
				spared[at] = spared[at] || spares && s.waiting[at.name]
				return !good[at.name] && !s.marked[at.name] && !s.waiting[at.name] && !spared[at]
			}) {
				untried = append(untried, n.Name)
			}
		}
		if size := s.size(); len(untried) > size {
			return fmt.Errorf("C1: nodes %v are at revisions that were not promoted, and the canary has %d", untried, size)
		}
		return nil
	}
}

// observeObeyed sees to it that a revision is promoted once, and not while a command, or the pause of the set, says
// otherwise, and that a fail is taken back by the command only, once for each value (C5). What commands say counts when the plan
// is made that decides on the revision, however long its mark has to wait for a lagging watch.
func observeObeyed(tale) observer {
	failed, marked, obeyed := map[string]bool{}, map[string]bool{}, map[string]bool{}
	return func(s *sight) error {
		commands := s.spec.Strategy.Canary.Commands
		promoted := func(name string) bool { return s.marked[name] && !marked[name] }
		if name := s.now.name; promoted(name) && name != s.stable.name {
			switch {
			case failed[name] && s.failed[name]:
				return fmt.Errorf("C5: %s has failed, and is promoted", name)
			case !s.verdicts[name].promotable:
				return fmt.Errorf("C2, C5: %s is promoted, and nobody has asked for that: %s, commands %+v, the set is paused: %t",
					name, s.spec.Strategy.Canary.Mode, commands, s.spec.Strategy.Paused)
			}
		}
		for name, is := range s.failed {
			if failed[name] && !is {
				retry, v := commands.Retry, s.verdicts[name]
				if promoted(name) {
					retry = v.retry
				}
				unaware := promoted(name) && v.unaware
				if !unaware && (s.spec.Name+"-"+retry != name || obeyed[retry]) {
					return fmt.Errorf("C5: the fail of %s is taken back, and the command is %q, obeyed before: %t", name, retry, obeyed[retry])
				}
				obeyed[retry] = true
			}
		}
		marked, failed = maps.Clone(s.marked), maps.Clone(s.failed)
		if s.marks > 0 {
			return errors.New("C6: promoted again")
		}
		return nil
	}
}

// observeRest sees to it that it ends: that each node has one pod, which is of the revision if that was promoted, and
// otherwise of the stable one, or of the canary. If pods of the stable one do not come up, because a command promoted it, the
// nodes that have such a pod wait for it, with the pod before beside it under surge (B4). When these nodes take up the budget,
// the others stay where they are (B3, B4, C7).
func observeRest(tale) observer {
	return func(s *sight) error {
		if rests, err := s.rests(); !rests {
			return err
		}
		name, trial := s.now.name, 0
		o, hash := s.spec.Strategy.Canary, s.now.hash
		promotable := o.Mode == canary.Auto && !s.ill[hash]
		if !s.marked[name] && !s.failed[name] && (promotable || o.Commands.Validate == hash) {
			return fmt.Errorf("C2: revision %s is neither promoted nor failed, and promoted by the clock: %t", name, promotable)
		}
		stable := s.lastPromoted()
		var waiting map[string]bool
		if !s.marked[name] {
			waiting = s.waitingFor(stable)
		}
		mayLack, mayDouble := s.budget()
		full := len(waiting) >= max(mayLack, mayDouble)
		for _, n := range s.Snapshot.Nodes {
			pods := s.cluster.PodsOn(n.Name)
			if s.ill[hash] && !s.failed[name] {
				continue // it stops at the budget, wherever it was
			}
			if waiting[n.Name] && mayDouble > 0 && len(pods) == 2 && s.served(n.Name) {
				pods = slices.DeleteFunc(pods, func(p *corev1.Pod) bool { return revisionOf(p) == stable.hash })
			}
			if len(pods) != 1 {
				return fmt.Errorf("node %s has %d pods in the end", n.Name, len(pods))
			}
			at := nameOfPod(s.spec, pods[0])
			if label := pods[0].Labels[rollout.CanaryLabel]; label != "" && (at != name || s.marked[name]) {
				return fmt.Errorf("pod %s is labelled %q in the end, and not on trial", pods[0].Name, label)
			}
			switch {
			case s.marked[name] && at != name:
				return fmt.Errorf("node %s is at %s in the end, and %s was promoted", n.Name, at, name)
			case s.marked[name] || full || waiting[n.Name]:
			case at == name:
				trial++
			case at != stable.name:
				return fmt.Errorf("node %s is at %s in the end, and not at %s, which was promoted last", n.Name, at, stable.name)
			}
		}
		if s.failed[name] && trial > 0 {
			return fmt.Errorf("C7: %d nodes are at %s in the end, which has failed", trial, name)
		}
		return nil
	}
}

// lastPromoted is the stable revision while the one in force is not promoted: that of the beginning, or of those that were
// promoted the one with the highest number, as a revision gets when it is brought again (C6).
func (s *sight) lastPromoted() revision {
	last, number := s.stable, int64(0)
	for _, r := range s.cluster.Snapshot().Revisions {
		if s.marked[r.Name] && r.Revision > number {
			last, number = revision{history.HashOf(r), r.Name}, r.Revision
		}
	}
	return last
}

// waitingFor tells which nodes have a pod of the revision, if its pods do not come up. Each of them takes a place of the budget.
func (s *sight) waitingFor(r revision) map[string]bool {
	waiting := map[string]bool{}
	for _, n := range s.Snapshot.Nodes {
		if s.ill[r.hash] && slices.ContainsFunc(s.alive(n.Name), func(p *corev1.Pod) bool {
			return revisionOf(p) == r.hash && !s.available(p)
		}) {
			waiting[n.Name] = true
		}
	}
	return waiting
}
