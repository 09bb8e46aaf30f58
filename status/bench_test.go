package status_test

import (
	"fmt"
	"testing"

	"github.com/daemonplan/daemonplan/status"
)

func BenchmarkAdd(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		facts := make([]status.Facts, n)
		for i := range facts {
			facts[i] = status.Facts(i*7) % 32
		}
		want := countOracle(facts)
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			var c status.Counts
			for b.Loop() {
				c = status.Counts{}
				for _, f := range facts {
					c.Add(f)
				}
			}
			if c != want {
				b.Fatalf("counted %+v, want %+v", c, want)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/node")
		})
	}
}

func BenchmarkSummarize(b *testing.B) {
	in := underWay()
	in.Previous = status.Summarize(in).Conditions
	b.ReportAllocs()
	for b.Loop() {
		if s := status.Summarize(in); s.State != status.Updating {
			b.Fatal(s.State)
		}
	}
}
