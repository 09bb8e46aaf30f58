package simulate_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
	"github.com/daemonplan/daemonplan/status"
)

// What events do, one by one, and what rules about kubelets do.

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

// simRest is a set at rest, to which one thing happens after ten seconds.
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
		// for the state right after the event, and for the end.
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
				return s.NodeState(node) == simulate.NodeLost && simTainted(simNode(s, node), corev1.TaintNodeUnreachable)
			},
			last: func(s *simulate.Simulation) bool { return s.Unavailable() == 1 }, end: simulate.EndStuck,
		},
		{
			name: "a node is lost and back", why: "its pod is as it was",
			event: simulate.Event{What: simulate.NodeNotReady, Node: node, For: simulate.Fixed(time.Minute)},
			then:  func(s *simulate.Simulation) bool { return s.NodeState(node) == simulate.NodeLost },
			last: func(s *simulate.Simulation) bool {
				return s.NodeState(node) == simulate.NodeNew && len(simNode(s, node).Spec.Taints) == 0 && s.Elapsed() == 70*time.Second
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
				if !seen && s.Elapsed() == 10*time.Second { // no state of a node changed
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

func TestKubelets(t *testing.T) {
	yes, no := true, false
	ready := simulate.Kubelet{Ready: simulate.Fixed(3 * time.Second)}
	for _, c := range []struct {
		name, why string
		model     simulate.Model
		spec      rollout.Spec
		end       simulate.End
		after     time.Duration // that the run takes, if it is done
		state     simulate.NodeState
		restarts  int
	}{
		{name: "nothing takes time", why: "the zero model", end: simulate.EndDone, state: simulate.NodeNew},
		{
			name: "all of it takes time", why: "1 s, then the image, 2 s, 4 s and 8 s",
			model: simulate.Model{
				Schedule: simulate.Fixed(time.Second), Registry: simulate.Registry{Size: 100, NodeBandwidth: 10},
				Kubelets: []simulate.Kubelet{{Create: simulate.Fixed(2 * time.Second), Start: simulate.Fixed(4 * time.Second), Ready: simulate.Fixed(8 * time.Second)}},
			},
			end: simulate.EndDone, after: 25 * time.Second, state: simulate.NodeNew,
		},
		{
			name: "a later rule", why: "says more of the same pods", end: simulate.EndDone, after: 5 * time.Second, state: simulate.NodeNew,
			model: simulate.Model{Kubelets: []simulate.Kubelet{ready, {Pool: "web", Nodes: map[string]string{corev1.LabelTopologyZone: "a"}, Ready: simulate.Fixed(5 * time.Second)}}},
		},
		{
			name: "rules about others", why: "say nothing", end: simulate.EndDone, after: 3 * time.Second, state: simulate.NodeNew,
			model: simulate.Model{Kubelets: []simulate.Kubelet{
				ready, {Pool: "other", NeverReady: &yes}, {Nodes: map[string]string{"gpu": ""}, NeverReady: &yes},
				{Image: "agent:v9", NeverReady: &yes}, {Revision: "x", NeverReady: &yes},
			}},
		},
		{
			name: "never ready", why: "the run is stuck", end: simulate.EndStuck, state: simulate.NodeStarting,
			model: simulate.Model{Kubelets: []simulate.Kubelet{{NeverReady: &yes}}},
		},
		{
			name: "ready after all", why: "a later rule takes it back", end: simulate.EndDone, state: simulate.NodeNew,
			model: simulate.Model{Kubelets: []simulate.Kubelet{{NeverReady: &yes, NoImage: &yes}, {NeverReady: &no, NoImage: &no}}},
		},
		{
			name: "no image", why: "the run is stuck", end: simulate.EndStuck, state: simulate.NodeBroken,
			model: simulate.Model{Kubelets: []simulate.Kubelet{{NoImage: &yes}}},
		},
		{
			name: "crashes twice", why: "1 s, 10 s, 1 s, 20 s, then 3 s", end: simulate.EndDone, after: 35 * time.Second, state: simulate.NodeNew, restarts: 2,
			model: simulate.Model{Kubelets: []simulate.Kubelet{ready, {Crash: simulate.Fixed(time.Second), Crashes: 2}}},
		},
		{
			name: "crashes when it is ready", why: "and has to become so again", end: simulate.EndDone, after: 17 * time.Second, state: simulate.NodeNew, restarts: 1,
			model: simulate.Model{Kubelets: []simulate.Kubelet{ready, {Crash: simulate.Fixed(4 * time.Second), Crashes: 1}}},
		},
		{
			name: "crashes for ever", why: "that keeps the run from its end for a while only", end: simulate.EndStuck, state: simulate.NodeBroken, restarts: 12,
			model: simulate.Model{Kubelets: []simulate.Kubelet{ready, {Crash: simulate.Fixed(time.Second)}}},
		},
		{
			name: "fails", why: "M2 makes another, with a back-off, for ever", end: simulate.EndLimit, state: simulate.NodeBroken,
			model: simulate.Model{Kubelets: []simulate.Kubelet{ready, {Fail: simulate.Fixed(time.Second)}}},
		},
		{
			name: "no room", why: "the scheduler says so", end: simulate.EndStuck, state: simulate.NodePending,
			spec: rollouttest.Spec("agent", rollouttest.Requests(corev1.ResourceCPU, "600m")),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.why == "" {
				t.Fatal("why?")
			}
			if c.spec.Name == "" {
				c.spec = rollouttest.Spec("agent", rollouttest.Requests(corev1.ResourceCPU, "400m"))
			}
			s, err := simulate.New(simulate.Scenario{
				Spec: c.spec, Model: c.model, Limit: 3 * time.Hour,
				Fleet: simulate.Fleet{Pools: []simulate.Pool{{
					Name: "web", Nodes: 1, Zones: []string{"a"},
					Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourcePods: resource.MustParse("2")},
					Used:        corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourcePods: resource.MustParse("1")},
				}, {Name: "other"}}},
			})
			if err != nil {
				t.Fatal(err)
			}
			report, err := s.Run(nil)
			if err != nil {
				t.Fatal(err)
			}
			if report.End != c.end || s.NodeState("web-00000") != c.state || report.Restarts != c.restarts || c.end == simulate.EndDone && report.Elapsed != c.after {
				t.Errorf("%v after %v, node %v, %d restarts\n%s", report.End, report.Elapsed, s.NodeState("web-00000"), report.Restarts, report)
			}
		})
	}
}

func TestHooksAreSeenTo(t *testing.T) {
	spec := rollouttest.Spec("agent", rollouttest.Image("agent:v2"), rollouttest.PodTemplateLabel("drain", "yes"),
		rollouttest.PreDelete(rollouttest.HookLabel("drain", "yes")))
	old := rollouttest.Spec("agent", rollouttest.Image("agent:v1"), rollouttest.PodTemplateLabel("drain", "yes"))
	scenario := simulate.Scenario{
		Spec: spec, Fleet: simulate.Fleet{Pools: []simulate.Pool{{Name: "web", Nodes: 2}}, Running: &old},
		Model: simulate.Model{Hooks: simulate.Fixed(7 * time.Second)},
	}
	report, err := simulate.Run(scenario)
	if err != nil || report.End != simulate.EndDone || report.Elapsed != 14*time.Second {
		t.Errorf("each node waits for its hook: %v\n%v", report, err)
	}
	scenario.Model.StubbornHooks = 1
	report, err = simulate.Run(scenario)
	if err != nil || report.End != simulate.EndStuck || report.Deleted != 0 {
		t.Errorf("nobody sees to the hooks: %v\n%v", report, err)
	}
}

// A canary that gives a revision up leaves every node where it is to be, and the rollout has not succeeded.
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

// A run goes on from what another came to, names and numbers included.
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

// What is under way in a snapshot goes on.
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
			report, err := simulate.Run(simulate.Scenario{Spec: simOld, Fleet: simulate.Fleet{Snapshot: &snapshot}, Model: simTimes(), Limit: time.Hour})
			if err != nil || report.End != c.end || report.Updated != 1 {
				t.Errorf("%v\n%v", report, err)
			}
		})
	}
}

// Rules about a new image are about the container that runs it, not about the one before.
func TestRulesOfAnImageWaitForIt(t *testing.T) {
	old := rollouttest.Spec("agent", rollouttest.Image("agent:v1"), rollouttest.InPlace())
	spec := rollouttest.Changed(old, rollouttest.Image("agent:v2"))
	var crashes []time.Duration
	s, err := simulate.New(simulate.Scenario{
		Spec:  old,
		Fleet: simulate.Fleet{Pools: []simulate.Pool{{Name: "web", Nodes: 1}}, Running: &old},
		Model: simulate.Model{Kubelets: []simulate.Kubelet{
			{Restart: simulate.Fixed(30 * time.Second)}, {Image: "agent:v2", Crash: simulate.Fixed(20 * time.Second), Crashes: 1},
		}},
		Events: []simulate.Event{{At: time.Hour, What: simulate.SetSpec, Spec: &spec}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Watch(func(s *simulate.Simulation) error {
		if s.NodeState("web-00000") == simulate.NodeBroken {
			crashes = append(crashes, s.Elapsed())
		}
		return nil
	})
	report, err := s.Run(nil)
	if err != nil || !report.Succeeded() || report.Created != 0 || report.Crashes != 1 {
		t.Fatalf("%v\n%v", report, err)
	}
	if want := []time.Duration{time.Hour + 50*time.Second}; !slices.Equal(crashes, want) {
		t.Errorf("crashes at %v, right is %v: 30 s until the container is stopped, and 20 s from its start", crashes, want)
	}
}

// A node that moves to another zone is counted there, in whatever state it is.
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

// A controller whose calls come to nothing does not ask again at once, whatever its rate.
func TestFailedCallsArePaused(t *testing.T) {
	report, err := simulate.Run(simulate.Scenario{
		Spec: simNew, Fleet: simPool(3), Limit: 20 * time.Second,
		Controller: simulate.Controller{FailedCalls: 1, CallsPerSecond: 1e6},
	})
	if err != nil || report.End != simulate.EndLimit || report.Plans < 10 || report.Plans > 25 {
		t.Errorf("%v\n%v", report, err)
	}
}

// A pod that has only other resources than its node is to give it serves while it is Ready (P8, B2), and is old.
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

// What a scenario has for nothing is on the report: a misspelt label would make a bad day a good one.
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

// What several events do to a node ends with the last of them.
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
			for i := range 5 { // something that happens, to look at
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

// A controller that has nothing to do crashes too, and loses what it knew of a canary (C6).
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

// Nodes that partitioned scaling leaves empty are where they are to end (T7).
func TestEmptyNodesCanBeTheEnd(t *testing.T) {
	spec := rollouttest.Spec("agent", rollouttest.Partition("2"), rollouttest.PartitionedScaling())
	report, err := simulate.Run(simulate.Scenario{Spec: spec, Fleet: simulate.Fleet{Pools: []simulate.Pool{{Name: "web", Nodes: 4}}}})
	if err != nil || report.End != simulate.EndDone || report.Created != 2 {
		t.Errorf("%v\n%v", report, err)
	}
}

// Pods of a dump run what they say, though a runtime reports the ID of an image in place of its name.
func TestDumpsOfOtherRuntimes(t *testing.T) {
	spec := rollouttest.Spec("agent", rollouttest.InPlace(), rollouttest.Resize(), rollouttest.Requests(corev1.ResourceCPU, "100m"))
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

// The order of a snapshot's pods means nothing, also where there is room for one of two only.
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
