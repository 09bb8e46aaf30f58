package stock_test

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/stage"
	"github.com/daemonplan/daemonplan/rollout/stock"
)

func ExampleNewKubernetes() {
	_, err := stock.NewKubernetes(kit.Spec("agent", kit.MaxUnavailable("ten")), 1)
	fmt.Println(err)
	// Output: spec.strategy.maxUnavailable: Invalid value: "ten": must be an integer or a percentage such as "10%"
}

// A DaemonSet of apps/v1 may have an annotation with a policy. The DaemonSet controller does not look at it.
func ExampleObeyedByKubernetes() {
	spec := kit.Spec("agent", kit.MaxUnavailable("10%"))
	spec.Strategy.Policy.Stages = []stage.Stage{{Name: "first"}}
	strategy := stock.ObeyedByKubernetes(spec).Strategy
	fmt.Println(strategy.MaxUnavailable, len(strategy.Policy.Stages))
	// Output: 10% 0
}

// One node of four is lost with its pod on it, and maxUnavailable is 1. The controller replaces the pod that cannot be replaced, and
// has no room left for the others.
func ExampleKubernetes_Plan() {
	spec, snapshot := outdated(4, kit.MaxUnavailable("1"))
	kit.NotReady()(snapshot.Nodes[2])
	kit.Unready()(snapshot.Pods[2])
	planner, err := stock.NewKubernetes(spec, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := planner.Plan(snapshot)
	fmt.Println(err)
	for i := range plan.Decisions {
		fmt.Println(plan.Explain(plan.Decisions[i].Node))
	}
	// Output:
	// <nil>
	// n00: outdated; waits: its pod agent-n00 is outdated, but maxUnavailable 1 is used up by n02
	// n01: outdated; waits: its pod agent-n01 is outdated, but maxUnavailable 1 is used up by n02
	// n02: kept; replace pod agent-n02: the outdated pod is not ready, so replacing it disturbs nobody; counts against maxUnavailable
	// n03: outdated; waits: its pod agent-n03 is outdated, but maxUnavailable 1 is used up by n02
}

// OpenKruise's controller has a partition, and this is what it reads of the strategy besides.
func ExampleObeyedByKruise() {
	spec := kit.Spec("agent", kit.MaxUnavailable("10%"))
	spec.Strategy.Partition = new(intstr.FromString("20%"))
	spec.Strategy.Policy.Stages = []stage.Stage{{Name: "first"}}
	strategy := stock.ObeyedByKruise(spec).Strategy
	fmt.Println(strategy.MaxUnavailable, strategy.Partition, len(strategy.Policy.Stages))
	// Output: 10% 20% 0
}

func ExampleNewKruise() {
	spec, snapshot := outdated(3, kit.MaxUnavailable("3"))
	spec.Strategy.Partition = new(intstr.FromInt32(2))
	planner, err := stock.NewKruise(spec, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := planner.Plan(snapshot)
	fmt.Println(err)
	for i := range plan.Decisions {
		fmt.Println(plan.Explain(plan.Decisions[i].Node))
	}
	// Output:
	// <nil>
	// n00: outdated; is held: its pod agent-n00 is outdated, but partition 2: 2 of 2 places taken
	// n01: outdated; is held: its pod agent-n01 is outdated, but partition 2: 2 of 2 places taken
	// n02: outdated; replace pod agent-n02: the pod is outdated, and the budget allows it; counts against maxUnavailable
}

// Half of the nodes are held. The controller takes the half of the number in the status, which says 4 although there are 3 nodes.
func ExampleKruise_Stored() {
	spec, snapshot := outdated(3, kit.MaxUnavailable("3"))
	spec.Strategy.Partition = new(intstr.FromString("50%"))
	planner, err := stock.NewKruise(spec, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := planner.Stored(4).Plan(snapshot)
	fmt.Println(err, len(plan.Deletes), "of", len(snapshot.Nodes))
	// Output: <nil> 1 of 3
}

// The ExtendedDaemonSet controller knows no surge, and obeys no policy of this library.
func ExampleObeyedByExtendedDaemonSet() {
	spec := kit.Spec("agent", kit.MaxSurge("10%"), kit.Canary("2"))
	spec.Strategy.Policy.Stages = []stage.Stage{{Name: "first"}}
	strategy := stock.ObeyedByExtendedDaemonSet(spec).Strategy
	fmt.Println(strategy.MaxSurge, strategy.Canary.Replicas, len(strategy.Policy.Stages))
	// Output: <nil> 2 0
}

// A canary of one node: its pod goes at once, and the others stay as they are. Which node that is, is chance.
func ExampleNewExtendedDaemonSet() {
	spec, snapshot := outdated(3, kit.MaxUnavailable("1"), kit.Canary("1"))
	planner, err := stock.NewExtendedDaemonSet(spec, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := planner.Plan(snapshot)
	fmt.Println(err, len(plan.Deletes), plan.Canary.Nodes)
	fmt.Println(plan.Canary.Message())
	// Output:
	// <nil> 1 [n01]
	// not every canary node has an available pod of the revision
}

// A manifest may have a reconcileFrequency, which this library does not need. The controller comes no more often to a replica set.
func ExampleExtendedDaemonSet_Every() {
	spec, snapshot := outdated(3, kit.MaxUnavailable("1"))
	planner, err := stock.NewExtendedDaemonSet(spec, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	planner = planner.Every(time.Minute)
	first, err := planner.Plan(snapshot)
	fmt.Println(err, len(first.Deletes))
	snapshot.Memory, snapshot.Now = first.Memory, snapshot.Now.Add(20*time.Second)
	second, err := planner.Plan(snapshot)
	fmt.Println(err, len(second.Deletes), "again in", second.NextWake.Sub(snapshot.Now))
	// Output:
	// <nil> 1
	// <nil> 0 again in 40s
}

// The number of canary nodes is 30 % of the nodes that the status says are desired: of 10, although there are three.
func ExampleExtendedDaemonSet_Stored() {
	spec, snapshot := outdated(3, kit.MaxUnavailable("1"), kit.Canary("30%"))
	planner, err := stock.NewExtendedDaemonSet(spec, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := planner.Stored(10).Plan(snapshot)
	fmt.Println(err, len(plan.Canary.Nodes))
	// Output: <nil> 3
}

// The plans of a rollout follow each other. With a workspace each reads only the pods that have changed.
func ExampleWorkspace_Plan() {
	spec, snapshot := outdated(3, kit.MaxUnavailable("1"))
	planner, err := stock.NewKubernetes(spec, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	var workspace stock.Workspace
	for range 2 {
		plan, err := workspace.Plan(planner, snapshot)
		fmt.Println(err, len(plan.Deletes))
		snapshot = snapshot.After(plan.Carry())
	}
	// Output:
	// <nil> 1
	// <nil> 1
}
