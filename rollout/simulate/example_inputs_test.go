package simulate_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/daemonplan/daemonplan/rollout"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

func ExampleFixed() {
	fmt.Println(simulate.Fixed(5 * time.Second))
	// Output: 5s
}

func ExampleUniform() {
	start := simulate.Uniform(2*time.Second, 8*time.Second)
	fmt.Println(start, "mean", start.Mean())
	// Output: 2s..8s mean 5s
}

func ExampleExponential() {
	fmt.Println(simulate.Exponential(time.Hour))
	// Output: exp 1h0m0s
}

func ExampleLogNormal() {
	start := simulate.LogNormal(4*time.Second, 20*time.Second)
	fmt.Println(start, "mean", start.Mean().Round(time.Millisecond))
	// Output: lognormal 4s p95 20s mean 6.456s
}

func ExampleParseDistribution() {
	start, err := simulate.ParseDistribution("lognormal 4s p95 20s")
	fmt.Println(start, err)
	_, err = simulate.ParseDistribution("8s..2s")
	fmt.Println(err)
	// Output:
	// lognormal 4s p95 20s <nil>
	// distribution "8s..2s": a range goes from the shorter to the longer duration: 2s..8s
}

func ExampleDistribution_IsZero() {
	var unset simulate.Distribution
	fmt.Println(unset.IsZero(), simulate.Fixed(0).IsZero())
	// Output: true false
}

func ExampleDistribution_Mean() {
	fmt.Println(simulate.Uniform(0, time.Minute).Mean())
	// Output: 30s
}

func ExampleDistribution_String() {
	fmt.Println(simulate.Exponential(90 * time.Second).String())
	// Output: exp 1m30s
}

func ExampleDistribution_MarshalText() {
	text, err := json.Marshal(simulate.Kubelet{Pool: "web", Start: simulate.Fixed(5 * time.Second)})
	fmt.Println(string(text), err)
	// Output: {"pool":"web","start":"5s"} <nil>
}

func ExampleDistribution_UnmarshalText() {
	var kubelet simulate.Kubelet
	err := yaml.UnmarshalStrict([]byte("{pool: web, start: 2s..8s}"), &kubelet)
	fmt.Println(kubelet.Start, err)
	// Output: 2s..8s <nil>
}

func ExampleFleet_Build() {
	spec := kit.Spec("agent")
	snapshot, err := simulate.Fleet{
		Pools:   []simulate.Pool{{Name: "web", Nodes: 3, Zones: []string{"a", "b"}}},
		Running: &spec,
	}.Build()
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, node := range snapshot.Nodes {
		fmt.Println(node.Name, node.Labels[corev1.LabelTopologyZone], snapshot.Pods[i].Status.Phase)
	}
	// Output:
	// web-00000 a Running
	// web-00001 b Running
	// web-00002 a Running
}

func ExampleScenario_Validate() {
	scenario := simulate.Scenario{
		Spec:   kit.Spec("agent"),
		Events: []simulate.Event{{What: simulate.DrainNode, Share: 3}, {What: simulate.SetSpec}},
	}
	for _, mistake := range rollout.FieldErrors(scenario.Validate()) {
		fmt.Println(mistake)
	}
	// Output:
	// events[0].share: Invalid value: 3: must be between 0 and 1
	// events[1].spec: Required value: is what is put in force
}

func ExampleScenario_UnmarshalJSON() {
	var scenario simulate.Scenario
	err := yaml.UnmarshalStrict([]byte(`
fleet:
  pools: [{name: web, nodes: 100}]
model:
  registry: {bandwidth: 125M, size: 300Mi}
events:
- {what: DrainNode, at: 5m, share: 0.03, for: exp 10m}
`), &scenario)
	event := scenario.Events[0]
	fmt.Println(scenario.Model.Registry.Size, event.What, event.At, event.For, err)
	err = yaml.UnmarshalStrict([]byte("events: [{what: DrainNode}, {what: DrainNode, evry: 1h}]"), &scenario)
	fmt.Println(err)
	// Output:
	// 314572800 DrainNode 5m0s exp 10m0s <nil>
	// error unmarshaling JSON: while decoding JSON: events[1]: json: unknown field "evry"
}

func ExampleScenario_MarshalJSON() {
	text, err := json.Marshal(simulate.Scenario{Seed: 7, Limit: 2 * time.Hour})
	fmt.Println(string(text), err)
	// Output: {"seed":7,"limit":"2h0m0s"} <nil>
}

func ExampleEvent_MarshalJSON() {
	text, err := json.Marshal(simulate.Event{What: simulate.CrashController, At: time.Minute})
	fmt.Println(string(text), err)
	// Output: {"what":"CrashController","at":"1m0s"} <nil>
}

func ExampleEvent_UnmarshalJSON() {
	var event simulate.Event
	err := json.Unmarshal([]byte(`{"what":"DrainNode","at":5}`), &event)
	fmt.Println(err)
	// Output: 5 is no duration; one is a text with a unit, as 300ms, 5s, 1m30s and 2h have
}

func ExampleController_MarshalJSON() {
	text, err := json.Marshal(simulate.Controller{Interval: time.Second, CallsPerSecond: 20})
	fmt.Println(string(text), err)
	// Output: {"callsPerSecond":20,"interval":"1s"} <nil>
}

func ExampleController_UnmarshalJSON() {
	var controller simulate.Controller
	err := yaml.Unmarshal([]byte("{interval: 1s, lag: 100ms..2s}"), &controller)
	fmt.Println(controller.Interval, controller.Lag, err)
	// Output: 1s 100ms..2s <nil>
}

func ExamplePool_UnmarshalJSON() {
	var pool simulate.Pool
	err := yaml.Unmarshal([]byte("{name: web, nodes: 3, bandwidth: 125M}"), &pool)
	fmt.Println(pool.Name, pool.Nodes, pool.Bandwidth, err)
	// Output: web 3 125000000 <nil>
}

func ExampleRegistry_UnmarshalJSON() {
	var registry simulate.Registry
	err := yaml.Unmarshal([]byte("{size: 300Mi, bandwidth: big}"), &registry)
	fmt.Println(err)
	// Output: error unmarshaling JSON: while decoding JSON: registry: "big" is no number of bytes; one is 300000000, or a quantity such as 300Mi
}

// A case is a spec and a snapshot in one file, for `kubectl daemonplan plan --case FILE`.
func ExampleReadCase() {
	text, err := simulate.Case{
		Spec:     kit.Spec("agent"),
		Snapshot: rollout.Snapshot{Now: kit.Noon(), Nodes: kit.Nodes("a", "b")},
	}.Encode()
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := simulate.ReadCase(text)
	fmt.Println(c.Spec.Name, len(c.Snapshot.Nodes), err)
	_, err = simulate.ReadCase([]byte(`{"spec":{}}`))
	fmt.Println(err)
	// Output:
	// agent 2 <nil>
	// case: snapshot: must be there, as Case.Encode writes it
}

func ExampleCase_Encode() {
	text, err := simulate.Case{}.Encode()
	fmt.Println(len(text) > 0, err)
	// Output: true <nil>
}

func ExampleStepError() {
	tooMany := errors.New("3 nodes of zone a are unavailable")
	var err error = &simulate.StepError{
		Seed: 7, Err: tooMany,
		Step: simulate.Step{Number: 12, At: 270 * time.Second, Snapshot: rollout.Snapshot{Now: kit.Noon()}},
	}
	fmt.Println(errors.Is(err, tooMany))
	fmt.Println(err)
	// Output:
	// true
	// simulate: seed 7, step 12, 4m30s after the beginning (2026-01-01T12:00:00Z): 3 nodes of zone a are unavailable
	// to see it again: run the scenario with seed 7 up to step 12, or write what Case of this error returns to a file with Encode, and plan it with: kubectl daemonplan plan --case FILE
}

func ExampleStepError_Case() {
	err := &simulate.StepError{Step: simulate.Step{Spec: kit.Spec("agent")}}
	fmt.Println(err.Case().Spec.Name)
	// Output: agent
}

func ExampleStep_Case() {
	step := simulate.Step{Spec: kit.Spec("agent")}
	fmt.Println(step.Case().Spec.Name)
	// Output: agent
}

func ExampleWhat() {
	var what simulate.What
	fmt.Println(simulate.CordonNode, what.UnmarshalText([]byte("DrainNode")), what == simulate.DrainNode)
	// Output: CordonNode <nil> true
}

func ExampleRecordKind() {
	fmt.Println(simulate.NodeChanged, simulate.ImagePulled)
	// Output: NodeChanged ImagePulled
}

func ExampleNodeState() {
	fmt.Println(simulate.NodeOld, simulate.NodeSurging, simulate.NodeNew)
	// Output: old surging new
}

func ExampleNodeState_Serving() {
	fmt.Println(simulate.NodeSurging.Serving(), simulate.NodeStarting.Serving())
	// Output: true false
}

func ExampleEnd() {
	text, err := json.Marshal(simulate.EndStuck)
	fmt.Println(string(text), err)
	// Output: "stuck" <nil>
}

func ExampleKnob() {
	fmt.Println(simulate.KnobMaxSurge)
	// Output: maxSurge
}
