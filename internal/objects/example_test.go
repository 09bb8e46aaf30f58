package objects_test

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/daemonplan/daemonplan/internal/kubelet"
	"github.com/daemonplan/daemonplan/internal/objects"
	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout/history"
	"github.com/daemonplan/daemonplan/rollout/rollouttest"
)

func ExampleMarked() {
	plain := rollouttest.Revision(rollouttest.Spec("agent"), 1)
	marked := objects.Marked(plain, map[string]string{history.RetriedAnnotation: "x"})
	fmt.Println(len(plain.Annotations), marked.Annotations[history.RetriedAnnotation], objects.Marked(nil, nil) == nil)
	// Output: 0 x true
}

func ExampleUncordoned() {
	n := rollouttest.Node("a", rollouttest.Cordoned(), objects.Uncordoned())
	fmt.Println(n.Spec.Unschedulable, len(n.Spec.Taints))
	// Output: false 0
}

func ExampleUnlabelled() {
	n := rollouttest.Node("a", rollouttest.Label("zone", "a"), objects.Unlabelled("zone"))
	_, labelled := n.Labels["zone"]
	fmt.Println(labelled)
	// Output: false
}

func ExampleNodeAnnotation() {
	fmt.Println(rollouttest.Node("a", objects.NodeAnnotation("team", "x")).Annotations)
	// Output: map[team:x]
}

func ExampleRecovered() {
	n := rollouttest.Node("a", rollouttest.Unreachable(), objects.Recovered(rollouttest.Noon()))
	fmt.Println(n.Status.Conditions[0].Status, len(n.Spec.Taints))
	// Output: True 0
}

func ExampleStartedAt() {
	p := rollouttest.Pod("p", objects.StartedAt(rollouttest.Noon()))
	fmt.Println(p.Status.StartTime.Format(time.TimeOnly))
	// Output: 12:00:00
}

func ExampleEvicted() {
	p := rollouttest.Pod("p", objects.Evicted(rollouttest.Noon()))
	fmt.Println(p.Status.Phase, p.Status.Reason)
	// Output: Failed Evicted
}

func ExampleOverridden() {
	spec := rollouttest.Spec("agent")
	overrides, err := placement.CompileOverrides("default", "agent", &spec.Template, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	node := rollouttest.Node("a", rollouttest.ResourcesFor(spec, "main", `{"limits":{"cpu":"1"}}`))
	p := rollouttest.Pod("p", rollouttest.Of(spec), objects.Overridden(overrides.Evaluate(node)))
	cpu := p.Spec.Containers[0].Resources.Limits[corev1.ResourceCPU]
	fmt.Println(cpu.Equal(resource.MustParse("1")), p.Annotations[placement.DigestAnnotation] != "")
	// Output: true true
}

func ExampleEnvFromLabel() {
	spec := rollouttest.Spec("agent", objects.EnvFromLabel("TIER", "tier"))
	env := spec.Template.Spec.Containers[0].Env[0]
	fmt.Println(env.Name, env.ValueFrom.FieldRef.FieldPath)
	// Output: TIER metadata.labels['tier']
}

func ExampleHookFinalizer() {
	fmt.Println(objects.HookFinalizer("example.com/traffic").Finalizers)
	// Output: [example.com/traffic]
}

func ExampleMarkPodNotReady() {
	hook := objects.MarkPodNotReady(rollouttest.HookLabel("drain", "please"))
	pod := rollouttest.Pod("p", rollouttest.Of(rollouttest.Spec("agent", rollouttest.PreDeleteHook(hook))))
	fmt.Println(hook.MarkPodNotReady, pod.Spec.ReadinessGates)
	// Output: true [{KruisePodReady}]
}

func ExamplePodTemplateFinalizer() {
	fmt.Println(rollouttest.Spec("agent", objects.PodTemplateFinalizer("example.com/traffic")).Template.Finalizers)
	// Output: [example.com/traffic]
}

func ExampleRolling() {
	spec := rollouttest.Spec("agent", rollouttest.Paused(), rollouttest.Partition("1"), objects.Rolling())
	fmt.Println(spec.Strategy.Paused, spec.Strategy.Partition)
	// Output: false 1
}

func ExampleGated() {
	pod := rollouttest.Pod("p", objects.Gated(lifecycle.InPlaceUpdateReady))
	fmt.Println(pod.Spec.ReadinessGates, lifecycle.Ready(pod))
	// Output: [{InPlaceUpdateReady}] true
}

func ExampleCondition() {
	pod := rollouttest.Pod("p", objects.Condition(lifecycle.InPlaceUpdateReady, corev1.ConditionFalse, rollouttest.Noon()))
	fmt.Println(lifecycle.Ready(pod))
	// Output: false
}

func ExampleMarkedNotReady() {
	pod := rollouttest.Pod("p", objects.MarkedNotReady(lifecycle.Message{UserAgent: "backup", Key: "nightly"}))
	for _, c := range pod.Status.Conditions {
		fmt.Println(c.Type, c.Status, c.Message)
	}
	// Output:
	// KruisePodReady False [{"userAgent":"backup","key":"nightly"}]
	// Ready False
}

func ExampleFinalizer() {
	fmt.Println(rollouttest.Pod("p", objects.Finalizer("example.com/traffic")).Finalizers)
	// Output: [example.com/traffic]
}

func ExampleContainers() {
	pod := rollouttest.Pod("p", rollouttest.Of(rollouttest.Spec("agent")), objects.Containers())
	status := pod.Status.ContainerStatuses[0]
	fmt.Println(status.Name, status.Image, status.Ready, status.ImageID == kubelet.ImageID("agent:v1"))
	// Output: main agent:v1 true true
}

func ExampleReleased() {
	spec := rollouttest.Spec("agent", rollouttest.Frozen(), rollouttest.OnDelete(), objects.Released())
	fmt.Println(spec.Strategy.Type, spec.Strategy.Frozen)
	// Output: RollingUpdate false
}

func ExampleTemplateGeneration() {
	spec := rollouttest.Spec("agent", objects.TemplateGeneration(7))
	fmt.Println(*spec.TemplateGeneration)
	// Output: 7
}

func ExampleUpdating() {
	for _, c := range rollouttest.Pod("agent-a", objects.Updating()).Status.Conditions {
		fmt.Println(c.Type, c.Status)
	}
	// Output:
	// Ready True
	// InPlaceUpdateReady False
}
