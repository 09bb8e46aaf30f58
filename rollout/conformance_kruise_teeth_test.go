package rollout_test

import (
	"slices"
	"testing"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
)

// wrongKruiseDecisions are wrong about what only OpenKruise knows.
var wrongKruiseDecisions = []wrongDecision{
	{"deleted instead of in place", instead(fateInPlace, fateDeleted), 30, 0},
	{"in place instead of deleted", func(s *situation, plan rollout.Plan, d *decided) {
		for _, a := range plan.Deletes {
			if a.Reason == rollout.ReasonOutdated || a.Reason == rollout.ReasonOutdatedNotReady {
				d.fates[slices.Index(d.fates, fateDeleted.to(a.Pod))] = fateInPlace.to(a.Pod)
			}
		}
	}, 40, 0},
	{"nothing in place", without(fateInPlace), 30, 0},
	{"hooks ignored", instead(fatePreparing, fateDeleted), 10, 0},
	{"hooks for ever", without(fatePreparing), 10, 0},
	{"nothing taken back", without(fateTakenBack), 25, 0},
	{"deleted instead of taken back", instead(fateTakenBack, fateDeleted), 25, 0},
	{"an update past the holds", func(s *situation, _ rollout.Plan, d *decided) {
		m := model{situation: s, rules: allRules}
		held := m.held()
		for _, n := range s.nodes {
			live := n.live()
			if !held[n.name] || n.outcome != placement.Run || len(live) != 1 || m.updated(live[0]) || d.fate(live[0]) != "" {
				continue
			}
			if s.surge {
				d.creates = append(d.creates, n.name)
			} else {
				d.fates = append(d.fates, m.updateOf(live[0])...)
			}
			return
		}
	}, 60, 0},
	{"another node held", func(s *situation, plan rollout.Plan, d *decided) {
		for _, f := range []fate{fateInPlace, fateDeleted} {
			for i, action := range d.fates {
				held := heldPod(plan)
				if kindOf(action) == f && held != "" {
					d.fates[i] = f.to(held)
					return
				}
			}
		}
	}, 10, 0},
}

// heldPod is a pod that partition or selector holds; empty if there is none.
func heldPod(plan rollout.Plan) string {
	for _, d := range plan.Decisions {
		if d.Verb == rollout.VerbHold && (d.Limit == rollout.LimitPartition || d.Limit == rollout.LimitNodeSelector) {
			return d.Pod
		}
	}
	return ""
}

func without(f fate) func(*situation, rollout.Plan, *decided) {
	return func(_ *situation, _ rollout.Plan, d *decided) {
		d.fates = slices.DeleteFunc(d.fates, func(action string) bool { return kindOf(action) == f })
	}
}

func instead(f, wrong fate) func(*situation, rollout.Plan, *decided) {
	return func(_ *situation, _ rollout.Plan, d *decided) {
		for i, action := range d.fates {
			if kindOf(action) == f {
				d.fates[i] = wrong.to(f.among([]string{action})[0])
			}
		}
	}
}

// TestConformanceKruiseTeeth is TestConformanceTeeth for OpenKruise.
func TestConformanceKruiseTeeth(t *testing.T) {
	testTeeth(t, kruise, slices.Concat(wrongDecisions, wrongKruiseDecisions))
}
