package harness

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/verify"
)

// PlanFunc plans for one spec, as [rollout.Planner.Plan] does. The checks of this package take one, so that they can
// be shown to fail for a planner with a planted bug.
type PlanFunc func(rollout.Snapshot) (rollout.Plan, error)

// Planner is the planner of the spec, as checks take one that plan for several specs.
func Planner(spec rollout.Spec) (PlanFunc, error) {
	planner, err := rollout.New(spec)
	if err != nil {
		return nil, err
	}
	return Reread(planner), nil
}

// Result is how a cluster got where it is.
type Result struct {
	// Steps is the number of plans made.
	Steps int
	// Settled: the last plan is empty, and neither the cluster nor the clock will change that.
	Settled bool
	// Elapsed is the virtual time from the first plan to the last.
	Elapsed time.Duration
	// Snapshot and Plan are the last ones.
	Snapshot rollout.Snapshot
	Plan     rollout.Plan
}

// Run observes, plans, checks and executes until the cluster is settled, or for the given number of steps. Time
// passes only when a plan is empty, and then to the next instant at which the cluster changes or the plan wants to be
// made again (NextWake): what nobody wakes up for does not happen.
//
// Check is called for every plan before it is executed; nil checks nothing. Run stops at the first error of plan, of
// check, or of [Cluster.Apply]. Not to settle within the steps is no error.
func (c *Cluster) Run(plan PlanFunc, steps int, check func(rollout.Snapshot, rollout.Plan) error) (Result, error) {
	var r Result
	began := c.now
	for r.Steps < steps {
		r.Steps++
		r.Elapsed = c.now.Sub(began)
		r.Snapshot = c.Snapshot()
		var err error
		if r.Plan, err = plan(r.Snapshot); err != nil {
			return r, fmt.Errorf("step %d: %w", r.Steps, err)
		}
		if check != nil {
			if err := check(r.Snapshot, r.Plan); err != nil {
				return r, fmt.Errorf("step %d: %w", r.Steps, err)
			}
		}
		if err := c.Apply(r.Plan); err != nil {
			return r, fmt.Errorf("step %d: %w", r.Steps, err)
		}
		if r.Settled = !c.advance(r.Plan); r.Settled {
			break
		}
	}
	return r, nil
}

// advance lets time pass as far as something is to be done; false if nothing is.
func (c *Cluster) advance(plan rollout.Plan) bool {
	switch next := earlier(c.Next(), plan.NextWake); {
	case !plan.Empty() || c.Behind():
		c.Tick(0)
	case next.IsZero():
		return false
	default:
		c.Tick(next.Sub(c.now))
	}
	return true
}

// Steps is a bound on the plans that a fair cluster of this size needs to settle (V16): each action and each thing
// that befalls a pod calls for one, and a lagging watch for as many more. In-place updates, hooks and pulls of images
// take more of both.
func (c *Cluster) Steps() int {
	perObject := 10
	if hooks := c.spec.Lifecycle; objects.UpdatesInPlace(&c.spec) || c.spec.PreDownload != nil || hooks.PreDelete != nil ||
		hooks.InPlaceUpdate != nil || hooks.PreNormal != nil {
		perObject = 30
	}
	if Canarying(&c.spec) { // two rollouts in one, and another one back
		perObject *= 3
		if len(c.behavior.Failing) > 0 {
			perObject *= 2 // its pods fail and come back until the canary has taken too long (C4)
		}
	}
	objects := len(c.nodes) + len(c.pods) + len(c.revisions)
	return (20 + perObject*objects) * (1 + max(0, c.behavior.Lag))
}

// failer is what [Run] needs of a test.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Run runs the cluster with the real planner until it is settled, and returns how it went. The test fails at once if
// a plan breaks an invariant ([CheckSafe]) or if the cluster does not settle within [Cluster.Steps].
func Run(t failer, c *Cluster) Result {
	t.Helper()
	steps := c.Steps()
	check := Recheck(new(verify.Verifier).Plan)
	result, err := c.Run(c.Plan, steps, func(snapshot rollout.Snapshot, plan rollout.Plan) error {
		return check(c.spec, snapshot, plan)
	})
	switch {
	case err != nil:
		t.Fatalf("%v\n%s", err, recent(c))
	case !result.Settled:
		t.Fatalf("not settled after %d steps\n%s", steps, recent(c))
	}
	return result
}

// CheckPlan is [verify.Plan] as an error, which says for each violation what the plan has to say about the node.
func CheckPlan(spec rollout.Spec, snapshot rollout.Snapshot, plan rollout.Plan) error {
	var errs []error
	for _, v := range verify.Plan(spec, snapshot, &plan) {
		err := errors.New(v.String())
		if v.Node != "" {
			err = fmt.Errorf("%w (the plan: %s)", err, plan.Explain(v.Node))
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// recent lists the last events of a cluster.
func recent(c *Cluster) string {
	const most = 40
	var text strings.Builder
	for _, e := range c.events[max(0, len(c.events)-most):] {
		text.WriteString(e.String() + "\n")
	}
	return text.String()
}
