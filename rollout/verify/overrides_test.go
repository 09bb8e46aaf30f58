package verify_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/placement"
)

// handOverriding is an override of container main on all nodes.
func handOverriding(resources corev1.ResourceRequirements) change {
	return func(s *handmade) {
		s.spec.Overrides = append(s.spec.Overrides, placement.Override{
			Name: "o", Created: handNow(), NodeSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app-node": "yes"}},
			Containers: map[string]corev1.ResourceRequirements{"main": resources},
		})
	}
}

// handTemplated changes the template of the update revision.
func handTemplated(apply func(*corev1.PodTemplateSpec)) change {
	return templates(func(*corev1.PodTemplateSpec) {}, apply)
}

// handClaims changes a template to have two claims, both of which container main uses. The override uses the same two in another
// order.
func handClaims() (template, override change) {
	uses := func(names ...string) corev1.ResourceRequirements {
		var resources corev1.ResourceRequirements
		for _, name := range names {
			resources.Claims = append(resources.Claims, corev1.ResourceClaim{Name: name})
		}
		return resources
	}
	return handTemplated(func(t *corev1.PodTemplateSpec) {
		for _, name := range []string{"gpu", "nic"} {
			t.Spec.ResourceClaims = append(t.Spec.ResourceClaims, corev1.PodResourceClaim{Name: name, ResourceClaimName: new("shared")})
		}
		t.Spec.Containers[0].Resources = uses("gpu", "nic")
	}), handOverriding(uses("nic", "gpu"))
}

// TestVerifyOverriding: which resources are equal, and which pods, overrides and annotations belong together (P8).
func TestVerifyOverriding(t *testing.T) {
	templated := func(resources corev1.ResourceRequirements) change {
		return handTemplated(func(t *corev1.PodTemplateSpec) { t.Spec.Containers[0].Resources = resources })
	}
	missing := func(changes ...change) func() *handmade {
		return handFleet(append([]change{handPods("", "a")}, changes...)...)
	}
	requests := func(of ...string) corev1.ResourceRequirements {
		return corev1.ResourceRequirements{Requests: amounts(of...)}
	}
	template, override := handClaims()
	runAccepts(t, []acceptRow{
		{name: "an unknown field of an annotation", why: "P8: it did not do what was meant, and is reported", scene: missing(handAnnotated("a", `{"limit":{"cpu":"1"}}`))},
		{name: "claims in another order", why: "P8: they are what the template has", scene: missing(template, override)},
		{name: "a request that the limit stands for", why: "P8: it is what the template has", scene: missing(
			templated(corev1.ResourceRequirements{Limits: amounts("cpu", "1")}),
			handOverriding(corev1.ResourceRequirements{Limits: amounts("cpu", "1"), Requests: amounts("cpu", "1")}))},
		{name: "none of another resource", why: "P8: no amount of cpu is not no amount of memory", scene: missing(templated(requests("memory", "0")),
			handOverriding(requests("cpu", "0")))},
	})
	runViolations(t, []violationRow{
		{
			name: "resources of another source", why: "P8: who reads the pod is told wrong", scene: missing(handOverriding(requests("cpu", "1"))),
			plant: func(s *handmade) { s.plan.Creates[0].Resources[0].Source = "p" }, want: 3, mention: "P8: create with resources",
		},
		{
			name: "an annotation of another node", why: "P8: the problem is on a", scene: missing(handAnnotated("a", "{")),
			plant: func(s *handmade) { s.plan.MalformedOverrides[0].Node = "b" }, want: 12, mention: "P8: malformed overrides are",
		},
	})
}

// TestVerifyLeavesOverrides: the verifier does not change the lists of its caller when it compares them.
func TestVerifyLeavesOverrides(t *testing.T) {
	template, override := handClaims()
	s := handFleet(handPods("", "a"), template, override, func(s *handmade) {
		resources := s.spec.Overrides[0].Containers["main"]
		resources.Requests = amounts("cpu", "1")
		s.spec.Overrides[0].Containers["main"] = resources
	})()
	claims := s.plan.Creates[0].Resources[0].Resources.Claims
	before := slices.Clone(claims)
	if got := s.verify(); got != nil {
		t.Fatalf("the plan is right, but: %v", got)
	}
	if len(before) != 2 || !slices.Equal(claims, before) {
		t.Errorf("Plan changed the claims of a create from %v to %v, want two as they were", before, claims)
	}
}
