package harness_test

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/internal/harness"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// What options come to on a cluster, one node at a time.

// decide makes one plan and shows what it does about each node.
func decide(s harness.Case) {
	p, err := planner(s)(s.Snapshot)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range p.Decisions {
		fmt.Println(d.Node, d.Verb, d.Reason, d.Limit)
	}
}

// story runs the cluster until it is settled, and shows what happened on one node.
func story(s harness.Case, node string, behavior harness.Behavior) {
	c := cluster(s, behavior)
	harness.Run(reporter{}, c)
	for _, e := range c.Events() {
		if e.Node == node && e.Kind != harness.PodPatched {
			fmt.Println(e)
		}
	}
}

func ExampleCluster_holdRevision() {
	for _, options := range [][]rollouttest.SpecOption{nil, {rollouttest.HoldRevision()}} {
		s := fleetOf("oo", append(options, rollouttest.Partition("2"))...)
		rollouttest.Failed()(s.Snapshot.Pods[0])
		c := cluster(s, harness.Behavior{})
		harness.Run(reporter{}, c)
		for _, p := range c.Snapshot().Pods {
			fmt.Println(p.Spec.NodeName, p.Spec.Containers[0].Image)
		}
	}
	// Output:
	// b agent:v1
	// a agent:v2
	// b agent:v1
	// a agent:v1
}

func ExampleCluster_inPlace() {
	story(fleetOf("o", rollouttest.InPlaceIfPossible()), "a", harness.Behavior{})
	// Output:
	// 12:00:00 updated agent-a on a
	// 12:00:03 restarted agent-a on a (main)
	// 12:00:08 ready agent-a on a
}

func ExampleCluster_envFromMetadata() {
	s := fleetOf("u", rollouttest.InPlaceIfPossible(), rollouttest.EnvFromMetadata(), objects.EnvFromLabel("TIER", "tier"))
	rollouttest.PodTemplateLabel("tier", "gold")(&s.Spec)
	story(s, "a", harness.Behavior{})
	// Output:
	// 12:00:00 updated agent-a on a
	// 12:00:03 restarted agent-a on a (main)
	// 12:00:08 ready agent-a on a
}

func ExampleCluster_gracePeriod() {
	story(fleetOf("o", rollouttest.InPlaceIfPossible(), rollouttest.GracePeriod(30)), "a", harness.Behavior{})
	// Output:
	// 12:00:30 updated agent-a on a
	// 12:00:33 restarted agent-a on a (main)
	// 12:00:38 ready agent-a on a
}

func ExampleCluster_preDelete() {
	s := fleetOf("o", rollouttest.PodTemplateLabel("drain", "please"), rollouttest.PreDeleteHook(rollouttest.HookLabel("drain", "please")))
	story(s, "a", harness.Behavior{Hook: time.Minute})
	// Output:
	// 12:01:00 released agent-a on a (label drain=please)
	// 12:01:00 deleted agent-a on a
	// 12:01:02 gone agent-a on a
	// 12:01:02 created agent-x0001 on a
	// 12:01:02 bound agent-x0001 on a
	// 12:01:07 ready agent-x0001 on a
}

func ExampleCluster_inPlaceUpdate() {
	s := fleetOf("o", rollouttest.InPlaceIfPossible(), objects.PodTemplateFinalizer("example.com/traffic"),
		rollouttest.InPlaceUpdateHook(objects.HookFinalizer("example.com/traffic")))
	story(s, "a", harness.Behavior{})
	// Output:
	// 12:00:02 released agent-a on a (finalizer example.com/traffic)
	// 12:00:02 updated agent-a on a
	// 12:00:05 restarted agent-a on a (main)
	// 12:00:07 hooked agent-a on a (finalizer example.com/traffic)
	// 12:00:10 ready agent-a on a
}

func ExampleCluster_preNormal() {
	s := fleetOf("-", rollouttest.PreNormalHook(rollouttest.HookLabel("registered", "yes")))
	story(s, "a", harness.Behavior{})
	// Output:
	// 12:00:00 created agent-x0001 on a
	// 12:00:00 bound agent-x0001 on a
	// 12:00:02 hooked agent-x0001 on a (label registered=yes)
	// 12:00:05 ready agent-x0001 on a
}

func ExampleCluster_preDownload() {
	story(fleetOf("ooo", rollouttest.PreDownload("1")), "b", harness.Behavior{Pull: time.Second})
	// Output:
	// 12:00:00 pull started agent:v2 on b
	// 12:00:01 pulled agent:v2 on b
	// 12:00:07 deleted agent-b on b
	// 12:00:09 gone agent-b on b
	// 12:00:09 created agent-x0002 on b
	// 12:00:09 bound agent-x0002 on b
	// 12:00:14 ready agent-x0002 on b
}

func ExampleCluster_cgroupV1() {
	s := fleetOf("o", rollouttest.InPlaceOnly(), rollouttest.Resize(), objects.CgroupV1(), rollouttest.Requests(corev1.ResourceCPU, "1"))
	rollouttest.Requests(corev1.ResourceCPU, "2")(&s.Spec)
	decide(s)
	// Output: a hold Held inPlaceOnly
}

func ExampleCluster_minUpdatedReadyPods() {
	p, err := planner(fleetOf("ooo", rollouttest.PreDownload("1"), objects.MinUpdatedReadyPods("1")))(
		fleetOf("ooo", rollouttest.PreDownload("1")).Snapshot)
	fmt.Println(len(p.Pulls), err)
	// Output: 0 <nil>
}

func ExampleCluster_restartToResize() {
	s := fleetOf("u", rollouttest.InPlaceIfPossible(), rollouttest.Resize(), rollouttest.Requests(corev1.ResourceCPU, "100m"),
		objects.RestartToResize(corev1.ResourceCPU))
	rollouttest.Requests(corev1.ResourceCPU, "200m")(&s.Spec)
	story(s, "a", harness.Behavior{})
	// Output:
	// 12:00:00 updated agent-a on a
	// 12:00:01 restarted agent-a on a (main)
	// 12:00:06 ready agent-a on a
}

func ExampleCluster_inState() {
	s := fleetOf("o", rollouttest.PreDeleteHook(rollouttest.HookLabel("app", "agent")))
	objects.InState(lifecycle.PreparingDelete)(s.Snapshot.Pods[0])
	decide(s)
	// Output: a wait PreDelete hook
}

func ExampleCluster_updatingTo() {
	old, spec := generations(rollouttest.InPlaceIfPossible())
	pod := rollouttest.Pod("p", rollouttest.OnNode("a"), rollouttest.Of(old), objects.UpdatingTo(spec, rollouttest.Noon()))
	fmt.Println(pod.Spec.Containers[0].Image, pod.Status.ContainerStatuses[0].Image, inplace.Completed(pod).Waits)
	// Output: agent:v2 agent:v1 [container main: it still runs the image of before]
}
