package verify_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/daemonplan/daemonplan/inplace"
	"github.com/daemonplan/daemonplan/rollout"
)

// amounts reads quantities of resources, each a name and an amount.
func amounts(of ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i+1 < len(of); i += 2 {
		list[corev1.ResourceName(of[i])] = resource.MustParse(of[i+1])
	}
	return list
}

// resourced gives container main resources: one amount in the old template and in the pod of b, and another one in the new
// template. The image stays.
func resourced(old, new corev1.ResourceRequirements) change {
	image := handTemplate("v2").Spec.Containers[0].Image
	to := func(resources corev1.ResourceRequirements) func(*corev1.PodSpec) {
		return func(spec *corev1.PodSpec) { spec.Containers[0].Image, spec.Containers[0].Resources = image, resources }
	}
	return func(s *handmade) {
		templates(func(t *corev1.PodTemplateSpec) { to(old)(&t.Spec) }, func(t *corev1.PodTemplateSpec) { to(new)(&t.Spec) })(s)
		to(*old.DeepCopy())(&s.pod("b-old").Spec)
		s.spec.Strategy.InPlace.Resize = true
	}
}

// handBefore changes the old template.
func handBefore(apply func(*corev1.PodTemplateSpec)) func(*handmade) {
	return func(s *handmade) {
		before := handTemplate("v1")
		apply(&before)
		s.snapshot.Revisions[0] = handRevision(staleHash, 1, before)
	}
}

// TestVerifyTemplates: what may change in place between templates (I2), and what others may have changed in a pod since (V9).
func TestVerifyTemplates(t *testing.T) {
	limited := func(limits ...string) corev1.ResourceRequirements {
		return corev1.ResourceRequirements{Limits: amounts(limits...), Requests: amounts("cpu", "100m")}
	}
	requesting := func(requests ...string) corev1.ResourceRequirements {
		return corev1.ResourceRequirements{Requests: amounts(requests...)}
	}
	cgroupV1 := func(s *handmade) { s.spec.Strategy.InPlace.CgroupV1 = true }
	onPod := func(apply func(*corev1.Container)) change {
		return onPods(func(p *corev1.Pod) { apply(&p.Spec.Containers[0]) }, "b-old")
	}
	// beside has a second container whose image does not change.
	beside := func(s *handmade) {
		add := func(spec *corev1.PodSpec) {
			spec.Containers = append(spec.Containers, corev1.Container{Name: "second", Image: "reg.example/second:v1"})
		}
		templates(func(t *corev1.PodTemplateSpec) { add(&t.Spec) }, func(t *corev1.PodTemplateSpec) { add(&t.Spec) })(s)
		add(&s.pod("b-old").Spec)
	}
	// environed has containers whose env reads no label and no annotation.
	environed := func(s *handmade) {
		env := []corev1.EnvVar{{Name: "PLAIN", Value: "x"}, {Name: "MAPPED", ValueFrom: &corev1.EnvVarSource{
			ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "m"}, Key: "k"},
		}}}
		add := func(tier string) func(*corev1.PodTemplateSpec) {
			return func(t *corev1.PodTemplateSpec) {
				t.Labels["tier"], t.Annotations, t.Spec.Containers[0].Env = tier, map[string]string{"note": tier}, env
			}
		}
		templates(add("old"), add("new"))(s)
		s.pod("b-old").Labels["tier"], s.pod("b-old").Annotations = "old", map[string]string{"note": "old"}
	}
	// steady has resources that do not change with the image.
	steady := func(s *handmade) {
		give := func(t *corev1.PodTemplateSpec) { cpu(&t.Spec, "100m") }
		templates(give, give)(s)
		cpu(&s.pod("b-old").Spec, "100m")
		s.spec.Strategy.InPlace.Resize = true
	}
	restartingFor := func(name corev1.ResourceName) change { // in both templates and in b's pod
		return func(s *handmade) {
			policy := []corev1.ContainerResizePolicy{{ResourceName: name, RestartPolicy: corev1.RestartContainer}}
			template := func(memory string) func(*corev1.PodTemplateSpec) {
				return func(t *corev1.PodTemplateSpec) {
					t.Spec.Containers[0].Image, t.Spec.Containers[0].ResizePolicy = "reg.example/agent:v2", policy
					t.Spec.Containers[0].Resources = requesting("cpu", "100m", "memory", memory)
				}
			}
			templates(template("1Gi"), template("2Gi"))(s)
			container := &s.pod("b-old").Spec.Containers[0]
			container.Image, container.ResizePolicy = "reg.example/agent:v2", policy
			container.Resources = requesting("cpu", "100m", "memory", "1Gi")
			s.spec.Strategy.InPlace.Resize = true
		}
	}
	runAccepts(t, []acceptRow{
		{name: "a limit", why: "I2: limits change like requests", scene: begun(resourced(limited("cpu", "1"), limited("cpu", "2")))},
		{name: "memory of a container without cpu", why: "I2: each resource for itself", scene: begun(resourced(
			requesting("memory", "1Gi"), requesting("memory", "2Gi")))},
		{name: "a resize on cgroup v1", why: "I4: alone it can be done", scene: begun(cgroupV1, resourced(requesting("cpu", "1"), requesting("cpu", "2")))},
		{name: "an image on cgroup v1", why: "I4: alone it can be done", scene: begun(cgroupV1)},
		{name: "a resize that would restart for another resource", why: "I4: memory changes without a restart, so the pod stays ready",
			scene: handFleet(handPods("available", "a-new", "b-old"), inPlaceBy(inplace.IfPossible), restartingFor(corev1.ResourceCPU))},
		{name: "labels that no env reads", why: "I2: an env may hold other things", scene: begun(environed)},
		{name: "an image that others changed", why: "V9: the update does not change that container", scene: begun(beside, onPods(func(p *corev1.Pod) {
			p.Spec.Containers[1].Image = "mirror.example/second:v1"
		}, "b-old"))},
		{name: "resources that others changed", why: "V9: the update does not change them", scene: begun(steady, onPod(func(c *corev1.Container) {
			c.Resources = requesting("cpu", "150m")
		}))},
		{name: "resources that others took away", why: "V9: the update does not change them", scene: begun(steady, onPod(func(c *corev1.Container) {
			c.Resources = corev1.ResourceRequirements{}
		}))},
	})
	runViolations(t, []violationRow{
		{
			name: "a container that the new template lacks", why: "I2: it would go on running", scene: begun(),
			plant: handBefore(func(t *corev1.PodTemplateSpec) {
				t.Spec.Containers = append(t.Spec.Containers, corev1.Container{Name: "second", Image: "x"})
			}),
			want: 9, mention: "I2: begins an update in place from a template that differs in more",
		},
		{
			name: "a container that only the new template has", why: "I2: nobody can add it; what others called so is not it", scene: begun(beside, func(s *handmade) {
				s.spec.Strategy.InPlace.Resize = true
			}),
			plant: handBefore(func(*corev1.PodTemplateSpec) {}), want: 9, mention: "I2: begins an update in place from a template that differs in more",
		},
		{
			name: "memory that the new template lacks", why: "I2: nothing is taken away", scene: begun(resizing(inplace.Options{Resize: true})),
			plant: handBefore(func(t *corev1.PodTemplateSpec) {
				t.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"memory": resource.MustParse("1Gi")}
			}), want: 9, mention: "I2: begins an update in place from a template that differs in more",
		},
		{
			name: "the image alone of a template with other cpu", why: "I2: without resize it needs a new pod", scene: begun(resizing(inplace.Options{Resize: true})),
			plant: func(s *handmade) {
				s.spec.Strategy.InPlace.Resize = false
				s.unpatch("resize")
			},
			want: 9, mention: "I2: begins an update in place from a template that differs in more",
		},
		{
			name: "a resize that is not enabled", why: "I2", scene: begun(resizing(inplace.Options{Resize: true})),
			plant: func(s *handmade) { s.spec.Strategy.InPlace.Resize = false }, want: 9, mention: "I2: resizes container main, which is not enabled",
		},
		{
			name: "memory that others took away comes back as something else", why: "V9: the label says 1Gi", scene: begun(resourced(
				requesting("cpu", "100m", "memory", "1Gi"), requesting("cpu", "200m", "memory", "1Gi")), onPod(func(c *corev1.Container) {
				c.Resources = requesting("cpu", "100m")
			})),
			plant: edit("resize", func(p *rewritten) { p.container()["resources"].(object)["requests"].(object)["memory"] = "2Gi" }),
			want:  9, mention: "another memory than 1Gi, which the revision label says",
		},
		{
			name: "memory taken away", why: "I2: amounts change, none comes or goes", scene: begun(resizing(inplace.Options{Resize: true}), onPod(func(c *corev1.Container) {
				c.Resources.Requests[corev1.ResourceMemory] = resource.MustParse("1Gi")
			})),
			plant: edit("resize", func(p *rewritten) { p.container()["resources"].(object)["requests"].(object)["memory"] = nil }),
			want:  9, mention: "changes what is not to be changed there, or at all",
		},
		{
			name: "another image behind a container of others", why: "V9: theirs says nothing of the next", scene: begun(onPods(func(p *corev1.Pod) {
				p.Spec.Containers = append([]corev1.Container{{Name: "injected", Image: "x"}}, p.Spec.Containers...)
			}, "b-old")),
			plant: edit("", func(p *rewritten) { p.container()["image"] = "reg.example/agent:v3" }), want: 9, mention: "container main has image reg.example/agent:v3",
		},
		{
			name: "an image of an unready pod without the label", why: "V9: it is no update", scene: begun(),
			plant: func(s *handmade) {
				edit("", func(p *rewritten) {
					delete(p.at("metadata", "labels"), "controller-revision-hash")
					delete(p.at("metadata"), "annotations")
				})(s)
				s.patchTo("b-old", "").Revision, s.patchTo("b-old", "status").Revision = staleHash, staleHash
			},
			want: 9, mention: "changes the image of container main, and not the revision label with it",
		},
		{
			name: "the update of a pod whose successor is requested", why: "M3: two of the revision would be there", scene: begun(),
			plant: func(s *handmade) {
				s.snapshot.InFlight.Creates = []rollout.InFlightCreate{{Node: "b", Revision: freshHash}}
				s.bring()
			},
			want: 4, mention: "M3: begins an update beside a pod of the revision to which it leads, there or requested",
		},
	})
}
