package placement_test

import (
	"fmt"
	"testing"

	"github.com/daemonplan/daemonplan/placement"
)

// BenchmarkOverrides evaluates a whole fleet per operation, with five overrides. share=0: there are no overrides, and only
// annotations are looked for; share=none: they match no node; share=10%: they match a tenth of the nodes, every fourth of which two of them, and every second has an annotation.
func BenchmarkOverrides(b *testing.B) {
	for _, count := range []int{1_000, 15_000, 100_000} {
		for _, share := range []string{"0", "none", "10%"} {
			nodes := fleet(count)
			wanted := 0
			for i, node := range nodes {
				node.Annotations = map[string]string{
					"node.alpha.kubernetes.io/ttl": "0", "volumes.kubernetes.io/controller-managed-attach-detach": "true",
					"csi.volume.kubernetes.io/nodeid": fmt.Sprintf(`{"ebs.csi.aws.com":"i-%d"}`, i),
				}
				if share != "10%" || i%10 != 0 {
					continue
				}
				wanted++
				node.Labels["override"] = fmt.Sprint(i / 10 % 4)
				if i%20 == 0 {
					node.Annotations[placement.OverrideAnnotationPrefix+"ns.set.trace"] = fmt.Sprintf(`{"limits":{"cpu":"%d"}}`, i/20%5+1)
				}
			}
			list := []placement.Override{
				at("all", 0, byContainer{"agent": amounts("cpu", "2")}, "override", "0"),
				at("a", 1, byContainer{"agent": amounts("cpu", "3")}, "override", "0"),
				at("b", 2, byContainer{"agent": amounts("cpu", "4")}, "override", "1"),
				at("c", 3, byContainer{"agent": amounts("cpu", "5")}, "override", "2"),
				at("d", 4, byContainer{"agent": amounts("cpu", "6")}, "override", "3"),
			}
			if share == "0" {
				list = nil
			}
			overrides, err := placement.CompileOverrides("ns", "set", agent(), list)
			if err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("nodes=%d/share=%s/impl=evaluator", count, share), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					got := 0
					evaluator := overrides.Evaluator()
					for _, node := range nodes {
						if evaluator.Evaluate(node).Digest != "" {
							got++
						}
					}
					if got != wanted {
						b.Fatalf("%d nodes are overridden, want %d", got, wanted)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(count), "ns/node")
			})
			b.Run(fmt.Sprintf("nodes=%d/share=%s/impl=plain", count, share), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					got := 0
					for _, node := range nodes {
						if overrides.Evaluate(node).Digest != "" {
							got++
						}
					}
					if got != wanted {
						b.Fatalf("%d nodes are overridden, want %d", got, wanted)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(count), "ns/node")
			})
		}
	}
}
