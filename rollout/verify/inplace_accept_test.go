package verify_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/lifecycle"
)

// begun has an outdated pod, b-old, that is not Ready and whose update in place the plan begins. Beside it there is an updated
// pod, a-new.
func begun(changes ...change) func() *handmade {
	return handFleet(append([]change{handPods("available", "a-new"), handPods("unready", "b-old"), inPlaceBy(inplace.IfPossible)}, changes...)...)
}

// cpu gives the container of a template, or of a pod, a request.
func cpu(of *corev1.PodSpec, quantity string) {
	of.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(quantity)}
}

// resizing changes the image and the cpu of container main.
func resizing(options inplace.Options) change {
	return func(s *handmade) {
		templates(func(t *corev1.PodTemplateSpec) { cpu(&t.Spec, "100m") }, func(t *corev1.PodTemplateSpec) { cpu(&t.Spec, "200m") })(s)
		cpu(&s.pod("a-new").Spec, "200m")
		cpu(&s.pod("b-old").Spec, "100m")
		s.spec.Strategy.InPlace = options
	}
}

// restarting adds a resize policy to both templates and to b's pod. The image does not change.
func restarting(s *handmade) {
	policy := []corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceCPU, RestartPolicy: corev1.RestartContainer}}
	template := func(quantity string) func(*corev1.PodTemplateSpec) {
		return func(t *corev1.PodTemplateSpec) {
			cpu(&t.Spec, quantity)
			t.Spec.Containers[0].Image, t.Spec.Containers[0].ResizePolicy = "reg.example/agent:v2", policy
		}
	}
	templates(template("100m"), template("200m"))(s)
	s.pod("b-old").Spec.Containers[0].Image, s.pod("b-old").Spec.Containers[0].ResizePolicy = "reg.example/agent:v2", policy
}

// relabelling changes a label and an annotation of the template, too.
func relabelling(s *handmade) {
	templates(
		func(t *corev1.PodTemplateSpec) {
			t.Labels["tier"], t.Annotations = "old", map[string]string{"note": "x"}
		},
		func(t *corev1.PodTemplateSpec) { t.Labels["tier"] = "new" },
	)(s)
	s.pod("b-old").Labels["tier"], s.pod("b-old").Annotations = "old", map[string]string{"note": "x", "mine": "yes"}
}

// prioritised has a second container, which is updated in a later batch than main.
func prioritised(s *handmade) {
	second := func(tag, priority string) corev1.Container {
		return corev1.Container{Name: "second", Image: "reg.example/second:" + tag, Env: []corev1.EnvVar{{
			Name: "KRUISE_CONTAINER_BARRIER", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: "barrier"}, Key: priority,
			}},
		}}}
	}
	first := func(c *corev1.Container) { c.Env = second("", "p_2").Env }
	add := func(tag string) func(*corev1.PodTemplateSpec) {
		return func(t *corev1.PodTemplateSpec) {
			first(&t.Spec.Containers[0])
			t.Spec.Containers = append(t.Spec.Containers, second(tag, "p_1"))
		}
	}
	templates(add("v1"), add("v2"))(s)
	for name, tag := range map[string]string{"a-new": "v2", "b-old": "v1"} {
		pod := s.pod(name)
		first(&pod.Spec.Containers[0])
		pod.Spec.Containers = append(pod.Spec.Containers, second(tag, "p_1"))
	}
}

// between is the moment between the two batches of prioritised.
func between(s *handmade) {
	prioritised(s)
	pod := s.pod("b-old")
	pod.Labels["controller-revision-hash"] = freshHash
	pod.Spec.Containers[0].Image = "reg.example/agent:v2"
	made(time.Hour, "b-old")(s)
	pod.Annotations = map[string]string{inplace.StateKey: `{"revision":"fresh","updateTimestamp":"2026-01-15T11:00:00Z",` +
		`"lastContainerStatuses":{"main":{"imageID":"before"}},"updateImages":true,"nextContainerImages":{"second":"reg.example/second:v2"},` +
		`"preCheckBeforeNext":{"containersRequiredReady":["main"]}}`}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", ImageID: "after", Ready: true}, {Name: "second", ImageID: "second", Ready: true}}
}

func TestVerifyAcceptsInPlace(t *testing.T) {
	runAccepts(t, []acceptRow{
		{name: "an image", why: "I4: unready, then the image, in one plan", scene: begun()},
		{name: "a resize and an image", why: "I4: the resize comes before the label", scene: begun(resizing(inplace.Options{Resize: true}))},
		{name: "labels and annotations", why: "I2: what the templates name; what others wrote stays", scene: begun(relabelling)},
		{name: "the first batch", why: "I5: the annotation lists the second", scene: begun(prioritised)},
		{name: "the next batch", why: "I5: the annotation is kept", scene: begun(between)},
		{name: "made unready", why: "I4: no more until the grace period ends", scene: begun(graceful)},
		{name: "grace over", why: "I4: exactly as long is enough", scene: begun(graceful, made(30*time.Second, "b-old"))},
		{name: "a container of others", why: "V9: it is theirs, whatever it runs", scene: begun(onPods(func(p *corev1.Pod) {
			p.Spec.Containers = append([]corev1.Container{{Name: "injected", Image: "x"}}, p.Spec.Containers...)
		}, "b-old"))},
		{name: "updated in place before", why: "I5: the condition is given back", scene: handFleet(handPods("available", "a-new"), inPlaceBy(inplace.IfPossible),
			made(time.Hour, "a-new"))},
		{name: "asked anew", why: "L3: the handlers are put back, label and finalizer", scene: handFleet(handPods("unready", "a-old"), inPlaceBy(inplace.IfPossible),
			inPlaceHook, func(s *handmade) { s.spec.Lifecycle.InPlaceUpdate.Finalizers = []string{"x.io/drain"} }, inStateOf(lifecycle.Updated, "a-old"))},
		{name: "a resize that restarts", why: "I4: unready first", scene: begun(resizing(inplace.Options{Resize: true}), restarting)},
		{name: "an image without which the pod serves on", why: "I4: it stays ready, and no grace period runs", scene: begun(graceful, serveOn("main"))},
		{name: "its next batch", why: "I4: as the pod's record has it, whatever the spec says by now", scene: begun(between, servingOn("second"))},
		{name: "a merge patch", why: "it can say the same of labels", scene: func() *handmade {
			s := handFleet(handPods("unready", "a-new"), inStateOf(lifecycle.PreparingDelete, "a-new"))()
			s.patchTo("a-new", "").Type = types.MergePatchType
			return s
		}},
	})
}

func serveOn(containers ...string) change {
	return func(s *handmade) { s.spec.Strategy.InPlace.ServeOn = containers }
}

// servingOn is for between: the pod was not made unready, because it serves on without the container.
func servingOn(container string) change {
	return onPods(func(p *corev1.Pod) {
		for i := range p.Status.Conditions {
			p.Status.Conditions[i].Status = corev1.ConditionTrue
		}
		p.Annotations[inplace.StateKey] = strings.TrimSuffix(p.Annotations[inplace.StateKey], "}") +
			fmt.Sprintf(`,"daemonplanServeOn":[%q]}`, container)
	}, "b-old")
}

func graceful(s *handmade) { s.spec.Strategy.InPlace.GracePeriodSeconds = 30 }
