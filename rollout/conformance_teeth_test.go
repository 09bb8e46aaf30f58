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
	{"no surplus deletes", withoutDeletes(rollout.ReasonSurplus, rollout.ReasonSuperseded, rollout.ReasonNotReadyBesideNew), 40, 0},
	{"no failed deletes", withoutDeletes(rollout.ReasonFailed, rollout.ReasonOutdatedFailed), 30, 0},
	{"nothing leaves", withoutDeletes(rollout.ReasonLeaving), 40, 0},
	{"no rollout", func(s *situation, plan rollout.Plan, d *decided) {
		withoutDeletes(rollout.ReasonOutdated, rollout.ReasonOutdatedNotReady)(s, plan, d)
		withoutCreates(rollout.ReasonOutdated, rollout.ReasonOutdatedNotReady)(s, plan, d)
	}, 100, 0},
	{"broken pods wait", func(s *situation, plan rollout.Plan, d *decided) {
		withoutDeletes(rollout.ReasonOutdatedNotReady)(s, plan, d)
		withoutCreates(rollout.ReasonOutdatedNotReady)(s, plan, d)
	}, 20, 0},
	{"no missing pods", withoutCreates(rollout.ReasonMissing, rollout.ReasonBesideTerminating), 60, 0},
	{"one create fewer", func(_ *situation, _ rollout.Plan, d *decided) { d.creates = d.creates[:max(0, len(d.creates)-1)] }, 60, 0},
	{"one delete fewer", func(_ *situation, _ rollout.Plan, d *decided) { d.deletes = d.deletes[:max(0, len(d.deletes)-1)] }, 100, 0},
	{"a create on another node", func(s *situation, _ rollout.Plan, d *decided) {
		for _, n := range s.nodes {
			if len(d.creates) > 0 && !slices.Contains(d.creates, n.name) {
				d.creates[0] = n.name
				return
			}
		}
	}, 60, 5},
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
			goes := func(p *corev1.Pod) bool { return slices.Contains(d.deletes, p.Name) }
			stays := func(p *corev1.Pod) bool { return !goes(p) }
			a, b := slices.IndexFunc(live, goes), slices.IndexFunc(live, stays)
			if a >= 0 && b >= 0 {
				d.deletes[slices.Index(d.deletes, live[a].Name)] = live[b].Name
				return
			}
		}
	}, 30, 0},
	{"one delete more", func(s *situation, _ rollout.Plan, d *decided) {
		for _, n := range s.nodes {
			for _, p := range n.live() {
				if !slices.Contains(d.deletes, p.Name) {
					d.deletes = append(d.deletes, p.Name)
					return
				}
			}
		}
	}, 200, 0},
	{"a terminating pod deleted again", func(s *situation, _ rollout.Plan, d *decided) {
		for _, n := range s.nodes {
			if i := slices.IndexFunc(n.pods, marked); i >= 0 {
				d.deletes = append(d.deletes, n.pods[i].Name)
				return
			}
		}
	}, 40, 0},
	{"one update more", func(s *situation, _ rollout.Plan, d *decided) { moreUpdates(s, d, 1) }, 90, 0},
	{"all updates", func(s *situation, _ rollout.Plan, d *decided) { moreUpdates(s, d, len(s.nodes)) }, 90, 0},
	{"updated 0", func(_ *situation, _ rollout.Plan, d *decided) { d.status.Updated = 0 }, 200, 0},
	{"desired + 3", func(_ *situation, _ rollout.Plan, d *decided) { d.status.Desired += 3 }, 200, 0},
}

func withoutDeletes(reasons ...rollout.Reason) func(*situation, rollout.Plan, *decided) {
	return func(_ *situation, plan rollout.Plan, d *decided) {
		d.deletes = nil
		for _, a := range plan.Deletes {
			if !slices.Contains(reasons, a.Reason) {
				d.deletes = append(d.deletes, a.Pod)
			}
		}
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
		case !s.surge && !slices.Contains(d.deletes, live[0].Name):
			d.deletes = append(d.deletes, live[0].Name)
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
func TestConformanceTeeth(t *testing.T) {
	// The shares are those of the compiled-in cases.
	t.Setenv(conformance.EnvDir, "")
	all := slices.Concat(wrongDecisions, wrongCounters())
	changed, passed := make([]int, len(all)), make([]int, len(all))
	for _, file := range files {
		for _, c := range cases(t, file) {
			spec := c.spec(t)
			if c.refused(spec) {
				continue
			}
			s := newSituation(c, spec)
			plan := c.plan(t, spec)
			for i, wrong := range all {
				right, d := decidedBy(plan), decidedBy(plan)
				wrong.spoil(s, plan, &d)
				if right.status == d.status && slices.Equal(right.creates, d.creates) && slices.Equal(right.deletes, d.deletes) {
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

// TestConformanceEntriesAreNeeded keeps the table from holding rules that set nothing apart.
func TestConformanceEntriesAreNeeded(t *testing.T) {
	t.Setenv(conformance.EnvDir, "")
	var needed ruleSet
	for _, file := range files {
		for _, c := range cases(t, file) {
			if spec := c.spec(t); !c.refused(spec) {
				some, _ := explain(newSituation(c, spec), decidedBy(c.plan(t, spec)))
				needed |= some
			}
		}
	}
	seen := make(map[string]bool)
	for r, e := range entries {
		if e.id == "" || e.rule == "" || e.why == "" || seen[e.id] {
			t.Errorf("entry %d (%q) needs an id of its own, a rule and a reason", r, e.id)
		}
		seen[e.id] = true
		if needed>>r&1 == 0 {
			t.Errorf("no compiled-in case needs %s", e.id)
		}
	}
}
