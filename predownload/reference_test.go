package predownload_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/predownload"
)

func TestReported(t *testing.T) {
	const digest = "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	tests := []struct {
		name, why, present, image string
		want                      bool
	}{
		{name: "same text", why: "the plain case", present: "repo/app:v1", image: "repo/app:v1", want: true},
		{name: "other tag", why: "the tag tells versions apart", present: "repo/app:v1", image: "repo/app:v2"},
		{name: "tag ends alike", why: "11 ends in 1", present: "repo/app:11", image: "repo/app:1"},
		{name: "other repository", why: "the same tag is everywhere", present: "repo/other:v1", image: "repo/app:v1"},
		{name: "default registry", why: "kubelets write it, templates do not", present: "docker.io/repo/app:v1", image: "repo/app:v1", want: true},
		{name: "default registry asked for", why: "the other way round", present: "repo/app:v1", image: "docker.io/repo/app:v1", want: true},
		{name: "official image", why: "docker.io/library/ is what nginx stands for", present: "docker.io/library/nginx:1.29", image: "nginx:1.29", want: true},
		{name: "official and latest", why: "both defaults at once", present: "docker.io/library/nginx:latest", image: "nginx", want: true},
		{name: "latest asked for", why: "the tag is only written down", present: "docker.io/library/nginx", image: "nginx:latest", want: true},
		{name: "untagged on the node", why: "a name without a tag is latest", present: "nginx", image: "docker.io/library/nginx", want: true},
		{name: "not latest", why: "no tag is not any tag", present: "docker.io/library/nginx:1.29", image: "nginx"},
		{name: "library without registry", why: "library/nginx is nginx", present: "library/nginx:1", image: "nginx:1", want: true},
		{name: "library of another registry", why: "only docker.io has that prefix", present: "quay.io/library/nginx:1", image: "quay.io/nginx:1"},
		{name: "library and more", why: "library/team/nginx is no official image", present: "docker.io/library/team/nginx:1", image: "team/nginx:1"},
		{name: "library of another registry asked for", why: "it is part of the name there", present: "quay.io/library/nginx:1", image: "quay.io/library/nginx:1", want: true},
		{name: "library and more asked for", why: "it is part of the name there", present: "library/team/nginx:1", image: "library/team/nginx:1", want: true},
		{name: "legacy registry name", why: "index.docker.io is docker.io", present: "index.docker.io/library/nginx:1", image: "nginx:1", want: true},
		{name: "another registry", why: "the same repository elsewhere is another image", present: "quay.io/repo/app:v1", image: "repo/app:v1"},
		{name: "registry with port", why: "the colon of a port is no tag", present: "reg:5000/app:latest", image: "reg:5000/app", want: true},
		{name: "registry with port and tag", why: "the last colon is the tag's", present: "reg:5000/app:v1", image: "reg:5000/app:v1", want: true},
		{name: "port is no tag", why: "reg:5000 without a path is repository reg, tag 5000", present: "docker.io/library/reg:5000", image: "reg:5000", want: true},
		{name: "port tells apart", why: "two registries on one host", present: "reg:5000/app:v1", image: "reg:5001/app:v1"},
		{name: "localhost", why: "it is a registry although it has no dot", present: "docker.io/localhost/app:v1", image: "localhost/app:v1"},
		{name: "upper case", why: "repositories are lower case, so it is a registry", present: "docker.io/Reg/app:v1", image: "Reg/app:v1"},
		{name: "lower case", why: "without dot, colon or capital it is part of the repository", present: "docker.io/reg/app:v1", image: "reg/app:v1", want: true},
		{name: "digest", why: "nodes report repo@digest beside repo:tag", present: "repo/app" + digest, image: "repo/app" + digest, want: true},
		{name: "digest, default registry", why: "spelling and digest together", present: "docker.io/library/app" + digest, image: "app" + digest, want: true},
		{name: "digest and tag asked for", why: "runtimes pull by digest and ignore the tag", present: "repo/app" + digest, image: "repo/app:v1" + digest, want: true},
		{name: "other digest", why: "the digest decides", present: "repo/app@sha256:0", image: "repo/app@sha256:1"},
		{name: "digest of another repository", why: "the content is there, but a pull by that name must still be authorised", present: "other/app" + digest, image: "repo/app" + digest},
		{name: "digest asked for, tag there", why: "a tag may mean any content", present: "repo/app:v1", image: "repo/app:v1" + digest},
		{name: "tag asked for, digest there", why: "a digest does not tell its tags", present: "repo/app:v1" + digest, image: "repo/app:v1"},
		{name: "digest without algorithm", why: "a digest is no tag of the same text", present: "repo/app@v1", image: "repo/app:v1"},
		{name: "digest latest", why: "nor is it the default tag", present: "repo/app@latest", image: "repo/app"},
		{name: "empty digest", why: "what ends in @ names no image", present: "repo/app:v1@", image: "repo/app:v1"},
		{name: "no image", why: "an empty image is nowhere", present: "", image: ""},
		{name: "dangling", why: "a node writes <none> for a name that was taken away", present: "<none>:<none>", image: "repo/app:v1"},
	}
	rows := make(rowNames)
	for _, test := range tests {
		rows.check(t, test.name, test.why)
		t.Run(test.name, func(t *testing.T) {
			present := []corev1.ContainerImage{{Names: []string{"registry.k8s.io/pause:3.10"}}, {}, {Names: []string{"x:y", test.present}}}
			if got := predownload.Reported(present, test.image); got != test.want {
				t.Errorf("Reported(%q, %q) = %t, want %t: %s", test.present, test.image, got, test.want, test.why)
			}
		})
	}
	if predownload.Reported(nil, "repo/app:v1") {
		t.Error("a node that reports nothing has the image")
	}
}

// TestReportedProperties holds Reported to a naive reading of image names, and to be an equality.
func TestReportedProperties(t *testing.T) {
	part := rapid.SampledFrom([]string{"", "a", "a/", "library/", "docker.io/", "index.docker.io/", "localhost/", "A/", "r:5/", ".", ":", ":latest", ":1", "@", "@1", "@latest"})
	name := rapid.Custom(func(t *rapid.T) string {
		return part.Draw(t, "1") + part.Draw(t, "2") + part.Draw(t, "3") + part.Draw(t, "4")
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := name.Draw(t, "a"), name.Draw(t, "b")
		want := b != "" && spelledOut(a) == spelledOut(b)
		if got := predownload.Reported(reporting(a), b); got != want {
			t.Fatalf("Reported(%q, %q) = %t, but they are %q and %q", a, b, got, spelledOut(a), spelledOut(b))
		}
	})
}

func FuzzReported(f *testing.F) {
	f.Add("docker.io/library/nginx:latest", "nginx")
	f.Add("reg:5000/app@sha256:0", "reg:5000/app:v1@sha256:0")
	f.Fuzz(func(t *testing.T, a, b string) {
		if a == "" || b == "" {
			return
		}
		if !predownload.Reported(reporting(a), a) {
			t.Errorf("%q is not itself", a)
		}
		if predownload.Reported(reporting(a), b) != predownload.Reported(reporting(b), a) {
			t.Errorf("%q and %q are equal one way only", a, b)
		}
	})
}

func reporting(names ...string) []corev1.ContainerImage {
	return []corev1.ContainerImage{{Names: names}}
}
