package simulate_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/daemonplan/daemonplan/internal/fuzzing"
	"github.com/daemonplan/daemonplan/internal/harness/draw"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// inputScenarioYAML has every field that a person would write.
const inputScenarioYAML = `
seed: 7
limit: 48h
fleet:
  now: 2026-03-02T09:15:00Z
  pools:
  - name: web
    nodes: 100
    zones: [a, b]
    racks: 4
    labels: {disk: ssd}
    taints:
    - {key: gpu, effect: NoSchedule}
    allocatable: {cpu: "4"}
    used: {cpu: 500m}
    bandwidth: 125M
    images: ["pause:3"]
model:
  schedule: 200ms
  kubelets:
  - create: 1s
    start: lognormal 4s p95 20s
    ready: 2s..8s
    stop: 1s
    restart: 3s
    resize: 4s
  - pool: web
    nodes: {disk: ssd}
    image: agent:v2
    revision: abc
    share: 0.03
    nodeShare: 0.02
    crash: exp 5m
    crashes: 3
    fail: 1h
    neverReady: true
    noImage: false
  registry:
    bandwidth: 1Gi
    nodeBandwidth: 1000000
    requests: 10.5
    sizes: {"agent:v2": 300Mi}
    size: 0.5Gi
    peerToPeer: true
    latency: 100ms
    failedPulls: 0.01
  hooks: 5s
  stubbornHooks: 0.1
controller:
  interval: 1s
  callsPerSecond: 20
  callBurst: 30
  lag: 0s..2s
  failedCalls: 0.01
  lostAnswers: 0.02
  crash: exp 1h
  restart: 30s
  losesMemory: true
events:
- {what: CordonNode, at: 5m, every: exp 10m, until: 2h, count: 2, for: 10m}
- {what: TaintNode, at: 90s, node: web-00003, taint: {key: x, value: "y", effect: NoExecute}}
- {what: LabelNode, share: 0.5, pool: web, nodes: {disk: ssd}, labels: {disk: ""}}
- {what: AddNodes, at: 1h, join: {name: db, nodes: 3}}
- {what: GiveCommands, at: 2h, commands: {pause: "*"}}
`

func inputScenario() simulate.Scenario {
	const s, m, h = time.Second, time.Minute, time.Hour
	return simulate.Scenario{
		Seed: 7, Limit: 48 * h,
		Fleet: simulate.Fleet{
			Now: time.Date(2026, 3, 2, 9, 15, 0, 0, time.UTC),
			Pools: []simulate.Pool{{
				Name: "web", Nodes: 100, Zones: []string{"a", "b"}, Racks: 4, Labels: map[string]string{"disk": "ssd"},
				Taints:      []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}},
				Allocatable: corev1.ResourceList{"cpu": resource.MustParse("4")},
				Used:        corev1.ResourceList{"cpu": resource.MustParse("500m")},
				Bandwidth:   125_000_000, Images: []string{"pause:3"},
			}},
		},
		Model: simulate.Model{
			Schedule: simulate.Fixed(200 * time.Millisecond),
			Kubelets: []simulate.Kubelet{
				{
					Create: simulate.Fixed(s), Start: simulate.LogNormal(4*s, 20*s), Ready: simulate.Uniform(2*s, 8*s),
					Stop: simulate.Fixed(s), Restart: simulate.Fixed(3 * s), Resize: simulate.Fixed(4 * s),
				},
				{
					Pool: "web", Nodes: map[string]string{"disk": "ssd"}, Image: "agent:v2", Revision: "abc", Share: 0.03, NodeShare: 0.02,
					Crash: simulate.Exponential(5 * m), Crashes: 3, Fail: simulate.Fixed(h),
					NeverReady: new(true), NoImage: new(false),
				},
			},
			Registry: simulate.Registry{
				Bandwidth: 1 << 30, NodeBandwidth: 1_000_000, Requests: 10.5, Sizes: map[string]int64{"agent:v2": 300 << 20},
				Size: 1 << 29, PeerToPeer: true, Latency: simulate.Fixed(100 * time.Millisecond), FailedPulls: 0.01,
			},
			Hooks: simulate.Fixed(5 * s), StubbornHooks: 0.1,
		},
		Controller: simulate.Controller{
			Interval: s, CallsPerSecond: 20, CallBurst: 30, Lag: simulate.Uniform(0, 2*s), FailedCalls: 0.01, LostAnswers: 0.02,
			Crash: simulate.Exponential(h), Restart: simulate.Fixed(30 * s), LosesMemory: true,
		},
		Events: []simulate.Event{
			{What: simulate.CordonNode, At: 5 * m, Every: simulate.Exponential(10 * m), Until: 2 * h, Count: 2, For: simulate.Fixed(10 * m)},
			{What: simulate.TaintNode, At: 90 * s, Node: "web-00003", Taint: corev1.Taint{Key: "x", Value: "y", Effect: corev1.TaintEffectNoExecute}},
			{What: simulate.LabelNode, Share: 0.5, Pool: "web", Nodes: map[string]string{"disk": "ssd"}, Labels: map[string]string{"disk": ""}},
			{What: simulate.AddNodes, At: h, Join: simulate.Pool{Name: "db", Nodes: 3}},
			{What: simulate.GiveCommands, At: 2 * h, Commands: canary.Commands{Pause: "*"}},
		},
	}
}

// inputEqual compares inputs. Distributions are compared by value, quantities by amount.
var inputEqual = cmp.Options{
	cmp.Comparer(func(a, b simulate.Distribution) bool { return a == b }),
	cmp.Comparer(func(a, b resource.Quantity) bool { return a.Cmp(b) == 0 }),
	cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) }),
	cmpopts.IgnoreFields(simulate.Scenario{}, "Planner", "History"),
}

func TestScenarioFromYAML(t *testing.T) {
	var got simulate.Scenario
	if err := yaml.UnmarshalStrict([]byte(inputScenarioYAML), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(inputScenario(), got, inputEqual); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	got.Spec = kit.Spec("agent")
	if err := got.Validate(); err != nil {
		t.Errorf("with a spec it is valid, but: %v", err)
	}
	text, err := yaml.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"at: 5m0s", "every: exp 10m0s", "until: 2h0m0s", "limit: 48h0m0s", "interval: 1s", "what: CordonNode", "for: 10m0s"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("as YAML it has no %q:\n%s", want, text)
		}
	}
	var back simulate.Scenario
	if err := yaml.UnmarshalStrict(text, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, back, inputEqual); diff != "" {
		t.Errorf("written and read, -want +got:\n%s", diff)
	}
}

// Unset fields do not appear in the text.
func TestScenarioIsBrief(t *testing.T) {
	for what, value := range map[string]any{
		"scenario": simulate.Scenario{}, "controller": simulate.Controller{}, "event": simulate.Event{}, "fleet": simulate.Fleet{},
		"model": simulate.Model{}, "kubelet": simulate.Kubelet{}, "registry": simulate.Registry{}, "pool": simulate.Pool{},
	} {
		if text, err := json.Marshal(value); err != nil || string(text) != "{}" {
			t.Errorf("an empty %s is %s, error %v", what, text, err)
		}
	}
}

func TestScenarioMistakes(t *testing.T) {
	tests := []struct{ name, why, yaml, want string }{
		{"unknown field", "a misspelt one must not go unnoticed", "sede: 7", `unknown field "sede"`},
		{"unknown field of an event", "and where it is", "events: [{what: DrainNode}, {evry: 5s}]", `events[1]: json: unknown field "evry"`},
		{"unknown field of the controller", "and where it is", "controller: {lagg: 5s}", `controller: json: unknown field "lagg"`},
		{"unknown field of the registry", "and where it is", "model: {registry: {siz: 5}}", `registry: json: unknown field "siz"`},
		{"unknown field of a pool", "and where it is", "fleet: {pools: [{nam: web}]}", `pool: json: unknown field "nam"`},
		{"unknown field of a taint", "and where it is", "events: [{taint: {efect: NoExecute}}]", `events[0]: json: unknown field "efect"`},
		{"unknown event", "the words are listed", "events: [{what: DrainNodes}]", `events[0]: "DrainNodes" is none of AddNodes, RemoveNode`},
		{"duration without unit", "5 of what?", "limit: 5", `5 is no duration; one is a text with a unit, as 300ms, 5s, 1m30s and 2h have`},
		{"duration in words", "no such unit", "events: [{at: 5 minutes}]", `events[0]: "5 minutes" is no duration`},
		{"distribution", "clear what would be right", "model: {schedule: fast}", `distribution "fast": "fast" is no duration`},
		{"size in words", "clear what would be right", "model: {registry: {size: big}}", `registry: "big" is no number of bytes; one is 300000000, or a quantity such as 300Mi`},
		{"half a byte", "bytes are whole", "model: {registry: {size: 0.5}}", `0.5 is no number of bytes`},
		{"long nonsense", "the beginning is enough", "limit: [" + strings.Repeat("1, ", 60) + "1]", `[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1… is no duration`},
		{"true bytes", "neither number nor text", "model: {registry: {size: true}}", `true is no number of bytes`},
		{"too many bytes", "more than fit", "model: {registry: {size: 100E}}", `"100E" is no number of bytes`},
		{"too few bytes", "less than fit", "model: {registry: {size: -9223372036854775808}}", `-9223372036854775808 is no number of bytes`},
		{"endless bytes", "it would take for ever to read", `model: {registry: {size: "1e-99999999"}}`, "1e-99999999"},
		{"endless quantity behind a word", "whatever is written before it", `fleet: {pools: [{name: tree, used: {cpu: "1e-999999"}}]}`, "1e-999999: a quantity with so many digits"},
		{"endless tens", "zeros are digits", `model: {registry: {size: "10e-99999999"}}`, "10e-99999999: a quantity with so many digits"},
		{"no scenario", "it has fields", "true", "cannot unmarshal bool"},
		{"forty bytes of nonsense", "that is all of it, and nothing is left out", "model: {registry: {size: " + strings.Repeat("x", 38) + "}}", strings.Repeat("x", 38) + `" is no number of bytes`},
		{"endless quantity", "it would take for ever to read", `fleet: {pools: [{allocatable: {cpu: "1e-99999999"}}]}`, `1e-99999999: a quantity with so many digits, or so small an exponent, is not read`},
	}
	rows := inputRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			kept := simulate.Scenario{Seed: 3}
			err := yaml.Unmarshal([]byte(tt.yaml), &kept)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q: %s", err, tt.want, tt.why)
			}
			if kept.Seed != 3 {
				t.Errorf("after an error the seed is %d", kept.Seed)
			}
		})
	}
}

// These texts look like mistakes, and are none.
func TestScenarioIsRead(t *testing.T) {
	long := strings.Repeat("x", 130)
	rule := func(image string) simulate.Scenario {
		return simulate.Scenario{Model: simulate.Model{Kubelets: []simulate.Kubelet{{Image: image}}}}
	}
	size := func(bytes int64) simulate.Scenario {
		return simulate.Scenario{Model: simulate.Model{Registry: simulate.Registry{Size: bytes}}}
	}
	tests := []struct {
		name, why, yaml string
		want            simulate.Scenario
	}{
		{"most bytes", "as many as fit", "model: {registry: {size: 9223372036854775807}}", size(math.MaxInt64)},
		{"fewer than none", "Validate refuses them, with a path", "model: {registry: {size: -1000000000000000000}}", size(-1e18)},
		{"least bytes", "Validate refuses them, with a path", "model: {registry: {size: -9223372036854775807}}", size(-math.MaxInt64)},
		{"huge exponent", "one without a sign takes no time", `model: {kubelets: [{image: "1e99999999"}]}`, rule("1e99999999")},
		{"end of a name", "what comes after a letter is no number", `model: {kubelets: [{image: agex1e-99999999}]}`, rule("agex1e-99999999")},
		{"end of a UID", "a letter before it that is an e, too", `model: {kubelets: [{image: "axe1-5575-485e-85e8-58e1"}]}`, rule("axe1-5575-485e-85e8-58e1")},
		{"UID of digits", "it has more signs than a number", `model: {kubelets: [{image: "5575485e-85e8-5123-8123-581234567890"}]}`, rule("5575485e-85e8-5123-8123-581234567890")},
		{
			"small exponent", "a tenth, whatever is written before it", `fleet: {pools: [{allocatable: {` + long + `: 1, z: "100e-3"}}]}`,
			simulate.Scenario{Fleet: simulate.Fleet{Pools: []simulate.Pool{{
				Allocatable: corev1.ResourceList{corev1.ResourceName(long): resource.MustParse("1"), "z": resource.MustParse("0.1")},
			}}}},
		},
	}
	rows := inputRows{}
	for _, tt := range tests {
		rows.check(t, tt.name, tt.why)
		t.Run(tt.name, func(t *testing.T) {
			var got simulate.Scenario
			if err := yaml.Unmarshal([]byte(tt.yaml), &got); err != nil {
				t.Fatalf("error %v: %s", err, tt.why)
			}
			if diff := cmp.Diff(tt.want, got, inputEqual); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tt.why, diff)
			}
		})
	}
}

// A field with the value null is the same as a field that is absent.
func TestScenarioNull(t *testing.T) {
	var got simulate.Scenario
	text := "{seed: null, limit: null, events: null, model: {registry: {size: null, sizes: null}}, fleet: {pools: null}}"
	if err := yaml.Unmarshal([]byte(text), &got); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(simulate.Scenario{}, got, inputEqual); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Fields that have no text keep their values.
func TestScenarioKeepsFunctions(t *testing.T) {
	called := false
	s := simulate.Scenario{
		History: func(simulate.Record) { called = true },
		Planner: func(rollout.Spec) (simulate.PlanFunc, error) { return nil, nil },
	}
	if err := json.Unmarshal([]byte(`{"seed":5}`), &s); err != nil || s.Seed != 5 || s.History == nil || s.Planner == nil {
		t.Fatalf("%+v, error %v", s, err)
	}
	s.History(simulate.Record{})
	if !called {
		t.Error("it is another function")
	}
}

// The text of any scenario is read as the same scenario.
func TestScenarioRoundTrip(t *testing.T) { rapid.Check(t, inputRoundTrip) }

func FuzzScenarioRoundTrip(f *testing.F) { fuzzing.Property(f, rapid.MakeFuzz(inputRoundTrip)) }

func inputRoundTrip(t *rapid.T) {
	want := inputAnyScenario().Draw(t, "scenario")
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got simulate.Scenario
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if diff := cmp.Diff(want, got, inputEqual, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("-want +got:\n%s\nin %s", diff, text)
	}
}

// inputAnyScenario draws scenarios that need not be valid, but whose numbers can be written as text.
func inputAnyScenario() *rapid.Generator[simulate.Scenario] {
	return rapid.Custom(func(t *rapid.T) simulate.Scenario {
		text := rapid.SampledFrom([]string{"", "web", "a", "disk", "agent:v2", "<&>"})
		labels := rapid.MapOfN(text, text, 0, 2)
		d := inputDistribution()
		share := rapid.SampledFrom([]float64{0, 0.03, 1, -1, 2.5, 1e-9})
		count := rapid.SampledFrom([]int{0, 1, 7, -3, 1 << 40})
		size := rapid.SampledFrom([]int64{0, 1, 300 << 20, -7, 1<<62 + 1})
		span := rapid.Map(rapid.SampledFrom([]int64{0, 1, int64(time.Minute) + 1, -5, 1 << 62}), func(n int64) time.Duration { return time.Duration(n) })
		taint := rapid.Custom(func(t *rapid.T) corev1.Taint {
			return corev1.Taint{Key: text.Draw(t, "key"), Value: text.Draw(t, "value"), Effect: corev1.TaintEffect(text.Draw(t, "effect"))}
		})
		list := rapid.Custom(func(t *rapid.T) corev1.ResourceList {
			if rapid.Bool().Draw(t, "none") {
				return nil
			}
			return corev1.ResourceList{"cpu": resource.MustParse(rapid.SampledFrom([]string{"1", "500m", "-3", "1.5Gi"}).Draw(t, "cpu"))}
		})
		pool := rapid.Custom(func(t *rapid.T) simulate.Pool {
			return simulate.Pool{
				Name: text.Draw(t, "name"), Nodes: count.Draw(t, "nodes"), Zones: rapid.SliceOfN(text, 0, 2).Draw(t, "zones"),
				Racks: count.Draw(t, "racks"), Labels: labels.Draw(t, "labels"), Taints: rapid.SliceOfN(taint, 0, 2).Draw(t, "taints"),
				Allocatable: list.Draw(t, "allocatable"), Used: list.Draw(t, "used"), Bandwidth: size.Draw(t, "bandwidth"),
				Images: rapid.SliceOfN(text, 0, 2).Draw(t, "images"),
			}
		})
		kubelet := rapid.Custom(func(t *rapid.T) simulate.Kubelet {
			return simulate.Kubelet{
				Pool: text.Draw(t, "pool"), Nodes: labels.Draw(t, "nodes"), Image: text.Draw(t, "image"), Revision: text.Draw(t, "revision"),
				Share: share.Draw(t, "share"), NodeShare: share.Draw(t, "nodeShare"), Create: d.Draw(t, "create"), Start: d.Draw(t, "start"), Ready: d.Draw(t, "ready"),
				Stop: d.Draw(t, "stop"), Restart: d.Draw(t, "restart"), Resize: d.Draw(t, "resize"), Crash: d.Draw(t, "crash"),
				Crashes: count.Draw(t, "crashes"), Fail: d.Draw(t, "fail"),
				NeverReady: rapid.SampledFrom([]*bool{nil, new(true), new(false)}).Draw(t, "neverReady"),
				NoImage:    rapid.SampledFrom([]*bool{nil, new(true), new(false)}).Draw(t, "noImage"),
			}
		})
		event := rapid.Custom(func(t *rapid.T) simulate.Event {
			e := simulate.Event{
				At: span.Draw(t, "at"), Every: d.Draw(t, "every"), Until: span.Draw(t, "until"),
				What: simulate.What(rapid.IntRange(0, int(simulate.Whats)-1).Draw(t, "what")),
				Node: text.Draw(t, "node"), Pool: text.Draw(t, "pool"), Nodes: labels.Draw(t, "nodes"), Count: count.Draw(t, "count"),
				Share: share.Draw(t, "share"), For: d.Draw(t, "for"), Labels: labels.Draw(t, "labels"), Taint: taint.Draw(t, "taint"),
				Join: pool.Draw(t, "join"), Commands: canary.Commands{Pause: text.Draw(t, "pause"), Retry: text.Draw(t, "retry")},
			}
			if rapid.IntRange(0, 3).Draw(t, "spec") == 0 {
				spec := draw.AnySpec().Draw(t, "its spec")
				e.Spec = &spec
			}
			return e
		})
		s := simulate.Scenario{
			Seed: rapid.Uint64().Draw(t, "seed"), Limit: span.Draw(t, "limit"),
			Fleet: simulate.Fleet{Pools: rapid.SliceOfN(pool, 0, 2).Draw(t, "pools")},
			Model: simulate.Model{
				Schedule: d.Draw(t, "schedule"), Kubelets: rapid.SliceOfN(kubelet, 0, 2).Draw(t, "kubelets"),
				Registry: simulate.Registry{
					Bandwidth: size.Draw(t, "bandwidth"), NodeBandwidth: size.Draw(t, "nodeBandwidth"), Requests: share.Draw(t, "requests"),
					Sizes: rapid.MapOfN(text, size, 0, 2).Draw(t, "sizes"), Size: size.Draw(t, "size"),
					PeerToPeer: rapid.Bool().Draw(t, "peers"), Latency: d.Draw(t, "latency"), FailedPulls: share.Draw(t, "failed"),
				},
				Hooks: d.Draw(t, "hooks"), StubbornHooks: share.Draw(t, "stubborn"),
			},
			Controller: simulate.Controller{
				Interval: span.Draw(t, "interval"), CallsPerSecond: share.Draw(t, "calls"), CallBurst: 3, Lag: d.Draw(t, "lag"),
				FailedCalls: share.Draw(t, "failedCalls"), LostAnswers: share.Draw(t, "lost"), Crash: d.Draw(t, "crash"),
				Restart: d.Draw(t, "restart"), LosesMemory: rapid.Bool().Draw(t, "loses"),
			},
			Events: rapid.SliceOfN(event, 0, 2).Draw(t, "events"),
		}
		if rapid.Bool().Draw(t, "with a spec") {
			s.Spec = draw.AnySpec().Draw(t, "spec")
		}
		if rapid.IntRange(0, 3).Draw(t, "running") == 0 {
			spec := draw.AnySpec().Draw(t, "running spec")
			s.Fleet.Running = &spec
		}
		return s
	})
}
