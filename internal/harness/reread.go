package harness

import (
	"fmt"
	"slices"

	"github.com/daemonplan/daemonplan/rollout"
)

// Reread returns a function that makes each plan several times: without a Reading, and with those of the plan before, of ten
// plans ago, and others that it is given, such as of a plan for another spec. All but the first of these plans get the lists of
// the snapshot in another order. The function fails if any of them says something else than the plan without, and returns that
// one.
func Reread(plan PlanFunc, others ...*rollout.Reading) PlanFunc {
	const kept = 10
	var own []*rollout.Reading // of the last plans, the newest first
	return func(s rollout.Snapshot) (rollout.Plan, error) {
		s.Reading = nil
		want, wantErr := plan(s)
		tried := slices.Clone(others)
		if len(own) > 0 {
			tried = append(tried, own[0], own[len(own)-1])
		}
		for _, reading := range tried {
			again := s
			again.Reading = reading
			before := len(own) > 0 && reading == own[0]
			if !before {
				again.Nodes, again.Pods = reordered(s.Nodes, everyOther), reordered(s.Pods, everyOther)
			}
			got, err := plan(again)
			if is, was := fmt.Sprint(err), fmt.Sprint(wantErr); (err == nil) != (wantErr == nil) || before && is != was {
				return want, fmt.Errorf("with the Reading of an earlier plan: %s, without: %s", is, was)
			}
			if diff := planDiff(want, got); diff != "" {
				return want, fmt.Errorf("the plan differs with the Reading of an earlier plan:\n%s", diff)
			}
		}
		if wantErr == nil {
			own = slices.Insert(own, 0, want.Reading)
			own = own[:min(len(own), kept)]
		}
		return want, wantErr
	}
}
