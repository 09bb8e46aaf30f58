//go:build teeth

package tolerations_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/daemonplan/daemonplan/tolerations"
)

// TestForDaemonPropertyRejects shows that the property can fail: each planted bug is found.
func TestForDaemonPropertyRejects(t *testing.T) {
	mutants := []struct {
		name, why string
		forDaemon func(*corev1.PodSpec) []corev1.Toleration
	}{
		{
			"defaults first", "the order is part of the result",
			func(spec *corev1.PodSpec) []corev1.Toleration {
				return append(wantDefaults(spec.HostNetwork), spec.DeepCopy().Tolerations...)
			},
		},
		{
			"appends in place", "the input's array must stay as it is",
			func(spec *corev1.PodSpec) []corev1.Toleration {
				merged := tolerations.ForDaemon(spec)
				_ = append(spec.Tolerations, merged[len(merged)-1])
				return merged
			},
		},
		{
			"shallow copy", "tolerationSeconds is a pointer",
			func(spec *corev1.PodSpec) []corev1.Toleration {
				merged := tolerations.ForDaemon(spec)
				copy(merged, spec.Tolerations)
				return merged
			},
		},
		{
			"host network ignored", "network-unavailable depends on it",
			func(spec *corev1.PodSpec) []corev1.Toleration {
				return tolerations.ForDaemon(&corev1.PodSpec{Tolerations: spec.Tolerations})
			},
		},
		{
			"period kept", "a default with a period is replaced",
			func(spec *corev1.PodSpec) []corev1.Toleration {
				merged := tolerations.ForDaemon(spec)
				for i, have := range spec.DeepCopy().Tolerations {
					merged[i] = have
				}
				return merged
			},
		},
		{
			"first duplicate only", "the controller replaces every occurrence",
			func(spec *corev1.PodSpec) []corev1.Toleration {
				merged := tolerations.ForDaemon(spec)
				return slices.CompactFunc(merged, func(a, b corev1.Toleration) bool { return a.MatchToleration(&b) })
			},
		},
	}
	for _, mutant := range mutants {
		t.Run(mutant.name, func(t *testing.T) {
			if mutant.why == "" {
				t.Fatal("a mutant needs a why")
			}
			for seed := range 500 {
				if checkForDaemon(mutant.forDaemon, specGen().Example(seed)) != "" {
					return
				}
			}
			t.Errorf("the property accepts the bug: %s", mutant.why)
		})
	}
}
