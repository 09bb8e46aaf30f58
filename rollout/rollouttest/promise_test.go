package rollouttest_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// policyTB is a test that takes down how it fails, and goes on.
type policyTB struct{ errors, fatals []string }

func (*policyTB) Helper() {}
func (r *policyTB) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}
func (r *policyTB) Fatalf(format string, args ...any) {
	r.fatals = append(r.fatals, fmt.Sprintf(format, args...))
}

// promiseScenario is the rollout of a new image to six nodes in three zones: pods stop in 2 s and become ready in 10 s.
func promiseScenario(options ...kit.SpecOption) simulate.Scenario {
	return simulate.Scenario{
		Seed:  7,
		Spec:  kit.Spec("agent", append([]kit.SpecOption{kit.Image("agent:v2")}, options...)...),
		Fleet: kit.Fleet(6, kit.InZones("a", "b", "c"), kit.Running(kit.Spec("agent"))),
		Model: simulate.Model{Kubelets: []simulate.Kubelet{{
			Ready: simulate.Fixed(10 * time.Second), Stop: simulate.Fixed(2 * time.Second),
		}}},
	}
}

// with changes a scenario.
func policyWith(s simulate.Scenario, change func(*simulate.Scenario)) simulate.Scenario {
	change(&s)
	return s
}

// policyCanary is the same with a canary of one node for five minutes.
func policyCanary() simulate.Scenario {
	return promiseScenario(kit.Canary("1"), kit.CanaryFor(5*time.Minute, 0), kit.MaxUnavailable("2"))
}

// policyRestless is the scenario without any rollout, but with a pod that is deleted by hand.
func policyRestless() simulate.Scenario {
	return policyWith(promiseScenario(kit.Image("agent:v1")), func(s *simulate.Scenario) {
		s.Events = []simulate.Event{{At: time.Minute, What: simulate.DeletePod, Node: "node-00002"}}
	})
}

// TestPoliciesHold: each promise holds where it should, at the very limit.
func TestPoliciesHold(t *testing.T) {
	tests := []struct {
		name, why string
		scenario  simulate.Scenario
		promise   kit.Promise
	}{
		{"unavailable", "as many as the budget lets be", promiseScenario(kit.MaxUnavailable("3")), kit.NeverMoreThan(3, kit.Unavailable())},
		{"unavailable in a zone", "the last three nodes are in three zones", promiseScenario(kit.MaxUnavailable("3")), kit.NeverMoreThan(1, kit.UnavailableIn("zone"))},
		{"none unavailable", "a surge leaves nobody without", promiseScenario(kit.MaxSurge("2")), kit.NeverMoreThan(0, kit.Unavailable())},
		{"serving", "what is not unavailable serves", promiseScenario(kit.MaxUnavailable("3")), kit.NeverFewerThan(3, kit.Serving())},
		{"serving in a zone", "one of two", promiseScenario(kit.MaxUnavailable("3")), kit.NeverFewerThan(1, kit.Serving().In("zone"))},
		{"broken", "no pod is", promiseScenario(), kit.NeverMoreThan(0, kit.Broken())},
		{"own count", "only those that start", promiseScenario(kit.MaxUnavailable("3")), kit.NeverMoreThan(3, kit.CountStates("starting", simulate.NodeStarting))},
		{"label of one's own", "the key of a label is taken as it is", policyWith(promiseScenario(kit.MaxUnavailable("3")), func(s *simulate.Scenario) {
			s.Fleet = kit.Fleet(1, kit.Labelled("cell", "y"), kit.Running(kit.Spec("agent")), kit.And(1, "odd"), kit.Labelled("cell", "x"))
		}), kit.NeverMoreThan(1, kit.UnavailableIn("cell"))},
		{"done", "two waves of twelve seconds", promiseScenario(kit.MaxUnavailable("3")), kit.DoneWithin(24 * time.Second)},
		{"restored", "who is made to have it again comes to have it", policyRestless(), kit.DoneWithin(time.Minute + 12*time.Second)},
		{"at the update revision", "all are", promiseScenario(), kit.EndsAtUpdateRevision()},
		{"recreated once", "each node gets one pod", promiseScenario(), kit.NoPodRecreatedTwice()},
		{"nothing deleted", "the partition holds the first nodes by name", promiseScenario(kit.Partition("2")), kit.NoPodDeletedOn("node-00000", "node-00001")},
		{"canary", "all wait for its five minutes", policyCanary(), kit.CanaryBeforeAll()},
		{"failed canary", "then nobody gets it", policyWith(policyCanary(), func(s *simulate.Scenario) {
			s.Spec.Strategy.Canary.AutoPause.Disabled = true
			s.Model.Kubelets = append(s.Model.Kubelets, simulate.Kubelet{Image: "agent:v2", Crash: simulate.Fixed(time.Second)})
		}), kit.CanaryBeforeAll()},
		{"every step", "no plan pulls ahead", promiseScenario(), kit.EveryStep("no image is pulled ahead", policyNoPulls)},
		{"eventually", "two nodes are done at some time", promiseScenario(), kit.Eventually("two are updated", policyTwoUpdated)},
		{"nothing", "a promise of nothing holds", promiseScenario(), kit.Promise{Says: "nothing"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &policyTB{}
			kit.Simulate(r, tt.scenario, tt.promise)
			if len(r.errors)+len(r.fatals) > 0 {
				t.Errorf("%s: it failed: %s\n%s", tt.why, strings.Join(r.errors, "\n"), strings.Join(r.fatals, "\n"))
			}
		})
	}
}

func policyNoPulls(_ *simulate.Simulation, step *simulate.Step) error {
	if n := len(step.Plan.Pulls); n > 0 {
		return &kit.BreachError{What: fmt.Sprintf("%d pulls", n), Nodes: []string{step.Plan.Pulls[0].Node}}
	}
	return nil
}

func policyTwoUpdated(s *simulate.Simulation, _ *simulate.Step) bool {
	return s.Count(simulate.NodeNew) == 2
}

// TestPoliciesBreak: each promise breaks where it should, one beyond the limit, and says what, when, where, why and how to see
// it again.
func TestPoliciesBreak(t *testing.T) {
	tests := []struct {
		name, why string
		scenario  simulate.Scenario
		promise   kit.Promise
		want      []string
	}{
		{"unavailable", "one too many", promiseScenario(kit.MaxUnavailable("3")), kit.NeverMoreThan(2, kit.Unavailable()), []string{
			"promised: never more than 2 unavailable nodes\n  broken at step 2, 0s after the beginning (2026-01-01T12:00:00Z): 3 unavailable nodes, of 6\n",
			"\n  node-00003 is terminating\n    plan of step 1 (0s): outdated; replace pod agent-node-00003: the pod is outdated, and the budget allows it",
			"\n    plan of step 2 (0s): terminating; waits: the node's pods are terminating",
			"\n  node-00004 is terminating\n", "\n  node-00005 is terminating\n",
			"\n  to see it again (seed 7): simulate.New(scenario), then Step 2 times; KeepCases keeps what the controller saw",
		}},
		{"unavailable in a zone", "the fourth node has a neighbour", promiseScenario(kit.MaxUnavailable("4")), kit.NeverMoreThan(1, kit.UnavailableIn("zone")), []string{
			"promised: never more than 1 unavailable node in any one zone\n", ": 2 unavailable nodes, of 2 in zone c\n", "\n  node-00002 is terminating\n", "\n  node-00005 is",
		}},
		{"by pool", "well-known labels have names", promiseScenario(), kit.NeverMoreThan(0, kit.UnavailableIn("pool")), []string{": 1 unavailable node, of 6 in pool node\n"}},
		{"by rack", "well-known labels have names", policyWith(promiseScenario(), func(s *simulate.Scenario) {
			s.Fleet = kit.Fleet(4, kit.InPool("web"), kit.InRacks(2), kit.Running(kit.Spec("agent")))
		}), kit.NeverMoreThan(0, kit.UnavailableIn("rack")), []string{": 1 unavailable node, of 2 in rack r2\n", "web-00003 is"}},
		{"serving", "those are shown that do not", promiseScenario(kit.MaxUnavailable("3")), kit.NeverFewerThan(4, kit.Serving()), []string{
			"promised: never fewer than 4 serving nodes\n", ": 3 serving nodes, of 6\n  node-00003 is terminating\n",
		}},
		{"updated from the beginning", "none is", promiseScenario(), kit.NeverFewerThan(1, kit.Updated()), []string{": 0 updated nodes, of 6\n  node-00005 is terminating\n", "\n  node-00000 is old\n", "and 1 more nodes"}},
		{"broken", "the new version crashes", policyWith(promiseScenario(), func(s *simulate.Scenario) {
			s.Limit = time.Hour
			s.Model.Kubelets = append(s.Model.Kubelets, simulate.Kubelet{Image: "agent:v2", Crash: simulate.Fixed(time.Second)})
		}), kit.NeverMoreThan(0, kit.Broken()), []string{": 1 broken node, of 6\n  node-00005 is broken\n"}},
		{"done too late", "what took so long is said", promiseScenario(kit.MaxUnavailable("3")), kit.DoneWithin(24*time.Second - 1), []string{
			"promised: done within 23.999999999s\n", ": done after 24s; the set is Running (RolloutComplete); what nodes waited for longest: NotReady",
		}},
		{"not done", "it is stuck, and who is not there is shown", policyWith(promiseScenario(), func(s *simulate.Scenario) {
			s.Model.Kubelets = append(s.Model.Kubelets, simulate.Kubelet{Image: "agent:v2", NeverReady: new(true)})
		}), kit.DoneWithin(time.Hour), []string{": the run ended stuck after ", "with 0 of 6 nodes updated; the set is ", "\n  node-00000 is old\n", "\n  and 1 more nodes"}},
		{"held", "nodes of the partition do not get there", promiseScenario(kit.Partition("2")), kit.EndsAtUpdateRevision(), []string{": the run ended done after ", "with 4 of 6 nodes updated", "\n  node-00001 is old\n"}},
		{"recreated", "a pod that was made is deleted by hand", policyWith(promiseScenario(kit.MaxUnavailable("6")), func(s *simulate.Scenario) {
			s.Events = []simulate.Event{{At: time.Minute, What: simulate.DeletePod, Node: "node-00002"}}
		}), kit.NoPodRecreatedTwice(), []string{": node-00002 gets pod agent-", "(Missing) after pod agent-"}},
		{"deleted", "it is outdated", promiseScenario(), kit.NoPodDeletedOn("node-00005"), []string{
			"promised: no pod is deleted on node-00005\n", ": pod agent-node-00005 on node-00005 is deleted (Outdated)\n  node-00005 is terminating\n",
		}},
		{"canary turned off", "the revision is not promoted by that", policyWith(policyCanary(), func(s *simulate.Scenario) {
			without := promiseScenario(kit.MaxUnavailable("2")).Spec
			s.Events = []simulate.Event{{At: time.Minute, What: simulate.SetSpec, Spec: &without}}
		}), kit.CanaryBeforeAll(), []string{"gets revision ", ", whose trial on node-00000 has not ended\n  node-00004 is empty\n    plan of step 8 (1m2s): missing; create a pod"}},
		{"every step", "the plan does what it must not", promiseScenario(kit.InPlaceIfPossible(), kit.PreDownload("2")), kit.EveryStep("no image is pulled ahead", policyNoPulls), []string{
			"promised: no image is pulled ahead\n", ": 2 pulls\n",
		}},
		{"eventually", "it is not so at any step", promiseScenario(kit.MaxUnavailable("6")), kit.Eventually("two are updated", policyTwoUpdated), []string{
			"promised: two are updated\n", ": that was so at none of the 5 steps; the set is Running (RolloutComplete)\n",
		}},
		{"own error", "any error breaks a promise", promiseScenario(), kit.EveryStep("peace", func(*simulate.Simulation, *simulate.Step) error {
			return errors.New("war")
		}), []string{"promised: peace\n  broken at step 1, 0s after the beginning (2026-01-01T12:00:00Z): war\n  to see it again (seed 7): simulate.New(scenario), then Step once"}},
	}
	seen := map[string]bool{}
	for _, tt := range tests {
		if tt.name == "" || tt.why == "" || seen[tt.name] {
			t.Fatalf("row %q: needs a name of its own and a reason", tt.name)
		}
		seen[tt.name] = true
		t.Run(tt.name, func(t *testing.T) {
			r := &policyTB{}
			kit.Simulate(r, tt.scenario, tt.promise)
			if len(r.errors) != 1 || len(r.fatals) != 0 {
				t.Fatalf("%s: reported %q and %q, want one broken promise", tt.why, r.errors, r.fatals)
			}
			for _, want := range tt.want {
				if !strings.Contains(r.errors[0], want) {
					t.Errorf("%s: the failure lacks %q:\n%s", tt.why, want, r.errors[0])
				}
			}
		})
	}
}

// TestPoliciesThatSawNothing: an assertion that never saw what it is about fails, and says so.
func TestPoliciesThatSawNothing(t *testing.T) {
	nowhere := policyWith(policyRestless(), func(s *simulate.Scenario) { kit.TemplateNodeSelector("disk", "ssd")(&s.Spec) })
	tests := []struct {
		name, why string
		scenario  simulate.Scenario
		promise   kit.Promise
		want      string
	}{
		{"no such label", "nothing would ever be counted", promiseScenario(), kit.NeverMoreThan(2, kit.UnavailableIn("cell")), "no node that is to run the pod has the label cell, so that none was ever counted"},
		{"no such label, at least", "nothing would ever be too few", promiseScenario(), kit.NeverFewerThan(2, kit.Serving().In("region")), "has the label topology.kubernetes.io/region"},
		{"no node runs it", "nothing would ever be unavailable", nowhere, kit.NeverMoreThan(2, kit.Unavailable()), "no node is to run the pod"},
		{"no node at all", "there is nothing to do", nowhere, kit.DoneWithin(time.Hour), "there was nothing to roll out"},
		{"one plan", "the set is as it is to be", promiseScenario(kit.Image("agent:v1")), kit.DoneWithin(time.Hour), "in this run; the set is Running ("},
		{"no node to end anywhere", "there is nothing to do", nowhere, kit.EndsAtUpdateRevision(), "there was nothing to roll out"},
		{"no pod created", "in place nothing is recreated", policyWith(promiseScenario(kit.InPlaceIfPossible()), func(s *simulate.Scenario) {
			s.Fleet.Running = new(kit.Spec("agent", kit.InPlaceIfPossible()))
		}), kit.NoPodRecreatedTwice(), "no pod was created in this run"},
		{"no pod created, nowhere", "nobody runs it", nowhere, kit.NoPodRecreatedTwice(), "no pod was created in this run"},
		{"no canary", "there is none in the spec", promiseScenario(), kit.CanaryBeforeAll(), "no revision was on trial in this run"},
		{"first installation", "it has no canary", policyWith(policyCanary(), func(s *simulate.Scenario) { s.Fleet.Running = nil }), kit.CanaryBeforeAll(), "no revision was on trial in this run"},
		{"canary of all", "none could wait", promiseScenario(kit.Canary("100%"), kit.CanaryFor(time.Minute, 0)), kit.CanaryBeforeAll(), "the canary had every node"},
		{"unknown node", "a typo must not hold", promiseScenario(), kit.NoPodDeletedOn("node-1"), "there was never a pod to delete on node-1"},
		{"no nodes", "nothing is promised", promiseScenario(), kit.NoPodDeletedOn(), "no nodes are named"},
		{"never", "it does not come to be", promiseScenario(), kit.Eventually("the canary fails", func(_ *simulate.Simulation, step *simulate.Step) bool {
			return step.Plan.Canary.Phase == canary.Failed
		}), "that was so at none of"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &policyTB{}
			kit.Simulate(r, tt.scenario, tt.promise)
			if len(r.errors) == 0 || len(r.fatals) != 0 || !strings.Contains(r.errors[0], tt.want) {
				t.Errorf("%s: reported %q, want %q", tt.why, r.errors, tt.want)
			}
		})
	}
}

// TestSimulateReportsAll: every broken promise is reported once, those that hold are not, and the run goes on to its end.
func TestSimulateReportsAll(t *testing.T) {
	r := &policyTB{}
	report := kit.Simulate(r, promiseScenario(kit.MaxUnavailable("3")), kit.NeverMoreThan(1, kit.Unavailable()), kit.EndsAtUpdateRevision(),
		kit.NeverMoreThan(2, kit.Unavailable()), kit.DoneWithin(time.Second))
	if len(r.errors) != 3 || len(r.fatals) != 0 {
		t.Fatalf("reported %q and %q, want three broken promises", r.errors, r.fatals)
	}
	if report.End != simulate.EndDone || report.Updated != 6 {
		t.Errorf("the run did not go to its end: %v", report)
	}
}

// TestSimulateOfNothing: without anything happening no promise is put to the test.
func TestSimulateOfNothing(t *testing.T) {
	r := &policyTB{}
	kit.Simulate(r, promiseScenario(kit.Image("agent:v1")), kit.EveryStep("no image is pulled ahead", policyNoPulls))
	if len(r.errors) != 1 || !strings.HasPrefix(r.errors[0], "nothing happened in the run") {
		t.Errorf("reported %q", r.errors)
	}
}

// TestSimulateOfPodsThatStart: that a pod becomes ready by itself is something.
func TestSimulateOfPodsThatStart(t *testing.T) {
	scenario := promiseScenario(kit.Image("agent:v1"))
	snapshot, err := scenario.Fleet.Build()
	if err != nil {
		t.Fatal(err)
	}
	started := snapshot.Pods[0].DeepCopy()
	objects.Containers()(started)
	kit.Unready()(started)
	for i := range started.Status.ContainerStatuses {
		started.Status.ContainerStatuses[i].Ready = false
	}
	snapshot.Pods[0] = started
	scenario.Fleet = simulate.Fleet{Snapshot: &snapshot}
	r := &policyTB{}
	report := kit.Simulate(r, scenario, kit.NeverMoreThan(1, kit.Unavailable()))
	if len(r.errors)+len(r.fatals) > 0 || report.Created+report.Deleted > 0 {
		t.Errorf("reported %q and %q, with %d pods created and %d deleted", r.errors, r.fatals, report.Created, report.Deleted)
	}
}

func TestSimulateRefusesScenarios(t *testing.T) {
	r := &policyTB{}
	kit.Simulate(r, simulate.Scenario{}, kit.EndsAtUpdateRevision())
	if len(r.fatals) != 1 || !strings.HasPrefix(r.fatals[0], "the scenario cannot be simulated: ") || len(r.errors) != 0 {
		t.Errorf("reported %q and %q", r.errors, r.fatals)
	}
}

// TestSimulateStopsAtViolations: a planner that breaks an invariant fails every test, whatever is promised, and its case is
// kept.
func TestSimulateStopsAtViolations(t *testing.T) {
	scenario := promiseScenario()
	scenario.Planner = func(spec rollout.Spec) (simulate.PlanFunc, error) {
		spec.Strategy.MaxUnavailable = kit.Spec("agent", kit.MaxUnavailable("2")).Strategy.MaxUnavailable
		planner, err := rollout.New(spec)
		if err != nil {
			return nil, err
		}
		return planner.Plan, nil
	}
	r, kept := &policyTB{}, map[string][]byte{}
	kit.Simulate(r, scenario, kit.KeepCases(func(name string, data []byte) error {
		kept[name] = data
		return nil
	}), kit.NeverMoreThan(0, kit.Broken()))
	if len(r.fatals) != 1 || !strings.Contains(r.fatals[0], "V1") || !strings.Contains(r.fatals[0], "invariant-step-1.json") {
		t.Errorf("reported %q and %q", r.errors, r.fatals)
	}
	if _, err := simulate.ReadCase(kept["invariant-step-1.json"]); err != nil {
		t.Errorf("the case that was kept cannot be read: %v", err)
	}
}

// TestKeepCases: the case is of the step that is named, and plans as it did then.
func TestKeepCases(t *testing.T) {
	r, kept := &policyTB{}, map[string][]byte{}
	kit.Simulate(r, promiseScenario(kit.MaxUnavailable("3")), kit.NeverMoreThan(2, kit.UnavailableIn("pool")), kit.KeepCases(func(name string, data []byte) error {
		kept[name] = data
		return nil
	}))
	const name = "never-more-than-2-unavailable-nodes-in-any-step-2.json"
	if len(r.errors) != 1 || !strings.HasSuffix(r.errors[0], "\n  what the controller saw is kept as "+name+", for: kubectl daemonplan plan --case "+name) {
		t.Fatalf("reported %q", r.errors)
	}
	c, err := simulate.ReadCase(kept[name])
	if err != nil {
		t.Fatal(err)
	}
	planner, err := rollout.New(c.Spec)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := planner.Plan(c.Snapshot)
	if want := "node-00003: terminating"; err != nil || !strings.HasPrefix(plan.Explain("node-00003"), want) {
		t.Errorf("the case explains %q (error %v), want %q", plan.Explain("node-00003"), err, want)
	}

	r = &policyTB{}
	kit.Simulate(r, promiseScenario(), kit.NeverMoreThan(0, kit.Unavailable()), kit.KeepCases(func(string, []byte) error { return errors.New("full") }))
	if len(r.errors) != 1 || !strings.HasSuffix(r.errors[0], "\n  its case could not be kept: full") {
		t.Errorf("reported %q", r.errors)
	}
}

// TestPoliciesCanBeUsedAgain: what a promise has seen of one run it does not take for the next.
func TestPoliciesCanBeUsedAgain(t *testing.T) {
	promises := []kit.Promise{kit.NeverMoreThan(1, kit.UnavailableIn("zone")), kit.NoPodRecreatedTwice(), kit.DoneWithin(time.Hour), kit.EndsAtUpdateRevision(),
		kit.NoPodDeletedOn("node-00000"), kit.Eventually("two are updated", policyTwoUpdated)}
	var first []string
	for range 3 {
		r := &policyTB{}
		kit.Simulate(r, promiseScenario(kit.MaxUnavailable("2")), promises...)
		if first == nil {
			first = r.errors
		}
		if len(r.errors) != 1 || !slices.Equal(first, r.errors) {
			t.Errorf("reported %q, at first %q", r.errors, first)
		}
	}
}

// TestSimulateKeepsTheHistory: who listens to the history of the scenario still does.
func TestSimulateKeepsTheHistory(t *testing.T) {
	scenario, records := promiseScenario(), 0
	scenario.History = func(simulate.Record) { records++ }
	if kit.Simulate(t, scenario); records == 0 {
		t.Error("the history of the scenario was lost")
	}
}

// TestLabelsThatChange: a node counts where it is, also one that joins, moves or leaves.
func TestLabelsThatChange(t *testing.T) {
	moved := policyWith(promiseScenario(kit.MaxUnavailable("2")), func(s *simulate.Scenario) {
		s.Events = []simulate.Event{{What: simulate.LabelNode, Node: "node-00004", Labels: map[string]string{"topology.kubernetes.io/zone": "c"}}}
	})
	r := &policyTB{}
	kit.Simulate(r, moved, kit.NeverMoreThan(1, kit.UnavailableIn("zone")))
	if len(r.errors) != 1 || !strings.Contains(r.errors[0], "2 unavailable nodes, of 3 in zone c") {
		t.Errorf("a node that moved is counted where it was: %q %q", r.errors, r.fatals)
	}

	emptied := policyWith(promiseScenario(kit.MaxSurge("1")), func(s *simulate.Scenario) {
		s.Events = []simulate.Event{
			{At: time.Second, What: simulate.RemoveNode, Node: "node-00002"}, {At: time.Second, What: simulate.RemoveNode, Node: "node-00005"},
		}
	})
	r = &policyTB{}
	kit.Simulate(r, emptied, kit.NeverFewerThan(1, kit.Serving().In("zone")))
	if len(r.errors)+len(r.fatals) != 0 {
		t.Errorf("a zone without nodes is not to have any that serve: %q %q", r.errors, r.fatals)
	}

	joined := policyWith(promiseScenario(), func(s *simulate.Scenario) {
		s.Events = []simulate.Event{{At: time.Minute, What: simulate.AddNodes, Join: simulate.Pool{Name: "new", Nodes: 2, Zones: []string{"z"}}}}
	})
	r = &policyTB{}
	kit.Simulate(r, joined, kit.NeverMoreThan(1, kit.UnavailableIn("zone")))
	if len(r.errors) != 1 || !strings.Contains(r.errors[0], "2 unavailable nodes, of 2 in zone z") {
		t.Errorf("two nodes that join are not counted in their zone: %q", r.errors)
	}

	left := policyWith(promiseScenario(), func(s *simulate.Scenario) {
		s.Events = []simulate.Event{{At: time.Second, What: simulate.RemoveNode, Node: "node-00005"}}
	})
	r = &policyTB{}
	kit.Simulate(r, left, kit.NeverFewerThan(6, kit.CountStates("existing", simulate.NodeOld, simulate.NodeTerminating, simulate.NodeEmpty)))
	if len(r.errors) != 1 || !strings.Contains(r.errors[0], "5 existing nodes, of 5") {
		t.Errorf("a node that is gone is counted: %q", r.errors)
	}
}
