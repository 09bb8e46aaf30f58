package rollout_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/daemonplan/daemonplan/rollout"
)

// decided is what a plan does, as far as it can be compared.
type decided struct {
	creates []string // nodes
	deletes []string // pods
	status  statusCounters
}

func decidedBy(plan rollout.Plan) decided {
	s := plan.Status
	return decided{
		creates: nodesOf(plan.Creates), deletes: podsOf(plan.Deletes),
		status: statusCounters{
			Desired: s.Desired, Current: s.Current, Misscheduled: s.Misscheduled, Ready: s.Ready,
			Updated: s.Updated, Available: s.Available, Unavailable: s.Unavailable,
		},
	}
}

// recordedOutcome is the decision of the controller in the words of the model.
func (c *recorded) recordedOutcome() outcome {
	of := func(p recordedPhase) phaseOutcome {
		return phaseOutcome{
			create: act{must: p.Create, from: p.ChooseCreate.From, count: p.ChooseCreate.Count},
			delete: act{must: p.Delete, from: p.ChooseDelete.From, count: p.ChooseDelete.Count},
		}
	}
	e := c.Expect
	return outcome{
		status: e.Status, manage: of(e.Phases.Manage), roll: of(e.Phases.RollingUpdate),
		failed: e.RollingUpdateError != "",
	}
}

// String is the outcome in an order of its own, so that equal outcomes have equal strings.
func (o outcome) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "status %v", o.status)
	for _, a := range []struct {
		what string
		act  act
	}{
		{"manage creates", o.manage.create}, {"manage deletes", o.manage.delete},
		{"roll creates", o.roll.create}, {"roll deletes", o.roll.delete},
	} {
		if len(a.act.must) > 0 {
			fmt.Fprintf(&b, "; %s %v", a.what, slices.Sorted(slices.Values(a.act.must)))
		}
		if a.act.count > 0 {
			fmt.Fprintf(&b, "; %s %d of %v", a.what, a.act.count, slices.Sorted(slices.Values(a.act.from)))
		}
	}
	if o.failed {
		b.WriteString("; roll failed")
	}
	return b.String()
}

// permits tells whether what was decided is exactly what both phases do, for one of their choices.
func (o outcome) permits(d decided) bool {
	return o.status == d.status &&
		permits(o.manage.create, o.roll.create, d.creates) && permits(o.manage.delete, o.roll.delete, d.deletes)
}

// permits tells whether ours is the union of all that a and b must do, a.count of a.from and b.count of b.from. Both
// may choose the same, and what the other must do.
func permits(a, b act, ours []string) bool {
	must := make(map[string]bool)
	for _, s := range slices.Concat(a.must, b.must) {
		if must[s] = true; !slices.Contains(ours, s) {
			return false
		}
	}
	var byA, byB, onlyA, onlyB, either int
	seen := make(map[string]bool)
	for _, s := range ours {
		if seen[s] {
			return false
		}
		seen[s] = true
		inA, inB := a.count > 0 && slices.Contains(a.from, s), b.count > 0 && slices.Contains(b.from, s)
		byA += int(count(inA))
		byB += int(count(inB))
		switch {
		case must[s]:
		case inA && inB:
			either++
		case inA:
			onlyA++
		case inB:
			onlyB++
		default:
			return false
		}
	}
	return byA >= a.count && byB >= b.count && onlyA <= a.count && onlyB <= b.count &&
		onlyA+onlyB+either <= a.count+b.count
}

// explain finds a smallest set of rules that make the model of the controller permit what was decided: none can be
// left out of it. Where rules can stand in for each other, the earlier ones of the table are taken. What the model
// does not permit with all rules is unexplained, however much it looks like the controller.
func explain(s *situation, d decided) (needed ruleSet, ok bool) {
	m := &model{situation: s, rules: allRules, ours: d}
	if !m.outcome().permits(d) {
		return 0, false
	}
	for r := rules; r > 0; r-- {
		before := m.rules
		if m.rules &^= 1 << (r - 1); !m.outcome().permits(d) {
			m.rules = before
		}
	}
	return m.rules, true
}
