package inplace_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/inplace"
)

// TestLacks: what a node lacks for an update (I2), by its kubelet's version and what it declares.
func TestLacks(t *testing.T) {
	const (
		whole = "InPlacePodLevelResourcesVerticalScaling"
		inits = "InPlacePodVerticalScalingInitContainers"
	)
	node := func(version string, features ...string) *corev1.Node {
		return &corev1.Node{Status: corev1.NodeStatus{NodeInfo: corev1.NodeSystemInfo{KubeletVersion: version}, DeclaredFeatures: features}}
	}
	setup := func(p *corev1.PodTemplateSpec) {
		p.Spec.InitContainers = []corev1.Container{{Name: "setup", Image: "setup:1", Resources: corev1.ResourceRequirements{Requests: sized("cpu=1")}}}
	}
	asAWhole := func(p *corev1.PodTemplateSpec) {
		p.Spec.Resources = &corev1.ResourceRequirements{Limits: sized("cpu=4"), Requests: sized("cpu=2")}
		p.Spec.Containers[0].Resources.Requests = sized("cpu=1")
	}
	sidecarImage := func(p *corev1.PodTemplateSpec) { p.Spec.InitContainers[0].Image = "side:2" }
	tests := []struct {
		name, why   string
		old, change func(*corev1.PodTemplateSpec)
		node        *corev1.Node
		want        string
	}{
		{"sidecar, old kubelet", "it would not restart the container", sidecar, sidecarImage, node("v1.32.9"),
			"its kubelet v1.32.9 does not restart sidecars, which needs 1.33.0"},
		{"sidecar, first kubelet", "it restarts the container", sidecar, sidecarImage, node("v1.33.0-gke.1"), ""},
		{"sidecar, nobody knows", "a kubelet that does not say is taken for a newer one", sidecar, sidecarImage, node(""), ""},
		{"sidecar, no node", "nothing says that it is old", sidecar, sidecarImage, nil, ""},
		{"app beside a sidecar, old kubelet", "the sidecar stays", sidecar, func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Image = "agent:2" },
			node("v1.32.9"), ""},
		{"init container", "the API server asks for it", setup,
			func(p *corev1.PodTemplateSpec) { p.Spec.InitContainers[0].Resources.Requests = sized("cpu=2") }, node("v1.37.2", whole),
			"it does not declare the feature " + inits},
		{"init container, declared", "it can", setup,
			func(p *corev1.PodTemplateSpec) { p.Spec.InitContainers[0].Resources.Requests = sized("cpu=2") }, node("v1.37.2", inits), ""},
		{"init container, written otherwise", "the API server stores quantities in one spelling", setup, func(p *corev1.PodTemplateSpec) {
			p.Spec.InitContainers[0].Resources.Requests = sized("cpu=1000m")
			p.Spec.Containers[0].Image = "agent:2"
		}, node("v1.31.4"), ""},
		{"the pod as a whole", "the API server asks for it", asAWhole,
			func(p *corev1.PodTemplateSpec) { p.Spec.Resources.Limits = sized("cpu=5") }, node("v1.37.2", inits), "it does not declare the feature " + whole},
		{"a container of such a pod", "a server without the feature refuses that, too", asAWhole,
			func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Resources.Requests = sized("cpu=2") }, nil,
			"it does not declare the feature " + whole},
		{"its image", "nothing is resized", asAWhole,
			func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Image = "agent:2" }, nil, ""},
		{"the pod as a whole, declared", "it can", asAWhole,
			func(p *corev1.PodTemplateSpec) { p.Spec.Resources.Limits = sized("cpu=5") }, node("v1.37.2", whole), ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			old := agent("agent:1")
			test.old(old)
			changed := old.DeepCopy()
			test.change(changed)
			update := inplace.Compare(old, changed, inplace.Options{Resize: true})
			if !update.InPlace() {
				t.Fatal(update.Obstacles)
			}
			if got := update.Lacks(test.node); got != test.want {
				t.Errorf("%s: %q, want %q", test.why, got, test.want)
			}
		})
	}
}
