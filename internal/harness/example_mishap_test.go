package harness_test

import (
	"fmt"
	"time"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// trying is a cluster of two nodes whose set has just got another template.
func trying(behavior harness.Behavior) *harness.Cluster {
	w := tryOut()
	c, err := harness.NewCluster(w.Spec, w.Snapshot, behavior)
	if err != nil {
		panic(err)
	}
	return c
}

func ExampleCluster_Behavior() {
	fmt.Println(trying(harness.Behavior{Crashes: 3}).Behavior().Crashes)
	// Output: 3
}

// A registry that comes back.
func ExampleCluster_SetBehavior() {
	hash := rollouttest.Hash(tryOut().Spec)
	c := trying(harness.Behavior{Waiting: map[string]string{hash: "ErrImagePull"}})
	if _, err := c.Run(c.Plan, 5, nil); err != nil {
		fmt.Println(err)
	}
	c.SetBehavior(harness.Behavior{})
	c.Tick(time.Minute)
	for _, e := range c.Events()[4:] {
		fmt.Println(e)
	}
	// Output:
	// 12:00:02 bound agent-x0001 on a
	// 12:00:07 waiting agent-x0001 on a (ErrImagePull)
	// 12:00:22 waiting agent-x0001 on a (ImagePullBackOff)
	// 12:00:27 ready agent-x0001 on a
}

func ExampleCluster_ChangeNode() {
	c := trying(harness.Behavior{})
	fmt.Println(c.ChangeNode("a", rollouttest.Label("zone", "z")), c.ChangeNode("nowhere"))
	fmt.Println(c.Snapshot().Nodes[0].Labels["zone"])
	// Output:
	// true false
	// z
}

func ExampleCluster_Drain() {
	c := trying(harness.Behavior{})
	fmt.Println(c.Drain("a"), c.Snapshot().Nodes[0].Spec.Unschedulable, c.Events()[0])
	// Output: true true 12:00:00 drained agent-a on a
}

func ExampleCluster_Evict() {
	c := trying(harness.Behavior{})
	fmt.Println(c.Evict("agent-a"), c.PodsOn("a")[0].Status.Phase, c.Evict("agent-a"))
	// Output: true Failed false
}

func ExampleCluster_Crash() {
	c := trying(harness.Behavior{})
	fmt.Println(c.Crash("agent-a"), c.PodsOn("a")[0].Status.ContainerStatuses[0].RestartCount, c.Crash("nobody"))
	// Output: true 1 false
}

func ExampleCluster_PodsOn() {
	fmt.Println(trying(harness.Behavior{}).PodsOn("b")[0].Name)
	// Output: agent-b
}

func ExampleCluster_Befall() {
	c := trying(harness.Behavior{})
	c.Befall(harness.Mishap{Kind: harness.DeleteNode, Node: "a"})
	fmt.Println(len(c.Snapshot().Nodes))
	// Output: 3
}

func ExampleMishap_String() {
	fmt.Println(harness.Mishap{After: 3, Kind: harness.LoseNode, Node: "a"})
	// Output: after 3: lose node a
}

func ExampleMishapKind_String() {
	fmt.Println(harness.EvictPods, harness.MishapKind(99))
	// Output: evict pods unknown
}

func ExampleEnding_String() {
	fmt.Println(harness.EndsPromoted, harness.Ending(99))
	// Output: promoted unknown
}

// A canary that crashes is given up, and its node goes back.
func ExampleCanaryWatch_Check() {
	c := trying(harness.Behavior{Crashing: []string{rollouttest.Hash(tryOut().Spec)}})
	var watch harness.CanaryWatch
	phase := canary.Idle
	r, err := c.Run(c.Plan, 50, func(s rollout.Snapshot, p rollout.Plan) error {
		if p.Canary.Phase != phase {
			phase = p.Canary.Phase
			fmt.Println(s.Now.Format(time.TimeOnly), phase, p.Canary.Reason, p.Canary.Nodes)
		}
		return watch.Check(c.Spec(), s, p)
	})
	fmt.Println(r.Settled, err)
	// Output:
	// 12:00:00 Running Starting [a]
	// 12:00:47 Paused TooManyRestarts [a]
	// 12:05:42 Failed TooManyRestarts []
	// true <nil>
}

func ExampleCheckCanary() {
	w := tryOut()
	w.Mishaps = []harness.Mishap{{After: 3, Kind: harness.DrainNode, Node: "a"}}
	fmt.Println(harness.CheckCanary(harness.Planner, w))
	// Output: <nil>
}

func ExampleCheckCanaryEnds() {
	fmt.Println(harness.CheckCanaryEnds(harness.Planner, tryOut(), harness.EndsPromoted))
	// Output: <nil>
}

func ExampleWorld_GoString() {
	w := harness.World{Case: harness.Case{Spec: rollouttest.Spec("agent"), Snapshot: rollout.Snapshot{Now: rollouttest.Noon()}}}
	w.Mishaps = []harness.Mishap{{Kind: harness.LoseMemory}}
	text := w.GoString()
	fmt.Println(text[:len("spec agent")], text[len(text)-len("[after 0: lose memory ]"):])
	// Output: spec agent [after 0: lose memory ]
}

func ExampleCheckChanges() {
	old, spec := generations(rollouttest.InPlaceIfPossible())
	// In the middle of the rollout, while a kubelet is about to restart a container, the user rolls back.
	err := harness.CheckChanges(harness.Planner, fleetOf("oo", rollouttest.InPlaceIfPossible()).Snapshot, harness.Behavior{Restart: time.Minute},
		harness.Change{Spec: spec}, harness.Change{After: 2, Spec: old})
	fmt.Println(err)
	// Output: <nil>
}
