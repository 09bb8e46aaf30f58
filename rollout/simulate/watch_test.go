package simulate_test

import (
	"errors"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// Watches show the changes of one object in order, and every change at the latest after the longest lag. A controller that has
// just started has listed everything.
func TestWatchesShowChangesInOrder(t *testing.T) {
	const longest = 4 * time.Second
	var started time.Duration
	scenario := simulate.Scenario{
		Seed: 3, Spec: simNew, Fleet: simPool(8), Model: simTimes(),
		Controller: simulate.Controller{
			Lag:   simulate.Uniform(time.Second, longest),
			Crash: simulate.Fixed(17 * time.Second), Restart: simulate.Fixed(200 * time.Millisecond),
		},
		Events: []simulate.Event{
			{At: 5 * time.Second, What: simulate.NodeNotReady, Count: 3, For: simulate.Fixed(700 * time.Millisecond)},
			{At: 5500 * time.Millisecond, What: simulate.CordonNode, Count: 8, For: simulate.Fixed(300 * time.Millisecond)},
			{At: 6 * time.Second, What: simulate.RemoveNode, Node: "web-00000"},
			// The controller crashes at 17 s. It starts before the watches would have shown the last of these changes.
			{At: 16700 * time.Millisecond, What: simulate.CordonNode, Node: "web-00001"},
			{At: 16800 * time.Millisecond, What: simulate.RemoveNode, Node: "web-00001"},
		},
		History: func(r simulate.Record) {
			if r.Kind == simulate.ControllerStarted {
				started = r.At
			}
		},
	}
	type change struct {
		version int
		at      time.Duration
	}
	is, shown, vanished := map[string]change{}, map[string]int{}, map[string]bool{}
	version := func(o metav1.Object) int {
		n, err := strconv.Atoi("0" + o.GetResourceVersion())
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	s, err := simulate.New(scenario)
	if err != nil {
		t.Fatal(err)
	}
	starts, behind := 0, 0
	_, err = s.Run(nil, func(s *simulate.Simulation, step *simulate.Step) error {
		seen := map[string]int{}
		add := func(into func(metav1.Object), snapshot *rollout.Snapshot) {
			for _, n := range snapshot.Nodes {
				into(n)
			}
			for _, p := range snapshot.Pods {
				into(p)
			}
		}
		add(func(o metav1.Object) {
			name := o.GetName()
			if seen[name] = version(o); seen[name] < shown[name] {
				t.Errorf("at %v version %d of %s, after version %d", step.At, seen[name], name, shown[name])
			}
			shown[name] = seen[name]
			if vanished[name] {
				t.Errorf("at %v %s is back", step.At, name)
			}
		}, &step.Snapshot)
		for name := range shown {
			if _, ok := seen[name]; !ok {
				vanished[name] = true
			}
		}
		there := map[string]bool{}
		add(func(o metav1.Object) {
			name := o.GetName()
			there[name] = true
			if now := version(o); is[name].version != now {
				is[name] = change{now, step.At}
			}
			since := is[name]
			if since.version != seen[name] {
				behind++
				if step.At > since.at+longest || step.At == started {
					t.Errorf("at %v version %d of %s, and since %v it is %d", step.At, seen[name], name, since.at, since.version)
				}
			}
		}, &rollout.Snapshot{Nodes: s.Nodes(), Pods: s.Pods()})
		if step.At == started && started > 0 {
			if starts++; len(there) != len(seen) {
				t.Errorf("at %v %d objects are seen of %d", step.At, len(seen), len(there))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if starts == 0 || behind == 0 {
		t.Errorf("%d starts and %d objects that were behind show nothing", starts, behind)
	}
}

// If a planner returns an error, the run ends at the step for which the plan was to be.
func TestErrorsOfPlannersEndARun(t *testing.T) {
	none := errors.New("no plan")
	begin := time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)
	scenario := simulate.Scenario{Spec: simNew, Fleet: simPool(2), Model: simTimes()}
	scenario.Planner = func(spec rollout.Spec) (simulate.PlanFunc, error) {
		planner, err := rollout.New(spec)
		return func(snapshot rollout.Snapshot) (rollout.Plan, error) {
			if snapshot.Now.After(begin.Add(5 * time.Second)) {
				return rollout.Plan{}, none
			}
			return planner.Plan(snapshot)
		}, err
	}
	report, err := simulate.Run(scenario)
	var failed *simulate.StepError
	if !errors.Is(err, none) || !errors.As(err, &failed) || failed.Step.At != 10*time.Second || report.Elapsed != 10*time.Second {
		t.Errorf("%v\n%v", err, report)
	}
}
