package rollout_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/internal/conformance"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/manifest"
)

// recorded is one whole decision of the real controller.
type recorded struct {
	Name          string                       `json:"name"`
	Features      []string                     `json:"features"`
	Now           time.Time                    `json:"now"`
	DaemonSet     appsv1.DaemonSet             `json:"daemonSet"`
	Revisions     []*appsv1.ControllerRevision `json:"revisions"`
	Nodes         []*corev1.Node               `json:"nodes"`
	Pods          []*corev1.Pod                `json:"pods"`
	BurstReplicas *int32                       `json:"burstReplicas"`
	Expect        struct {
		Status statusCounters `json:"status"`
		Phases struct {
			Manage        recordedPhase `json:"manage"`
			RollingUpdate recordedPhase `json:"rollingUpdate"`
		} `json:"phases"`
		RollingUpdateError string `json:"rollingUpdateError"`
	} `json:"expect"`
}

// recordedPhase is what one phase of the real controller did.
type recordedPhase struct {
	Create       []string `json:"create"` // nodes
	Delete       []string `json:"delete"` // pods
	ChooseCreate choice   `json:"chooseCreate"`
	ChooseDelete choice   `json:"chooseDelete"`
}

// choice is any count of from: the real controller picks in map order.
type choice struct {
	From  []string `json:"from"`
	Count int      `json:"count"`
}

type statusCounters struct {
	Desired      int32 `json:"desiredNumberScheduled"`
	Current      int32 `json:"currentNumberScheduled"`
	Misscheduled int32 `json:"numberMisscheduled"`
	Ready        int32 `json:"numberReady"`
	Updated      int32 `json:"updatedNumberScheduled"`
	Available    int32 `json:"numberAvailable"`
	Unavailable  int32 `json:"numberUnavailable"`
}

// spec is what the recorded DaemonSet says. Budgets that are both zero, which the API server refuses, make the
// controller act as with maxUnavailable 1, which is our default.
func (c *recorded) spec(t *testing.T) rollout.Spec {
	t.Helper()
	spec, err := manifest.FromDaemonSet(&c.DaemonSet)
	if err != nil {
		t.Fatal(err)
	}
	if c.BurstReplicas != nil {
		spec.Burst = new(intstr.FromInt32(*c.BurstReplicas))
	}
	if zero(spec.Strategy.MaxUnavailable) && (spec.Strategy.MaxSurge == nil || zero(spec.Strategy.MaxSurge)) {
		spec.Strategy.MaxUnavailable, spec.Strategy.MaxSurge = nil, nil
	}
	return spec
}

// refused tells whether the spec is one that the API server would not let in.
func (c *recorded) refused(spec rollout.Spec) bool {
	s := spec.Strategy
	return s.Type != rollout.OnDelete && s.MaxUnavailable != nil && !zero(s.MaxUnavailable) && s.MaxSurge != nil && !zero(s.MaxSurge)
}

func zero(v *intstr.IntOrString) bool {
	return v != nil && (v.IntValue() == 0 && v.Type == intstr.Int || v.Type == intstr.String && strings.Trim(v.StrVal, "0") == "%")
}

// own leaves out the pods of other controllers, as the real controller does before it decides.
func (c *recorded) snapshot() rollout.Snapshot {
	var own []*corev1.Pod
	for _, p := range c.Pods {
		if owner := metav1.GetControllerOf(p); owner == nil || owner.UID == c.DaemonSet.UID {
			own = append(own, p)
		}
	}
	return rollout.Snapshot{
		Now: c.Now, Nodes: c.Nodes, Pods: own, Revisions: c.Revisions,
		Memory: rollout.Memory{Version: rollout.MemoryVersion, CollisionCount: c.DaemonSet.Status.CollisionCount},
	}
}

// aspect of a decision that a difference is in.
type aspect string

const (
	creates    aspect = "creates"
	deletes    aspect = "deletes"
	statusWord aspect = "status"
)

// difference between what was recorded and what the plan does.
type difference struct {
	aspect aspect
	// subject: a node (creates), a pod (deletes) or a counter (status); empty where only the number of free choices
	// differs.
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
	var nodes, pods, repairs []string
	for _, a := range plan.Creates {
		nodes = append(nodes, a.Node)
		if a.Reason == rollout.ReasonMissing || a.Reason == rollout.ReasonBesideTerminating {
			repairs = append(repairs, a.Node)
		}
	}
	for _, a := range plan.Deletes {
		pods = append(pods, a.Pod)
		if a.Reason != rollout.ReasonOutdated && a.Reason != rollout.ReasonOutdatedNotReady {
			repairs = append(repairs, a.Pod)
		}
	}
	manage, roll := c.Expect.Phases.Manage, c.Expect.Phases.RollingUpdate
	var diffs []difference
	diffs = append(diffs, compareActions(creates, nodes, manage.Create, roll.Create, manage.ChooseCreate, roll.ChooseCreate, len(repairs))...)
	diffs = append(diffs, compareActions(deletes, pods, manage.Delete, roll.Delete, manage.ChooseDelete, roll.ChooseDelete, len(repairs))...)
	return append(diffs, c.compareStatus(plan)...)
}

// compareActions checks that ours holds all that both phases did, nothing beyond what they could choose, and as
// many of their choices. Of the free choices of the update phase fewer are fine where our own repairs spend the
// budget (M7).
func compareActions(a aspect, ours, repaired, rolled []string, repairChoice, rollChoice choice, repairs int) []difference {
	rest := make(map[string]bool)
	for _, s := range ours {
		rest[s] = true
	}
	var diffs []difference
	for _, s := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(repaired, rolled)))) {
		if !rest[s] {
			diffs = append(diffs, difference{aspect: a, subject: s, by: 1})
		}
		delete(rest, s)
	}
	take := func(c choice) (taken int) {
		for _, s := range c.From {
			if rest[s] && taken < c.Count {
				delete(rest, s)
				taken++
			}
		}
		return taken
	}
	if taken := take(repairChoice); taken < repairChoice.Count {
		diffs = append(diffs, difference{aspect: a, by: repairChoice.Count - taken})
	}
	if taken := take(rollChoice); taken+repairs < rollChoice.Count {
		diffs = append(diffs, difference{aspect: a, by: rollChoice.Count - taken})
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

// files of whole decisions: generated ones, then hand-made ones.
var files = []string{"kubernetes/decisions.jsonl", "kubernetes/varying.jsonl", "kubernetes/surprises.jsonl"}

func cases(t *testing.T, file string) []*recorded {
	t.Helper()
	var all []*recorded
	for name, line := range conformance.Lines(t, file) {
		c := new(recorded)
		if err := json.Unmarshal(line, c); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all = append(all, c)
	}
	return all
}

// TestConformanceModel holds the model of the controller to what was recorded: only a model that is right about the
// controller can say what sets our rules apart from it. Of recordings from elsewhere, those with which the plan agrees
// need no model.
func TestConformanceModel(t *testing.T) {
	for _, file := range files {
		for _, c := range cases(t, file) {
			spec := c.spec(t)
			m := model{situation: newSituation(c, spec)}
			got, want := m.outcome().String(), c.recordedOutcome().String()
			switch {
			case got == want:
			case os.Getenv(conformance.EnvDir) != "" && (c.refused(spec) || len(c.compare(c.plan(t, spec))) == 0):
				t.Logf("%s: not needed, but not reproduced:\n got %s\nwant %s", c.Name, got, want)
			default:
				t.Errorf("%s:\n got %s\nwant %s", c.Name, got, want)
			}
		}
	}
}

// TestConformanceDecisions compares whole decisions with those of the real controller. A plan that differs must be
// what the model of the controller does with the rules of the table of deliberate differences.
func TestConformanceDecisions(t *testing.T) {
	var total, agree, refused, explained int
	byAspect := make(map[aspect]int)
	var needed, matters [rules]int
	for _, file := range files[:2] {
		for _, c := range cases(t, file) {
			total++
			spec := c.spec(t)
			if c.refused(spec) {
				refused++
				c.assertRefused(t, spec)
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
			for _, a := range []aspect{creates, deletes, statusWord} {
				if slices.ContainsFunc(diffs, func(d difference) bool { return d.aspect == a }) {
					byAspect[a]++
				}
			}
		}
	}
	t.Logf("%d cases: %d agree, %d refused as invalid, %d explained (%d%%)", total, agree, refused, explained, 100*explained/total)
	for _, a := range []aspect{creates, deletes, statusWord} {
		t.Logf("%4d cases (%d%%) differ in their %s", byAspect[a], 100*byAspect[a]/total, a)
	}
	for r, e := range entries {
		t.Logf("%4d cases need it, in %d it matters alone: %s (%s): %s", needed[r], matters[r], e.id, e.rule, e.why)
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

func (c *recorded) assertRefused(t *testing.T, spec rollout.Spec) {
	t.Helper()
	_, err := rollout.New(spec)
	for _, e := range rollout.FieldErrors(err) {
		if e.Field == "spec.strategy.maxSurge" {
			return
		}
	}
	t.Errorf("%s: both budgets are set, but New returned %v", c.Name, err)
}
