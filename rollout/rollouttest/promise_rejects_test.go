package rollouttest_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// policyTouched is a scenario that does something, so that it is the promise that has to notice that it was about nothing.
func policyTouched(options ...kit.SpecOption) simulate.Scenario {
	return policyWith(promiseScenario(options...), func(s *simulate.Scenario) {
		s.Events = []simulate.Event{{At: time.Second, What: simulate.NodeNotReady, Node: "node-00002"}}
	})
}

// policyLate is a fleet on which the new version never becomes ready, so that the run ends stuck with one node down.
func policyLate(options ...kit.SpecOption) simulate.Scenario {
	return policyWith(promiseScenario(options...), func(s *simulate.Scenario) {
		s.Model.Kubelets = append(s.Model.Kubelets, simulate.Kubelet{Image: "agent:v2", NeverReady: new(true)})
	})
}

// TestPoliciesNotPutToTheTest: a run in which nothing of what is promised could have gone wrong keeps no promise, and it is said
// why the run was like that.
func TestPoliciesNotPutToTheTest(t *testing.T) {
	const began, ran = "nothing was put to the test: no node was begun, or came to have another revision, in this run", "no canary pod ever ran in this run"
	canaried := []kit.SpecOption{kit.Canary("1"), kit.CanaryFor(5*time.Minute, 0)}
	tests := []struct {
		name, why string
		scenario  simulate.Scenario
		promise   kit.Promise
		want      []string
	}{
		{"paused", "no node gets it", policyTouched(kit.Paused()), kit.NeverMoreThan(2, kit.Unavailable()), []string{began, "; the set is Paused (PausedBySpec)"}},
		{"frozen", "no node gets it", policyTouched(kit.Frozen()), kit.NeverMoreThan(2, kit.UnavailableIn("zone")), []string{began, "; the set is Frozen ("}},
		{"up to date", "a node that goes down is not begun", policyTouched(kit.Image("agent:v1")), kit.NeverMoreThan(2, kit.Unavailable()), []string{began, "; the set is Running ("}},
		{"paused, at least", "no node gets it", policyTouched(kit.Paused()), kit.NeverFewerThan(2, kit.Serving()), []string{began, "; the set is Paused (PausedBySpec)"}},
		{"paused, deleted", "nothing would be deleted anywhere", policyTouched(kit.Paused()), kit.NoPodDeletedOn("node-00000"), []string{began, "; the set is Paused (PausedBySpec)"}},
		{"canary nowhere", "no node matches", policyTouched(append(canaried, kit.CanaryOn("disk", "ssd"))...), kit.CanaryBeforeAll(), []string{ran, "; the set is Stuck (CanaryWithoutNodes), the canary is Running (NoNodes)"}},
		{"canary paused", "the spec keeps its pod from being made", policyTouched(append(canaried, kit.Paused())...), kit.CanaryBeforeAll(), []string{"; the set is Paused (PausedBySpec)"}},
		{"canary frozen", "the spec keeps its pod from being made", policyTouched(append(canaried, kit.Frozen())...), kit.CanaryBeforeAll(), []string{"; the set is Frozen ("}},
		{"canary without image", "its container never starts", policyWith(promiseScenario(canaried...), func(s *simulate.Scenario) {
			s.Model.Kubelets = append(s.Model.Kubelets, simulate.Kubelet{Image: "agent:v2", NoImage: new(true)})
		}), kit.CanaryBeforeAll(), []string{ran, ", the canary is Paused (CannotStart)"}},
	}
	for _, tt := range tests {
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

// TestPoliciesPutToTheTest: what begins a node otherwise than by a create or a delete does put a promise to the test.
func TestPoliciesPutToTheTest(t *testing.T) {
	inPlace := policyWith(policyLate(kit.InPlaceIfPossible()), func(s *simulate.Scenario) {
		s.Fleet.Running = new(kit.Spec("agent", kit.InPlaceIfPossible()))
	})
	back := policyWith(policyTouched(kit.Image("agent:v1")), func(s *simulate.Scenario) { s.Events[0].For = simulate.Fixed(time.Minute) })
	surges, leaves := policyLate(kit.MaxSurge("1")), promiseScenario(kit.Paused(), kit.TemplateNodeSelector("topology.kubernetes.io/zone", "a"))
	for name, scenario := range map[string]simulate.Scenario{"in place": inPlace, "a node comes back": back, "only creates": surges, "only deletes": leaves} {
		r := &policyTB{}
		kit.Simulate(r, scenario, kit.NeverMoreThan(1, kit.Unavailable()))
		if len(r.errors)+len(r.fatals) != 0 {
			t.Errorf("%s: reported %q and %q", name, r.errors, r.fatals)
		}
	}
}

// TestSimulateCutOff: a run that Limit ended tells nothing about what would have come.
func TestSimulateCutOff(t *testing.T) {
	r := &policyTB{}
	kit.Simulate(r, policyWith(promiseScenario(), func(s *simulate.Scenario) { s.Limit = 30 * time.Second }), kit.NeverMoreThan(1, kit.Unavailable()))
	want := "the run was cut off after 30s by Scenario.Limit, so that nobody knows what would have come; the set is Updating (WaitingForAvailability)"
	if len(r.errors) != 1 || r.errors[0] != want || len(r.fatals) != 0 {
		t.Errorf("reported %q and %q, want %q", r.errors, r.fatals, want)
	}
}

// TestSimulateUnused: what the scenario says for nothing was not put to the test, unless that is accepted.
func TestSimulateUnused(t *testing.T) {
	scenario := policyWith(promiseScenario(), func(s *simulate.Scenario) {
		s.Model.Kubelets = append(s.Model.Kubelets, simulate.Kubelet{Image: "agent:v3", NeverReady: new(true)})
		s.Events = []simulate.Event{{At: time.Second, What: simulate.NodeNotReady, Nodes: map[string]string{"zone": "d"}}}
	})
	r := &policyTB{}
	kit.Simulate(r, scenario, kit.NeverMoreThan(1, kit.Unavailable()))
	want := []string{
		"model.kubelets[1] was about no pod in this run, so what it says was not put to the test; AllowUnused accepts that",
		"events[0] happened to no node in this run, so what it does was not put to the test; AllowUnused accepts that",
	}
	if strings.Join(r.errors, "\n") != strings.Join(want, "\n") || len(r.fatals) != 0 {
		t.Errorf("reported %q and %q, want %q", r.errors, r.fatals, want)
	}
	r = &policyTB{}
	kit.Simulate(r, scenario, kit.NeverMoreThan(1, kit.Unavailable()), kit.AllowUnused())
	if len(r.errors)+len(r.fatals) != 0 {
		t.Errorf("accepted, and reported %q and %q", r.errors, r.fatals)
	}
}

// TestPoliciesSayWhy: a promise about the end says in what state the set and its canary were then.
func TestPoliciesSayWhy(t *testing.T) {
	trial := policyWith(policyCanary(), func(s *simulate.Scenario) {
		s.Model.Kubelets = append(s.Model.Kubelets, simulate.Kubelet{Image: "agent:v2", NeverReady: new(true)})
	})
	manual := promiseScenario(kit.Canary("1"), kit.CanaryManual())
	const waits = "; the set is Canary (CanaryOnTrial), the canary is Running (AwaitingValidation)"
	never := kit.Eventually("never", func(*simulate.Simulation, *simulate.Step) bool { return false })
	tests := []struct {
		name, why string
		scenario  simulate.Scenario
		promise   kit.Promise
		want      string
	}{
		{"done, paused", "nobody sees it otherwise", policyTouched(kit.Paused()), kit.DoneWithin(time.Hour), "; the set is Paused (PausedBySpec)"},
		{"done, canary", "it waits for a command", manual, kit.DoneWithin(time.Hour), waits},
		{"done late", "after a canary that passed", policyCanary(), kit.DoneWithin(time.Minute), "; the set is Running (RolloutComplete), the canary is Idle (Promoted)"},
		{"at the update revision", "it waits for a command", manual, kit.EndsAtUpdateRevision(), waits},
		{"eventually", "that is about the end too", manual, never, waits},
		{"trial", "its pod does not become ready", trial, kit.EndsAtUpdateRevision(), "the canary is "},
		{"stuck", "no canary is spoken of where there is none", policyLate(), kit.DoneWithin(time.Hour), "with 0 of 6 nodes updated; the set is Stuck (PodsNotServing); what nodes waited"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &policyTB{}
			kit.Simulate(r, tt.scenario, tt.promise)
			if len(r.errors) != 1 || len(r.fatals) != 0 || !strings.Contains(r.errors[0], tt.want) {
				t.Errorf("%s: reported %q and %q, want %q", tt.why, r.errors, r.fatals, tt.want)
			}
		})
	}
}

// TestPoliciesShowCulpritsFirst: the node that holds up the others stands before those that wait for it, though its name is last.
func TestPoliciesShowCulpritsFirst(t *testing.T) {
	r := &policyTB{}
	kit.Simulate(r, policyLate(), kit.EndsAtUpdateRevision())
	if len(r.errors) != 1 {
		t.Fatalf("reported %q and %q", r.errors, r.fatals)
	}
	culprit, first := strings.Index(r.errors[0], "\n  node-00005 is starting\n"), strings.Index(r.errors[0], "\n  node-00000 is old\n")
	if culprit < 0 || first < culprit || !strings.Contains(r.errors[0], "\n  node-00003 is old\n") ||
		strings.Contains(r.errors[0], "node-00004 is") || !strings.Contains(r.errors[0], "\n  and 1 more nodes") {
		t.Errorf("want node-00005, then the first four that wait:\n%s", r.errors[0])
	}

	r = &policyTB{}
	kit.Simulate(r, policyLate(kit.MaxSurge("1")), kit.EndsAtUpdateRevision())
	culprit, first = strings.Index(r.errors[0], "\n  node-00005 is surging\n"), strings.Index(r.errors[0], "\n  node-00000 is old\n")
	if culprit < 0 || first < culprit {
		t.Errorf("want node-00005 first, which serves and holds the place:\n%s", r.errors[0])
	}
}

// TestPoliciesThatMakeNoSense: the test fails at once, with the argument, and nothing panics.
func TestPoliciesThatMakeNoSense(t *testing.T) {
	tests := []struct {
		name, why string
		promise   kit.Promise
		want      string
	}{
		{"eventually nil", "there is no condition", kit.Eventually("x", nil), "Eventually: condition is nil"},
		{"every step nil", "there is no check", kit.EveryStep("x", nil), "EveryStep: check is nil"},
		{"keep nil", "nothing would be kept", kit.KeepCases(nil), "KeepCases: write is nil"},
		{"no count", "nothing is counted", kit.NeverMoreThan(1, kit.Count{}), "NeverMoreThan: what is the zero Count"},
		{"no count in zones", "nothing is counted", kit.NeverFewerThan(1, kit.Count{}.In("zone")), "NeverFewerThan: what is the zero Count"},
		{"no states", "nothing is counted", kit.NeverMoreThan(1, kit.CountStates("odd")), "NeverMoreThan: CountStates has no states"},
		{"undeclared state", "no node is ever in it", kit.NeverMoreThan(1, kit.CountStates("odd", simulate.NodeOld, 99).In("zone")), "NeverMoreThan: CountStates has state 99, which is not declared"},
		{"zero state", "no node is ever in it", kit.NeverMoreThan(1, kit.CountStates("odd", 0)), "NeverMoreThan: CountStates has state 0, which is not declared"},
		{"only outside", "such nodes are never counted", kit.NeverMoreThan(1, kit.CountStates("odd", simulate.NodeOutside)), "NeverMoreThan: CountStates has no states but NodeOutside, which is never counted"},
		{"no label", "it would be no group", kit.NeverMoreThan(1, kit.UnavailableIn("")), "NeverMoreThan: the label is empty"},
		{"at least none", "that always holds", kit.NeverFewerThan(0, kit.Serving()), "NeverFewerThan: n is 0, and fewer than that cannot be"},
		{"at least less", "that always holds", kit.NeverFewerThan(-1, kit.Serving()), "NeverFewerThan: n is -1"},
		{"at most less than none", "that never holds", kit.NeverMoreThan(-1, kit.Serving()), "NeverMoreThan: n is -1, and it cannot be negative"},
		{"done at once", "nothing takes no time", kit.DoneWithin(0), "DoneWithin: limit is 0s"},
		{"done before", "nothing takes less", kit.DoneWithin(-time.Second), "DoneWithin: limit is -1s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &policyTB{}
			report := kit.Simulate(r, promiseScenario(), kit.EndsAtUpdateRevision(), tt.promise)
			if len(r.fatals) != 1 || !strings.HasPrefix(r.fatals[0], tt.want) || len(r.errors) != 0 || report.Plans != 0 {
				t.Errorf("%s: reported %q and %q, want %q; %d plans", tt.why, r.errors, r.fatals, tt.want, report.Plans)
			}
		})
	}
	if r := (&policyTB{}); kit.Simulate(r, promiseScenario(), kit.NeverMoreThan(6, kit.Unavailable())).Plans == 0 || len(r.errors) != 0 {
		t.Errorf("a promise that makes sense reported %q", r.errors)
	}
}

// TestPoliciesCountNodesWithoutTheLabel: they are a group of their own.
func TestPoliciesCountNodesWithoutTheLabel(t *testing.T) {
	scenario := policyWith(promiseScenario(kit.MaxUnavailable("2")), func(s *simulate.Scenario) {
		s.Fleet = kit.Fleet(1, kit.InPool("a"), kit.Labelled("cell", "x"), kit.And(3, "b"), kit.Running(kit.Spec("agent")))
	})
	r := &policyTB{}
	kit.Simulate(r, scenario, kit.NeverMoreThan(1, kit.UnavailableIn("cell")))
	if len(r.errors) != 1 || !strings.Contains(r.errors[0], `: 2 unavailable nodes, of 3 in cell ""`) {
		t.Errorf("reported %q and %q", r.errors, r.fatals)
	}
	r = &policyTB{}
	kit.Simulate(r, scenario, kit.NeverFewerThan(3, kit.Serving().In("cell")))
	if len(r.errors) != 1 || !strings.Contains(r.errors[0], `: 1 serving node, of 3 in cell ""`) {
		t.Errorf("reported %q and %q", r.errors, r.fatals)
	}
}

// A node that moves to another zone is not updated by that.
func TestPolicyMovesAreNoUpdates(t *testing.T) {
	spec := kit.Spec("agent")
	scenario := simulate.Scenario{
		Spec: spec, Fleet: kit.Fleet(3, kit.InZones("a", "b"), kit.Running(spec)),
		Events: []simulate.Event{{At: time.Minute, What: simulate.LabelNode, Labels: map[string]string{corev1.LabelTopologyZone: "c"}}},
	}
	r := &policyTB{}
	kit.Simulate(r, scenario, kit.DoneWithin(time.Hour))
	if len(r.errors) != 1 || !strings.Contains(r.errors[0], "done within") {
		t.Errorf("reported %q and %q, want one broken promise", r.errors, r.fatals)
	}
}
