package stock_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	_ "github.com/daemonplan/daemonplan/internal/fixedseed"
	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/harness/draw"
	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
	"github.com/daemonplan/daemonplan/rollout/stock"
	"github.com/daemonplan/daemonplan/status"
)

// planner returns the planner of a spec.
func planner(t *testing.T, spec rollout.Spec, seed uint64) *stock.Kubernetes {
	t.Helper()
	planner, err := stock.NewKubernetes(spec, seed)
	if err != nil {
		t.Fatal(err)
	}
	return planner
}

func planFor(t *testing.T, spec rollout.Spec, seed uint64, snapshot rollout.Snapshot) rollout.Plan {
	t.Helper()
	plan, err := planner(t, spec, seed).Plan(snapshot)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// outdated returns a spec, and so many nodes whose pods are at the revision before.
func outdated(nodes int, options ...kit.SpecOption) (rollout.Spec, rollout.Snapshot) {
	old := kit.Spec("agent")
	spec := kit.Spec("agent", append(options, kit.Image("agent:v2"))...)
	s := rollout.Snapshot{Now: kit.Noon()}
	s.Revisions = append(s.Revisions, kit.Revision(old, 1), kit.Revision(spec, 2))
	for i := range nodes {
		name := fmt.Sprintf("n%02d", i)
		s.Nodes = append(s.Nodes, kit.Node(name))
		s.Pods = append(s.Pods, kit.Pod("agent-"+name, kit.Of(old), kit.OnNode(name)))
	}
	return spec, s
}

func podsOf(deletes []rollout.Delete) (names []string) {
	for _, d := range deletes {
		names = append(names, d.Pod)
	}
	slices.Sort(names)
	return names
}

// TestSeedsDrawTheOrder: which nodes come first is chance, and nothing else is.
func TestSeedsDrawTheOrder(t *testing.T) {
	spec, s := outdated(16, kit.MaxUnavailable("3"))
	seen := make(map[string]bool)
	for seed := range uint64(20) {
		plan := planFor(t, spec, seed, s)
		if len(plan.Deletes) != 3 || len(plan.Creates) != 0 || plan.Budget.Waiting != 13 || plan.Budget.Unavailable != 3 {
			t.Fatalf("seed %d: deletes %v, %+v", seed, podsOf(plan.Deletes), plan.Budget)
		}
		again := planFor(t, spec, seed, s)
		if plan.Reading, again.Reading = nil, nil; !reflect.DeepEqual(plan, again) {
			t.Errorf("seed %d: another plan the second time", seed)
		}
		seen[strings.Join(podsOf(plan.Deletes), ",")] = true
		waiting := 0
		for i := range plan.Decisions {
			if d := &plan.Decisions[i]; d.Reason == rollout.ReasonBudget && d.Limit == rollout.LimitMaxUnavailable {
				waiting++
			}
		}
		if waiting != 13 {
			t.Errorf("seed %d: %d nodes wait for the budget", seed, waiting)
		}
	}
	if len(seen) < 15 {
		t.Errorf("%d choices with 20 seeds", len(seen))
	}
}

// TestOnePhaseOfOneSync: what repairs comes first, alone, and nothing is asked for while something is in flight.
func TestOnePhaseOfOneSync(t *testing.T) {
	spec, s := outdated(6, kit.MaxUnavailable("3"))
	s.Pods = s.Pods[1:]
	plan := planFor(t, spec, 1, s)
	if len(plan.Creates) != 1 || plan.Creates[0].Node != "n00" || len(plan.Deletes) != 0 {
		t.Errorf("creates %v, deletes %v", plan.Creates, podsOf(plan.Deletes))
	}
	s.InFlight = rollout.InFlight{Creates: []rollout.InFlightCreate{{Node: "n00"}}}
	if plan = planFor(t, spec, 1, s); !plan.Empty() {
		t.Errorf("creates %v, deletes %v while a create is in flight", plan.Creates, podsOf(plan.Deletes))
	}
	s.InFlight = rollout.InFlight{Deletes: []types.UID{"x"}}
	if plan = planFor(t, spec, 1, s); !plan.Empty() {
		t.Errorf("creates %v, deletes %v while a delete is in flight", plan.Creates, podsOf(plan.Deletes))
	}
}

// TestBurst: so many creates and so many deletes in one sync, whatever a percentage would be.
func TestBurst(t *testing.T) {
	spec, s := outdated(9, kit.MaxUnavailable("100%"), kit.Burst("4"))
	if plan := planFor(t, spec, 1, s); len(plan.Deletes) != 4 {
		t.Errorf("%d deletes", len(plan.Deletes))
	}
	s.Pods = nil
	plan := planFor(t, spec, 1, s)
	burst := 0
	for i := range plan.Decisions {
		if plan.Decisions[i].Reason == rollout.ReasonBurst {
			burst++
		}
	}
	if len(plan.Creates) != 4 || burst != 5 {
		t.Errorf("%d creates, %d nodes wait for burst", len(plan.Creates), burst)
	}
	if spec, s := outdated(9, kit.MaxUnavailable("100%"), kit.Burst("50%")); len(planFor(t, spec, 1, s).Deletes) != 5 {
		t.Error("half of nine nodes are not five")
	}
	many, s := outdated(300, kit.MaxUnavailable("100%"))
	if plan := planFor(t, many, 1, s); len(plan.Deletes) != 250 {
		t.Errorf("%d deletes of 300: the controller's own burst is 250", len(plan.Deletes))
	}
}

// TestBackoffOfFailedPods: a failed pod goes at once, the next one after a second, then after two, up to a quarter of an hour;
// two of a node share that. A new generation begins anew.
func TestBackoffOfFailedPods(t *testing.T) {
	spec := kit.Spec("agent")
	s := rollout.Snapshot{Now: kit.Noon(), Nodes: kit.Nodes("a"), Revisions: nil, Pods: []*corev1.Pod{
		kit.Pod("x", kit.Of(spec), kit.OnNode("a"), kit.Failed()), kit.Pod("y", kit.Of(spec), kit.OnNode("a"), kit.Failed()),
	}}
	k := planner(t, spec, 1)
	wait := time.Second
	for range 13 {
		plan, err := k.Plan(s)
		if err != nil {
			t.Fatal(err)
		}
		if len(plan.Deletes) != 1 || !plan.NextWake.Equal(s.Now.Add(wait)) {
			t.Fatalf("at %v: deletes %v, next sync at %v, want after %v", s.Now, podsOf(plan.Deletes), plan.NextWake, wait)
		}
		s.Memory, s.Now = plan.Memory, s.Now.Add(wait-time.Nanosecond)
		if plan, err = k.Plan(s); err != nil || len(plan.Deletes) != 0 || plan.Decisions[0].Reason != rollout.ReasonBackoff {
			t.Fatalf("before %v are over: deletes %v, %v, error %v", wait, podsOf(plan.Deletes), plan.Decisions[0].Reason, err)
		}
		s.Now = s.Now.Add(time.Nanosecond)
		wait = min(2*wait, 15*time.Minute)
	}
	s.Now = s.Now.Add(-time.Second)
	spec.Generation = 2
	if plan := planFor(t, spec, 1, s); len(plan.Deletes) != 1 {
		t.Error("the back-off of the generation before holds a pod")
	}
}

// TestLostNodesUseUpTheBudget: with as many nodes lost as maxUnavailable, the controller stands still for good, while package
// rollout with maxExempt brings the version to the others. The plan says who is in the way.
func TestLostNodesUseUpTheBudget(t *testing.T) {
	old := kit.Spec("agent")
	scenario := simulate.Scenario{
		Spec:  kit.Spec("agent", kit.MaxUnavailable("3"), kit.Image("agent:v2")),
		Fleet: kit.Fleet(16, kit.Running(old)),
		Model: simulate.Model{Kubelets: []simulate.Kubelet{{Ready: simulate.Fixed(10 * time.Second)}}},
		Limit: 3 * time.Hour,
		Planner: func(spec rollout.Spec) (simulate.PlanFunc, error) {
			planner, err := stock.NewKubernetes(spec, 1)
			return planner.Plan, err
		},
		Unverified: true,
	}
	for i := range 3 {
		scenario.Events = append(scenario.Events, simulate.Event{What: simulate.NodeNotReady, Node: fmt.Sprintf("node-%05d", i)})
	}
	s, err := simulate.New(scenario)
	if err != nil {
		t.Fatal(err)
	}
	var last rollout.Plan
	report, err := s.Run(func(_ *simulate.Simulation, step *simulate.Step) bool {
		last = step.Plan
		return false
	})
	if err != nil || report.End == simulate.EndDone || last.Status.Updated != 0 {
		t.Errorf("%v, %d of 16 nodes are updated, error %v", report.End, last.Status.Updated, err)
	}
	if last.Status.State != status.Stuck || len(last.Blockers) == 0 || last.Blockers[0].Count != 3 {
		t.Errorf("%s, blockers %+v", last.Status.State, last.Blockers)
	}

	scenario.Events = nil
	if report, err = simulate.Run(scenario); err != nil || report.End != simulate.EndDone {
		t.Errorf("without lost nodes: %v, error %v", report.End, err)
	}
	scenario.Spec = kit.Spec("agent", kit.MaxSurge("3"), kit.Image("agent:v2"))
	if report, err = simulate.Run(scenario); err != nil || report.End != simulate.EndDone || report.Unavailable.Peak != 0 {
		t.Errorf("with maxSurge: %v, %d nodes down, error %v", report.End, report.Unavailable.Peak, err)
	}
}

// TestPlanIsPure: nothing is written but the plan, equal inputs give equal plans, and no input that the API server takes panics.
func TestPlanIsPure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := draw.AnyCase().Draw(t, "case")
		planner, err := stock.NewKubernetes(c.Spec, 1)
		if err != nil {
			t.Fatal(err)
		}
		purePlan(t, planner.Plan, c.Snapshot)
	})
}

// TestEarlierPlansStay: a plan that is made with what an earlier one has read changes nothing of that one.
func TestEarlierPlansStay(t *testing.T) {
	spec := kit.Spec("agent")
	s := rollout.Snapshot{Now: kit.Noon(), Revisions: []*appsv1.ControllerRevision{kit.Revision(spec, 1)}}
	for _, name := range []string{"a", "b", "c"} {
		s.Nodes = append(s.Nodes, kit.Node(name))
		s.Pods = append(s.Pods, kit.Pod("agent-"+name, kit.Of(spec), kit.OnNode(name)))
	}
	k := planner(t, spec, 1)
	base, err := rollout.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	first, err := base.Plan(s) // at rest, so that its decisions may be shared
	if err != nil {
		t.Fatal(err)
	}
	before := slices.Clone(first.Decisions)
	for range 2 {
		s = s.After(first.Carry())
		if _, err := k.Plan(s); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(before, first.Decisions) {
			t.Fatalf("decisions were %v, and are %v", before, first.Decisions)
		}
	}
}

func TestNewKubernetesRefuses(t *testing.T) {
	if _, err := stock.NewKubernetes(rollout.Spec{}, 1); len(rollout.FieldErrors(err)) == 0 {
		t.Errorf("an empty spec: %v", err)
	}
	if _, err := (*stock.Kubernetes)(nil).Plan(rollout.Snapshot{Now: kit.Noon()}); err == nil {
		t.Error("a nil planner plans")
	}
	if _, err := planner(t, kit.Spec("agent"), 1).Plan(rollout.Snapshot{}); err == nil {
		t.Error("a snapshot without a time is planned")
	}
	// What a DaemonSet does not have is not looked at.
	spec, s := outdated(4, kit.Paused(), kit.Frozen(), kit.Partition("4"), kit.InPlaceOnly(), kit.Canary("1"))
	if plan := planFor(t, spec, 1, s); len(plan.Deletes) != 1 || len(plan.Patches) != 0 {
		t.Errorf("deletes %v, patches %v", podsOf(plan.Deletes), plan.Patches)
	}
}

// purePlan makes a plan, and checks that nothing else happens, and that the decisions know each action and have a reason.
func purePlan(t *rapid.T, planned func(rollout.Snapshot) (rollout.Plan, error), snapshot rollout.Snapshot) rollout.Plan {
	t.Helper()
	if err := harness.CheckPure(planned, snapshot); err != nil {
		t.Fatal(err)
	}
	plan, err := planned(snapshot)
	if err != nil {
		t.Fatal(err)
	}
	actions := int32(0)
	for i := range plan.Decisions { // each action belongs to one
		d := &plan.Decisions[i]
		actions += d.Creates + d.Deletes
		if plan.Because(d) == "" {
			t.Fatalf("node %s: %v, and no reason", d.Node, d.Verb)
		}
	}
	if int(actions) != len(plan.Creates)+len(plan.Deletes) {
		t.Fatalf("%d actions, of which the decisions know %d", len(plan.Creates)+len(plan.Deletes), actions)
	}
	return plan
}
