package placement_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/daemonplan/daemonplan/placement"
)

func TestValidateOverrides(t *testing.T) {
	with := func(resources corev1.ResourceRequirements) []placement.Override {
		return []placement.Override{{Name: "a", Containers: byContainer{"agent": resources}}}
	}
	claims := func(names ...string) []placement.Override {
		var resources corev1.ResourceRequirements
		for _, name := range names {
			resources.Claims = append(resources.Claims, corev1.ResourceClaim{Name: name})
		}
		return with(resources)
	}
	scaled := func(value int64, scale resource.Scale) []placement.Override {
		return with(corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": *resource.NewScaledQuantity(value, scale)}})
	}
	selecting := func(selector metav1.LabelSelector) []placement.Override {
		return []placement.Override{{Name: "a", NodeSelector: selector}}
	}
	tests := []struct {
		name, why string
		overrides []placement.Override
		want      []string // type and field below spec.overrides[0]
	}{
		{"none", "nothing to it", nil, nil},
		{"valid", "all that a pod can have", with(amounts("cpu", "1", "+cpu", "1", "memory", "1Gi", "+ephemeral-storage", "1Gi",
			"hugepages-2Mi", "4Mi", "+hugepages-2Mi", "4Mi", "example.com/gpu", "1", "+example.com/gpu", "1",
			"kubernetes.io/batch", "500m", "+kubernetes.io/batch", "250m")), nil},
		{"no containers", "it overrides nothing", []placement.Override{{Name: "a"}}, nil},
		{"names of containers", "those that no template has are of no effect", []placement.Override{{Name: "a", Containers: byContainer{"": {}, "A b": {}}}}, nil},
		{"nameless", "conflicts are decided by name", []placement.Override{{}}, []string{"Required value: name"}},
		{"names", "each its own", []placement.Override{{Name: "b"}, {Name: "a"}, {Name: "a"}, {}, {}, {Name: "a"}}, []string{
			"Duplicate value: spec.overrides[2].name", "Required value: spec.overrides[3].name", "Required value: spec.overrides[4].name",
			"Duplicate value: spec.overrides[5].name",
		}},
		{"label", "no node has it", selecting(metav1.LabelSelector{MatchLabels: map[string]string{"zone": "a b"}}), []string{"Invalid value: nodeSelector.matchLabels"}},
		{"operator", "there is none such", selecting(metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "zone", Operator: "Bad"}}}), []string{"Invalid value: nodeSelector.matchExpressions[0].operator"}},
		{"values", "a set is needed", selecting(metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "zone", Operator: metav1.LabelSelectorOpIn}}}), []string{"Required value: nodeSelector.matchExpressions[0].values"}},
		{"negative", "no pod can have it", with(amounts("cpu", "-1m", "+memory", "-1")),
			[]string{"Invalid value: containers[agent].limits[cpu]", "Invalid value: containers[agent].requests[memory]"}},
		{"above the limit", "no pod can have it", with(amounts("cpu", "1", "+cpu", "1.001")), []string{"Invalid value: containers[agent].requests[cpu]"}},
		{"above a limit of nothing", "no pod can have it", with(amounts("cpu", "0", "+cpu", "1n")), []string{"Invalid value: containers[agent].requests[cpu]"}},
		{"nothing of nothing", "no more than the limit", with(amounts("cpu", "0", "+cpu", "0")), nil},
		{"nothing of something", "no more than the limit", with(amounts("cpu", "1", "+cpu", "0")), nil},
		{"no limit", "then there is nothing to exceed", with(amounts("+cpu", "1")), nil},
		{"fraction of a device", "only whole ones", with(amounts("example.com/gpu", "1500m")), []string{"Invalid value: containers[agent].limits[example.com/gpu]"}},
		{"fraction of a page", "only whole ones", with(amounts("hugepages-2Mi", "0.5")), []string{"Invalid value: containers[agent].limits[hugepages-2Mi]"}},
		{"fraction of a native resource", "as for cpu", with(amounts("kubernetes.io/x", "0.5")), nil},
		{"whole, in another spelling", "1000m is 1", with(amounts("example.com/gpu", "1000m")), nil},
		{"overcommitted device", "it cannot be", with(amounts("example.com/gpu", "2", "+example.com/gpu", "1")), []string{"Invalid value: containers[agent].requests[example.com/gpu]"}},
		{"device without limit", "it must have one", with(amounts("+example.com/gpu", "1")), []string{"Invalid value: containers[agent].requests[example.com/gpu]"}},
		{"page without limit", "it must have one", with(amounts("+hugepages-2Mi", "1")), []string{"Invalid value: containers[agent].requests[hugepages-2Mi]"}},
		{"device above its limit", "told once", with(amounts("example.com/gpu", "1", "+example.com/gpu", "2")), []string{"Invalid value: containers[agent].requests[example.com/gpu]"}},
		{"unknown", "only nodes have it", with(amounts("pods", "1")), []string{"Invalid value: containers[agent].limits[pods]"}},
		{"quota", "only quotas have it", with(amounts("requests.example.com/gpu", "1")), []string{"Invalid value: containers[agent].limits[requests.example.com/gpu]"}},
		{"no name", "of a resource", with(corev1.ResourceRequirements{Limits: corev1.ResourceList{"": {}}}), []string{"Invalid value: containers[agent].limits[]"}},
		{"odd name", "no label key", with(amounts("example.com/g p", "1", "a/b/c", "1")), []string{
			"Invalid value: containers[agent].limits[a/b/c]", "Invalid value: containers[agent].limits[example.com/g p]",
		}},
		{"odd size", "no label key", with(amounts("hugepages-2 Mi", "1")), []string{"Invalid value: containers[agent].limits[hugepages-2 Mi]"}},
		{"claims", "each its own", claims("a", "b", "a"), []string{"Duplicate value: containers[agent].claims[2].name"}},
		{"nameless claims", "each has one", claims("a", "", ""), []string{"Required value: containers[agent].claims[1].name", "Required value: containers[agent].claims[2].name"}},
		{"largest", "19 digits", scaled(9, 18), nil},
		{"larger", "it overflows", scaled(1, 19), []string{"Invalid value: containers[agent].limits[cpu]"}},
		{"smallest", "a nano", scaled(1, -9), nil},
		{"smaller", "no text gives it", scaled(1, -10), []string{"Invalid value: containers[agent].limits[cpu]"}},
		{"huge", "to write it out would take for ever", scaled(1, math.MaxInt32), []string{"Invalid value: containers[agent].limits[cpu]"}},
		{"negative and huge", "to write it out would take for ever", scaled(-1, math.MaxInt32), []string{"Invalid value: containers[agent].limits[cpu]"}},
		{"negative and large", "the sign is no digit", scaled(-1, 18), []string{"Invalid value: containers[agent].limits[cpu]"}},
		{"huge zero", "it is nothing", scaled(0, math.MaxInt32), nil},
		{"huge zero limit", "to compare it could take for ever", with(corev1.ResourceRequirements{
			Limits:   corev1.ResourceList{"cpu": *resource.NewScaledQuantity(0, math.MaxInt32)},
			Requests: corev1.ResourceList{"cpu": resource.MustParse("1")},
		}), []string{"Invalid value: containers[agent].requests[cpu]"}},
		{"huge limit", "to compare it could take for ever", with(corev1.ResourceRequirements{
			Limits:   corev1.ResourceList{"cpu": *resource.NewScaledQuantity(1, math.MaxInt32)},
			Requests: corev1.ResourceList{"cpu": resource.MustParse("1")},
		}), []string{"Invalid value: containers[agent].limits[cpu]"}},
		{"huge request", "to compare it could take for ever", with(corev1.ResourceRequirements{
			Limits:   corev1.ResourceList{"cpu": resource.MustParse("1")},
			Requests: corev1.ResourceList{"cpu": *resource.NewScaledQuantity(1, math.MaxInt32)},
		}), []string{"Invalid value: containers[agent].requests[cpu]"}},
		{"all at once", "by override, then container, then limits, requests, claims", []placement.Override{
			{Containers: byContainer{"b": amounts("+cpu", "-1", "cpu", "-2"), "a": amounts("x", "1")}},
		}, []string{
			"Required value: name", "Invalid value: containers[a].limits[x]", "Invalid value: containers[b].limits[cpu]",
			"Invalid value: containers[b].requests[cpu]", "Invalid value: containers[b].requests[cpu]",
		}},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		if test.why == "" || seen[test.name] {
			t.Fatalf("row %q needs a reason and a name of its own", test.name)
		}
		seen[test.name] = true
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, mistake := range placement.ValidateOverrides(test.overrides, field.NewPath("spec", "overrides")) {
				got = append(got, mistake.Type.String()+": "+mistake.Field)
				if mistake.Error() == "" {
					t.Error("a mistake says nothing")
				}
			}
			want := slices.Clone(test.want)
			for i, text := range want {
				if what, at, _ := strings.Cut(text, ": "); !strings.HasPrefix(at, "spec.") {
					want[i] = what + ": spec.overrides[0]." + at
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s\n%q\nwant\n%q", test.why, got, want)
			}
		})
	}
}

func TestValidateOverridesWithoutPath(t *testing.T) {
	mistakes := placement.ValidateOverrides([]placement.Override{{}}, nil)
	if len(mistakes) != 1 || mistakes[0].Field != "overrides[0].name" {
		t.Errorf("%v", mistakes)
	}
}
