package simulate_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// The tests of this file are about the engine as a whole.

var (
	simOld = rollouttest.Spec("agent", rollouttest.Image("agent:v1"))
	simNew = rollouttest.Spec("agent", rollouttest.Image("agent:v2"), rollouttest.MaxUnavailable("2"))
)

// simPool is a fleet of equal nodes in two zones that runs the old version.
func simPool(nodes int) simulate.Fleet {
	return simulate.Fleet{Pools: []simulate.Pool{{Name: "web", Nodes: nodes, Zones: []string{"a", "b"}}}, Running: &simOld}
}

// simTimes are kubelets that take 10 s to stop a pod, 2 s to start one, and 3 s until it is ready.
func simTimes() simulate.Model {
	return simulate.Model{
		Schedule: simulate.Fixed(time.Second),
		Kubelets: []simulate.Kubelet{{
			Start: simulate.Fixed(2 * time.Second), Ready: simulate.Fixed(3 * time.Second), Stop: simulate.Fixed(10 * time.Second),
		}},
	}
}

// simEverything is a scenario that uses everything that can be modelled.
func simEverything(seed uint64) simulate.Scenario {
	spec := rollouttest.Spec("agent", rollouttest.Image("agent:v2"), rollouttest.MaxUnavailable("20%"), rollouttest.MinReadySeconds(5),
		rollouttest.Canary("2"), rollouttest.CanaryFor(time.Minute, 0), rollouttest.SlowStart(30*time.Second, "2", "8"),
		rollouttest.PreDeleteHook(rollouttest.HookLabel("drain", "yes")), rollouttest.PodTemplateLabel("drain", "yes"))
	old := rollouttest.Spec("agent", rollouttest.Image("agent:v1"), rollouttest.PodTemplateLabel("drain", "yes"))
	next := rollouttest.Changed(spec, rollouttest.Image("agent:v3"))
	next.Strategy.Canary = nil
	return simulate.Scenario{
		Seed: seed, Spec: spec, Limit: 12 * time.Hour,
		Fleet: simulate.Fleet{Running: &old, Pools: []simulate.Pool{
			{Name: "web", Nodes: 20, Zones: []string{"a", "b", "c"}, Racks: 2},
			{Name: "arm", Nodes: 5, Labels: map[string]string{corev1.LabelArchStable: "arm64"}, Bandwidth: 20e6},
		}},
		Model: simulate.Model{
			Schedule: simulate.Exponential(time.Second),
			Hooks:    simulate.Uniform(time.Second, 20*time.Second),
			Kubelets: []simulate.Kubelet{
				{
					Create: simulate.Fixed(500 * time.Millisecond), Start: simulate.LogNormal(2*time.Second, 5*time.Second),
					Ready: simulate.Uniform(time.Second, 9*time.Second), Stop: simulate.Exponential(5 * time.Second),
				},
				{Pool: "arm", Image: "agent:v2", Share: 0.5, Crash: simulate.Fixed(time.Second), Crashes: 2},
			},
			Registry: simulate.Registry{
				Size: 200e6, Bandwidth: 300e6, NodeBandwidth: 50e6, Requests: 5, PeerToPeer: true, FailedPulls: 0.05,
				Latency: simulate.Fixed(100 * time.Millisecond),
			},
		},
		Controller: simulate.Controller{
			Interval: time.Second, CallsPerSecond: 10, Lag: simulate.Uniform(0, 2*time.Second), FailedCalls: 0.05, LostAnswers: 0.05,
			Crash: simulate.Exponential(5 * time.Minute), Restart: simulate.Fixed(10 * time.Second), LosesMemory: true,
		},
		Events: []simulate.Event{
			{At: time.Minute, Every: simulate.Exponential(2 * time.Minute), Until: 20 * time.Minute, What: simulate.NodeNotReady, For: simulate.Uniform(10*time.Second, time.Minute)},
			{At: 2 * time.Minute, What: simulate.AddNodes, Join: simulate.Pool{Name: "late", Nodes: 3, Zones: []string{"d"}}},
			{At: 3 * time.Minute, What: simulate.RemoveNode, Pool: "web"},
			{At: 4 * time.Minute, What: simulate.CordonNode, Count: 2},
			{At: 5 * time.Minute, What: simulate.DrainNode, For: simulate.Fixed(time.Minute)},
			{At: 6 * time.Minute, What: simulate.EvictPod, Share: 0.1},
			{At: 6 * time.Minute, What: simulate.DeletePod, Pool: "arm"},
			{At: 7 * time.Minute, What: simulate.CrashPod, Count: 3},
			{At: 30 * time.Minute, What: simulate.SetSpec, Spec: &next},
		},
	}
}

// simHistory runs the scenario and returns its history, line by line, and its report.
func simHistory(t *testing.T, scenario simulate.Scenario) (string, simulate.Report) {
	t.Helper()
	var text bytes.Buffer
	w := simulate.NewJSONLinesWriter(&text)
	scenario.History = w.Record
	report, err := simulate.Run(scenario)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return text.String(), report
}

func TestEqualScenariosRunEqually(t *testing.T) {
	history, report := simHistory(t, simEverything(7))
	if report.End != simulate.EndDone || report.Updated != 27 {
		t.Fatalf("the run must get to its end to tell anything:\n%s", report)
	}
	for range 2 {
		again, second := simHistory(t, simEverything(7))
		if again != history {
			t.Fatal(cmp.Diff(strings.Split(history, "\n"), strings.Split(again, "\n")))
		}
		if diff := cmp.Diff(report, second); diff != "" {
			t.Fatal(diff)
		}
	}
	if other, _ := simHistory(t, simEverything(8)); other == history {
		t.Error("another seed makes no difference")
	}
}

func TestStepsAreTheRun(t *testing.T) {
	_, report := simHistory(t, simEverything(3))
	s, err := simulate.New(simEverything(3))
	if err != nil {
		t.Fatal(err)
	}
	steps := 0
	for {
		step, err := s.Step()
		if err != nil {
			t.Fatal(err)
		}
		if step == nil {
			break
		}
		if steps++; step.Number != steps || step.At != s.Elapsed() || !step.Snapshot.Now.Equal(s.Now()) {
			t.Fatalf("step %d is number %d, at %v of %v", steps, step.Number, step.At, s.Elapsed())
		}
	}
	if diff := cmp.Diff(report, s.Report()); diff != "" {
		t.Error(diff)
	}
	if steps != report.Plans {
		t.Errorf("%d steps, and %d plans", steps, report.Plans)
	}
}

func TestWatchersSeeWhatTheReportCounts(t *testing.T) {
	var changed []time.Duration
	s, err := simulate.New(simulate.Scenario{Spec: simNew, Fleet: simPool(7), Model: simTimes(), History: func(r simulate.Record) {
		if r.Kind == simulate.NodeChanged {
			changed = append(changed, r.At)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	peak, zones, at, other := 0, map[string]int{}, []time.Duration(nil), 0
	s.Watch(nil)
	s.Watch(func(*simulate.Simulation) error { other++; return nil })
	s.Watch(func(s *simulate.Simulation) error {
		peak = max(peak, s.Unavailable())
		for zone, n := range s.UnavailableByZone() {
			zones[zone] = max(zones[zone], n)
		}
		at = append(at, s.Elapsed())
		total := 0
		for _, n := range s.Nodes() {
			if s.NodeState(n.Name) != 0 && !s.NodeState(n.Name).Serving() && s.NodeState(n.Name) != simulate.NodeOutside {
				total++
			}
		}
		if total != s.Unavailable() {
			t.Errorf("at %v %d nodes are unavailable one by one, and %d together", s.Elapsed(), total, s.Unavailable())
		}
		return nil
	})
	report, err := s.Run(nil)
	if err != nil {
		t.Fatal(err)
	}
	if peak != report.Unavailable.Peak || peak != 2 {
		t.Errorf("seen %d, reported %d", peak, report.Unavailable.Peak)
	}
	for _, z := range report.Zones {
		if zones[z.Zone] != z.Unavailable.Peak {
			t.Errorf("zone %s: seen %d, reported %d", z.Zone, zones[z.Zone], z.Unavailable.Peak)
		}
	}
	if changed = slices.Compact(changed); !slices.Equal(at, changed) || other != len(at) {
		t.Errorf("told %v, and another one %d times; nodes changed %v", at, other, changed)
	}
	if !slices.IsSorted(at) || len(slices.Compact(slices.Clone(at))) != len(at) {
		t.Errorf("told more than once of an instant: %v", at)
	}
	if s.Count(simulate.NodeNew) != 7 || s.Count(0) != 0 || s.Count(200) != 0 || s.NodeState("nobody") != 0 {
		t.Error("counts of states")
	}
}

func TestConditionsAndErrorsEndARun(t *testing.T) {
	s, err := simulate.New(simulate.Scenario{Spec: simNew, Fleet: simPool(4), Model: simTimes()})
	if err != nil {
		t.Fatal(err)
	}
	report, err := s.Run(func(s *simulate.Simulation, _ *simulate.Step) bool { return s.Elapsed() >= 10*time.Second })
	if err != nil || report.End != simulate.EndCondition || report.Elapsed != 10*time.Second {
		t.Fatalf("%v after %v: %v", report.End, report.Elapsed, err)
	}
	report, err = s.Run(nil)
	if err != nil || report.End != simulate.EndDone || report.Elapsed != 32*time.Second {
		t.Errorf("it does not go on: %v after %v: %v", report.End, report.Elapsed, err)
	}
	for limit, end := range map[time.Duration]simulate.End{32 * time.Second: simulate.EndDone, 32*time.Second - 1: simulate.EndLimit} {
		report, err := simulate.Run(simulate.Scenario{Spec: simNew, Fleet: simPool(4), Model: simTimes(), Limit: limit})
		if err != nil || report.End != end || report.Elapsed != limit {
			t.Errorf("with a limit of %v it ends with %v after %v: %v", limit, report.End, report.Elapsed, err)
		}
	}

	enough := errors.New("enough")
	var failed *simulate.StepError
	report, err = simulate.Run(simulate.Scenario{Seed: 5, Spec: simNew, Fleet: simPool(4), Model: simTimes()},
		func(_ *simulate.Simulation, step *simulate.Step) error {
			if step.Number == 3 {
				return enough
			}
			return nil
		})
	if !errors.Is(err, enough) || !errors.As(err, &failed) || failed.Step.Number != 3 || failed.Seed != 5 || len(failed.Violations) != 0 {
		t.Errorf("an observer's error: %v", err)
	} else if report.End != simulate.EndCondition || len(failed.Step.Plan.Decisions) != 4 {
		t.Errorf("an observer's error is %v, at a plan of %d decisions", report.End, len(failed.Step.Plan.Decisions))
	}
	s, err = simulate.New(simulate.Scenario{Spec: simNew, Fleet: simPool(4), Model: simTimes()})
	if err != nil {
		t.Fatal(err)
	}
	s.Watch(func(s *simulate.Simulation) error {
		if s.Unavailable() > 0 {
			return enough
		}
		return nil
	})
	report, err = s.Run(nil)
	if !errors.Is(err, enough) || !errors.As(err, &failed) {
		t.Errorf("a watcher's error: %v", err)
	} else if step := failed.Step; step.Number != report.Plans || step.Spec.Name != "agent" || len(step.Snapshot.Nodes) != 4 {
		t.Errorf("a watcher's error after %d plans is said to be at step %d, of %d nodes", report.Plans, step.Number, len(step.Snapshot.Nodes))
	}
	if step, err := s.Step(); step != nil || err != nil {
		t.Errorf("a run that has failed is over: %v, %v", step, err)
	}
}

func TestViolationsEndARun(t *testing.T) {
	scenario := simulate.Scenario{Seed: 11, Spec: simNew, Fleet: simPool(6), Model: simTimes()}
	scenario.Planner = func(spec rollout.Spec) (simulate.PlanFunc, error) {
		rollouttest.MaxUnavailable("3")(&spec) // one more than the spec permits
		planner, err := rollout.New(spec)
		if err != nil {
			return nil, err
		}
		return planner.Plan, nil
	}
	report, err := simulate.Run(scenario)
	var failed *simulate.StepError
	if !errors.As(err, &failed) {
		t.Fatalf("not found: %v", err)
	}
	if report.End != simulate.EndViolation || len(report.Violations) == 0 || failed.Step.Number != 1 || failed.Violations[0].Invariant != 1 {
		t.Errorf("%v in step %d: %v", report.End, failed.Step.Number, failed.Violations)
	}
	c := failed.Case()
	if len(c.Snapshot.Nodes) != 6 || len(c.Snapshot.Pods) != 6 || c.Spec.Strategy.MaxUnavailable.IntValue() != 2 {
		t.Error("the case is not what the controller saw")
	}
}

// One mistake in a plan is enough to end the run: the status counts a node that does not exist.
func TestOneViolationEndsARun(t *testing.T) {
	report, err := simulate.Run(simulate.Scenario{Spec: simNew, Fleet: simPool(2), Model: simTimes(),
		Planner: func(spec rollout.Spec) (simulate.PlanFunc, error) {
			planner, err := rollout.New(spec)
			if err != nil {
				return nil, err
			}
			return func(snapshot rollout.Snapshot) (rollout.Plan, error) {
				plan, err := planner.Plan(snapshot)
				plan.Status.Misscheduled++
				return plan, err
			}, nil
		}})
	var failed *simulate.StepError
	if !errors.As(err, &failed) || len(failed.Violations) != 1 || report.End != simulate.EndViolation || report.Plans != 1 {
		t.Errorf("%v after %d plans: %v", report.End, report.Plans, err)
	}
}

// If a planner cannot be made, the run ends, or if it is the first planner, the run cannot begin.
func TestPlannersThatCannotBeMade(t *testing.T) {
	broken := errors.New("no such planner")
	scenario := simulate.Scenario{Spec: simOld, Fleet: simPool(2), Model: simTimes()}
	scenario.Planner = func(spec rollout.Spec) (simulate.PlanFunc, error) {
		if spec.Template.Spec.Containers[0].Image != "agent:v1" {
			return nil, broken
		}
		planner, err := rollout.New(spec)
		if err != nil {
			return nil, err
		}
		return planner.Plan, nil
	}
	scenario.Events = []simulate.Event{{At: time.Minute, What: simulate.SetSpec, Spec: &simNew}}
	report, err := simulate.Run(scenario)
	var failed *simulate.StepError
	if !errors.Is(err, broken) || !errors.As(err, &failed) || failed.Step.At != time.Minute || report.Elapsed != time.Minute {
		t.Errorf("for the second spec: %v after %v", err, report.Elapsed)
	}
	scenario.Spec = simNew
	if s, err := simulate.New(scenario); !errors.Is(err, broken) || s != nil {
		t.Errorf("for the first spec: %v", err)
	}
}

// A run does not end while the controller has calls to send, even if nothing else is under way. Of six nodes two at a time are
// deleted and created, and each plan ends with writing the status.
func TestSlowCallsKeepARunFromItsEnd(t *testing.T) {
	report, err := simulate.Run(simulate.Scenario{
		Spec: simNew, Fleet: simPool(6), Controller: simulate.Controller{CallsPerSecond: 0.1},
	})
	if err != nil || report.End != simulate.EndDone || report.Updated != 6 || report.Elapsed <= report.Finished {
		t.Errorf("%v after %v, finished after %v, %d updated: %v", report.End, report.Elapsed, report.Finished, report.Updated, err)
	}
}

// A burst of calls is sent at one instant, and the rate holds from then on. After a while without calls there may be a burst again.
func TestBurstOfCalls(t *testing.T) {
	spec := rollouttest.Spec("agent", rollouttest.Image("agent:v2"), rollouttest.MaxUnavailable("100%"))
	for _, tt := range []struct {
		burst int
		want  []time.Duration // of the fourth, the fifth and the last of ten deletes
	}{
		{0, []time.Duration{3 * time.Second, 4 * time.Second, 9 * time.Second}},
		{5, []time.Duration{0, time.Second, 6 * time.Second}},
		{10, []time.Duration{0, 0, time.Second}},
		{100, []time.Duration{0, 0, 0}},
	} {
		var deleted []time.Duration
		_, err := simulate.Run(simulate.Scenario{
			Spec: spec, Fleet: rollouttest.Fleet(10, rollouttest.Running(rollouttest.Spec("agent"))),
			Model:      simulate.Model{Kubelets: []simulate.Kubelet{{Stop: simulate.Fixed(time.Hour)}}},
			Controller: simulate.Controller{CallsPerSecond: 1, CallBurst: tt.burst},
			History: func(r simulate.Record) {
				if r.Kind == simulate.PodDeleted {
					deleted = append(deleted, r.At)
				}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		// The revision of the new spec is created by the first call.
		first := deleted[0]
		got := []time.Duration{deleted[3] - first, deleted[4] - first, deleted[9] - first}
		if !slices.Equal(got, tt.want) {
			t.Errorf("burst %d: deletes after %v, %v, want %v", tt.burst, deleted, got, tt.want)
		}
	}
}

func TestLagIsMadeUpForByWhatIsInFlight(t *testing.T) {
	inFlight, past := 0, 0
	s, err := simulate.New(simulate.Scenario{
		Spec: simNew, Fleet: simPool(10), Model: simTimes(), Controller: simulate.Controller{Lag: simulate.Uniform(time.Second, 8*time.Second)},
	})
	if err != nil {
		t.Fatal(err)
	}
	report, err := s.Run(nil, func(s *simulate.Simulation, step *simulate.Step) error {
		f := step.Snapshot.InFlight
		inFlight += len(f.Creates) + len(f.Deletes)
		if len(s.Pods()) != len(step.Snapshot.Pods) {
			past++
		}
		return nil
	})
	if err != nil || report.End != simulate.EndDone {
		t.Fatalf("%v\n%v", report, err)
	}
	if inFlight == 0 || past == 0 {
		t.Errorf("in flight %d times, behind %d times", inFlight, past)
	}
	if report.Created != 10 || report.Deleted != 10 || report.Unavailable.Peak != 2 {
		t.Errorf("%s", report)
	}
}

func TestControllersCrash(t *testing.T) {
	for _, c := range []struct {
		name, why string
		loses     bool
	}{
		{"with its memory", "the memory is written with the status", false},
		{"without", "C6: the canary starts again; nothing else is lost", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := rollouttest.Spec("agent", rollouttest.Image("agent:v2"), rollouttest.MaxUnavailable("3"),
				rollouttest.Canary("1"), rollouttest.CanaryFor(time.Minute, 0))
			crashed := 0
			scenario := simulate.Scenario{
				Spec: spec, Fleet: simPool(9), Model: simTimes(),
				Controller: simulate.Controller{Restart: simulate.Fixed(5 * time.Second), LosesMemory: c.loses, CallsPerSecond: 2},
				// These crashes are during the canary's minute, and during the rollout after it.
				Events:  []simulate.Event{{At: 46 * time.Second, Every: simulate.Fixed(37 * time.Second), Until: 4 * time.Minute, What: simulate.CrashController}},
				History: func(r simulate.Record) { crashed += map[bool]int{true: 1}[r.Kind == simulate.ControllerCrashed] },
			}
			report, err := simulate.Run(scenario)
			if err != nil || report.End != simulate.EndDone || report.Updated != 9 {
				t.Fatalf("%v\n%v", report, err)
			}
			if crashed == 0 || crashed != report.ControllerCrashes {
				t.Errorf("crashed %d times, reported %d", crashed, report.ControllerCrashes)
			}
			if report.Canary.Phase != canary.Idle && report.Canary.Promoted == 0 {
				t.Errorf("canary: %+v", report.Canary)
			}
			if report.Created != 9 || report.Unavailable.Peak > 3 {
				t.Errorf("something is done twice:\n%s", report)
			}
		})
	}
}

func TestAnswersAreLost(t *testing.T) {
	report, err := simulate.Run(simulate.Scenario{
		Seed: 2, Spec: simNew, Fleet: simPool(12), Model: simTimes(),
		Controller: simulate.Controller{FailedCalls: 0.3, LostAnswers: 0.3, Lag: simulate.Fixed(4 * time.Second)},
	})
	if err != nil || report.End != simulate.EndDone {
		t.Fatalf("%v\n%v", report, err)
	}
	if report.FailedCalls < 10 || report.Created != 12 || report.Deleted != 12 || report.Unavailable.Peak != 2 {
		t.Errorf("%s", report)
	}
}

func TestScenariosAreNotWrittenTo(t *testing.T) {
	scenario := simEverything(1)
	snapshot, err := scenario.Fleet.Build()
	if err != nil {
		t.Fatal(err)
	}
	scenario.Fleet = simulate.Fleet{Snapshot: &snapshot, Pools: []simulate.Pool{{Name: "more", Nodes: 2}}}
	var nodes []*corev1.Node
	var pods []*corev1.Pod
	for _, n := range snapshot.Nodes {
		nodes = append(nodes, n.DeepCopy())
	}
	for _, p := range snapshot.Pods {
		pods = append(pods, p.DeepCopy())
	}
	if _, err := simulate.Run(scenario); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(nodes, snapshot.Nodes); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(pods, snapshot.Pods); diff != "" {
		t.Error(diff)
	}
}

// When another spec is put in force, the nodes that have the version before go on with it for a while. The records tell which
// version that is, although every node is in state Old then.
func TestRecordsNameTheRevisionThatServes(t *testing.T) {
	serving := map[string]string{}
	var old, fresh string
	count := func(hash string) (n int) {
		for _, revision := range serving {
			n += map[bool]int{true: 1}[revision == hash]
		}
		return n
	}
	mostNew, backAt, newAtBack := 0, 20*time.Second, -1
	scenario := simulate.Scenario{Spec: simNew, Fleet: simPool(7), Model: simTimes(), History: func(r simulate.Record) {
		if r.At > backAt && newAtBack < 0 {
			newAtBack = count(fresh)
		}
		if r.Kind != simulate.NodeChanged {
			return
		}
		if (r.Revision != "") != r.To.Serving() {
			t.Fatalf("at %v %s is %s and revision %q serves", r.At, r.Node, r.To, r.Revision)
		}
		switch {
		case r.At == 0 && old == "":
			old = r.Revision
		case r.To == simulate.NodeNew && fresh == "":
			fresh = r.Revision
		}
		serving[r.Node] = r.Revision
		mostNew = max(mostNew, count(fresh))
	}}
	previous := *scenario.Fleet.Running
	scenario.Events = []simulate.Event{{At: backAt, What: simulate.SetSpec, Spec: &previous}}
	report, err := simulate.Run(scenario)
	if err != nil {
		t.Fatal(err)
	}
	if report.Updated != 7 || count(old) != 7 || old == fresh {
		t.Errorf("in the end %d nodes are updated, and %d have the old revision %q", report.Updated, count(old), old)
	}
	if newAtBack < 1 || newAtBack == 7 || mostNew < newAtBack {
		t.Errorf("%d nodes had the new revision when the old one was put back, at most %d", newAtBack, mostNew)
	}
}
