package rollout_test

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/daemonplan/daemonplan/lifecycle"
	"github.com/daemonplan/daemonplan/placement"
	"github.com/daemonplan/daemonplan/rollout"
	"github.com/daemonplan/daemonplan/rollout/canary"
	kit "github.com/daemonplan/daemonplan/rollout/rollouttest"
)

// Equal inputs give equal outputs, and mistakes are outputs: a controller that writes them down would write for ever if they
// came in another order each time. Each row puts eight mistakes into one map.
func TestMistakesComeInOneOrder(t *testing.T) {
	wrong := map[string]string{}
	resources := corev1.ResourceList{}
	perContainer := map[string]corev1.ResourceRequirements{}
	for i := range 8 {
		wrong[fmt.Sprintf("key %d", i)] = fmt.Sprintf("value %d", i)
		resources[corev1.ResourceName(fmt.Sprintf("no resource %d", i))] = resource.MustParse("1")
		perContainer[fmt.Sprintf("c%d", i)] = corev1.ResourceRequirements{Limits: corev1.ResourceList{"nothing": resource.MustParse("-1")}}
	}
	selector := func() *metav1.LabelSelector { return &metav1.LabelSelector{MatchLabels: wrong} }
	table := []struct {
		name, why string
		edit      func(*rollout.Spec)
		mistakes  int // fewest
	}{
		{"selector", "names and values", func(s *rollout.Spec) { s.Selector = selector() }, 16},
		{"template labels", "names and values", func(s *rollout.Spec) { s.Template.Labels = wrong }, 16},
		{"template node selector", "names and values", func(s *rollout.Spec) { s.Template.Spec.NodeSelector = wrong }, 16},
		{"strategy", "its node selector", func(s *rollout.Spec) { s.Strategy.NodeSelector = selector() }, 16},
		{"canary", "its node selector", func(s *rollout.Spec) { s.Strategy.Canary = &canary.Options{NodeSelector: selector()} }, 16},
		{"predecessor", "its selector", func(s *rollout.Spec) { s.Predecessor = &rollout.Predecessor{Selector: selector()} }, 16},
		{"override", "its node selector", func(s *rollout.Spec) {
			s.Overrides = []placement.Override{{Name: "a", NodeSelector: *selector()}}
		}, 16},
		{"override, containers", "each of them", func(s *rollout.Spec) {
			s.Overrides = []placement.Override{{Name: "a", Containers: perContainer}}
		}, 8},
		{"override, resources", "each of them", func(s *rollout.Spec) {
			s.Overrides = []placement.Override{{Name: "a", Containers: map[string]corev1.ResourceRequirements{"agent": {Requests: resources}}}}
		}, 8},
		{"hooks", "each label", func(s *rollout.Spec) { s.Lifecycle.PreDelete = &lifecycle.Hook{Labels: wrong} }, 8},
	}
	for _, row := range table {
		t.Run(row.name, func(t *testing.T) {
			spec := kit.Spec("agent")
			row.edit(&spec)
			first := spec.Validate(nil)
			if len(first) < row.mistakes {
				t.Fatalf("%d mistakes, want %d or more: %v", len(first), row.mistakes, first)
			}
			_, claim := rollout.Claim(spec, nil)
			_, made := rollout.New(spec)
			for range 30 {
				again := spec.Validate(nil)
				if _, err := rollout.New(spec); err == nil || err.Error() != made.Error() || !slices.EqualFunc(first, again, same) {
					t.Fatalf("the same spec has other mistakes, or in another order:\n%v\n%v", first, again)
				}
				if _, err := rollout.Claim(spec, nil); fmt.Sprint(err) != fmt.Sprint(claim) {
					t.Fatalf("pods of the same spec cannot be claimed for another reason:\n%v\n%v", claim, err)
				}
			}
		})
	}
}

func same[E error](a, b E) bool { return a.Error() == b.Error() }
