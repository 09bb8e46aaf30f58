package simulate_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
	"github.com/daemonplan/daemonplan/status"
)

// The tests of this file are about the effects of events, one by one, and of rules about kubelets.

// simNode returns the node of that name.
func simNode(s *simulate.Simulation, name string) *corev1.Node {
	for _, n := range s.Nodes() {
		if n.Name == name {
			return n
		}
	}
	return nil
}

func simTainted(n *corev1.Node, key string) bool {
	return n != nil && slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
}

// simReady is the status of the node's condition Ready.
func simReady(n *corev1.Node) corev1.ConditionStatus { return simCondition(n, corev1.NodeReady) }

// simCondition is the status of a condition of the node.
func simCondition(n *corev1.Node, kind corev1.NodeConditionType) corev1.ConditionStatus {
	status := corev1.ConditionStatus("")
	for _, c := range n.Status.Conditions {
		if c.Type == kind {
			status += c.Status // a node has at most one such condition
		}
	}
	return status
}

// simRest is a set at rest with one event after ten seconds.
func simRest(event simulate.Event) simulate.Scenario {
	event.At = 10 * time.Second
	model := simTimes()
	model.Hooks = simulate.Fixed(time.Second)
	return simulate.Scenario{Spec: simOld, Fleet: simPool(3), Model: model, Events: []simulate.Event{event}, Limit: time.Hour}
}

func TestEvents(t *testing.T) {
	const node = "web-00001"
	dedicated := corev1.Taint{Key: "dedicated", Effect: corev1.TaintEffectNoExecute}
	next := simNew
	for _, c := range []struct {
		name, why string
		event     simulate.Event
		// then is checked right after the event, and last at the end.
		then, last func(*simulate.Simulation) bool
		end        simulate.End
		created    int
	}{
		{
			name: "nodes join", why: "and get their pods", event: simulate.Event{What: simulate.AddNodes, Join: simulate.Pool{Name: "web", Nodes: 2}},
			then: func(s *simulate.Simulation) bool {
				return simNode(s, "web-00003") != nil && simNode(s, "web-00004") != nil && s.Unavailable() == 2
			},
			last: func(s *simulate.Simulation) bool { return len(s.Pods()) == 5 }, end: simulate.EndDone, created: 2,
		},
		{
			name: "a node leaves", why: "its pod is collected",
			event: simulate.Event{What: simulate.RemoveNode, Node: node},
			then: func(s *simulate.Simulation) bool {
				return simNode(s, node) == nil && s.NodeState(node) == 0 && len(s.Pods()) == 3
			},
			last: func(s *simulate.Simulation) bool { return len(s.Pods()) == 2 }, end: simulate.EndDone,
		},
		{
			name: "a node is lost", why: "nobody brings it back",
			event: simulate.Event{What: simulate.NodeNotReady, Node: node},
			then: func(s *simulate.Simulation) bool {
				return s.NodeState(node) == simulate.NodeLost && simTainted(simNode(s, node), corev1.TaintNodeUnreachable) &&
					simReady(simNode(s, node)) == corev1.ConditionUnknown
			},
			last: func(s *simulate.Simulation) bool { return s.Unavailable() == 1 }, end: simulate.EndStuck,
		},
		{
			name: "a node is lost and back", why: "its pod is as it was",
			event: simulate.Event{What: simulate.NodeNotReady, Node: node, For: simulate.Fixed(time.Minute)},
			then:  func(s *simulate.Simulation) bool { return s.NodeState(node) == simulate.NodeLost },
			last: func(s *simulate.Simulation) bool {
				return s.NodeState(node) == simulate.NodeNew && len(simNode(s, node).Spec.Taints) == 0 &&
					simReady(simNode(s, node)) == corev1.ConditionTrue && s.Elapsed() == 70*time.Second
			},
			end: simulate.EndDone,
		},
		{
			name: "a node is cordoned", why: "daemon pods tolerate that",
			event: simulate.Event{What: simulate.CordonNode, Node: node},
			then: func(s *simulate.Simulation) bool {
				return simNode(s, node).Spec.Unschedulable && simTainted(simNode(s, node), corev1.TaintNodeUnschedulable)
			},
			last: func(s *simulate.Simulation) bool { return s.NodeState(node) == simulate.NodeNew }, end: simulate.EndDone,
		},
		{
			name: "a node is drained for a while", why: "its pod comes back at once",
			event: simulate.Event{What: simulate.DrainNode, Node: node, For: simulate.Fixed(time.Minute)},
			then: func(s *simulate.Simulation) bool {
				return simNode(s, node).Spec.Unschedulable && s.NodeState(node) == simulate.NodeTerminating
			},
			last: func(s *simulate.Simulation) bool {
				return !simNode(s, node).Spec.Unschedulable && !simTainted(simNode(s, node), corev1.TaintNodeUnschedulable)
			},
			end: simulate.EndDone, created: 1,
		},
		{
			name: "a node is labelled for a while", why: "labels come and go",
			event: simulate.Event{
				What: simulate.LabelNode, Node: node, For: simulate.Fixed(time.Minute),
				Labels: map[string]string{"gpu": "yes", corev1.LabelTopologyZone: ""},
			},
			then: func(s *simulate.Simulation) bool {
				_, zone := simNode(s, node).Labels[corev1.LabelTopologyZone]
				return simNode(s, node).Labels["gpu"] == "yes" && !zone
			},
			last: func(s *simulate.Simulation) bool {
				_, gpu := simNode(s, node).Labels["gpu"]
				return !gpu && simNode(s, node).Labels[corev1.LabelTopologyZone] == "b"
			},
			end: simulate.EndDone,
		},
		{
			name: "a node is tainted", why: "NoExecute evicts", event: simulate.Event{What: simulate.TaintNode, Node: node, Taint: dedicated},
			then: func(s *simulate.Simulation) bool { return s.NodeState(node) == simulate.NodeOutside },
			last: func(s *simulate.Simulation) bool { return len(s.Pods()) == 2 && s.Unavailable() == 0 }, end: simulate.EndDone,
		},
		{
			name: "a node is tainted for a while", why: "the pod comes back with the end of the taint",
			event: simulate.Event{What: simulate.TaintNode, Node: node, Taint: dedicated, For: simulate.Fixed(time.Minute)},
			then:  func(s *simulate.Simulation) bool { return s.NodeState(node) == simulate.NodeOutside },
			last:  func(s *simulate.Simulation) bool { return len(s.Pods()) == 3 }, end: simulate.EndDone, created: 1,
		},
		{
			name: "a node is under maintenance for a while", why: "its pod stays", event: simulate.Event{What: simulate.MaintainNode, Node: node, For: simulate.Fixed(time.Minute)},
			then: func(s *simulate.Simulation) bool {
				return simCondition(simNode(s, node), "MaintenanceInProgress") == corev1.ConditionTrue && s.NodeState(node) == simulate.NodeNew
			},
			last: func(s *simulate.Simulation) bool {
				return simCondition(simNode(s, node), "MaintenanceInProgress") == corev1.ConditionFalse && len(s.Pods()) == 3
			},
			end: simulate.EndDone,
		},
		{
			name: "pods are evicted", why: "Failed pods are replaced (M2)", event: simulate.Event{What: simulate.EvictPod, Share: 0.6},
			then: func(s *simulate.Simulation) bool {
				return s.Count(simulate.NodeBroken)+s.Count(simulate.NodeTerminating) == 2
			},
			last: func(s *simulate.Simulation) bool { return s.Count(simulate.NodeNew) == 3 }, end: simulate.EndDone, created: 2,
		},
		{
			name: "a pod is deleted by hand", why: "and comes back", event: simulate.Event{What: simulate.DeletePod, Node: node},
			then: func(s *simulate.Simulation) bool { return s.NodeState(node) == simulate.NodeTerminating },
			last: func(s *simulate.Simulation) bool { return s.Count(simulate.NodeNew) == 3 }, end: simulate.EndDone, created: 1,
		},
		{
			name: "a pod crashes", why: "its kubelet starts it again after 10 s", event: simulate.Event{What: simulate.CrashPod, Node: node},
			then: func(s *simulate.Simulation) bool { return s.NodeState(node) == simulate.NodeBroken },
			last: func(s *simulate.Simulation) bool {
				return s.Elapsed() == 25*time.Second && s.Report().Crashes == 1 && s.Report().Restarts == 1
			},
			end: simulate.EndDone,
		},
		{
			name: "another spec", why: "is rolled out", event: simulate.Event{What: simulate.SetSpec, Spec: &next},
			then: func(s *simulate.Simulation) bool { return s.Spec().Template.Spec.Containers[0].Image == "agent:v2" },
			last: func(s *simulate.Simulation) bool { return s.Count(simulate.NodeNew) == 3 }, end: simulate.EndDone, created: 3,
		},
		{
			name: "commands without a canary", why: "say nothing", event: simulate.Event{What: simulate.GiveCommands, Commands: canary.Commands{Validate: "x"}},
			then: func(s *simulate.Simulation) bool { return s.Spec().Strategy.Canary == nil },
			last: func(s *simulate.Simulation) bool { return s.Count(simulate.NodeNew) == 3 }, end: simulate.EndDone,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.why == "" {
				t.Fatal("why?")
			}
			s, err := simulate.New(simRest(c.event))
			if err != nil {
				t.Fatal(err)
			}
			seen := false
			s.Watch(func(s *simulate.Simulation) error {
				if !seen && s.Elapsed() == 10*time.Second {
					seen = true
					if !c.then(s) {
						t.Errorf("right after it: %v", s.Report())
					}
				}
				return nil
			})
			report, err := s.Run(func(s *simulate.Simulation, _ *simulate.Step) bool {
				if !seen && s.Elapsed() == 10*time.Second { // no state of a node has changed
					seen = true
					if !c.then(s) {
						t.Errorf("right after it: %v", s.Report())
					}
				}
				return false
			})
			if err != nil {
				t.Fatal(err)
			}
			if !seen && !c.then(s) {
				t.Error("it did not happen")
			}
			if !c.last(s) || report.End != c.end || report.Created != c.created {
				t.Errorf("in the end, after %v: %s", s.Elapsed(), report)
			}
		})
	}
}

// TestSetClock checks that the controller plans and wakes up by its own clock, and that the cluster uses the right one.
func TestSetClock(t *testing.T) {
	const minReady, behind = 30 * time.Second, time.Minute
	s, err := simulate.New(simulate.Scenario{
		Spec:  rollouttest.Spec("agent", rollouttest.Image("agent:v2"), rollouttest.MinReadySeconds(int32(minReady/time.Second))),
		Fleet: fleetOf(2),
		Events: []simulate.Event{
			{At: 10 * time.Second, What: simulate.SetClock, Behind: behind}, {At: time.Hour, What: simulate.SetClock},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	steps := 0
	report, err := s.Run(nil, func(s *simulate.Simulation, step *simulate.Step) error {
		want := s.Now()
		if step.At >= 10*time.Second && step.At < time.Hour {
			steps++
			want = want.Add(-behind)
		}
		if !step.Snapshot.Now.Equal(want) {
			t.Errorf("step %d plans at %v, right is %v", step.Number, step.Snapshot.Now, want)
		}
		return nil
	})
	// Both pods wait for as long as the clock is behind, and no longer, because they wake the controller.
	if err != nil || steps == 0 || report.End != simulate.EndDone || report.Updated != 2 || report.Elapsed > time.Hour {
		t.Errorf("%v\n%s", err, report)
	}
	if now := len(s.Revisions()); now != 2 {
		t.Errorf("%d revisions, want the old one and the new one", now)
	}
}

func TestEventsRecur(t *testing.T) {
	at := []time.Duration(nil)
	scenario := simRest(simulate.Event{What: simulate.CrashController, Every: simulate.Fixed(20 * time.Second), Until: 70 * time.Second})
	scenario.History = func(r simulate.Record) {
		if r.Kind == simulate.EventHappened {
			at = append(at, r.At/time.Second)
		}
	}
	if _, err := simulate.Run(scenario); err != nil {
		t.Fatal(err)
	}
	if want := []time.Duration{10, 30, 50, 70}; !slices.Equal(at, want) {
		t.Errorf("at %d, right is %d", at, want)
	}
	at = nil
	scenario.Events[0].Until = 0
	report, err := simulate.Run(scenario)
	if err != nil || report.End != simulate.EndDone || len(at) != 0 {
		t.Errorf("what recurs for ever keeps the run from its end: %v, %v", report, err)
	}
}

// A node that moves to another zone is counted in that zone, whatever its state.
func TestZonesOfNodesChange(t *testing.T) {
	s, err := simulate.New(simulate.Scenario{
		Spec: simOld, Fleet: simPool(3), Model: simTimes(), Limit: time.Hour,
		Events: []simulate.Event{
			{At: time.Second, What: simulate.NodeNotReady, Node: "web-00001", For: simulate.Fixed(time.Minute)},
			{At: 2 * time.Second, What: simulate.LabelNode, Node: "web-00001", Labels: map[string]string{corev1.LabelTopologyZone: "c"}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var seen []map[string]int
	s.Watch(func(s *simulate.Simulation) error {
		seen = append(seen, s.UnavailableByZone())
		return nil
	})
	if _, err := s.Run(nil); err != nil {
		t.Fatal(err)
	}
	want := []map[string]int{{}, {"b": 1}, {"c": 1}, {}}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
}

// The report lists the rules and events of a scenario that had no effect. A misspelt label would otherwise make a bad result look
// good.
func TestReportsNameWhatIsUnused(t *testing.T) {
	report, err := simulate.Run(simulate.Scenario{
		Spec: simNew, Fleet: simPool(3),
		Model: simulate.Model{Kubelets: []simulate.Kubelet{
			{Image: "agent:v2"}, {Image: "agent:v2.O", NeverReady: new(true)}, {Image: "agent:v1"}, {Nodes: map[string]string{"arch": "arm46"}},
		}},
		Events: []simulate.Event{
			{At: time.Second, What: simulate.DeletePod, Node: "nobody"}, {At: time.Second, What: simulate.DeletePod},
			{At: time.Hour, Every: simulate.Fixed(time.Hour), What: simulate.DeletePod, Node: "nobody"},
			{At: time.Second, What: simulate.CrashController},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"model.kubelets[1]", "model.kubelets[3]", "events[0]"}; !slices.Equal(report.Unused, want) {
		t.Errorf("%v, right is %v", report.Unused, want)
	}
	if report.State != status.Running {
		t.Errorf("state %q, reason %q", report.State, report.Reason)
	}
}

// The effect of several overlapping events on a node ends with the last of them.
func TestEventsOverlap(t *testing.T) {
	const node = "web-00001"
	at := func(at, lasts time.Duration, what simulate.What, x string) simulate.Event {
		e := simulate.Event{At: at, What: what, Node: node, For: simulate.Fixed(lasts)}
		switch what {
		case simulate.LabelNode:
			e.Labels = map[string]string{"x": x}
		case simulate.TaintNode:
			e.Taint = corev1.Taint{Key: "x", Effect: corev1.TaintEffectNoSchedule}
		default:
		}
		return e
	}
	for _, c := range []struct {
		name, why string
		what      simulate.What
		has       func(*corev1.Node) string
		want      string // at 5, 15, 25, 35, 45 s
	}{
		{"cordon", "10 to 30 s and 20 to 40 s", simulate.CordonNode, func(n *corev1.Node) string {
			return map[bool]string{true: "1", false: "0"}[n.Spec.Unschedulable]
		}, "01110"},
		{"taint", "of one key and effect", simulate.TaintNode, func(n *corev1.Node) string {
			return map[bool]string{true: "1", false: "0"}[simTainted(n, "x")]
		}, "01110"},
		{"lost", "two reasons to be silent", simulate.NodeNotReady, func(n *corev1.Node) string {
			return map[bool]string{true: "1", false: "0"}[simTainted(n, corev1.TaintNodeUnreachable)]
		}, "01110"},
		{"label", "the last one that is not over counts", simulate.LabelNode, func(n *corev1.Node) string {
			if value, ok := n.Labels["x"]; ok {
				return value
			}
			return "0"
		}, "0abb0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.why == "" {
				t.Fatal("why?")
			}
			scenario := simulate.Scenario{Spec: simOld, Fleet: simPool(3), Events: []simulate.Event{
				at(10*time.Second, 20*time.Second, c.what, "a"), at(20*time.Second, 20*time.Second, c.what, "b"),
			}}
			for i := range 5 { // these give instants at which the node is checked
				scenario.Events = append(scenario.Events, simulate.Event{
					At: time.Duration(5+10*i) * time.Second, What: simulate.DeletePod, Node: "web-00000",
				})
			}
			s, err := simulate.New(scenario)
			if err != nil {
				t.Fatal(err)
			}
			got, seen := "", map[time.Duration]bool{}
			if _, err := s.Run(nil, func(s *simulate.Simulation, _ *simulate.Step) error {
				if now := s.Elapsed(); now%(10*time.Second) == 5*time.Second && !seen[now] {
					seen[now] = true
					got += c.has(simNode(s, node))
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if got != c.want {
				t.Errorf("%s, right is %s", got, c.want)
			}
		})
	}
}

// A pod that is bound to a node whose kubelet is silent has no start time until the kubelet is back: policies take it for evidence
// that the pod was started (B9).
func TestSilentKubeletsStartNothing(t *testing.T) {
	tolerant := rollouttest.Tolerating("", "")
	s, err := simulate.New(simulate.Scenario{
		Spec: rollouttest.Spec("agent", rollouttest.Image("agent:v2"), tolerant), Fleet: fleetOf(1, tolerant), Model: simTimes(),
		Events: []simulate.Event{
			{At: 10 * time.Second, What: simulate.AddNodes, Join: simulate.Pool{Name: "late", Nodes: 1}},
			{At: 10 * time.Second, What: simulate.NodeNotReady, Pool: "late", For: simulate.Fixed(time.Minute)},
		},
		Limit: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	began, bound, started := s.Now(), false, time.Time{}
	look := func(s *simulate.Simulation) {
		for _, p := range s.Pods() {
			if !strings.HasPrefix(p.Spec.NodeName, "late-") {
				continue
			}
			bound = bound || s.Elapsed() < 70*time.Second
			if at := p.Status.StartTime; at != nil {
				started = at.Time
			}
		}
	}
	s.Watch(func(s *simulate.Simulation) error { look(s); return nil })
	if _, err := s.Run(nil); err != nil {
		t.Fatal(err)
	}
	look(s)
	if want := began.Add(70 * time.Second); !bound || started.Before(want) {
		t.Errorf("bound while the kubelet was silent: %t; started at %v, right is not before %v", bound, started, want)
	}
}
