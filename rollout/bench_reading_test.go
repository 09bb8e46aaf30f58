package rollout_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
)

// BenchmarkReading is a plan with the Reading of the plan before, on fleets like those of [BenchmarkPlan]. The lists come in
// another order each time, as listers give them. In the rows "changed" one node and one pod in a hundred were replaced since the
// plan before, as heartbeats and kubelets do. The rows "cold" have no Reading.
func BenchmarkReading(b *testing.B) {
	for _, profile := range []struct {
		name string
		old  func(i int) bool // the node's pod is outdated
	}{
		{name: "steady", old: func(int) bool { return false }},
		{name: "rollout", old: func(i int) bool { return i%2 == 0 }},
	} {
		for _, n := range sizesOr(benchSizes) {
			spec := benchSpec()
			planner, err := rollout.New(spec)
			if err != nil {
				b.Fatal(err)
			}
			snapshot := benchSnapshot(b, spec, n)
			for i, p := range snapshot.Pods {
				if profile.old(i) {
					p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = history.HashOf(snapshot.Revisions[0])
				}
			}
			for _, kind := range []string{"cold", "unchanged", "changed"} {
				b.Run(fmt.Sprintf("%s/%s/nodes=%d", profile.name, kind, n), func(b *testing.B) {
					turns := benchTurns(snapshot, kind == "changed")
					var reading *rollout.Reading
					var workspace *rollout.Workspace
					if kind != "cold" {
						workspace = new(rollout.Workspace)
					}
					plan := func(i int) {
						s := turns[i%len(turns)]
						if kind != "cold" {
							s.Reading = reading
						}
						plan, err := workspace.Plan(planner, s)
						if err != nil {
							b.Fatal(err)
						}
						reading = plan.Reading
					}
					plan(0)
					b.ReportAllocs()
					b.ResetTimer()
					i := 0
					for b.Loop() {
						i++
						plan(i)
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/node")
				})
			}
		}
	}
}

// benchTurns are snapshots that follow each other, over and over: the same objects in other orders, or with one in a hundred
// replaced by another version.
func benchTurns(snapshot rollout.Snapshot, changed bool) []rollout.Snapshot {
	random := rand.New(rand.NewPCG(3, 4))
	turns := make([]rollout.Snapshot, 4)
	for k := range turns {
		s := snapshot
		s.Nodes, s.Pods = slices.Clone(s.Nodes), slices.Clone(s.Pods)
		if changed {
			for i := k; i < len(s.Nodes); i += 100 {
				s.Nodes[i] = s.Nodes[i].DeepCopy()
			}
			for i := k + 50; i < len(s.Pods); i += 100 {
				s.Pods[i] = s.Pods[i].DeepCopy()
			}
		}
		shuffle(random, s.Nodes)
		shuffle(random, s.Pods)
		turns[k] = s
	}
	return turns
}

func shuffle[T *corev1.Node | *corev1.Pod](random *rand.Rand, list []T) {
	random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

// TestReadingIsSmall: a Reading keeps as many bytes a node as its documentation says, also after objects have been replaced.
func TestReadingIsSmall(t *testing.T) {
	const nodes, ofDecision = 10_000, 144
	const documented = 260 + ofDecision
	if size := unsafe.Sizeof(rollout.Decision{}); size != ofDecision {
		t.Errorf("a Decision is %d bytes: the documentation of Readings says %d", size, ofDecision)
	}
	spec := benchSpec()
	planner, err := rollout.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	turns := benchTurns(benchSnapshot(t, spec, nodes), true)
	before := inUse()
	reading := (*rollout.Reading)(nil)
	for i := range 8 {
		s := turns[i%len(turns)]
		s.Reading = reading
		claimed, err := planner.ClaimAndPlan(s)
		if err != nil {
			t.Fatal(err)
		}
		reading = claimed.Plan.Reading
	}
	if kept := int(inUse()-before) / nodes; kept > documented*11/10 {
		t.Errorf("a Reading keeps %d bytes a node: its documentation says %d", kept, documented)
	}
	runtime.KeepAlive(reading)
	runtime.KeepAlive(turns)
}

// inUse returns how many bytes of the heap are in use.
func inUse() int64 {
	runtime.GC()
	runtime.GC() // what the first one has freed is swept by then
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
