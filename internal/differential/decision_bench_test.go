package differential_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/daemonplan/daemonplan/internal/differential"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/history"
)

var (
	// The controller takes seconds a sync on larger fleets.
	comparedSizes = []int{1_000, 5_000, 15_000, 50_000}
	plannedSize   = 100_000
)

// BenchmarkDecision is all that is decided when a set is looked at once, on the same objects and in the same process:
//
//   - impl=controller is a sync of the real controller. Its informer stores are filled before, nothing is logged, and the
//     requests are only noted down;
//   - impl=plan is a plan of a compiled planner, impl=new+plan compiles it each time, and impl=first sorts out, too, which pods
//     and revisions are the set's, as a sync does. None of these three has read an object before;
//   - impl=warm claims and plans with the Reading of the call before, in one Workspace, on the same objects in another order, as a
//     lister gives them. impl=changed does so after one node and one pod in a hundred were replaced.
//
// impl=touch and impl=compare are floors: nobody who looks at each object takes less than the one, and nobody who asks of each
// pointer whether it is known takes less than the other.
//
// In steady state nothing is left to do or to write. In the middle of a rollout half of the pods are outdated, and 10 % of
// the nodes may be unavailable. What both decide is compared before it is timed.
func BenchmarkDecision(b *testing.B) {
	for _, scenario := range scenarios() {
		b.Run("scenario="+scenario.name, func(b *testing.B) {
			for _, nodes := range append(slices.Clone(comparedSizes), plannedSize) {
				b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) { scenario.run(b, nodes) })
			}
		})
	}
}

type scenario struct {
	name     string
	outdated func(i int) bool
	// deletes is how many pods are to be deleted at once: a tenth of the eligible nodes, as far as burst lets them.
	deletes func(eligible int) int
}

func scenarios() []scenario {
	return []scenario{
		{name: "steady", outdated: func(int) bool { return false }, deletes: func(int) int { return 0 }},
		{
			name:     "rollout",
			outdated: func(i int) bool { return i/3%2 == 0 }, // not aligned with taints and architectures
			deletes:  func(eligible int) int { return min((eligible+9)/10, burst) },
		},
	}
}

// burst is how many pods either side deletes at once if it is not told otherwise.
const burst = 250

func (s scenario) run(b *testing.B, nodes int) {
	f := newFleet(b, nodes, s.outdated)
	planner, err := rollout.New(f.spec)
	if err != nil {
		b.Fatal(err)
	}
	if err := s.check(f, decidedByPlan(b, planner, f)); err != nil {
		b.Fatal(err)
	}
	plan := func(p *rollout.Planner, snapshot rollout.Snapshot) {
		if _, err := p.Plan(snapshot); err != nil {
			b.Fatal(err)
		}
	}
	if nodes < plannedSize {
		controller := loaded(b, f)
		if err := s.check(f, decidedByController(b, controller)); err != nil {
			b.Fatal(err)
		}
		measure(b, "controller", nodes, func() {
			controller.Settle()
			if _, err := controller.Sync(); err != nil {
				b.Fatal(err)
			}
		})
	}
	f.measureFloor(b)
	measure(b, "plan", nodes, func() { plan(planner, f.snapshot) })
	measure(b, "new+plan", nodes, func() {
		compiled, err := rollout.New(f.spec)
		if err != nil {
			b.Fatal(err)
		}
		plan(compiled, f.snapshot)
	})
	measure(b, "first", nodes, func() {
		snapshot := f.snapshot
		snapshot.Pods, snapshot.Revisions = f.world.Pods, f.world.Revisions
		if _, err := planner.ClaimAndPlan(snapshot); err != nil {
			b.Fatal(err)
		}
	})
	for _, warm := range []struct {
		impl  string
		turns []rollout.Snapshot
	}{{"warm", turns(f, 0)}, {"changed", turns(f, 100)}} {
		var last rollout.Claimed
		var workspace rollout.Workspace
		i := 0
		claimAndPlan := func() {
			snapshot := warm.turns[i%len(warm.turns)]
			snapshot.Reading = last.Plan.Reading
			if last, err = workspace.ClaimAndPlan(planner, snapshot); err != nil {
				b.Fatal(err)
			}
			i++
		}
		for range warm.turns { // all turns have been taken once before the clock runs
			claimAndPlan()
			if err := s.check(f, decidedBy(&last.Plan, f)); err != nil {
				b.Fatal(err)
			}
		}
		measure(b, warm.impl, nodes, claimAndPlan)
	}
}

// measureFloor measures what only looks: a field of each node and pod once, or, in random order, whether each pointer is the one
// that stood in its place before.
func (f *fleet) measureFloor(b *testing.B) {
	nodes, pods := f.snapshot.Nodes, f.world.Pods
	measure(b, "touch", len(nodes), func() {
		generations := int64(0)
		for _, node := range nodes {
			generations += node.Generation
		}
		for _, pod := range pods {
			generations += pod.Generation
		}
		if generations < 0 {
			b.Fatal("a generation is negative")
		}
	})
	random := rand.New(rand.NewPCG(7, 8))
	inOrder, order := random.Perm(len(nodes)), random.Perm(len(pods))
	before, podsBefore := slices.Clone(nodes), slices.Clone(pods)
	measure(b, "compare", len(nodes), func() {
		for _, i := range inOrder {
			if nodes[i] != before[i] {
				b.Fatal("another node")
			}
		}
		for _, i := range order {
			if pods[i] != podsBefore[i] {
				b.Fatal("another pod")
			}
		}
	})
}

// turns are snapshots of all that is in the namespace, which follow each other over and over: the objects in another order each
// time, and of every so many nodes and pods one replaced by another version. With every = 0 none is.
func turns(f *fleet, every int) []rollout.Snapshot {
	random := rand.New(rand.NewPCG(5, 6))
	list := make([]rollout.Snapshot, 4)
	for k := range list {
		s := f.snapshot
		s.Nodes, s.Pods, s.Revisions = slices.Clone(s.Nodes), slices.Clone(f.world.Pods), f.world.Revisions
		if every > 0 {
			for i := k; i < len(s.Nodes); i += every {
				s.Nodes[i] = s.Nodes[i].DeepCopy()
			}
			for i := k + every/2; i < len(s.Pods); i += every {
				s.Pods[i] = s.Pods[i].DeepCopy()
			}
		}
		random.Shuffle(len(s.Nodes), func(i, j int) { s.Nodes[i], s.Nodes[j] = s.Nodes[j], s.Nodes[i] })
		random.Shuffle(len(s.Pods), func(i, j int) { s.Pods[i], s.Pods[j] = s.Pods[j], s.Pods[i] })
		list[k] = s
	}
	return list
}

func measure(b *testing.B, impl string, nodes int, decide func()) {
	b.Run("impl="+impl, func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			decide()
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(nodes), "ns/node")
	})
}

func loaded(tb testing.TB, f *fleet) *differential.Controller {
	tb.Helper()
	controller, err := differential.NewController()
	if err != nil {
		tb.Fatal(err)
	}
	if err := controller.Load(f.world); err != nil {
		tb.Fatal(err)
	}
	return controller
}

// decided is what one look at the set leads to.
type decided struct {
	deletes []string // of pods
	others  int      // writes of any other kind
}

func decidedByController(tb testing.TB, controller *differential.Controller) decided {
	tb.Helper()
	controller.Settle()
	r, err := controller.Sync()
	if err != nil {
		tb.Fatal(err)
	}
	others := len(r.Creates) + len(r.Adopts) + len(r.Releases) + len(r.Relabels) + len(r.Revisions)
	if r.Status != nil {
		others++
	}
	return decided{deletes: r.Deletes, others: others}
}

func decidedByPlan(tb testing.TB, planner *rollout.Planner, f *fleet) decided {
	tb.Helper()
	plan, err := planner.Plan(f.snapshot)
	if err != nil {
		tb.Fatal(err)
	}
	return decidedBy(&plan, f)
}

func decidedBy(plan *rollout.Plan, f *fleet) decided {
	d := decided{others: len(plan.Creates) + len(plan.Revisions) + len(plan.Patches) + len(plan.Pulls)}
	for _, del := range plan.Deletes {
		d.deletes = append(d.deletes, del.Pod)
	}
	if !reflect.DeepEqual(plan.Status.DaemonSetStatus(), f.world.Set.Status) {
		d.others++
	}
	return d
}

// check tells whether a side decides anything else than the scenario is about, so that no benchmark compares with nothing.
func (s scenario) check(f *fleet, d decided) error {
	eligible := eligibleOf(len(f.world.Nodes))
	desired, available := int(f.world.Set.Status.DesiredNumberScheduled), int(f.world.Set.Status.NumberAvailable)
	if desired != eligible || available != eligible {
		return fmt.Errorf("%d available of %d desired, want %d", available, desired, eligible)
	}
	outdated := make(map[string]bool)
	for _, pod := range f.world.Pods {
		outdated[pod.Name] = pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] == history.HashOf(f.world.Revisions[0])
	}
	if want := s.deletes(eligible); len(d.deletes) != want {
		return fmt.Errorf("deletes %d pods, want %d", len(d.deletes), want)
	}
	if i := slices.IndexFunc(d.deletes, func(pod string) bool { return !outdated[pod] }); i >= 0 {
		return fmt.Errorf("deletes %s, which is not outdated", d.deletes[i])
	}
	if d.others > 0 {
		return fmt.Errorf("asks for %d things beside deletes of pods", d.others)
	}
	return nil
}

// TestDecisionsAreCompared holds what the benchmarks rely on: that both sides do what a scenario is about, a second time
// too, and that one that does not would be noticed.
func TestDecisionsAreCompared(t *testing.T) {
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			f := newFleet(t, comparedSizes[0], s.outdated)
			planner, err := rollout.New(f.spec)
			if err != nil {
				t.Fatal(err)
			}
			controller := loaded(t, f)
			for range 2 {
				for side, d := range map[string]decided{
					"plan": decidedByPlan(t, planner, f), "controller": decidedByController(t, controller),
				} {
					if err := s.check(f, d); err != nil {
						t.Errorf("%s: %v", side, err)
					}
					if d.others++; s.check(f, d) == nil {
						t.Errorf("%s: a write beside deletes goes unnoticed", side)
					}
					d.others--
					if len(d.deletes) > 0 {
						if s.check(f, decided{}) == nil {
							t.Errorf("%s: a side that does nothing goes unnoticed", side)
						}
						d.deletes[0] = updatedPod(t, f)
					} else {
						d.deletes = []string{updatedPod(t, f)}
					}
					if s.check(f, d) == nil {
						t.Errorf("%s: a delete of an updated pod goes unnoticed", side)
					}
				}
			}
		})
	}
}

func updatedPod(tb testing.TB, f *fleet) string {
	tb.Helper()
	for _, pod := range f.world.Pods {
		if pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] == history.HashOf(f.world.Revisions[1]) {
			return pod.Name
		}
	}
	tb.Fatal("no pod is updated")
	return ""
}
