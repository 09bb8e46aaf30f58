package inplace_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/daemonplan/daemonplan/inplace"
)

// exporting is an agent with an exporter, a log shipper and a sidecar beside it.
func exporting() *corev1.PodTemplateSpec {
	p := agent("agent:1")
	sidecar(p)
	for _, name := range []string{"exporter", "shipper"} {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: name, Image: name + ":1"})
	}
	return p
}

// TestServeOn: a pod is made not ready exactly if a container restarts without which it does not serve on (I4).
func TestServeOn(t *testing.T) {
	tests := []struct {
		name, why string
		serveOn   []string
		old, now  func(*corev1.PodTemplateSpec)
		unready   bool
	}{
		{"named", "the agent serves on", []string{"exporter"}, nil, image("exporter", "exporter:2"), false},
		{"not named", "it says nothing of this one", []string{"exporter"}, nil, image("shipper", "shipper:2"), true},
		{"nobody", "as without the option", nil, nil, image("exporter", "exporter:2"), true},
		{"unknown name", "the pod has none", []string{"export"}, nil, image("exporter", "exporter:2"), true},
		{"sidecar", "a sidecar is named like a container", []string{"side"}, nil, image("side", "side:2"), false},
		{"both of two", "none is needed", []string{"shipper", "exporter"}, nil, both(image("exporter", "exporter:2"), image("shipper", "shipper:2")), false},
		{"one of two", "the other is needed", []string{"shipper"}, nil, both(image("exporter", "exporter:2"), image("shipper", "shipper:2")), true},
		{"resize that restarts", "a restart is a restart", []string{"exporter"}, cpu("exporter", "1"), cpu("exporter", "2"), false},
		{"resize of another", "it restarts the agent", []string{"exporter"}, cpu("agent", "1"), cpu("agent", "2"), true},
		{"read by one", "only the exporter restarts", []string{"exporter"}, reading("exporter"), annotated("2"), false},
		{"read by two", "the agent restarts, too", []string{"exporter"}, both(reading("exporter"), reading("agent")), annotated("2"), true},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		if test.why == "" || seen[test.name] {
			t.Fatalf("row %q needs a reason and a name of its own", test.name)
		}
		seen[test.name] = true
		t.Run(test.name, func(t *testing.T) {
			old := exporting()
			annotated("1")(old)
			if test.old != nil {
				test.old(old)
			}
			changed := old.DeepCopy()
			test.now(changed)
			update := inplace.Compare(old, changed, inplace.Options{
				Resize: true, EnvFromMetadata: true, GracePeriodSeconds: 10, ServeOn: test.serveOn,
			})
			if !update.InPlace() || !update.Restarts() {
				t.Fatalf("obstacles %v, restarts %v", update.Obstacles, update.Restarts())
			}
			pod := podOf(old, "v1")
			if got := update.NeedsUnready(pod); got != test.unready {
				t.Errorf("needs unready: %v, want %v: %s", got, test.unready, test.why)
			}
			step, err := update.Begin(pod, to("v2"), inplace.Metadata{}, start)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(subresources(step), "/status"); got != test.unready || step.Begun == test.unready {
				t.Errorf("patches %s, begun %v, want the pod made unready for its grace period: %v: %s",
					subresources(step), step.Begun, test.unready, test.why)
			}
		})
	}
}

// TestServeOnIsUnderWay: a pod that serves on is ready all the while, and yet its update is not complete before the container has
// restarted (I5). No patch follows.
func TestServeOnIsUnderWay(t *testing.T) {
	old := exporting()
	changed := old.DeepCopy()
	image("exporter", "exporter:2")(changed)
	pod := podOf(old, "v1")
	step, err := inplace.Compare(old, changed, inplace.Options{ServeOn: []string{"exporter"}}).Begin(pod, to("v2"), inplace.Metadata{}, start)
	if err != nil {
		t.Fatal(err)
	}
	pod = apply(t, pod, step.Patches...)
	if !inplace.UnderWay(pod) || inplace.Completed(pod).Done {
		t.Error("nothing has restarted, and yet it is complete")
	}
	if inplace.Unfinished(pod) || inplace.Preparing(pod) {
		t.Error("there is nothing left to send")
	}
	now := start.Add(time.Minute)
	run(pod, []string{"exporter"}, now)
	if inplace.UnderWay(pod) || !inplace.Completed(pod).Done {
		t.Errorf("the exporter has restarted: %v", inplace.Completed(pod))
	}
	if step, err := inplace.Continue(pod, now); err != nil || len(step.Patches) > 0 {
		t.Errorf("there is more to do: %s, %v", subresources(step), err)
	}
}

// TestServeOnInBatches: with launch priorities the containers come one after the other, and the pod serves on through all of them.
// Where Kruise has dropped what says so, the pod is made not ready, as Kruise does.
func TestServeOnInBatches(t *testing.T) {
	old := exporting()
	old.Spec.Containers[1].Env, old.Spec.Containers[2].Env = []corev1.EnvVar{barrier(2)}, []corev1.EnvVar{barrier(1)}
	changed := old.DeepCopy()
	both(image("exporter", "exporter:2"), image("shipper", "shipper:2"))(changed)
	pod := podOf(old, "v1")
	update := inplace.Compare(old, changed, inplace.Options{ServeOn: []string{"shipper", "exporter"}})
	step, err := update.Begin(pod, to("v2"), inplace.Metadata{}, start)
	if err != nil || subresources(step) != "/" {
		t.Fatalf("%s, %v", subresources(step), err)
	}
	pod = apply(t, pod, step.Patches...)
	now := start.Add(time.Minute)
	run(pod, []string{"exporter"}, now)

	dropped := pod.DeepCopy()
	var state map[string]any
	if err := json.Unmarshal([]byte(pod.Annotations[inplace.StateKey]), &state); err != nil || state["daemonplanServeOn"] == nil {
		t.Fatalf("the state does not say who serves on: %v, %v", state, err)
	}
	delete(state, "daemonplanServeOn")
	dropped.Annotations[inplace.StateKey] = text(state)
	for _, test := range []struct {
		pod  *corev1.Pod
		want string
	}{{pod, "/"}, {dropped, "/status /"}} {
		if step, err = inplace.Continue(test.pod, now); err != nil || subresources(step) != test.want || !step.Begun {
			t.Fatalf("the next batch is %s, begun %v, want %s: %v", subresources(step), step.Begun, test.want, err)
		}
	}
	step, err = inplace.Continue(pod, now)
	if err != nil {
		t.Fatal(err)
	}
	pod = apply(t, pod, step.Patches...)
	if !inplace.UnderWay(pod) {
		t.Error("the shipper has not restarted")
	}
	if decoded, err := inplace.StateOf(pod); err != nil || len(decoded.ServeOn) > 0 {
		t.Errorf("no batch is left, but %v serve on: %v", decoded.ServeOn, err)
	}
	run(pod, []string{"shipper"}, now.Add(time.Minute))
	if inplace.UnderWay(pod) || !inplace.Completed(pod).Done {
		t.Errorf("all have restarted: %v", inplace.Completed(pod))
	}
}

func both(first, second func(*corev1.PodTemplateSpec)) func(*corev1.PodTemplateSpec) {
	return func(p *corev1.PodTemplateSpec) { first(p); second(p) }
}

// named changes the container or sidecar of that name.
func named(name string, change func(*corev1.Container)) func(*corev1.PodTemplateSpec) {
	return func(p *corev1.PodTemplateSpec) {
		for _, containers := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
			for i := range containers {
				if containers[i].Name == name {
					change(&containers[i])
				}
			}
		}
	}
}

func image(container, image string) func(*corev1.PodTemplateSpec) {
	return named(container, func(c *corev1.Container) { c.Image = image })
}

// cpu gives a container a request for which it restarts when that changes.
func cpu(container, amount string) func(*corev1.PodTemplateSpec) {
	return named(container, func(c *corev1.Container) {
		c.ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceCPU, RestartPolicy: corev1.RestartContainer}}
		c.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(amount)}
	})
}

// reading has a container read the annotation of annotated.
func reading(container string) func(*corev1.PodTemplateSpec) {
	return named(container, func(c *corev1.Container) {
		c.Env = append(c.Env, corev1.EnvVar{Name: "LEVEL", ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.annotations['level']"},
		}})
	})
}

func annotated(level string) func(*corev1.PodTemplateSpec) {
	return func(p *corev1.PodTemplateSpec) { setDefault(&p.Annotations, "level", level) }
}
