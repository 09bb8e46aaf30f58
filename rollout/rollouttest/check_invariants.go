package rollouttest

import (
	"errors"

	"github.com/daemonplan/daemonplan/rollout"
)

// CheckInvariants runs every check of this package that applies to a planner for the spec in the state of the snapshot, and
// joins what is wrong:
//   - [CheckSafe]: the plan breaks none of V1 to V12, and with [CheckSafeAlong] none that follows does on the way to the end in
//     a fair cluster;
//   - [CheckPure], [CheckIdempotent], [CheckNextWake]: V13, V14, V15;
//   - [CheckLive] and [CheckNoThrash]: V16 to V18, if nothing stops the set as a whole: it is neither paused nor frozen nor
//     OnDelete, and no canary is tried first, which may wait for a person. For canaries there are [CheckCanary] and
//     [CheckCanaryEnds].
//
// The snapshot is one of a controller, or made by builders; what is in flight in it is taken for done where a cluster goes
// on from it. The planner is that of the spec, such as the Plan method of what [rollout.New] returns.
func CheckInvariants(spec rollout.Spec, plan PlanFunc, snapshot rollout.Snapshot) error {
	errs := []error{
		CheckSafe(spec, plan, snapshot),
		CheckPure(plan, snapshot),
		CheckIdempotent(spec, plan, snapshot),
		CheckNextWake(plan, snapshot),
		CheckSafeAlong(spec, plan, snapshot, Behavior{}),
	}
	if goesOn(&spec) {
		errs = append(errs,
			CheckLive(spec, plan, snapshot, Behavior{}),
			CheckNoThrash(spec, plan, snapshot, Behavior{}))
	}
	return errors.Join(errs...)
}

// goesOn tells whether nothing stops the set as a whole, so that it comes to its end by itself.
func goesOn(spec *rollout.Spec) bool {
	s := &spec.Strategy
	return s.Type != rollout.OnDelete && !s.Paused && !s.Frozen && s.Canary == nil
}
