package rollouttest_test

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
	"github.com/daemonplan/daemonplan/rollout/simulate"
)

// decide makes one plan and shows what it does about each node.
func decide(s simulate.Case) {
	p, err := planner(s.Spec)(s.Snapshot)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range p.Decisions {
		fmt.Println(d.Node, d.Verb, d.Reason, d.Limit)
	}
}

func ExamplePartition() {
	decide(upgrade(rollouttest.Partition("1")))
	// Output:
	// a hold Held partition
	// b replace Outdated none
}

func ExampleStrategyNodeSelector() {
	s := upgrade(rollouttest.StrategyNodeSelector("canary", "yes"))
	rollouttest.Label("canary", "yes")(s.Snapshot.Nodes[1])
	decide(s)
	// Output:
	// a hold Held nodeSelector
	// b replace Outdated none
}

func ExamplePartitionedScaling() {
	s := simulate.Case{
		Spec:     rollouttest.Spec("agent", rollouttest.Partition("1"), rollouttest.PartitionedScaling()),
		Snapshot: rollout.Snapshot{Now: rollouttest.Noon(), Nodes: rollouttest.Nodes("a", "b")},
	}
	decide(s)
	// Output:
	// a create Missing none
	// b hold PartitionedScaling partition
}

func ExampleInPlaceOnly() {
	s := upgrade(rollouttest.InPlaceOnly())
	rollouttest.Env("LEVEL", "debug")(&s.Spec)
	decide(s)
	// Output:
	// a hold Held inPlaceOnly
	// b hold Held inPlaceOnly
}

func ExampleResize() {
	for _, options := range [][]rollouttest.SpecOption{{rollouttest.InPlaceIfPossible()}, {rollouttest.InPlaceIfPossible(), rollouttest.Resize()}} {
		s := upgrade(append(options, rollouttest.Requests(corev1.ResourceCPU, "100m"))...)
		rollouttest.Requests(corev1.ResourceCPU, "200m")(&s.Spec)
		decide(s)
	}
	// Output:
	// a wait Budget maxUnavailable
	// b replace Outdated none
	// a wait Budget maxUnavailable
	// b update Outdated none
}

func ExampleHookLabel() {
	fmt.Println(rollouttest.HookLabel("drain", "please").Labels)
	// Output: map[drain:please]
}

func ExamplePodTemplateLabel() {
	fmt.Println(rollouttest.Spec("agent", rollouttest.PodTemplateLabel("tier", "gold")).Template.Labels)
	// Output: map[app:agent tier:gold]
}

func ExamplePodTemplateAnnotation() {
	fmt.Println(rollouttest.Spec("agent", rollouttest.PodTemplateAnnotation("tier", "gold")).Template.Annotations)
	// Output: map[tier:gold]
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

func ExamplePodAnnotation() {
	s := upgrade(rollouttest.InPlaceIfPossible())
	rollouttest.PodAnnotation(inplace.StateKey, "of a human hand")(s.Snapshot.Pods[1])
	decide(s)
	// Output:
	// a update Outdated none
	// b wait InPlaceUnreadable none
}

func ExampleImages() {
	s := upgrade(rollouttest.PreDownload("1"))
	rollouttest.Images("docker.io/library/agent:v2")(s.Snapshot.Nodes[0])
	p, err := planner(s.Spec)(s.Snapshot)
	fmt.Println(len(p.Pulls), err)
	// Output: 0 <nil>
}

// Without the option the lost pod would come back at the new revision.
func ExampleHoldRevision() {
	s := upgrade(rollouttest.Partition("2"), rollouttest.HoldRevision())
	s.Snapshot.Pods = s.Snapshot.Pods[1:]
	p, err := planner(s.Spec)(s.Snapshot)
	if err != nil {
		fmt.Println(err)
		return
	}
	old := s.Snapshot.Revisions[0].Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
	fmt.Println(p.Creates[0].Node, p.Creates[0].Revision == old)
	// Output: a true
}

func ExampleInPlaceIfPossible() {
	decide(upgrade(rollouttest.InPlaceIfPossible()))
	// Output:
	// a wait Budget maxUnavailable
	// b update Outdated none
}

func ExampleEnvFromMetadata() {
	tier := func(s *rollout.Spec) {
		s.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "TIER", ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['tier']"},
		}}}
	}
	s := upgrade(rollouttest.InPlaceOnly(), rollouttest.EnvFromMetadata(), rollouttest.MaxUnavailable("2"), tier)
	rollouttest.PodTemplateLabel("tier", "gold")(&s.Spec)
	decide(s)
	// Output:
	// a update Outdated none
	// b update Outdated none
}

// The pod is taken out of service first, and updated when it has been so for the grace period.
func ExampleGracePeriod() {
	s := upgrade(rollouttest.InPlaceIfPossible(), rollouttest.GracePeriod(30))
	decide(s)
	// Output:
	// a wait Budget maxUnavailable
	// b prepare Outdated none
}

// The pod is asked to let go, and deleted when its controller has taken the label off.
func ExamplePreDeleteHook() {
	decide(upgrade(rollouttest.PodTemplateLabel("drain", "please"), rollouttest.PreDeleteHook(rollouttest.HookLabel("drain", "please"))))
	// Output:
	// a wait Budget maxUnavailable
	// b prepare Outdated none
}

func ExampleInPlaceUpdateHook() {
	decide(upgrade(rollouttest.InPlaceIfPossible(), rollouttest.PodTemplateLabel("drain", "please"),
		rollouttest.InPlaceUpdateHook(rollouttest.HookLabel("drain", "please"))))
	// Output:
	// a wait Budget maxUnavailable
	// b prepare Outdated none
}

func ExamplePreNormalHook() {
	spec := rollouttest.Spec("agent", rollouttest.PreNormalHook(rollouttest.HookLabel("registered", "yes")))
	decide(simulate.Case{Spec: spec, Snapshot: rollout.Snapshot{Now: rollouttest.Noon(), Nodes: rollouttest.Nodes("a")}})
	// Output: a create Missing none
}

func ExamplePreDownload() {
	s := upgrade(rollouttest.PreDownload("1"))
	p, err := planner(s.Spec)(s.Snapshot)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, pull := range p.Pulls {
		fmt.Println(pull.Node, pull.Image)
	}
	// Output: a agent:v2
}
