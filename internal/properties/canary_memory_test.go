package properties_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// The properties of canaries whose memory is lost (C6): their clock begins again, and that is all.
var (
	lossDelays    = statement{"C2 a loss never hastens the promotion", lossyWorlds(), checkLossDelays}
	lossInRamp    = statement{"C2, B7 a loss never hastens the promotion, in slow start", lossyWorlds(rollouttest.SlowStart(20*time.Second, "1", "3")), checkLossDelays}
	lossKeeps     = statement{"C6 a loss keeps the verdict", lossyIllWorlds(), inWorld(ends(harness.EndsFailed))}
	lossPromotes  = statement{"C2 promoted in spite of losses", lossyHealthyWorlds(), inWorld(ends(harness.EndsPromoted))}
	lossAlways    = statement{"C2 without memory nothing is promoted by the clock", worlds(objects.Rolling(), rollouttest.CanaryFor(time.Minute, 0)), checkForgetful}
	lossIsOutside = statement{"V6 a loss touches nothing outside the canary", lossyAnyWorlds(), observed(observeOutside, observeVerdicts)}
)

func TestCanaryWithoutMemory(t *testing.T) {
	testTales(t, lossDelays, lossInRamp, lossKeeps, lossPromotes, lossAlways, lossIsOutside)
}

// lossy lets the tale lose its memory, and what else befalls pods.
func lossy(t *rapid.T, c tale, kinds ...harness.MishapKind) tale {
	kinds = append(kinds, harness.LoseMemory, harness.LoseMemory)
	for range rapid.IntRange(1, 3).Draw(t, "mishaps") {
		m := harness.Mishap{
			After: rapid.IntRange(0, 12).Draw(t, "after"), Kind: rapid.SampledFrom(kinds).Draw(t, "kind"),
			Node: rapid.SampledFrom(c.Snapshot.Nodes).Draw(t, "node").Name,
		}
		c.Mishaps = append(c.Mishaps, m)
		c.turns = append(c.turns, turn{after: m.After, mishap: m})
	}
	return c
}

func lossyWorlds(options ...rollouttest.SpecOption) *rapid.Generator[tale] {
	return rapid.Custom(func(t *rapid.T) tale {
		c := lossy(t, promptWorlds(options...).Draw(t, "tale"), harness.CrashPods, harness.EvictPods)
		c.Spec.Strategy.Canary.AutoFail.Disabled = true
		if c.Spec.Strategy.Method == inplace.IfPossible {
			c.Spec.Strategy.Canary.AutoPause.Disabled = true // which restarts count is lost, and a pause for them with it (C6)
		}
		return c
	})
}

func lossyHealthyWorlds() *rapid.Generator[tale] {
	return rapid.Custom(func(t *rapid.T) tale { return lossy(t, worlds(objects.Released()).Draw(t, "tale")) })
}

func lossyIllWorlds() *rapid.Generator[tale] {
	// Of the restarts only those that the pods show count after a loss, so it is the time that fails them.
	fails := rollouttest.AutoFail(canary.AutoFail{CanaryTimeout: new(2 * time.Hour)})
	return rapid.Custom(func(t *rapid.T) tale { return lossy(t, illWorlds(objects.Rolling(), fails).Draw(t, "tale")) })
}

func lossyAnyWorlds() *rapid.Generator[tale] {
	return rapid.Custom(func(t *rapid.T) tale { return lossy(t, eitherWorlds().Draw(t, "tale")) })
}

// checkLossDelays compares the tale with the same one without losses, where nothing else sets them apart: the promotion comes
// no earlier, and if nothing befell the pods later by no more than a clock that began again at the last loss says. With the
// memory slow start loses its clock, too (B7), and the pods of the canary may come later: then it is they, as observed, that
// say when. Whatever the tale, what befalls the canary after the last loss counts (C2).
func checkLossDelays(c tale, f factory) error {
	lossless := c
	lossless.turns = slices.Clone(c.turns)
	lost, quiet, alike := false, true, true
	for i := range lossless.turns {
		if lossless.turns[i].mishap.Kind == harness.LoseMemory {
			lossless.turns[i].mishap = harness.Mishap{Kind: harness.FindNode} // which never was lost
			lost = true
			continue
		}
		quiet = false
		alike = alike && !lost // it comes after some plans, and a loss makes them other ones
	}
	without, err := lossless.tell(f)
	if err != nil {
		return fmt.Errorf("without losses: %w", err)
	}
	var seen canarySeen
	with, err := c.tell(f, observeVerdicts, observeQuality, seen.observer)
	if err != nil {
		return err
	}
	name := without.of.name
	early, late := without.when[name], with.when[name]
	switch {
	case early.IsZero() != late.IsZero():
		return fmt.Errorf("C6: promoted at %v with losses, and at %v without\n%s", late, early, with.recently())
	case late.Before(early) && alike && (quiet || !seen.bare):
		return fmt.Errorf("C6: promoted at %v with losses, and at %v without\n%s", late, early, with.recently())
	}
	o := c.Spec.Strategy.Canary
	for _, e := range with.cluster.Events() {
		befalls := e.Kind == harness.ContainerCrashed || e.Kind == harness.PodFailed
		if befalls && e.Revision == with.of.hash && e.At.After(with.lost) && e.At.Before(late) && late.Sub(e.At) < *o.NoRestartsDuration {
			return fmt.Errorf("C2: promoted at %v, and %s\n%s", late, e, with.recently())
		}
	}
	due := early
	if c.Spec.Strategy.SlowStart != nil {
		due = latest(due, seen.due(o))
	}
	if again := with.lost.Add(max(*o.Duration, *o.NoRestartsDuration)); quiet && late.After(due) && late.After(again) {
		return fmt.Errorf("C6: promoted at %v with losses, due at %v, and a new clock says %v\n%s", late, due, again, with.recently())
	}
	return nil
}

// canarySeen is what is seen of a canary until the revision is promoted.
type canarySeen struct {
	ripening
	// bare: the memory was lost when a canary node had no live pod of the revision, no longer or not yet, so that the canary may
	// have started again without it (C6), and with a node that is ready sooner.
	bare   bool
	losses int
}

func (c *canarySeen) observer(tale) observer {
	return func(s *sight) error {
		if s.marked[s.of.name] {
			return nil
		}
		c.look(s)
		c.bare = c.bare || s.losses > c.losses && len(s.trialPods()) < min(s.size(), s.candidates())
		c.losses = s.losses
		return nil
	}
}

// checkForgetful loses the memory before every plan.
func checkForgetful(c tale, f factory) error {
	forgetful := func(spec rollout.Spec) (harness.PlanFunc, error) {
		plan, err := f(spec)
		return func(s rollout.Snapshot) (rollout.Plan, error) {
			s.Memory = rollout.Memory{}
			return plan(s)
		}, err
	}
	cluster, err := harness.NewCluster(c.Spec, c.Snapshot, c.Behavior)
	if err != nil {
		return err
	}
	plan, err := shuffled(forgetful, c.seed)(c.Spec)
	if err != nil {
		return err
	}
	s := &sight{tale: &c, cluster: cluster, of: revisionFor(c.Spec), marked: map[string]bool{}, failed: map[string]bool{}, when: map[string]time.Time{}}
	outside := observeOutside(c)
	if _, err := cluster.Run(plan, enough/2, func(rollout.Snapshot, rollout.Plan) error { return outside(s) }); err != nil {
		return err
	}
	if s.readMarks(); s.marked[s.of.name] {
		return errors.New("C6: the clock was never the same for two plans, and the revision is promoted")
	}
	return nil
}
