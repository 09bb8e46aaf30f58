package harness

import (
	"fmt"
	"slices"

	"github.com/daemonplan/daemonplan/rollout"
)

// Reread returns a function that makes each plan of the planner several times: without a Reading, and with those of the plan
// before, of ten plans ago, and others that it is given, such as of a plan for another spec. Those with a Reading are made in one
// Workspace. All but the first of these plans get the lists of the snapshot in another order. The function fails if any of them
// says something else than the plan without, and returns that one.
func Reread(planner *rollout.Planner, others ...*rollout.Reading) PlanFunc {
	var workspace rollout.Workspace
	again := func(s rollout.Snapshot) (rollout.Plan, error) { return workspace.Plan(planner, s) }
	return RereadWith(planner.Plan, again, others...)
}

// RereadWith is [Reread] for a planner that plans anew without a Reading, and again with one.
func RereadWith(anew, again PlanFunc, others ...*rollout.Reading) PlanFunc {
	const kept = 10
	var own []*rollout.Reading // of the last plans, the newest first
	return func(s rollout.Snapshot) (rollout.Plan, error) {
		s.Reading = nil
		want, wantErr := anew(s)
		latest := want.Reading // of the plan before, if there was one, and of what has changed since
		tried := slices.Clone(others)
		if len(own) > 0 {
			tried = append(tried, own[0], own[len(own)-1])
		}
		for _, reading := range tried {
			seen := s
			seen.Reading = reading
			before := len(own) > 0 && reading == own[0]
			if !before {
				seen.Nodes, seen.Pods = reordered(s.Nodes, everyOther), reordered(s.Pods, everyOther)
			}
			got, err := again(seen)
			if is, was := fmt.Sprint(err), fmt.Sprint(wantErr); (err == nil) != (wantErr == nil) || before && is != was {
				return want, fmt.Errorf("with the Reading of an earlier plan: %s, without: %s", is, was)
			}
			if diff := planDiff(want, got); diff != "" {
				return want, fmt.Errorf("the plan differs with the Reading of an earlier plan:\n%s", diff)
			}
			if before {
				latest = got.Reading
			}
		}
		if wantErr == nil {
			own = slices.Insert(own, 0, latest)
			own = own[:min(len(own), kept)]
		}
		return want, wantErr
	}
}
