package properties_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/harness/draw"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/verify"
)

// factory makes the planner under test for a spec: the real one, or one with a planted bug.
type factory func(rollout.Spec) (harness.PlanFunc, error)

func realPlanner(spec rollout.Spec) (harness.PlanFunc, error) {
	planner, err := rollout.New(spec)
	if err != nil {
		return nil, err
	}
	return planner.Plan, nil
}

// rereading returns a factory of real planners that make each plan again with the Readings of earlier ones, also of a spec that was
// in force before. They are those of one trial, so that what happens in a trial depends on no other.
func rereading() factory {
	var last *rollout.Reading // of the last plan, of whatever spec
	return func(spec rollout.Spec) (harness.PlanFunc, error) {
		planner, err := rollout.New(spec)
		if err != nil {
			return nil, err
		}
		var others []*rollout.Reading
		if last != nil {
			others = append(others, last)
		}
		reread := harness.Reread(planner, others...)
		return func(s rollout.Snapshot) (rollout.Plan, error) {
			plan, err := reread(s)
			if err == nil {
				last = plan.Reading
			}
			return plan, err
		}, nil
	}
}

// trial is one drawn case.
type trial struct {
	harness.Case
	// behavior of the cluster, for properties over several steps.
	behavior harness.Behavior
	// next is a spec that comes into force on the way.
	next rollout.Spec
	// after is an instant, counted from the snapshot's.
	after time.Duration
	// count is how far something goes.
	count int
	// changes are what users do on the way, world is where they live: for stories.
	changes []harness.Change
	world   world
}

// GoString keeps what rapid prints readable.
func (c trial) GoString() string {
	text := fmt.Sprintf("%s%+v, next image %v, after %v, count %d", c.Case, c.behavior, c.next.Template.Spec.Containers, c.after, c.count)
	for _, change := range c.changes {
		text += fmt.Sprintf("\nafter %d steps: %s", change.After, harness.Case{Spec: change.Spec})
	}
	return text + fmt.Sprintf("%+v", c.world)
}

// property is one statement about planners. It is checked against the real one, on random and on native fuzz input,
// and, in mutants_teeth_test.go, against planners with planted bugs, which it must reject.
type property struct {
	name   string
	trials *rapid.Generator[trial]
	holds  func(trial, factory) error
}

// check draws one trial of the real planner.
func (p property) check(t *rapid.T) {
	c := p.trials.Draw(t, "trial")
	if err := p.holds(c, rereading()); err != nil {
		t.Fatal(err)
	}
}

// test checks each property as a subtest, beside other tests.
func test(t *testing.T, properties ...property) {
	t.Helper()
	t.Parallel()
	for _, p := range properties {
		t.Run(p.name, rapid.MakeCheck(p.check))
	}
}

// once makes a statement about the planner of the trial's spec.
func once(check func(c trial, plan harness.PlanFunc) error) func(trial, factory) error {
	return func(c trial, f factory) error {
		plan, err := f(c.Spec)
		if err != nil {
			return err
		}
		return check(c, plan)
	}
}

// onePlan generates trials for properties of one snapshot.
func onePlan(options ...rollouttest.SpecOption) *rapid.Generator[trial] {
	return rapid.Custom(func(t *rapid.T) trial {
		return trial{
			Case:  draw.AnyCase(options...).Draw(t, "scenario"),
			after: time.Duration(rapid.Int64Range(1, int64(2*time.Hour)).Draw(t, "after")),
		}
	})
}

// manyPlans generates trials for properties over several steps of a cluster.
func manyPlans(options ...rollouttest.SpecOption) *rapid.Generator[trial] {
	return rapid.Custom(func(t *rapid.T) trial {
		c := trial{Case: draw.AnyCase(options...).Draw(t, "scenario")}
		c.behavior = draw.AnyBehavior().Draw(t, "behavior")
		c.next = c.Spec
		c.next.Template = *c.Spec.Template.DeepCopy()
		// The next image, or the one that the older revision of generated scenarios has: a rollback.
		rollouttest.Image(rapid.SampledFrom([]string{"agent:v4", "agent:v2"}).Draw(t, "next image"))(&c.next)
		c.count = rapid.IntRange(0, 20).Draw(t, "count")
		return c
	})
}

// manyMinds generates trials in which users change the spec on the way.
func manyMinds() *rapid.Generator[trial] {
	return rapid.Custom(func(t *rapid.T) trial {
		c := trial{Case: draw.AnyCase().Draw(t, "scenario")}
		c.behavior = draw.AnyBehavior().Draw(t, "behavior")
		c.changes = draw.AnyChanges(c.Spec).Draw(t, "changes")
		return c
	})
}

// verified states that no plan breaks the given invariant, as far as the verifier sees it.
func verified(invariant int) func(trial, factory) error {
	return once(func(c trial, plan harness.PlanFunc) error {
		p, err := plan(c.Snapshot)
		if err != nil {
			return err
		}
		var errs []error
		for _, v := range verify.Plan(c.Spec, c.Snapshot, &p) {
			if v.Invariant == invariant {
				errs = append(errs, errors.New(v.String()))
			}
		}
		return errors.Join(errs...)
	})
}
