package properties_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/harness/draw"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/lifecycle"
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
	stopsInParts  = statement{"F2, V25 in stages, too", failingStageWorlds(), observed(observeFailed, observeStages)}
	ofOpenParts   = statement{"F2 a percentage is one of open parts", failingStageWorlds(halfMayFail), observed(observeFailed)}
	givesUpOnce   = statement{"F3, V25 one verdict for a revision", failingWorlds(rollsBack), observed(observeGivenUp)}
	goesBack      = statement{"V16 after a rollback every node has the base", quietFailingWorlds(rollsBack, atOnce), observed(observeFailed, observeGivenUp, observeBack)}
	backInParts   = statement{"V16 after a rollback in stages every node has the base", quietFailingStageWorlds(rollsBack, atOnce), observed(observeFailed, observeStages, observeGivenUp, observeBack)}
	quarantines   = statement{"F4 no more are left out than may be", quietFailingWorlds(), observed(observeQuarantine)}
)

func TestFailuresAreSafe(t *testing.T) { test(t, failuresPure, failuresHold, failuresSaid) }

func TestFailuresAllTheWay(t *testing.T) {
	testTales(t, stopsFailures, stopsInParts, ofOpenParts, givesUpOnce, goesBack, backInParts, quarantines)
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
	hash     string
	retry    string
	losses   int
	promoted bool // then its failures begin to count
	nodes    map[string]*ordeal
	// old are pods that were there before the revision came to them, if it did: what such a pod restarted says nothing.
	old map[types.UID]bool
	// ended are pods of the revision that were seen to have failed, and are not gone, with their nodes.
	ended map[types.UID]string
	// parts is how far the stages have come.
	parts progress
}

// ordeal is what befell the pods of a revision on a node of which none was Ready.
type ordeal struct {
	// first is when the first of them was seen, last is when one was seen last: after half an hour without any, the node begins
	// anew (M2).
	first, last time.Time
	// dead is how many of them failed and are gone, of which the last was at the time buried.
	dead   int
	buried time.Time
}

// begin forgets all that is of another revision, or of a time that the planner does not remember.
func (f *failing) begin(s *sight, seen rollout.Snapshot) {
	hash, retry := rollouttest.Hash(s.spec), s.spec.Strategy.Policy.Failures.Retry
	goesBack := slices.ContainsFunc(seen.Revisions, func(r *appsv1.ControllerRevision) bool {
		return history.HashOf(r) == hash && history.Failed(r)
	})
	promoted := !mayBeTried(takeAccount(&s.spec, seen))
	again, lost := f.retry != retry || goesBack, f.losses != s.losses
	if f.hash != hash || f.losses != s.losses || f.retry != retry || f.promoted != promoted || goesBack || f.nodes == nil { // other pods come
		f.hash, f.losses, f.retry, f.promoted, f.nodes = hash, s.losses, retry, promoted, map[string]*ordeal{}
		if f.ended = map[types.UID]string{}; f.old == nil {
			f.old = map[types.UID]bool{}
		}
	}
	for _, p := range seen.Pods {
		switch {
		case revisionOf(p) != hash || again, // what was before a retry was judged
			lost && (p.DeletionTimestamp != nil || slices.Contains(seen.InFlight.Deletes, p.UID)): // and nobody knows of this one
			f.old[p.UID] = true
		case p.Status.Phase == corev1.PodFailed && !f.old[p.UID]:
			f.ended[p.UID] = nodeOf(p)
		}
	}
}

// bury counts the pods that failed, and are seen to be gone since the last look.
func (f *failing) bury(seen rollout.Snapshot) {
	for uid, node := range f.ended {
		if slices.ContainsFunc(seen.Pods, func(p *corev1.Pod) bool { return p.UID == uid }) {
			continue
		}
		delete(f.ended, uid)
		if o := f.nodes[node]; o != nil {
			o.dead, o.buried = o.dead+1, seen.Now
		}
	}
}

// look counts the nodes that have certainly failed by what the snapshot shows, and how many may.
func (f *failing) look(s *sight, seen rollout.Snapshot) (failed []string, most int) {
	f.begin(s, seen)
	f.bury(seen)
	for _, n := range seen.Nodes {
		if !mustLeave(n) && f.hasFailed(s, seen, n.Name) {
			failed = append(failed, n.Name)
		}
	}
	return failed, quantity(s.spec.Strategy.Policy.Failures.MaxFailed, f.openNodes(s, seen))
}

// hasFailed tells whether the revision has certainly failed on the node.
func (f *failing) hasFailed(s *sight, seen rollout.Snapshot, node string) bool {
	options, o := s.spec.Strategy.Policy.Failures, f.nodes[node]
	down, up, restarts := false, false, int32(0)
	for _, p := range seen.Pods {
		if nodeOf(p) != node || revisionOf(p) != f.hash || p.DeletionTimestamp != nil || slices.Contains(seen.InFlight.Deletes, p.UID) ||
			lifecycle.StateOf(p) == lifecycle.PreparingDelete {
			continue
		}
		if up = up || isReady(p); !f.old[p.UID] && len(p.Status.ContainerStatuses) > 0 {
			restarts = max(restarts, p.Status.ContainerStatuses[0].RestartCount)
		}
		if down = true; o == nil || seen.Now.Sub(o.last) > 20*time.Minute {
			o = &ordeal{first: seen.Now}
			f.nodes[node] = o
		}
		if since := unreadySince(p); since.After(p.CreationTimestamp.Time) { // it may have been Ready when nobody looked
			o.first = latest(o.first, since)
		}
		o.last = seen.Now
	}
	if !down {
		return false
	}
	if !up && seen.Now.Sub(o.buried) < 20*time.Minute { // what was deleted before says nothing of a pod that serves
		restarts += int32(o.dead)
	}
	switch {
	case options.MaxRestarts != nil && restarts > *options.MaxRestarts:
		return true
	case up:
		delete(f.nodes, node)
		return false
	default:
		return !o.first.Add(options.Deadline).After(seen.Now)
	}
}

// unreadySince is since when a pod is not Ready; zero: it is, or does not say.
func unreadySince(p *corev1.Pod) time.Time {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status != corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// openNodes is how many nodes are to run the pod in parts that may be open: all, without stages.
func (f *failing) openNodes(s *sight, seen rollout.Snapshot) int {
	spec := s.spec
	a := takeAccount(&spec, seen)
	open, count := f.parts.follow(a), 0
	for _, n := range seen.Nodes {
		if runs(n) && (len(spec.Strategy.Policy.Stages) == 0 || open[a.ofNode[n.Name]]) {
			count++
		}
	}
	return count
}

// quantity is a number, or a percentage of all, rounded down.
func quantity(q *intstr.IntOrString, all int) int {
	if q == nil {
		return 0
	}
	if q.Type == intstr.Int {
		return q.IntValue()
	}
	var percent int
	if _, err := fmt.Sscanf(q.StrVal, "%d%%", &percent); err != nil {
		panic(err)
	}
	return percent * all / 100
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
		tried := mayBeTried(takeAccount(&s.spec, seen)) // then the canary judges (F2)
		if len(failed) > most && !rolledBack && !tried && s.givenUp == "" {
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
			seen := s.cluster.Snapshot()
			failed, most := f.look(s, seen)
			a := takeAccount(&s.spec, seen)
			over = over || len(failed) > most && !mayBeTried(a) && !a.completed() // what fails later is not the rollout's (F2)
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
		may := strategy.MaxUnavailable.IntValue() + quantity(strategy.Policy.Failures.Quarantine, len(s.Snapshot.Nodes))
		var lack []string
		for _, n := range s.cluster.Snapshot().Nodes {
			if runs(n) && !s.served(n.Name) {
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

// halfMayFail lets half of the nodes fail, which is none of a single one.
func halfMayFail(o *failure.Options) {
	o.MaxFailed, o.Quarantine, o.Deadline = new(intstr.FromString("50%")), nil, time.Minute
}

// failureTale draws a fleet at rest, for whose set a revision comes that comes up nowhere, or not on some nodes.
func failureTale(t *rapid.T, change ...func(*failure.Options)) tale {
	spec := rollouttest.Spec("agent", rapid.SampledFrom([]rollouttest.SpecOption{
		rollouttest.MaxUnavailable("1"), rollouttest.MaxUnavailable("2"), rollouttest.MaxUnavailable("100%"), rollouttest.MaxSurge("1"),
	}).Draw(t, "budget"))
	if rapid.Bool().Draw(t, "in place") && spec.Strategy.MaxSurge == nil {
		rollouttest.InPlaceIfPossible()(&spec)
	}
	if rapid.Bool().Draw(t, "slow start") {
		rollouttest.SlowStart(10*time.Minute, "1", "1")(&spec)
	}
	if rapid.SampledFrom([]bool{false, false, true}).Draw(t, "hook") {
		rollouttest.PreDeleteHook(rollouttest.HookLabel("hook", "on"))(&spec)
		rollouttest.PodTemplateLabel("hook", "on")(&spec)
	}
	spec.MinReadySeconds = rapid.SampledFrom([]int32{0, 30}).Draw(t, "minReadySeconds")
	drawFailures(t, &spec, change...)
	c := calmWorld(t, spec)
	c.Behavior.SameID = nil
	c.Spec = altered(spec, rollouttest.Image(nextImage))
	if rapid.Bool().Draw(t, "rolled out before") {
		c.Snapshot.Revisions = []*appsv1.ControllerRevision{rollouttest.RolledOut(spec, 1)}
	}
	drawIllness(t, &c)
	return c
}

// drawFailures draws the policy for failures.
func drawFailures(t *rapid.T, spec *rollout.Spec, change ...func(*failure.Options)) {
	bounds := rapid.SampledFrom([][2]string{{"0", "0"}, {"0", "0"}, {"1", "0"}, {"1", "1"}, {"2", "1"}, {"34%", "0"}, {"50%", "34%"}}).Draw(t, "maxFailed and quarantine")
	o := failure.Options{
		Deadline:  rapid.SampledFrom([]time.Duration{time.Minute, 10 * time.Minute}).Draw(t, "deadline"),
		MaxFailed: new(intstr.Parse(bounds[0])), Quarantine: new(intstr.Parse(bounds[1])),
		Action: rapid.SampledFrom([]failure.Action{failure.Pause, failure.Rollback}).Draw(t, "action"),
	}
	if most := rapid.SampledFrom([]int32{-1, -1, 0, 2}).Draw(t, "maxRestarts"); most >= 0 {
		o.MaxRestarts = &most
	}
	for _, apply := range change {
		apply(&o)
	}
	rollouttest.Failures(o)(spec)
}

// drawIllness draws what is wrong with the revision that comes, if anything is.
func drawIllness(t *rapid.T, c *tale) {
	bad := rollouttest.Hash(c.Spec)
	switch rapid.SampledFrom([]string{"never ready", "failing", "failing", "crashing", "crashing at first", "breaking nodes", "healthy"}).Draw(t, "revision") {
	case "never ready":
		c.Behavior.NeverReady = []string{bad}
	case "failing":
		c.Behavior.Failing = []string{bad}
	case "crashing":
		c.Behavior.Crashing = []string{bad}
	case "crashing at first":
		c.Behavior.Crashing, c.Behavior.Crashes = []string{bad}, rapid.IntRange(1, 4).Draw(t, "crashes")
	case "breaking nodes": // which then need only keep their pods
		c.Behavior.Breaking = []string{nextImage}
		for _, n := range c.Snapshot.Nodes {
			if rapid.Bool().Draw(t, "robust") {
				c.Behavior.Robust = append(c.Behavior.Robust, n.Name)
			}
		}
	}
}

// failingStageTale draws a fleet with rings and zones, and a revision that is rolled out in stages, some of them after a canary,
// and does not come up everywhere.
func failingStageTale(t *rapid.T, change ...func(*failure.Options)) tale {
	c := stageTale(t, func(s *rollout.Spec) { drawFailures(t, s, change...) })
	rapid.SampledFrom(stageMore).Draw(t, "more")(&c.Spec)
	all(c.Spec)(&c.Spec)
	drawIllness(t, &c)
	return c
}

// failingWorlds generates such tales in which much befalls the fleet, and only a part of each.
func failingWorlds(change ...func(*failure.Options)) *rapid.Generator[tale] {
	return rapid.Custom(func(t *rapid.T) tale {
		c := failureTale(t, change...)
		drawFailureTurns(t, &c)
		return c
	})
}

// failingStageWorlds generates tales of stages in which much befalls the fleet.
func failingStageWorlds(change ...func(*failure.Options)) *rapid.Generator[tale] {
	return rapid.Custom(func(t *rapid.T) tale {
		c := failingStageTale(t, change...)
		drawFailureTurns(t, &c)
		return c
	})
}

// drawFailureTurns draws what befalls the fleet, and retries.
func drawFailureTurns(t *rapid.T, c *tale) {
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
				Kind: rapid.SampledFrom([]harness.MishapKind{
					harness.LoseMemory, harness.EvictPods, harness.EvictPods, harness.AddNode, harness.CrashPods, harness.TaintNode,
				}).Draw(t, "kind"),
				Node: c.Snapshot.Nodes[rapid.IntRange(0, last).Draw(t, "node")].Name,
			}
		}
		c.turns = append(c.turns, next)
	}
	c.most = enough
}

// quietFailingWorlds generates such tales in which nothing else happens.
func quietFailingWorlds(change ...func(*failure.Options)) *rapid.Generator[tale] {
	return rapid.Custom(func(t *rapid.T) tale {
		c := failureTale(t, change...)
		noPlaceHeld(&c)
		if o := c.Spec.Strategy.Policy.Failures; o.Action != failure.Rollback || o.MaxFailed.String() != "0" {
			c.most = enough // it may have no end
		}
		return c
	})
}

// noPlaceHeld does without maxSurge if nodes break: what is deleted there stays, and holds its place for ever.
func noPlaceHeld(c *tale) {
	if len(c.Behavior.Breaking) > 0 && c.Spec.Strategy.MaxSurge != nil {
		c.Spec.Strategy.MaxSurge = nil
		rollouttest.MaxUnavailable("1")(&c.Spec)
	}
}

// quietFailingStageWorlds generates tales of stages in which nothing else happens.
func quietFailingStageWorlds(change ...func(*failure.Options)) *rapid.Generator[tale] {
	return rapid.Custom(func(t *rapid.T) tale {
		c := failingStageTale(t, change...)
		noPlaceHeld(&c)
		if c.Behavior.Crashes == 0 {
			c.Spec.Strategy.Canary = nil // the trial of a revision that does not come up has no end
		}
		return c
	})
}
