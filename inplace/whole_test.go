package inplace_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/inplace"
)

// TestResizeAsAWhole: what a resize asks for of the pod as a whole is what the API server makes of the new template (I2).
func TestResizeAsAWhole(t *testing.T) {
	able := &corev1.Node{Status: corev1.NodeStatus{DeclaredFeatures: []string{"InPlacePodLevelResourcesVerticalScaling"}}}
	whole := func(limits, requests corev1.ResourceList) *corev1.ResourceRequirements {
		return &corev1.ResourceRequirements{Limits: limits, Requests: requests}
	}
	request := func(cpu string) func(*corev1.PodTemplateSpec) {
		return func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Resources.Requests = sized("cpu=" + cpu) }
	}
	tests := []struct {
		name, why   string
		old, change func(*corev1.PodTemplateSpec)
		pod         *corev1.ResourceRequirements // as the API server has made it of the old template
		want        string
	}{
		{"what is given", "it is taken over", func(p *corev1.PodTemplateSpec) { p.Spec.Resources = whole(sized("cpu=4"), sized("cpu=2")) },
			func(p *corev1.PodTemplateSpec) { p.Spec.Resources = whole(sized("cpu=5"), sized("cpu=2")) }, whole(sized("cpu=4"), sized("cpu=2")),
			`"resources":{"limits":{"cpu":"5"}}`},
		{"a request that follows", "the API server has made it of the containers, once", func(p *corev1.PodTemplateSpec) {
			p.Spec.Resources = whole(sized("cpu=4"), nil)
			request("1")(p)
		}, request("2"), whole(sized("cpu=4"), sized("cpu=1")), `"containers":[{"name":"agent","resources":{"requests":{"cpu":"2"}}}],"resources":{"requests":{"cpu":"2"}}`},
		{"a request that follows the limit", "no container requests anything", func(p *corev1.PodTemplateSpec) { p.Spec.Resources = whole(sized("cpu=4"), nil) },
			func(p *corev1.PodTemplateSpec) { p.Spec.Resources = whole(sized("cpu=5"), nil) }, whole(sized("cpu=4"), sized("cpu=4")),
			`"resources":{"limits":{"cpu":"5"},"requests":{"cpu":"5"}}`},
		{"a limit that follows", "each container has one", func(p *corev1.PodTemplateSpec) {
			p.Spec.Resources = whole(nil, sized("cpu=1"))
			p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Limits: sized("cpu=2"), Requests: sized("cpu=1")}
		}, func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Resources.Limits = sized("cpu=3") }, whole(sized("cpu=2"), sized("cpu=1")),
			`"containers":[{"name":"agent","resources":{"limits":{"cpu":"3"}}}],"resources":{"limits":{"cpu":"3"}}`},
		{"a limit that the request exceeds", "it is the request", func(p *corev1.PodTemplateSpec) {
			p.Spec.Resources = whole(nil, sized("cpu=4"))
			p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Limits: sized("cpu=2"), Requests: sized("cpu=1")}
		}, func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Resources.Limits = sized("cpu=3") }, whole(sized("cpu=4"), sized("cpu=4")),
			`"containers":[{"name":"agent","resources":{"limits":{"cpu":"3"}}}]`},
		{"a limit of an older server", "that made none, and is not given one", func(p *corev1.PodTemplateSpec) {
			p.Spec.Resources = whole(nil, sized("cpu=1"))
			p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Limits: sized("cpu=2"), Requests: sized("cpu=1")}
		}, func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Resources.Limits = sized("cpu=3") }, whole(nil, sized("cpu=1")),
			`"containers":[{"name":"agent","resources":{"limits":{"cpu":"3"}}}]`},
		{"no limit of a container", "the pod has none either", func(p *corev1.PodTemplateSpec) {
			p.Spec.Resources = whole(nil, sized("cpu=1"))
			request("1")(p)
		}, func(p *corev1.PodTemplateSpec) { p.Spec.Resources = whole(nil, sized("cpu=2")) }, whole(nil, sized("cpu=1")),
			`"resources":{"requests":{"cpu":"2"}}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			old := agent("agent:1")
			test.old(old)
			changed := old.DeepCopy()
			test.change(changed)
			pod := podOf(old, "v1")
			pod.Spec.Resources, pod.Status.Resources = test.pod, test.pod.DeepCopy()
			pod.Status.QOSClass = corev1.PodQOSBurstable
			step, err := inplace.Compare(old, changed, inplace.Options{Resize: true}).Begin(
				pod, inplace.Target{Revision: "v2", Node: able}, inplace.Metadata{}, start)
			if err != nil || len(step.Patches) == 0 {
				t.Fatal(step, err)
			}
			if got, want := string(step.Patches[0].Data), `{"metadata":{"uid":"uid-1"},"spec":{`+test.want+`}}`; got != want {
				t.Errorf("%s:\n%s\nwant\n%s", test.why, got, want)
			}
		})
	}
}

// TestCompletedAsAWhole: the resources of the pod as a whole are waited for like those of a container (I5).
func TestCompletedAsAWhole(t *testing.T) {
	old := agent("agent:1")
	old.Spec.Resources = &corev1.ResourceRequirements{Limits: sized("cpu=4"), Requests: sized("cpu=2")}
	changed := old.DeepCopy()
	changed.Spec.Resources.Limits = sized("cpu=5")
	pod := podOf(old, "v1")
	pod.Status.Resources = old.Spec.Resources.DeepCopy()
	able := &corev1.Node{Status: corev1.NodeStatus{DeclaredFeatures: []string{"InPlacePodLevelResourcesVerticalScaling"}}}
	pod = sent(t, pod)(inplace.Compare(old, changed, inplace.Options{Resize: true}).Begin(
		pod, inplace.Target{Revision: "v2", Node: able}, inplace.Metadata{}, start))
	waits := inplace.Completed(pod).Waits
	if len(waits) != 1 || waits[0] != (inplace.UpdateWait{Code: inplace.ResourcesDiffer}) {
		t.Errorf("the kubelet has not resized the pod: %v", waits)
	}
	pod.Status.Resources = pod.Spec.Resources.DeepCopy()
	if completion := inplace.Completed(pod); !completion.Done {
		t.Error(completion.Waits)
	}
}
