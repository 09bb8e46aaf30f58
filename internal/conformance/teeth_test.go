//go:build teeth

package conformance_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/internal/conformance"
	"github.com/daemonplan/daemonplan/internal/conformance/peer"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
)

// wrongDecision makes a wrong decision from a right one. A decision that it leaves unchanged is not counted.
type wrongDecision struct {
	name  string
	spoil func(s *peer.Situation, plan rollout.Plan, d *peer.Decided)
	// least is how many of the compiled-in cases it must change at least.
	least int
	// passes is how many percent of the wrong decisions may pass, because they happen to be another free choice.
	passes int
}

var wrongDecisions = []wrongDecision{
	{"no surplus deletes", withoutDeletes(rollout.ReasonSurplus, rollout.ReasonSuperseded, rollout.ReasonNotReadyBesideNew), 30, 0},
	{"no failed deletes", withoutDeletes(rollout.ReasonFailed, rollout.ReasonOutdatedFailed), 30, 0},
	{"nothing leaves", withoutDeletes(rollout.ReasonLeaving), 40, 0},
	{"no rollout", func(s *peer.Situation, plan rollout.Plan, d *peer.Decided) {
		withoutDeletes(rollout.ReasonOutdated, rollout.ReasonOutdatedNotReady)(s, plan, d)
		withoutCreates(rollout.ReasonOutdated, rollout.ReasonOutdatedNotReady)(s, plan, d)
	}, 80, 0},
	{"broken pods wait", func(s *peer.Situation, plan rollout.Plan, d *peer.Decided) {
		withoutDeletes(rollout.ReasonOutdatedNotReady)(s, plan, d)
		withoutCreates(rollout.ReasonOutdatedNotReady)(s, plan, d)
	}, 20, 0},
	{"no missing pods", withoutCreates(rollout.ReasonMissing, rollout.ReasonBesideTerminating), 60, 0},
	{"one create fewer", func(_ *peer.Situation, _ rollout.Plan, d *peer.Decided) {
		d.Creates = d.Creates[:max(0, len(d.Creates)-1)]
	}, 60, 0},
	{"one delete fewer", func(_ *peer.Situation, _ rollout.Plan, d *peer.Decided) { d.Fates = d.Fates[:max(0, len(d.Fates)-1)] }, 100, 0},
	{"a create on another node", func(s *peer.Situation, _ rollout.Plan, d *peer.Decided) {
		for _, n := range s.Nodes {
			if len(d.Creates) > 0 && !slices.Contains(d.Creates, n.Name) {
				d.Creates[0] = n.Name
				return
			}
		}
	}, 60, 0},
	{"one create twice", func(_ *peer.Situation, _ rollout.Plan, d *peer.Decided) {
		d.Creates = append(d.Creates, d.Creates[:min(1, len(d.Creates))]...)
	}, 60, 0},
	{"a create where none may be", func(s *peer.Situation, _ rollout.Plan, d *peer.Decided) {
		for _, n := range s.Nodes {
			if n.Outcome != placement.Run && len(n.Pods) == 0 {
				d.Creates = append(d.Creates, n.Name)
				return
			}
		}
	}, 60, 0},
	{"another of a node's pods", func(s *peer.Situation, _ rollout.Plan, d *peer.Decided) {
		for _, n := range s.Nodes {
			live := n.Live()
			goes := func(p *corev1.Pod) bool { return d.Fate(p) != "" }
			stays := func(p *corev1.Pod) bool { return !goes(p) }
			a, b := slices.IndexFunc(live, goes), slices.IndexFunc(live, stays)
			if a >= 0 && b >= 0 {
				f := d.Fate(live[a])
				d.Fates[slices.Index(d.Fates, f.To(live[a].Name))] = f.To(live[b].Name)
				return
			}
		}
	}, 20, 3},
	{"one delete more", func(s *peer.Situation, _ rollout.Plan, d *peer.Decided) {
		for _, n := range s.Nodes {
			for _, p := range n.Live() {
				if d.Fate(p) == "" {
					d.Fates = append(d.Fates, peer.Deleted.Of(p.Name)...)
					return
				}
			}
		}
	}, 200, 0},
	{"a terminating pod deleted again", func(s *peer.Situation, _ rollout.Plan, d *peer.Decided) {
		for _, n := range s.Nodes {
			if i := slices.IndexFunc(n.Pods, marked); i >= 0 {
				d.Fates = append(d.Fates, peer.Deleted.Of(n.Pods[i].Name)...)
				return
			}
		}
	}, 40, 0},
	{"one update more", func(s *peer.Situation, _ rollout.Plan, d *peer.Decided) { moreUpdates(s, d, 1) }, 90, 0},
	{"all updates", func(s *peer.Situation, _ rollout.Plan, d *peer.Decided) { moreUpdates(s, d, len(s.Nodes)) }, 90, 0},
	{"updated 0", func(_ *peer.Situation, _ rollout.Plan, d *peer.Decided) { d.Status.Updated = 0 }, 180, 0},
	{"desired + 3", func(_ *peer.Situation, _ rollout.Plan, d *peer.Decided) { d.Status.Desired += 3 }, 200, 0},
}

func withoutDeletes(reasons ...rollout.Reason) func(*peer.Situation, rollout.Plan, *peer.Decided) {
	return func(_ *peer.Situation, plan rollout.Plan, d *peer.Decided) {
		plan.Deletes = slices.DeleteFunc(slices.Clone(plan.Deletes), func(a rollout.Delete) bool {
			return slices.Contains(reasons, a.Reason)
		})
		plan.Patches = slices.DeleteFunc(slices.Clone(plan.Patches), func(a rollout.Patch) bool {
			return slices.Contains(reasons, a.Reason)
		})
		d.Fates = peer.FatesOf(plan)
	}
}

func withoutCreates(reasons ...rollout.Reason) func(*peer.Situation, rollout.Plan, *peer.Decided) {
	return func(_ *peer.Situation, plan rollout.Plan, d *peer.Decided) {
		d.Creates = nil
		for _, a := range plan.Creates {
			if !slices.Contains(reasons, a.Reason) {
				d.Creates = append(d.Creates, a.Node)
			}
		}
	}
}

// moreUpdates begins up to n more nodes whose only live pod is outdated.
func moreUpdates(s *peer.Situation, d *peer.Decided, n int) {
	if s.Spec.Strategy.Type == rollout.OnDelete {
		return
	}
	m := peer.Model{Situation: s, Rules: peer.AllRules}
	for _, node := range s.Nodes {
		live := node.Live()
		switch {
		case n == 0:
			return
		case node.Outcome != placement.Run || len(live) != 1 || m.Updated(live[0]):
		case s.Surge && !slices.Contains(d.Creates, node.Name):
			d.Creates = append(d.Creates, node.Name)
			n--
		case !s.Surge && d.Fate(live[0]) == "" && len(m.UpdateOf(live[0])) > 0:
			d.Fates = append(d.Fates, m.UpdateOf(live[0])...)
			n--
		}
	}
}

// wrongCounters changes each counter of the status, up and down.
func wrongCounters() (list []wrongDecision) {
	for _, c := range []struct {
		name string
		at   func(*peer.Counters) *int32
	}{
		{"desired", func(s *peer.Counters) *int32 { return &s.Desired }},
		{"current", func(s *peer.Counters) *int32 { return &s.Current }},
		{"misscheduled", func(s *peer.Counters) *int32 { return &s.Misscheduled }},
		{"ready", func(s *peer.Counters) *int32 { return &s.Ready }},
		{"updated", func(s *peer.Counters) *int32 { return &s.Updated }},
		{"available", func(s *peer.Counters) *int32 { return &s.Available }},
		{"unavailable", func(s *peer.Counters) *int32 { return &s.Unavailable }},
	} {
		up := func(_ *peer.Situation, _ rollout.Plan, d *peer.Decided) { *c.at(&d.Status)++ }
		down := func(_ *peer.Situation, _ rollout.Plan, d *peer.Decided) { *c.at(&d.Status)-- }
		list = append(list, wrongDecision{c.name + " + 1", up, 200, 0}, wrongDecision{c.name + " - 1", down, 200, 0})
	}
	return list
}

// TestConformanceTeeth shows that the table of deliberate differences does not explain everything: it does not explain right
// plans into which a mistake was planted.
func TestConformanceTeeth(t *testing.T) { testTeeth(t, peer.Kubernetes, wrongDecisions) }

func testTeeth(t *testing.T, p peer.Controller, wrong []wrongDecision) {
	t.Helper()
	// The percentages are those of the compiled-in cases.
	t.Setenv(conformance.EnvDir, "")
	all := slices.Concat(wrong, wrongCounters())
	changed, passed := make([]int, len(all)), make([]int, len(all))
	for _, file := range files[p] {
		for _, c := range cases(t, file) {
			spec := specOf(t, c)
			if c.Refused(spec) != "" {
				continue
			}
			s := situationOf(t, c, spec)
			plan := planOf(t, c, spec)
			for i, wrong := range all {
				right, d := peer.DecidedBy(plan), peer.DecidedBy(plan)
				wrong.spoil(s, plan, &d)
				if right.Status == d.Status && slices.Equal(right.Creates, d.Creates) && slices.Equal(right.Fates, d.Fates) {
					continue
				}
				changed[i]++
				if _, ok := s.Explain(d); ok {
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

// TestConformanceEntriesAreNeeded shows that the table has no entry that explains no difference. Some recording needs each entry,
// and each entry makes a difference to every controller that it names.
func TestConformanceEntriesAreNeeded(t *testing.T) {
	t.Setenv(conformance.EnvDir, "")
	var needed [peer.Rules]int
	var matters [len(files)][peer.Rules]int
	for p := range files {
		for _, file := range files[p] {
			for _, c := range cases(t, file) {
				spec := specOf(t, c)
				if c.Refused(spec) != "" {
					continue
				}
				plan, s := planOf(t, c, spec), situationOf(t, c, spec)
				explanation, _ := s.Explain(peer.DecidedBy(plan))
				for r := range peer.Rules {
					needed[r] += int(count(explanation.Has(r)))
					matters[p][r] += int(count(s.Matters(r, peer.DecidedBy(plan))))
				}
			}
		}
	}
	seen := make(map[string]bool)
	for r, e := range peer.Entries[:] {
		if e.ID == "" || e.Rule == "" || e.Why == "" || e.Of == 0 || seen[e.ID] {
			t.Errorf("entry %d (%q) needs an id of its own, a rule, a reason and a controller", r, e.ID)
		}
		seen[e.ID] = true
		if unneeded := needed[r] == 0; unneeded != e.Unrecorded {
			t.Errorf("%d compiled-in cases need %s; unrecorded: %v", needed[r], e.ID, e.Unrecorded)
		}
		for p := range files {
			if of := e.Of.Has(peer.Controller(p)) && !e.Unrecorded; of != (matters[p][r] > 0) {
				t.Errorf("%s sets us apart from %s: %v, but it changes %d of the recordings", e.ID, files[p][0], of, matters[p][r])
			}
		}
	}
}
