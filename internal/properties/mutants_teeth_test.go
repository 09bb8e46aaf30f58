//go:build teeth

package properties_test

import (
	"slices"
	"testing"
	"time"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// mutant is a planner with one planted bug. The property must reject it: one that does not proves nothing.
type mutant struct {
	name     string
	why      string // a planner could be wrong like that
	property property
	plan     func(rollout.Spec, harness.PlanFunc) harness.PlanFunc
}

// asIf plans for a spec that somebody changed on the way: a knob is ignored.
func asIf(options ...rollouttest.SpecOption) func(rollout.Spec, harness.PlanFunc) harness.PlanFunc {
	return func(spec rollout.Spec, asked harness.PlanFunc) harness.PlanFunc {
		spec.Template = *spec.Template.DeepCopy()
		for _, option := range options {
			option(&spec)
		}
		return func(s rollout.Snapshot) (rollout.Plan, error) {
			planner, err := rollout.New(spec)
			if err != nil {
				return asked(s) // no such knob in this spec
			}
			return planner.Plan(s)
		}
	}
}

// noBurst forgets the limit altogether.
func noBurst(s *rollout.Spec) { s.Burst = nil }

// misreading plans for another snapshot than the one given.
func misreading(change func(*rollout.Snapshot)) func(rollout.Spec, harness.PlanFunc) harness.PlanFunc {
	return func(_ rollout.Spec, plan harness.PlanFunc) harness.PlanFunc {
		return func(s rollout.Snapshot) (rollout.Plan, error) {
			change(&s)
			return plan(s)
		}
	}
}

// spoiling changes the plan afterwards.
func spoiling(change func(rollout.Spec, rollout.Snapshot, *rollout.Plan)) func(rollout.Spec, harness.PlanFunc) harness.PlanFunc {
	return func(spec rollout.Spec, plan harness.PlanFunc) harness.PlanFunc {
		return func(s rollout.Snapshot) (rollout.Plan, error) {
			p, err := plan(s)
			if err == nil {
				change(spec, s, &p)
			}
			return p, err
		}
	}
}

// alsoDelete adds a delete of a pod, and books it on the node's decision.
func alsoDelete(s rollout.Snapshot, p *rollout.Plan, state rollout.NodeState) {
	for i := range p.Decisions {
		d := &p.Decisions[i]
		if d.State != state || d.Deletes > 0 {
			continue
		}
		for _, pod := range s.Pods {
			if nodeOfAny(pod) == d.Node {
				d.Deletes++
				p.Deletes = append(p.Deletes, rollout.Delete{Node: d.Node, Pod: pod.Name, UID: pod.UID, Reason: rollout.ReasonOutdated})
				return
			}
		}
	}
}

// alsoCreate adds a create on the first node in that state, and books it.
func alsoCreate(spec rollout.Spec, p *rollout.Plan, state rollout.NodeState) {
	for i := range p.Decisions {
		if d := &p.Decisions[i]; d.State == state && d.Creates == 0 {
			d.Creates++
			p.Creates = append(p.Creates, rollout.Create{Node: d.Node, Revision: rollouttest.Hash(spec), Reason: rollout.ReasonMissing})
			return
		}
	}
}

var mutants = []mutant{
	{
		"no budget", "counting candidates instead of unavailable nodes", budget, asIf(rollouttest.MaxUnavailable("100%")),
	},
	{
		"no budget along the way", "a budget spent anew in every plan", budgetAlways,
		misreading(func(s *rollout.Snapshot) {
			s.Pods = slices.Clone(s.Pods)
			for i, p := range s.Pods {
				if p.DeletionTimestamp == nil && !isReady(p) {
					s.Pods[i] = p.DeepCopy()
					rollouttest.Ready(rollouttest.Noon().Add(-time.Hour))(s.Pods[i])
				}
			}
		}),
	},
	{
		"surge without limit", "the new pods are not counted", surge, asIf(rollouttest.MaxSurge("100%")),
	},
	{
		"surge without limit, seen from outside", "the same, as the property without the verifier sees it", budgetAlways,
		asIf(rollouttest.MaxSurge("100%")),
	},
	{
		"two creates", "repair and update both create", onePerNode,
		spoiling(func(_ rollout.Spec, _ rollout.Snapshot, p *rollout.Plan) {
			if len(p.Creates) > 0 {
				p.Creates = append(slices.Clip(p.Creates), p.Creates[0])
			}
		}),
	},
	{
		"create on a leave node", "placement is not looked at", onePerNode,
		spoiling(func(spec rollout.Spec, _ rollout.Snapshot, p *rollout.Plan) {
			alsoCreate(spec, p, rollout.StateIneligible)
		}),
	},
	{
		"create beside the updated pod", "the pod of the update revision is overlooked", onePerNode,
		spoiling(func(spec rollout.Spec, _ rollout.Snapshot, p *rollout.Plan) {
			alsoCreate(spec, p, rollout.StateUpdated)
		}),
	},
	{
		"create at an old revision", "repair uses the revision of the lost pod without holdRevision", onePerNode,
		spoiling(func(_ rollout.Spec, s rollout.Snapshot, p *rollout.Plan) {
			p.Creates = slices.Clone(p.Creates)
			for i := range p.Creates {
				p.Creates[i].Revision = "5f46b89dcc"
			}
		}),
	},
	{
		"delete of an updated healthy pod", "the wrong one of two is chosen", handsOff,
		spoiling(func(_ rollout.Spec, s rollout.Snapshot, p *rollout.Plan) { alsoDelete(s, p, rollout.StateUpdated) }),
	},
	{
		"OnDelete ignored", "the strategy's type is read by some phases only", held, asIf(objects.Released()),
	},
	{
		"paused ignored", "the flag is read by some phases only", pausedHeld, asIf(objects.Released()),
	},
	{
		"frozen like paused", "repair goes on", frozen,
		asIf(func(s *rollout.Spec) { s.Strategy.Frozen, s.Strategy.Paused = false, true }),
	},
	{
		"burst ignored", "the limit holds for creates or for deletes only", burst, asIf(noBurst),
	},
	{
		"status too good", "the counter is derived from something else than the decisions", accounting,
		spoiling(func(_ rollout.Spec, _ rollout.Snapshot, p *rollout.Plan) { p.Status.Available++ }),
	},
	{
		"decision missing", "a node is skipped", accounting,
		spoiling(func(_ rollout.Spec, _ rollout.Snapshot, p *rollout.Plan) {
			p.Decisions = p.Decisions[:max(0, len(p.Decisions)-1)]
		}),
	},
	{
		"action of no decision", "an action is booked on no node", accounting,
		spoiling(func(_ rollout.Spec, _ rollout.Snapshot, p *rollout.Plan) {
			for i := range p.Decisions {
				p.Decisions[i].Deletes = 0
			}
		}),
	},
	{
		"terminating pod deleted again", "marked pods are candidates", requested,
		spoiling(func(_ rollout.Spec, s rollout.Snapshot, p *rollout.Plan) { alsoDelete(s, p, rollout.StateTerminating) }),
	},
	{
		"wakes in the past", "the earliest instant is taken, passed or not", bounded,
		spoiling(func(_ rollout.Spec, s rollout.Snapshot, p *rollout.Plan) { p.NextWake = s.Now }),
	},
	{
		"plan of a snapshot that is none", "the contract is not checked", contract,
		func(rollout.Spec, harness.PlanFunc) harness.PlanFunc {
			return func(rollout.Snapshot) (rollout.Plan, error) {
				return rollout.Plan{}, &rollout.SnapshotError{Field: "Now"}
			}
		},
	},
	{
		"unsafe at all", "any of the above", safe, asIf(rollouttest.MaxUnavailable("100%"), noBurst),
	},
	{
		"unsafe along the way", "right for the first plan only", safeAlong,
		spoiling(func(_ rollout.Spec, s rollout.Snapshot, p *rollout.Plan) {
			if s.Now.After(rollouttest.Noon()) {
				alsoDelete(s, p, rollout.StateUpdated)
			}
		}),
	},
}

func TestPropertiesRejectMutants(t *testing.T) {
	t.Parallel()
	all := slices.Concat(mutants, purityMutants(), liveMutants, holdMutants, hookMutants, inPlaceMutants, pullMutants, domainMutants)
	seen := map[string]bool{}
	for _, m := range all {
		if m.name == "" || m.why == "" || seen[m.name] {
			t.Errorf("mutant %q needs a reason and a name of its own", m.name)
		}
		seen[m.name] = true
		t.Run(m.name, func(t *testing.T) { rejects(t, m) })
	}
}

// unique expects of each mutant that it is given a reason and a name of its own.
func unique(t *testing.T) (named func(name, why string)) {
	seen := map[string]bool{}
	return func(name, why string) {
		if name == "" || why == "" || seen[name] {
			t.Errorf("mutant %q needs a reason and a name of its own", name)
		}
		seen[name] = true
	}
}

// rejects looks for a trial, among the same ones in every run, that the mutant fails.
func rejects(t *testing.T, m mutant) {
	const most = 1000
	buggy := func(spec rollout.Spec) (harness.PlanFunc, error) {
		plan, err := realPlanner(spec)
		if err != nil {
			return nil, err
		}
		return m.plan(spec, plan), nil
	}
	for seed := range most {
		c := m.property.trials.Example(seed)
		if err := m.property.holds(c, buggy); err != nil {
			if err := m.property.holds(c, realPlanner); err != nil {
				t.Fatalf("the real planner fails too: %v\n%#v", err, c)
			}
			t.Logf("trial %d: %v", seed, err)
			return
		}
	}
	t.Errorf("%s is not rejected in %d trials", m.property.name, most)
}
