package conformance_test

import (
	"os"
	"slices"
	"testing"

	"github.com/daemonplan/daemonplan/internal/conformance"
	"github.com/daemonplan/daemonplan/internal/conformance/peer"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/verify"
)

// files are the files with whole decisions of each controller: generated ones, then hand-made ones.
var files = [...][]string{
	peer.Kubernetes: {"kubernetes/decisions.jsonl", "kubernetes/varying.jsonl", "kubernetes/surprises.jsonl"},
	peer.Kruise:     {"kruise/decisions.jsonl", "kruise/varying.jsonl", "kruise/surprises.jsonl"},
}

func cases(t *testing.T, file string) []*peer.Case {
	t.Helper()
	var all []*peer.Case
	for name, line := range conformance.Lines(t, file) {
		c, err := peer.Decode(line)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all = append(all, c)
	}
	return all
}

// TestConformanceModel compares the model of the controller with what was recorded. Only a model that is right about the
// controller can show how our rules differ from it.
func TestConformanceModel(t *testing.T) { testModel(t, peer.Kubernetes) }

// testModel accepts a difference in a recording from elsewhere if the spec is refused or the plan agrees with the recording,
// because such a recording needs no model.
func testModel(t *testing.T, p peer.Controller) {
	t.Helper()
	for _, file := range files[p] {
		for _, c := range cases(t, file) {
			spec := specOf(t, c)
			got, want := situationOf(t, c, spec).Outcome(0, peer.Decided{}).String(), c.Expected().String()
			switch {
			case got == want:
			case os.Getenv(conformance.EnvDir) != "" && (c.Refused(spec) != "" || len(peer.Compare(c.Expected(), planOf(t, c, spec))) == 0):
				t.Logf("%s: not needed, but not reproduced:\n got %s\nwant %s", c.Name, got, want)
			default:
				t.Errorf("%s:\n got %s\nwant %s", c.Name, got, want)
			}
		}
	}
}

// TestConformanceDecisions compares whole decisions with those of the real controller. A plan that differs must be
// what the model of the controller does with the rules of the table of deliberate differences.
func TestConformanceDecisions(t *testing.T) { testDecisions(t, peer.Kubernetes) }

func testDecisions(t *testing.T, p peer.Controller) {
	t.Helper()
	var total, agree, accounted int
	refused := make(map[string]int)
	byAspect := make(map[peer.Aspect]int)
	var needed, matters [peer.Rules]int
	for _, file := range files[p][:2] {
		for _, c := range cases(t, file) {
			total++
			spec := specOf(t, c)
			if field := c.Refused(spec); field != "" {
				refused[field]++
				assertRefused(t, c, spec, field)
				continue
			}
			plan := planOf(t, c, spec)
			diffs := peer.Compare(c.Expected(), plan)
			s := situationOf(t, c, spec)
			explanation := explained(t, s, plan, diffs)
			if len(diffs) == 0 {
				agree++
				continue
			}
			accounted++
			for r := range peer.Rules {
				needed[r] += int(count(explanation.Has(r)))
				matters[r] += int(count(s.Matters(r, peer.DecidedBy(plan))))
			}
			for _, a := range peer.Aspects {
				byAspect[a] += int(count(slices.ContainsFunc(diffs, func(d peer.Difference) bool { return d.Aspect == a })))
			}
		}
	}
	t.Logf("%d cases: %d agree, %v refused as invalid, %d explained (%d%%)", total, agree, refused, accounted, 100*accounted/total)
	for _, a := range peer.Aspects {
		t.Logf("%4d cases (%d%%) differ in their %s", byAspect[a], 100*byAspect[a]/total, a)
	}
	for r, e := range peer.Entries[:] {
		if e.Of.Has(p) {
			t.Logf("%4d cases need it, in %d it matters alone: %s (%s): %s", needed[r], matters[r], e.ID, e.Rule, e.Why)
		}
	}
}

func specOf(t *testing.T, c *peer.Case) rollout.Spec {
	t.Helper()
	spec, err := c.Spec()
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func situationOf(t *testing.T, c *peer.Case, spec rollout.Spec) *peer.Situation {
	t.Helper()
	s, err := peer.NewSituation(c, spec)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func planOf(t *testing.T, c *peer.Case, spec rollout.Spec) rollout.Plan {
	t.Helper()
	planner, err := rollout.New(spec)
	if err != nil {
		t.Fatalf("%s: New: %v", c.Name, err)
	}
	snapshot := c.Snapshot()
	plan, err := planner.Plan(snapshot)
	if err != nil {
		t.Fatalf("%s: Plan: %v", c.Name, err)
	}
	for _, v := range verify.Plan(spec, snapshot, &plan) {
		t.Errorf("%s: %v", c.Name, v)
	}
	return plan
}

// explained finds the entries that explain the differences, and reports a plan that they do not explain.
func explained(t *testing.T, s *peer.Situation, plan rollout.Plan, diffs []peer.Difference) peer.RuleSet {
	t.Helper()
	d := peer.DecidedBy(plan)
	needed, ok := s.Explain(d)
	if !ok {
		t.Errorf("%s: unexplained: %v\nmodel of the rules: %v\nplan: %v", s.Case.Name, diffs, s.Outcome(peer.AllRules, d), d)
	}
	return needed
}

func assertRefused(t *testing.T, c *peer.Case, spec rollout.Spec, field string) {
	t.Helper()
	_, err := rollout.New(spec)
	for _, e := range rollout.FieldErrors(err) {
		if e.Field == field {
			return
		}
	}
	t.Errorf("%s: %s is to be refused, but New returned %v", c.Name, field, err)
}
