package inplace_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/inplace"
)

// The surprises 1 to 9 of the recorded cases, each with what this package does instead.
func TestSurprises(t *testing.T) {
	one := func(change func(*corev1.PodTemplateSpec)) *corev1.PodTemplateSpec {
		p := agent("agent:1")
		change(p)
		return p
	}
	options := inplace.Options{Resize: true, EnvFromMetadata: true}
	update := func(t *testing.T, old, changed *corev1.PodTemplateSpec) (*corev1.Pod, *corev1.Pod) {
		before := podOf(old, "v1")
		return before, sent(t, before)(inplace.Compare(old, changed, options).Begin(before, to("v2"), inplace.Metadata{}, start))
	}
	tests := []struct {
		name, why string
		check     func(*testing.T)
	}{
		{"1 last annotation dropped", "Kruise wipes every annotation of the pod: only the template's own go", func(t *testing.T) {
			annotated := one(func(p *corev1.PodTemplateSpec) { p.Annotations = map[string]string{"cfg": "1"} })
			_, pod := update(t, annotated, agent("agent:1"))
			if _, ok := pod.Annotations["cfg"]; ok || pod.Annotations["cni.example.com/ip"] != "10.0.0.1" {
				t.Error(pod.Annotations)
			}
			_, pod = update(t, agent("agent:1"), one(func(p *corev1.PodTemplateSpec) { p.Labels = nil }))
			if _, ok := pod.Labels["app"]; ok || pod.Labels["foreign"] != "label" {
				t.Error(pod.Labels)
			}
		}},
		{"2 label dropped that env reads", "Kruise leaves the variable stale: an obstacle", func(t *testing.T) {
			reads := one(func(p *corev1.PodTemplateSpec) {
				p.Spec.Containers[0].Env = []corev1.EnvVar{fieldRef("metadata.labels['app']")}
			})
			without := reads.DeepCopy()
			without.Labels = nil
			u := inplace.Compare(reads, without, options)
			if len(u.Obstacles) != 1 || u.Obstacles[0].Code != inplace.MetadataInEnvRemoved {
				t.Error(u.Obstacles)
			}
			// The first label of a template: Kruise leaves the variable stale, here the container restarts.
			u = inplace.Compare(without, reads, options)
			if !u.InPlace() || !u.Restarts() || len(u.Env) != 1 {
				t.Error(u.Obstacles, u.Env)
			}
			// Not enabled: Kruise changes it in place and leaves the variable stale.
			if u = inplace.Compare(without, reads, inplace.Options{}); len(u.Obstacles) != 1 || u.Obstacles[0].Code != inplace.MetadataInEnv {
				t.Error(u.Obstacles)
			}
		}},
		{"3 later batches of resources only", "Kruise never runs them: they run, and are waited for", func(t *testing.T) {
			sizedTwo := func(cpu string) *corev1.PodTemplateSpec {
				p := two("1")
				for i := range p.Spec.Containers {
					p.Spec.Containers[i].Resources = corev1.ResourceRequirements{Limits: sized("cpu=8"), Requests: sized("cpu=" + cpu)}
				}
				return p
			}
			_, pod := update(t, sizedTwo("1"), sizedTwo("2"))
			cpu := func(i int) string { q := pod.Spec.Containers[i].Resources.Requests["cpu"]; return q.String() }
			if cpu(0) != "1" || cpu(1) != "2" || cpu(2) != "2" || inplace.Completed(pod).Done || !inplace.Unfinished(pod) {
				t.Fatal(cpu(0), cpu(1), cpu(2), inplace.Completed(pod).Waits)
			}
			run(pod, []string{"high", "none"}, start.Add(time.Second))
			pod = sent(t, pod)(inplace.Continue(pod, start.Add(2*time.Second)))
			if cpu(0) != "2" || inplace.Completed(pod).Done {
				t.Fatal(cpu(0), inplace.Completed(pod).Waits)
			}
			run(pod, []string{"low"}, start.Add(3*time.Second))
			if !inplace.Completed(pod).Done {
				t.Error(inplace.Completed(pod).Waits)
			}
		}},
		{"4 second update of a container", "Kruise keeps the image ID of the first: it is recorded anew", func(t *testing.T) {
			_, pod := update(t, agent("agent:1"), agent("agent:2"))
			run(pod, []string{"agent"}, start.Add(time.Second))
			u := inplace.Compare(agent("agent:2"), agent("agent:3"), options)
			pod = sent(t, pod)(u.Begin(pod, to("v3"), inplace.Metadata{}, start.Add(2*time.Second)))
			state, err := inplace.StateOf(pod)
			if err != nil || state.LastContainerStatuses["agent"].ImageID != "id-of-agent:2" || inplace.Completed(pod).Done {
				t.Errorf("%+v, %v", state, err)
			}
		}},
		{"5 untagged image with a port", "Kruise never completes: the tag is latest; its state does not say what the container was made from", func(t *testing.T) {
			for wanted, reported := range map[string]string{"reg:5000/app": "reg:5000/app:latest", "app:v2": "docker.io/library/app:v2"} {
				pod := podOf(agent(wanted), "v2")
				pod.Annotations[inplace.StateKey] = `{"revision":"v2","updateTimestamp":"2026-01-15T12:00:00Z","updateImages":true,` +
					`"lastContainerStatuses":{"agent":{"imageID":"` + pod.Status.ContainerStatuses[0].ImageID + `"}}}`
				pod.Status.ContainerStatuses[0].Image = reported
				if !inplace.Completed(pod).Done {
					t.Error(inplace.Completed(pod).Waits)
				}
			}
		}},
		{"an image that is only spelled otherwise", "the kubelet restarts the container for any change of the text", func(t *testing.T) {
			for _, image := range []string{"docker.io/library/agent:1", "agent:1@sha256:1"} {
				_, pod := update(t, agent("agent:1"), agent(image))
				pod.Status.ContainerStatuses[0].Image = "docker.io/library/agent:1"
				pod.Status.ContainerStatuses[0].ImageID = "docker.io/library/agent@sha256:1"
				state, err := inplace.StateOf(pod)
				if err != nil {
					t.Fatal(err)
				}
				state.LastContainerStatuses["agent"] = inplace.ContainerStatus{ImageID: "docker.io/library/agent@sha256:1"}
				pod.Annotations[inplace.StateKey] = text(state)
				if inplace.Completed(pod).Done {
					t.Errorf("%s: done before the container has restarted", image)
				}
				run(pod, []string{"agent"}, start.Add(time.Second))
				if !inplace.Completed(pod).Done {
					t.Error(inplace.Completed(pod).Waits)
				}
			}
		}},
		{"6 sidecar that reports no resources", "Kruise waits for it: it was not resized", func(t *testing.T) {
			old := one(func(p *corev1.PodTemplateSpec) {
				p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Limits: sized("cpu=8"), Requests: sized("cpu=1")}
				p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "sidecar", Image: "sidecar:1", Resources: corev1.ResourceRequirements{Requests: sized("cpu=1")}})
			})
			changed := old.DeepCopy()
			changed.Spec.Containers[0].Resources.Requests = sized("cpu=2")
			_, pod := update(t, old, changed)
			run(pod, []string{"agent"}, start.Add(time.Second))
			pod.Status.ContainerStatuses[1].Resources = nil
			if !inplace.Completed(pod).Done {
				t.Error(inplace.Completed(pod).Waits)
			}
		}},
		{"7 a limit added or removed", "Kruise recreates for both; the API server refuses only to remove one", func(t *testing.T) {
			limited := one(func(p *corev1.PodTemplateSpec) {
				p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Limits: sized("cpu=2"), Requests: sized("cpu=1")}
			})
			unlimited := limited.DeepCopy()
			unlimited.Spec.Containers[0].Resources.Limits = nil
			if u := inplace.Compare(limited, unlimited, options); len(u.Obstacles) != 1 || u.Obstacles[0].Code != inplace.ResourceRemoved {
				t.Error(u.Obstacles)
			}
			if u := inplace.Compare(unlimited, limited, options); !u.InPlace() || len(u.Resources) != 1 || !u.Resources[0].Added {
				t.Error(u.Obstacles)
			}
		}},
		{"8 identical templates, template finalizers", "nothing to do is in place and only changes the revision; finalizers are an obstacle", func(t *testing.T) {
			before, pod := update(t, agent("agent:1"), agent("agent:1"))
			if pod.Labels[revisionLabel] != "v2" || condition(pod) != corev1.ConditionTrue || !inplace.Completed(pod).Done ||
				text(pod.Spec) != text(before.Spec) {
				t.Error(pod.Labels, inplace.Completed(pod).Waits)
			}
			u := inplace.Compare(agent("agent:1"), one(func(p *corev1.PodTemplateSpec) { p.Finalizers = []string{"example.com/x"} }), options)
			if len(u.Obstacles) != 1 || u.Obstacles[0].Path != "metadata.finalizers[0]" {
				t.Error(u.Obstacles)
			}
		}},
		{"9 launch priority that is no reference", "Kruise panics: it is none, the container goes at once", func(t *testing.T) {
			for _, variable := range []corev1.EnvVar{
				{Name: "KRUISE_CONTAINER_BARRIER", Value: "p_1"},
				{Name: "KRUISE_CONTAINER_BARRIER", ValueFrom: &corev1.EnvVarSource{}},
				{Name: "KRUISE_CONTAINER_BARRIER", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{Key: "x_1"}}},
				{Name: "KRUISE_CONTAINER_BARRIER", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{Key: "p_high"}}},
				{Name: "OTHER", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{Key: "p_1"}}},
			} {
				old, changed := two("1"), two("2")
				old.Spec.Containers[0].Env[0], changed.Spec.Containers[0].Env[0] = variable, variable
				if _, pod := update(t, old, changed); images(pod) != "low:2 high:2 none:2" {
					t.Error(variable, images(pod))
				}
			}
			old, changed := two("1"), two("2")
			if _, pod := update(t, old, changed); images(pod) != "low:1 high:2 none:2" {
				t.Error(images(pod))
			}
		}},
	}
	for _, test := range tests {
		if test.name == "" || test.why == "" {
			t.Fatal("a row without name or reason")
		}
		t.Run(test.name, test.check)
	}
}
