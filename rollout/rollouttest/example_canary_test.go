package rollouttest_test

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/placement"
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

func ExampleResourcesFor() {
	n := rollouttest.Node("a", rollouttest.ResourcesFor(rollouttest.Spec("agent"), "main", `{"limits":{"cpu":"1"}}`))
	fmt.Println(n.Annotations)
	// Output: map[resources.extendeddaemonset.datadoghq.com/default.agent.main:{"limits":{"cpu":"1"}}]
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

func ExampleUnscheduled() {
	p := rollouttest.Pod("p", rollouttest.Unscheduled("a", rollouttest.Noon()))
	fmt.Println(p.Status.Phase, p.Status.Conditions[0].Type, p.Status.Conditions[0].Reason)
	// Output: Pending PodScheduled Unschedulable
}
