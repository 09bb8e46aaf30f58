package harness

import (
	"errors"
	"fmt"
	"slices"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/verify"
)

// CheckFunc finds what is wrong with a plan, as [verify.Plan] does and a [verify.Verifier].
type CheckFunc func(rollout.Spec, rollout.Snapshot, *rollout.Plan) []verify.Violation

// Recheck returns a function that is [CheckPlan] for plan after plan of one run, and besides asks a Verifier that has seen the
// snapshots before. It fails if that finds anything else, in this plan or in the plan before, which is wrong for this snapshot
// wherever anything has changed. For the latter the lists come in another order.
func Recheck(verifier CheckFunc) func(rollout.Spec, rollout.Snapshot, rollout.Plan) error {
	var before *rollout.Plan
	return func(spec rollout.Spec, s rollout.Snapshot, plan rollout.Plan) error {
		reorderedToo := s
		reorderedToo.Nodes, reorderedToo.Pods = reordered(s.Nodes, everyOther), reordered(s.Pods, everyOther)
		err := errors.Join(
			sameFindings(verifier, spec, s, &plan),
			sameFindings(verifier, spec, reorderedToo, before),
		)
		before = &plan
		if err != nil {
			return err
		}
		return CheckPlan(spec, s, plan)
	}
}

func sameFindings(verifier CheckFunc, spec rollout.Spec, s rollout.Snapshot, plan *rollout.Plan) error {
	if is, right := verifier(spec, s, plan), verify.Plan(spec, s, plan); !slices.Equal(is, right) {
		return fmt.Errorf("a Verifier that has seen earlier snapshots finds %v, right is %v", is, right)
	}
	return nil
}
