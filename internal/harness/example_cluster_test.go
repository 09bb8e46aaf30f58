package harness_test

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// podEvents prints what happened to pods.
func podEvents(c *harness.Cluster) {
	for _, e := range c.Events() {
		if e.Node != "" {
			fmt.Println(e)
		}
	}
}

// next plans for what the cluster shows.
func next(c *harness.Cluster) rollout.Plan {
	p, err := c.Plan(c.Snapshot())
	if err != nil {
		fmt.Println(err)
	}
	return p
}

func ExampleNewCluster() {
	s := upgrade()
	c, err := harness.NewCluster(s.Spec, s.Snapshot, harness.Behavior{Start: time.Minute})
	fmt.Println(len(c.Snapshot().Pods), err)
	_, err = harness.NewCluster(rollouttest.Spec(""), s.Snapshot, harness.Behavior{})
	fmt.Println(err != nil)
	// Output:
	// 2 <nil>
	// true
}

func ExampleCluster_Apply() {
	c := cluster(upgrade(), harness.Behavior{})
	if err := c.Apply(next(c)); err != nil {
		fmt.Println(err)
	}
	podEvents(c)
	// Output: 12:00:00 deleted agent-b on b
}

func ExampleCluster_ApplyPrefix() {
	c := cluster(upgrade(rollouttest.MaxUnavailable("2")), harness.Behavior{})
	p := next(c)
	// The controller was stopped after it had created the revision and deleted one of two pods.
	if err := c.ApplyPrefix(p, 2); err != nil {
		fmt.Println(err)
	}
	podEvents(c)
	fmt.Println("then:", next(c).Deletes[0].Pod)
	// Output:
	// 12:00:00 deleted agent-b on b
	// then: agent-a
}

func ExampleCluster_Tick() {
	c := cluster(upgrade(), harness.Behavior{})
	c.SetPod(rollouttest.Pod("agent-c", rollouttest.PinnedTo("a")))
	c.Tick(3 * time.Second)
	podEvents(c)
	c.Tick(3 * time.Second)
	podEvents(c)
	// Output:
	// 12:00:00 bound agent-c on a
	// 12:00:00 bound agent-c on a
	// 12:00:05 ready agent-c on a
}

func ExampleCluster_Next() {
	c := cluster(upgrade(), harness.Behavior{})
	fmt.Println(c.Next().IsZero())
	c.SetPod(rollouttest.Pod("agent-b", rollouttest.OnNode("b"), rollouttest.Unready()))
	fmt.Println(c.Next().Format(time.TimeOnly))
	// Output:
	// true
	// 12:00:05
}

func ExampleCluster_Now() {
	c := cluster(upgrade(), harness.Behavior{})
	c.Tick(90 * time.Second)
	fmt.Println(c.Now().Format(time.TimeOnly))
	// Output: 12:01:30
}

func ExampleCluster_Events() {
	c := cluster(upgrade(), harness.Behavior{})
	c.RemoveNode("a")
	c.Tick(time.Minute)
	for _, e := range c.Events() {
		fmt.Println(e.Kind, e.Object)
	}
	// Output: collected agent-a
}

func ExampleCluster_Snapshot() {
	c := cluster(upgrade(), harness.Behavior{Lag: 1})
	if err := c.Apply(next(c)); err != nil {
		fmt.Println(err)
	}
	for range 2 {
		s := c.Snapshot()
		fmt.Println(len(s.InFlight.Deletes), "in flight,", s.Pods[1].Name, "terminating:", s.Pods[1].DeletionTimestamp != nil)
		c.Tick(0)
	}
	// Output:
	// 1 in flight, agent-b terminating: false
	// 0 in flight, agent-b terminating: true
}

func ExampleCluster_Behind() {
	c := cluster(upgrade(), harness.Behavior{Lag: 1})
	if err := c.Apply(next(c)); err != nil {
		fmt.Println(err)
	}
	fmt.Println(c.Behind())
	c.Tick(0)
	fmt.Println(c.Behind())
	// Output:
	// true
	// false
}

func ExampleCluster_Plan() {
	c := cluster(upgrade(), harness.Behavior{})
	p, err := c.Plan(c.Snapshot())
	fmt.Println(p.Deletes[0].Pod, err)
	// Output: agent-b <nil>
}

func ExampleCluster_Spec() {
	c := cluster(upgrade(), harness.Behavior{})
	fmt.Println(c.Spec().Template.Spec.Containers[0].Image)
	// Output: agent:v2
}

func ExampleCluster_SetSpec() {
	c := cluster(upgrade(), harness.Behavior{})
	harness.Run(reporter{}, c)
	if err := c.SetSpec(rollouttest.Spec("agent", rollouttest.Image("agent:v1"))); err != nil {
		fmt.Println(err)
	}
	result := harness.Run(reporter{}, c)
	fmt.Println("rolled back after", result.Elapsed)
	// Output: rolled back after 14s
}

func ExampleCluster_SetNode() {
	c := cluster(upgrade(), harness.Behavior{})
	c.SetNode(rollouttest.Node("c"))
	fmt.Println("create on", next(c).Creates[0].Node)
	// Output: create on c
}

func ExampleCluster_RemoveNode() {
	c := cluster(upgrade(), harness.Behavior{})
	c.RemoveNode("b")
	c.Tick(10 * time.Second)
	podEvents(c)
	// Output: 12:00:02 collected agent-b on b
}

func ExampleCluster_SetPod() {
	c := cluster(upgrade(), harness.Behavior{})
	c.SetPod(rollouttest.Pod("agent-a", rollouttest.ControlledBy(upgrade().Spec), rollouttest.OnNode("a"), rollouttest.Failed()))
	for _, d := range next(c).Deletes {
		fmt.Println(d.Pod, d.Reason)
	}
	// Output: agent-a OutdatedFailed
}

func ExampleCluster_LoseMemory() {
	c := cluster(upgrade(), harness.Behavior{})
	if err := c.Apply(next(c)); err != nil {
		fmt.Println(err)
	}
	fmt.Println(c.Snapshot().Memory.Version)
	c.LoseMemory()
	fmt.Println(c.Snapshot().Memory.Version)
	// Output:
	// 1
	// 0
}

func ExampleCluster_Run() {
	c := cluster(upgrade(), harness.Behavior{})
	most := 0
	result, err := c.Run(c.Plan, c.Steps(), func(_ rollout.Snapshot, p rollout.Plan) error {
		most = max(most, int(p.Budget.Unavailable))
		return nil
	})
	fmt.Println("settled:", result.Settled, "at most unavailable:", most, err)
	// Output: settled: true at most unavailable: 1 <nil>
}

func ExampleCluster_Steps() {
	c := cluster(upgrade(), harness.Behavior{})
	fmt.Println(c.Steps() > harness.Run(reporter{}, c).Steps)
	// Output: true
}

func ExampleRun() {
	c := cluster(upgrade(rollouttest.MaxSurge("100%")), harness.Behavior{})
	result := harness.Run(reporter{}, c)
	fmt.Println(result.Plan.Status.Updated, "updated after", result.Elapsed)
	// Output: 2 updated after 7s
}

func ExampleActions() {
	fmt.Println(harness.Actions(rollout.Plan{Creates: make([]rollout.Create, 2), Deletes: make([]rollout.Delete, 3)}))
	// Output: 5
}

func ExamplePrefix() {
	p := rollout.Plan{Creates: make([]rollout.Create, 2), Deletes: make([]rollout.Delete, 3)}
	p = harness.Prefix(p, 4)
	fmt.Println(len(p.Deletes), len(p.Creates))
	// Output: 3 1
}

func ExampleEvent_String() {
	fmt.Println(harness.Event{At: rollouttest.Noon(), Kind: harness.PodReady, Node: "a", Object: "agent-a"})
	// Output: 12:00:00 ready agent-a on a
}

func ExampleEventKind_String() {
	fmt.Println(harness.PodCollected, harness.EventKind(99))
	// Output: collected unknown
}

func ExampleCase_String() {
	s := harness.Case{Spec: rollouttest.Spec("agent", rollouttest.MaxUnavailable("10%")), Snapshot: rollout.Snapshot{
		Now:   rollouttest.Noon(),
		Nodes: []*corev1.Node{rollouttest.Node("a", rollouttest.Cordoned())},
		Pods:  []*corev1.Pod{rollouttest.Pod("agent-a", rollouttest.OnNode("a"), rollouttest.AtRevision("5f46b89dcc"))},
	}}
	fmt.Print(s)
	// Output:
	// spec agent maxUnavailable=10% minReadySeconds=0
	// node a taint{node.kubernetes.io/unschedulable=:NoSchedule}
	// pod agent-a on a hash="5f46b89dcc" created -1h0m0s Running Ready=True since -1h0m0s
}

func ExampleCase_GoString() {
	s := harness.Case{Spec: rollouttest.Spec("agent", rollouttest.Paused())}
	fmt.Printf("%#v", s)
	// Output: spec agent paused minReadySeconds=0
}

func ExampleCheckSafe() {
	s := upgrade()
	fmt.Println(harness.CheckSafe(s.Spec, planner(s), s.Snapshot))
	// Output: <nil>
}

func ExampleCheckSafeAlong() {
	s := upgrade()
	broken := harness.Behavior{NeverReady: []string{rollouttest.Hash(s.Spec)}}
	fmt.Println(harness.CheckSafeAlong(s.Spec, planner(s), s.Snapshot, broken))
	// Output: <nil>
}

func ExampleCheckPure() {
	s := upgrade()
	vain := func(snapshot rollout.Snapshot) (rollout.Plan, error) {
		snapshot.Nodes[0].Name = "mine"
		return planner(s)(snapshot)
	}
	fmt.Println(harness.CheckPure(planner(s), s.Snapshot))
	fmt.Println(harness.CheckPure(vain, s.Snapshot))
	// Output:
	// <nil>
	// V13: planning wrote to snapshot.Nodes[0].ObjectMeta.Name (value)
}

func ExampleCheckIdempotent() {
	s := upgrade()
	fmt.Println(harness.CheckIdempotent(s.Spec, planner(s), s.Snapshot))
	// Output: <nil>
}

func ExampleCheckNextWake() {
	s := upgrade(rollouttest.MinReadySeconds(60))
	fmt.Println(harness.CheckNextWake(planner(s), s.Snapshot, 30*time.Second))
	// Output: <nil>
}

func ExampleCheckLive() {
	s := upgrade()
	fmt.Println(harness.CheckLive(s.Spec, planner(s), s.Snapshot, harness.Behavior{Lag: 2, Jitter: 1}))
	// Output: <nil>
}

func ExampleCheckNoThrash() {
	s := upgrade()
	fmt.Println(harness.CheckNoThrash(s.Spec, planner(s), s.Snapshot, harness.Behavior{}))
	// Output: <nil>
}

// A controller of one's own is checked as a PlanFunc too.
func ExamplePlanFunc() {
	s := upgrade()
	var lazy harness.PlanFunc = func(rollout.Snapshot) (rollout.Plan, error) {
		return rollout.Plan{}, errors.New("tomorrow")
	}
	fmt.Println(harness.CheckLive(s.Spec, lazy, s.Snapshot, harness.Behavior{}))
	// Output: V16: step 1: tomorrow
}

func Example() {
	s := upgrade()
	c := cluster(s, harness.Behavior{})
	result := harness.Run(reporter{}, c)
	for _, event := range c.Events() {
		if event.Node != "" { // not of revisions, whose names depend on the version of k8s.io/api
			fmt.Println(event)
		}
	}
	fmt.Println(result.Plan.Status.State, "after", result.Elapsed)
	// Output:
	// 12:00:00 deleted agent-b on b
	// 12:00:02 gone agent-b on b
	// 12:00:02 created agent-x0001 on b
	// 12:00:02 bound agent-x0001 on b
	// 12:00:07 ready agent-x0001 on b
	// 12:00:07 deleted agent-a on a
	// 12:00:09 gone agent-a on a
	// 12:00:09 created agent-x0002 on a
	// 12:00:09 bound agent-x0002 on a
	// 12:00:14 ready agent-x0002 on a
	// Running after 14s
}
