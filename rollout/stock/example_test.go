package stock_test

import (
	"fmt"

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
