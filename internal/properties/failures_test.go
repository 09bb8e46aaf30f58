package properties_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/harness/draw"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/failure"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// Failures (F1 to F4): on any snapshot as the verifier sees it, and in whole rollouts of revisions that do not come up as an observer
// does that keeps an account of its own of which nodes have failed, and since when. It asks neither the verifier nor package failure.

var (
	failuresPure  = property{"V13 with failures", failurePlans(), once(checkPure)}
	failuresHold  = property{"V25 nothing is begun while too many have failed", failurePlans(), verified(25)}
	failuresSaid  = property{"V12 what plans say of failures", failurePlans(), verified(12)}
	stopsFailures = statement{"F1, F3, V25 a revision that fails gets no further", failingWorlds(), observed(observeFailed)}
	givesUpOnce   = statement{"F3, V25 one verdict for a revision", failingWorlds(rollsBack), observed(observeGivenUp)}
	goesBack      = statement{"V16 after a rollback every node has the base", quietFailingWorlds(rollsBack, atOnce), observed(observeFailed, observeGivenUp, observeBack)}
	quarantines   = statement{"F4 no more are left out than may be", quietFailingWorlds(), observed(observeQuarantine)}
)

func TestFailuresAreSafe(t *testing.T) { test(t, failuresPure, failuresHold, failuresSaid) }

func TestFailuresAllTheWay(t *testing.T) {
	testTales(t, stopsFailures, givesUpOnce, goesBack, quarantines)
}

// failurePlans generates trials of one snapshot with failures, mostly with a budget that leaves them the say.
func failurePlans() *rapid.Generator[trial] {
	return rapid.Custom(func(t *rapid.T) trial {
		cases := draw.AnyCase(rapid.SampledFrom([][]rollouttest.SpecOption{
			nil, {objects.Released(), rollouttest.MaxUnavailable("100%")}, {objects.Released(), rollouttest.MaxSurge("100%")},
		}).Draw(t, "budget of its own")...)
		if rapid.SampledFrom([]bool{false, false, true}).Draw(t, "stages") {
			cases = draw.InStages(cases)
		}
		return trial{Case: draw.InFailures(cases).Draw(t, "scenario")}
	})
}

// failing is what an observer knows of the nodes that a revision has failed on.
type failing struct {
	hash   string
	retry  string
	losses int
	// first is when the first pod of the revision was seen on a node, of those that never were ready there.
	first map[string]time.Time
	// last is when one was seen there last: after half an hour without any, the node begins anew (M2).
	last map[string]time.Time
}

// look counts the nodes that have certainly failed by what the snapshot shows, and how many may.
func (f *failing) look(s *sight, seen rollout.Snapshot) (failed []string, most int) {
	hash, options := rollouttest.Hash(s.spec), s.spec.Strategy.Policy.Failures
	goesBack := slices.ContainsFunc(seen.Revisions, func(r *appsv1.ControllerRevision) bool {
		return history.HashOf(r) == hash && history.Failed(r)
	})
	if f.hash != hash || f.losses != s.losses || f.retry != options.Retry || goesBack || f.first == nil { // other pods come
		*f = failing{hash, options.Retry, s.losses, map[string]time.Time{}, map[string]time.Time{}}
	}
	desired := 0
	for _, n := range seen.Nodes {
		if runs(n) {
			desired++
		}
		down, up := false, false
		for _, p := range seen.Pods {
			if nodeOf(p) != n.Name || revisionOf(p) != hash || p.DeletionTimestamp != nil || slices.Contains(seen.InFlight.Deletes, p.UID) {
				continue
			}
			up = up || isReady(p)
			down = true
			if last, known := f.last[n.Name]; !known || seen.Now.Sub(last) > 20*time.Minute {
				f.first[n.Name] = seen.Now
			}
			f.last[n.Name] = seen.Now
		}
		switch {
		case up:
			delete(f.last, n.Name)
		case down && !f.first[n.Name].Add(options.Deadline).After(seen.Now):
			failed = append(failed, n.Name)
		}
	}
	if most = options.MaxFailed.IntValue(); options.MaxFailed.Type == intstr.String {
		var percent int
		if _, err := fmt.Sscanf(options.MaxFailed.StrVal, "%d%%", &percent); err != nil {
			panic(err)
		}
		most = percent * desired / 100
	}
	return failed, most
}

// observeFailed sees to it that, while more nodes have failed than may, no node is begun, and no other gets the revision.
func observeFailed(tale) observer {
	var f failing
	var made *rollout.Snapshot // before the last plan, if too many had failed
	var why string
	hash, read := "", 0
	return func(s *sight) error {
		events := s.cluster.Events()
		if made != nil {
			for _, e := range events[read:] {
				if begins(made, e, hash) {
					return fmt.Errorf("V25: %s: %s", e, why)
				}
			}
		}
		read, made = len(events), nil
		if !s.planned {
			return nil
		}
		seen := s.cluster.Snapshot()
		hash = rollouttest.Hash(s.spec)
		failed, most := f.look(s, seen)
		rolledBack := slices.ContainsFunc(seen.Revisions, func(r *appsv1.ControllerRevision) bool {
			return history.HashOf(r) == hash && (history.Completed(r) || history.Failed(r))
		})
		if len(failed) > most && !rolledBack && s.givenUp == "" {
			made, why = &seen, fmt.Sprintf("%q have failed, at most %d may", failed, most)
		}
		return nil
	}
}

// begins tells whether the event brings the revision to a node which it has not failed on.
func begins(seen *rollout.Snapshot, e harness.Event, hash string) bool {
	had, begun := false, false
	for _, p := range seen.Pods {
		if nodeOfAny(p) == e.Node && revisionOf(p) == hash {
			had = true
		}
		begun = begun || p.UID == e.UID && (isBegun(p) || slices.Contains(seen.InFlight.Patches, p.UID))
	}
	for _, b := range seen.Memory.Backoffs {
		had = had || b.Node == e.Node && b.Revision == hash
	}
	for _, create := range seen.InFlight.Creates {
		had = had || create.Node == e.Node
	}
	switch e.Kind {
	case harness.PodCreated:
		return e.Revision == hash && !had
	case harness.PodUpdated:
		return e.Revision == hash && !had && !begun
	default:
		return false
	}
}

// observeGivenUp counts the verdicts. There is one, or one more for each retry, and after it no pod of the revision comes any more.
func observeGivenUp(tale) observer {
	read, verdicts, retries := 0, 0, 0
	given := map[string]bool{}
	return func(s *sight) error {
		events := s.cluster.Events()
		for _, e := range events[read:] {
			if e.Kind == harness.PodCreated && given[e.Revision] {
				return fmt.Errorf("V25: %s, although it was given up", e)
			}
			if e.Kind != harness.RevisionAnnotated {
				continue
			}
			if strings.Contains(e.Detail, history.RetriedAnnotation+"=") {
				retries++
				delete(given, e.Revision)
			}
			if strings.Contains(e.Detail, history.FailedAnnotation+"="+failure.Reason) {
				if verdicts++; verdicts > 1+retries {
					return fmt.Errorf("V25: %s: verdict %d after %d retries", e, verdicts, retries)
				}
				if s.Behavior.Lag == 0 {
					given[e.Revision] = true
				}
			}
		}
		read = len(events)
		return nil
	}
}

// observeBack sees to it that in the end every node has the revision of the beginning, if the other was given up.
func observeBack(tale) observer {
	var f failing
	over := false
	return func(s *sight) error {
		if s.planned {
			failed, most := f.look(s, s.cluster.Snapshot())
			over = over || len(failed) > most
		}
		if rests, err := s.rests(); !rests {
			return err
		}
		for _, n := range s.cluster.Snapshot().Nodes {
			if pods := s.alive(n.Name); runs(n) && over && (len(pods) != 1 || revisionOf(pods[0]) != s.stable.hash || !s.served(n.Name)) {
				return fmt.Errorf("V16: node %s is not back at the base in the end", n.Name)
			}
		}
		if over && !slices.ContainsFunc(s.cluster.Snapshot().Revisions, func(r *appsv1.ControllerRevision) bool {
			return history.HashOf(r) == s.of.hash && r.Annotations[history.FailedAnnotation] == failure.Reason
		}) {
			return fmt.Errorf("V25: revision %s does not say in the end that it was given up", s.of.hash)
		}
		return nil
	}
}

// observeQuarantine counts the nodes that lack a Ready pod: never more than the budget has, and as many in quarantine as may be.
func observeQuarantine(tale) observer {
	return func(s *sight) error {
		strategy := s.Spec.Strategy
		if strategy.MaxSurge != nil || strategy.MaxUnavailable.Type == intstr.String {
			return nil
		}
		may := strategy.MaxUnavailable.IntValue() + strategy.Policy.Failures.Quarantine.IntValue()
		var lack []string
		for _, n := range s.Snapshot.Nodes {
			if !s.served(n.Name) {
				lack = append(lack, n.Name)
			}
		}
		if len(lack) > may {
			return fmt.Errorf("V25: F4: nodes %q have no Ready pod, %d may", lack, may)
		}
		return nil
	}
}

// Worlds.

func rollsBack(o *failure.Options) { o.Action = failure.Rollback }

// atOnce lets no node fail, so that there is no tale in which a few have failed, use up the budget, and are tried for ever.
func atOnce(o *failure.Options) {
	o.MaxFailed, o.Quarantine = new(intstr.FromInt32(0)), new(intstr.FromInt32(0))
}

// failureTale draws a fleet at rest, for whose set a revision comes that comes up nowhere, or not on some nodes.
func failureTale(t *rapid.T, change ...func(*failure.Options)) tale {
	spec := rollouttest.Spec("agent", rapid.SampledFrom([]rollouttest.SpecOption{
		rollouttest.MaxUnavailable("1"), rollouttest.MaxUnavailable("2"), rollouttest.MaxUnavailable("100%"), rollouttest.MaxSurge("1"),
	}).Draw(t, "budget"))
	if rapid.Bool().Draw(t, "in place") && spec.Strategy.MaxSurge == nil {
		rollouttest.InPlace()(&spec)
	}
	if rapid.Bool().Draw(t, "slow start") {
		rollouttest.SlowStart(10*time.Minute, "1", "1")(&spec)
	}
	if rapid.SampledFrom([]bool{false, false, true}).Draw(t, "hook") {
		rollouttest.PreDelete(rollouttest.HookLabel("hook", "on"))(&spec)
		rollouttest.PodTemplateLabel("hook", "on")(&spec)
	}
	spec.MinReadySeconds = rapid.SampledFrom([]int32{0, 30}).Draw(t, "minReadySeconds")
	bounds := rapid.SampledFrom([][2]int32{{0, 0}, {0, 0}, {1, 0}, {1, 1}, {2, 1}}).Draw(t, "maxFailed and quarantine")
	o := failure.Options{
		Deadline:  rapid.SampledFrom([]time.Duration{time.Minute, 10 * time.Minute}).Draw(t, "deadline"),
		MaxFailed: new(intstr.FromInt32(bounds[0])), Quarantine: new(intstr.FromInt32(bounds[1])),
		Action: rapid.SampledFrom([]failure.Action{failure.Pause, failure.Rollback}).Draw(t, "action"),
	}
	for _, apply := range change {
		apply(&o)
	}
	rollouttest.Failures(o)(&spec)
	c := calmWorld(t, spec)
	c.Behavior.SameID = nil
	c.Spec = altered(spec, rollouttest.Image(nextImage))
	bad := rollouttest.Hash(c.Spec)
	switch rapid.SampledFrom([]string{"never ready", "failing", "failing", "crashing", "healthy"}).Draw(t, "revision") {
	case "never ready":
		c.Behavior.NeverReady = []string{bad}
	case "failing":
		c.Behavior.Failing = []string{bad}
	case "crashing":
		c.Behavior.Crashing = []string{bad}
	}
	if rapid.Bool().Draw(t, "rolled out before") {
		c.Snapshot.Revisions = []*appsv1.ControllerRevision{rollouttest.Completed(spec, 1)}
	}
	return c
}

// failingWorlds generates such tales in which much befalls the fleet, and only a part of each.
func failingWorlds(change ...func(*failure.Options)) *rapid.Generator[tale] {
	return rapid.Custom(func(t *rapid.T) tale {
		c := failureTale(t, change...)
		last := len(c.Snapshot.Nodes) - 1
		now := c.Spec
		for i := range rapid.IntRange(0, 5).Draw(t, "turns") {
			next := turn{after: rapid.IntRange(1, 12).Draw(t, "after")}
			switch rapid.SampledFrom([]string{"mishap", "mishap", "mishap", "retry"}).Draw(t, "turn") {
			case "retry":
				o := now.Strategy.Policy.Failures.DeepCopy()
				o.Retry = fmt.Sprintf("%s/%d", rollouttest.Hash(now), i)
				now = altered(now, rollouttest.Failures(o))
				next.spec = new(altered(now))
			default:
				next.mishap = harness.Mishap{
					Kind: rapid.SampledFrom([]harness.MishapKind{harness.LoseMemory, harness.EvictPods, harness.EvictPods, harness.AddNode}).Draw(t, "kind"),
					Node: c.Snapshot.Nodes[rapid.IntRange(0, last).Draw(t, "node")].Name,
				}
			}
			c.turns = append(c.turns, next)
		}
		c.most = enough
		return c
	})
}

// quietFailingWorlds generates such tales in which nothing else happens.
func quietFailingWorlds(change ...func(*failure.Options)) *rapid.Generator[tale] {
	return rapid.Custom(func(t *rapid.T) tale {
		c := failureTale(t, change...)
		if o := c.Spec.Strategy.Policy.Failures; o.Action != failure.Rollback || o.MaxFailed.IntValue() > 0 {
			c.most = enough // it may have no end
		}
		return c
	})
}
