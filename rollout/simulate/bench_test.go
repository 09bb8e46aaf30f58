package simulate_test

import (
	"fmt"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// BenchmarkRollout runs a whole rollout, with the generation of the fleet and the verification of every plan. The controller
// plans at most once a second. With fixed times all nodes change at the same instants, so there are few plans and each does much.
// With lognormal times there is something to do in each second. The peak memory is what the process has from the
// system, looked at once a second of the run.
func BenchmarkRollout(b *testing.B) {
	for _, times := range []struct {
		name        string
		stop, start simulate.Distribution
	}{
		{"fixed", simulate.Fixed(10 * time.Second), simulate.Fixed(20 * time.Second)},
		{"lognormal", simulate.LogNormal(5*time.Second, 20*time.Second), simulate.LogNormal(10*time.Second, 40*time.Second)},
	} {
		for _, nodes := range []int{1_000, 15_000, 100_000} {
			b.Run(fmt.Sprintf("%s/nodes=%d", times.name, nodes), func(b *testing.B) {
				running := rollouttest.Spec("agent", rollouttest.Image("agent:v1"))
				scenario := simulate.Scenario{
					Spec: rollouttest.Spec("agent", rollouttest.Image("agent:v2"), rollouttest.MaxUnavailable("5%"), rollouttest.Burst("100%")),
					Fleet: simulate.Fleet{
						Pools:   []simulate.Pool{{Name: "web", Nodes: nodes, Zones: []string{"a", "b", "c"}}},
						Running: &running,
					},
					Model: simulate.Model{
						Schedule: simulate.Fixed(100 * time.Millisecond),
						Kubelets: []simulate.Kubelet{{Stop: times.stop, Start: times.start, Ready: simulate.Fixed(5 * time.Second)}},
					},
					Controller: simulate.Controller{Interval: time.Second},
				}
				benchRun(b, scenario, nodes)
			})
		}
	}
}

func benchRun(b *testing.B, scenario simulate.Scenario, nodes int) {
	var peak uint64
	var plans int
	memory := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	b.ReportAllocs()
	for b.Loop() {
		s, err := simulate.New(scenario)
		if err != nil {
			b.Fatal(err)
		}
		at := time.Duration(-1)
		s.Watch(func(s *simulate.Simulation) error {
			if now := s.Elapsed().Truncate(time.Second); now != at {
				at = now
				metrics.Read(memory)
				peak = max(peak, memory[0].Value.Uint64()-memory[1].Value.Uint64())
			}
			return nil
		})
		report, err := s.Run(nil)
		if err != nil {
			b.Fatal(err)
		}
		if report.End != simulate.EndDone || report.Updated != nodes {
			b.Fatalf("%v, %d of %d nodes updated", report.End, report.Updated, nodes)
		}
		plans = report.Plans
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(nodes), "ns/node")
	b.ReportMetric(float64(peak)/(1<<20), "peak-MiB")
	b.ReportMetric(float64(plans), "plans/op")
}
