package rollouttest

import (
	"errors"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// TB is what the assertions need of a test; *testing.T, *testing.B, *testing.F and *rapid.T have it.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// AssertValid fails the test if the plan breaks an invariant that [verify.Plan] checks, which are those that one plan can break
// (V1 to V12). For each it says which one and what the plan has to say about the node, and at the end what was planned for.
// The test goes on.
func AssertValid(t TB, spec rollout.Spec, snapshot rollout.Snapshot, plan rollout.Plan) {
	t.Helper()
	if err := harness.CheckPlan(spec, snapshot, plan); err != nil {
		t.Errorf("%v\n%s", err, harness.Case{Spec: spec, Snapshot: snapshot})
	}
}

// CheckInvariants checks every invariant (docs/invariants.md) that applies to a planner for the spec in the state
// of the snapshot, and joins what is wrong; nil if nothing is:
//   - V1 to V12: the plan is valid as [AssertValid] says, and so is every plan that follows on the way to the end in a small
//     cluster where pods start within seconds and nothing goes wrong;
//   - V13: planning leaves the snapshot alone and keeps nothing of it, and gives the same plan again, in whatever order nodes,
//     pods and revisions come;
//   - V14: what was asked for is not asked for again, whether the requests are in flight or carried out, all or a part of them;
//   - V15: if nothing changes but the clock, the plan stays the same until its NextWake, and waking up comes to an end;
//   - V16 and V18: that cluster comes to rest, and then every node has what it should have;
//   - V17: no node is recreated or updated twice on the way.
//
// V16 to V18 are checked if nothing stops the set as a whole: it is neither paused nor frozen nor OnDelete, no canary is tried
// first, and no stages or failures are in its policy, all of which may wait for a person.
//
// The snapshot is one of a controller, or made by builders; what is in flight in it is taken for done where the cluster goes
// on from it. The planner is that of the spec, such as the Plan method of what [rollout.New] returns, or one with something
// around it. An error of the planner is reported as what is wrong.
func CheckInvariants(spec rollout.Spec, plan simulate.PlanFunc, snapshot rollout.Snapshot) error {
	planner := harness.PlanFunc(plan)
	errs := []error{
		harness.CheckSafe(spec, planner, snapshot),
		harness.CheckPure(planner, snapshot),
		harness.CheckIdempotent(spec, planner, snapshot),
		harness.CheckNextWake(planner, snapshot),
		harness.CheckSafeAlong(spec, planner, snapshot, harness.Behavior{}),
	}
	if goesOn(&spec) {
		errs = append(errs,
			harness.CheckLive(spec, planner, snapshot, harness.Behavior{}),
			harness.CheckNoThrash(spec, planner, snapshot, harness.Behavior{}))
	}
	return errors.Join(errs...)
}

// goesOn reports whether nothing stops the set as a whole, so that it comes to its end by itself.
func goesOn(spec *rollout.Spec) bool {
	s := &spec.Strategy
	waits := s.Canary != nil || len(s.Policy.Stages) > 0 || s.Policy.Failures != nil
	return s.Type != rollout.OnDelete && !s.Paused && !s.Frozen && !waits
}
