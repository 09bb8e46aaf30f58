package rollout_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/internal/conformance"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
)

// wrongDecision makes a wrong decision of a right one. What it leaves unchanged is not counted.
type wrongDecision struct {
	name  string
	spoil func(s *situation, plan rollout.Plan, d *decided)
	// least is how many of the compiled-in cases it changes at least.
	least int
	// passes is how many percent of the wrong decisions may pass: those that happen to be another free choice.
	passes int
}

var wrongDecisions = []wrongDecision{
	{"no surplus deletes", withoutDeletes(rollout.ReasonSurplus, rollout.ReasonSuperseded, rollout.ReasonNotReadyBesideNew), 30, 0},
	{"no failed deletes", withoutDeletes(rollout.ReasonFailed, rollout.ReasonOutdatedFailed), 30, 0},
	{"nothing leaves", withoutDeletes(rollout.ReasonLeaving), 40, 0},
	{"no rollout", func(s *situation, plan rollout.Plan, d *decided) {
		withoutDeletes(rollout.ReasonOutdated, rollout.ReasonOutdatedNotReady)(s, plan, d)
		withoutCreates(rollout.ReasonOutdated, rollout.ReasonOutdatedNotReady)(s, plan, d)
	}, 80, 0},
	{"broken pods wait", func(s *situation, plan rollout.Plan, d *decided) {
		withoutDeletes(rollout.ReasonOutdatedNotReady)(s, plan, d)
		withoutCreates(rollout.ReasonOutdatedNotReady)(s, plan, d)
	}, 20, 0},
	{"no missing pods", withoutCreates(rollout.ReasonMissing, rollout.ReasonBesideTerminating), 60, 0},
	{"one create fewer", func(_ *situation, _ rollout.Plan, d *decided) { d.creates = d.creates[:max(0, len(d.creates)-1)] }, 60, 0},
	{"one delete fewer", func(_ *situation, _ rollout.Plan, d *decided) { d.fates = d.fates[:max(0, len(d.fates)-1)] }, 100, 0},
	{"a create on another node", func(s *situation, _ rollout.Plan, d *decided) {
		for _, n := range s.nodes {
			if len(d.creates) > 0 && !slices.Contains(d.creates, n.name) {
				d.creates[0] = n.name
				return
			}
		}
	}, 60, 0},
	{"one create twice", func(_ *situation, _ rollout.Plan, d *decided) {
		d.creates = append(d.creates, d.creates[:min(1, len(d.creates))]...)
	}, 60, 0},
	{"a create where none may be", func(s *situation, _ rollout.Plan, d *decided) {
		for _, n := range s.nodes {
			if n.outcome != placement.Run && len(n.pods) == 0 {
				d.creates = append(d.creates, n.name)
				return
			}
		}
	}, 60, 0},
	{"another of a node's pods", func(s *situation, _ rollout.Plan, d *decided) {
		for _, n := range s.nodes {
			live := n.live()
			goes := func(p *corev1.Pod) bool { return d.fate(p) != "" }
			stays := func(p *corev1.Pod) bool { return !goes(p) }
			a, b := slices.IndexFunc(live, goes), slices.IndexFunc(live, stays)
			if a >= 0 && b >= 0 {
				f := d.fate(live[a])
				d.fates[slices.Index(d.fates, f.to(live[a].Name))] = f.to(live[b].Name)
				return
			}
		}
	}, 20, 3},
	{"one delete more", func(s *situation, _ rollout.Plan, d *decided) {
		for _, n := range s.nodes {
			for _, p := range n.live() {
				if d.fate(p) == "" {
					d.fates = append(d.fates, fateDeleted.of(p.Name)...)
					return
				}
			}
		}
	}, 200, 0},
	{"a terminating pod deleted again", func(s *situation, _ rollout.Plan, d *decided) {
		for _, n := range s.nodes {
			if i := slices.IndexFunc(n.pods, marked); i >= 0 {
				d.fates = append(d.fates, fateDeleted.of(n.pods[i].Name)...)
				return
			}
		}
	}, 40, 0},
	{"one update more", func(s *situation, _ rollout.Plan, d *decided) { moreUpdates(s, d, 1) }, 90, 0},
	{"all updates", func(s *situation, _ rollout.Plan, d *decided) { moreUpdates(s, d, len(s.nodes)) }, 90, 0},
	{"updated 0", func(_ *situation, _ rollout.Plan, d *decided) { d.status.Updated = 0 }, 180, 0},
	{"desired + 3", func(_ *situation, _ rollout.Plan, d *decided) { d.status.Desired += 3 }, 200, 0},
}

// fate is what happens to the pod; empty if nothing.
func (d *decided) fate(p *corev1.Pod) fate {
	for _, f := range []fate{fateDeleted, fateInPlace, fatePreparing, fateTakenBack} {
		if slices.Contains(d.fates, f.to(p.Name)) {
			return f
		}
	}
	return ""
}

func withoutDeletes(reasons ...rollout.Reason) func(*situation, rollout.Plan, *decided) {
	return func(_ *situation, plan rollout.Plan, d *decided) {
		plan.Deletes = slices.DeleteFunc(slices.Clone(plan.Deletes), func(a rollout.Delete) bool {
			return slices.Contains(reasons, a.Reason)
		})
		plan.Patches = slices.DeleteFunc(slices.Clone(plan.Patches), func(a rollout.Patch) bool {
			return slices.Contains(reasons, a.Reason)
		})
		d.fates = fatesOf(plan)
	}
}

func withoutCreates(reasons ...rollout.Reason) func(*situation, rollout.Plan, *decided) {
	return func(_ *situation, plan rollout.Plan, d *decided) {
		d.creates = nil
		for _, a := range plan.Creates {
			if !slices.Contains(reasons, a.Reason) {
				d.creates = append(d.creates, a.Node)
			}
		}
	}
}

// moreUpdates begins up to n more nodes whose only live pod is an outdated one.
func moreUpdates(s *situation, d *decided, n int) {
	if s.spec.Strategy.Type == rollout.OnDelete {
		return
	}
	m := model{situation: s, rules: allRules}
	for _, node := range s.nodes {
		live := node.live()
		switch {
		case n == 0:
			return
		case node.outcome != placement.Run || len(live) != 1 || m.updated(live[0]):
		case s.surge && !slices.Contains(d.creates, node.name):
			d.creates = append(d.creates, node.name)
			n--
		case !s.surge && d.fate(live[0]) == "" && len(m.updateOf(live[0])) > 0:
			d.fates = append(d.fates, m.updateOf(live[0])...)
			n--
		}
	}
}

// wrongCounters spoils each counter of the status, up and down.
func wrongCounters() (list []wrongDecision) {
	for _, c := range []struct {
		name string
		at   func(*statusCounters) *int32
	}{
		{"desired", func(s *statusCounters) *int32 { return &s.Desired }},
		{"current", func(s *statusCounters) *int32 { return &s.Current }},
		{"misscheduled", func(s *statusCounters) *int32 { return &s.Misscheduled }},
		{"ready", func(s *statusCounters) *int32 { return &s.Ready }},
		{"updated", func(s *statusCounters) *int32 { return &s.Updated }},
		{"available", func(s *statusCounters) *int32 { return &s.Available }},
		{"unavailable", func(s *statusCounters) *int32 { return &s.Unavailable }},
	} {
		up := func(_ *situation, _ rollout.Plan, d *decided) { *c.at(&d.status)++ }
		down := func(_ *situation, _ rollout.Plan, d *decided) { *c.at(&d.status)-- }
		list = append(list, wrongDecision{c.name + " + 1", up, 200, 0}, wrongDecision{c.name + " - 1", down, 200, 0})
	}
	return list
}

// TestConformanceTeeth shows that the table of deliberate differences does not explain just anything: right plans,
// spoiled, are not explained.
func TestConformanceTeeth(t *testing.T) { testTeeth(t, kubernetes, wrongDecisions) }

func testTeeth(t *testing.T, p peer, wrong []wrongDecision) {
	t.Helper()
	// The shares are those of the compiled-in cases.
	t.Setenv(conformance.EnvDir, "")
	all := slices.Concat(wrong, wrongCounters())
	changed, passed := make([]int, len(all)), make([]int, len(all))
	for _, file := range files[p] {
		for _, c := range cases(t, file) {
			spec := c.spec(t)
			if c.refused(spec) != "" {
				continue
			}
			s := newSituation(c, spec)
			plan := c.plan(t, spec)
			for i, wrong := range all {
				right, d := decidedBy(plan), decidedBy(plan)
				wrong.spoil(s, plan, &d)
				if right.status == d.status && slices.Equal(right.creates, d.creates) && slices.Equal(right.fates, d.fates) {
					continue
				}
				changed[i]++
				if _, ok := explain(s, d); ok {
					passed[i]++
				}
			}
		}
	}
	for i, wrong := range all {
		t.Logf("%-32s %3d cases changed, %d explained all the same", wrong.name, changed[i], passed[i])
		if changed[i] < wrong.least {
			t.Errorf("%s: changes %d cases only, want %d", wrong.name, changed[i], wrong.least)
		}
		if 100*passed[i] > wrong.passes*changed[i] {
			t.Errorf("%s: %d of %d wrong decisions are explained, want at most %d%%", wrong.name, passed[i], changed[i], wrong.passes)
		}
	}
}

// TestConformanceEntriesAreNeeded keeps the table from holding rules that set nothing apart: some recording needs each,
// and each makes a difference to every controller of which it says so.
func TestConformanceEntriesAreNeeded(t *testing.T) {
	t.Setenv(conformance.EnvDir, "")
	var needed [rules]int
	var matters [len(files)][rules]int
	for p := range files {
		for _, file := range files[p] {
			for _, c := range cases(t, file) {
				spec := c.spec(t)
				if c.refused(spec) != "" {
					continue
				}
				plan, s := c.plan(t, spec), newSituation(c, spec)
				explanation, _ := explain(s, decidedBy(plan))
				for r := range rules {
					needed[r] += int(explanation >> r & 1)
					matters[p][r] += int(count(c.matters(s, plan, r)))
				}
			}
		}
	}
	seen := make(map[string]bool)
	for r, e := range entries[:] {
		if e.id == "" || e.rule == "" || e.why == "" || e.of == 0 || seen[e.id] {
			t.Errorf("entry %d (%q) needs an id of its own, a rule, a reason and a controller", r, e.id)
		}
		seen[e.id] = true
		if needed[r] == 0 {
			t.Errorf("no compiled-in case needs %s", e.id)
		}
		for p := range files {
			if of := e.of&(1<<p) != 0; of != (matters[p][r] > 0) {
				t.Errorf("%s sets us apart from %s: %v, but it changes %d of the recordings", e.id, files[p][0], of, matters[p][r])
			}
		}
	}
}
