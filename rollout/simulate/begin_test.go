package simulate_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// The tests of this file begin runs with a snapshot.

// A run that begins with a snapshot of another run continues that one, with its names and numbers.
func TestRunsGoOnFromSnapshots(t *testing.T) {
	s, err := simulate.New(simulate.Scenario{Spec: simNew, Fleet: simPool(6), Model: simTimes()})
	if err != nil {
		t.Fatal(err)
	}
	var last *simulate.Step
	for s.Count(simulate.NodeNew) < 3 {
		if last, err = s.Step(); err != nil || last == nil {
			t.Fatal(err)
		}
	}
	report, err := simulate.Run(simulate.Scenario{Spec: simNew, Fleet: simulate.Fleet{Snapshot: &last.Snapshot}, Model: simTimes()})
	if err != nil || !report.Succeeded() || report.Updated != 6 || report.Unavailable.Peak > 2 {
		t.Errorf("%v\n%v", report, err)
	}
}

// Changes that a snapshot shows in progress continue in the run.
func TestRunsBeginInTheMiddle(t *testing.T) {
	on := func(name string, options ...rollouttest.PodOption) *corev1.Pod {
		return rollouttest.Pod(name, append([]rollouttest.PodOption{rollouttest.Of(simOld)}, options...)...)
	}
	for _, c := range []struct {
		name, why string
		pod       *corev1.Pod
		end       simulate.End
	}{
		{"terminating", "its kubelet ends it", on("p", rollouttest.OnNode("a"), rollouttest.Terminating(rollouttest.Noon())), simulate.EndDone},
		{"not bound", "the scheduler binds it", on("p", rollouttest.PinnedTo("a"), rollouttest.Pending()), simulate.EndDone},
		{"not started", "its kubelet starts it", on("p", rollouttest.OnNode("a"), rollouttest.Pending()), simulate.EndDone},
		{"not ready", "it becomes so", on("p", rollouttest.OnNode("a"), rollouttest.Unready()), simulate.EndDone},
		{"crashed", "its kubelet starts it again", on("p", rollouttest.OnNode("a"), rollouttest.Restarted(2, rollouttest.Noon(), "Error"), rollouttest.WaitingFor("CrashLoopBackOff"), rollouttest.Unready()), simulate.EndDone},
		{"failed", "it is replaced (M2)", on("p", rollouttest.OnNode("a"), rollouttest.Failed()), simulate.EndDone},
		{"of a node that is gone", "it is collected", on("p", rollouttest.OnNode("gone"), rollouttest.Pending()), simulate.EndDone},
		{"pinned to no node", "it is deleted", on("p", rollouttest.PinnedTo("gone"), rollouttest.Pending()), simulate.EndDone},
		{"without containers", "nobody can say what it is", func() *corev1.Pod {
			p := on("p", rollouttest.OnNode("a"), rollouttest.Unready())
			p.Spec.Containers = nil
			return p
		}(), simulate.EndDone},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.why == "" {
				t.Fatal("why?")
			}
			snapshot := rollout.Snapshot{
				Now: rollouttest.Noon(), Nodes: rollouttest.Nodes("a"), Pods: []*corev1.Pod{c.pod},
				Revisions: []*appsv1.ControllerRevision{rollouttest.Revision(simOld, 1)},
			}
			model := simTimes()
			model.Kubelets = append(model.Kubelets, simulate.Kubelet{Pool: "web"}, simulate.Kubelet{Nodes: map[string]string{"a": "b"}})
			fleet := simulate.Fleet{Snapshot: &snapshot, Pools: []simulate.Pool{{Name: "web"}}}
			report, err := simulate.Run(simulate.Scenario{Spec: simOld, Fleet: fleet, Model: model, Limit: time.Hour})
			if err != nil || report.End != c.end || report.Updated != 1 {
				t.Errorf("%v\n%v", report, err)
			}
		})
	}
}

// Pods of a dump run the image in their spec, even if a runtime reports the ID of the image in place of its name.
func TestDumpsOfOtherRuntimes(t *testing.T) {
	spec := rollouttest.Spec("agent", rollouttest.InPlaceIfPossible(), rollouttest.Resize(), rollouttest.Requests(corev1.ResourceCPU, "100m"))
	fleet := simulate.Fleet{Pools: []simulate.Pool{{Name: "web", Nodes: 2}}, Running: &spec}
	snapshot, err := fleet.Build()
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range snapshot.Pods {
		snapshot.Pods[i] = p.DeepCopy()
		for j := range snapshot.Pods[i].Status.ContainerStatuses {
			status := &snapshot.Pods[i].Status.ContainerStatuses[j]
			status.Image, status.Resources = "sha256:0123", nil
		}
	}
	report, err := simulate.Run(simulate.Scenario{Spec: spec, Fleet: simulate.Fleet{Snapshot: &snapshot}})
	if err != nil || report.End != simulate.EndDone || report.Restarts != 0 || report.Unavailable.Peak != 0 {
		t.Errorf("%v\n%v", report, err)
	}
}

// The order of a snapshot's pods has no effect, even when only one of two pods can stay.
func TestOrderOfSnapshotsMeansNothing(t *testing.T) {
	history := func(turn bool) string {
		snapshot, err := simPool(6).Build()
		if err != nil {
			t.Fatal(err)
		}
		snapshot.Pods = append(snapshot.Pods,
			rollouttest.Pod("x", rollouttest.Of(simOld), rollouttest.PinnedTo("web-00003"), rollouttest.Pending()),
			rollouttest.Pod("y", rollouttest.Of(simOld), rollouttest.OnNode("web-00003"), rollouttest.Unready()))
		if turn {
			slices.Reverse(snapshot.Pods)
			slices.Reverse(snapshot.Nodes)
		}
		text, _ := simHistory(t, simulate.Scenario{Spec: simNew, Fleet: simulate.Fleet{Snapshot: &snapshot}, Model: simTimes()})
		return text
	}
	if diff := cmp.Diff(history(false), history(true)); diff != "" {
		t.Error(diff)
	}
}

// TestUpdatedFromTheStart: nodes that have the update revision in the snapshot have it from the beginning, before the first plan
// is made. The history does not show them as old ones that are updated at once.
func TestUpdatedFromTheStart(t *testing.T) {
	snapshot, err := simulate.Fleet{Pools: []simulate.Pool{{Name: "web", Nodes: 3}}, Running: &simNew}.Build()
	if err != nil {
		t.Fatal(err)
	}
	scenario := simulate.Scenario{Spec: simNew, Fleet: simulate.Fleet{Snapshot: &snapshot}}
	changes := 0
	scenario.History = func(r simulate.Record) {
		if r.Kind != simulate.NodeChanged {
			return
		}
		if changes++; r.To != simulate.NodeNew {
			t.Errorf("node %s is %s at %s", r.Node, r.To, r.At)
		}
	}
	if _, err := simulate.Run(scenario); err != nil || changes != 3 {
		t.Errorf("%d nodes changed, error: %v", changes, err)
	}
}
