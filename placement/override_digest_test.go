package placement_test

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/daemonplan/daemonplan/placement"
)

// TestDigestNeverChanges: these digests stand on pods. Whoever changes the form that they are made from restarts every pod
// whose resources are overridden.
func TestDigestNeverChanges(t *testing.T) {
	tests := []struct {
		name, why string
		resources []placement.Resources
		form      string
	}{
		{"no amounts", "an override with nothing", []placement.Resources{{Container: "agent"}}, `[{"name":"agent"}]`},
		{"amounts", "of every kind", []placement.Resources{
			{Container: "init", Source: "s", Resources: amounts("memory", "1Gi", "cpu", "1500m", "+memory", "1M", "+cpu", "0.1")},
			{Container: "agent", Resources: corev1.ResourceRequirements{
				Limits: corev1.ResourceList{"example.com/gpu": resource.MustParse("20")},
				Claims: []corev1.ResourceClaim{{Name: "b", Request: "x"}, {Name: "a"}},
			}},
		}, `[{"name":"init","limits":{"cpu":"15e-1","memory":"1073741824e0"},"requests":{"cpu":"1e-1","memory":"1e6"}},` +
			`{"name":"agent","limits":{"example.com/gpu":"2e1"},"requests":{"example.com/gpu":"2e1"},` +
			`"claims":[{"name":"a"},{"name":"b","request":"x"}]}]`},
		{"text", "names are JSON, HTML characters escaped", []placement.Resources{{Container: "<\"é\n>"}}, `[{"name":"\u003c\"é\n\u003e"}]`},
	}
	for _, test := range tests {
		if test.why == "" {
			t.Fatalf("row %q needs a reason", test.name)
		}
		sum := sha256.Sum256([]byte(test.form))
		if got, want := placement.Digest(test.resources), hex.EncodeToString(sum[:])[:20]; got != want {
			t.Errorf("%s: %q, want %q, of %s", test.name, got, want, test.form)
		}
	}
	if got := placement.Digest(nil) + placement.Digest([]placement.Resources{}); got != "" {
		t.Errorf("the digest of nothing is %q", got)
	}
	// The whole way, as it stood when it was first released.
	if got := placement.Digest([]placement.Resources{{Container: "agent"}}); got != "fee432f36aaab3fa4bce" {
		t.Errorf("the digest of an override with nothing is %q", got)
	}
}

func TestDigestTellsEffectsApart(t *testing.T) {
	list := func(container string, resources corev1.ResourceRequirements) []placement.Resources {
		return []placement.Resources{{Container: container, Resources: resources}}
	}
	claims := func(claims ...corev1.ResourceClaim) corev1.ResourceRequirements {
		return corev1.ResourceRequirements{Claims: claims}
	}
	a, b := corev1.ResourceClaim{Name: "a"}, corev1.ResourceClaim{Name: "b"}
	tests := []struct {
		name, why   string
		left, right []placement.Resources
		same        bool
	}{
		{"units", "1 is 1000m", list("c", amounts("cpu", "1")), list("c", amounts("cpu", "1000m")), true},
		{"binary", "1Ki is 1024", list("c", amounts("memory", "1Ki")), list("c", amounts("memory", "1024")), true},
		{"exponent", "1e3 is 1k", list("c", amounts("memory", "1e3")), list("c", amounts("memory", "1k")), true},
		{"large", "beyond 64 bits of nano", list("c", amounts("memory", "8Ei")), list("c", amounts("memory", "9223372036854775807")), true},
		{"zero", "0 is 0Mi", list("c", amounts("memory", "0")), list("c", amounts("memory", "0Mi")), true},
		{"request from limit", "the API server fills it in", list("c", amounts("cpu", "1")), list("c", amounts("cpu", "1", "+cpu", "1")), true},
		{"order of claims", "it means nothing", list("c", claims(a, b)), list("c", claims(b, a)), true},
		{"nil and empty", "neither says anything", list("c", corev1.ResourceRequirements{}),
			list("c", corev1.ResourceRequirements{Limits: corev1.ResourceList{}, Requests: corev1.ResourceList{}, Claims: []corev1.ResourceClaim{}}), true},
		{"source", "who says it changes nothing", []placement.Resources{{Container: "c"}}, []placement.Resources{{Container: "c", Source: "s"}}, true},
		{"amount", "another one", list("c", amounts("cpu", "1")), list("c", amounts("cpu", "1001m")), false},
		{"power of ten", "another one", list("c", amounts("cpu", "1")), list("c", amounts("cpu", "10")), false},
		{"zero and none", "the API server keeps it", list("c", amounts("cpu", "0")), list("c", corev1.ResourceRequirements{}), false},
		{"limit and request", "not the same", list("c", amounts("cpu", "1")), list("c", amounts("+cpu", "1")), false},
		{"lower request", "it counts", list("c", amounts("cpu", "1")), list("c", amounts("cpu", "1", "+cpu", "500m")), false},
		{"resource", "another one", list("c", amounts("cpu", "1")), list("c", amounts("memory", "1")), false},
		{"container", "another one", list("c", amounts("cpu", "1")), list("d", amounts("cpu", "1")), false},
		{"claim", "another one", list("c", claims(a)), list("c", claims(b)), false},
		{"part of a claim", "it counts", list("c", claims(a)), list("c", claims(corev1.ResourceClaim{Name: "a", Request: "r"})), false},
		{"more containers", "it is of all", list("c", amounts("cpu", "1")), append(list("c", amounts("cpu", "1")), list("d", amounts("cpu", "1"))...), false},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		if test.why == "" || seen[test.name] {
			t.Fatalf("row %q needs a reason and a name of its own", test.name)
		}
		seen[test.name] = true
		if same := placement.Digest(test.left) == placement.Digest(test.right); same != test.same {
			t.Errorf("%s: the same: %v; %s", test.name, same, test.why)
		}
	}
}

// TestDigestOfHostileAmounts: Go values can hold amounts that no text gives, and that take for ever to write out.
func TestDigestOfHostileAmounts(t *testing.T) {
	var digests []string
	for _, quantity := range []*resource.Quantity{
		resource.NewScaledQuantity(1, math.MaxInt32), resource.NewScaledQuantity(1, math.MinInt32+1),
		resource.NewScaledQuantity(math.MinInt64, math.MaxInt32), resource.NewScaledQuantity(0, math.MaxInt32),
	} {
		list := corev1.ResourceList{"cpu": *quantity}
		digests = append(digests, placement.Digest([]placement.Resources{{Resources: corev1.ResourceRequirements{Limits: list}}}))
	}
	slices.Sort(digests)
	if len(slices.Compact(digests)) != 4 {
		t.Error("different amounts have one digest")
	}
}

func TestApply(t *testing.T) {
	pod := func() *corev1.Pod { return placement.Pod(agent(), "n") }
	two := amounts("cpu", "2")
	tests := []struct {
		name, why  string
		overridden placement.Overridden
		pod        *corev1.Pod
		want       func(*corev1.Pod)
	}{
		{"nothing", "P8: no digest", placement.Overridden{}, pod(), func(*corev1.Pod) {}},
		{"nothing, with a digest", "there is nothing to it", placement.Overridden{Digest: "x"}, pod(), func(*corev1.Pod) {}},
		{"a container", "P8: whole", placement.Overridden{Digest: "x", Resources: []placement.Resources{{Container: "agent", Resources: two}}}, pod(), func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources = two
			p.Annotations = map[string]string{placement.DigestAnnotation: "x"}
		}},
		{"an init container", "they are containers, too", placement.Overridden{Digest: "x", Resources: []placement.Resources{{Container: "init", Resources: two}}}, pod(), func(p *corev1.Pod) {
			p.Spec.InitContainers[0].Resources = two
			p.Annotations = map[string]string{placement.DigestAnnotation: "x"}
		}},
		{"with nothing", "P8: whole, also with nothing", placement.Overridden{Digest: "x", Resources: []placement.Resources{{Container: "agent"}}}, pod(), func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources = corev1.ResourceRequirements{}
			p.Annotations = map[string]string{placement.DigestAnnotation: "x"}
		}},
		{"no digest", "it is computed", placement.Overridden{Resources: []placement.Resources{{Container: "agent", Resources: two}}}, pod(), func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources = two
			p.Annotations = map[string]string{placement.DigestAnnotation: placement.Digest([]placement.Resources{{Container: "agent", Resources: two}})}
		}},
		{"unknown container", "of no effect", placement.Overridden{Digest: "x", Resources: []placement.Resources{{Container: "none", Resources: two}}}, pod(), func(p *corev1.Pod) {
			p.Annotations = map[string]string{placement.DigestAnnotation: "x"}
		}},
		{"nil annotations", "they are made", placement.Overridden{Digest: "x", Resources: []placement.Resources{{Container: "none"}}}, &corev1.Pod{}, func(p *corev1.Pod) {
			p.Annotations = map[string]string{placement.DigestAnnotation: "x"}
		}},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		if test.why == "" || seen[test.name] {
			t.Fatalf("row %q needs a reason and a name of its own", test.name)
		}
		seen[test.name] = true
		want := test.pod.DeepCopy()
		test.want(want)
		test.overridden.Apply(test.pod)
		if diff := cmp.Diff(want, test.pod); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", test.name, test.why, diff)
		}
	}
	placement.Overridden{Resources: []placement.Resources{{Container: "agent"}}}.Apply(nil)
}

// TestApplyTakesAwayAStrayDigest: a template whose annotations were copied from a pod would give pods that are outdated
// for ever.
func TestApplyTakesAwayAStrayDigest(t *testing.T) {
	template := agent()
	template.Annotations = map[string]string{placement.DigestAnnotation: "stray", "a": "b"}
	pod := placement.Pod(template, "n")
	placement.Overridden{}.Apply(pod)
	if diff := cmp.Diff(map[string]string{"a": "b"}, pod.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
}

func TestApplySharesNoMemory(t *testing.T) {
	overridden := placement.Overridden{Resources: []placement.Resources{{Container: "agent", Resources: amounts("cpu", "2")}}}
	pod := placement.Pod(agent(), "n")
	overridden.Apply(pod)
	pod.Spec.Containers[0].Resources.Limits["cpu"] = resource.MustParse("9")
	if diff := cmp.Diff(amounts("cpu", "2"), overridden.Resources[0].Resources); diff != "" {
		t.Errorf("what was written to the pod shows (-want +got):\n%s", diff)
	}
}
