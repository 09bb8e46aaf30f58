package rollouttest_test

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

func ExampleCanary() {
	spec := rollouttest.Spec("agent", rollouttest.Canary("10%"))
	fmt.Println(spec.Strategy.Canary.Replicas)
	// Output: 10%
}

func ExampleCanaryFor() {
	spec := rollouttest.Spec("agent", rollouttest.CanaryFor(time.Hour, time.Minute))
	o := spec.Strategy.Canary
	fmt.Println(o.Mode, *o.Duration, *o.NoRestartsDuration)
	// Output: auto 1h0m0s 1m0s
}

func ExampleCanaryManual() {
	spec := rollouttest.Spec("agent", rollouttest.CanaryFor(time.Hour, time.Minute), rollouttest.CanaryManual())
	o := spec.Strategy.Canary
	fmt.Println(o.Mode, o.Duration, o.NoRestartsDuration)
	// Output: manual <nil> <nil>
}

func ExampleCanaryOn() {
	spec := rollouttest.Spec("agent", rollouttest.CanaryOn("zone", "a"), rollouttest.CanaryOn("disk", "ssd"))
	fmt.Println(metav1.FormatLabelSelector(spec.Strategy.Canary.NodeSelector))
	// Output: disk=ssd,zone=a
}

func ExampleCanarySpread() {
	spec := rollouttest.Spec("agent", rollouttest.CanarySpread("zone", "disk"))
	fmt.Println(spec.Strategy.Canary.NodeAntiAffinityKeys)
	// Output: [zone disk]
}

func ExampleAutoPause() {
	spec := rollouttest.Spec("agent", rollouttest.AutoPause(canary.AutoPause{MaxRestarts: new(int32(1))}))
	fmt.Println(*spec.Strategy.Canary.AutoPause.MaxRestarts)
	// Output: 1
}

func ExampleAutoFail() {
	spec := rollouttest.Spec("agent", rollouttest.AutoFail(canary.AutoFail{CanaryTimeout: new(time.Hour)}))
	fmt.Println(*spec.Strategy.Canary.AutoFail.CanaryTimeout)
	// Output: 1h0m0s
}

func ExampleCommand() {
	spec := rollouttest.Spec("agent", rollouttest.Command(canary.Commands{Pause: canary.Any}))
	fmt.Println(spec.Strategy.Canary.Commands.Pause)
	// Output: *
}

func ExampleSlowStart() {
	slow := rollouttest.Spec("agent", rollouttest.SlowStart(time.Minute, "5", "50%")).Strategy.SlowStart
	fmt.Println(slow.Interval, slow.Increase, slow.MaxParallel)
	// Output: 1m0s 5 50%
}

func ExampleMaxUnschedulable() {
	spec := rollouttest.Spec("agent", rollouttest.MaxUnschedulable("2"))
	fmt.Println(spec.Strategy.MaxUnschedulable)
	// Output: 2
}

func ExampleOverride() {
	spec := rollouttest.Spec("agent", rollouttest.Override(placement.Override{Name: "large"}, placement.Override{Name: "small"}))
	fmt.Println(len(spec.Overrides), spec.Overrides[1].Name)
	// Output: 2 small
}

func ExamplePromoted() {
	r := rollouttest.Promoted(rollouttest.Spec("agent"), 1)
	fmt.Println(r.Revision, history.Promoted(r), r.Annotations[history.PromotedAnnotation])
	// Output: 1 true 2026-01-01T11:00:00Z
}

func ExampleRejected() {
	r := rollouttest.Rejected(rollouttest.Spec("agent"), 2, canary.TimedOut)
	fmt.Println(r.Annotations[history.FailedAnnotation])
	// Output: TimedOut
}

func ExampleMarked() {
	plain := rollouttest.Revision(rollouttest.Spec("agent"), 1)
	marked := rollouttest.Marked(plain, map[string]string{history.RetriedAnnotation: "x"})
	fmt.Println(len(plain.Annotations), marked.Annotations[history.RetriedAnnotation], rollouttest.Marked(nil, nil) == nil)
	// Output: 0 x true
}

func ExampleUncordoned() {
	n := rollouttest.Node("a", rollouttest.Cordoned(), rollouttest.Uncordoned())
	fmt.Println(n.Spec.Unschedulable, len(n.Spec.Taints))
	// Output: false 0
}

func ExampleUnlabelled() {
	n := rollouttest.Node("a", rollouttest.Label("zone", "a"), rollouttest.Unlabelled("zone"))
	_, labelled := n.Labels["zone"]
	fmt.Println(labelled)
	// Output: false
}

func ExampleNodeAnnotation() {
	fmt.Println(rollouttest.Node("a", rollouttest.NodeAnnotation("team", "x")).Annotations)
	// Output: map[team:x]
}

func ExampleResourcesFor() {
	n := rollouttest.Node("a", rollouttest.ResourcesFor(rollouttest.Spec("agent"), "main", `{"limits":{"cpu":"1"}}`))
	fmt.Println(n.Annotations)
	// Output: map[resources.extendeddaemonset.datadoghq.com/default.agent.main:{"limits":{"cpu":"1"}}]
}

func ExampleRecovered() {
	n := rollouttest.Node("a", rollouttest.Unreachable(), rollouttest.Recovered(rollouttest.Noon()))
	fmt.Println(n.Status.Conditions[0].Status, len(n.Spec.Taints))
	// Output: True 0
}

func ExampleZones() {
	for _, n := range rollouttest.Zones(rollouttest.Nodes("a", "b", "c"), "east", "west") {
		fmt.Println(n.Name, n.Labels["zone"])
	}
	// Output:
	// a east
	// b west
	// c east
}

func ExampleRestarted() {
	p := rollouttest.Pod("p", rollouttest.Of(rollouttest.Spec("agent")), rollouttest.Restarted(3, rollouttest.Noon(), "OOMKilled"))
	status := p.Status.ContainerStatuses[0]
	fmt.Println(status.RestartCount, status.LastTerminationState.Terminated.Reason, p.Status.Phase)
	// Output: 3 OOMKilled Running
}

func ExampleWaitingFor() {
	p := rollouttest.Pod("p", rollouttest.Of(rollouttest.Spec("agent")), rollouttest.WaitingFor("ErrImagePull"))
	fmt.Println(p.Status.Phase, p.Status.ContainerStatuses[0].State.Waiting.Reason)
	// Output: Pending ErrImagePull
}

func ExampleStartedAt() {
	p := rollouttest.Pod("p", rollouttest.StartedAt(rollouttest.Noon()))
	fmt.Println(p.Status.StartTime.Format(time.TimeOnly))
	// Output: 12:00:00
}

func ExampleEvicted() {
	p := rollouttest.Pod("p", rollouttest.Evicted(rollouttest.Noon()))
	fmt.Println(p.Status.Phase, p.Status.Reason)
	// Output: Failed Evicted
}

func ExampleUnscheduled() {
	p := rollouttest.Pod("p", rollouttest.Unscheduled("a", rollouttest.Noon()))
	fmt.Println(p.Status.Phase, p.Status.Conditions[0].Type, p.Status.Conditions[0].Reason)
	// Output: Pending PodScheduled Unschedulable
}

func ExampleOverridden() {
	spec := rollouttest.Spec("agent")
	overrides, err := placement.CompileOverrides("default", "agent", &spec.Template, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	node := rollouttest.Node("a", rollouttest.ResourcesFor(spec, "main", `{"limits":{"cpu":"1"}}`))
	p := rollouttest.Pod("p", rollouttest.Of(spec), rollouttest.Overridden(overrides.Evaluate(node)))
	cpu := p.Spec.Containers[0].Resources.Limits[corev1.ResourceCPU]
	fmt.Println(cpu.Equal(resource.MustParse("1")), p.Annotations[placement.DigestAnnotation] != "")
	// Output: true true
}

// trying is a cluster of two nodes whose set has just got another template.
func trying(behavior rollouttest.Behavior) *rollouttest.Cluster {
	w := tryOut()
	c, err := rollouttest.NewCluster(w.Spec, w.Snapshot, behavior)
	if err != nil {
		panic(err)
	}
	return c
}

func ExampleCluster_Behavior() {
	fmt.Println(trying(rollouttest.Behavior{Crashes: 3}).Behavior().Crashes)
	// Output: 3
}

// A registry that comes back.
func ExampleCluster_SetBehavior() {
	hash := rollouttest.Hash(tryOut().Spec)
	c := trying(rollouttest.Behavior{Waiting: map[string]string{hash: "ErrImagePull"}})
	if _, err := c.Run(c.Plan, 6, nil); err != nil {
		fmt.Println(err)
	}
	c.SetBehavior(rollouttest.Behavior{})
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
	c := trying(rollouttest.Behavior{})
	fmt.Println(c.ChangeNode("a", rollouttest.Label("zone", "z")), c.ChangeNode("nowhere"))
	fmt.Println(c.Snapshot().Nodes[0].Labels["zone"])
	// Output:
	// true false
	// z
}

func ExampleCluster_Drain() {
	c := trying(rollouttest.Behavior{})
	fmt.Println(c.Drain("a"), c.Snapshot().Nodes[0].Spec.Unschedulable, c.Events()[0])
	// Output: true true 12:00:00 drained agent-a on a
}

func ExampleCluster_Evict() {
	c := trying(rollouttest.Behavior{})
	fmt.Println(c.Evict("agent-a"), c.PodsOn("a")[0].Status.Phase, c.Evict("agent-a"))
	// Output: true Failed false
}

func ExampleCluster_Crash() {
	c := trying(rollouttest.Behavior{})
	fmt.Println(c.Crash("agent-a"), c.PodsOn("a")[0].Status.ContainerStatuses[0].RestartCount, c.Crash("nobody"))
	// Output: true 1 false
}

func ExampleCluster_PodsOn() {
	fmt.Println(trying(rollouttest.Behavior{}).PodsOn("b")[0].Name)
	// Output: agent-b
}

func ExampleCluster_Befall() {
	c := trying(rollouttest.Behavior{})
	c.Befall(rollouttest.Mishap{Kind: rollouttest.DeleteNode, Node: "a"})
	fmt.Println(len(c.Snapshot().Nodes))
	// Output: 3
}

func ExampleMishap_String() {
	fmt.Println(rollouttest.Mishap{After: 3, Kind: rollouttest.LoseNode, Node: "a"})
	// Output: after 3: lose node a
}

func ExampleMishapKind_String() {
	fmt.Println(rollouttest.EvictPods, rollouttest.MishapKind(99))
	// Output: evict pods unknown
}

func ExampleEnding_String() {
	fmt.Println(rollouttest.EndsPromoted, rollouttest.Ending(99))
	// Output: promoted unknown
}

// A canary that crashes is given up, and its node goes back.
func ExampleCanaryWatch_Check() {
	c := trying(rollouttest.Behavior{Crashing: []string{rollouttest.Hash(tryOut().Spec)}})
	var watch rollouttest.CanaryWatch
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
	w.Mishaps = []rollouttest.Mishap{{After: 3, Kind: rollouttest.DrainNode, Node: "a"}}
	fmt.Println(rollouttest.CheckCanary(realPlanner, w))
	// Output: <nil>
}

func ExampleCheckCanaryEnds() {
	fmt.Println(rollouttest.CheckCanaryEnds(realPlanner, tryOut(), rollouttest.EndsPromoted))
	// Output: <nil>
}

func ExampleAnyCanaryScenario() {
	s := rollouttest.AnyCanaryScenario(rollouttest.Canary("2")).Example(1)
	fmt.Println(s.Spec.Name, s.Spec.Strategy.Type == rollout.OnDelete || s.Spec.Strategy.Canary.Replicas.IntVal == 2)
	// Output: agent true
}

func ExampleAnyCanarySpec() {
	_, err := rollout.New(rollouttest.AnyCanarySpec().Example(1))
	fmt.Println(err)
	// Output: <nil>
}

func ExampleAnyCanary() {
	spec := rollouttest.Spec("agent")
	options := rollouttest.AnyCanary(rollouttest.Hash(spec)).Example(1)
	spec.Strategy.Canary = &options
	_, err := rollout.New(spec)
	fmt.Println(err)
	// Output: <nil>
}

func ExampleAnyCanaryWorld() {
	w := rollouttest.AnyCanaryWorld(rollouttest.Released()).Example(1)
	fmt.Println(rollouttest.CheckCanaryEnds(realPlanner, w, rollouttest.EndsPromoted))
	// Output: <nil>
}

func ExampleAnyIllness() {
	w := tryOut(rollouttest.AutoFail(canary.AutoFail{CanaryTimeout: new(time.Hour)}))
	w.Behavior = rollouttest.AnyIllness(w.Behavior, rollouttest.Hash(w.Spec)).Example(1)
	fmt.Println(rollouttest.CheckCanaryEnds(realPlanner, w, rollouttest.EndsFailed))
	// Output: <nil>
}

func ExampleAnyMishaps() {
	w := tryOut()
	w.Mishaps = rollouttest.AnyMishaps(w.Snapshot.Nodes).Example(1)
	fmt.Println(len(w.Mishaps) <= 5, rollouttest.CheckCanary(realPlanner, w))
	// Output: true <nil>
}

func ExampleWorld_GoString() {
	w := rollouttest.World{Scenario: rollouttest.Scenario{Spec: rollouttest.Spec("agent"), Snapshot: rollout.Snapshot{Now: rollouttest.Noon()}}}
	w.Mishaps = []rollouttest.Mishap{{Kind: rollouttest.LoseMemory}}
	text := w.GoString()
	fmt.Println(text[:len("spec agent")], text[len(text)-len("[after 0: lose memory ]"):])
	// Output: spec agent [after 0: lose memory ]
}
