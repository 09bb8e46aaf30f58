package simulate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// The tests of this file are about rules about kubelets, and about hooks.

func TestKubelets(t *testing.T) {
	yes, no := true, false
	ready := simulate.Kubelet{Ready: simulate.Fixed(3 * time.Second)}
	for _, c := range []struct {
		name, why string
		model     simulate.Model
		spec      rollout.Spec
		end       simulate.End
		after     time.Duration // duration of the run, if it is done
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
		rollouttest.PreDeleteHook(rollouttest.HookLabel("drain", "yes")))
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

// Rules about a new image apply to the container that runs it, not to the one before.
func TestRulesOfAnImageWaitForIt(t *testing.T) {
	old := rollouttest.Spec("agent", rollouttest.Image("agent:v1"), rollouttest.InPlaceIfPossible())
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

// TestNoSecondPod: with maxSurge a new pod is bound beside the old one, unless both want the same of the node. Then the run is stuck
// before any node is updated, and says why.
func TestNoSecondPod(t *testing.T) {
	port := func(number int32) rollouttest.SpecOption {
		return func(s *rollout.Spec) {
			s.Template.Spec.Containers = slices.Clone(s.Template.Spec.Containers)
			s.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: number}}
		}
	}
	old := rollouttest.Spec("agent", port(9100))
	for _, c := range []struct {
		name, why string
		change    rollouttest.SpecOption
		end       simulate.End
	}{
		{"the same port", "nothing is free beside the old pod", port(9100), simulate.EndStuck},
		{"another port", "the old pod keeps its own", port(9101), simulate.EndDone},
	} {
		spec := rollouttest.Changed(old, c.change)
		rollouttest.Image("agent:v2")(&spec)
		rollouttest.MaxSurge("1")(&spec)
		s, err := simulate.New(simulate.Scenario{
			Spec: spec, Fleet: simulate.Fleet{Pools: []simulate.Pool{{Name: "web", Nodes: 3}}, Running: &old},
		})
		if err != nil {
			t.Fatal(err)
		}
		report, err := s.Run(nil)
		if err != nil {
			t.Fatal(err)
		}
		if report.End != c.end {
			t.Errorf("%s: the run is %v, want %v: %s", c.name, report.End, c.end, c.why)
		}
		told := slices.ContainsFunc(s.Pods(), func(p *corev1.Pod) bool {
			return slices.ContainsFunc(p.Status.Conditions, func(condition corev1.PodCondition) bool {
				return strings.Contains(condition.Message, "both listen on a port of the host: 9100/TCP")
			})
		})
		if told != (c.end == simulate.EndStuck) {
			t.Errorf("%s: the pod says why it waits: %v: %s", c.name, told, c.why)
		}
	}
}

// A claim that only one pod may use keeps the new pod off the node while the old one is there, and pods of other nodes off theirs. A
// claim of a node, and one of many, does not.
func TestNoSecondPodWithTheClaim(t *testing.T) {
	volume := func(s *rollout.Spec) {
		s.Template.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "shared"},
		}}}
	}
	old := rollouttest.Spec("agent", volume)
	beside := rollouttest.Changed(old, rollouttest.Image("agent:v2"))
	rollouttest.MaxSurge("1")(&beside)
	leaves := simulate.Event{What: simulate.RemoveNode, Node: "web-00000", At: time.Minute}
	for _, test := range []struct {
		name, why string
		mode      corev1.PersistentVolumeAccessMode
		nodes     int // a single one runs the pod already
		spec      rollout.Spec
		events    []simulate.Event
		want      string
	}{
		{"beside", "the old pod has the claim", corev1.ReadWriteOncePod, 1, beside, nil, "stuck, 1 of 2 bound"},
		{"of a node", "both pods are on it", corev1.ReadWriteOnce, 1, beside, nil, "done, 1 of 1 bound"},
		{"several nodes", "the first pod has the claim", corev1.ReadWriteOncePod, 3, old, nil, "stuck, 1 of 3 bound"},
		{"of many", "all pods have the claim", corev1.ReadWriteMany, 3, old, nil, "done, 3 of 3 bound"},
		{
			"the node goes", "the claim goes to another pod once the first one is collected", corev1.ReadWriteOncePod, 3, old,
			[]simulate.Event{leaves}, "stuck, 1 of 2 bound",
		},
	} {
		claim := &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{test.mode},
		}}
		claim.Name, claim.Namespace = "shared", old.Default().Namespace
		fleet := simulate.Fleet{
			Pools: []simulate.Pool{{Name: "web", Nodes: test.nodes}}, Claims: []*corev1.PersistentVolumeClaim{nil, claim},
		}
		if test.nodes == 1 {
			fleet.Running = &old
		}
		s, err := simulate.New(simulate.Scenario{Spec: test.spec, Fleet: fleet, Events: test.events})
		if err != nil {
			t.Fatal(err)
		}
		report, err := s.Run(nil)
		bound := 0
		for _, pod := range s.Pods() {
			if pod.Spec.NodeName != "" {
				bound++
			}
		}
		if got := fmt.Sprintf("%v, %d of %d bound", report.End, bound, len(s.Pods())); err != nil || got != test.want {
			t.Errorf("%s: the run is %s, want %s: %s (error %v)", test.name, got, test.want, test.why, err)
		}
	}
}
