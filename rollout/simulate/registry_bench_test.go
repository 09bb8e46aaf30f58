package simulate

import (
	"fmt"
	"strconv"
	"testing"
	"time"
)

// All nodes of a fleet ask for an image at once. Each third of them has less bandwidth, and one of ten is removed during the
// pull.
func BenchmarkRegistry(b *testing.B) {
	for _, nodes := range []int{15_000, 100_000} {
		names := make([]string, nodes)
		for i := range names {
			names[i] = "node-" + strconv.Itoa(i)
		}
		for _, row := range []struct {
			name  string
			model Registry
		}{
			{"shared", Registry{Bandwidth: 5_000_000_000, NodeBandwidth: 100_000_000, Size: 500_000_000}},
			{"one after the other", Registry{
				Bandwidth: 50_000_000_000, NodeBandwidth: 100_000_000, Size: 500_000_000, Requests: 200,
				Latency: Uniform(100*time.Millisecond, time.Second), FailedPulls: 0.01,
			}},
			{"peers", Registry{
				Bandwidth: 5_000_000_000, NodeBandwidth: 100_000_000, Size: 500_000_000, Requests: 20, PeerToPeer: true,
			}},
		} {
			b.Run(fmt.Sprintf("%s/%d", row.name, nodes), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					r := newRegistry(row.model, 1)
					for i, node := range names {
						var bandwidth int64
						if i%3 == 0 {
							bandwidth = 10_000_000 * int64(1+i%4)
						}
						r.begin(0, node, "zone-"+strconv.Itoa(i%3), "image", bandwidth)
					}
					ended, gone := 0, 0
					for t, ok := r.next(); ok; t, ok = r.next() {
						ended += len(r.advance(t))
						if ended > 10*gone {
							r.forgetNode(t, names[gone*7%nodes])
							gone++
						}
					}
					if ended == 0 {
						b.Fatal("nothing ended")
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(nodes), "ns/pull")
			})
		}
	}
}
