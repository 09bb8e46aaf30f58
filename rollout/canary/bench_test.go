package canary_test

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/daemonplan/daemonplan/rollout/canary"
)

// BenchmarkChoose chooses 5% of the nodes anew, spread over three zones, and keeps a choice that stands.
func BenchmarkChoose(b *testing.B) {
	for _, n := range []int{1_000, 15_000} {
		all := make([]canary.Candidate, n)
		index := make(map[string]int, n)
		for i := range all {
			name := fmt.Sprintf("node-%05d", (i*7919)%n)
			all[i] = canary.Candidate{
				Name: name, Labels: map[string]string{"zone": []string{"a", "b", "c"}[i%3]}, Restarts: int32(i % 5),
			}
			index[name] = i
		}
		o := canary.Options{Replicas: new(intstr.FromString("5%"))}
		in := canary.Choosing{
			Desired: int32(n), All: slices.Values(all),
			Find: func(name string) (canary.Candidate, bool) { i, ok := index[name]; return all[i], ok },
		}
		spread := o
		spread.NodeAntiAffinityKeys = []string{"zone"}
		standing := in
		standing.Chosen = canary.Choose(spread, in).Nodes
		for _, bench := range []struct {
			name string
			o    canary.Options
			in   canary.Choosing
		}{{"anew", o, in}, {"spread", spread, in}, {"standing", spread, standing}} {
			b.Run(fmt.Sprintf("%s/%d", bench.name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if c := canary.Choose(bench.o, bench.in); len(c.Nodes) != n/20 {
						b.Fatal(len(c.Nodes))
					}
				}
			})
		}
	}
}

// BenchmarkJudge judges a canary of 750 nodes: 5% of 15,000.
func BenchmarkJudge(b *testing.B) {
	s := observing()
	s.in.Nodes, s.in.Wanted = nil, 750
	for i := range 750 {
		s.in.Nodes = append(s.in.Nodes, good(fmt.Sprintf("node-%03d", i)))
	}
	s.in.Record = s.judge().Record
	s.in.Now = noon().Add(1)
	b.ReportAllocs()
	for b.Loop() {
		if j := s.judge(); j.Reason != canary.Observing {
			b.Fatal(say(j))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/750, "ns/node")
}
