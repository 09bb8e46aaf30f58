package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// TestCorpus runs the seeds of past failures.
func TestCorpus(t *testing.T) {
	seeds, err := parseSeeds(corpus)
	if err != nil {
		t.Fatal(err)
	}
	for _, seed := range seeds {
		if out := check(scenario(seed), checkOptions{every: 50}); out.failure != nil {
			t.Errorf("seed %d: %s: %s", seed, out.failure.kind, out.failure.text)
		}
	}
}

// TestOraclesSee lets the planner and Verify go by one spec, and the oracles by another: what is right by the first is a bug
// by the second, which they have to see all by themselves.
func TestOraclesSee(t *testing.T) {
	tests := []struct {
		name, why string
		wanted    func(rollout.Spec) rollout.Spec
		kind      string
	}{
		{
			name: "budget", why: "one node more than wanted is taken down", kind: "budget",
			wanted: strategy(func(s *rollout.Strategy) {
				if s.MaxUnavailable != nil && s.MaxUnavailable.IntVal > 0 {
					less := *s.MaxUnavailable
					less.IntVal--
					s.MaxUnavailable = &less
				}
			}),
		},
		{
			name: "surge", why: "one node more than wanted has a new pod", kind: "surge",
			wanted: strategy(func(s *rollout.Strategy) {
				if s.MaxSurge != nil && s.MaxSurge.IntVal > 0 {
					less := *s.MaxSurge
					less.IntVal--
					s.MaxSurge = &less
				}
			}),
		},
		{
			name: "OnDelete", why: "no node is to be updated", kind: "held node updated",
			wanted: strategy(func(s *rollout.Strategy) { s.Type = rollout.OnDelete }),
		},
		{
			name: "paused", why: "no node is to be begun", kind: "held node updated",
			wanted: strategy(func(s *rollout.Strategy) { s.Paused = true }),
		},
		{
			name: "selector", why: "no node has this label", kind: "held node updated",
			wanted: func(s rollout.Spec) rollout.Spec { rollouttest.UpdateSelector("unheard", "of")(&s); return s },
		},
		{
			name: "partition", why: "half of the nodes are to be held", kind: "held node updated",
			wanted: func(s rollout.Spec) rollout.Spec { rollouttest.Partition("50%")(&s); return s },
		},
		{
			name: "frozen", why: "nothing is to be created or deleted", kind: "frozen",
			wanted: strategy(func(s *rollout.Strategy) { s.Frozen = true }),
		},
		{
			name: "canary", why: "the revision is to be tried on one node first", kind: "canary skipped",
			wanted: func(s rollout.Spec) rollout.Spec {
				s.Strategy.Canary = nil
				rollouttest.Canary("1")(&s)
				rollouttest.CanaryManual()(&s)
				return s
			},
		},
		{
			name: "hook", why: "every pod is hooked", kind: "hook ignored",
			wanted: func(s rollout.Spec) rollout.Spec {
				rollouttest.PreDelete(rollouttest.HookLabel("app", setName))(&s)
				return s
			},
		},
		{
			name: "replanning", why: "a planner that counts its plans is not pure", kind: "impure",
		},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		if test.name == "" || test.why == "" || seen[test.name] {
			t.Errorf("%q: a test needs a name of its own and a why", test.name)
		}
		seen[test.name] = true
		t.Run(test.name, func(t *testing.T) {
			const most = 200
			for seed := range uint64(most) {
				s, options := scenario(seed), checkOptions{wanted: test.wanted}
				if test.wanted == nil {
					s.Planner, options.every = counting, 5
				}
				if out := check(s, options); out.failure != nil && out.failure.kind == test.kind {
					t.Logf("found by seed no. %d", seed+1)
					return
				}
			}
			t.Errorf("%q was not found within %d seeds", test.kind, most)
		})
	}
}

func strategy(change func(*rollout.Strategy)) func(rollout.Spec) rollout.Spec {
	return func(s rollout.Spec) rollout.Spec {
		change(&s.Strategy)
		return s
	}
}

// counting makes planners whose plans ask to be made again ever earlier.
func counting(spec rollout.Spec) (simulate.PlanFunc, error) {
	planner, err := rollout.New(spec)
	plans := 0
	return func(s rollout.Snapshot) (rollout.Plan, error) {
		plan, err := planner.Plan(s)
		plans++
		plan.NextWake = s.Now.Add(time.Second / time.Duration(plans))
		return plan, err
	}, err
}

// still is a cluster that does not change.
type still struct {
	nodes []*corev1.Node
	pods  []*corev1.Pod
	state simulate.NodeState
	spec  rollout.Spec
}

func (s *still) Nodes() []*corev1.Node               { return s.nodes }
func (s *still) Pods() []*corev1.Pod                 { return s.pods }
func (s *still) NodeState(string) simulate.NodeState { return s.state }
func (s *still) Spec() rollout.Spec                  { return s.spec }

// onNode is a Ready pod of the spec on node a.
func onNode(name string, spec rollout.Spec) *corev1.Pod {
	return rollouttest.Pod(name, rollouttest.Of(spec), rollouttest.OnNode("a"))
}

func TestPods(t *testing.T) {
	spec := rollouttest.Spec(setName)
	other := rollouttest.Spec(setName, rollouttest.Image("agent:v2"))
	tests := []struct {
		name, why string
		pods      []*corev1.Pod
		want      string
	}{
		{name: "one of each", why: "surge has two on a node", pods: []*corev1.Pod{onNode("x", spec), onNode("y", other)}},
		{name: "two of one", why: "V3", pods: []*corev1.Pod{onNode("x", spec), onNode("y", spec)}, want: "two pods"},
		{
			name: "one is on its way out", why: "it does not live", pods: []*corev1.Pod{onNode("x", spec), func() *corev1.Pod {
				p := onNode("y", spec)
				p.DeletionTimestamp = &p.CreationTimestamp
				return p
			}()},
		},
		{
			name: "mislabelled", why: "the label says what the pod is (V9)", want: "not what its label says",
			pods: []*corev1.Pod{func() *corev1.Pod {
				p := onNode("x", spec)
				p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = rollouttest.Hash(other)
				return p
			}()},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.why == "" {
				t.Error("no why")
			}
			c := newChecker(&simulate.Scenario{Spec: other, Fleet: simulate.Fleet{Running: &spec}}, checkOptions{})
			c.sim = &still{pods: test.pods}
			wantBroken(t, c.pods(), test.want)
		})
	}
}

func wantBroken(t *testing.T, err error, oracle string) {
	t.Helper()
	found, _ := errors.AsType[*broken](err)
	switch {
	case oracle == "" && err != nil:
		t.Errorf("found %v", err)
	case oracle != "" && (found == nil || found.oracle != oracle):
		t.Errorf("found %v, want %s", err, oracle)
	}
}

// TestReleased: a hooked pod is deleted in the cluster although the plan did not show it as hooked.
func TestReleased(t *testing.T) {
	spec := rollouttest.Spec(setName, rollouttest.PreDelete(rollouttest.HookFinalizer(hookFinalizer)))
	for _, hooked := range []bool{true, false} {
		p := onNode("x", spec)
		if hooked {
			p.Finalizers = []string{hookFinalizer}
		}
		c := newChecker(&simulate.Scenario{Spec: spec}, checkOptions{})
		c.sim, c.step = &still{pods: []*corev1.Pod{p}}, &simulate.Step{Spec: spec}
		found := c.released(&simulate.Record{Kind: simulate.PodDeleted, Pod: "x", Node: "a"})
		if (found != nil) != hooked {
			t.Errorf("hooked %t: found %v", hooked, found)
		}
	}
}

// TestCounted holds a status to the cluster, and each counter of a wrong one is seen.
func TestCounted(t *testing.T) {
	spec := rollouttest.Spec(setName)
	cluster := &still{nodes: []*corev1.Node{rollouttest.Node("a"), rollouttest.Node("b")}, pods: []*corev1.Pod{onNode("x", spec)}}
	step := simulate.Step{Spec: spec, Snapshot: rollout.Snapshot{Now: rollouttest.Noon(), Nodes: cluster.nodes, Pods: cluster.pods}}
	planner, err := rollout.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	if step.Plan, err = planner.Plan(step.Snapshot); err != nil {
		t.Fatal(err)
	}
	counted := func(step simulate.Step) error {
		c := newChecker(&simulate.Scenario{Spec: spec}, checkOptions{})
		c.sim, c.runs = cluster, map[string]bool{"a": true, "b": true}
		return c.counted(&step)
	}
	wantBroken(t, counted(step), "")
	for i, spoil := range []func(*rollout.Plan){
		func(p *rollout.Plan) { p.Status.Desired++ }, func(p *rollout.Plan) { p.Status.Current++ },
		func(p *rollout.Plan) { p.Status.Ready++ }, func(p *rollout.Plan) { p.Status.Available-- },
		func(p *rollout.Plan) { p.Status.Updated-- },
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			other := step
			spoil(&other.Plan)
			wantBroken(t, counted(other), "status")
		})
	}
}

func TestThrash(t *testing.T) {
	create := &simulate.Record{Kind: simulate.PodCreated, Node: "a"}
	c := newChecker(&simulate.Scenario{Spec: rollouttest.Spec(setName)}, checkOptions{})
	for i := 1; i <= 3; i++ {
		if found := c.thrash(create); found != nil {
			t.Errorf("pod no. %d: %v", i, found)
		}
	}
	if c.thrash(create) == nil {
		t.Error("a fourth pod without a reason is not seen")
	}
	c.record(simulate.Record{Kind: simulate.EventHappened, Node: "a"})
	if found := c.thrash(create); found != nil {
		t.Errorf("something befell the node, and then: %v", found)
	}
}

func TestLive(t *testing.T) {
	spec := rollouttest.Spec(setName)
	paused := rollouttest.Spec(setName, rollouttest.Paused())
	manual := rollouttest.Spec(setName, rollouttest.CanaryManual())
	tests := []struct {
		name, why string
		spec      rollout.Spec
		model     simulate.Model
		end       simulate.End
		want      string
	}{
		{name: "done", why: "that is what is wanted", spec: spec, end: simulate.EndDone},
		{name: "stuck", why: "nothing keeps it", spec: spec, end: simulate.EndStuck, want: "stuck"},
		{name: "too long", why: "it goes on for ever", spec: spec, end: simulate.EndLimit, want: "stuck"},
		{name: "paused", why: "the user keeps it", spec: paused, end: simulate.EndStuck},
		{name: "manual", why: "the user is waited for", spec: manual, end: simulate.EndStuck},
		{
			name: "crashing", why: "the pods keep it", spec: spec, end: simulate.EndStuck,
			model: simulate.Model{Kubelets: []simulate.Kubelet{{Crash: simulate.Fixed(time.Second)}}},
		},
		{
			name: "crashing for a while", why: "it ends", spec: spec, end: simulate.EndStuck, want: "stuck",
			model: simulate.Model{Kubelets: []simulate.Kubelet{{Crash: simulate.Fixed(time.Second), Crashes: 1}}},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.why == "" {
				t.Error("no why")
			}
			c := newChecker(&simulate.Scenario{Spec: test.spec, Model: test.model}, checkOptions{})
			c.sim, c.step = &still{spec: test.spec}, &simulate.Step{}
			wantBroken(t, c.live(&simulate.Report{End: test.end}), test.want)
		})
	}
}

// TestPanicIsAFailure: a planner that panics does not end the program.
func TestPanicIsAFailure(t *testing.T) {
	s := scenario(1)
	s.Planner = func(rollout.Spec) (simulate.PlanFunc, error) {
		return func(rollout.Snapshot) (rollout.Plan, error) { panic(types.UID("oh")) }, nil
	}
	if out := check(s, checkOptions{}); out.failure == nil || out.failure.kind != "panic: oh" {
		t.Errorf("%+v", out.failure)
	}
}

// TestScenarios runs what past failures came down to: a change of the generator makes other scenarios of their seeds.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "scenarios", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(string(text), "# ") {
				t.Error("the first line is to be a comment that says what it found")
			}
			var s simulate.Scenario
			if err := yaml.Unmarshal(text, &s); err != nil {
				t.Fatal(err)
			}
			if out := check(s, checkOptions{every: 10}); out.failure != nil {
				t.Errorf("%s: %s", out.failure.kind, out.failure.text)
			}
		})
	}
}
