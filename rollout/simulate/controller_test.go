package simulate_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// The tests of this file are about the execution of plans, and about the end of a run.

// When a canary fails, every node is at the revision where it is to end, but the rollout has not succeeded.
func TestFailedCanariesAreNoSuccess(t *testing.T) {
	spec := rollouttest.Spec("agent", rollouttest.Image("agent:v2"), rollouttest.Canary("1"), rollouttest.CanaryFor(time.Minute, 0))
	report, err := simulate.Run(simulate.Scenario{
		Spec: spec, Fleet: simPool(4), Model: simulate.Model{Kubelets: []simulate.Kubelet{{Image: "agent:v2", Crash: simulate.Fixed(time.Second)}}},
	})
	if err != nil || report.End != simulate.EndDone || report.Updated != 0 || report.Succeeded() {
		t.Errorf("%v\n%v", report, err)
	}
	if p := simulate.Predict([]simulate.Report{report}); p.Unfinished != 1 {
		t.Errorf("%+v", p)
	}
}

// A controller whose calls fail pauses before it plans again, whatever its rate.
func TestFailedCallsArePaused(t *testing.T) {
	report, err := simulate.Run(simulate.Scenario{
		Spec: simNew, Fleet: simPool(3), Limit: 20 * time.Second,
		Controller: simulate.Controller{FailedCalls: 1, CallsPerSecond: 1e6},
	})
	if err != nil || report.End != simulate.EndLimit || report.Plans < 10 || report.Plans > 25 {
		t.Errorf("%v\n%v", report, err)
	}
}

// A pod whose resources differ from those for its node (P8: overrides) serves while it is Ready (B2), and counts as old.
func TestPodsOfOtherResourcesAreOld(t *testing.T) {
	old := rollouttest.Spec("agent", rollouttest.Requests(corev1.ResourceCPU, "100m"))
	spec := rollouttest.Changed(old, rollouttest.MinReadySeconds(30), rollouttest.MaxUnavailable("1"),
		rollouttest.Override(placement.Override{
			Name: "big", NodeSelector: metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelTopologyZone: "b"}},
			Containers: map[string]corev1.ResourceRequirements{old.Template.Spec.Containers[0].Name: {
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("200m")},
			}},
		}))
	fleet := simulate.Fleet{Pools: []simulate.Pool{{Name: "web", Nodes: 4, Zones: []string{"a", "b"}}}, Running: &old}
	s, err := simulate.New(simulate.Scenario{Spec: spec, Fleet: fleet, Model: simTimes()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Step(); err != nil {
		t.Fatal(err)
	}
	if s.Count(simulate.NodeNew) != 2 || s.Count(simulate.NodeOld) != 1 || s.Unavailable() != 1 {
		t.Errorf("%d new, %d old, %d unavailable", s.Count(simulate.NodeNew), s.Count(simulate.NodeOld), s.Unavailable())
	}
	report, err := s.Run(nil)
	if err != nil || !report.Succeeded() || report.Created != 2 || report.Unavailable.Peak != 1 {
		t.Errorf("%v\n%v", report, err)
	}
}

// A controller that has nothing to do crashes too. It loses its memory of a canary, so that the canary's clock begins anew (C6).
func TestIdleControllersCrash(t *testing.T) {
	spec := rollouttest.Spec("agent", rollouttest.Image("agent:v2"), rollouttest.Canary("1"), rollouttest.CanaryFor(10*time.Minute, 0))
	scenario := simulate.Scenario{
		Spec: spec, Fleet: simPool(3), Model: simTimes(), Controller: simulate.Controller{LosesMemory: true},
		Events: []simulate.Event{{At: 5 * time.Minute, What: simulate.CrashController}},
	}
	report, err := simulate.Run(scenario)
	if err != nil || !report.Succeeded() || report.Canary.Promoted != 15*time.Minute || report.ControllerCrashes != 1 {
		t.Errorf("the clock of the canary begins anew: %v\n%v", report, err)
	}
	scenario.Controller.LosesMemory = false
	report, err = simulate.Run(scenario)
	if err != nil || !report.Succeeded() || report.Canary.Promoted != 10*time.Minute+16*time.Second {
		t.Errorf("the memory was written: %v\n%v", report, err)
	}
}

// Nodes that partitioned scaling leaves empty count as being where they are to end (T7).
func TestEmptyNodesCanBeTheEnd(t *testing.T) {
	spec := rollouttest.Spec("agent", rollouttest.Partition("2"), rollouttest.PartitionedScaling())
	report, err := simulate.Run(simulate.Scenario{Spec: spec, Fleet: simulate.Fleet{Pools: []simulate.Pool{{Name: "web", Nodes: 4}}}})
	if err != nil || report.End != simulate.EndDone || report.Created != 2 {
		t.Errorf("%v\n%v", report, err)
	}
}

// Calls keep the minimum distance, also from one plan to the next, and whatever makes the controller plan.
func TestCallsKeepTheirRate(t *testing.T) {
	scenario := simEverything(5)
	var last simulate.Record
	calls := 0
	scenario.History = func(r simulate.Record) {
		switch r.Kind {
		case simulate.PodCreated, simulate.PodDeleted, simulate.PodPatched, simulate.PullStarted, simulate.RevisionChanged, simulate.CallFailed:
			lost := last.Kind == simulate.CallFailed && last.At == r.At // the call took effect, and its answer was lost
			if calls++; calls > 1 && r.At-last.At < 100*time.Millisecond && !lost {
				t.Errorf("a call at %v (%v), and the one before at %v", r.At, r.Kind, last.At)
			}
			last = r
		default:
		}
	}
	if _, err := simulate.Run(scenario); err != nil {
		t.Fatal(err)
	}
	if calls < 100 {
		t.Errorf("%d calls show nothing", calls)
	}
}
