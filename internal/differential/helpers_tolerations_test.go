package differential_test

import (
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	daemonutil "k8s.io/kubernetes/pkg/controller/daemon/util"
	"pgregory.net/rapid"

	"github.com/daemonplan/daemonplan/tolerations"
)

func compareTolerations() comparison[*corev1.PodSpec, []corev1.Toleration] {
	const (
		bare = iota
		own
		merged
	)
	return comparison[*corev1.PodSpec, []corev1.Toleration]{
		theirs: "AddOrUpdateDaemonPodTolerations", ours: "tolerations.ForDaemon",
		kinds: []string{bare: "none of its own", own: "others of its own", merged: "a default of its own"},
		inputs: rapid.Custom(func(t *rapid.T) *corev1.PodSpec {
			have := anyList(t, 6, anyToleration(), "tolerations")
			if have != nil { // with room behind it for an append that should have copied
				have = append(make([]corev1.Toleration, 0, len(have)+8), have...)
			}
			return &corev1.PodSpec{HostNetwork: rapid.Bool().Draw(t, "hostNetwork"), Tolerations: have}
		}),
		batch:  200,
		answer: tolerations.ForDaemon,
		judge: func(input *corev1.PodSpec, ours []corev1.Toleration) judgement {
			theirs := input.DeepCopy()
			daemonutil.AddOrUpdateDaemonPodTolerations(theirs)
			j := judgement{kind: own}
			if len(input.Tolerations) == 0 {
				j.kind = bare
			} else if len(theirs.Tolerations) < len(input.Tolerations)+6+kindIf(input.HostNetwork) {
				j.kind = merged
			}
			if !reflect.DeepEqual(theirs.Tolerations, ours) {
				j.err = disagree(input, theirs.Tolerations, ours)
			}
			return j
		},
		bugs: []plantedBug[*corev1.PodSpec, []corev1.Toleration]{
			{"drops the last", "one default less", func(spec *corev1.PodSpec) []corev1.Toleration {
				all := tolerations.ForDaemon(spec)
				return all[:len(all)-1]
			}},
			{"always on the host network", "a default too many", func(spec *corev1.PodSpec) []corev1.Toleration {
				spec = spec.DeepCopy()
				spec.HostNetwork = true
				return tolerations.ForDaemon(spec)
			}},
			{"keeps the period", "a default that is there already must lose its tolerationSeconds",
				func(spec *corev1.PodSpec) []corev1.Toleration {
					all := tolerations.ForDaemon(spec)
					for i := range spec.Tolerations {
						all[i].TolerationSeconds = spec.Tolerations[i].TolerationSeconds
					}
					return all
				}},
			{"drops duplicates", "what the spec has twice stays twice", func(spec *corev1.PodSpec) []corev1.Toleration {
				return slices.CompactFunc(tolerations.ForDaemon(spec), func(a, b corev1.Toleration) bool {
					return reflect.DeepEqual(a, b)
				})
			}},
		},
	}
}

// kindIf is the second of two kinds if b, else the first.
func kindIf(b bool) int {
	if b {
		return 1
	}
	return 0
}
