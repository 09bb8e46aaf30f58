package rollout_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/internal/conformance"
	"github.com/daemonplan/daemonplan/rollout"
)

// aspect of a decision that a difference is in.
type aspect string

const (
	creates    aspect = "creates"
	statusWord aspect = "status"
)

// aspects of a decision, in order. What happens to pods is an aspect each.
var aspects = []aspect{creates, aspect(fateDeleted), aspect(fateInPlace), aspect(fatePreparing), aspect(fateTakenBack), statusWord}

// difference between what was recorded and what the plan does.
type difference struct {
	aspect aspect
	// subject: a node (creates), a pod or a counter (status); empty where only the number of free choices differs.
	subject string
	// ours: the plan does it and the controller did not, or does more of it. Otherwise the other way round.
	ours bool
	by   int
}

func (d difference) String() string {
	who := "only the controller"
	if d.ours {
		who = "only the plan"
	}
	return fmt.Sprintf("%s: %s: %q by %d", d.aspect, who, d.subject, d.by)
}

// compare lists the differences. Which action belongs to which phase does not matter: a sync of the real controller
// does one of them, a plan both.
func (c *recorded) compare(plan rollout.Plan) []difference {
	repairs := 0
	for _, a := range plan.Creates {
		repairs += int(count(a.Reason == rollout.ReasonMissing || a.Reason == rollout.ReasonBesideTerminating))
	}
	for _, a := range plan.Deletes {
		repairs += int(count(a.Reason != rollout.ReasonOutdated && a.Reason != rollout.ReasonOutdatedNotReady))
	}
	ours, o := decidedBy(plan), c.recordedOutcome()
	diffs := compareActions(creates, ours.creates, o.manage.creates, o.roll.creates, repairs)
	for _, f := range []fate{fateDeleted, fateInPlace, fatePreparing, fateTakenBack} {
		diffs = append(diffs, compareActions(aspect(f), f.among(ours.fates), o.manage.fates.only(f), o.roll.fates.only(f), repairs)...)
	}
	return append(diffs, c.compareStatus(plan)...)
}

// only is what the act does to pods that meet the fate; of a choice between fates, the least.
func (a act) only(f fate) act {
	from := f.among(a.from)
	return act{must: f.among(a.must), from: from, count: max(0, a.count-len(a.from)+len(from))}
}

// compareActions checks that ours holds all that both phases did, nothing beyond what they could choose, and as
// many of their choices. Of the free choices of the update phase fewer are fine where our own repairs spend the
// budget (M7).
func compareActions(a aspect, ours []string, repair, roll act, repairs int) []difference {
	rest := make(map[string]bool)
	for _, s := range ours {
		rest[s] = true
	}
	var diffs []difference
	for _, s := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(repair.must, roll.must)))) {
		if !rest[s] {
			diffs = append(diffs, difference{aspect: a, subject: s, by: 1})
		}
		delete(rest, s)
	}
	take := func(c act) (taken int) {
		for _, s := range c.from {
			if rest[s] && taken < c.count {
				delete(rest, s)
				taken++
			}
		}
		return taken
	}
	if taken := take(repair); taken < repair.count {
		diffs = append(diffs, difference{aspect: a, by: repair.count - taken})
	}
	if taken := take(roll); taken+repairs < roll.count {
		diffs = append(diffs, difference{aspect: a, by: roll.count - taken})
	}
	for _, s := range slices.Sorted(maps.Keys(rest)) {
		diffs = append(diffs, difference{aspect: a, subject: s, ours: true, by: 1})
	}
	return diffs
}

func (c *recorded) compareStatus(plan rollout.Plan) []difference {
	want, got := c.Expect.Status, plan.Status
	var diffs []difference
	for _, counter := range []struct {
		name      string
		got, want int32
	}{
		{"desired", got.Desired, want.Desired},
		{"current", got.Current, want.Current},
		{"misscheduled", got.Misscheduled, want.Misscheduled},
		{"ready", got.Ready, want.Ready},
		{"updated", got.Updated, want.Updated},
		{"available", got.Available, want.Available},
		{"unavailable", got.Unavailable, want.Unavailable},
	} {
		if counter.got != counter.want {
			diffs = append(diffs, difference{aspect: statusWord, subject: counter.name, ours: counter.got > counter.want, by: int(max(counter.got-counter.want, counter.want-counter.got))})
		}
	}
	return diffs
}

// files of whole decisions of each controller: generated ones, then hand-made ones.
var files = [...][]string{
	kubernetes: {"kubernetes/decisions.jsonl", "kubernetes/varying.jsonl", "kubernetes/surprises.jsonl"},
	kruise:     {"kruise/decisions.jsonl", "kruise/varying.jsonl", "kruise/surprises.jsonl"},
}

func cases(t *testing.T, file string) []*recorded {
	t.Helper()
	var all []*recorded
	for name, line := range conformance.Lines(t, file) {
		c := new(recorded)
		if err := errors.Join(json.Unmarshal(line, c), json.Unmarshal(c.DaemonSet, &c.set)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all = append(all, c)
	}
	return all
}

// TestConformanceModel holds the model of the controller to what was recorded: only a model that is right about the
// controller can say what sets our rules apart from it.
func TestConformanceModel(t *testing.T) { testModel(t, kubernetes) }

// testModel lets recordings from elsewhere go with which the plan agrees: they need no model.
func testModel(t *testing.T, p peer) {
	t.Helper()
	for _, file := range files[p] {
		for _, c := range cases(t, file) {
			spec := c.spec(t)
			m := model{situation: newSituation(c, spec)}
			got, want := m.outcome().String(), c.recordedOutcome().String()
			switch {
			case got == want:
			case os.Getenv(conformance.EnvDir) != "" && (c.refused(spec) != "" || len(c.compare(c.plan(t, spec))) == 0):
				t.Logf("%s: not needed, but not reproduced:\n got %s\nwant %s", c.Name, got, want)
			default:
				t.Errorf("%s:\n got %s\nwant %s", c.Name, got, want)
			}
		}
	}
}

// TestConformanceDecisions compares whole decisions with those of the real controller. A plan that differs must be
// what the model of the controller does with the rules of the table of deliberate differences.
func TestConformanceDecisions(t *testing.T) { testDecisions(t, kubernetes) }

func testDecisions(t *testing.T, p peer) {
	t.Helper()
	var total, agree, explained int
	refused := make(map[string]int)
	byAspect := make(map[aspect]int)
	var needed, matters [rules]int
	for _, file := range files[p][:2] {
		for _, c := range cases(t, file) {
			total++
			spec := c.spec(t)
			if field := c.refused(spec); field != "" {
				refused[field]++
				c.assertRefused(t, spec, field)
				continue
			}
			plan := c.plan(t, spec)
			diffs := c.compare(plan)
			s := newSituation(c, spec)
			explanation := c.explain(t, s, plan, diffs)
			if len(diffs) == 0 {
				agree++
				continue
			}
			explained++
			for r := range rules {
				needed[r] += int(explanation >> r & 1)
				matters[r] += int(count(c.matters(s, plan, r)))
			}
			for _, a := range aspects {
				byAspect[a] += int(count(slices.ContainsFunc(diffs, func(d difference) bool { return d.aspect == a })))
			}
		}
	}
	t.Logf("%d cases: %d agree, %v refused as invalid, %d explained (%d%%)", total, agree, refused, explained, 100*explained/total)
	for _, a := range aspects {
		t.Logf("%4d cases (%d%%) differ in their %s", byAspect[a], 100*byAspect[a]/total, a)
	}
	for r, e := range entries[:] {
		if e.of&(1<<p) != 0 {
			t.Logf("%4d cases need it, in %d it matters alone: %s (%s): %s", needed[r], matters[r], e.id, e.rule, e.why)
		}
	}
}

// refused names the field of the spec for which the API server would not let it in. Empty: it would.
func (c *recorded) refused(spec rollout.Spec) string {
	s := spec.Strategy
	surge := s.MaxSurge != nil && !zero(s.MaxSurge)
	switch {
	case spec.Burst != nil && spec.Burst.Type == intstr.Int && spec.Burst.IntVal < 1:
		return "spec.burst"
	case s.Type == rollout.OnDelete:
		return ""
	case surge && s.MaxUnavailable != nil && !zero(s.MaxUnavailable):
		return "spec.strategy.maxSurge"
	case surge && s.Method != "" && s.Method != inplace.Recreate:
		return "spec.strategy.maxSurge"
	default:
		return ""
	}
}

// matters tells whether the rule alone changes what the controller would do.
func (c *recorded) matters(s *situation, plan rollout.Plan, r rule) bool {
	m := model{situation: s, ours: decidedBy(plan)}
	without := m.outcome().String()
	m.rules = 1 << r
	return m.outcome().String() != without
}

func (c *recorded) plan(t *testing.T, spec rollout.Spec) rollout.Plan {
	t.Helper()
	planner, err := rollout.New(spec)
	if err != nil {
		t.Fatalf("%s: New: %v", c.Name, err)
	}
	snapshot := c.snapshot()
	plan, err := planner.Plan(snapshot)
	if err != nil {
		t.Fatalf("%s: Plan: %v", c.Name, err)
	}
	for _, v := range rollout.Verify(spec, snapshot, plan) {
		t.Errorf("%s: %v", c.Name, v)
	}
	return plan
}

// explain finds the entries that account for the differences, and reports a plan that they do not account for.
func (c *recorded) explain(t *testing.T, s *situation, plan rollout.Plan, diffs []difference) ruleSet {
	t.Helper()
	d := decidedBy(plan)
	needed, ok := explain(s, d)
	if !ok {
		t.Errorf("%s: unexplained: %v\nmodel of the rules: %v\nplan: %v", c.Name, diffs,
			(&model{situation: s, rules: allRules, ours: d}).outcome(), d)
	}
	return needed
}

func (c *recorded) assertRefused(t *testing.T, spec rollout.Spec, field string) {
	t.Helper()
	_, err := rollout.New(spec)
	for _, e := range rollout.FieldErrors(err) {
		if e.Field == field {
			return
		}
	}
	t.Errorf("%s: %s is to be refused, but New returned %v", c.Name, field, err)
}

func nodesOf(creates []rollout.Create) (nodes []string) {
	for _, c := range creates {
		nodes = append(nodes, c.Node)
	}
	return nodes
}

func podsOf(deletes []rollout.Delete) (pods []string) {
	for _, d := range deletes {
		pods = append(pods, d.Pod)
	}
	return pods
}
