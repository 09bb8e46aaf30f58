package rollouttest_test

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// decide makes one plan and shows what it does about each node.
func decide(s rollouttest.Scenario) {
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
func story(s rollouttest.Scenario, node string, behavior rollouttest.Behavior) {
	c := cluster(s, behavior)
	rollouttest.Run(reporter{}, c)
	for _, e := range c.Events() {
		if e.Node == node && e.Kind != rollouttest.PodPatched {
			fmt.Println(e)
		}
	}
}

func ExamplePartition() {
	decide(fleetOf("oo", rollouttest.Partition("1")))
	// Output:
	// a hold Held partition
	// b replace Outdated none
}

func ExampleUpdateSelector() {
	decide(fleetOf("oO", rollouttest.UpdateSelector("canary", "yes")))
	// Output:
	// a hold Held nodeSelector
	// b replace Outdated none
}

func ExamplePartitionedScaling() {
	s := rollouttest.Scenario{
		Spec:     rollouttest.Spec("agent", rollouttest.Partition("1"), rollouttest.PartitionedScaling()),
		Snapshot: rollout.Snapshot{Now: rollouttest.Noon(), Nodes: rollouttest.Nodes("a", "b")},
	}
	decide(s)
	// Output:
	// a create Missing none
	// b hold PartitionedScaling partition
}

func ExampleHoldRevision() {
	for _, options := range [][]rollouttest.SpecOption{nil, {rollouttest.HoldRevision()}} {
		s := fleetOf("oo", append(options, rollouttest.Partition("2"))...)
		rollouttest.Failed()(s.Snapshot.Pods[0])
		c := cluster(s, rollouttest.Behavior{})
		rollouttest.Run(reporter{}, c)
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

func ExampleInPlace() {
	story(fleetOf("o", rollouttest.InPlace()), "a", rollouttest.Behavior{})
	// Output:
	// 12:00:00 updated agent-a on a
	// 12:00:03 restarted agent-a on a (main)
	// 12:00:08 ready agent-a on a
}

func ExampleInPlaceOnly() {
	s := fleetOf("o", rollouttest.InPlaceOnly())
	rollouttest.Env("LEVEL", "debug")(&s.Spec)
	decide(s)
	// Output: a hold Held inPlaceOnly
}

func ExampleResize() {
	for _, options := range [][]rollouttest.SpecOption{{rollouttest.InPlace()}, {rollouttest.InPlace(), rollouttest.Resize()}} {
		s := fleetOf("u", append(options, rollouttest.Requests(corev1.ResourceCPU, "100m"))...)
		rollouttest.Requests(corev1.ResourceCPU, "200m")(&s.Spec)
		decide(s)
	}
	// Output:
	// a replace Outdated none
	// a update Outdated none
}

func ExampleEnvFromMetadata() {
	s := fleetOf("u", rollouttest.InPlace(), rollouttest.EnvFromMetadata(), rollouttest.EnvFromLabel("TIER", "tier"))
	rollouttest.PodTemplateLabel("tier", "gold")(&s.Spec)
	story(s, "a", rollouttest.Behavior{})
	// Output:
	// 12:00:00 updated agent-a on a
	// 12:00:03 restarted agent-a on a (main)
	// 12:00:08 ready agent-a on a
}

func ExampleEnvFromLabel() {
	spec := rollouttest.Spec("agent", rollouttest.EnvFromLabel("TIER", "tier"))
	env := spec.Template.Spec.Containers[0].Env[0]
	fmt.Println(env.Name, env.ValueFrom.FieldRef.FieldPath)
	// Output: TIER metadata.labels['tier']
}

func ExampleCgroupV1() {
	s := fleetOf("o", rollouttest.InPlaceOnly(), rollouttest.Resize(), rollouttest.CgroupV1(), rollouttest.Requests(corev1.ResourceCPU, "1"))
	rollouttest.Requests(corev1.ResourceCPU, "2")(&s.Spec)
	decide(s)
	// Output: a hold Held inPlaceOnly
}

func ExampleGracePeriod() {
	story(fleetOf("o", rollouttest.InPlace(), rollouttest.GracePeriod(30)), "a", rollouttest.Behavior{})
	// Output:
	// 12:00:30 updated agent-a on a
	// 12:00:33 restarted agent-a on a (main)
	// 12:00:38 ready agent-a on a
}

func ExamplePreDelete() {
	s := fleetOf("o", rollouttest.PodTemplateLabel("drain", "please"), rollouttest.PreDelete(rollouttest.HookLabel("drain", "please")))
	story(s, "a", rollouttest.Behavior{Hook: time.Minute})
	// Output:
	// 12:01:00 released agent-a on a (label drain=please)
	// 12:01:00 deleted agent-a on a
	// 12:01:02 gone agent-a on a
	// 12:01:02 created agent-x0001 on a
	// 12:01:02 bound agent-x0001 on a
	// 12:01:07 ready agent-x0001 on a
}

func ExampleInPlaceUpdate() {
	s := fleetOf("o", rollouttest.InPlace(), rollouttest.PodTemplateFinalizer("example.com/traffic"),
		rollouttest.InPlaceUpdate(rollouttest.HookFinalizer("example.com/traffic")))
	story(s, "a", rollouttest.Behavior{})
	// Output:
	// 12:00:02 released agent-a on a (finalizer example.com/traffic)
	// 12:00:02 updated agent-a on a
	// 12:00:05 restarted agent-a on a (main)
	// 12:00:07 hooked agent-a on a (finalizer example.com/traffic)
	// 12:00:10 ready agent-a on a
}

func ExamplePreNormal() {
	s := fleetOf("-", rollouttest.PreNormal(rollouttest.HookLabel("registered", "yes")))
	story(s, "a", rollouttest.Behavior{})
	// Output:
	// 12:00:00 created agent-x0001 on a
	// 12:00:00 bound agent-x0001 on a
	// 12:00:02 hooked agent-x0001 on a (label registered=yes)
	// 12:00:05 ready agent-x0001 on a
}

func ExampleHookLabel() {
	fmt.Println(rollouttest.HookLabel("drain", "please").Labels)
	// Output: map[drain:please]
}

func ExampleHookFinalizer() {
	fmt.Println(rollouttest.HookFinalizer("example.com/traffic").Finalizers)
	// Output: [example.com/traffic]
}

func ExampleMarkPodNotReady() {
	hook := rollouttest.MarkPodNotReady(rollouttest.HookLabel("drain", "please"))
	pod := rollouttest.Pod("p", rollouttest.Of(rollouttest.Spec("agent", rollouttest.PreDelete(hook))))
	fmt.Println(hook.MarkPodNotReady, pod.Spec.ReadinessGates)
	// Output: true [{KruisePodReady}]
}

func ExamplePreDownload() {
	story(fleetOf("ooo", rollouttest.PreDownload("1")), "b", rollouttest.Behavior{Pull: time.Second})
	// Output:
	// 12:00:00 pull started agent:v2 on b
	// 12:00:01 pulled agent:v2 on b
	// 12:00:07 deleted agent-b on b
	// 12:00:09 gone agent-b on b
	// 12:00:09 created agent-x0002 on b
	// 12:00:09 bound agent-x0002 on b
	// 12:00:14 ready agent-x0002 on b
}

func ExampleMinUpdatedReadyPods() {
	p, err := planner(fleetOf("ooo", rollouttest.PreDownload("1"), rollouttest.MinUpdatedReadyPods("1")))(
		fleetOf("ooo", rollouttest.PreDownload("1")).Snapshot)
	fmt.Println(len(p.Pulls), err)
	// Output: 0 <nil>
}

func ExamplePodTemplateLabel() {
	fmt.Println(rollouttest.Spec("agent", rollouttest.PodTemplateLabel("tier", "gold")).Template.Labels)
	// Output: map[app:agent tier:gold]
}

func ExamplePodTemplateAnnotation() {
	fmt.Println(rollouttest.Spec("agent", rollouttest.PodTemplateAnnotation("tier", "gold")).Template.Annotations)
	// Output: map[tier:gold]
}

func ExamplePodTemplateFinalizer() {
	fmt.Println(rollouttest.Spec("agent", rollouttest.PodTemplateFinalizer("example.com/traffic")).Template.Finalizers)
	// Output: [example.com/traffic]
}

func ExampleRequests() {
	spec := rollouttest.Spec("agent", rollouttest.Requests(corev1.ResourceCPU, "100m"))
	fmt.Println(spec.Template.Spec.Containers[0].Resources.Requests.Cpu())
	// Output: 100m
}

func ExampleLimits() {
	spec := rollouttest.Spec("agent", rollouttest.Limits(corev1.ResourceMemory, "1Gi"))
	fmt.Println(spec.Template.Spec.Containers[0].Resources.Limits.Memory())
	// Output: 1Gi
}

func ExampleEnv() {
	spec := rollouttest.Spec("agent", rollouttest.Env("LEVEL", "debug"))
	fmt.Println(spec.Template.Spec.Containers[0].Env[0].Name, spec.Template.Spec.Containers[0].Env[0].Value)
	// Output: LEVEL debug
}

func ExampleRestartToResize() {
	s := fleetOf("u", rollouttest.InPlace(), rollouttest.Resize(), rollouttest.Requests(corev1.ResourceCPU, "100m"),
		rollouttest.RestartToResize(corev1.ResourceCPU))
	rollouttest.Requests(corev1.ResourceCPU, "200m")(&s.Spec)
	story(s, "a", rollouttest.Behavior{})
	// Output:
	// 12:00:00 updated agent-a on a
	// 12:00:01 restarted agent-a on a (main)
	// 12:00:06 ready agent-a on a
}

func ExampleRolling() {
	spec := rollouttest.Spec("agent", rollouttest.Paused(), rollouttest.Partition("1"), rollouttest.Rolling())
	fmt.Println(spec.Strategy.Paused, spec.Strategy.Partition)
	// Output: false 1
}

func ExampleGated() {
	pod := rollouttest.Pod("p", rollouttest.Gated(lifecycle.InPlaceUpdateReady))
	fmt.Println(pod.Spec.ReadinessGates, lifecycle.Ready(pod))
	// Output: [{InPlaceUpdateReady}] true
}

func ExampleCondition() {
	pod := rollouttest.Pod("p", rollouttest.Condition(lifecycle.InPlaceUpdateReady, corev1.ConditionFalse, rollouttest.Noon()))
	fmt.Println(lifecycle.Ready(pod))
	// Output: false
}

func ExampleMarkedNotReady() {
	pod := rollouttest.Pod("p", rollouttest.MarkedNotReady(lifecycle.Message{UserAgent: "backup", Key: "nightly"}))
	for _, c := range pod.Status.Conditions {
		fmt.Println(c.Type, c.Status, c.Message)
	}
	// Output:
	// KruisePodReady False [{"userAgent":"backup","key":"nightly"}]
	// Ready False
}

func ExampleInState() {
	s := fleetOf("o", rollouttest.PreDelete(rollouttest.HookLabel("app", "agent")))
	rollouttest.InState(lifecycle.PreparingDelete)(s.Snapshot.Pods[0])
	decide(s)
	// Output: a wait PreDelete hook
}

func ExamplePodAnnotation() {
	s := fleetOf("o", rollouttest.InPlace())
	rollouttest.PodAnnotation(inplace.StateKey, "of a human hand")(s.Snapshot.Pods[0])
	decide(s)
	// Output: a wait InPlaceUnreadable none
}

func ExampleFinalizer() {
	fmt.Println(rollouttest.Pod("p", rollouttest.Finalizer("example.com/traffic")).Finalizers)
	// Output: [example.com/traffic]
}

func ExampleContainers() {
	pod := rollouttest.Pod("p", rollouttest.Of(rollouttest.Spec("agent")), rollouttest.Containers())
	status := pod.Status.ContainerStatuses[0]
	fmt.Println(status.Name, status.Image, status.Ready, status.ImageID == rollouttest.ImageID("agent:v1"))
	// Output: main agent:v1 true true
}

func ExampleUpdatingTo() {
	old, spec := generations(rollouttest.InPlace())
	pod := rollouttest.Pod("p", rollouttest.OnNode("a"), rollouttest.Of(old), rollouttest.UpdatingTo(spec, rollouttest.Noon()))
	fmt.Println(pod.Spec.Containers[0].Image, pod.Status.ContainerStatuses[0].Image, inplace.Completed(pod).Waits)
	// Output: agent:v2 agent:v1 [container main: it still runs the image of before]
}

func ExampleImages() {
	s := fleetOf("oo", rollouttest.PreDownload("1"))
	rollouttest.Images("docker.io/library/agent:v2")(s.Snapshot.Nodes[0])
	p, err := planner(s)(s.Snapshot)
	fmt.Println(len(p.Pulls), err)
	// Output: 0 <nil>
}

func ExampleImageID() {
	fmt.Println(rollouttest.ImageID("agent:v1") == rollouttest.ImageID("agent:v2"))
	// Output: false
}

func ExampleAnyBehavior() {
	behavior := rollouttest.AnyBehavior().Example(1) // Draw it in a test with rapid.
	fmt.Println(behavior.Hook >= 0)
	// Output: true
}

func ExampleAnyChanges() {
	changes := rollouttest.AnyChanges(rollouttest.Spec("agent")).Example(1) // Draw it in a test with rapid.
	fmt.Println(len(changes) > 1)
	// Output: true
}

func ExampleCheckChanges() {
	old, spec := generations(rollouttest.InPlace())
	planner := func(spec rollout.Spec) (rollouttest.PlanFunc, error) {
		p, err := rollout.New(spec)
		if err != nil {
			return nil, err
		}
		return p.Plan, nil
	}
	// In the middle of the rollout, while a kubelet is about to restart a container, the user rolls back.
	err := rollouttest.CheckChanges(planner, fleetOf("oo", rollouttest.InPlace()).Snapshot, rollouttest.Behavior{Restart: time.Minute},
		rollouttest.Change{Spec: spec}, rollouttest.Change{After: 2, Spec: old})
	fmt.Println(err)
	// Output: <nil>
}
