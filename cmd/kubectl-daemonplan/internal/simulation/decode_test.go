package simulation

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/daemonplan/daemonplan/cmd/kubectl-daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

func TestReadWorld(t *testing.T) {
	file := write(t, "world.yaml", `
model:
  schedule: 1s..3s
  stubbornHooks: 2.5%
  registry:
    bandwidth: 1Gi
    nodeBandwidth: 125M
    requests: 20
    sizes: {"registry.example/agent:v2": 800M}
    failedPulls: 0.1
  kubelets:
  - pool: arm
    crash: 30s
    crashes: 3
    neverReady: true
    nodes: {arch: arm64}
controller:
  interval: 90s
  losesMemory: true
events:
- {at: 0, what: node not ready, share: 3%, for: 2h}
- {at: 1h30m, what: TaintNode, taint: {key: a, effect: NoSchedule}, every: exp 5m, until: 3h}
- {at: 2h, what: GiveCommands, commands: {validate: agent-1}}
- {at: 3h, what: AddNodes, join: {name: late, nodes: 2, used: {cpu: "1"}}}
`)
	w, err := readWorld(&objects.Files{}, opened(t, file))
	if err != nil {
		t.Fatal(err)
	}
	uniform, exp := simulate.Uniform(time.Second, 3*time.Second), simulate.Exponential(5*time.Minute)
	k, r := w.Model.Kubelets[0], w.Model.Registry
	for _, check := range []struct {
		name string
		ok   bool
	}{
		{"range", w.Model.Schedule == uniform},
		{"percentage", w.Model.StubbornHooks == 0.025},
		{"quantities", r.Bandwidth == 1<<30 && r.NodeBandwidth == 125e6 && r.Sizes["registry.example/agent:v2"] == 800e6},
		{"numbers", r.Requests == 20 && r.FailedPulls == 0.1 && k.Crashes == 3},
		{"fixed", k.Crash == simulate.Fixed(30*time.Second)},
		{"pointer", k.NeverReady != nil && *k.NeverReady && k.NoImage == nil},
		{"labels", k.Pool == "arm" && k.Nodes["arch"] == "arm64"},
		{"duration", w.Controller.Interval == 90*time.Second && w.Controller.LosesMemory},
		{"what in words", w.Events[0].What == simulate.NodeNotReady && w.Events[0].Share == 0.03},
		{"what as in Go", w.Events[1].What == simulate.TaintNode && w.Events[1].Every == exp && w.Events[1].Until == 3*time.Hour},
		{"Kubernetes' own", w.Events[1].Taint == corev1.Taint{Key: "a", Effect: corev1.TaintEffectNoSchedule}},
		{"commands", w.Events[2].Commands.Validate == "agent-1"},
		{"pool", w.Events[3].Join.Nodes == 2 && w.Events[3].Join.Used.Cpu().Equal(resource.MustParse("1"))},
	} {
		if !check.ok {
			t.Errorf("%s: read %+v", check.name, w)
		}
	}
}

func TestReadFleet(t *testing.T) {
	file := write(t, "fleet.yaml", `
now: 2026-03-02T09:15:00Z
pools:
- name: web
  nodes: 30
  zones: [a, b]
  racks: 2
  labels: {arch: arm64}
  taints: [{key: dedicated, value: web, effect: NoExecute}]
  allocatable: {cpu: "4", memory: 16Gi}
  bandwidth: 125M
  images: [registry.example/agent:v2]
- {name: db, nodes: 5}
`)
	fleet, err := readFleet(opened(t, file))
	if err != nil {
		t.Fatal(err)
	}
	web := fleet.Pools[0]
	if !fleet.Now.Equal(time.Date(2026, time.March, 2, 9, 15, 0, 0, time.UTC)) || len(fleet.Pools) != 2 ||
		web.Nodes != 30 || web.Racks != 2 || !slices.Equal(web.Zones, []string{"a", "b"}) || web.Labels["arch"] != "arm64" ||
		web.Taints[0].Effect != corev1.TaintEffectNoExecute || web.Allocatable.Memory().Value() != 16<<30 ||
		web.Bandwidth != 125e6 || web.Images[0] != "registry.example/agent:v2" {
		t.Errorf("read %+v", fleet)
	}
	small := scaled(fleet, 0.1)
	if small.Pools[0].Nodes != 3 || small.Pools[1].Nodes != 1 || fleet.Pools[0].Nodes != 30 {
		t.Errorf("a tenth is %d and %d nodes; the whole has %d", small.Pools[0].Nodes, small.Pools[1].Nodes, fleet.Pools[0].Nodes)
	}
}

// FuzzReadWorld checks that no file makes the program panic.
func FuzzReadWorld(f *testing.F) {
	for _, seed := range []string{
		"model: {schedule: 1s}", "events: [{at: 1s, what: SetSpec}]", "controller: {crash: exp 5m}", "model: {registry: {sizes: {a: 1}}}",
		"events: [{taint: {key: [a]}}]", "[]", "null", "model: 3", "events: {}", "a: &a [*a]",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var w world
		var fleet fleetFile
		errWorld := new(decoder).decode(objects.File{Name: "world.yaml", Text: data}, &w)
		errFleet := new(decoder).decode(objects.File{Name: "fleet.yaml", Text: data}, &fleet)
		if errWorld == nil && errFleet == nil {
			t.Errorf("%q is a world and a fleet", data)
		}
	})
}
