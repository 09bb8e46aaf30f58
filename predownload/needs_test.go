package predownload_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/predownload"
)

func podTemplate(init []string, images ...string) *corev1.PodTemplateSpec {
	template := &corev1.PodTemplateSpec{}
	for i, image := range init {
		template.Spec.InitContainers = append(template.Spec.InitContainers, corev1.Container{Name: "i" + string(rune('0'+i)), Image: image})
	}
	for i, image := range images {
		template.Spec.Containers = append(template.Spec.Containers, corev1.Container{Name: "c" + string(rune('0'+i)), Image: image})
	}
	return template
}

func TestImages(t *testing.T) {
	tests := []struct {
		name, why string
		template  *corev1.PodTemplateSpec
		want      []string
	}{
		{name: "nil", why: "no template, no images"},
		{name: "empty", why: "no containers, no images", template: &corev1.PodTemplateSpec{}},
		{name: "init first", why: "a kubelet needs them first", template: podTemplate([]string{"z:1"}, "a:1"), want: []string{"z:1", "a:1"}},
		{name: "order of use", why: "not of the alphabet", template: podTemplate(nil, "b", "a"), want: []string{"b", "a"}},
		{name: "repeated", why: "one pull is enough", template: podTemplate([]string{"a:1"}, "b:1", "a:1"), want: []string{"a:1", "b:1"}},
		{name: "spelled differently", why: "it is still one image, and one pull", template: podTemplate(nil, "a", "docker.io/library/a:latest"), want: []string{"a"}},
		{name: "volumes", why: "a kubelet mounts them before it starts anything", template: &corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "a", Image: "a:1"}},
			Volumes: []corev1.Volume{
				{Name: "data", VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: "data:1"}}},
				{Name: "later", VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{}}},
				{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			},
		}}, want: []string{"data:1", "a:1"}},
		{name: "without image", why: "a template that is completed later", template: podTemplate([]string{""}, "", "a"), want: []string{"a"}},
	}
	rows := make(rowNames)
	for _, test := range tests {
		rows.check(t, test.name, test.why)
		t.Run(test.name, func(t *testing.T) {
			if got := predownload.Images(test.template); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q: %s", got, test.want, test.why)
			}
		})
	}
}

func TestNeeds(t *testing.T) {
	tests := []struct {
		name, why     string
		present, uses []string
		images, want  []string
	}{
		{name: "nothing known", why: "then all are needed", images: []string{"a:1", "b:1"}, want: []string{"a:1", "b:1"}},
		{name: "used", why: "the old pod's images are on its node", uses: []string{"a:1"}, images: []string{"a:1", "b:1"}, want: []string{"b:1"}},
		{name: "used with another tag", why: "that is the image to be replaced", uses: []string{"a:0"}, images: []string{"a:1"}, want: []string{"a:1"}},
		{name: "used in another spelling", why: "it is the same image", uses: []string{"docker.io/library/a"}, images: []string{"a:latest"}},
		{name: "reported", why: "somebody else's pod brought it", present: []string{"a:1"}, images: []string{"b:1", "a:1"}, want: []string{"b:1"}},
		{name: "both", why: "one is enough", present: []string{"a:1"}, uses: []string{"a:1"}, images: []string{"a:1"}},
		{name: "no images", why: "none can be needed", uses: []string{"a:1"}},
		{name: "empty image", why: "it cannot be pulled", images: []string{"", "a"}, want: []string{"a"}},
		{name: "order kept", why: "the caller's order is that of use", images: []string{"b", "a"}, want: []string{"b", "a"}},
	}
	rows := make(rowNames)
	for _, test := range tests {
		rows.check(t, test.name, test.why)
		t.Run(test.name, func(t *testing.T) {
			candidate := predownload.Candidate{Present: reporting(test.present...), Uses: test.uses}
			if got := predownload.Needs(candidate, test.images); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q: %s", got, test.want, test.why)
			}
		})
	}
}
