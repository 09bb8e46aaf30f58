package predownload_test

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/predownload"
)

// fleet is n candidates, each of which reports as many images as a kubelet does at most, with two names each.
func fleet(n int) []predownload.Candidate {
	var present []corev1.ContainerImage
	for i := range 50 {
		name := fmt.Sprintf("registry.example.com/team/app-%d", i)
		present = append(present, corev1.ContainerImage{Names: []string{name + "@sha256:" + fmt.Sprintf("%064d", i), name + ":v2"}})
	}
	candidates := make([]predownload.Candidate, n)
	for i := range candidates {
		candidates[i] = predownload.Candidate{Node: fmt.Sprintf("node-%06d", i), Present: present, Uses: []string{"registry.example.com/agent:v1"}}
	}
	return candidates
}

func BenchmarkSelect(b *testing.B) {
	for _, parallelism := range []*predownload.Options{{Parallelism: number(10)}, {Parallelism: text("10%")}} {
		for _, n := range []int{1_000, 10_000, 100_000} {
			candidates := fleet(n)
			in := predownload.Input{
				Now: noon, Options: *parallelism, Images: []string{"registry.example.com/agent:v2"}, Candidates: slices.Values(candidates),
				InFlight: []predownload.Request{{Node: candidates[0].Node, Image: "registry.example.com/agent:v2"}},
			}
			b.Run(fmt.Sprintf("parallelism=%s/nodes=%d", parallelism.Parallelism, n), func(b *testing.B) {
				b.ReportAllocs()
				pulls := 0
				for b.Loop() {
					pulls = len(predownload.Select(in).Pulls)
				}
				if want := 9; parallelism.Parallelism.StrVal == "" && pulls != want {
					b.Fatalf("%d pulls, want %d", pulls, want)
				}
				if want := n/10 - 1; parallelism.Parallelism.StrVal != "" && pulls != want {
					b.Fatalf("%d pulls, want %d", pulls, want)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/node")
			})
		}
	}
}

// BenchmarkReported looks for an image that is not among the 50 of a node: the most frequent question, and the longest.
func BenchmarkReported(b *testing.B) {
	present := fleet(1)[0].Present
	for _, image := range []string{"registry.example.com/agent:v3", "registry.example.com/agent:v2", "registry.example.com/agent"} {
		b.Run(image, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if predownload.Reported(present, image) {
					b.Fatal("it is there")
				}
			}
		})
	}
}

// TestSelectAllocations: with an integer parallelism what is allocated does not depend on how many nodes there are, and
// a percentage allocates for the pulls only.
func TestSelectAllocations(t *testing.T) {
	for _, test := range []struct {
		options predownload.Options
		most    float64
	}{{parallel(10), 40}, {percent("10%"), 80}} {
		in := predownload.Input{
			Now: noon, Options: test.options, Images: []string{"agent:v2"}, Candidates: slices.Values(fleet(10_000)),
		}
		if got := testing.AllocsPerRun(3, func() { predownload.Select(in) }); got > test.most {
			t.Errorf("parallelism %s: %v allocations, want at most %v", test.options.Parallelism, got, test.most)
		}
	}
}
