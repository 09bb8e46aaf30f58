package rollout_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
)

// outcome is a decision of a model: like the recorded one, phase by phase.
type outcome struct {
	status       statusCounters
	manage, roll phaseOutcome
	failed       bool // the update phase ended with an error and did nothing
}

// phaseOutcome is what a phase does with nodes, by name, and with pods, by fate and name.
type phaseOutcome struct{ creates, fates act }

// act is what a phase does for sure, and how many of which others it picks freely.
type act struct {
	must, from []string
	count      int
}

// fate is what happens to a pod.
type fate string

const (
	fateDeleted   fate = "delete"
	fateInPlace   fate = "inPlace"
	fatePreparing fate = "preparingDelete"
	fateTakenBack fate = "takenBack" // no controller but ours does that
)

// to joins the fate with the name of the pod that has it.
func (f fate) to(pod string) string { return string(f) + " " + pod }

func (f fate) of(pods ...string) (fates []string) {
	for _, p := range pods {
		fates = append(fates, f.to(p))
	}
	return fates
}

// among lists the pods that have the fate.
func (f fate) among(fates []string) (pods []string) {
	for _, s := range fates {
		if pod, ok := strings.CutPrefix(s, string(f)+" "); ok {
			pods = append(pods, pod)
		}
	}
	return pods
}

// possible lists all that may be done.
func (a *act) possible() []string { return slices.Concat(a.must, a.from) }

// picked lists what of the act is among names.
func (a *act) picked(names []string) []string {
	return slices.DeleteFunc(a.possible(), func(s string) bool { return !slices.Contains(names, s) })
}

// decided is what a plan does, as far as it can be compared.
type decided struct {
	creates []string // nodes
	fates   []string // of pods
	status  statusCounters
}

func decidedBy(plan rollout.Plan) decided {
	s := plan.Status
	return decided{
		creates: nodesOf(plan.Creates), fates: fatesOf(plan),
		status: statusCounters{
			Desired: s.Desired, Current: s.Current, Misscheduled: s.Misscheduled, Ready: s.Ready,
			Updated: s.Updated, Available: s.Available, Unavailable: s.Unavailable,
		},
	}
}

// recordedOutcome is the decision of the controller in the words of the model.
func (c *recorded) recordedOutcome() outcome {
	of := func(p recordedPhase) phaseOutcome {
		m := p.ChooseMixed
		return phaseOutcome{
			creates: act{must: p.Create, from: p.ChooseCreate.From, count: p.ChooseCreate.Count},
			fates: act{
				must: slices.Concat(fateDeleted.of(p.Delete...), fateInPlace.of(p.InPlace...), fatePreparing.of(p.PreparingDelete...)),
				from: slices.Concat(fateDeleted.of(p.ChooseDelete.From...), fateInPlace.of(p.ChooseInPlace.From...),
					fatePreparing.of(p.ChoosePreparingDelete.From...), fateDeleted.of(m.FromDelete...),
					fateInPlace.of(m.FromInPlace...), fatePreparing.of(m.FromPreparingDelete...)),
				count: p.ChooseDelete.Count + p.ChooseInPlace.Count + p.ChoosePreparingDelete.Count + m.Count,
			},
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
		{"manage creates", o.manage.creates}, {"manage", o.manage.fates}, {"roll creates", o.roll.creates}, {"roll", o.roll.fates},
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
		permits(o.manage.creates, o.roll.creates, d.creates) && permits(o.manage.fates, o.roll.fates, d.fates)
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

// fatesOf lists what the plan does to pods. A pod is updated in place if its spec is, or if that is begun.
func fatesOf(plan rollout.Plan) []string {
	fates := fateDeleted.of(podsOf(plan.Deletes)...)
	for _, p := range plan.Patches {
		if f := fateBy(p); f != "" && !slices.Contains(fates, f.to(p.Pod)) {
			fates = append(fates, f.of(p.Pod)...)
		}
	}
	return fates
}

// fateBy reads off a patch what happens to the pod; empty if it is upkeep: see upkeep.
func fateBy(patch rollout.Patch) fate {
	var change corev1.Pod
	if err := json.Unmarshal(patch.Data, &change); err != nil {
		return fate(err.Error())
	}
	unready := condition(&change, lifecycle.InPlaceUpdateReady)
	switch state := lifecycle.StateOf(&change); {
	case change.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] != "" && patch.Reason != rollout.ReasonDuplicateRevision:
		return fateInPlace
	case unready != nil && unready.Status == corev1.ConditionFalse:
		return fateInPlace
	case state == lifecycle.PreparingDelete:
		return fatePreparing
	case state == lifecycle.Normal && patch.Reason == rollout.ReasonTakenBack:
		return fateTakenBack
	default:
		return ""
	}
}
