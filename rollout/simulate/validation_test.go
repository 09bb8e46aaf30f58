package simulate_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/internal/fuzzing"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// inputValid is a scenario without a mistake.
func inputValid() simulate.Scenario {
	return simulate.Scenario{
		Spec:  kit.Spec("agent"),
		Fleet: simulate.Fleet{Pools: []simulate.Pool{{Name: "web", Nodes: 3, Zones: []string{"a", "b"}}}},
	}
}

func inputEvent(e simulate.Event) func(*simulate.Scenario) {
	return func(s *simulate.Scenario) { s.Events = append(s.Events, e) }
}

func inputKubelet(k simulate.Kubelet) func(*simulate.Scenario) {
	return func(s *simulate.Scenario) { s.Model.Kubelets = append(s.Model.Kubelets, k) }
}

func inputPoolOf(p simulate.Pool) func(*simulate.Scenario) {
	return func(s *simulate.Scenario) { s.Fleet.Pools = append(s.Fleet.Pools, p) }
}

func TestValidate(t *testing.T) {
	const s, long = time.Second, simulate.Longest + 1
	negative, reversed := simulate.Fixed(-s), simulate.Uniform(2*s, s)
	other, broken := kit.Spec("other"), kit.Spec("agent", kit.Burst("0"))
	spec := kit.Spec("agent")
	drain := simulate.Event{What: simulate.DrainNode}
	with := func(e simulate.Event, change func(*simulate.Event)) func(*simulate.Scenario) {
		change(&e)
		return inputEvent(e)
	}
	taint := corev1.Taint{Key: "x", Effect: corev1.TaintEffectNoExecute}
	tests := []struct {
		name, why string
		change    func(*simulate.Scenario)
		want      string // the fields, with what is wrong; empty: it is valid
	}{
		{"nothing", "the scenario that others change", func(*simulate.Scenario) {}, ""},
		{"empty", "a spec is all that is required", func(s *simulate.Scenario) { *s = simulate.Scenario{Spec: s.Spec} }, ""},
		{"no spec", "there is nothing to roll out", func(s *simulate.Scenario) { s.Spec = rollout.Spec{} },
			"spec.name: Required; spec.selector: Required; spec.template.spec.containers: Required"},
		{"broken spec", "as rollout.New says", func(s *simulate.Scenario) { s.Spec = broken }, "spec.burst: Invalid"},
		{"negative limit", "time goes on", func(s *simulate.Scenario) { s.Limit = -1 }, "limit: Invalid"},
		{"longest limit", "ten years are a lot", func(s *simulate.Scenario) { s.Limit = simulate.Longest }, ""},
		{"endless limit", "instants must not overflow", func(s *simulate.Scenario) { s.Limit = long }, "limit: Invalid"},

		{"pool without a name", "nodes are named after it", inputPoolOf(simulate.Pool{Nodes: 1}), "fleet.pools[1].name: Required"},
		{"pool in capitals", "no node can be called so", inputPoolOf(simulate.Pool{Name: "Web"}), "fleet.pools[1].name: Invalid"},
		{"longest name", "56 characters, a dash and six digits are 63", inputPoolOf(simulate.Pool{Name: strings.Repeat("x", 55)}), ""},
		{"name too long", "the label of the host has at most 63", inputPoolOf(simulate.Pool{Name: strings.Repeat("x", 56)}), "fleet.pools[1].name: Invalid"},
		{"two of a name", "their nodes would have the same names", inputPoolOf(simulate.Pool{Name: "web"}), "fleet.pools[1].name: Duplicate"},
		{"negative nodes", "fewer than none", inputPoolOf(simulate.Pool{Name: "x", Nodes: -1}), "fleet.pools[1].nodes: Invalid"},
		{"too many nodes", "no memory holds them", inputPoolOf(simulate.Pool{Name: "x", Nodes: 1_000_001}), "fleet.pools[1].nodes: Invalid; fleet.pools: Invalid"},
		{"too many together", "three and a million", inputPoolOf(simulate.Pool{Name: "x", Nodes: 1_000_000}), "fleet.pools: Invalid"},
		{"as many as may be", "three and the rest", inputPoolOf(simulate.Pool{Name: "x", Nodes: 999_997}), ""},
		{"pools without nodes", "they are none of the million", func(s *simulate.Scenario) {
			inputPoolOf(simulate.Pool{Name: "x", Nodes: 999_997})(s)
			inputPoolOf(simulate.Pool{Name: "y"})(s)
		}, ""},
		{"most negative", "sums must not overflow", inputPoolOf(simulate.Pool{Name: "x", Nodes: math.MinInt}), "fleet.pools[1].nodes: Invalid"},
		{"empty zone", "a zone has a name", inputPoolOf(simulate.Pool{Name: "x", Zones: []string{""}}), "fleet.pools[1].zones[0]: Required"},
		{"zone that is no label", "a label has it", inputPoolOf(simulate.Pool{Name: "x", Zones: []string{"a b"}}), "fleet.pools[1].zones[0]: Invalid"},
		{"zone twice", "they are taken in turn", inputPoolOf(simulate.Pool{Name: "x", Zones: []string{"a", "b", "a"}}), "fleet.pools[1].zones[2]: Duplicate"},
		{"negative racks", "fewer than none", inputPoolOf(simulate.Pool{Name: "x", Racks: -1}), "fleet.pools[1].racks: Invalid"},
		{"rack with a long name", "the label has at most 63", inputPoolOf(simulate.Pool{Name: "x", Racks: 10, Zones: []string{strings.Repeat("z", 60)}}), "fleet.pools[1].racks: Invalid"},
		{"rack that just fits", "63 characters", inputPoolOf(simulate.Pool{Name: "x", Racks: 9, Zones: []string{"a", strings.Repeat("z", 60)}}), ""},
		{"one rack with a long name", "the label has 64", inputPoolOf(simulate.Pool{Name: "x", Racks: 1, Zones: []string{strings.Repeat("y", 60), strings.Repeat("z", 61)}}), "fleet.pools[1].racks: Invalid"},
		{"rack of an earlier zone", "each zone has racks", inputPoolOf(simulate.Pool{Name: "x", Racks: 1, Zones: []string{strings.Repeat("z", 61), "a"}}), "fleet.pools[1].racks: Invalid"},
		{"longest zone", "without racks nothing is behind it", inputPoolOf(simulate.Pool{Name: "x", Zones: []string{strings.Repeat("z", 63)}}), ""},
		{"label that is none", "no node can have it", inputPoolOf(simulate.Pool{Name: "x", Labels: map[string]string{"a b": "x"}}), "fleet.pools[1].labels: Invalid"},
		{"label of the pool", "it is overwritten", inputPoolOf(simulate.Pool{Name: "x", Labels: map[string]string{simulate.PoolLabel: "y"}}), "fleet.pools[1].labels[daemonplan.io/pool]: Invalid"},
		{"label of the host", "it is overwritten", inputPoolOf(simulate.Pool{Name: "x", Labels: map[string]string{corev1.LabelHostname: "y"}}), "fleet.pools[1].labels[kubernetes.io/hostname]: Invalid"},
		{"label of the zone", "zones overwrite it", inputPoolOf(simulate.Pool{Name: "x", Zones: []string{"a"}, Labels: map[string]string{corev1.LabelTopologyZone: "y"}}), "fleet.pools[1].labels[topology.kubernetes.io/zone]: Invalid"},
		{"one zone by label", "without zones nothing does", inputPoolOf(simulate.Pool{Name: "x", Labels: map[string]string{corev1.LabelTopologyZone: "y", simulate.RackLabel: "r"}}), ""},
		{"label of the rack", "racks overwrite it", inputPoolOf(simulate.Pool{Name: "x", Racks: 1, Labels: map[string]string{simulate.RackLabel: "y"}}), "fleet.pools[1].labels[daemonplan.io/rack]: Invalid"},
		{"taint without a key", "no toleration could name it", inputPoolOf(simulate.Pool{Name: "x", Taints: []corev1.Taint{{Effect: "NoExecute"}}}), "fleet.pools[1].taints[0].key: Required"},
		{"taint without an effect", "it would do nothing", inputPoolOf(simulate.Pool{Name: "x", Taints: []corev1.Taint{{Key: "x"}}}), "fleet.pools[1].taints[0].effect: Required"},
		{"taint of no effect", "there are three", inputPoolOf(simulate.Pool{Name: "x", Taints: []corev1.Taint{{Key: "x", Effect: "NoRun"}}}), "fleet.pools[1].taints[0].effect: Unsupported"},
		{"taint of a bad key", "no node can have it", inputPoolOf(simulate.Pool{Name: "x", Taints: []corev1.Taint{{Key: "a b", Value: "c d", Effect: "NoExecute"}}}), "fleet.pools[1].taints[0].key: Invalid; fleet.pools[1].taints[0].value: Invalid"},
		{"negative resources", "less than none", inputPoolOf(simulate.Pool{Name: "x", Allocatable: corev1.ResourceList{"cpu": resource.MustParse("-1")}}), "fleet.pools[1].allocatable[cpu]: Invalid"},
		{"no resources", "none are a number", inputPoolOf(simulate.Pool{Name: "x", Allocatable: corev1.ResourceList{"cpu": resource.MustParse("0")}}), ""},
		{"huge resources", "to compute with them takes for ever", inputPoolOf(simulate.Pool{Name: "x", Used: corev1.ResourceList{"cpu": resource.MustParse("1e30")}}), "fleet.pools[1].used[cpu]: Invalid"},
		{"resource without a name", "of what?", inputPoolOf(simulate.Pool{Name: "x", Used: corev1.ResourceList{"": resource.MustParse("1")}}), "fleet.pools[1].used[]: Required"},
		{"negative bandwidth of a pool", "less than none", inputPoolOf(simulate.Pool{Name: "x", Bandwidth: -1}), "fleet.pools[1].bandwidth: Invalid"},
		{"image without a name", "nobody looks for it", inputPoolOf(simulate.Pool{Name: "x", Images: []string{"a", ""}}), "fleet.pools[1].images[1]: Required"},
		{"running what is broken", "as rollout.New says", func(s *simulate.Scenario) { s.Fleet.Running = &broken }, "fleet.running.burst: Invalid"},
		{"long ago", "API servers know no such time", func(s *simulate.Scenario) { s.Fleet.Now = time.Date(1969, 1, 1, 0, 0, 0, 0, time.UTC) }, "fleet.now: Invalid"},
		{"far ahead", "no text has such a time", func(s *simulate.Scenario) { s.Fleet.Now = time.Date(9001, 1, 1, 0, 0, 0, 0, time.UTC) }, "fleet.now: Invalid"},
		{"first and last year", "both are fine", func(s *simulate.Scenario) { s.Fleet.Now = time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC) }, ""},
		{"the last year", "it is fine, too", func(s *simulate.Scenario) { s.Fleet.Now = time.Date(9000, 12, 31, 0, 0, 0, 0, time.UTC) }, ""},
		{"what is no object", "a dump has none", func(s *simulate.Scenario) {
			s.Fleet.Snapshot = &rollout.Snapshot{Nodes: []*corev1.Node{nil, {}}, Pods: []*corev1.Pod{nil, {}}, Revisions: []*appsv1.ControllerRevision{nil, {}}}
		}, "fleet.snapshot.nodes[0]: Required; fleet.snapshot.nodes[1].metadata.name: Required; fleet.snapshot.pods[0]: Required; " +
			"fleet.snapshot.pods[1].metadata.uid: Required; fleet.snapshot.revisions[0]: Required; fleet.snapshot.revisions[1].metadata.name: Required"},
		{"objects twice", "names and UIDs are unique", func(s *simulate.Scenario) {
			s.Fleet.Snapshot = &rollout.Snapshot{
				Nodes: kit.Nodes("a", "b", "a"), Pods: []*corev1.Pod{kit.Pod("p"), kit.Pod("p")},
				Revisions: []*appsv1.ControllerRevision{kit.Revision(spec, 1), kit.Revision(spec, 2)},
			}
		}, "fleet.snapshot.nodes[2].metadata.name: Duplicate; fleet.snapshot.pods[1].metadata.uid: Duplicate; fleet.snapshot.revisions[1].metadata.name: Duplicate"},

		{"negative schedule", "time goes on", func(s *simulate.Scenario) { s.Model.Schedule = negative }, "model.schedule: Invalid"},
		{"negative hooks", "time goes on", func(s *simulate.Scenario) { s.Model.Hooks = negative }, "model.hooks: Invalid"},
		{"stubborn beyond 1", "all of them are 1", func(s *simulate.Scenario) { s.Model.StubbornHooks = 1.01 }, "model.stubbornHooks: Invalid"},
		{"stubborn NaN", "that is no share", func(s *simulate.Scenario) { s.Model.StubbornHooks = math.NaN() }, "model.stubbornHooks: Invalid"},
		{"all stubborn", "all of them are 1", func(s *simulate.Scenario) { s.Model.StubbornHooks = 1 }, ""},
		{"kubelet", "each of its durations", inputKubelet(simulate.Kubelet{
			Create: negative, Start: reversed, Ready: negative, Stop: negative, Restart: negative, Resize: negative, Crash: negative, Fail: negative,
		}), "model.kubelets[0].create: Invalid; model.kubelets[0].start: Invalid; model.kubelets[0].ready: Invalid; model.kubelets[0].stop: Invalid; " +
			"model.kubelets[0].restart: Invalid; model.kubelets[0].resize: Invalid; model.kubelets[0].crash: Invalid; model.kubelets[0].fail: Invalid"},
		{"kubelet's share", "negative", inputKubelet(simulate.Kubelet{Share: -0.1}), "model.kubelets[0].share: Invalid"},
		{"share of nodes", "more than all", inputKubelet(simulate.Kubelet{NodeShare: 1.1}), "model.kubelets[0].nodeShare: Invalid"},
		{"kubelet's crashes", "negative", inputKubelet(simulate.Kubelet{Crashes: -1}), "model.kubelets[0].crashes: Invalid"},
		{"kubelet's pool", "misspelt", inputKubelet(simulate.Kubelet{Pool: "wbe"}), "model.kubelets[0].pool: Unsupported"},
		{"registry", "each of its numbers", func(s *simulate.Scenario) {
			s.Model.Registry = simulate.Registry{
				Bandwidth: -1, NodeBandwidth: -1, Requests: -1, Sizes: map[string]int64{"a": -1, "b": 0, "c": -2}, Size: -1, Latency: negative,
				FailedPulls: 2,
			}
		}, "model.registry.bandwidth: Invalid; model.registry.nodeBandwidth: Invalid; model.registry.requests: Invalid; " +
			"model.registry.sizes[a]: Invalid; model.registry.sizes[c]: Invalid; model.registry.size: Invalid; " +
			"model.registry.latency: Invalid; model.registry.failedPulls: Invalid"},
		{"hardly any requests", "the next one would come in years", func(s *simulate.Scenario) { s.Model.Registry.Requests = 1e-300 }, "model.registry.requests: Invalid"},
		{"few requests", "the least", func(s *simulate.Scenario) { s.Model.Registry.Requests = 0.001 }, ""},

		{"controller", "each of its numbers", func(s *simulate.Scenario) {
			s.Controller = simulate.Controller{
				Interval: -1, CallsPerSecond: math.NaN(), Lag: negative, FailedCalls: -1, LostAnswers: 2, Crash: negative, Restart: negative,
			}
		}, "controller.interval: Invalid; controller.callsPerSecond: Invalid; controller.lag: Invalid; controller.failedCalls: Invalid; " +
			"controller.lostAnswers: Invalid; controller.crash: Invalid; controller.restart: Invalid"},
		{"infinitely many calls", "0 says so", func(s *simulate.Scenario) { s.Controller.CallsPerSecond = math.Inf(1) }, "controller.callsPerSecond: Invalid"},
		{"burst", "none, and more than can be", func(s *simulate.Scenario) { s.Controller.CallBurst = -1 }, "controller.callBurst: Invalid"},
		{"largest burst", "as large as may be", func(s *simulate.Scenario) { s.Controller.CallBurst = 1_000_000 }, ""},
		{"larger burst", "times would overflow", func(s *simulate.Scenario) { s.Controller.CallBurst = 1_000_001 }, "controller.callBurst: Invalid"},
		{"most calls", "as many as may be", func(s *simulate.Scenario) { s.Controller.CallsPerSecond = 1e9 }, ""},
		{"more than all calls", "no call is both", func(s *simulate.Scenario) { s.Controller.FailedCalls, s.Controller.LostAnswers = 0.6, 0.5 }, "controller.lostAnswers: Invalid"},
		{"all calls", "half of them each", func(s *simulate.Scenario) { s.Controller.FailedCalls, s.Controller.LostAnswers = 0.5, 0.5 }, ""},
		{"crashes without end", "it would never get on", func(s *simulate.Scenario) { s.Controller.Crash = simulate.Fixed(0) }, "controller.crash: Invalid"},
		{"restart at once", "it may", func(s *simulate.Scenario) { s.Controller.Restart = simulate.Fixed(0) }, ""},

		{"no what", "nothing happens", inputEvent(simulate.Event{}), "events[0].what: Required"},
		{"unknown what", "nobody knows", inputEvent(simulate.Event{What: 200}), "events[0].what: Unsupported"},
		{"first unknown", "just beyond the last", inputEvent(simulate.Event{What: simulate.Whats}), "events[0].what: Unsupported"},
		{"drain", "one node of all", inputEvent(drain), ""},
		{"negative at", "before the beginning", with(drain, func(e *simulate.Event) { e.At = -1 }), "events[0].at: Invalid"},
		{"at once again and again", "a run would not get past it", with(drain, func(e *simulate.Event) { e.Every = simulate.Fixed(0) }), "events[0].every: Invalid"},
		{"every millisecond", "the most often", with(drain, func(e *simulate.Event) { e.Every = simulate.Fixed(time.Millisecond) }), ""},
		{"a little more often", "too often", with(drain, func(e *simulate.Event) { e.Every = simulate.Fixed(time.Millisecond - 1) }), "events[0].every: Invalid"},
		{"broken every", "said once", with(drain, func(e *simulate.Event) { e.Every = negative }), "events[0].every: Invalid"},
		{"until without every", "it happens once", with(drain, func(e *simulate.Event) { e.Until = s }), "events[0].until: Forbidden"},
		{"until before at", "it would not happen", with(drain, func(e *simulate.Event) { e.At, e.Until, e.Every = 2*s, s, simulate.Fixed(s) }), "events[0].until: Invalid"},
		{"until at", "it happens once", with(drain, func(e *simulate.Event) { e.At, e.Until, e.Every = s, s, simulate.Fixed(s) }), ""},
		{"negative until", "before the beginning", with(drain, func(e *simulate.Event) { e.Until = -s }), "events[0].until: Invalid"},
		{"share beyond 1", "all of them are 1", with(drain, func(e *simulate.Event) { e.Share = 1.5 }), "events[0].share: Invalid"},
		{"negative count", "fewer than none", with(drain, func(e *simulate.Event) { e.Count = -1 }), "events[0].count: Invalid"},
		{"count and share", "which?", with(drain, func(e *simulate.Event) { e.Count, e.Share = 1, 0.5 }), "events[0].share: Forbidden"},
		{"unknown pool", "misspelt", with(drain, func(e *simulate.Event) { e.Pool = "wbe" }), "events[0].pool: Unsupported"},
		{"labels of nodes", "no label", with(drain, func(e *simulate.Event) { e.Nodes = map[string]string{"a b": ""} }), "events[0].nodes: Invalid"},
		{"one node and more", "the name says it all", with(drain, func(e *simulate.Event) {
			e.Node, e.Pool, e.Nodes, e.Count, e.Share = "web-00001", "web", map[string]string{"a": "b"}, 1, 0.5
		}), "events[0].pool: Forbidden; events[0].nodes: Forbidden; events[0].count: Forbidden; events[0].share: Forbidden"},
		{"drain and its opposite", "what is not for it", with(drain, func(e *simulate.Event) {
			e.Labels, e.Taint, e.Join, e.Spec, e.Commands = map[string]string{"a": "b"}, taint, simulate.Pool{Nodes: 1}, &spec, canary.Commands{Fail: "*"}
		}), "events[0].labels: Forbidden; events[0].taint: Forbidden; events[0].join: Forbidden; events[0].spec: Forbidden; events[0].commands: Forbidden"},
		{"pool that does not join", "a drain brings none", with(drain, func(e *simulate.Event) { e.Pool, e.Join.Name = "late", "late" }),
			"events[0].pool: Unsupported; events[0].join: Forbidden"},
		{"for", "it ends", with(drain, func(e *simulate.Event) { e.For = simulate.Fixed(s) }), ""},
		{"negative for", "before it began", with(drain, func(e *simulate.Event) { e.For = negative }), "events[0].for: Invalid"},
		{"for what does not end", "a pod is not undeleted", inputEvent(simulate.Event{What: simulate.DeletePod, For: simulate.Fixed(s)}), "events[0].for: Forbidden"},
		{"no labels", "nothing would change", inputEvent(simulate.Event{What: simulate.LabelNode}), "events[0].labels: Required"},
		{"bad labels", "no node can have them", inputEvent(simulate.Event{What: simulate.LabelNode, Labels: map[string]string{"a b": "c"}}), "events[0].labels: Invalid"},
		{"label away", "an empty value takes it away", inputEvent(simulate.Event{What: simulate.LabelNode, Labels: map[string]string{"a": ""}}), ""},
		{"no taint", "nothing would change", inputEvent(simulate.Event{What: simulate.TaintNode}), "events[0].taint.key: Required; events[0].taint.effect: Required"},
		{"no taint to take away", "nothing would change", inputEvent(simulate.Event{What: simulate.UntaintNode}), "events[0].taint.key: Required; events[0].taint.effect: Required"},
		{"taint", "as it should be", inputEvent(simulate.Event{What: simulate.UntaintNode, Taint: taint}), ""},
		{"nobody joins", "nothing would change", inputEvent(simulate.Event{What: simulate.AddNodes, Join: simulate.Pool{Name: "x"}}), "events[0].join.nodes: Required"},
		{"who joins", "nodes are named after it", inputEvent(simulate.Event{What: simulate.AddNodes, Join: simulate.Pool{Nodes: 1}}), "events[0].join.name: Required"},
		{"more of a pool", "they are numbered on", inputEvent(simulate.Event{What: simulate.AddNodes, Join: simulate.Pool{Name: "web", Nodes: 1}}), ""},
		{"pool that joins later", "by then it is there", func(s *simulate.Scenario) {
			inputEvent(simulate.Event{What: simulate.DrainNode, Pool: "late"})(s)
			inputEvent(simulate.Event{What: simulate.AddNodes, Join: simulate.Pool{Name: "late", Nodes: 1}})(s)
		}, ""},
		{"pool by label", "nodes may be moved", func(s *simulate.Scenario) {
			inputEvent(simulate.Event{What: simulate.DrainNode, Pool: "any"})(s)
			inputEvent(simulate.Event{What: simulate.LabelNode, Labels: map[string]string{simulate.PoolLabel: "any"}})(s)
		}, ""},
		{"pool of the snapshot", "its nodes have the label", func(s *simulate.Scenario) {
			s.Fleet.Snapshot = &rollout.Snapshot{Nodes: []*corev1.Node{kit.Node("n", kit.Label(simulate.PoolLabel, "old"))}}
			inputEvent(simulate.Event{What: simulate.DrainNode, Pool: "old"})(s)
		}, ""},
		{"which joins", "it is Join that does", inputEvent(simulate.Event{What: simulate.AddNodes, Join: simulate.Pool{Name: "x", Nodes: 1}, Node: "x", Pool: "web", Nodes: map[string]string{"a": "b"}, Count: 2, Share: 1}),
			"events[0].node: Forbidden; events[0].pool: Forbidden; events[0].nodes: Forbidden; events[0].count: Forbidden; events[0].share: Forbidden"},
		{"no new spec", "nothing would change", inputEvent(simulate.Event{What: simulate.SetSpec}), "events[0].spec: Required"},
		{"new spec", "another image, say", inputEvent(simulate.Event{What: simulate.SetSpec, Spec: &spec}), ""},
		{"spec of another set", "it is one set", inputEvent(simulate.Event{What: simulate.SetSpec, Spec: &other}), "events[0].spec.name: Invalid; events[0].spec.uid: Invalid"},
		{"broken new spec", "as rollout.New says", inputEvent(simulate.Event{What: simulate.SetSpec, Spec: &broken}), "events[0].spec.burst: Invalid"},
		{"no commands", "they are taken back", inputEvent(simulate.Event{What: simulate.GiveCommands}), ""},
		{"commands on a node", "they are for the set", inputEvent(simulate.Event{What: simulate.GiveCommands, Node: "x"}), "events[0].node: Forbidden"},
		{"crash of a node's controller", "there is one", inputEvent(simulate.Event{What: simulate.CrashController, Count: 1}), "events[0].count: Forbidden"},
		{"a clock that is behind", "its controller plans with the past", inputEvent(simulate.Event{What: simulate.SetClock, Behind: time.Minute}), ""},
		{"a clock that is right again", "0 is a value like any other", inputEvent(simulate.Event{What: simulate.SetClock}), ""},
		{"a clock that is ahead", "it is not what one sets clocks to", inputEvent(simulate.Event{What: simulate.SetClock, Behind: -1}), "events[0].behind: Invalid"},
		{"the clock of a node", "the controller has one", inputEvent(simulate.Event{What: simulate.SetClock, Node: "x"}), "events[0].node: Forbidden"},
		{"a crash that is behind", "it is at once", inputEvent(simulate.Event{What: simulate.CrashController, Behind: 1}), "events[0].behind: Forbidden"},
		{"the third event", "it is the third", func(s *simulate.Scenario) {
			s.Events = []simulate.Event{drain, drain, {What: simulate.DrainNode, Share: -1}}
		}, "events[2].share: Invalid"},
		{"all at once", "whoever corrects one should not find the next", func(s *simulate.Scenario) {
			s.Limit, s.Controller.Interval, s.Model.StubbornHooks = -1, -1, 2
			inputEvent(simulate.Event{})(s)
			inputPoolOf(simulate.Pool{Name: "web"})(s)
		}, "fleet.pools[1].name: Duplicate; model.stubbornHooks: Invalid; controller.interval: Invalid; events[0].what: Required; limit: Invalid"},
	}
	rows := inputRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			scenario := inputValid()
			tt.change(&scenario)
			err := scenario.Validate()
			var got []string
			for _, mistake := range rollout.FieldErrors(err) {
				kind, _, _ := strings.Cut(mistake.Type.String(), " ")
				got = append(got, mistake.Field+": "+kind)
			}
			if text := strings.Join(got, "; "); text != tt.want || (err == nil) != (tt.want == "") {
				t.Errorf("got  %s\nwant %s\n%s; error %v", text, tt.want, tt.why, err)
			}
		})
	}
}

// Programs can read the fields from the error.
func TestValidateError(t *testing.T) {
	scenario := inputValid()
	scenario.Events = []simulate.Event{{What: simulate.DrainNode, Share: 1.5}}
	err := scenario.Validate()
	if err == nil || err.Error() != "events[0].share: Invalid value: 1.5: must be between 0 and 1" {
		t.Fatalf("it reads %v", err)
	}
	mistake, ok := errors.AsType[*field.Error](err)
	if !ok || mistake.Field != "events[0].share" || !errors.Is(err, mistake) || errors.Is(err, errors.New("another")) {
		t.Errorf("errors.As finds %v", mistake)
	}
}

// If a field has few possible values, the error lists them.
func TestValidateErrorListsWhatThereIs(t *testing.T) {
	tests := []struct {
		name, why string
		event     simulate.Event
		want      string
	}{
		{"pool", "those of the fleet", simulate.Event{What: simulate.DrainNode, Pool: "wbe"},
			`events[0].pool: Unsupported value: "wbe": supported values: "web"`},
		{"no effect", "those of taints", simulate.Event{What: simulate.TaintNode, Taint: corev1.Taint{Key: "x"}},
			`events[0].taint.effect: Required value: one of NoSchedule, PreferNoSchedule, NoExecute`},
	}
	rows := inputRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			scenario := inputValid()
			scenario.Events = []simulate.Event{tt.event}
			if err := scenario.Validate(); err == nil || err.Error() != tt.want {
				t.Errorf("%v, want %s: %s", err, tt.want, tt.why)
			}
		})
	}
	scenario := inputValid()
	scenario.Events = []simulate.Event{{What: 200}}
	if err := scenario.Validate(); err == nil || !strings.Contains(err.Error(), `supported values: "AddNodes", "RemoveNode"`) {
		t.Errorf("%v, want the words of all that may happen, in order, and no empty one", err)
	}
}

// Each field about nodes that join is a mistake if no nodes join.
func TestValidateRefusesEachFieldOfJoin(t *testing.T) {
	for name, join := range map[string]simulate.Pool{
		"name": {Name: "x"}, "nodes": {Nodes: 1}, "zones": {Zones: []string{"a"}}, "racks": {Racks: 1},
		"labels": {Labels: map[string]string{"a": "b"}}, "taints": {Taints: []corev1.Taint{{Key: "x"}}},
		"allocatable": {Allocatable: corev1.ResourceList{"cpu": {}}}, "used": {Used: corev1.ResourceList{"cpu": {}}},
		"bandwidth": {Bandwidth: 1}, "images": {Images: []string{"pause:3"}},
	} {
		scenario := inputValid()
		scenario.Events = []simulate.Event{{What: simulate.DrainNode, Join: join}}
		if err := scenario.Validate(); err == nil || err.Error() != "events[0].join: Forbidden: is for AddNodes" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// For any input there is an error or none, and never a panic. An input that is valid can be built.
func TestValidateNeverPanics(t *testing.T) { rapid.Check(t, inputNeverPanics) }

func FuzzValidate(f *testing.F) { fuzzing.Property(f, rapid.MakeFuzz(inputNeverPanics)) }

func inputNeverPanics(t *rapid.T) {
	scenario := inputAnyScenario().Draw(t, "scenario")
	for i := range scenario.Fleet.Pools {
		scenario.Fleet.Pools[i].Nodes = min(scenario.Fleet.Pools[i].Nodes, 20)
	}
	if rapid.Bool().Draw(t, "odd numbers") {
		odd := rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1)})
		scenario.Model.StubbornHooks, scenario.Controller.CallsPerSecond = odd.Draw(t, "hooks"), odd.Draw(t, "calls")
		for i := range scenario.Events {
			scenario.Events[i].Share, scenario.Events[i].What = odd.Draw(t, "share"), simulate.What(rapid.Uint8().Draw(t, "what"))
		}
	}
	if rapid.Bool().Draw(t, "odd objects") {
		scenario.Fleet.Snapshot = &rollout.Snapshot{Nodes: []*corev1.Node{nil, {}}, Pods: []*corev1.Pod{nil, {}}}
	}
	err := scenario.Validate()
	if (err == nil) != (len(rollout.FieldErrors(err)) == 0) {
		t.Fatalf("an error without mistakes: %v", err)
	}
	_, fleet := scenario.Fleet.Build()
	if inFleet := slices.ContainsFunc(rollout.FieldErrors(err), func(e *field.Error) bool { return strings.HasPrefix(e.Field, "fleet") }); inFleet != (fleet != nil) {
		t.Fatalf("the fleet is built with error %v, but the scenario is %v", fleet, err)
	}
}

func FuzzScenarioJSON(f *testing.F) {
	text, err := json.Marshal(inputScenario())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"fleet":{"pools":[{"name":"web","nodes":3,"racks":-1,"allocatable":{"cpu":"1e3"}}]},"events":[null,{"what":"AddNodes"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var scenario simulate.Scenario
		if json.Unmarshal(data, &scenario) != nil {
			return
		}
		_ = fmt.Sprint(scenario.Validate())
		if _, err := json.Marshal(scenario); err != nil && scenario.Validate() == nil {
			t.Fatalf("it is valid, but cannot be written: %v", err)
		}
	})
}
