package stock_test

import (
	"fmt"

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
func ExampleObeyed() {
	spec := kit.Spec("agent", kit.MaxUnavailable("10%"))
	spec.Strategy.Policy.Stages = []stage.Stage{{Name: "first"}}
	strategy := stock.Obeyed(spec).Strategy
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
